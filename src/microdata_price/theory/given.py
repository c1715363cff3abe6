"""What bounds are given, checked: numbers of point queries, and root errors in counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError

Array = NDArray[np.float64]

LEAST_ERROR, LARGEST_ERROR = 1e-15, 1e30
MOST_POINTS = 1e250
"""Within these limits, and those of epsilon, rho and delta, no bound overflows (`lower_bounds`)."""


def check_points(d: ArrayLike, least: int = 1) -> Array:
    """Return numbers of point queries as floats, or say why they cannot be."""
    try:
        points = np.asarray(np.nan if np.iscomplexobj(d) else d, dtype=float)
    except (TypeError, ValueError, OverflowError):
        points = np.asarray(np.nan)
    good = np.isfinite(points) & (points >= least) & (points == np.floor(points))
    if not good.all():
        raise InputError(
            f"the number of point queries is {d!r}; it must be a whole number of {least} or more"
        )
    return points


def check_error(value: ArrayLike, name: str, one: bool = False) -> Array:
    """Return root errors as positive floats, or say why they cannot be."""
    try:
        errors = np.asarray(np.nan if np.iscomplexobj(value) else value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        errors = np.asarray(np.nan)
    if not (np.isfinite(errors) & (errors > 0)).all():
        raise InputError(
            f"the {name} is {value!r}; it must be a positive number of counts (the root of the "
            "expected squared error)"
        )
    beyond = errors[(errors < LEAST_ERROR) | (errors > LARGEST_ERROR)]
    if beyond.size:
        raise InputError(
            f"the {name} is {float(beyond.flat[0])!r}; it must lie between {LEAST_ERROR:g} and "
            f"{LARGEST_ERROR:g} counts, as numbers of 64 bits hold no bound beyond"
        )
    if one and errors.ndim:
        raise InputError(f"the {name} is {value!r}; one number of counts is needed")
    return errors


def check_cells(d: float) -> float:
    """Return one number of cells of 2 or more as a float, or say why it cannot be."""
    points = check_points(d)
    if points.ndim or points < 2:
        raise InputError(f"the number of cells is {d!r}; one whole number of 2 or more is needed")
    return float(points)


def check_queries(d: ArrayLike) -> Array:
    """Return numbers of point queries, each 2 or more, as floats, or say why they cannot be."""
    return check_points(np.asarray(d) if not isinstance(d, (int, float)) else d, least=2)
