"""Reading tables of counts, or records to be counted, from CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .schema import COUNT, WEIGHTED, Schema, load_schema, schema_path

Array = NDArray[np.float64]

LARGEST_COUNT = 10**12
"""Larger counts are refused, so that every total is exact in floating point."""


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank with their numbers; the header is row 1."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream, strict=True)
            for number, row in enumerate(reader, start=1):
                if row:
                    yield number, [field.strip() for field in row]
    except (FileNotFoundError, IsADirectoryError):
        raise InputError(f"there is no file {path}; a table is a CSV file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file in UTF-8; a table is a CSV file") from None
    except csv.Error as error:
        raise InputError(f"{path} is not a CSV file: {error}") from None


def _body(
    path: Path, width: int, rows: Iterator[tuple[int, list[str]]]
) -> Iterator[tuple[int, list[str]]]:
    for number, row in rows:
        if len(row) != width:
            raise InputError(
                f"{path}, row {number}: {len(row)} fields where the header has {width}; every row "
                "needs one field a column"
            )
        yield number, row


def _header(path: Path, rows: Iterator[tuple[int, list[str]]]) -> list[str]:
    first = next(rows, None)
    if first is None:
        raise InputError(f"{path} is empty; its first row must name the columns")
    header = first[1]
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise InputError(f"{path} names column {min(twice)!r} twice; each name must occur once")
    if WEIGHTED in header:
        raise refuse_weighted(path)
    return header


def refuse_weighted(path: Path) -> InputError:
    """Return the error for a weighted table, which neither `price` nor `release` takes."""
    return InputError(
        f"{path} is a weighted table: one person can change a count by more than one, so the "
        "privacy guarantee would not hold; tabulate the persons again without weights"
    )


def _count(path: Path, number: int, column: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 13 or int(text) > LARGEST_COUNT:
        raise InputError(
            f"{path}, row {number}, column {column!r}: not a whole number from 0 to 10^12; every "
            "cell must be a count of records"
        )
    return int(text)


def _position(path: Path, number: int, schema: Schema, axis: int, text: str) -> int:
    place = schema.place(axis, text)
    if place < 0:
        raise InputError(
            f"{path}, row {number}, column {schema.columns[axis]!r}: the value is not one that the "
            "schema allows; correct the row, or count what is not listed at a value that is public "
            'beforehand: {"values": [...], "other": "other", "empty": "not stated"}; a schema made '
            "from the data would tell what is in them"
        )
    return place


def _cell(path: Path, number: int, schema: Schema, places: Sequence[int]) -> int:
    cell = int(schema.cell_numbers([np.array(p) for p in places]))
    if cell < 0:
        raise InputError(
            f"{path}, row {number}: the schema says that this combination of values is impossible; "
            "correct the row or the schema"
        )
    return cell


def _incomplete(path: Path, schema: Schema, table: NDArray[np.int64]) -> InputError:
    values = schema.cell_values()[int(np.argmax(table < 0))]
    first = ", ".join(f"{c}={v}" for c, v in zip(schema.columns, values, strict=True))
    return InputError(
        f"{path} does not have a row for every one of the {schema.cells} combinations of its "
        f"columns' values; the first missing is {first}; each must be there, with a count of 0 "
        "where there is nobody: leaving out empty cells would tell where they are"
    )


def _long(
    path: Path, schema: Schema, header: list[str], rows: Iterator[tuple[int, list[str]]]
) -> Array:
    extra = sorted(set(header) - {*schema.columns, COUNT})
    if extra:
        raise InputError(
            f"{path} has column {extra[0]!r}, which is neither in the schema nor {COUNT!r}; a "
            "table has one column for each of the schema's and one for the counts"
        )
    axes = [header.index(c) for c in schema.columns]
    place = header.index(COUNT)
    table = np.full(schema.cells, -1, dtype=np.int64)
    for number, row in rows:
        places = [_position(path, number, schema, k, row[a]) for k, a in enumerate(axes)]
        cell = _cell(path, number, schema, places)
        if table[cell] >= 0:
            raise InputError(
                f"{path}, row {number}: this cell has a row already; each cell must occur once"
            )
        table[cell] = _count(path, number, COUNT, row[place])
    if (table < 0).any():
        raise _incomplete(path, schema, table)
    return table.astype(float).reshape(schema.shape)


def _wide(
    path: Path, schema: Schema, header: list[str], rows: Iterator[tuple[int, list[str]]]
) -> Array:
    sides = len(schema.columns) - 1
    across = [schema.positions[-1][v] for v in header[sides:]]
    table = np.full(schema.cells, -1, dtype=np.int64)
    for number, row in rows:
        line = [_position(path, number, schema, k, row[k]) for k in range(sides)]
        for name, place, text in zip(header[sides:], across, row[sides:], strict=True):
            if not text and schema.restricted:
                continue  # an impossible cell is left blank
            cell = _cell(path, number, schema, [*line, place])
            if table[cell] >= 0:
                raise InputError(
                    f"{path}, row {number}: its cells have a row already; each cell must occur once"
                )
            table[cell] = _count(path, number, name, text)
    if (table < 0).any():
        raise _incomplete(path, schema, table)
    return table.astype(float).reshape(schema.shape)


def _records(
    path: Path, schema: Schema, header: list[str], rows: Iterator[tuple[int, list[str]]]
) -> Array:
    axes = [header.index(c) for c in schema.columns]
    table = np.zeros(schema.cells, dtype=np.int64)
    cells: dict[tuple[str, ...], int] = {}
    for number, row in rows:
        fields = tuple(row[a] for a in axes)
        cell = cells.get(fields)
        if cell is None:
            places = [_position(path, number, schema, k, text) for k, text in enumerate(fields)]
            cell = cells[fields] = _cell(path, number, schema, places)
        table[cell] += 1
    return table.astype(float).reshape(schema.shape)


def read_table(path: Path, schema: Schema) -> Array:
    """Read a table of counts, or count records, as the schema says.

    Three forms are told apart by their first row. Long: the schema's columns and ``count``, one
    row a cell. Wide: all the schema's columns but the last, then each value of the last, one
    column a value. Records: the schema's columns without ``count``, one row a record, other columns
    unread.

    Parameters
    ----------
    path
        A CSV file in UTF-8 with commas.
    schema
        Which columns and which values there are.

    Returns
    -------
    ndarray
        Counts, shape ``schema.shape``.

    Raises
    ------
    InputError
        A form that is none of the three, a weighted table, a value outside the schema or no count
        (naming the row's number and the column, not the content), a cell missing or given twice.
    """
    if schema.weighted:
        raise refuse_weighted(path)
    rows = _rows(path)
    header = _header(path, rows)
    body = _body(path, len(header), rows)
    if set(schema.columns) <= set(header):
        if COUNT in header:
            return _long(path, schema, header, body)
        return _records(path, schema, header, body)
    sides = len(schema.columns) - 1
    if (
        header[:sides] == list(schema.columns[:-1])
        and sides
        and set(header[sides:]) & set(schema.values[-1])
    ):
        if set(header[sides:]) != set(schema.values[-1]):
            raise InputError(
                f"{path} looks like a wide table, but its first row does not have exactly the "
                f"{len(schema.values[-1])} values of {schema.columns[-1]!r} that the schema lists"
            )
        return _wide(path, schema, header, body)
    _check_separator(path, header)
    missing = [c for c in schema.columns if c not in header]
    raise InputError(
        f"{path} lacks the schema's column {missing[0]!r}; needed are {', '.join(schema.columns)} "
        f"and {COUNT} with one row a cell, or the same without {COUNT} with one row a record, or "
        "a wide table (the values of the last column as headings)"
    )


def _check_separator(path: Path, header: Sequence[str]) -> None:
    """Refuse a header whose names are separated by something else than commas."""
    for mark, word in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(header) == 1 and mark in header[0]:
            raise InputError(
                f"{path} seems to separate its columns by {word}; needed are commas: save it again "
                "as a CSV file with commas"
            )


def schema_of_table(path: Path) -> Schema:
    """Take the schema from a complete table of counts itself (for `price`, never for a release).

    Parameters
    ----------
    path
        A long table (its column ``count`` last) or a wide one with one column of headings.

    Raises
    ------
    InputError
        Neither form.
    """
    rows = _rows(path)
    header = _header(path, rows)
    body = _body(path, len(header), rows)
    if len(header) > 1 and COUNT in header:
        names = [n for n in header if n != COUNT]
        seen: list[dict[str, None]] = [{} for _ in names]
        for _, row in body:
            for k, name in enumerate(names):
                seen[k].setdefault(row[header.index(name)])
        return Schema(tuple(names), tuple(tuple(s) for s in seen))
    if len(header) > 2:
        sides: dict[str, None] = {}
        for number, row in body:
            sides.setdefault(row[0])
            for name, text in zip(header[1:], row[1:], strict=True):
                _count(path, number, name, text)
        return Schema((header[0], "column"), (tuple(sides), tuple(header[1:])))
    _check_separator(path, header)
    raise InputError(
        f"{path} is neither a table of counts with a column {COUNT!r} nor a wide one; for records "
        "give their schema with --schema"
    )


def find_schema(table: Path, schema: Path | None = None) -> Schema:
    """Return the schema of a table to price: the one given, the one beside it, or its own.

    Never for a release, whose schema must not come from the data.

    Parameters
    ----------
    table
        A table's file.
    schema
        A schema's file; ``None`` for ``TABLE.schema.json`` if there is one, else what the table of
        counts itself lists.

    Raises
    ------
    InputError
        A file that is none.
    """
    if schema is not None:
        return load_schema(schema)
    beside = schema_path(table)
    return load_schema(beside) if beside.is_file() else schema_of_table(table)
