"""Tables from files: counts, or records to be counted, exactly as their schema says.

Whatever a schema does not state is refused by row and column; no message repeats what is in a
file. docs/tables.md states the contract.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from ..exceptions import InputError
from .schemas import COUNT, Schema, plain

Array = NDArray[np.float64]
Block = dict[str, tuple[NDArray[np.int64], list[str]]]
"""Some rows: for each column the places of its fields in a list of texts."""
Blocks = Callable[[Sequence[str]], Iterator[Block]]

LARGEST_COUNT = 10**12
"""Larger counts are refused, so that every total is exact in floating point."""
_NAMED = 10
_PACKED: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error)


def _sheet(path: Path) -> Any:
    return pd.read_excel(path, dtype=object, na_filter=False)


_FRAMES: dict[str, tuple[Callable[[Path], Any], str]] = {
    ".parquet": (pd.read_parquet, "pyarrow"),
    ".xlsx": (_sheet, "openpyxl"),
    ".xls": (_sheet, "xlrd"),
    ".ods": (_sheet, "odfpy"),
    ".dta": (pd.read_stata, "pandas"),
    ".sav": (pd.read_spss, "pyreadstat"),
}


class _Faults:
    """Rows that cannot be counted: how many for each reason, and the first ten."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[str, list[int]] = {}
        self._many: dict[str, int] = {}

    def see(self, why: str, rows: NDArray[np.int64]) -> None:
        if rows.size:
            first = self._rows.setdefault(why, [])
            first += rows[: _NAMED - len(first)].tolist()
            self._many[why] = self._many.get(why, 0) + rows.size

    def check(self) -> None:
        said = []
        for why, first in self._rows.items():
            named = ", ".join(map(str, first))
            more = (
                f" and others, {self._many[why]:,} in all" if self._many[why] > len(first) else ""
            )
            said.append(f"row{'s' * (len(first) > 1)} {named}{more}: {why}")
        if said:
            raise InputError(f"{self._path}, {'; '.join(said)}")


class _Counted(io.RawIOBase):
    """A file that counts the quotation marks in it: an odd number leaves a field open."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.marks = file, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self.marks += data.count(b'"')
        return data


def _open(path: Path) -> BinaryIO:
    """Open a file's bytes, unpacked and in UTF-8 where it bears UTF-16's mark."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        archive = zipfile.ZipFile(path)
        inside = [n for n in archive.namelist() if not n.startswith("__MACOSX/") and n[-1] != "/"]
        if len(inside) != 1:
            raise InputError(f"{path} holds {len(inside)} files; unpack it and give one of them")
        file = cast(BinaryIO, archive.open(inside[0]))
    else:
        file = _PACKED.get(suffix, lambda p: p.open("rb"))(path)
    file = cast(BinaryIO, io.BufferedReader(cast(Any, file)))
    if file.peek(2)[:2] in (b"\xff\xfe", b"\xfe\xff"):  # type: ignore[attr-defined]
        return io.BytesIO(file.read().decode("utf-16").encode())
    return file


def _csv(path: Path, wanted: Sequence[str]) -> tuple[list[str], Blocks]:
    """Return a CSV file's header, and what reads some of its columns, a block of rows at once."""
    with _open(path) as file:
        lines = file.read(1 << 20).decode("utf-8-sig", "replace").splitlines() or [""]
    headers = {mark: [*map(plain, next(csv.reader(lines, delimiter=mark)))] for mark in ",;\t"}
    fit = [mark for mark, names in headers.items() if set(wanted) <= set(names)]
    mark = max(fit or headers, key=lambda m: len(headers[m]))
    header = headers[mark]

    def blocks(columns: Sequence[str]) -> Iterator[Block]:
        names = [str(k) for k in range(len(header))]
        chosen = [names[header.index(c)] for c in columns]
        uneven: list[Any] = []

        def odd_row(row: Any) -> str:
            uneven.append(row)
            return "error"

        with _open(path) as file:
            counted = _Counted(file)
            try:
                for batch in arrow_csv.open_csv(
                    counted,
                    arrow_csv.ReadOptions(
                        column_names=names, skip_rows_after_names=1, block_size=1 << 24
                    ),
                    arrow_csv.ParseOptions(
                        delimiter=mark,
                        newlines_in_values=True,
                        ignore_empty_lines=len(header) > 1,
                        invalid_row_handler=odd_row,
                    ),
                    arrow_csv.ConvertOptions(
                        include_columns=chosen,
                        column_types=dict.fromkeys(chosen, pa.dictionary(pa.int32(), pa.binary())),
                    ),
                ):
                    yield {name: _texts(batch.column(k)) for k, name in enumerate(columns)}
            except pa.ArrowInvalid:  # its own words quote the data
                if uneven:
                    row = uneven[0]
                    raise InputError(
                        f"{path}, row {row.number}: it has {row.actual_columns} fields, and the "
                        f"header has {row.expected_columns}"
                    ) from None
                raise InputError(f"{path} cannot be read as CSV") from None
        if counted.marks % 2:
            raise InputError(f"{path} has an odd number of quotation marks: a field does not end")

    return header, blocks


def _texts(column: Any) -> tuple[NDArray[np.int64], list[str]]:
    texts = [plain(raw.decode("utf-8", "replace")) for raw in column.dictionary.to_pylist()]
    return column.indices.to_numpy().astype(np.int64), texts


def _frame(path: Path) -> tuple[list[str], Blocks]:
    """Return the same of a file that pandas reads whole."""
    reader, package = _FRAMES[path.suffix.lower()]
    try:
        frame = reader(path)
    except ImportError:
        raise InputError(
            f"{path} needs the package {package}, which is not installed; install it, or save the "
            "table as CSV"
        ) from None
    except OSError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise InputError(f"{path} cannot be read as {path.suffix} ({kind})") from None
    frame = frame.set_axis([plain(str(name)) for name in frame.columns], axis=1)

    def blocks(columns: Sequence[str]) -> Iterator[Block]:
        block = {}
        for name in columns:
            whole = frame[name].convert_dtypes().astype("string").fillna("").str.strip()
            codes, texts = pd.factorize(whole)
            block[name] = codes.astype(np.int64), [plain(text) for text in texts]
        yield block

    return list(frame.columns), blocks


def _source(path: Path, wanted: Sequence[str] = ()) -> tuple[list[str], Blocks]:
    if path.suffix.lower() in _FRAMES:
        return _frame(path)
    try:
        return _csv(path, wanted)
    except (*_DAMAGED, UnicodeDecodeError, RuntimeError, csv.Error):
        raise InputError(
            f"{path} cannot be opened as a table: it is packed otherwise than its name says, "
            "locked or damaged; save it again as CSV in UTF-8"
        ) from None


def _holds_counts(
    path: Path, header: Sequence[str], schema: Schema, where: Mapping[str, str]
) -> bool:
    """Check the header against the schema, and say whether the rows are cells."""
    counts = schema.layout == "counts" or (not schema.layout and schema.count in header)
    needed = [*schema.columns, *([schema.count] if counts else []), *where]
    if missing := [name for name in needed if name not in header]:
        raise InputError(
            f"{path} has no column {', '.join(map(repr, missing))}; its first row, read with "
            "commas, semicolons or tabs between the fields, must name the columns"
        )
    named = {*needed, *(group.name for group in schema.groups)}
    if twice := [name for name in named if header.count(name) > 1]:
        raise InputError(f"{path} has the column {twice[0]!r} twice; leave one out")
    if not counts and any(
        name.casefold() == COUNT and name not in schema.ignore for name in header
    ):
        raise InputError(
            f'{path} has a column {COUNT!r}, so that its rows are cells; say "layout": "counts" in '
            "the schema, or leave the column out"
        )
    known = named if schema.ignore != ("*",) else set(header)
    if stray := [name for name in header if name not in known and name not in schema.ignore]:
        raise InputError(
            f"{path} has {', '.join(map(repr, stray))}, which the schema does not list; say "
            f'"ignore": ["{stray[0]}", ...] or "ignore": "*" in the schema for columns that need '
            f'not be read, or "count": "{stray[0]}" if it holds the number of records of each cell'
        )
    return counts


def _places(place: Callable[[str], int], texts: Sequence[str]) -> NDArray[np.int64]:
    """Look texts up, -1 for those that have no place or are not UTF-8."""
    return np.array([-1 if "\ufffd" in t else place(t) for t in texts], dtype=np.int64)


def _count(text: str) -> int:
    fine = re.fullmatch(r"\d{1,13}", text, re.ASCII) and int(text) <= LARGEST_COUNT
    return int(text) if fine else -1


def read_table(path: Path, schema: Schema, where: Mapping[str, str] | None = None) -> Array:
    """Read a table of counts, or count records, as the schema says.

    Parameters
    ----------
    path
        CSV in UTF-8 (or UTF-16 with its mark), separated by commas, semicolons or tabs, perhaps
        packed (``.gz``, ``.bz2``, ``.xz``, ``.zip``); or Parquet, Excel, Stata, SPSS.
    schema
        Which columns and values there are, and which columns are not read.
    where
        Read only rows with these values in these columns, such as one area of a large file.

    Returns
    -------
    ndarray
        Counts, shape ``schema.shape``.

    Raises
    ------
    InputError
        A file that is not as the schema says; the message names rows (the header is row 1, empty
        lines do not count) and columns, never content.
    """
    where = {plain(name): plain(value) for name, value in (where or {}).items()}
    header, blocks = _source(path, [*schema.columns, *where])
    counts = _holds_counts(path, header, schema, where)
    groups = [group.name for group in schema.groups if group.name in header]
    named = [*schema.columns, *groups, *([schema.count] if counts else [])]
    table = np.zeros(schema.cells, dtype=np.int64)
    seen = np.zeros(schema.cells, dtype=bool)
    faults, row, kept = _Faults(path), 2, 0
    for block in blocks(list(dict.fromkeys([*named, *where]))):
        chosen = np.ones(len(block[named[0]][0]), dtype=bool)
        for name, value in where.items():
            codes, texts = block[name]
            chosen &= np.array([text == value for text in texts], dtype=bool)[codes]
        rows = row + np.flatnonzero(chosen)
        row, kept = row + chosen.size, kept + rows.size
        part = {name: (block[name][0][chosen], block[name][1]) for name in named}
        cells, good = _cells(part, rows, schema, groups, faults)
        if counts:
            found = _looked_up(_count, part[schema.count])
            faults.see(f"no whole number of records in column {schema.count!r}", rows[found < 0])
            again = good & (seen[cells] | _repeated(cells))
            faults.see("a row before it has the same cell", rows[again])
            good &= ~again & (found >= 0)
            seen[cells[good]] = True
            table[cells[good]] = found[good]
        else:
            table += np.bincount(cells[good], minlength=schema.cells)
    faults.check()
    if not kept:
        which = " and ".join(f"{name} = {value!r}" for name, value in where.items())
        raise InputError(f"{path} has no row{' with ' * bool(which)}{which} below its header")
    if counts and schema.totals:
        _check_totals(path, schema, table)
    return table.astype(float).reshape(schema.shape)


def _cells(
    part: Block,
    rows: NDArray[np.int64],
    schema: Schema,
    groups: Sequence[str],
    faults: _Faults,
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the cell of each row, and whether it has one (0 stands where it has none)."""
    places, good, empty = [], np.ones(rows.size, dtype=bool), np.ones(rows.size, dtype=bool)
    for axis, name in enumerate(schema.columns):
        places.append(_looked_up(schema.reader(axis), part[name]))
        empty &= np.array([not text for text in part[name][1]], dtype=bool)[part[name][0]]
        faults.see(f"the schema does not list the value in column {name!r}", rows[places[-1] < 0])
        good &= places[-1] >= 0
    faults.see(
        "every column of the schema is empty; leave the row out where it is no record (a household "
        "in a file of persons), else write a word where nothing is known",
        rows[good & empty],
    )
    good &= ~empty
    for name in groups:
        axis, of = schema.from_axis(name)
        values = schema.values_of(name)
        found = _looked_up(
            lambda text, known=values: known.index(text) if text in known else -1, part[name]
        )
        wrong = good & (found != of[places[axis]])
        faults.see(f"column {name!r} is not the group that the schema gives", rows[wrong])
        good &= ~wrong
    cells = schema.cell_numbers([np.where(good, p, 0) for p in places])
    faults.see("the schema says that this combination is impossible", rows[good & (cells < 0)])
    good &= cells >= 0
    return np.where(good, cells, 0), good


def _looked_up(
    place: Callable[[str], int], column: tuple[NDArray[np.int64], list[str]]
) -> NDArray[np.int64]:
    """Look a column's fields up; -1 where one has no place or is not UTF-8."""
    codes, texts = column
    return np.array([-1 if "\ufffd" in t else place(t) for t in texts], dtype=np.int64)[codes]


def _count(text: str) -> int:
    fine = re.fullmatch(r"\d{1,13}", text, re.ASCII) and int(text) <= LARGEST_COUNT
    return int(text) if fine else -1


def _repeated(cells: NDArray[np.intp]) -> NDArray[np.bool_]:
    again = np.ones(cells.size, dtype=bool)
    again[np.unique(cells, return_index=True)[1]] = False
    return again


def _check_totals(path: Path, schema: Schema, table: NDArray[np.int64]) -> None:
    """Refuse a table in which one value counts what all others of its column count together."""
    full = np.zeros(schema.sides, dtype=np.int64)
    full[... if schema.possible is None else schema.possible] = table.reshape(schema.shape)
    for axis, (name, values) in enumerate(zip(schema.columns, schema.values, strict=True)):
        lines = np.moveaxis(full, axis, 0).reshape(len(values), -1)
        total = (2 * lines == lines.sum(axis=0)).all(axis=1) & lines.any(axis=1)
        if len(values) > 2 and total.any():
            raise InputError(
                f"{path}: {values[int(total.argmax())]!r} in column {name!r} counts what all other "
                'values count together; leave out totals, or say "totals": false in the schema if '
                "it is none"
            )


def read_matrix(path: Path) -> tuple[Schema, Array]:
    """Read a matrix of counts, and take its schema from its labels (never for a release).

    Parameters
    ----------
    path
        A file as for `read_table`: labels in the first row and in the first column, everything
        else whole numbers of records.

    Raises
    ------
    InputError
        Another content; labels that are counts themselves, or given twice; a row or column that is
        the total of the others.
    """
    header, blocks = _source(path)
    labels: list[str] = []
    lines: list[NDArray[np.int64]] = []
    faults, row = _Faults(path), 2
    if len(set(header)) < len(header) or len(header) < 2:
        raise InputError(
            f"{path} is no matrix of counts: without a schema, the first row must hold labels, "
            "each of them once; for a table of another form write a schema (docs/tables.md)"
        )
    for block in blocks(header):
        codes, texts = block[header[0]]
        labels += [texts[code] for code in codes]
        lines.append(np.stack([_looked_up(_count, block[name]) for name in header[1:]], axis=1))
        rows = row + np.arange(codes.size)
        row += codes.size
        for k, name in enumerate(header[1:]):
            faults.see(f"no whole number of records in column {name!r}", rows[lines[-1][:, k] < 0])
    for what, own in (("first column", labels), ("first row", header[1:])):
        if all(_count(label) >= 0 for label in own):
            raise InputError(
                f"{path} has whole numbers in its {what}, where labels are needed: without a "
                "schema it must be a matrix of counts; for a table of another form write a schema "
                "(docs/tables.md)"
            )
    faults.check()
    names, sides = (header[0] or "row", "column"), (tuple(labels), tuple(header[1:]))
    if len(header) == 2:  # one column of counts
        names, sides = names[:1], sides[:1]
    schema = Schema(names, sides)
    table = np.concatenate(lines)
    _check_totals(path, schema, table)
    return schema, table.astype(float).reshape(schema.shape)
