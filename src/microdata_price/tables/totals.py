"""Sums among lines of counts, and how surprising they are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Lines = NDArray[np.int64]

_ALL_SUBSETS = 12
"""Of so many values every set is tried; of more, runs beside a value and all others."""
_MOST = 20_000
"""Of more values only the sum of all others is looked for."""
_MARK = 6364136223846793005
_MODULUS = 2**64
_POSITIONS = 256
"""More positions than this are not needed as evidence."""


@dataclass(frozen=True)
class Total:
    """A value that looks like the total of others.

    Parameters
    ----------
    value
        Its place.
    parts
        The places of what it sums.
    bits
        How unlikely the sums are by chance: in one of 2^bits tables.
    """

    value: int
    parts: tuple[int, ...]
    bits: float


def sums(lines: Lines) -> Iterator[Total]:
    """Find lines that are sums of two or more others, the likeliest totals first.

    Parameters
    ----------
    lines
        Counts, shape (values, positions).

    Examples
    --------
    >>> [t.parts for t in sums(np.array([[3, 40], [4, 50], [7, 90]]))]
    [(0, 1)]
    """
    filled = [int(k) for k in np.flatnonzero(lines.any(axis=1))]  # the others add nothing
    if len(filled) < 3:
        return
    kept = lines[filled]
    unit = int(np.gcd.reduce(kept, axis=None))
    # Sums of lines are compared by one number a position, modulo 2^64: powers of an odd one.
    marks = np.cumprod(np.full(kept.shape[1], _MARK, dtype=np.int64))
    keys = (kept * marks).sum(axis=1)
    found = []
    for value, parts, tried in _candidates(keys):
        if np.array_equal(kept[list(parts)].sum(axis=0), kept[value]):
            bits = evidence(kept[list(parts)] // unit) - math.log2(tried)
            found.append(Total(filled[value], tuple(filled[k] for k in parts), bits))
    yield from sorted(found, key=lambda t: (-t.bits, t.value))


def _candidates(keys: Lines) -> Iterator[tuple[int, tuple[int, ...], float]]:
    """Yield values and the parts whose keys they sum, and how many such pairs were tried."""
    size, number = keys.size, [int(key) for key in keys]
    whole = sum(number)
    for value in range(size):
        if (whole - 2 * number[value]) % _MODULUS == 0:
            yield value, tuple(k for k in range(size) if k != value), size
    if size > _MOST:
        return
    upto = list(itertools.accumulate(number, initial=0))
    first = {key % _MODULUS: k for k, key in enumerate(upto)}
    for value in range(size):
        before = first.get((upto[value] - number[value]) % _MODULUS, size)
        after = first.get((upto[value + 1] + number[value]) % _MODULUS, 0)
        for low, high in ((before, value), (value + 1, after)):
            if 2 <= high - low < size - 1:
                yield value, tuple(range(low, high)), size * size
    if size > _ALL_SUBSETS:
        return
    subsets = np.zeros(1, dtype=np.int64)
    for key in keys:
        subsets = np.concatenate([subsets, subsets + key])
    for value in range(size):
        for code in np.flatnonzero(subsets == keys[value]):
            parts = tuple(k for k in range(size) if int(code) >> k & 1)
            if value not in parts and 2 <= len(parts) < size - 1:
                yield value, parts, size * 2.0 ** (size - 1)


def evidence(parts: Lines) -> float:
    """Return how surprising it is, in bits, that another line is the sum of these.

    A count that is expected where the sum is equals it with probability 1/sqrt(4 pi sum) or less.
    A position with one part speaks half as much, for there a line may be the copy of another, and
    none without a position that has several; those that are alike speak once.
    """
    different = np.unique(parts[:, parts.any(axis=0)][:, :_POSITIONS], axis=1)
    several = (different > 0).sum(axis=0) > 1
    if not several.any():
        return 0.0
    bits = 0.5 * np.log2(4 * math.pi * different.sum(axis=0))
    return float(bits @ np.where(several, 1.0, 0.5))
