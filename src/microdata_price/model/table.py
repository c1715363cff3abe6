"""Checks of tables of counts."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError

Array = NDArray[np.float64]

_MOST_CELLS = 100_000_000  # each takes 8 bytes in every query set, and many more in a fit


def check_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """Return a table's shape as a tuple of positive integers, or say why it is none."""
    given = tuple(shape) if np.iterable(shape) else (shape,)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in given)
    if not given or not whole or min(given) < 1 or math.prod(map(int, given)) > _MOST_CELLS:
        wanted = "every side must be a whole number of 1 or more, so that the table has cells"
        raise InputError(f"the table's shape is {shape!r}; {wanted}, {_MOST_CELLS:,} at most")
    return tuple(int(n) for n in given)


def real_numbers(table: ArrayLike, what: str = "the table") -> Array:
    """Return numbers as floats, NaN where they are masked, or refuse what are no real numbers."""
    with contextlib.suppress(ValueError):  # of rows that are not equally long
        values: NDArray[np.generic] = np.ma.array(table, copy=False)  # in the order it has
        values = np.ma.asarray(values.tolist()) if values.dtype == object else values
        if values.dtype.kind in "biuf":
            return np.asarray(np.ma.filled(values.astype(float, copy=False), np.nan))
    raise InputError(f"in {what} is something that is not a number of 64 bits, or unequal rows")


def check_numbers(
    given: ArrayLike, what: str, fits: Callable[[Array], NDArray[np.bool_]], wanted: str
) -> Array:
    """Return numbers that all fit as floats, or name one that does not and say what is wanted."""
    numbers = real_numbers(given, what)
    good = fits(numbers)
    if not good.all():
        raise InputError(f"{what} is {numbers[~good].flat[0]:g}; it must be {wanted}")
    return numbers


def check_batch(arrays: Sequence[ArrayLike], columns: Mapping[str, int]) -> tuple[Array, ...]:
    """Return arrays with so many columns, a row for every run, or say why they are none."""
    found = tuple(real_numbers(a, name) for a, name in zip(arrays, columns, strict=True))
    runs = len(found[0]) if found[0].ndim else 0
    for array, (name, size) in zip(found, columns.items(), strict=True):
        if array.shape != (runs, size) or runs == 0:
            needed = f"(runs, {size}), with the same number of runs everywhere"
            raise InputError(f"{name} have shape {array.shape}; needed is {needed}")
        if not np.isfinite(array).all():
            raise InputError(f"one of {name} is not a finite number")
    return found


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
            wanted = "every cell must be a whole number of records, 0 or more"
            said = f"the cell at {where} (counting from 0) is {what}; {wanted}"
            raise InputError(f"{said} ({int(wrong.sum())} such cells)")
    if shape is not None and counts.shape != shape:
        raise InputError(f"the table has shape {counts.shape}; the workload is for shape {shape}")
    return counts
