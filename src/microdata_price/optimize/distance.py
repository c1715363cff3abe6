r"""Max fitting's distance: the least t at which some nonnegative table is within t noises.

With the queries' matrix U, the noisy answers a and the noises' standard deviations s, the linear
program and its dual are

.. math::

    \min_{x \ge 0,\, t} \; t \;\text{ with }\; |U x - a| \le t s, \qquad\qquad
    \max_y \; -y \cdot a \;\text{ with }\; U' y \ge 0, \; s \cdot |y| \le 1 .

Any y with :math:`U' y \ge 0`, a *cut*, bounds t from below by :math:`-y \cdot a / s \cdot |y|`. The
bounds climb from cut to cut as in Newton's method on a convex function: a cut that is violated at
the bound reached so far has its zero at the next (`_raise`). Cuts come from the structure of the
queries (`cuts`), or from the multipliers that run away where the second stage has no answer
(`_prove`); where neither leads to the distance, the program itself is solved (`exact_distance`): by
the simplex method, or where that would not end in time by an interior-point method. The last cut
is the certificate, whoever found it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..base.batch import Batch
from ..model.queryset import QuerySet
from .certificate import ROUNDING, Certificate
from .cuts import Bands, make_cuts
from .linear_program import interior_multipliers, simplex_multipliers
from .problem import divisor

Array = NDArray[np.float64]

_ROUNDED = 1e-10
"""A multiplier or a gradient, over the largest multiplier, that is rounding."""
_SIMPLEX_MOST = 1e7
"""Cells times queries at most that the simplex method is given."""


@dataclass(frozen=True, eq=False)
class Distance(Batch):
    """Distances with their proofs, for a batch of runs."""

    by_run = ("value", "multipliers")

    value: Array  # the distance, shape (runs,), in standard deviations of the noise
    # The proof that it can be no smaller, one array a query set, shape (runs, queries), with
    # ``sum std |y| = 1`` (all 0 where the distance is 0).
    multipliers: tuple[Array, ...]


def distance_bound(
    sets: Sequence[QuerySet], answers: Sequence[Array], stds: Sequence[float]
) -> Distance:
    """Return lower bounds on the distance, mostly the distance itself.

    The first cut is the answer that is most negative in noises; the others come from `make_cuts`.
    Where a bound is the distance the second stage of max fitting has a solution.
    """
    a, std = _side_by_side(sets, answers, stds)
    runs = np.arange(a.shape[0])
    least = (a / std).argmin(axis=1)
    t = np.maximum(-a[runs, least] / std[least], 0.0)
    # A cut is a vector z: +1 for a query that is asked to be large, -1 for one that must be small.
    z = np.zeros_like(a)
    z[runs, least] = np.where(t > 0, -1.0, 0.0)
    return _raise(sets, a, std, Distance(t, _parted(sets, _normal(-z, std))), None)


def raise_bound(
    sets: Sequence[QuerySet],
    answers: Sequence[Array],
    stds: Sequence[float],
    bound: Distance,
    hints: Sequence[Array],
) -> Distance:
    """Raise bounds that are too low, led by the multipliers of a second stage without an answer."""
    a, std = _side_by_side(sets, answers, stds)
    y = np.concatenate(hints, axis=1)
    return _raise(sets, a, std, _prove(sets, a, std, bound, y), y)


def _prove(
    sets: Sequence[QuerySet], a: Array, std: Array, bound: Distance, hints: Array
) -> Distance:
    """Raise bounds to what the hints, a cut if the second stage is proved to be empty, prove."""
    largest = np.abs(hints).max(axis=1, keepdims=True)
    y = hints / divisor(largest)
    y = np.where(np.abs(y) < _ROUNDED, 0.0, y)
    gradient = np.sum(
        [q.spread(p) for q, p in zip(sets, _parted(sets, y), strict=True)], axis=0
    ).min(axis=1)
    weight = np.abs(y) @ std
    value = -(y * a).sum(axis=1) / divisor(weight)
    runs = np.flatnonzero((weight > 0) & (gradient >= -_ROUNDED) & (value > bound.value))
    proved = Distance(value[runs], _parted(sets, _normal(y[runs], std)))
    return bound.replace_runs(runs, proved)


def _side_by_side(
    sets: Sequence[QuerySet], answers: Sequence[Array], stds: Sequence[float]
) -> tuple[Array, Array]:
    return np.concatenate(answers, axis=1), np.repeat(stds, [q.size for q in sets])


def _parted(sets: Sequence[QuerySet], y: Array) -> tuple[Array, ...]:
    return tuple(np.split(y, np.cumsum([q.size for q in sets])[:-1], axis=1))


def _normal(y: Array, std: Array) -> Array:
    weight = np.abs(y) @ std
    return np.asarray(y / divisor(weight)[:, None])


def _raise(
    sets: Sequence[QuerySet], a: Array, std: Array, bound: Distance, hints: Array | None
) -> Distance:
    """Go from cut to cut until none is found that the bands violate."""
    find = make_cuts(sets)
    if find is None:
        return bound
    t = bound.value.copy()
    y = np.concatenate(bound.multipliers, axis=1)
    slack = 1e-11 * float(std.min()) + 1e-14 * np.abs(a).max(axis=1)
    live = np.arange(t.size)
    while live.size:
        cut, excess = find(Bands(a[live], std, t[live]), None if hints is None else hints[live])
        wrong = excess > slack[live]
        live, cut = live[wrong], cut[wrong]
        root, kept = _cut_root(a[live], std, t[live], cut)
        higher = root > t[live]
        live = live[higher]
        t[live], y[live] = root[higher], _normal(-kept[higher], std)
    return Distance(t, _parted(sets, y))


def _cut_root(a: Array, std: Array, t: Array, z: Array) -> tuple[Array, Array]:
    """Return where violated cuts stop being violated, and the part of each cut that decides.

    Queries whose lower bound is 0 or less leave the cut as t grows: every answer is 0 or more.
    """
    kept = (z < 0) | (a > t[:, None] * std)
    for _ in range(64):
        zk = np.where(kept, z, 0.0)
        t = (zk * a).sum(axis=1) / (np.abs(zk) @ std)  # each cut has a z below 0
        still = (z < 0) | (a > t[:, None] * std)
        if (still == kept).all():
            break
        kept = still
    return t, np.where(kept, z, 0.0)


def exact_distance(
    sets: Sequence[QuerySet],
    answers: Sequence[Array],
    stds: Sequence[float],
    simplex_most: float = _SIMPLEX_MOST,
) -> Distance:
    """Return the distance by a linear program, one run after the other.

    HiGHS solves it by the simplex method if cells times queries are at most ``simplex_most``, else
    Clarabel by an interior-point method. The value is computed anew from their multipliers, so that
    it is a lower bound up to rounding, and the least one if they are optimal.

    Examples
    --------
    >>> sets = [QuerySet.sum_query(2), QuerySet.identity(2)]
    >>> exact_distance(sets, [np.array([[9.0]]), np.array([[8.0, -4.0]])], [2.0, 2.0]).value
    array([2.])
    """
    a, std = _side_by_side(sets, answers, stds)
    matrix = sp.csr_array(sp.vstack([q.matrix for q in sets]))
    few = matrix.shape[0] * matrix.shape[1] <= simplex_most
    multipliers = (simplex_multipliers if few else interior_multipliers)(matrix, std)
    value = np.zeros(a.shape[0])
    y = np.zeros_like(a)
    for run, row in enumerate(a):
        found = multipliers(row)
        if found is None:
            value[run] = np.nan  # no proof: the certificate will say so
            continue
        y[run] = found
        y[run][np.abs(y[run]) < 1e-12] = 0.0
        weight = float(np.abs(y[run]) @ std)
        if weight > 0:
            y[run] /= weight
        value[run] = max(0.0, -float(y[run] @ row))
    return Distance(value, _parted(sets, y))


def certify_distance(
    sets: Sequence[QuerySet], answers: Sequence[Array], stds: Sequence[float], distance: Distance
) -> Certificate:
    """Certify that no smaller distance is possible; the second stage shows that this one is.

    ``dual`` is how negative a cell's ``sum_k y_k u_k`` is, over the largest multiplier; ``gap`` is
    the distance minus the lower bound that the multipliers prove, in standard deviations, over 1
    plus a small part of the largest answer, as in `certify`.
    """
    runs = distance.value.size
    bound, weight, largest, count = np.zeros((4, runs))
    gradient: Array | float = 0.0
    for q, a, s, y in zip(sets, answers, stds, distance.multipliers, strict=True):
        bound -= (y * a).sum(axis=1)
        weight += s * np.abs(y).sum(axis=1)
        largest = np.maximum(largest, np.abs(y).max(axis=1))
        count = np.maximum(count, np.abs(a).max(axis=1) / min(stds))
        gradient = gradient + q.spread(y)
    proven = bound / divisor(weight)
    dual = np.maximum(-np.min(gradient, axis=1), 0.0) / divisor(largest)
    gap = np.abs(distance.value - np.maximum(proven, 0.0)) / (1 + ROUNDING * count)
    return Certificate(np.zeros(runs), dual, np.where(np.isnan(gap), np.inf, gap))
