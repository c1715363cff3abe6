"""The explorer's lower bounds at the nodes of its sliders, and how far straight lines miss them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.privacy import Guarantee
from ..theory.lower.lower_bounds import point_error_bound, sum_error_bound

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
EVERY: dict[str, int] = {"packing_empty": 5, "first_moment": 2}
"""Between nodes these bounds are measured at every so many d only; the other at every d."""

_TOGETHER = 40
"""Places between nodes that are measured at a time."""
_NEARLY_ZERO = 1e-9
"""An error C, in multiples of the signed error, that stands for none at all."""


DRAWN = ("first_moment", "packing_empty", "printed")
"""The bounds drawn, the sharpest first."""


@dataclass(frozen=True, eq=False)
class BoundNodes:
    """One bound at one level, in multiples of the signed error; 0 where it says nothing.

    Parameters
    ----------
    C
        Shape (d, D): the least C given D.
    D
        Shape (d, C): the least D given C.
    between
        How far the drawn curve is from the true one between neighbouring nodes, at most: as a share
        of C or of D, whichever is less.
    """

    C: Array
    D: Array
    between: float


def nodes_of(name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the D and the C at which a bound is computed, in multiples of the signed error.

    Examples
    --------
    >>> set(SUMS) <= set(nodes_of("first_moment")[0])
    True
    """
    return (DENSE_SUMS, DENSE_COUNTS) if name == "first_moment" else (SUMS, COUNTS)


def point_errors(name: str, guarantee: Guarantee, d: Array, D: Array) -> Array:
    """Return a bound on C for pairs of d and D, sparing pairs at which it must say nothing.

    A bound falls as D grows, and is 0 from the D on that it excludes at (nearly) no C.

    Parameters
    ----------
    name
        One of `DRAWN`.
    guarantee
        The level.
    d, D
        Arrays that broadcast; D in counts.

    Examples
    --------
    >>> from microdata_price.model.privacy import PureDP
    >>> point_errors("printed", PureDP(1.0), np.array([2.0, 1e9]), np.array(2.0)).round(3)
    array([0.   , 3.672])
    """
    d, D = np.broadcast_arrays(np.asarray(d, dtype=float), np.asarray(D, dtype=float))
    unit = guarantee.signed_error
    every, where = np.unique(d, return_inverse=True)
    end = sum_error_bound(name, guarantee, every, _NEARLY_ZERO * unit)
    says = end[where.reshape(d.shape)] > D
    value = np.zeros(d.shape)
    if says.any():
        value[says] = point_error_bound(name, guarantee, d[says], D[says])
    return value


def drawn_curve(name: str, C: Array, D: Array) -> tuple[Array, Array]:
    """Join the nodes of one bound at one d into the curve that the page draws.

    Parameters
    ----------
    name
        One of `DRAWN`.
    C, D
        Its values at `nodes_of`, in multiples of the signed error.

    Returns
    -------
    tuple of ndarray
        ``ln D`` growing and C falling; between them the page draws C straight against ``ln D``.
    """
    sums, counts = (np.array(v) for v in nodes_of(name))
    x = np.log(np.concatenate([sums[C > 0], D[D > 0]]))
    y = np.concatenate([C[C > 0], counts[D > 0]])
    order = np.lexsort((-y, x))
    return x[order], y[order]


def bound_nodes(name: str, guarantee: Guarantee) -> BoundNodes:
    """Compute one bound at one level, for all d, and measure the curve between its nodes.

    Parameters
    ----------
    name
        One of `DRAWN`.
    guarantee
        The level.

    Examples
    --------
    >>> from microdata_price.model.privacy import PureDP
    >>> nodes = bound_nodes("first_moment", PureDP(0.5))
    >>> nodes.C.shape == (len(POINTS), len(DENSE_SUMS)), nodes.between < 0.02
    (True, True)
    """
    unit = guarantee.signed_error
    d = np.array(POINTS, dtype=float)[:, None]
    sums, counts = (unit * np.array(v) for v in nodes_of(name))
    C = point_errors(name, guarantee, d, sums) / unit
    D = sum_error_bound(name, guarantee, d, counts) / unit
    return BoundNodes(C, D, _between(name, guarantee, C, D))


def _between(name: str, guarantee: Guarantee, C: Array, D: Array) -> float:
    unit = guarantee.signed_error
    places: list[tuple[float, float, float]] = []
    for i in range(0, len(POINTS), EVERY.get(name, 1)):
        x, y = drawn_curve(name, C[i], D[i])
        # Beyond its lowest nodes the plane is not drawn.
        drawn = (y[1:] >= min(COUNTS)) & (x[:-1] >= math.log(min(SUMS)))
        for k in np.flatnonzero(drawn):
            for t in (0.25, 0.5, 0.75):
                across = math.exp(x[k] + t * (x[k + 1] - x[k]))
                places.append((POINTS[i], across, y[k] + t * (y[k + 1] - y[k])))
    if not places:
        return 0.0
    d, D_drawn, C_drawn = (np.array(v, dtype=float) for v in zip(*places, strict=True))
    up = point_error_bound(name, guarantee, d, unit * D_drawn) / unit
    # The nearest point of the true curve is at most as far as the one above and the one beside. The
    # one beside is looked for only while the one above is farther than the worst place known.
    with np.errstate(divide="ignore"):
        above = np.abs(C_drawn / up - 1)
        order, worst = np.argsort(-above), 0.0
        for start in range(0, order.size, _TOGETHER):
            some = order[start : start + _TOGETHER]
            if above[some].max() <= worst:
                break
            beside = sum_error_bound(name, guarantee, d[some], unit * C_drawn[some]) / unit
            off = np.minimum(above[some], np.abs(D_drawn[some] / beside - 1))
            worst = max(worst, float(off.max()))
    return worst
