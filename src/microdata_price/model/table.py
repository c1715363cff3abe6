"""Checks of tables of counts."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError

Array = NDArray[np.float64]


def check_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """Return a table's shape as a tuple of positive integers, or say why it is none."""
    given = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in given)
    if not given or not whole or any(n < 1 for n in given):
        raise InputError(
            f"the table's shape is {shape!r}; every side must be a whole number of 1 or more, "
            "so that the table has cells"
        )
    return tuple(int(n) for n in given)


def real_numbers(table: ArrayLike) -> Array:
    """Return numbers as floats, NaN where they are masked, or refuse what are no real numbers."""
    with contextlib.suppress(ValueError):  # of rows that are not equally long
        values: NDArray[np.generic] = np.ma.asarray(table)
        values = np.ma.asarray(values.tolist()) if values.dtype == object else values
        if values.dtype.kind in "biuf":
            return np.asarray(np.ma.filled(values.astype(float, copy=False), np.nan))
    raise InputError(
        "the table holds something that is not a number of 64 bits, or rows of unlike length; "
        "every cell must be a count"
    )


def check_table(table: ArrayLike, shape: tuple[int, ...] | None = None) -> Array:
    """Return a table of counts as floats, or say what keeps it from being one."""
    counts = real_numbers(table)
    if counts.ndim == 0 or counts.size == 0:
        raise InputError(f"the table has shape {counts.shape}; it must have at least one cell")
    for wrong, what in (
        (~np.isfinite(counts), "not a finite number"),
        (counts < 0, "negative"),
        (counts != np.floor(counts), "fractional"),
    ):
        if wrong.any():
            where = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise InputError(
                f"the cell at {where} (counting from 0) is {what}; every cell must be a whole "
                f"number of records, 0 or more ({int(wrong.sum())} such cells)"
            )
    if shape is not None and counts.shape != shape:
        raise InputError(f"the table has shape {counts.shape}; the workload is for shape {shape}")
    return counts
