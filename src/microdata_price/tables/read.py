"""Tables from files: counts, or records to be counted, exactly as their schema says.

What a schema does not state is refused by row and column, never by content (docs/tables.md).
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import re
import sys
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from ..exceptions import InputError
from .schemas import COUNT, NUMBER, Schema, fault_of, plain, require

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

LARGEST_COUNT = 10**12  # so that every total is exact in floating point
_NO_COUNT = "column {!r} holds no whole number of records in digits, at most a million million"
_NOBODY = "all columns are empty; leave out what is no record, write a word where one is"
_PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_NULLS: Any = {"dtype_backend": "numpy_nullable"}  # each value as it is, whatever others are
_RAW: Any = {"header": None, "dtype": object, "na_filter": False}  # two columns may have one name
_FRAMES: dict[str, tuple[Callable[..., Any], str]] = {  # OSFile: any name, and no column of it
    ".parquet": (lambda path: pd.read_parquet(pa.OSFile(bytes(path)), **_NULLS), "pyarrow"),
    ".xlsx": (partial(pd.read_excel, engine="openpyxl", **_RAW), "openpyxl"),
    ".dta": (pd.read_stata, "pandas"),
    **dict.fromkeys((".sav", ".zsav"), (pd.read_spss, "pyreadstat")),
}


class _Fields(NamedTuple):
    """A column's fields in some rows: each row's place in a list of texts."""

    codes: Whole
    texts: list[str]

    def each(self, function: Callable[[str], Any], kind: Any = np.int64) -> NDArray[Any]:
        """Apply a function to every field, once for each text."""
        return np.array([function(text) for text in self.texts], dtype=kind)[self.codes]


Blocks = Callable[[Sequence[str]], Iterator[dict[str, _Fields]]]
Faults = defaultdict[str, list[Whole]]  # rows that cannot be counted, by what is wrong


def _check(path: Path, faults: Faults) -> None:
    said = []
    for why, parts in faults.items():
        rows = np.unique(np.concatenate(parts))
        named = ", ".join(map(str, rows[:10])) + ", ..." * (rows.size > 10)
        said += [f"{rows.size:,} row{'s' * (rows.size > 1)} ({named}): {why}"] * (rows.size > 0)
    require(not said, f"{path}, {'; '.join(said)}")


class _Packed(io.FileIO):
    """A packed file's bytes; an unpacker that never asks for their end has left some of them."""

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size) or b""
        self.ended = not data
        return data


class _Quoted(io.RawIOBase):
    """A CSV file that knows whether quotation marks stand around whole fields, or twice within."""

    def __init__(self, file: Any, separator: str) -> None:
        self.file, self.last, self.marks, self.fine = file, b"\n\n", 0, True
        self.edge = np.isin(np.arange(256), list(f'\r\n"{separator}'.encode()))

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data: bytes = self.file.read(size)  # Arrow wants an end also of names without a row
        data += b"\n" * (0 < len(data) < size and data[-1:] not in b"\r\n")
        for k in range(0, len(data) or 1, 1 << 20):  # pieces that fit into a processor's cache
            near = np.frombuffer(self.last + (data[k : k + (1 << 20)] or b"\n"), dtype=np.uint8)
            at, odd = np.flatnonzero(near[1:-1] == ord('"')), self.marks % 2
            before, after = near[at[odd::2]], near[2:][at[1 - odd :: 2]]  # a field's ends
            self.fine &= bool(self.edge[before].all() and self.edge[after].all())
            self.last, self.marks = near[-2:].tobytes(), self.marks + at.size
        return data


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn what a format's reader raises into a sentence; its words and warnings may quote data."""
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except ImportError:
        package = _FRAMES[path.suffix.lower()][1]
        raise InputError(f"{path} needs the package {package}: install it, or use CSV") from None
    except Exception as error:
        if isinstance(error, (InputError, MemoryError)):
            raise
        if isinstance(error, OSError) and error.filename:  # of which the system speaks
            raise InputError(f"{path} cannot be read ({error.strerror}); name another") from None
        uneven = re.search(r"Row #(\d+): Expected", str(error))
        place = f"{path}, row {uneven[1]}," if uneven else path
        csv = "rows have as many fields as the first, and quotation marks go around whole fields"
        said = f"{place} is damaged, locked, or not what its name says; in CSV {csv}; in Stata each"
        raise InputError(f"{said} value has its own label; Excel has a sheet of cells") from None


@contextlib.contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Open a file's bytes, unpacked, and in UTF-8 where it bears UTF-16's mark."""
    suffix = path.suffix.lower()
    with _reading(path), contextlib.ExitStack() as stack:
        packed: Any = (raw := stack.enter_context(_Packed(path)))
        if suffix == ".zip":
            archive = stack.enter_context(zipfile.ZipFile(raw))
            names = [n for n in archive.namelist() if "__MACOSX/" not in n and n[-1] != "/"]
            require(len(names) == 1, f"{path} holds {len(names)} files; unpack it, and give one")
            first = min(part.header_offset for part in archive.infolist())
            require(not first, f"{path} is two archives in one, or damaged; pack its table anew")
            packed = archive.open(names[0])
        elif suffix in _PACKED:
            packed = _PACKED[suffix](raw)
        file = io.BufferedReader(stack.enter_context(packed))
        file.read(3 * file.peek(3).startswith(b"\xef\xbb\xbf"))  # the mark of UTF-8
        marked = file.peek(2)[:2] in (b"\xff\xfe", b"\xfe\xff")
        yield io.BytesIO(file.read().decode("utf-16").encode()) if marked else file
        left = suffix in _PACKED and not file.read(1) and not raw.ended
        require(not left, f"{path} is damaged: bytes follow after its packed table; pack it again")


def _source(path: Path, wanted: Sequence[str] = ()) -> tuple[list[str], Blocks]:
    """Return a file's header, and what reads some of its columns, a block of rows at once."""
    with _reading(path):
        require(path.is_file(), f"{path} is missing, or a pipe; a table must be a regular file")
    if path.suffix.lower() in _FRAMES:
        return _frame(path)
    with _open(path) as file:
        start = file.read(1 << 20) + file.readline(1 << 24)  # the names' row whole, if it is long
    require(b"\0" not in start, f"{path} is no text; give CSV in UTF-8, or {', '.join(_FRAMES)}")
    row = next(re.finditer(r'(?:[^"\r\n]+|"[^"]*"?)*', start.decode("utf-8", "replace")))[0]
    rows = {m: re.findall(rf'{m}((?:[^{m}"]+|"[^"]*"?)*)', m + row) for m in ",;\t"}
    headers = {m: [plain(re.sub(r'^"|"$|"(")', r"\1", n)) for n in rows[m]] for m in rows}
    fit = [mark for mark, names in headers.items() if set(wanted) <= set(names)]
    mark = max(fit or headers, key=lambda m: len(headers[m]))
    header, names = headers[mark], [str(k) for k in range(len(headers[mark]))]
    read = arrow_csv.ReadOptions(column_names=names, block_size=1 << 24, skip_rows_after_names=1)
    read.use_threads = False  # several would not know a damaged row's number
    parse = arrow_csv.ParseOptions(delimiter=mark, newlines_in_values=True)
    parse.ignore_empty_lines = len(header) > 1

    def blocks(columns: Sequence[str]) -> Iterator[dict[str, _Fields]]:
        chosen = {names[header.index(n)]: pa.dictionary(pa.int32(), pa.binary()) for n in columns}
        kinds = arrow_csv.ConvertOptions(include_columns=list(chosen), column_types=chosen)
        with _open(path) as file:
            quoted = _Quoted(file, mark)
            held = sys.getrefcount(quoted)
            try:
                for batch in arrow_csv.open_csv(quoted, read, parse, kinds):
                    yield {name: _arrow(batch.column(k)) for k, name in enumerate(columns)}
            finally:  # Arrow's thread may let go a moment later: it would crash if Python ended now
                any(sys.getrefcount(quoted) <= held or Event().wait(0.001) for _ in range(999))
        good = quoted.fine and not quoted.marks % 2
        require(good, f'{path} has a stray quotation mark; write a field with one as "a 5"" pipe"')

    return header, blocks


def _arrow(column: Any) -> _Fields:
    texts = [plain(raw.decode("utf-8", "replace")) for raw in column.dictionary.to_pylist()]
    return _Fields(column.indices.to_numpy().astype(np.int64), texts)


def _text(value: Any, stata: bool = False) -> str:
    """Write one value, whatever others there are, as CSV has it: 3 for 3.0, midnight as its day."""
    if stata and isinstance(value, float) and value % 1 and np.float32(value) == value:
        value = np.float32(value)  # beside labels pandas makes a double of it
    if not pd.api.types.is_scalar(value):
        return "\ufffd"  # a list is no value, and its numbers are read as those of others are
    if pd.isna(value):
        return ""
    if isinstance(value, Decimal):
        return re.sub(r"\.0*$|(\.\d*?)0+$", r"\1", format(value, "f"))
    if isinstance(value, datetime) and re.search(r" 00:00:00(?!\.)", str(value)):
        return str(value.date())
    if isinstance(value, float | np.floating):  # 0.7 of 32 bits, not the nearest double to it
        value = int(whole) if (whole := float(str(value))).is_integer() else whole
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _find_date(path: Path, read: Callable[..., Any]) -> None:
    """Refuse a file for a date that no calendar has, which is the least or largest of a column."""
    stata = read is pd.read_stata
    off = {"convert_dates": False} if stata else {"disable_datetime_conversion": True}
    for name, column in read(path, **off).items():
        try:
            read(path, **{"columns" if stata else "usecols": [name]})
        except (OverflowError, pd.errors.OutOfBoundsDatetime):
            said = f"row {column.argmin() + 2} or {column.argmax() + 2} of {plain(name)!r}"
            raise InputError(f"{path}, {said}: a date is in no calendar; leave it empty") from None


def _frame(path: Path) -> tuple[list[str], Blocks]:
    """Return header and blocks of a file that an engine of its own reads whole."""
    read = _FRAMES[path.suffix.lower()][0]
    with _reading(path), path.open("rb"):
        try:
            frame = read(path)
            if frame.index.names != [None] or not isinstance(frame.index, pd.RangeIndex):
                frame = frame.reset_index(allow_duplicates=True)  # columns, as to other readers
        except (OverflowError, pd.errors.OutOfBoundsDatetime):
            _find_date(path, read)
            raise
    if path.suffix.lower() == ".xlsx":  # where an error, such as #DIV/0!, is no empty cell
        require(len(frame), f"{path} has an empty first sheet; put its table there, or use CSV")
        frame = frame.where(frame.notna(), "\ufffd").iloc[1:].set_axis(frame.iloc[0], axis=1)
    frame.columns = pd.Index([plain(name) for name in frame.columns])

    def fields(column: pd.Series) -> _Fields:
        if column.dtype.kind == "O":  # where 1 and True are equal, but two values
            column = column.astype(object).map(partial(_text, stata=read is pd.read_stata))
        codes, values = pd.factorize(column, use_na_sentinel=False)
        return _Fields(codes.astype(np.int64), [plain(_text(v)) for v in pd.Index(values).array])

    @_reading(path)  # Arrow decodes a text when it is asked for
    def blocks(columns: Sequence[str]) -> Iterator[dict[str, _Fields]]:
        return iter([{name: fields(frame[name]) for name in columns}])

    return list(frame.columns), blocks


def _holds_counts(path: Path, header: list[str], schema: Schema, where: Mapping[str, str]) -> bool:
    """Check the header against the schema, and return whether the rows are cells."""
    counts = schema.layout == "counts" or (not schema.layout and schema.count in header)
    require(not (counts and schema.count in where), "--where cannot choose cells by their counts")
    needed = [*schema.columns, *([schema.count] if counts else []), *where]
    lost = ", ".join(repr(name) for name in needed if name not in header)
    row = "first row" + " (of the first sheet, hidden or not)" * (path.suffix.lower() == ".xlsx")
    require(not lost, f"{path} has no column {lost}; its {row} must name them (docs/tables.md)")
    known = [*dict.fromkeys([*needed, *schema.names])]
    twice = ", ".join(repr(name) for name in known if header.count(name) > 1)
    require(not twice, f"{path} has the column {twice} twice; leave one out")
    cells = sorted(n for n in {*header} - {*schema.names, *schema.ignore} if n.casefold() == COUNT)
    hint = f'of cells say "layout": "counts", "count": "{"".join(cells)}", of records ignore it'
    hint = ', and the schema says "layout": "records"' * (schema.layout != "") + f": {hint}"
    require(counts or not cells, f"{path} has a column {', '.join(map(repr, cells))}{hint}")
    listed = {*(header if schema.ignore == ("*",) else known), *schema.ignore}
    others = [repr(name) for name in header if name not in listed]
    more = ", ".join(others[:10]) + ", ..." * (len(others) > 10)
    said = '"ignore": [...] (names) or "ignore": "*", or "count": NAME if one holds counts'
    require(not more, f"{path} has {more}, which the schema does not list; say there {said}")
    return counts


def read_table(path: Path, schema: Schema, where: Mapping[str, str] | None = None) -> Array:
    """Read a table of counts, or count records: an array of shape ``schema.shape``.

    Parameters
    ----------
    path
        CSV in UTF-8 (or UTF-16 with its mark), separated by commas, semicolons or tabs, perhaps
        packed (``.gz``, ``.bz2``, ``.xz``, ``.zip``); or Parquet, Excel, Stata, SPSS.
    schema
        Which columns and values there are, and which columns are not read.
    where
        Read only rows with these values in these columns, such as one area of a large file. Zero
        rows are a table of zeros, no error: whether a record is there is for the noise to hide.

    Raises
    ------
    InputError
        A file that is not as the schema says; the message names rows and columns, never content.
    """
    where = {plain(name): plain(value) for name, value in (where or {}).items()}
    wanted = dict[str, tuple[Callable[[str], Any], Any]]()  # how a field is read, and as what
    for name, value in where.items():
        listed = name not in schema.names or value in schema.values_of(name)
        require(listed, f"{name!r} cannot be {value!r}, which the schema does not list; mend one")
        as_cell = schema.reader(name) if name in schema.names else str
        wanted[name] = as_cell, as_cell(value)
    header, blocks = _source(path, [*schema.columns, *where])
    counts = _holds_counts(path, header, schema, where)
    named = [name for name in schema.names if name in header] + [schema.count] * counts
    table, seen = np.zeros(schema.cells, dtype=np.int64), np.zeros(schema.cells, dtype=bool)
    faults, row = Faults(list), 2
    for block in blocks(list(dict.fromkeys([*named, *where]))):
        chosen = np.ones(len(block[named[0]].codes), dtype=bool)
        for name, (as_cell, place) in wanted.items():
            chosen &= block[name].each(as_cell, object) == place
            damaged = np.flatnonzero(block[name].each(lambda text: "\ufffd" in text, bool))
            faults[f"{name!r} is not UTF-8, or holds an error"].append(row + damaged)
        rows = row + np.flatnonzero(chosen)
        row += chosen.size
        part = {name: _Fields(block[name].codes[chosen], block[name].texts) for name in named}
        cells = _cells(part, rows, schema, faults)
        number = part[schema.count].each(_count) if counts else np.ones_like(cells)
        faults[_NO_COUNT.format(schema.count)].append(rows[number < 0])
        fine = (cells >= 0) & (number >= 0)
        cells, number, rows = cells[fine], number[fine], rows[fine]
        if counts:
            again = seen[cells] | pd.Series(cells).duplicated().to_numpy()
            faults["an earlier row has the same cell"].append(rows[again])
            seen[cells], table[cells] = True, number
        else:
            table += np.bincount(cells, minlength=schema.cells)
    _check(path, faults)
    if counts:
        _check_totals(path, schema, table)
    return table.astype(float).reshape(schema.shape)


def _cells(part: Mapping[str, _Fields], rows: Whole, schema: Schema, faults: Faults) -> Whole:
    """Return the cell of each row, -1 where it has none."""
    places = [part[name].each(schema.reader(name)) for name in schema.columns]
    empty = np.all([part[name].each(str.__len__) == 0 for name in schema.columns], axis=0)
    some = ~empty | (schema.count in part)  # no record has only empty fields, but a cell may
    faults[_NOBODY].append(rows[~some])
    for name, rule, place in zip(schema.columns, schema.rules, places, strict=True):
        said = f"the schema does not list the value in {name!r}"
        faults[said + ", or it is empty" * (not rule.empty)].append(rows[some & (place < 0)])
    good = some & (np.min(places, axis=0, initial=0) >= 0)
    for group in (group for group in schema.groups if group.name in part):
        axis, of = schema.from_axis(group.name)
        wrong = good & (part[group.name].each(schema.reader(group.name)) != of[places[axis]])
        faults[f"{group.name!r} is not the group that the schema gives"].append(rows[wrong])
    at = tuple(np.where(good, p, 0) for p in places)
    cells = np.where(good, schema.cell_numbers[at], -1)
    for names, struck in schema.struck() if (cells[good] < 0).any() else ():
        met = rows[good & struck[at]]
        faults[f"the schema says that these values of {names} cannot meet"].append(met)
    return cells


def _count(text: str) -> int:
    fine = re.fullmatch(r"\d{1,13}", text, re.ASCII) and int(text) <= LARGEST_COUNT
    return int(text) if fine else -1


def _check_totals(path: Path, schema: Schema, table: Whole) -> None:
    """Refuse a table in which one value counts what all others of its column count together."""
    full = np.zeros(schema.sides, dtype=np.int64)
    full[... if schema.possible is None else schema.possible] = table.reshape(schema.shape)
    for axis, (name, values) in enumerate(zip(schema.columns, schema.values, strict=True)):
        lines = np.moveaxis(full, axis, 0).reshape(len(values), -1)
        total = (2 * lines == lines.sum(axis=0)).all(axis=1) & lines.any(axis=1)
        fine = len(values) < 3 or not schema.totals or not total.any()
        said = f"{values[int(total.argmax())]!r} ({name}) counts what all others do together"
        more = 'leave it out if it is a total, or say "totals": false (a matrix needs a schema)'
        require(fine, f"{path}: {said}; {more}")


def read_matrix(path: Path) -> tuple[Schema, Array]:
    """Read a matrix of counts, and take its schema from its labels (never for a release)."""
    header, blocks = _source(path)
    labels, lines, faults = list[str](), list[Whole](), Faults(list)
    for block in blocks(header) if len(set(header)) == len(header) > 1 else ():
        first, *others = block.values()
        rows = len(labels) + 2 + np.arange(first.codes.size)
        labels += [first.texts[code] for code in first.codes]
        lines.append(np.stack([column.each(_count) for column in others], axis=1))
        for name, column in zip(header[1:], lines[-1].T, strict=True):
            faults[_NO_COUNT.format(name)].append(rows[column < 0])
    shared = [name for name in header[:1] if name in header[1:]]  # no label is the corner's name
    for what, own in (("row", shared + header[1:]), ("column", labels)):
        fault = fault_of(own) or "only numbers" * all(map(NUMBER.fullmatch, own))
        said = f"{path} needs labels in its first {what}, each once; there it has {fault}"
        require(not fault, f"{said}. Mend this, or of other tables write a schema (docs/tables.md)")
    _check(path, faults)
    names = (header[0] or "row", "column" if header[0].casefold() != "column" else "heading")
    axes = 1 if len(header) == 2 else 2  # one column of counts has no second axis
    schema = Schema(names[:axes], (tuple(labels), tuple(header[1:]))[:axes])
    _check_totals(path, schema, table := np.concatenate(lines))
    return schema, table.astype(float).reshape(schema.shape)
