"""Numbers as short text: how the explorer's tables travel inside a script."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

SCALE = 20_000
"""Logarithms are kept to 1 / SCALE, so that a number is kept to a relative 1 / (2 SCALE).

A bound is kept to 1 / SCALE, and never beyond what is proved.
"""


def pack_logarithms(
    axes: str, values: ArrayLike, rounding: Callable[[float], int] = round
) -> dict[str, Any]:
    """Pack nonnegative numbers, with a name an axis, as differences of rounded logarithms.

    Neighbours along the last axis differ little, so their differences are short. A zero (a bound
    that says nothing) is an empty entry and leaves the running sum as it is. Lower bounds are
    rounded by ``math.floor``, upper ones by ``math.ceil``.

    Examples
    --------
    >>> pack_logarithms("node", [1.0, 1.0001, 0.0, 1.0])
    {'axes': ['node'], 'shape': [4], 'packed': '0,2,,-2'}
    """
    array = np.asarray(values, dtype=float)
    names, shape = axes.split(), list(array.shape)
    assert len(names) == len(shape)
    parts, last = [], 0
    for x in array.ravel().tolist():
        now = (
            rounding(SCALE * math.log(x)) if x else last
        )  # fails for what is no number or negative
        parts.append(str(now - last) if x else "")
        last = now
    return {"axes": names, "shape": shape, "packed": ",".join(parts)}


def pack_counts(values: ArrayLike, scale: int) -> dict[str, str]:
    """Pack numbers of any sign as differences of ``values * scale``, rounded."""
    whole = np.rint(np.asarray(values, dtype=float).ravel() * scale).astype(np.int64)
    return {"packed": ",".join(map(str, np.diff(whole, prepend=0).tolist()))}
