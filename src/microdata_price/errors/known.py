"""Expected squared errors that are known exactly: OLS's, and sequential fitting's first sum."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpstrf

from ..exceptions import InputError, find
from ..fitting import METHODS
from ..fitting.own_cells import asks_cells, own_variances
from ..model.measurement import Measurements
from ..model.noise import Gaussian, Laplace, Noise
from ..model.queryset import QuerySet
from ..model.workload import Workload
from ..theory.upper.exact_errors import clipped

Array = NDArray[np.float64]

# Entries up to which the query matrix is made, queries up to which a smaller one will do where no
# cell is asked, and what is rounding next to 1.
_DENSE_LIMIT, _MOST_QUERIES, _ROUNDED = 4_000_000, 2000, 1e-10


def ols_variances(workload: Workload, variances: Sequence[float]) -> tuple[Array, ...]:
    """Variance of every query's answer after ordinary least squares, an array a query set.

    A set of infinite variance is only told, not asked. OLS is linear and unbiased on what was
    asked, so these are its expected squared errors, for any noise with these variances and on every
    table. Where every query set is a marginal, the normal equations split into one scalar for each
    set S of axes (the functions that depend on these axes and average to zero along each), namely
    ``lambda_S = sum over sets T containing S of prod_(a not in T) n_a / variance_T``; a query of
    the marginal T has then the variance ``sum over S in T of prod_(S) (1 - 1/n_a) prod_(T without
    S) (1/n_a) prod_(not in T) n_a / lambda_S``. For the sum and d cells this is ``variance d/(d +
    1)``, and for sum, marginals and cells of r x c ``variance rc/((r + 1)(c + 1))``, for every
    query alike. Other workloads take orthogonal decompositions of the query matrix; too large a one
    is refused.

    Examples
    --------
    >>> round(float(ols_variances(Workload.table((10, 10)), [128.0] * 4)[0][0]), 3)
    105.785
    """
    variances = workload.check_positive(variances, "variances")
    if all(q.interactions() for q in workload.query_sets):
        return _marginal_variances(workload, variances)
    others = sum(q.size for q in workload.query_sets if not q.is_identity)
    small = others * workload.cells <= _DENSE_LIMIT
    loss = 1e-10 if small else 1e-4
    if asks_cells(workload) and (found := own_variances(workload, variances, loss)):
        return found
    if small or (others <= _MOST_QUERIES and not any(q.is_identity for q in workload.query_sets)):
        return _variances(workload, variances, small)
    raise InputError(
        f"the exact errors of OLS for {others} queries on {workload.cells} cells would take too "
        "long; ask for marginals alone, or for fewer query sets"
    )


def _marginal_variances(workload: Workload, variances: Sequence[float]) -> tuple[Array, ...]:
    sides = workload.shape
    sets = [(q.axes or (), v) for q, v in zip(workload.query_sets, variances, strict=True)]

    def outside(axes: tuple[int, ...]) -> float:
        return math.prod(float(n) for a, n in enumerate(sides) if a not in axes)

    def query_variance(q: QuerySet) -> float:
        kept, parts = q.axes or (), []
        for s in q.interactions() or ():
            scalar = math.fsum(outside(t) / v for t, v in sets if set(s) <= set(t))
            share = math.prod(1 - 1 / sides[a] if a in s else 1 / sides[a] for a in kept)
            parts.append(share * outside(kept) / scalar)
        return math.fsum(parts)

    return tuple(np.full(q.size, query_variance(q)) for q in workload.query_sets)


def _small_matrices(sets: Sequence[QuerySet]) -> list[sp.csr_array]:
    """Return the query sets' matrices along an orthonormal basis of all that they see."""
    rows = sp.csr_array(sp.vstack([q.matrix for q in sets]))
    shared = (rows @ rows.T).toarray()  # of whole numbers, so exact
    part, order, rank, _ = dpstrf(shared, tol=1e-10 * shared.max(), lower=True)
    made = np.tril(part)[np.argsort(order), :rank]
    return [sp.csr_array(m) for m in np.split(made, np.cumsum([q.size for q in sets])[:-1])]


def _variances(workload: Workload, variances: Sequence[float], small: bool) -> tuple[Array, ...]:
    """Take the query sets from the least noise to the most, so that none swamps a smaller one."""
    sets, known = workload.query_sets, dict[int, int]()
    matrices = [q.matrix for q in sets] if small else _small_matrices(sets)
    basis = np.zeros((0, matrices[0].shape[1]))
    for k in sorted(range(len(sets)), key=variances.__getitem__):
        if not sets[k].is_identity:
            left = matrices[k].toarray() / np.sqrt(sets[k].counts)[:, None]
            for _ in range(2):  # once more for what rounding left
                left = left - left @ basis.T @ basis
            new, size, _ = qr(left.T, mode="economic", pivoting=True)
            basis = np.concatenate([basis, new.T[np.abs(np.diagonal(size)) > _ROUNDED]])
        known[k] = len(basis)
    # The queries along these directions. Along those that only later sets need a set is exactly 0.
    rows = {k: np.eye(len(basis)) for k in known}
    for k in (k for k in known if not sets[k].is_identity):
        rows[k] = matrices[k] @ basis.T * (np.arange(len(basis)) < known[k])
    root = np.linalg.qr(np.concatenate([rows[k] / math.sqrt(variances[k]) for k in known]), "r")
    # What no other set says of a cell, its own answers alone do.
    alone, found = 1 - (basis**2).sum(axis=0), []
    own = math.fsum(1 / v for q, v in zip(sets, variances, strict=True) if q.is_identity)
    for k, q in enumerate(sets):
        spread = solve_triangular(root, basis if q.is_identity else rows[k].T, trans="T")
        rest = np.where(alone > _ROUNDED, alone, 0.0) / own if q.is_identity else 0.0
        found.append((spread**2).sum(axis=0) + rest)
    return tuple(found)


def known_errors(
    method: str, workload: Workload, noise: Sequence[Noise], truth: Sequence[Array]
) -> tuple[Array, ...]:
    """Exact expected squared error of every query, an array a query set; NaN where not known.

    Known are OLS's errors and, for sequential fitting that starts with the sum query, the sum's:
    it is fitted first, to ``max(0, noisy sum)``, and kept. ``truth`` are the true answers.

    Examples
    --------
    >>> w = Workload.table(3)
    >>> noise = (Laplace(1.0), Laplace(1.0))
    >>> [e.round(12).tolist() for e in known_errors("ols", w, noise, w.answers([1, 2, 3]))]
    [[1.5], [1.5, 1.5, 1.5]]
    """
    of_method = find("method", method, METHODS)
    measured = Measurements(workload, tuple(np.asarray(a)[None] for a in truth), tuple(noise))
    if of_method.known == "all":
        return ols_variances(workload, measured.variances)
    known = tuple(np.full(q.size, np.nan) for q in workload.query_sets)
    first, sum_first = noise[0], workload.query_sets[0].axes == ()
    if of_method.known == "sum" and sum_first and isinstance(first, (Laplace, Gaussian)):
        known[0][0] = float(clipped(first, truth[0][0]).squared_error)
    return known
