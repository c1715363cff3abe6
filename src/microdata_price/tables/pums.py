"""Streaming the Census Bureau's person files: a few columns of one area, block by block."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, csv

from ..exceptions import InputError
from .looks import looks_like_counts
from .opening import Layout, Source, layout, plain_text, sources

STATE_COLUMNS = ("ST", "STATE")
"""The state's column was renamed in the files of 2023; the Bureau's API calls it ``state``."""
AREA_COLUMN = "PUMA"
"""The column of the area, where there is one of that name."""
AREA_COLUMNS = ("PUMA20", "PUMA10", "PUMA00", "public use microdata area")
"""What the area's column is called else: by the census it was drawn after, or by the API."""
WEIGHT = "PWGTP"
"""The column of the person weights."""
PERSON = ("SERIALNO", "SPORDER")
"""What no two persons share: the household's number, and the person's number in it."""
RECORD_TYPE = "RT"
_BLOCK = 1 << 20
_FEW = 40
"""Files with fewer columns are extracts, which may hold more than the Bureau's."""
_WEIGHTS = re.compile(r"P?WGTP\d*", re.IGNORECASE)
_UNCODED = r"^-0*9$|^blank$|^[Nn]$"
"""An area's code where a person has none, as in the files of five years with two such columns."""


@dataclass
class Reading:
    """What was met on the way through a file, beside the persons of the area.

    Parameters
    ----------
    left
        Members of an archive that are no person files.
    area
        The column that held the area's code.
    unread
        How many columns were not read.
    others
        How many rows are of no person of the area.
    uncoded
        How many persons of the state have no code in that column.
    states
        How many persons each state has.
    watched
        Columns that are not asked for and may hold counts.
    """

    left: tuple[str, ...] = ()
    area: str = AREA_COLUMN
    unread: int = 0
    others: int = 0
    uncoded: int = 0
    states: Counter[str] = field(default_factory=Counter)
    watched: list[str] = field(default_factory=list)

    @property
    def stateless(self) -> int:
        """How many rows have no state's number: empty ones, notes, or headers once more."""
        return sum(n for state, n in self.states.items() if not state.isdigit())


def _named(header: Sequence[str], name: str) -> str | None:
    """Return a column as the header writes its name, perhaps in small letters."""
    if name in header:
        return name
    like = [n for n in header if n.casefold() == name.casefold()]
    return like[0] if len(like) == 1 else None


def _check_persons(header: Sequence[str], place: str) -> None:
    """Refuse a file that lacks what each person record has."""
    if _named(header, PERSON[1]) or _named(header, WEIGHT):
        return
    if _named(header, "WGTP") or _named(header, "NP"):
        raise InputError(
            f"{place} looks like a file of households; give the person file (psam_p01.csv for "
            "Alabama, for example)"
        )
    raise InputError(
        f"{place} has neither {PERSON[1]} nor {WEIGHT}, one of which each person record has, so "
        "that it is not a person file; keep that column when making an extract, or count the rows "
        "with price or release and a schema"
    )


def _area_column(header: Sequence[str], area: str | None, place: str) -> str:
    wanted = AREA_COLUMN if area is None else area
    found = _named(header, wanted)
    if found is not None:
        return found
    near = [n for n in (_named(header, c) for c in AREA_COLUMNS) if n is not None]
    if area is None and len(near) == 1:
        return near[0]
    if not near:
        raise InputError(
            f"{place} has no column {wanted!r}; a person file with the area's code is needed"
        )
    which = "; areas of 2020 and of 2010 are not the same" if len(near) > 1 else ""
    raise InputError(
        f"{place} has no column {wanted!r}; it has {' and '.join(near)}: choose with "
        f"--puma-column {near[0]}{which}"
    )


def _choose(
    header: Sequence[str], wanted: Sequence[str], area: str | None, place: str
) -> list[str]:
    """Find the columns to read: the state, the area, then those wanted, as the header has them."""
    state = next((s for s in (_named(header, c) for c in STATE_COLUMNS) if s), None)
    if state is None:
        raise InputError(
            f"{place} has no column {' or '.join(STATE_COLUMNS)}; a person file of the Public Use "
            "Microdata Sample is needed (psam_p01.csv for Alabama, for example)"
        )
    _check_persons(header, place)
    chosen = [state, _area_column(header, area, place)]
    for name in wanted:
        found = _named(header, name)
        if found is None:
            raise InputError(f"{place} has no column {name!r}; see the dictionary of its year")
        chosen.append(found)
    return chosen


def _watched(header: Sequence[str], chosen: Sequence[str | None]) -> list[str]:
    """Name the columns that are not asked for and may hold counts, so that rows are no persons.

    Where persons are told apart it is those that are called so; in an extract in which they are
    not, any. The Bureau's weights are known.
    """
    told_apart = all(_named(header, name) for name in PERSON)
    left = [n for n in header if n and n not in chosen and not _WEIGHTS.fullmatch(n)]
    if not told_apart and len(header) < _FEW:
        return left
    return [n for n in left if looks_like_counts(n)]


def _plain(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Bring codes into one form: no spaces, leading zeros or decimals, 'blank' for empty fields."""
    text = compute.utf8_trim_whitespace(column)
    text = compute.replace_substring_regex(text, pattern=r"^(-?\d+)\.0*$", replacement=r"\1")
    text = compute.replace_substring_regex(text, pattern=r"^0+(\d)", replacement=r"\1")
    return compute.if_else(compute.equal(text, ""), "blank", text)


def _bad_row(place: str, found: list[int | None]) -> InputError:
    where = f", row {found[0]}" if found and found[0] else ""
    return InputError(
        f"{place}{where}: not one field a column; the file is damaged or not a CSV file"
    )


def _csv_batches(
    place: str, stream: IO[bytes], how: Layout, columns: Sequence[str]
) -> Iterator[Any]:
    """Yield the rows below the header as batches of text."""
    found: list[int | None] = []

    def bad(row: Any) -> str:
        found.append(row.number)
        return "error"

    places = [str(how.header.index(name)) for name in columns]
    try:
        reader = csv.open_csv(
            pa.PythonFile(stream, mode="r"),
            read_options=csv.ReadOptions(
                block_size=_BLOCK,
                use_threads=False,
                skip_rows=how.skipped,
                column_names=list(map(str, range(len(how.header)))),
                encoding="utf8" if how.encoding == "utf-8-sig" else how.encoding,
            ),
            parse_options=csv.ParseOptions(delimiter=how.separator, invalid_row_handler=bad),
            convert_options=csv.ConvertOptions(
                include_columns=places, column_types=dict.fromkeys(places, pa.string())
            ),
        )
        yield from reader
    except (pa.ArrowInvalid, UnicodeDecodeError):
        # The library's own message would quote the row.
        raise _bad_row(place, found) from None


def _api_rows(source: Source) -> tuple[list[str], list[list[Any]]] | None:
    """Read an answer of the Bureau's API, a list of lists whose first is the header."""
    with source.open() as stream:
        if not stream.read(1000).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            return None
    with source.open() as stream:
        try:
            rows = json.loads(stream.read().decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise InputError(
                f"{source.place} begins like an answer of the Bureau's API and is no JSON document"
            ) from None
    lists = isinstance(rows, list) and rows and all(isinstance(r, list) for r in rows)
    if not lists or any(len(r) != len(rows[0]) for r in rows):
        raise InputError(
            f"{source.place} is JSON of another form than the Bureau's API gives: a list of lists "
            "of one length, the first with the names of the columns"
        )
    return [plain_text(str(name)) for name in rows[0]], rows[1:]


def _batches(
    source: Source, wanted: Sequence[str], area: str | None, met: Reading
) -> Iterator[tuple[int, list[pa.Array]]]:
    """Yield the number of the first row of each batch, and the columns in the order chosen.

    First come the state, the area, the record's type and the two columns that tell persons apart
    (``None`` where the file lacks one), then those wanted, then those watched (see `_watched`).
    """
    answer = _api_rows(source)
    how = layout(source) if answer is None else None
    header = how.header if how is not None else tuple(answer[0] if answer else ())
    for name in header:
        if header.count(name) > 1 and name:
            raise InputError(f"{source.place} names column {name!r} twice; each must occur once")
    chosen = _choose(header, wanted, area, source.place)
    met.area = chosen[1]
    also = [_named(header, name) for name in (RECORD_TYPE, *PERSON)]
    met.watched = _watched(header, [*chosen, *also])
    order = [*chosen[:2], *also, *chosen[2:], *met.watched]
    columns = list(dict.fromkeys(n for n in order if n is not None))
    met.unread = max(met.unread, len(header) - len(columns) + len(met.watched))
    place = {name: k for k, name in enumerate(columns)}
    if how is None:
        assert answer is not None
        for start in range(0, len(answer[1]), _BLOCK // 16):
            part = answer[1][start : start + _BLOCK // 16]
            found = [
                pa.array(["" if r[k] is None else str(r[k]) for r in part], pa.string())
                for k in (header.index(name) for name in columns)
            ]
            yield start + 2, [None if n is None else found[place[n]] for n in order]
        return
    with source.open() as stream:
        row = 1 + how.skipped  # The header comes as a row like the others.
        for batch in _csv_batches(source.place, stream, how, columns):
            kept = batch.slice(1) if row == 1 + how.skipped else batch
            first = row + batch.num_rows - kept.num_rows
            row += batch.num_rows
            yield first, [None if n is None else kept.column(place[n]) for n in order]


def area_rows(
    path: Path,
    state: str,
    puma: str,
    columns: Sequence[str],
    area: str | None = None,
    met: Reading | None = None,
) -> Iterator[tuple[str, NDArray[np.int64], dict[str, pa.Array], dict[str, pa.Array]]]:
    """Yield the persons of one area, block by block, so that memory does not grow with the file.

    Parameters
    ----------
    path
        A person file: CSV, the same compressed, a zip archive of one or more, or an answer of the
        Bureau's API (JSON, a list of lists).
    state, puma
        The area's codes, two and five digits.
    columns
        Which columns to give.
    area
        The column with the area's code; ``None`` for ``PUMA`` or the only one of another name.
    met
        Is told what else was met.

    Yields
    ------
    tuple
        The file's name for messages, the rows' numbers (the header is row 1), the columns, codes
        without leading zeros or decimals and ``blank`` for an empty field, and by name as they
        stand those that are not asked for and may hold counts.

    Raises
    ------
    InputError
        A damaged file, one that lacks a column or is no person file, or a person twice.
    """
    met = Reading() if met is None else met
    found, met.left = sources(path)
    seen: set[tuple[str, str]] = set()
    for source in found:
        for first, (states, areas, types, serials, orders, *wanted) in _batches(
            source, columns, area, met
        ):
            state_codes, area_codes = _plain(states), _plain(areas)
            in_state = compute.equal(state_codes, str(int(state)))
            inside = compute.and_(in_state, compute.equal(area_codes, str(int(puma))))
            met.states.update(
                {v["values"]: v["counts"] for v in compute.value_counts(state_codes).to_pylist()}
            )
            lost = compute.match_substring_regex(area_codes, _UNCODED)
            met.uncoded += compute.sum(compute.and_(in_state, lost)).as_py() or 0
            index = np.flatnonzero(inside.to_numpy(zero_copy_only=False))
            met.others += len(states) - index.size
            if not index.size:
                continue
            rows, take = index + first, pa.array(index)
            if types is not None:
                _check_types(source.place, rows, types.take(take))
            if serials is not None and orders is not None:
                _check_new_persons(source.place, rows, serials.take(take), orders.take(take), seen)
            read, beside = wanted[: len(columns)], wanted[len(columns) :]
            values = [_plain(column.take(take)) for column in read]
            watched = [column.take(take) for column in beside]
            yield (
                source.place,
                rows,
                dict(zip(columns, values, strict=True)),
                dict(zip(met.watched, watched, strict=True)),
            )


def _check_types(place: str, rows: NDArray[np.int64], types: pa.Array) -> None:
    persons = np.array([t.strip().upper() in ("P", "") for t in types.to_pylist()])
    if not persons.all():
        raise InputError(
            f"{place}, row {rows[int(np.argmin(persons))]}: {RECORD_TYPE} says that it is no "
            "person's record; give the person file (psam_p01.csv for Alabama, for example)"
        )


def _check_new_persons(
    place: str,
    rows: NDArray[np.int64],
    serials: pa.Array,
    orders: pa.Array,
    seen: set[tuple[str, str]],
) -> None:
    keys = zip(_plain(serials).to_pylist(), _plain(orders).to_pylist(), strict=True)
    for row, key in zip(rows, keys, strict=True):
        if key in seen:
            raise InputError(
                f"{place}, row {row}: this person ({' and '.join(PERSON)}) has a record already; "
                "everybody must occur once: leave out what is in the file or archive twice"
            )
        seen.add(key)
