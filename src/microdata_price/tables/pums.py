"""Streaming the Census Bureau's person files: a few columns of one area, block by block."""

from __future__ import annotations

import contextlib
import gzip
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, csv

from ..exceptions import InputError

STATE_COLUMNS = ("ST", "STATE")
"""The state's column was renamed in the files of 2023."""
WEIGHT = "PWGTP"
"""The column of the person weights."""
_BLOCK = 1 << 20


@contextlib.contextmanager
def _opened(path: Path, name: str | None) -> Iterator[IO[bytes]]:
    """Open a file, or a member of a zip archive, as the text it holds."""
    if name is not None:
        with zipfile.ZipFile(path) as archive, archive.open(name) as stream:
            yield stream
        return
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if packed:
            with gzip.open(raw) as stream:
                yield cast(IO[bytes], stream)
        else:
            yield raw


def _members(path: Path) -> list[str | None]:
    if not zipfile.is_zipfile(path):
        return [None]
    with zipfile.ZipFile(path) as archive:
        names = [n for n in archive.namelist() if n.lower().endswith(".csv")]
    if not names:
        raise InputError(f"{path} is a zip archive without a .csv file in it")
    return [*names]


def _place(path: Path, member: str | None) -> str:
    return str(path) if member is None else f"{path} ({member})"


def _header(stream: IO[bytes], place: str) -> list[str]:
    first = stream.readline(1 << 20).decode("utf-8-sig", errors="replace").strip()
    names = [n.strip().strip('"') for n in first.split(",")]
    if names == [""]:
        raise InputError(f"{place} is empty; a person file's first row names its columns")
    return names


def _choose(header: Sequence[str], wanted: Sequence[str], area: str, place: str) -> list[str]:
    """Find the columns to read: the state, the area, then those wanted."""
    state = next((s for s in STATE_COLUMNS if s in header), None)
    if state is None:
        raise InputError(
            f"{place} has no column {' or '.join(STATE_COLUMNS)}; a person file of the Public Use "
            "Microdata Sample is needed (psam_p01.csv for Alabama, for example)"
        )
    for name in (area, *wanted):
        if name not in header:
            near = [n for n in header if n.startswith(area)] if name == area else []
            hint = f"; it has {' and '.join(near)}: choose with --puma-column" if near else ""
            raise InputError(
                f"{place} has no column {name!r}{hint or '; see the dictionary of its year'}"
            )
    for name in (state, area, *wanted):
        if header.count(name) > 1:
            raise InputError(f"{place} names column {name!r} twice; each name must occur once")
    return [state, area, *wanted]


def _plain(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Bring codes into one form: no spaces, no leading zeros, 'blank' for an empty field."""
    text = compute.utf8_trim_whitespace(column)
    text = compute.replace_substring_regex(text, pattern=r"^0+(\d)", replacement=r"\1")
    return compute.if_else(compute.equal(text, ""), "blank", text)


def _bad_row(place: str, found: list[int | None]) -> InputError:
    where = f", row {found[0]}" if found and found[0] else ""
    return InputError(
        f"{place}{where}: not one field a column; the file is damaged or not a CSV file"
    )


def _batches(place: str, stream: IO[bytes], header: list[str], columns: list[str]) -> Iterator[Any]:
    found: list[int | None] = []

    def bad(row: Any) -> str:
        found.append(row.number)
        return "error"

    try:
        reader = csv.open_csv(
            pa.PythonFile(stream, mode="r"),
            read_options=csv.ReadOptions(block_size=_BLOCK, use_threads=False, column_names=header),
            parse_options=csv.ParseOptions(invalid_row_handler=bad),
            convert_options=csv.ConvertOptions(
                include_columns=columns, column_types=dict.fromkeys(columns, pa.string())
            ),
        )
        yield from reader
    except pa.ArrowInvalid:
        # The library's own message would quote the row.
        raise _bad_row(place, found) from None


def area_rows(
    path: Path, state: str, puma: str, columns: Sequence[str], area: str = "PUMA"
) -> Iterator[tuple[str, NDArray[np.int64], dict[str, pa.Array]]]:
    """Yield the persons of one area, block by block, so that memory does not grow with the file.

    Parameters
    ----------
    path
        A person file: CSV, the same compressed by gzip, or a zip archive of one or more.
    state, puma
        The area's codes, two and five digits.
    columns
        Which columns to give.
    area
        The column with the area's code.

    Yields
    ------
    tuple
        The file's name for messages, the rows' numbers (the header is row 1), and the columns,
        codes without leading zeros and ``blank`` for an empty field.

    Raises
    ------
    InputError
        A damaged file, or one that lacks a column.
    """
    try:
        for member in _members(path):
            place = _place(path, member)
            with _opened(path, member) as stream:
                header = _header(stream, place)
            chosen = _choose(header, columns, area, place)
            with _opened(path, member) as stream:
                row = 1  # The header comes as a row like the others; its state is no number.
                for batch in _batches(place, stream, header, chosen):
                    inside = compute.and_(
                        compute.equal(_plain(batch.column(0)), str(int(state))),
                        compute.equal(_plain(batch.column(1)), str(int(puma))),
                    )
                    index = np.flatnonzero(inside.to_numpy(zero_copy_only=False))
                    if index.size:
                        kept = batch.take(pa.array(index))
                        values = {
                            name: _plain(kept.column(k + 2)) for k, name in enumerate(columns)
                        }
                        yield place, index + row, values
                    row += batch.num_rows
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError):
        raise InputError(f"{path} is damaged: it cannot be unpacked to its end") from None
