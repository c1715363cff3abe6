"""Numbers as short text: how the explorer's tables travel inside a script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import InputError

SCALE = 20_000
"""Logarithms are kept to 1 / SCALE, so that a number is kept to a relative 1 / (2 SCALE)."""


def pack_logarithms(axes: Sequence[str], values: ArrayLike) -> dict[str, Any]:
    """Pack nonnegative numbers as differences of rounded logarithms.

    Neighbours along the last axis differ little, so their differences are short. A zero (a bound
    that says nothing) is an empty entry and leaves the running sum as it is.

    Parameters
    ----------
    axes
        Names of the axes, one an axis of ``values``.
    values
        Finite numbers, 0 or more, of any shape and unit.

    Raises
    ------
    InputError
        A negative or infinite number, or names that do not fit the shape.

    Examples
    --------
    >>> pack_logarithms(["node"], [1.0, 1.0001, 0.0, 1.0])
    {'axes': ['node'], 'shape': [4], 'packed': '0,2,,-2'}
    """
    array = np.asarray(values, dtype=float)
    if array.ndim != len(axes):
        raise InputError(
            f"the table has {array.ndim} axes and {len(axes)} names; these must be equally many"
        )
    if not (np.isfinite(array) & (array >= 0)).all():
        raise InputError("the table has a negative or infinite number; all must be 0 or more")
    parts: list[str] = []
    last = 0
    for x in array.ravel().tolist():
        if x == 0:
            parts.append("")
            continue
        now = round(SCALE * math.log(x))
        parts.append(str(now - last))
        last = now
    return {"axes": list(axes), "shape": list(array.shape), "packed": ",".join(parts)}


def pack_counts(values: ArrayLike, scale: int) -> dict[str, str]:
    """Pack numbers of any sign as differences of ``values * scale``, rounded.

    Examples
    --------
    >>> pack_counts([0.5, -1.0], 100)
    {'packed': '50,-150'}
    """
    whole = np.rint(np.asarray(values, dtype=float).ravel() * scale).astype(np.int64)
    return {"packed": ",".join(map(str, np.diff(whole, prepend=0).tolist()))}
