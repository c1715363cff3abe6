"""Whether rows that are read as records may be cells with their counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.numbers import listed
from .looks import are_numbers, looks_like_counts, number_the_rows
from .opening import plain_text

Codes = NDArray[np.intp]

_COMPARED = 5_000
"""So many rows are compared with each other over the columns that are not read."""
_MOST_KEYS = 40
"""So many columns that are not read are tried, those with the fewest values."""
_EXPECTED = 6.0
"""So many repetitions must be expected before none is a sign: chance has it once in 400 times."""
_FEWEST = 4
"""Fewer rows are no sign of anything."""


@dataclass
class _Unread:
    """A column that is not read, as long as it may hold counts."""

    column: int
    named_so: bool
    filled: int = 0
    next_row: int | None = None
    numbers_rows: bool = True

    def holds_numbers(self, texts: Sequence[str]) -> bool:
        if self.numbers_rows:
            self.next_row = number_the_rows(texts, self.next_row)
            self.numbers_rows = self.next_row is not None
        self.filled += sum(map(bool, texts))
        return self.numbers_rows or are_numbers(texts)


@dataclass(frozen=True)
class Doubt:
    """A column that looks like counts.

    Parameters
    ----------
    column
        Its place.
    named_so
        Whether its name is one that counts have.
    keys
        The places of the columns that are not read and, with those that are, never repeat.
    """

    column: int
    named_so: bool
    keys: tuple[int, ...] = ()


class Doubts:
    """Finds out, part by part, which columns beside records look like counts.

    A column of numbers does if counts are called as it is, or if without it no row occurs twice.
    Rows are compared over the columns that are read, and over those and others that are not read,
    where so many repetitions are to be expected that none is no accident.

    Parameters
    ----------
    header
        The columns' names.
    unread
        The places of the columns that are not read.

    Examples
    --------
    >>> doubts = Doubts(("sex", "n"), (1,))
    >>> doubts.see(np.array([0, 1]), {1: ("4", "7")}, repeated=False)
    >>> doubts.found()
    Doubt(column=1, named_so=True, keys=())
    """

    def __init__(self, header: Sequence[str], unread: Sequence[int]) -> None:
        self._open = [_Unread(k, looks_like_counts(header[k])) for k in unread]
        self._unread = tuple(unread)
        self._keys: dict[int, tuple[int, ...]] | None = None

    def see(self, cells: Codes, columns: Mapping[int, Sequence[str]], repeated: bool) -> None:
        """Look at the next part of the rows.

        Parameters
        ----------
        cells
            What is read of each row, as a number.
        columns
            By place, the fields of the columns that are not read.
        repeated
            Whether what is read has occurred twice so far.
        """
        if not self._open:
            return
        if repeated and self._keys is None:
            few = {k: columns[k][:_COMPARED] for k in self._unread}
            self._keys = hidden_keys(cells[:_COMPARED], few)
        self._open = [
            u
            for u in self._open
            if (u.named_so or not repeated or u.column in (self._keys or {}))
            and u.holds_numbers(columns[u.column])
        ]

    def found(self) -> Doubt | None:
        """Return the first column that looks like counts."""
        for u in self._open:
            if u.filled and (u.named_so or not u.numbers_rows):
                return Doubt(u.column, u.named_so, (self._keys or {}).get(u.column, ()))
        return None


def quoted(names: Sequence[str]) -> str:
    """Return names as a sentence lists them.

    Examples
    --------
    >>> quoted(["a", "b", "c"])
    "'a', 'b' and 'c'"
    """
    return listed([repr(name) for name in names])


def why_counts(keys: Sequence[str]) -> str:
    """Say why a column looks like counts that is not called so.

    Examples
    --------
    >>> why_counts(["area", "sex"])
    "it holds numbers, and no two rows agree in 'area' and 'sex'"
    """
    return f"it holds numbers, and no two rows agree in {quoted(keys)}"


def _pairs(codes: Codes) -> float:
    """Return how many pairs of rows have the same code."""
    sizes = np.bincount(codes).astype(float)
    return float((sizes * (sizes - 1)).sum() / 2)


def _joined(a: Codes, b: Codes) -> Codes:
    both: Codes = np.unique(a * (int(b.max()) + 1) + b, return_inverse=True)[1].astype(np.intp)
    return both


def _never_repeats(cells: Codes, key: Codes) -> bool:
    """Say whether no row occurs twice, and this is no accident.

    Were what is read independent of the key, so many pairs of rows with one key would agree in it.
    """
    rows = cells.size
    if _joined(cells, key).max() + 1 < rows:
        return False
    likely = _pairs(cells) / (rows * (rows - 1) / 2)
    complete = rows == (cells.max() + 1) * (key.max() + 1) and 1 <= key.max() < rows - 1
    return bool(likely * _pairs(key) >= _EXPECTED or complete)


def hidden_keys(cells: Codes, unread: Mapping[int, Sequence[str]]) -> dict[int, tuple[int, ...]]:
    """Find columns of numbers without which no row occurs twice, and the keys that tell them apart.

    Parameters
    ----------
    cells
        What is read of each row, as a number; some rows agree in it.
    unread
        By place, the fields of the columns that are not read.

    Returns
    -------
    dict
        For each place of such a column the places of the keys; empty without any.

    Examples
    --------
    >>> sexes, numbers = tuple("fm" * 4), tuple("31415926")
    >>> hidden_keys(np.array([0, 0, 1, 1, 2, 2, 3, 3]), {5: sexes, 6: numbers})
    {6: (5,)}
    """
    rows = cells.size
    numeric = [k for k, texts in unread.items() if any(texts) and are_numbers(texts)]
    if rows < _FEWEST or not numeric:
        return {}
    cells = np.unique(cells, return_inverse=True)[1].astype(np.intp)
    codes: dict[int, Codes] = {}
    for k, texts in unread.items():
        numbered: dict[str, int] = {}
        code = [numbered.setdefault(plain_text(t), len(numbered)) for t in texts]
        if 1 < len(numbered) < rows:  # others tell no rows apart, or every row by itself
            codes[k] = np.array(code, dtype=np.intp)
    order = sorted(codes, key=lambda k: int(codes[k].max()))[:_MOST_KEYS]
    found: dict[int, tuple[int, ...]] = {}
    for one in order:
        if _never_repeats(cells, codes[one]):
            found |= {k: (one,) for k in numeric if k != one and k not in found}
    for left_out in (None, *(k for k in order if k in numeric and k not in found)):
        chosen = [k for k in order if k != left_out]
        key = np.zeros(rows, dtype=np.intp)
        for i, k in enumerate(chosen):
            key = _joined(key, codes[k])
            if _joined(cells, key).max() + 1 < rows:
                continue
            if _never_repeats(cells, key):
                keys = tuple(chosen[: i + 1])
                found |= {k: keys for k in numeric if k not in keys and k not in found}
            break
    return found
