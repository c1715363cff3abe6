"""Projections on simplexes: least squares with nonnegative cells and a given sum.

The solution is ``max(a - g, 0)``, with the threshold g at which it has the sum: one multiplier, one
equation, falling and piecewise linear in g. Sorting finds the piece (Held, Wolfe and Crowder,
"Validation of subgradient optimization", Mathematical Programming 6 (1974), 62-88); discarding
entries below a bound on g finds it in linear time as a rule (Duchi, Shalev-Shwartz, Singer and
Chandra, "Efficient projections onto the l1-ball for learning in high dimensions", ICML 2008).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LONG = 1 << 12
"""Vectors of this length are projected one by one, without sorting them."""


def project_simplex(a: Array, total: Array) -> tuple[Array, Array]:
    """Project each vector on the nonnegative vectors with a given sum (the paper's Lemma 2).

    Returned are the projection ``max(a - g, 0)`` and the threshold g that gives the sum.
    """
    if a.shape[-1] >= _LONG:
        rows, totals = a.reshape(-1, a.shape[-1]), np.ravel(total)
        g = np.array([_trim(v, t) for v, t in zip(rows, totals, strict=True)])
        g = g.reshape(*a.shape[:-1], 1)
    else:
        falling = np.sort(a, axis=-1)[..., ::-1]
        thresholds = np.cumsum(falling, axis=-1)
        thresholds -= np.asarray(total)[..., None]
        thresholds /= np.arange(1, a.shape[-1] + 1)
        count = np.maximum((falling > thresholds).sum(axis=-1, keepdims=True), 1)
        g = np.take_along_axis(thresholds, count - 1, axis=-1)
    x = np.maximum(a - g, 0.0)
    # The sum is met to rounding of the largest entry; a second step brings it to rounding of x.
    support = x > 0
    many = np.maximum(support.sum(axis=-1, keepdims=True), 1)
    shift = (x.sum(axis=-1, keepdims=True) - np.asarray(total)[..., None]) / many
    x = np.where(support, np.maximum(x - shift, 0.0), 0.0)
    return x, np.asarray((g + shift)[..., 0])


def _trim(v: Array, total: float) -> float:
    """Return one long vector's threshold: a bound from below drops entries until none goes."""
    if total <= 0:
        return float(v.max())
    while True:
        g = float((v.sum() - total) / v.size)
        left = v[v > g]
        if left.size == v.size or left.size == 0:
            return g
        v = left


def grid_of(total: Array) -> Array:
    """Return powers of two that are 2^-50 to 2^-49 of given totals.

    Numbers of 64 bits hold every multiple of such a unit up to the total, so sums of multiples
    are exact, in any order.
    """
    return np.asarray(np.ldexp(1.0, np.frexp(total)[1] - 50))


def exact_sums(x: Array, total: Array, unit: Array) -> Array:
    """Round vectors to multiples of a unit so that their sums are exactly as given, to be held."""
    unit = unit[..., None]
    x = np.rint(x / unit) * unit
    # Units that are lacking are dealt out evenly, the remainder to the first that can give or get.
    able = x > 4 * unit
    many = np.maximum(able.sum(axis=-1, keepdims=True), 1)
    lack = (total[..., None] - x.sum(axis=-1, keepdims=True)) / unit
    each = np.floor(lack / many)
    more = able.cumsum(axis=-1) <= lack - each * many
    return np.asarray(x + np.where(able, (each + more) * unit, 0.0))


def project_groups(a: Array, groups: NDArray[np.intp], totals: Array) -> tuple[Array, Array]:
    """Project on the nonnegative vectors whose groups have given sums; one threshold a group.

    Where the sums are multiples of a run's unit, `grid_of` the sum of them all, so is the
    projection, and its groups have exactly these sums.
    """
    unit = grid_of(totals.sum(axis=1))
    if totals.shape[1] == 1 and not groups.any():
        x, g = project_simplex(a, totals[:, 0])
        return exact_sums(x, totals[:, 0], unit), g[:, None]
    x = np.maximum(a, 0.0)
    threshold = np.zeros_like(totals)
    order = np.argsort(groups, kind="stable")
    order = order[groups[order] >= 0]
    sizes = np.bincount(groups[order], minlength=totals.shape[1])
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]):  # groups of one size form one array
        which = np.flatnonzero(sizes == size)
        entries = order[starts[which][:, None] + np.arange(size)]
        part, threshold[:, which] = project_simplex(a[:, entries], totals[:, which])
        x[:, entries] = exact_sums(
            part, totals[:, which], np.broadcast_to(unit[:, None], (len(a), which.size))
        )
    return x, threshold
