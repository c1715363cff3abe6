"""Tables from the Census Bureau's person files."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from pyarrow import compute

from ..base.files import check_new, write_whole
from ..exceptions import InputError
from ..model.benchmark import data_set, labels, names
from .doubts import Doubt, Doubts, why_counts
from .pums import AREA_COLUMN, WEIGHT, Reading, area_rows
from .schema import MOST_CELLS, Schema, schema_path
from .table_text import table_text

_BLANKS = "^(0|[Nn]|[Bb]+|NA|N/A|[Nn]a[Nn]|\\.)$"
_NAMED = 10
_NOT_CSV = {".gz", ".bz2", ".xz", ".zip", ".xlsx", ".xls", ".ods", ".json", ".parquet", ".feather"}
BLANK = "blank"
"""What an empty field is called: the question does not apply to the person."""


def _codes(first: int, last: int, blank: bool = False) -> tuple[str, ...]:
    return ((BLANK,) if blank else ()) + tuple(str(v) for v in range(first, last + 1))


@functools.cache
def variables() -> dict[str, tuple[str, ...]]:
    """Return the values of the variables that are known; others must be given.

    Examples
    --------
    >>> variables()["SEX"]
    ('1', '2')
    """
    return {
        "AGEP": _codes(0, 99),
        "CIT": _codes(1, 5),
        "COW": _codes(1, 9, blank=True),
        "DIS": _codes(1, 2),
        "ESR": _codes(1, 6, blank=True),
        "HICOV": _codes(1, 2),
        "HISP": _codes(1, len(labels("origin"))),
        "MAR": _codes(1, 5),
        "NATIVITY": _codes(1, 2),
        "RAC1P": _codes(1, len(labels("race"))),
        "SCHL": _codes(1, 24, blank=True),
        "SEX": _codes(1, 2),
    }


@dataclass(frozen=True, eq=False)
class Tabulated:
    """A table made from a person file.

    Parameters
    ----------
    schema
        Columns and values; marked where the table is weighted.
    table
        Persons, or sums of their weights, shaped as the schema.
    persons
        How many records were counted.
    agrees
        Whether the table is the paper's, cell for cell; ``None`` where the paper has none such.
    met
        What else the file holds.
    """

    schema: Schema
    table: NDArray[np.int64]
    persons: int
    agrees: bool | None
    met: Reading

    def notes(self) -> list[str]:
        """Say what of the file was not read or counted, in sentences."""
        met, said = self.met, []
        if met.area != AREA_COLUMN:
            said.append(f"The areas' codes are those of the column {met.area!r}.")
        if met.uncoded:
            said.append(
                f"{met.uncoded} persons of the state have no code in {met.area!r} and are not "
                "counted: files of several years hold two such columns, and the table has only "
                "those persons of the area whose year has a code in this one."
            )
        if met.stateless:
            said.append(
                f"{met.stateless} rows have no state's number (empty rows, notes or headers, "
                "perhaps) and are not counted."
            )
        elsewhere = met.others - met.stateless
        said.append(
            f"Not counted: {elsewhere} persons elsewhere. Not read: {met.unread} other columns"
            + (f"; in the archive {', '.join(met.left)}." if met.left else ".")
        )
        return said


def parse_area(text: str) -> tuple[str, str]:
    """Split an area's code into its state's two digits and its own five.

    Raises
    ------
    InputError
        Anything but seven digits.

    Examples
    --------
    >>> parse_area("0101301")
    ('01', '01301')
    """
    if not re.fullmatch("[0-9]{7}", text):
        raise InputError(
            f"the area is {text!r}; it must be seven digits, the state's two and then the area's "
            "five, for example 0101301"
        )
    return text[:2], text[2:]


def parse_values(text: str) -> tuple[str, tuple[str, ...]]:
    """Read what a variable's values are, for example ``SCHL=blank,1-24``.

    Raises
    ------
    InputError
        Another form.

    Examples
    --------
    >>> parse_values("MIL=blank,1-4")
    ('MIL', ('blank', '1', '2', '3', '4'))
    """
    name, equal, listed = text.partition("=")
    values: list[str] = []
    mark = next((m for m in ";|\t" if m in listed), "")
    if mark:
        raise InputError(
            f"the values are given as {text!r}, with {mark!r} in them; write commas between values"
        )
    for part in listed.split(","):
        span = re.fullmatch(r"\s*(\d+)-(\d+)\s*", part, re.ASCII)
        if span is None:
            values.append(part.strip())
            continue
        first, last = int(span[1][:20]), int(span[2][:20])
        if not first <= last < first + MOST_CELLS:
            raise InputError(
                f"the values {part.strip()} are no range of codes: the first must not be above the "
                f"last, nor {MOST_CELLS} or more below it"
            )
        values += _codes(first, last)
    plain = [v if not re.fullmatch(r"0+\d+", v) else str(int(v)) for v in values]
    if not name.strip() or not equal or not all(plain):
        raise InputError(
            f"the values are given as {text!r}; needed is a variable, an equal sign and its "
            "values, for example MIL=blank,1-4"
        )
    return name.strip(), tuple(plain)


def _schema(by: Sequence[str], given: Mapping[str, Sequence[str]], weighted: bool) -> Schema:
    if not by:
        raise InputError("no variable is named; give one or more with --by, for example --by RAC1P")
    stray = [name for name in given if name not in by]
    if stray:
        raise InputError(f"values are given for {stray[0]!r}, which is not among the variables")
    known = {**variables(), **given}
    for name in by:
        if name not in known and "," in name:
            each = " ".join(f"--by {part.strip()}" for part in name.split(","))
            raise InputError(f"--by takes one variable and is {name!r}; write {each}")
        if name not in known and name.upper() in known:
            raise InputError(
                f"there is no variable {name!r}; write it as the Bureau does, {name.upper()}"
            )
        if name not in known:
            raise InputError(
                f"the values of {name!r} are not known, and they are never taken from the data; "
                f"give them, for example --values {name}=blank,1-4 (known are "
                f"{', '.join(variables())})"
            )
    return Schema(tuple(by), tuple(tuple(known[n]) for n in by), weighted)


def _weights(place: str, rows: NDArray[np.int64], column: pa.Array) -> NDArray[np.int64]:
    whole = compute.match_substring_regex(column, r"^\d{1,9}$").to_numpy(zero_copy_only=False)
    if not whole.all():
        raise InputError(
            f"{place}, row {rows[np.argmin(whole)]}, column {WEIGHT!r}: not a whole number"
        )
    return np.asarray(compute.cast(column, pa.int64()).to_numpy())


def agrees_with_paper(area: str, by: Sequence[str], table: ArrayLike) -> bool | None:
    """Compare a table with the paper's of that area; ``None`` where there is none.

    Examples
    --------
    >>> agrees_with_paper("0101301", ("RAC1P", "HISP"), data_set("PUMA0101301").table)
    True
    """
    name = f"PUMA{area}"
    if sorted(by) != ["HISP", "RAC1P"] or name not in names("pums"):
        return None
    paper = data_set(name).table
    return bool(np.array_equal(np.asarray(table), paper if by[0] == "RAC1P" else paper.T))


def tabulate(
    path: Path,
    area: str,
    by: Sequence[str],
    *,
    weighted: bool = False,
    values: Mapping[str, Sequence[str]] | None = None,
    area_column: str | None = None,
    records: bool = False,
) -> Tabulated:
    """Count the persons of an area by some variables.

    The file is read block by block, so a file of several gigabytes needs little memory.

    Parameters
    ----------
    path
        A person file of the Public Use Microdata Sample: CSV, also packed, or an answer of the
        Bureau's API.
    area
        Seven digits: state, then area.
    by
        Variables; the k-th is axis k of the table.
    weighted
        Sum the person weights instead of counting records; such a table cannot be released.
    values
        For variables not in `variables`, or whose codes differ that year, the values.
    area_column
        The file's column with the area's code; by default ``PUMA``, or the only one of another
        name (``PUMA10``, ``PUMA20``, or as the Bureau's API calls it).
    records
        Each row is one person, even where another column looks like counts.

    Raises
    ------
    InputError
        A file that is none, a missing column, nobody in the area, a value outside the variable's
        list (naming row and column), or a column that looks like counts.
    """
    state, puma = parse_area(area)
    schema = _schema(by, values or {}, weighted)
    lists = [pa.array(v) for v in schema.values]
    table = np.zeros(schema.cells, dtype=np.int64)
    persons, met = 0, Reading()
    stray: dict[str, _Stray] = {}
    times = np.zeros(schema.cells, dtype=np.int64)
    doubts: dict[str, tuple[list[str], Doubts]] = {}
    columns = [*by, *([WEIGHT] if weighted else [])]
    for place, rows, block, beside in area_rows(path, state, puma, columns, area_column, met):
        cell = np.zeros(rows.size, dtype=np.int64)
        for name, known in zip(by, lists, strict=True):
            index = compute.index_in(_blank(block[name], schema, name), value_set=known)
            if index.null_count:
                missed = np.flatnonzero(~index.is_valid().to_numpy(zero_copy_only=False))
                first = stray.setdefault(name, _Stray(f"{place}, row {rows[missed[0]]}", {}))
                first.values.update(dict.fromkeys(block[name].take(pa.array(missed)).to_pylist()))
            cell = cell * len(known) + compute.fill_null(index, 0).to_numpy()
        weights = _weights(place, rows, block[WEIGHT]) if weighted else 1
        np.add.at(table, cell, weights)
        persons += rows.size
        if beside and not records:
            if place not in doubts:
                doubts[place] = [*beside], Doubts([*beside], range(len(beside)))
                times[:] = 0
            np.add.at(times, cell, 1)
            texts = {k: column.to_pylist() for k, column in enumerate(beside.values())}
            doubts[place][1].see(cell, texts, bool(times.max() > 1))
    for name, first in stray.items():
        raise _not_listed(name, first, schema.values[schema.columns.index(name)])
    if persons == 0:
        raise _nobody(path, state, puma, met)
    for place, (header, seen) in doubts.items():
        doubt = seen.found()
        if doubt is not None:
            raise _perhaps_counts(place, header, by, doubt)
    shaped = table.reshape(schema.shape)
    agrees = None if weighted else agrees_with_paper(area, by, shaped)
    return Tabulated(schema, shaped, persons, agrees, met)


@dataclass(frozen=True)
class _Stray:
    """Where a variable first had a value that is not listed, and all such values."""

    where: str
    values: dict[str, None]


def _blank(codes: pa.Array, schema: Schema, name: str) -> pa.Array:
    """Bring the ways in which the Bureau writes an empty field into one, where it may be empty.

    Files leave the field empty; the API and older files write 0, N, b, bb and so on.
    """
    values = schema.values[schema.columns.index(name)]
    if BLANK not in values:
        return codes
    ways = compute.match_substring_regex(codes, _BLANKS)
    listed = compute.is_in(codes, value_set=pa.array(values))
    return compute.if_else(compute.and_(ways, compute.invert(listed)), BLANK, codes)


def _not_listed(name: str, first: _Stray, known: Sequence[str]) -> InputError:
    """Return the error for values that are not listed, with a remedy that works."""
    said = f"{first.where}, column {name!r}: the value is not one that is known"
    if not all(re.fullmatch(r"[\w.]+|-\d+", v) for v in first.values):
        return InputError(f"{said}; the file is damaged, or the column is another year's")
    codes = sorted(first.values, key=lambda v: (not v.isdigit(), len(v), v))
    listed = ",".join([*spans(known), *spans(codes)])
    return InputError(
        f"{said} ({', '.join(codes[:_NAMED])}{', ...' if codes[_NAMED:] else ''} in this area); if "
        f"the dictionary of the file's year has it, list all: --values {name}={listed}"
    )


def spans(codes: Sequence[str]) -> list[str]:
    """Write codes as ``--values`` takes them, runs of numbers as ranges.

    Examples
    --------
    >>> spans(("blank", "1", "2", "3", "7"))
    ['blank', '1-3', '7']
    """
    found: list[list[str]] = []
    for code in codes:
        last = found[-1][-1] if found else ""
        if code.isdigit() and last.isdigit() and int(code) == int(last) + 1:
            found[-1].append(code)
        else:
            found.append([code])
    return [f"{run[0]}-{run[-1]}" if len(run) > 1 else run[0] for run in found]


def _perhaps_counts(
    place: str, header: Sequence[str], by: Sequence[str], doubt: Doubt
) -> InputError:
    name = header[doubt.column]
    why = why_counts((*by, *(header[k] for k in doubt.keys)))
    return InputError(
        f"{place}: the column {name!r}, which is not among the variables, looks like counts"
        f"{'' if doubt.named_so else f': {why}'}; each row is counted as one person here: if rows "
        f"are cells with their counts, use price or release with a schema and --count-column "
        f"{name!r}, and if each row is one person, leave the column out (or add --records)"
    )


def _nobody(path: Path, state: str, puma: str, met: Reading) -> InputError:
    there = [s for s, _ in met.states.most_common(_NAMED)]
    if not there:
        return InputError(f"{path} has no rows below its header, and so no person")
    if not any(s.isdigit() for s in there):
        return InputError(
            f"{path} has no person in state {state} and area {puma}; its states are not written as "
            f"the Bureau does ({', '.join(sorted(there))}): write the number, here {state}"
        )
    if str(int(state)) in there:
        why = "the code is another year's, or of another column (see --puma-column)"
    else:
        names = ", ".join(s.zfill(2) for s in sorted(there))
        why = f"its persons live in state {names}: take the file of that state"
    return InputError(
        f"{path} has no person in state {state} and area {puma} (column {met.area!r}); {why}"
    )


def check_place(path: Path) -> Path:
    """Refuse a place where a table cannot be written; return where its schema goes.

    Raises
    ------
    InputError
        The table or the schema exists, the folder does not, or the name is one of another kind of
        file.

    Examples
    --------
    >>> check_place(Path("area.csv")).name
    'area.schema.json'
    """
    if path.suffix.lower() in _NOT_CSV:
        raise InputError(
            f"the table would be written as a plain CSV file, and {path.name} is named as another "
            "kind; choose a name that ends with .csv"
        )
    check_new(path)
    beside = schema_path(path)
    check_new(beside)
    return beside


def write_table(tabulated: Tabulated, path: Path) -> None:
    """Write a table as a long CSV file and its schema beside it; neither may exist.

    Raises
    ------
    InputError
        One of them exists, or the folder does not.
    """
    beside = check_place(path)
    write_whole(beside, tabulated.schema.to_json())
    try:
        write_whole(path, table_text(tabulated.schema, tabulated.table))
    except BaseException:
        beside.unlink()
        raise
