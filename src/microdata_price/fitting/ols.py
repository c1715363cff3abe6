"""Ordinary least squares: what one would do without asking for nonnegative cells."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs, dpstrf
from scipy.sparse import linalg as spla

from ..model.measurement import Measurements
from ..optimize import WORST_TOLERANCE, Certificate, Problem, Solution, certify
from .fit import Fit, finish, weighted_terms
from .own_cells import asks_cells

Array = NDArray[np.float64]

_DENSE_CELLS = 2000  # larger tables are solved by LSMR
_MOST_AT_LAST = 6000  # queries beside the cells where it misses: a minute, and some 2 GB


def _interaction(table: Array, keep: tuple[int, ...], dimensions: int) -> Array:
    """Return the part of tables that varies along exactly the axes kept; others get length 1."""
    drop = tuple(a + 1 for a in range(dimensions) if a not in keep)
    part = table.mean(axis=drop, keepdims=True) if drop else table
    for a in keep:
        part = part - part.mean(axis=a + 1, keepdims=True)
    return np.asarray(part)


def _solve_marginals(m: Measurements, answers: tuple[Array, ...]) -> Array:
    """Return the least-squares table of least norm for a workload of marginals.

    Each marginal's matrix times its transpose averages over the axes dropped. These averages
    commute: a table splits into interactions, one for each set of axes, and in the interaction of
    the axes S the normal equations are a number, the sum over the marginals that keep all of S of
    weight times the cells an answer counts. Where no marginal keeps all of S, least norm says 0.
    """
    shape = m.workload.shape
    parts: dict[tuple[int, ...], Array] = {}
    every = {s for q in m.workload.query_sets for s in q.interactions() or ()}
    scale = dict.fromkeys(sorted(every, key=lambda s: (len(s), s)), 0.0)
    for q, a, v in zip(m.workload.query_sets, answers, m.variances, strict=True):
        assert q.axes is not None
        small = tuple(n if i in q.axes else 1 for i, n in enumerate(shape))
        given = a.reshape(-1, *small) / v
        for s in q.interactions() or ():
            scale[s] += m.workload.cells / q.size / v
        parts[q.axes] = parts[q.axes] + given if q.axes in parts else given
    result: Array | float = 0.0
    for s, number in scale.items():
        asked = [_interaction(p, s, len(shape)) for k, p in parts.items() if set(s) <= set(k)]
        result = result + sum(asked) / number
    return np.broadcast_to(result, (m.runs, *shape)).reshape(m.runs, -1).copy()


def _solve_any(m: Measurements, answers: tuple[Array, ...]) -> Array:
    """Return the least-squares table of least norm for any workload."""
    roots, sets = [1 / n.std for n in m.noise], m.workload.query_sets
    matrix = sp.csr_array(sp.vstack([w * q.matrix for q, w in zip(sets, roots, strict=True)]))
    given = np.concatenate([a * w for a, w in zip(answers, roots, strict=True)], axis=1)
    if m.workload.cells <= _DENSE_CELLS:
        x, *_ = np.linalg.lstsq(matrix.toarray(), given.T, rcond=None)
        return np.ascontiguousarray(x.T)
    # From a start of zero LSMR leads to the solution of least norm.
    solved = [spla.lsmr(matrix, b, atol=1e-15, btol=1e-15, conlim=0, maxiter=10000) for b in given]
    return np.array([s[0] for s in solved])


def _steps(top: Array, alone: float, quick: bool) -> Callable[[Array, Array], Array]:
    """Return a function from what is off, and z, to the least-squares step of z."""
    if quick:
        square = top.T @ top
        square.flat[:: len(square) + 1] += alone
        r, bad = dpotrf(square, overwrite_a=True)
        return lambda off, z: 0 * z if bad else dpotrs(r, top.T @ off - alone * z)[0]
    unit = math.sqrt(alone) * np.eye(top.shape[1])
    q, r, order = qr(np.vstack([top, unit]), mode="economic", pivoting=True)
    back = np.argsort(order)
    return lambda off, z: solve_triangular(r, q.T @ np.vstack([off, -unit @ z]))[back]


def _solve_few(m: Measurements, quick: bool = True) -> tuple[Array, Certificate]:
    """Return the least-squares table where every cell is asked, beside few other queries.

    What these see of the cells has a small basis; beyond it a cell keeps its own answer. Later
    steps mend rounding. Multipliers come from the basis: sums over very noisy cells lose digits.
    """
    sets, terms = m.workload.query_sets, weighted_terms(m)
    own, few = ([k for k, q in enumerate(sets) if q.is_identity is b] for b in (True, False))
    alone = math.fsum(1 / m.variances[k] for k in own)
    rows = sp.csr_array(sp.vstack([sets[k].matrix for k in few]))
    shared = (rows @ rows.T).toarray()  # of whole numbers, so exact
    seen, order, rank, _ = dpstrf(shared, tol=1e-10 * shared.max(), lower=True)
    order, seen = order - 1, np.tril(seen)[:, :rank]  # the queries along the basis
    rows = rows[order]
    std = np.repeat([m.noise[k].std for k in few], [sets[k].size for k in few])[order, None]
    top, a = seen / std, np.concatenate([m.answers[k] for k in few], axis=1).T[order]
    find = _steps(top, alone, quick)
    x = np.sum([m.answers[k].T / m.variances[k] / alone for k in own], axis=0)
    z = np.zeros((rank, m.runs))
    for _ in range(3):
        off = (a - rows @ x) / std
        step = find(off, z)
        moved = rows[:rank].T @ solve_triangular(seen[:rank], step, trans="T", lower=True)
        x, z = x + moved, z + step
    forces = np.empty_like(a)
    forces[order] = (top @ step - off) / std
    ends = np.cumsum([sets[k].size for k in few])[:-1]
    y = dict(zip(few, np.split(forces.T, ends, axis=1), strict=True))
    y |= {k: (x.T - m.answers[k]) / m.variances[k] for k in own}
    found = Solution(np.ascontiguousarray(x.T), tuple(y[k] for k in range(len(sets))))
    certificate = certify(Problem(terms, nonnegative=False), found)
    if quick and certificate.worst > WORST_TOLERANCE:  # noises too unequal for squares
        return _solve_few(m, quick=False)
    return found.x, certificate


def fit_ols(m: Measurements) -> Fit:
    """Fit by ordinary least squares: the paper's reference, whose cells may be negative.

    As `fit_nnls` without the sign constraint. Marginals have a closed form; where the cells are
    asked, too, a basis of what the other queries see is enough; else a solver is asked.
    """
    closed, few = all(q.interactions() for q in m.workload.query_sets), asks_cells(m.workload)
    if closed or not few:
        x, certificate = _refined(m, _solve_marginals if closed else _solve_any)
        few = not certificate.worst <= WORST_TOLERANCE and asks_cells(m.workload, _MOST_AT_LAST)
    if few:
        # Squares of noises more unequal than that can lose a noisy answer, with a good certificate.
        x, certificate = _solve_few(m, quick=max(m.variances) <= 1e12 * min(m.variances))
    return finish("ols", m, x, certificate)


def _refined(
    m: Measurements, solve: Callable[[Measurements, tuple[Array, ...]], Array]
) -> tuple[Array, Certificate]:
    """Solve, solve again for what is left of the residuals, and certify the table."""
    terms = weighted_terms(m)
    x = solve(m, m.answers)
    x = x + solve(m, tuple(t.target - t.answers(x) for t in terms))
    y = tuple((t.answers(x) - t.target) * t.weight for t in terms)
    return x, certify(Problem(terms, nonnegative=False), Solution(x, y))
