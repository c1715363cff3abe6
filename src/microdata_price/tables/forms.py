"""Which of the forms of a table a file has, told by its first row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path

from ..exceptions import InputError, unknown_name
from .doubts import quoted
from .looks import (
    SHARES,
    alike,
    are_numbers,
    looks_like_a_total,
    looks_like_counts,
    looks_like_no_count,
    mostly_numbers,
    number_the_rows,
)
from .opening import Layout, Source, layout, plain_text, read_rows, sources
from .schema import COUNT, WEIGHTED, Schema

_LOOKED_AT = 100
_OF_PERSONS = {"SERIALNO", "PWGTP"}
"""Columns that, beside an area's code, the Bureau's person files have."""
_UNNAMED = re.compile(r"(Unnamed: \d+(_level_\d+)?)?")


@dataclass(frozen=True)
class Form:
    """How a file holds a table.

    Parameters
    ----------
    source, layout
        The file, and how it is written.
    kind
        ``long``, ``wide`` or ``records``.
    axes
        The places in the header of the columns whose values are read, in the schema's order.
    counts
        The places of the columns that hold counts.
    unread
        The places of the columns that are not read.
    unnamed
        The places of columns without a name; not read, but they may only number the rows.
    left
        What else the file holds: members of an archive that are no tables.
    """

    source: Source
    layout: Layout
    kind: str
    axes: tuple[int, ...]
    counts: tuple[int, ...]
    unread: tuple[int, ...]
    unnamed: tuple[int, ...]
    left: tuple[str, ...]

    @property
    def count_name(self) -> str | None:
        """The column of the counts of a long table, where it is not called ``count``."""
        name = self.layout.header[self.counts[0]] if self.kind == "long" else COUNT
        return None if name == COUNT else name

    def notes(self) -> list[str]:
        """Say what of the file is not read, in sentences.

        What is read is the table itself; a file of which everything is read has no notes.
        """
        said = []
        names = ", ".join(repr(self.layout.header[k]) for k in self.unread)
        if self.kind == "records":
            said.append(
                f"{self.source.place} is read as records, one row a record"
                + (f"; columns not read: {names}" if names else "")
            )
        if len(self.unnamed) == 1:
            said.append(
                f"{self.source.place} has a column without a name, which numbers the rows or is "
                "empty; it is not read"
            )
        elif self.unnamed:
            said.append(
                f"{self.source.place} has {len(self.unnamed)} columns without a name, which number "
                "the rows or are empty; they are not read"
            )
        if self.left:
            said.append(f"not read in {self.source.path}: {', '.join(self.left)}")
        return said


def refuse_weighted(place: str) -> InputError:
    """Return the error for a weighted table, which neither `price` nor `release` takes."""
    return InputError(
        f"{place} is a weighted table: one person can change a count by more than one, so the "
        "privacy guarantee would not hold; tabulate the persons again without weights"
    )


def _one_source(path: Path) -> tuple[Source, tuple[str, ...]]:
    found, left = sources(path)
    if len(found) > 1:
        names = ", ".join(s.member or "" for s in found)
        raise InputError(
            f"{path} holds {len(found)} tables ({names}); unpack it and give one of them"
        )
    return found[0], left


def _opened(path: Path) -> tuple[Source, Layout, tuple[str, ...], tuple[int, ...]]:
    source, left = _one_source(path)
    how = layout(source)
    if WEIGHTED in how.header:
        raise refuse_weighted(source.place)
    unnamed = tuple(k for k, name in enumerate(how.header) if _UNNAMED.fullmatch(name))
    return source, how, left, unnamed


def form_of(path: Path, schema: Schema) -> Form:
    """Find out in which form a file holds a table with a schema, from its first row.

    Raises
    ------
    InputError
        A form that is none, one that could be two, or a header that does not go with the schema.
    """
    source, how, left, unnamed = _opened(path)
    header, place = how.header, source.place
    unnamed = tuple(k for k in unnamed if header[k] not in schema.columns)
    named = [name for k, name in enumerate(header) if k not in unnamed]
    count = COUNT if schema.count is None else schema.count
    wide = _is_wide(schema, named)
    if set(schema.columns) <= set(named):
        if wide:
            raise InputError(
                f"{place} has a heading that is a column of the schema and a value of "
                f"{schema.columns[-1]!r}, so that it could be records or a wide table; give the "
                "column another name"
            )
        axes = tuple(header.index(c) for c in schema.columns)
        unread = tuple(k for k in range(len(header)) if k not in axes and k not in unnamed)
        if count in named and count:
            counts = (header.index(count),)
            extra = sorted(header[k] for k in unread if k not in counts)
            if extra:
                raise InputError(
                    f"{place} has column {extra[0]!r}, which is neither in the schema nor "
                    f"{count!r}; a table has one column for each of the schema's and one for the "
                    "counts: leave it out (or, if each row is one record, add --records)"
                )
            return Form(source, how, "long", axes, counts, (), unnamed, left)
        if schema.count:
            raise unknown_name("column of counts", schema.count, named)
        return Form(source, how, "records", axes, (), unread, unnamed, left)
    if wide:
        sides = len(schema.columns) - 1
        heads = named[sides:]
        if set(heads) != set(schema.values[-1]):
            raise _not_those_values(place, schema, heads)
        axes = tuple(header.index(c) for c in schema.columns[:-1])
        heading = tuple(header.index(v) for v in heads)
        return Form(source, how, "wide", axes, heading, (), unnamed, left)
    if 0 in unnamed and len(schema.columns) == 2 and set(named) == set(schema.values[-1]):
        heading = tuple(k for k in range(len(header)) if k not in unnamed)
        return Form(source, how, "wide", (0,), heading, (), unnamed[1:], left)
    further = [n for n in named if n not in (*schema.columns, *schema.values[-1])]
    if further and {*schema.columns[:-1], *schema.values[-1]} <= set(named):
        raise InputError(
            f"{place} looks like a wide table with more columns than the schema has "
            f"({quoted(further)}); leave them out"
        )
    nearly = _nearly_wide(schema, named)
    if nearly:
        raise InputError(f"{place} looks like a wide table, but {nearly}")
    missing = [c for c in schema.columns if c not in named]
    near = [n for n in named if n.casefold() == missing[0].casefold()]
    hint = f" (it has {near[0]!r}: write it as the schema does)" if near else ""
    raise InputError(
        f"{place} lacks the schema's column {missing[0]!r}{hint}; needed are "
        f"{', '.join(schema.columns)} and {COUNT} with one row a cell, or the same without {COUNT} "
        "with one row a record, or a wide table (the values of the last column as headings)"
    )


def _is_wide(schema: Schema, named: Sequence[str]) -> bool:
    sides = len(schema.columns) - 1
    return (
        sides > 0
        and list(named[:sides]) == list(schema.columns[:-1])
        and bool(set(named[sides:]) & set(schema.values[-1]))
    )


def _nearly_wide(schema: Schema, named: Sequence[str]) -> str:
    """Say what keeps a table from being the schema's wide one; empty where it is of no such."""
    sides = len(schema.columns) - 1
    first, heads, last = named[:sides], named[sides:], schema.values[-1]
    if not sides or not heads:
        return ""
    if sorted(first) == sorted(schema.columns[:-1]):
        if set(heads) & set(last):
            return f"its first columns are not in the schema's order: {quoted(schema.columns[:-1])}"
        written = {alike(value): value for value in last}
        near = next((h for h in heads if alike(h) in written), None)
        if near is not None:
            return (
                f"its headings are none of the values of {schema.columns[-1]!r} that the schema "
                f"lists; write {near!r} as {written[alike(near)]!r}, and so on"
            )
    if sides == 1 and first == [schema.columns[1]] and set(heads) <= set(schema.values[0]):
        return (
            f"its headings are the values of {schema.columns[0]!r}, which is not the schema's last "
            "column; exchange the columns in the schema, or rows and columns in the table"
        )
    return ""


def _not_those_values(place: str, schema: Schema, heads: Sequence[str]) -> InputError:
    extra = [h for h in heads if h not in schema.values[-1]]
    if extra and looks_like_a_total(extra[0]):
        return InputError(
            f"{place}: the column {extra[0]!r} looks like totals, which would count everybody "
            "twice; leave out rows and columns of totals"
        )
    which = f"; {extra[0]!r} is none of them" if extra else ""
    return InputError(
        f"{place} looks like a wide table, but its first row does not have exactly the "
        f"{len(schema.values[-1])} values of {schema.columns[-1]!r} that the schema lists{which}"
    )


def plain_form(path: Path, count: str | None = None) -> Form:
    """Find out in which form a file holds a table of counts without a schema.

    Parameters
    ----------
    path
        The file.
    count
        The column of the counts, if it is not called ``count``.

    Raises
    ------
    InputError
        It is neither a long nor a wide table of counts.
    """
    source, how, left, unnamed = _opened(path)
    header, place = how.header, source.place
    if count == "":
        raise InputError(f"{place} is to be read as records, which need their schema: add --schema")
    named = [k for k in range(len(header)) if k not in unnamed]
    wanted = COUNT if count is None else count
    if wanted in header:
        counts = (header.index(wanted),)
        axes = tuple(k for k in named if k not in counts)
        if not axes:
            raise InputError(f"{place} has only a column of counts; name what is counted, too")
        columns = _looked_at(source, how)
        for k in axes:
            if are_numbers(columns[k]) and looks_like_no_count(header[k]) == SHARES:
                raise InputError(
                    f"{place}: the column {header[k]!r} beside the counts looks by its name like "
                    f"{SHARES}; leave it out"
                )
        return Form(source, how, "long", axes, counts, (), unnamed, left)
    if count is not None:
        raise unknown_name("column of counts", count, header)
    upper = {name.upper() for name in header}
    if "PUMA" in upper and upper & _OF_PERSONS:
        raise InputError(
            f"{place} looks like a person file of the Census Bureau; count it first with "
            "microdata-price tabulate, or give a schema of its columns (--schema)"
        )
    total = [header[k] for k in named if looks_like_a_total(header[k])]
    if total and len(named) > 2:
        raise InputError(
            f"{place}: the column {total[0]!r} looks like totals, which would count everybody "
            "twice; leave out rows and columns of totals"
        )
    columns = _looked_at(source, how)
    if unnamed[:1] == (0,) and _names_the_rows(source, columns):
        named, unnamed = [0, *named], unnamed[1:]
    # Counts may be hidden in some cells, and a line of units or notes may stand among them.
    numeric = [k for k in named if mostly_numbers(columns[k])]
    body = named[1:]
    like = [header[k] for k in named if looks_like_counts(header[k]) and k in numeric]
    if len(body) > 1 and set(body) <= set(numeric):
        _check_headings(place, [header[k] for k in body], like)
        return Form(source, how, "wide", (named[0],), tuple(body), (), unnamed, left)
    labels = list(takewhile(lambda k: k not in numeric, body))
    rest = body[len(labels) :]
    counted = len(like) in (0, len(rest)) and not any(looks_like_no_count(header[k]) for k in rest)
    if labels and len(rest) > 1 and set(rest) <= set(numeric) and counted:
        raise InputError(
            f"{place} looks like a wide table with several columns of headings, "
            f"{quoted([header[k] for k in (named[0], *labels)])}; leave out all but one; where "
            "each divides the table, list the columns in a schema (--schema)"
        )
    if body and like:
        raise _counts_elsewhere(place, like[0], "looks like counts")
    if body and set(numeric) & set(body) == {body[-1]}:
        raise _counts_elsewhere(place, header[body[-1]], "holds numbers")
    spaces = " (if spaces separate its columns, save it with commas)" if " " in header[0] else ""
    raise InputError(
        f"{place} is neither a table of counts with a column {COUNT!r} nor a wide one; for records "
        f"give their schema with --schema{spaces if len(header) == 1 else ''}"
    )


def _check_headings(place: str, names: Sequence[str], like: Sequence[str]) -> None:
    """Refuse a wide table's columns that are no counts of its headings, by their names."""
    codes = len(names) > 2 and len(set(map(len, names))) == 1 and len(names[0]) < 4
    for name in names:
        what = looks_like_no_count(name)
        if what and not (codes and name.isalpha()):  # SE, ID and NO are countries
            raise InputError(
                f"{place}: the column {name!r} looks by its name like {what}, not like counts of "
                "records; leave it out (or list the columns that count in a schema, --schema)"
            )
    if len(like) == 1 and len(names) > 2:
        raise InputError(
            f"{place} has no column {COUNT!r}, and {like[0]!r} among its columns of numbers looks "
            "like their total or like the only counts; leave it out if it sums the others, else "
            f"leave out the others and call it {COUNT!r}"
        )
    if len(like) == 1:
        raise _counts_elsewhere(place, like[0], "looks like counts")


def _counts_elsewhere(place: str, name: str, why: str) -> InputError:
    return InputError(
        f"{place} has no column {COUNT!r}, but {name!r} {why}; if it holds the counts, call it "
        f"{COUNT!r} (or add --count-column {name!r})"
    )


def _looked_at(source: Source, how: Layout) -> list[tuple[str, ...]]:
    """Return the first fields of each column, in the form in which text is compared."""
    rows = [map(plain_text, row) for _, row in islice(read_rows(source, how), _LOOKED_AT)]
    return list(zip(*rows, strict=True)) if rows else [()] * len(how.header)


def _names_the_rows(source: Source, columns: Sequence[Sequence[str]]) -> bool:
    """Say whether a first column without a name holds a wide table's headings of rows.

    Otherwise it numbers the rows, and the second column holds the headings.
    """
    if len(columns) < 2 or not columns[0] or not are_numbers(columns[1]):
        return False
    if number_the_rows(columns[0], None) is not None and len(columns) > 3:
        raise InputError(
            f"{source.place}: the first column has no name, and may number the rows or be their "
            "heading; give it a name, or leave it out"
        )
    return True
