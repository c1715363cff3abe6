"""The other solvers: the paper's methods as one would write them with each, run by run."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise

import clarabel
import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import nnls

from microdata_price.fitting.reweighted import reweighting
from microdata_price.model.measurement import Measurements

Array = NDArray[np.float64]
Baseline = Callable[[Measurements], list[Array]]

DISTANCE_SLACK = 0.01
"""What the paper's authors add to max fitting's distance so that its second stage is feasible."""
EQUALITY_SLACK = 0.001
"""By how much the paper's authors relax an equality, on each side, in counts."""


def stacked(m: Measurements) -> tuple[sp.csr_matrix, Array, Array]:
    """Return all queries as rows, all answers (runs, queries), and the root of all weights."""
    rows = []
    for q in m.workload.query_sets:
        cells = np.flatnonzero(q.labels >= 0)
        shape = (q.size, q.cells)
        rows.append(sp.csr_matrix((np.ones(cells.size), (q.labels[cells], cells)), shape=shape))
    sizes = [q.size for q in m.workload.query_sets]
    roots = np.repeat(np.array(m.variances) ** -0.5, sizes)
    return sp.vstack(rows, format="csr"), np.concatenate(m.answers, axis=1), roots


def _cvxpy(objective: cp.Expression, constraints: list[cp.Constraint]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # inaccurate answers are counted by the book, not here
        cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL)


def _value(x: cp.Variable) -> Array:
    return np.full(x.shape, np.nan) if x.value is None else np.asarray(x.value)


def cvxpy_nnls(m: Measurements) -> list[Array]:
    """Solve nonnegative least squares, the problem rebuilt for each run."""
    a, b, root = stacked(m)
    found = []
    for run in range(m.runs):
        x = cp.Variable(a.shape[1], nonneg=True)
        _cvxpy(cp.sum_squares(cp.multiply(root, a @ x - b[run])), [])
        found.append(_value(x))
    return found


def cvxpy_maxfit(m: Measurements) -> list[Array]:
    """Solve max fitting in two stages, with the authors' slack on the distance."""
    a, b, root = stacked(m)
    found = []
    for run in range(m.runs):
        x, t = cp.Variable(a.shape[1], nonneg=True), cp.Variable()
        residual = cp.multiply(root, a @ x - b[run])
        _cvxpy(t, [cp.abs(residual) <= t])
        bound = [] if t.value is None else [cp.abs(residual) <= t.value + DISTANCE_SLACK]
        _cvxpy(cp.sum_squares(residual), bound)
        found.append(_value(x))
    return found


def cvxpy_sequential(m: Measurements) -> list[Array]:
    """Solve sequential fitting stage by stage, earlier answers held to the authors' slack."""
    a, b, root = stacked(m)
    ends = np.cumsum([0, *(q.size for q in m.workload.query_sets)])
    found = []
    for run in range(m.runs):
        x = cp.Variable(a.shape[1], nonneg=True)
        held: list[cp.Constraint] = []
        for start, end in pairwise(ends):
            rows = a[start:end]
            residual = cp.multiply(root[start:end], rows @ x - b[run, start:end])
            _cvxpy(cp.sum_squares(residual), held)
            answers = rows @ _value(x)
            if not np.isfinite(answers).all():
                break
            held.append(cp.abs(rows @ x - answers) <= EQUALITY_SLACK)
        found.append(_value(x))
    return found


def cvxpy_reweighted(m: Measurements) -> list[Array]:
    """Solve the last step of reweighted fitting; the weights themselves are ours and not timed."""
    a, b, _ = stacked(m)
    parts = reweighting(m)
    weights = np.concatenate([p.weight for p in parts], axis=1)
    found = []
    for run in range(m.runs):
        rows, target, weight = [a], [b[run]], [weights[run]]
        for q, part in zip(m.workload.query_sets, parts, strict=True):
            if q.size > 1 and part.low[run].any():
                members = np.where(q.labels >= 0, part.low[run][q.labels], False)
                rows.append(sp.csr_matrix(members[None, :].astype(float)))
                target.append(part.low_sum[run : run + 1])
                weight.append(part.low_sum_weight[run : run + 1])
        x = cp.Variable(a.shape[1], nonneg=True)
        residual = sp.vstack(rows, format="csr") @ x - np.concatenate(target)
        _cvxpy(cp.sum_squares(cp.multiply(np.sqrt(np.concatenate(weight)), residual)), [])
        found.append(_value(x))
    return found


def _expressions(m: Measurements, x: cp.Variable) -> list[cp.Expression]:
    """Return each query set's answers as one reads them: sums over axes of the table x."""
    answers = []
    for q in m.workload.query_sets:
        axes = tuple(range(len(q.shape))) if q.axes is None else q.axes
        drop = tuple(a for a in range(len(q.shape)) if a not in axes)
        kept = cp.sum(x, axis=drop) if drop else x
        answers.append(cp.reshape(kept, (q.size,), order="C"))
    return answers


def plain_nnls(m: Measurements) -> list[Array]:
    """Solve nonnegative least squares, one sum of squares a query set."""
    found = []
    for run in range(m.runs):
        x = cp.Variable(m.workload.shape, nonneg=True)
        loss = sum(
            cp.sum_squares(said - a[run]) / v
            for said, a, v in zip(_expressions(m, x), m.answers, m.variances, strict=True)
        )
        _cvxpy(loss, [])
        found.append(_value(x).ravel())
    return found


def plain_reweighted(m: Measurements) -> list[Array]:
    """Solve the last step of reweighted fitting, two sums of squares a query set."""
    parts = reweighting(m)
    found = []
    for run in range(m.runs):
        x = cp.Variable(m.workload.shape, nonneg=True)
        loss = 0
        for said, a, part in zip(_expressions(m, x), m.answers, parts, strict=True):
            loss += cp.sum(cp.multiply(part.weight[run], cp.square(said - a[run])))
            low = part.low[run]
            if low.size > 1 and low.any():
                miss = cp.sum(said[low]) - part.low_sum[run]
                loss += part.low_sum_weight[run] * cp.square(miss)
        _cvxpy(loss, [])
        found.append(_value(x).ravel())
    return found


def clarabel_update_nnls(m: Measurements) -> list[Array]:
    """Solve nonnegative least squares by Clarabel's own interface, only the answers updated."""
    a, b, root = stacked(m)
    rows, cells = a.shape
    scaled = sp.diags(root) @ a
    residuals = sp.hstack([scaled, -sp.identity(rows)])
    signs = sp.hstack([-sp.identity(cells), sp.csr_matrix((cells, rows))])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.presolve_enable = False  # which would forbid updates
    settings.max_threads = 1
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(sp.diags(np.concatenate([np.zeros(cells), np.ones(rows)]))),
        np.zeros(cells + rows),
        sp.csc_matrix(sp.vstack([residuals, signs])),
        np.concatenate([root * b[0], np.zeros(cells)]),
        [clarabel.ZeroConeT(rows), clarabel.NonnegativeConeT(cells)],
        settings,
    )
    found = []
    for run in range(m.runs):
        solver.update(b=np.concatenate([root * b[run], np.zeros(cells)]))
        found.append(np.asarray(solver.solve().x)[:cells])
    return found


def scipy_nnls(m: Measurements) -> list[Array]:
    """Solve nonnegative least squares by scipy's active-set method."""
    a, b, root = stacked(m)
    dense = root[:, None] * a.toarray()
    return [nnls(dense, root * b[run])[0] for run in range(m.runs)]


def piqp_nnls(m: Measurements) -> list[Array]:
    """Solve nonnegative least squares by piqp, only the answers updated."""
    import piqp  # an extra: without it the benchmark leaves this line out

    a, b, root = stacked(m)
    rows, cells = a.shape
    residuals = sp.csc_matrix(sp.hstack([sp.diags(root) @ a, -sp.identity(rows)]))
    free = np.full(rows, np.inf)
    solver = piqp.SparseSolver()
    solver.settings.verbose = False
    solver.setup(
        sp.csc_matrix(sp.diags(np.concatenate([np.zeros(cells), np.ones(rows)]))),
        np.zeros(cells + rows),
        residuals,
        root * b[0],
        x_l=np.concatenate([np.zeros(cells), -free]),
        x_u=np.full(cells + rows, np.inf),
    )
    found = []
    for run in range(m.runs):
        if run:
            solver.update(b=root * b[run])
        solver.solve()
        found.append(np.array(solver.result.x)[:cells])  # a copy: piqp reuses the memory
    return found


REBUILT: dict[str, Baseline] = {
    "nnls": cvxpy_nnls,
    "maxfit": cvxpy_maxfit,
    "sequential": cvxpy_sequential,
    "reweighted": cvxpy_reweighted,
}
"""cvxpy with Clarabel, everything rebuilt for each run: what the ratios are against.

All query sets are stacked as the rows of one sparse matrix, which is the leanest way to hand the
problem to cvxpy, so the ratios are on the low side.
"""

PLAIN: dict[str, Baseline] = {"nnls": plain_nnls, "reweighted": plain_reweighted}
"""The same, each query set written as a sum over axes of the table, as one reads the algorithm."""

NNLS: dict[str, Baseline] = {
    "clarabel, updated": clarabel_update_nnls,
    "scipy nnls": scipy_nnls,
    "piqp, updated": piqp_nnls,
}
"""Others, for nonnegative least squares."""
