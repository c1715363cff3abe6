"""The explorer's lower bounds at the stops of its sliders, in multiples of the signed error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...model.privacy import Guarantee
from ...theory.lower.lower_bounds import BOUNDS, point_error_bound, sum_error_bound
from ...theory.lower.single_cells import single_cell_lines

Array = NDArray[np.float64]


def _steps(mantissas: tuple[float, ...], first: int, last: int) -> tuple[float, ...]:
    """Return mantissas times powers of ten, as the decimal literals that people write."""
    return tuple(float(f"{m:g}e{p}") for p in range(first, last) for m in mantissas)


POINTS = (2, 5, *(int(x) for x in _steps((1, 2, 5), 1, 9)), 10**9)
"""Numbers d of counts at which the slider stops."""
SUMS = (0.25, 0.35, 0.5, 0.7, *_steps((1, 1.5, 2, 3, 5, 7), 0, 2), *_steps((1, 2, 5), 2, 9), 1e9)
"""Errors D of the sum at which the slider stops, in multiples of the signed error."""
COUNTS = (0.1, 0.15, 0.22, 0.32, 0.45, 0.6, 0.8, 1.0, 1.3, 1.7, 2.2, 3.0)
"""Errors C of the counts at which D is computed too, in multiples of the signed error."""
EPSILONS = _steps((1, 1.5, 2, 3, 5, 7), -2, 1)[:-2]
RHOS = tuple(sorted((*_steps((1, 2, 5), -4, 1), 0.125)))
DELTAS = (1e-12, 1e-9, 1e-6, 1e-4, 1e-2)
DENSE_SUMS = tuple(sorted({*SUMS, *_steps((1.2, 1.5, 1.7, 2.5, 3, 4, 6, 7, 8.5), 0, 9)}))
DENSE_COUNTS = tuple(
    sorted({*COUNTS, 0.12, 0.18, 0.27, 0.38, 0.52, 0.7, 0.9, 1.15, 1.5, 1.95, 2.6})
)
"""The first-moment bound has corners, at whole numbers of records, and more nodes for them."""
DRAWN = ("channel", "first_moment", "packing_empty", "printed")
"""The bounds drawn, of single cells first, which are not computed under approximate DP."""
TITLES = {n: BOUNDS[n].title if n in BOUNDS else "single cells (ours)" for n in DRAWN}
_NEARLY_ZERO = 1e-9
"""An error C, in multiples of the signed error, that stands for none at all."""


def nodes_of(name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the D and the C at which a bound is computed, in multiples of the signed error."""
    return (DENSE_SUMS, DENSE_COUNTS) if name in ("channel", "first_moment") else (SUMS, COUNTS)


def point_errors(name: str, guarantee: Guarantee, d: Array, D: Array) -> Array:
    """Return a bound on C for pairs of d and D, in counts, sparing pairs where it says nothing.

    A bound falls as D grows, and is 0 from the D on that it excludes at (nearly) no C.
    """
    if name == "channel":
        return single_cell_lines(guarantee, few=True).point_error(d, D)
    d, D = np.broadcast_arrays(np.asarray(d, dtype=float), np.asarray(D, dtype=float))
    every, where = np.unique(d, return_inverse=True)
    end = sum_error_bound(name, guarantee, every, _NEARLY_ZERO * guarantee.signed_error)
    says = end[where.reshape(d.shape)] > D
    value = np.zeros(d.shape)
    if says.any():
        value[says] = point_error_bound(name, guarantee, d[says], D[says])
    return value


def bound_nodes(name: str, guarantee: Guarantee) -> tuple[Array, Array]:
    """Return the least C given D, shape (d, D), and the least D given C, shape (d, C).

    In multiples of the signed error, for all d of `POINTS`; 0 where the bound says nothing.
    """
    unit = guarantee.signed_error
    d = np.array(POINTS, dtype=float)[:, None]
    sums, counts = (unit * np.array(v) for v in nodes_of(name))
    if name == "channel":
        least = single_cell_lines(guarantee, few=True).sum_error(d, counts)
    else:
        least = sum_error_bound(name, guarantee, d, counts)
    return point_errors(name, guarantee, d, sums) / unit, least / unit
