"""Projections on simplexes: least squares with nonnegative cells and a given sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LONG = 1 << 12
"""Vectors of this length are projected one by one, without sorting them."""


def project_simplex(a: Array, total: Array) -> tuple[Array, Array]:
    """Project each vector on the nonnegative vectors with a given sum (the paper's Lemma 2).

    The projection is ``max(a - g, 0)`` with the threshold g that gives the sum; sorting and
    prefix sums find it exactly, and for long vectors a few passes over ever fewer entries.

    Parameters
    ----------
    a
        Vectors along the last axis, shape (..., n), in counts.
    total
        Sums, 0 or more, shape (...), in counts.

    Returns
    -------
    projection, threshold
        Shapes (..., n) and (...), in counts. For a sum of 0 the threshold is the largest entry
        (larger ones would do as well).

    Examples
    --------
    >>> project_simplex(np.array([3.0, 1.0, -1.0]), np.array(2.0))
    (array([2., 0., 0.]), array(1.))
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
    """Return one long vector's threshold without sorting it.

    The threshold that would do if every entry left were above it is no larger than the true one,
    so the entries below it can go; each pass is over what is left, and soon none goes.
    """
    if total <= 0:
        return float(v.max())
    while True:
        g = float((v.sum() - total) / v.size)
        left = v[v > g]
        if left.size == v.size or left.size == 0:
            return g
        v = left


def project_groups(a: Array, groups: NDArray[np.intp], totals: Array) -> tuple[Array, Array]:
    """Project on the nonnegative vectors whose groups have given sums; one threshold a group.

    Parameters
    ----------
    a
        Shape (runs, n), in counts.
    groups
        For each entry its group 0, 1, ..., or -1 where the entry is in no group (it is then
        projected on the numbers of 0 or more). Shape (n,).
    totals
        Sums, shape (runs, groups), 0 or more, in counts.

    Returns
    -------
    projection, threshold
        Shapes (runs, n) and (runs, groups), in counts.

    Examples
    --------
    >>> a, groups = np.array([[3.0, 1.0, 5.0]]), np.array([0, 0, 1])
    >>> x, g = project_groups(a, groups, np.array([[2.0, 4.0]]))
    >>> x, g
    (array([[2., 0., 4.]]), array([[1., 1.]]))
    """
    if totals.shape[1] == 1 and not groups.any():
        x, g = project_simplex(a, totals[:, 0])
        return x, g[:, None]
    x = np.maximum(a, 0.0)
    threshold = np.zeros_like(totals)
    order = np.argsort(groups, kind="stable")
    order = order[groups[order] >= 0]
    sizes = np.bincount(groups[order], minlength=totals.shape[1])
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]):  # groups of one size form one array
        which = np.flatnonzero(sizes == size)
        entries = order[starts[which][:, None] + np.arange(size)]
        x[:, entries], threshold[:, which] = project_simplex(a[:, entries], totals[:, which])
    return x, threshold
