r"""Newton systems with a diagonal block: eliminate it, solve the rest.

.. math::

    \begin{pmatrix} A & B \\ B' & D \end{pmatrix} \begin{pmatrix} u \\ v \end{pmatrix} =
    \begin{pmatrix} f \\ g \end{pmatrix}
    \quad\Longleftrightarrow\quad
    (A - B D^{-1} B') u = f - B D^{-1} g, \quad v = D^{-1} (g - B' u) .

The Schur complement of a positive definite matrix is positive definite, so nothing is pivoted.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

_BATCHED = 64
"""Unknowns at most for which systems are solved as a batch; larger ones one by one, symmetric."""

Array = NDArray[np.float64]


def regular(free: Array, inverse_weight: Array, ridge: Array) -> Array:
    """Return the diagonal of a Newton matrix, ``free + inverse_weight``, made regular.

    An inverse weight that rounding takes for 0 becomes ``ridge * free``: equalities and bounds may
    contradict each other on the free cells, and the step is then as long as rounding makes it. A
    query with neither counts as if it had one typical cell, so that its step can free one.

    >>> free, ridge = np.array([[4.0, 4.0, 4.0, 0.0]]), np.array([[1e-2]])
    >>> regular(free, np.array([[0.0, 1e-17, 1.0, 0.0]]), ridge)
    array([[4.04, 4.04, 5.  , 1.  ]])
    """
    diagonal = free + np.where(inverse_weight > 1e-14 * free, inverse_weight, ridge * free)
    return np.where(diagonal > 0, diagonal, 1.0)


def solve_small(matrix: Array, right: Array) -> Array:
    """Solve symmetric positive definite systems, shapes (runs, k, k) and (runs, k)."""
    k = matrix.shape[1]
    if k == 0:
        return right.copy()
    if k == 1:
        return right / matrix[:, 0]
    if k <= _BATCHED:
        try:
            return np.asarray(np.linalg.solve(matrix, right[:, :, None])[:, :, 0], dtype=float)
        except np.linalg.LinAlgError:  # in some run: the others must not notice
            pass
    return np.stack([_solve_one(m, r) for m, r in zip(matrix, right, strict=True)])


def _solve_one(matrix: Array, right: Array) -> Array:
    """Solve one system; where queries that nearly repeat each other make it singular, by lstsq."""
    try:
        if right.size <= _BATCHED:
            return np.asarray(np.linalg.solve(matrix, right))
        with warnings.catch_warnings():  # a badly conditioned step is as good as another
            warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
            return np.asarray(scipy.linalg.solve(matrix, right, assume_a="sym", check_finite=False))
    except np.linalg.LinAlgError:
        if not np.isfinite(matrix).all():
            return np.full_like(right, np.nan)
        return np.asarray(np.linalg.lstsq(matrix, right)[0])


def solve_bordered(
    kept: Array, coupling: Array, diagonal: Array, right_kept: Array, right_diagonal: Array
) -> tuple[Array, Array]:
    """Solve a system (A, B, D, f, g) as displayed above, D's positive diagonal alone given.

    The shapes are (runs, k, k), (runs, k, n), (runs, n), (runs, k), (runs, n); A is used up.
    """
    scaled = coupling / diagonal[:, None, :]
    kept -= scaled @ coupling.transpose(0, 2, 1)
    u = solve_small(kept, right_kept - (scaled @ right_diagonal[:, :, None])[:, :, 0])
    v = right_diagonal / diagonal - (u[:, None, :] @ scaled)[:, 0, :]
    return u, v
