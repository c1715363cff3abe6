"""Reading tables of counts, or records to be counted, from CSV files."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .column_rules import ColumnRule
from .double_counts import a_total, check_totals
from .doubts import Doubt, Doubts, quoted, why_counts
from .faults import AGAIN, not_a_count, why_not, why_unknown
from .forms import Form, form_of, plain_form, refuse_weighted
from .looks import (
    alike,
    are_numbers,
    looks_like_a_note,
    looks_like_a_total,
    looks_unlike_records,
    number_the_rows,
)
from .odd_counts import check_counts
from .odd_values import Persons, check_values
from .opening import Ending, plain_text, read_blocks
from .schema import COUNT, Schema, load_schema, schema_path

Array = NDArray[np.float64]
Tell = Callable[[str], None]
Part = tuple[Sequence[int], Mapping[int, Sequence[str]]]

_RATHER = (
    "; list in the schema what tells such rows apart, or, if each row is one record, add --records"
)
LARGEST_COUNT = 10**12
"""Larger counts are refused, so that every total is exact in floating point."""
_BLOCKS = 100
"""So many blocks of rows make a part, which is looked at as a whole."""
_NAMED = 10
"""How many bad rows a message names."""


def _parts(form: Form, ending: Ending = "drop") -> Iterator[Part]:
    """Yield rows in parts: their numbers, and their fields column by column."""
    blocks = read_blocks(form.source, form.layout, ending)
    checked = dict.fromkeys(form.unnamed)
    while part := list(islice(blocks, _BLOCKS)):
        numbers = [n for ns, _ in part for n in ns]
        fields: list[list[str]] = [[] for _ in form.layout.header]
        for _, rows in part:
            for column, field in zip(fields, zip(*rows, strict=True), strict=False):
                column.extend(field)
        columns = dict(enumerate(fields))
        for k in form.unnamed:
            texts = [plain_text(t) for t in columns[k]]
            checked[k] = number_the_rows(texts, checked[k])
            if any(texts) and checked[k] is None:
                raise InputError(
                    f"{form.source.place}: column {k + 1} has no name ({form.layout.header[k]!r}) "
                    "and does not number the rows; give it one, or leave it out"
                )
        yield numbers, columns


class _Places(dict[str, int]):
    """Places of a column's fields, each text brought into its plain form once; -1 for no value."""

    def __init__(self, schema: Schema, axis: int, records: bool) -> None:
        super().__init__()
        self.schema, self.axis, self.records = schema, axis, records
        self.seems_unknown = ""

    def __missing__(self, text: str) -> int:
        plain = plain_text(text)
        place = self.schema.place(self.axis, plain)
        if not self.records and looks_like_a_total(plain) and plain not in self.listed:
            place = -1  # among counts no catch-all is meant for totals
        if place >= 0 and plain and plain not in self.listed and self._is_slip(plain):
            place = -1
        if place >= 0 and plain not in self.listed:
            self.seems_unknown = self.seems_unknown or why_unknown(plain, self._rule)
        self[text] = place
        return place

    @property
    def _rule(self) -> ColumnRule:
        return self.schema.rules[self.axis]

    def _is_slip(self, plain: str) -> bool:
        """Say whether what would be counted at a catch-all is a listed value, badly written."""
        rule = self._rule
        if not rule.other or self.schema.place(self.axis, plain) != self.listed[rule.other]:
            return False
        return (
            alike(plain) in self._alike
            or plain == self.schema.columns[self.axis]
            or looks_like_a_note(plain)
            or (bool(rule.cuts) and are_numbers([plain]))
        )

    @functools.cached_property
    def _alike(self) -> frozenset[str]:
        return frozenset(map(alike, self.listed))

    @property
    def listed(self) -> Mapping[str, int]:
        """The places of the values that are listed."""
        return self.schema.positions[self.axis]


class _Counts(dict[str, int]):
    """Counts as whole numbers; -1 for what is none."""

    def __missing__(self, text: str) -> int:
        digits = text.strip().removesuffix(".0")  # as programs write a whole number that may lack
        fine = digits.isascii() and digits.isdigit() and len(digits) <= 13
        count = int(digits) if fine else -1
        return count if count <= LARGEST_COUNT else -1


def _raise_first(
    form: Form, numbers: Sequence[int], column: int, bad: NDArray[np.bool_], what: str
) -> None:
    """Name the first rows that are wrong in a column."""
    rows = [str(numbers[int(i)]) for i in np.flatnonzero(bad)]
    if not rows:
        return
    more = f" (so are {len(rows) - 1} more: rows {', '.join(rows[1:_NAMED])})" if rows[1:] else ""
    name = form.layout.header[column]
    raise InputError(f"{form.source.place}, row {rows[0]}, column {name!r}: {what}{more}")


def _places(form: Form, column: int, part: Part, seen: _Places) -> NDArray[np.int64]:
    numbers, columns = part
    found = np.fromiter(map(seen.__getitem__, columns[column]), np.int64, len(numbers))
    if (found < 0).any():
        first = plain_text(columns[column][int(np.argmax(found < 0))])
        again = first == form.layout.header[column]
        why = (
            AGAIN
            if again
            else why_not(
                first,
                seen.listed,
                counted=form.kind != "records",
                cut=bool(seen.schema.rules[seen.axis].cuts),
            )
        )
        _raise_first(form, numbers, column, found < 0, why)
    return found


def _cells(
    form: Form, schema: Schema, places: Sequence[NDArray[np.int64]], numbers: Sequence[int]
) -> NDArray[np.int64]:
    cells = schema.cell_numbers(places)
    if (cells < 0).any():
        raise InputError(
            f"{form.source.place}, row {numbers[int(np.argmax(cells < 0))]}: the schema says that "
            "this combination of values is impossible; correct the row or the schema"
        )
    return cells


def _numbers(form: Form, column: int, part: Part, seen: _Counts) -> NDArray[np.int64]:
    numbers, columns = part
    found = np.fromiter(map(seen.__getitem__, columns[column]), np.int64, len(numbers))
    if (found < 0).any():
        first = plain_text(columns[column][int(np.argmax(found < 0))])
        again = first == form.layout.header[column]
        _raise_first(form, numbers, column, found < 0, AGAIN if again else not_a_count(first))
    return found


def _incomplete(form: Form, schema: Schema, table: NDArray[np.int64]) -> InputError:
    values = schema.cell_values()[int(np.argmax(table < 0))]
    first = ", ".join(f"{c}={v}" for c, v in zip(schema.columns, values, strict=True))
    return InputError(
        f"{form.source.place} does not have a row for every one of the {schema.cells} combinations "
        f"of its columns' values; the first missing is {first}; write it with a count of 0 if "
        "nobody is there"
        + ("" if form.kind == "wide" else "; with a schema (--schema) it may be left out")
    )


def _fill(
    form: Form,
    table: NDArray[np.int64],
    cells: NDArray[np.int64],
    counts: NDArray[np.int64],
    numbers: Sequence[int],
    what: str,
) -> None:
    """Put counts into cells that are still empty; ``table`` and ``cells`` are flat."""
    _, first = np.unique(cells, return_index=True)
    again = np.ones(cells.size, dtype=bool)
    again[first] = False
    again |= table[cells] >= 0
    if again.any():
        raise InputError(
            f"{form.source.place}, row {numbers[int(np.argmax(again))]}: {what} a row already; "
            f"each cell must occur once{_RATHER if form.kind == 'long' else ''}"
        )
    table[cells] = counts


def _check_lines(form: Form, part: Part) -> None:
    """Refuse a row of a wide table without any count: one of names, units or notes."""
    numbers, columns = part
    filled = zip(*(columns[column] for column in form.counts), strict=True)
    for number, texts in zip(numbers, filled, strict=True):
        if not any(map(str.strip, texts)):
            raise InputError(
                f"{form.source.place}, row {number}: it has no counts; leave out rows of names, "
                "units and notes, and write 0 where nobody is"
            )


def _long(form: Form, schema: Schema) -> NDArray[np.int64]:
    table = np.full(schema.cells, -1, dtype=np.int64)
    seen, counts = _all_places(schema), _Counts()
    for part in _parts(form):
        places = [_places(form, a, part, known) for a, known in zip(form.axes, seen, strict=True)]
        cells = _cells(form, schema, places, part[0])
        found = _numbers(form, form.counts[0], part, counts)
        _fill(form, table, cells, found, part[0], "this cell has")
    return table


def _wide(form: Form, schema: Schema) -> NDArray[np.int64]:
    table = np.full(schema.cells, -1, dtype=np.int64)
    across = [schema.positions[-1][form.layout.header[c]] for c in form.counts]
    seen, counts = _all_places(schema)[:-1], _Counts()
    for part in _parts(form):
        if not schema.restricted:
            _check_lines(form, part)
        lines = [_places(form, a, part, known) for a, known in zip(form.axes, seen, strict=True)]
        for column, place in zip(form.counts, across, strict=True):
            numbers, columns = part
            kept = list(range(len(numbers)))
            if schema.restricted:  # an impossible cell is left blank
                kept = [i for i, text in enumerate(columns[column]) if text.strip()]
            rows = [numbers[i] for i in kept]
            filled: Part = (rows, {column: [columns[column][i] for i in kept]})
            places = [*(line[kept] for line in lines), np.full(len(rows), place)]
            cells = _cells(form, schema, places, rows)
            _fill(
                form, table, cells, _numbers(form, column, filled, counts), rows, "its cells have"
            )
    return table


def _all_places(schema: Schema, records: bool = False) -> list[_Places]:
    return [_Places(schema, axis, records) for axis in range(len(schema.columns))]


def _records(form: Form, schema: Schema, tell: Tell | None) -> NDArray[np.int64]:
    table = np.zeros(schema.cells, dtype=np.int64)
    seen = _all_places(schema, records=True)
    doubts = Doubts(form.layout.header, () if schema.count == "" else form.unread)
    persons = Persons(form.layout.header, form.unread)
    may_be_empty = all(schema.place(axis, "") >= 0 for axis in range(len(schema.columns)))
    ending: Ending = "drop" if not may_be_empty else "keep" if schema.count == "" else "refuse"
    for part in _parts(form, ending):
        try:
            places = [
                _places(form, a, part, known) for a, known in zip(form.axes, seen, strict=True)
            ]
        except InputError as error:
            raise _rather_counts(form, schema, part) or error from None
        cells = _cells(form, schema, places, part[0])
        table += np.bincount(cells, minlength=schema.cells)
        doubts.see(cells, part[1], bool(table.max(initial=0) > 1))
        persons.see(part[1])
    doubt = doubts.found()
    if doubt is not None:
        raise _perhaps_counts(form, schema, doubt)
    for name, found in zip(schema.columns, seen, strict=True):
        if found.seems_unknown and tell is not None:
            tell(f"{form.source.place}: {name!r} has {found.seems_unknown}")
    if persons.repeated and tell is not None:
        tell(
            f"{form.source.place}: the column {persons.repeated!r}, which is not read, has one "
            "value in several rows; if it names persons, some of them have several records, and "
            "the guarantee is about one: keep one row a person"
        )
    return table


def _rather_counts(form: Form, schema: Schema, part: Part) -> InputError | None:
    """Return the error for counts read as records, where another is wrong for that reason."""
    doubts = Doubts(form.layout.header, () if schema.count == "" else form.unread)
    doubts.see(np.arange(len(part[0])), part[1], repeated=False)
    doubt = doubts.found()
    named = doubt is not None and doubt.named_so
    return _perhaps_counts(form, schema, doubt) if doubt is not None and named else None


def _perhaps_counts(form: Form, schema: Schema, doubt: Doubt) -> InputError:
    header = form.layout.header
    name, keys = header[doubt.column], [header[k] for k in doubt.keys]
    why = f": {why_counts((*schema.columns, *keys))}"
    rest = [header[k] for k in form.unread if k not in (doubt.column, *doubt.keys)]
    todo = f"call it {COUNT!r} (or add --count-column {name!r})"
    if keys:
        todo = f"list {quoted(keys)} in the schema and {todo}"
    if rest:
        todo += f" and leave out {quoted(rest)}"
    return InputError(
        f"{form.source.place}: the column {name!r}, which the schema does not list, looks like "
        f"counts{'' if doubt.named_so else why}; if it holds counts, {todo}, and if each row is "
        "one record, leave it out (or add --records)"
    )


def read_table(path: Path, schema: Schema, tell: Tell | None = None) -> Array:
    """Read a table of counts, or count records, as the schema says.

    Three forms are told apart by their first row. Long: the schema's columns and ``count``, one
    row a cell, where a cell without a row is empty. Wide: all the schema's columns but the last,
    then each value of the last, one column a value. Records: the schema's columns without
    ``count``, one row a record, other columns unread (`form_of` says which). What looks like
    another form than it would be read in is refused.

    Parameters
    ----------
    path
        A CSV file with commas, semicolons, tabs or bars, in UTF-8 or UTF-16; also packed by gzip,
        bzip2, xz or zip.
    schema
        Which columns and which values there are.
    tell
        Called with a sentence on what may be wrong and is no reason to refuse the table: cells of
        a long table without a row, sums that may be totals, counts that look rounded, years in
        which a person may be counted again, persons who seem to have several records.

    Returns
    -------
    ndarray
        Counts, shape ``schema.shape``.

    Raises
    ------
    InputError
        A form that is none of the three, a weighted table, a value outside the schema or no count
        (naming the row's number and the column, not the content), a cell given twice or missing
        from a wide table, an unread column that looks like counts, or totals among the counts.
    """
    if schema.weighted:
        raise refuse_weighted(str(path))
    form = form_of(path, schema)
    if form.kind == "records":
        table = _records(form, schema, tell)
    else:
        table = (_long if form.kind == "long" else _wide)(form, schema)
    if (table < 0).any():
        if (table < 0).all():
            raise InputError(
                f"{form.source.place} has only a header; a row for each cell that is not empty is "
                "needed, and at least one with a count of 0 if nobody is anywhere"
            )
        if form.kind == "wide":
            raise _incomplete(form, schema, table)
        table = np.maximum(table, 0)
        if tell is not None:  # not how many: what is printed may be kept where others see it
            tell(f"{form.source.place} has cells without a row; they are counted as empty")
    if form.kind != "records" and schema.totals:
        check_totals(form.source.place, schema, table, tell)
    if form.kind != "records" and tell is not None:
        named = form.layout.header[form.counts[0]]
        if form.kind == "long" and looks_unlike_records(named):
            tell(
                f"{form.source.place}: the counts stand under {named!r}, which looks like weights, "
                "shares or thousands; what is stated of errors and protection holds for counts of "
                "records"
            )
        check_counts(form.source.place, schema, table, tell)
    return table.astype(float).reshape(schema.shape)


def schema_of_table(path: Path, count: str | None = None) -> Schema:
    """Take the schema from a complete table of counts itself (for `price`, never for a release).

    Parameters
    ----------
    path
        A long table or a wide one with one column of headings.
    count
        The column of the counts, if it is not called ``count``.

    Raises
    ------
    InputError
        Neither form, a form with rows or columns of totals, or cells without a row.
    """
    form = plain_form(path, count)
    header, place = form.layout.header, form.source.place
    seen: list[dict[str, None]] = [{} for _ in form.axes]
    rows = 0
    for numbers, columns in _parts(form):
        rows += len(numbers)
        for k, column in enumerate(form.axes):
            texts = dict.fromkeys(map(plain_text, dict.fromkeys(columns[column])))
            if not any(texts):
                raise InputError(
                    f"{place}: column {header[column]!r} is empty; leave it out, or leave out the "
                    "rows of totals and notes in it"
                )
            if "" in texts:
                raise InputError(
                    f"{place}: column {header[column]!r} has an empty field; each row needs the "
                    "values of its cell (leave out rows of totals, units and notes; write the "
                    "value of merged cells in every row)"
                )
            seen[k] |= texts
        if form.kind == "wide":
            _check_lines(form, (numbers, columns))
        for column in form.counts:
            _numbers(form, column, (numbers, columns), _Counts())
    if rows == 0:
        raise InputError(f"{place} has only a header; a row for each cell is needed")
    names = [header[column] or "row" for column in form.axes]
    if form.kind == "wide":
        names.append("column")
        seen.append(dict.fromkeys(header[column] for column in form.counts))
    for name, values in zip(names, seen, strict=True):
        total = next((v for v in values if looks_like_a_total(v)), None)
        if total is not None and len(values) > 1:
            raise a_total(place, repr(name), repr(total))
        check_values(place, name, values)
    if form.kind == "long" and rows > 1:
        _check_rows_unnamed(place, names, seen, rows)
    schema = Schema(tuple(names), tuple(map(tuple, seen)), count=form.count_name)
    if form.kind == "long" and rows < schema.cells:  # nothing else says which cells there are
        raise _incomplete(form, schema, _long(form, schema))
    return schema


def _check_rows_unnamed(
    place: str, names: Sequence[str], seen: Sequence[Collection[str]], rows: int
) -> None:
    """Refuse a column that has another value in every row, where it is none of the table's."""
    own = [k for k, values in enumerate(seen) if len(values) == rows]
    several = [k for k, values in enumerate(seen) if len(values) > 1]
    if not own or len(several) < 2:
        return
    numeric = [k for k in own if are_numbers(seen[k])]
    if own == several and len(numeric) != 1:
        return  # it may be any of them, or a table of few cells
    name = names[[*numeric, *own][0]]
    raise InputError(
        f"{place}: the column {name!r} has another value in every row, so that it names the "
        "rows or measures them and is no column of the table; leave it out"
    )


def find_schema(table: Path, schema: Path | None = None, *, count: str | None = None) -> Schema:
    """Return the schema of a table to price: the one given, the one beside it, or its own.

    Never for a release, whose schema must not come from the data.

    Parameters
    ----------
    table
        A table's file.
    schema
        A schema's file; ``None`` for ``TABLE.schema.json`` if there is one, else what the table of
        counts itself lists.
    count
        How the file is read, in place of what the schema says (see `Schema`).

    Raises
    ------
    InputError
        A file that is none.
    """
    beside = schema_path(table)
    given = schema if schema is not None else beside if beside.is_file() else None
    if given is None:
        return schema_of_table(table, count)
    found = load_schema(given)
    return found if count is None else dataclasses.replace(found, count=count)
