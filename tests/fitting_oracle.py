"""The paper's methods by cvxpy and HiGHS, a run at a time, with none of the project's solvers."""

import contextlib
import warnings

import cvxpy as cp
import numpy as np
from scipy import optimize

from microdata_price.model.measurement import Measurements
from microdata_price.model.noise import max_exceeds, max_median


def matrix(queries):
    """One row of zeros and ones a query."""
    return (queries.labels == np.arange(queries.size)[:, None]).astype(float)


def solve(objective, constraints):
    """Minimize as finely as Clarabel can."""
    problem = cp.Problem(cp.Minimize(objective), constraints)
    with warnings.catch_warnings():
        # It need not reach such tolerances: how near its answer is to ours is what is tested.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        # Where a problem has no interior, the finest may be out of reach; it is no contradiction.
        for tolerance in (1e-11, 1e-9, 1e-8, 1e-7):
            fine = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
            fine |= {"tol_infeas_abs": 1e-16, "tol_infeas_rel": 1e-16}
            with contextlib.suppress(cp.SolverError):
                problem.solve(solver=cp.CLARABEL, **fine)
                if problem.status in ("optimal", "optimal_inaccurate"):
                    return
    raise AssertionError(f"the oracle gave up: {problem.status}")


def stacked(m, run):
    """All queries: matrix, noisy answers, variances."""
    sets = m.workload.query_sets
    a = np.vstack([matrix(q) for q in sets])
    b = np.concatenate([x[run] for x in m.answers])
    v = np.concatenate([np.full(q.size, s) for q, s in zip(sets, m.variances, strict=True)])
    return a, b, v


def least_norm(a, answers, nonnegative=True):
    """The table of least norm with these answers."""
    x = cp.Variable(a.shape[1], nonneg=nonnegative)
    solve(cp.sum_squares(x), [a @ x == answers])
    return x.value


def ols(m, run):
    a, b, v = stacked(m, run)
    return np.linalg.pinv(a / np.sqrt(v)[:, None]) @ (b / np.sqrt(v))


def least_squares(a, b, weights, most=np.inf):
    """The table of 0 or more with the least weighted squares, none beyond a bound in noises."""
    x = cp.Variable(a.shape[1], nonneg=True)
    r = cp.multiply(np.sqrt(weights), a @ x - b)
    solve(cp.sum_squares(r), [cp.abs(r) <= most] if np.isfinite(most) else [])
    return x.value


def nnls(m, run):
    a, b, v = stacked(m, run)
    return least_squares(a, b, 1 / v)


def distance(m, run):
    a, b, v = stacked(m, run)
    std = np.sqrt(v)[:, None]
    found = optimize.linprog(
        np.r_[np.zeros(a.shape[1]), 1.0],
        A_ub=np.block([[a, -std], [-a, -std]]),
        b_ub=np.r_[b, -b],
        method="highs",
    )
    assert found.status == 0
    return found.fun


def maxfit(m, run):
    a, b, v = stacked(m, run)
    return least_squares(a, b, 1 / v, distance(m, run))


def sequential(m, run):
    """Hold what is fitted at one table's answers, which contradict each other by rounding only."""
    held, x = np.zeros((0, m.workload.cells)), np.zeros(m.workload.cells)
    for q, b, v in zip(m.workload.query_sets, m.answers, m.variances, strict=True):
        # Cells of a query that is 0 are 0 from here on; left in, no point would be interior.
        free = ~held[held @ x <= 1e-7].any(axis=0)
        a, rows = matrix(q), held[held @ x > 1e-7]
        if free.any():
            y = cp.Variable(int(free.sum()), nonneg=True)
            same = [rows[:, free] @ y == rows[:, free] @ x[free]] if rows.size else []
            solve(cp.sum_squares(a[:, free] @ y - b[run]) / v, same)
            x = np.zeros(free.size)
            x[free] = np.maximum(y.value, 0)
        held = np.vstack([held, a])
    return x


def reweighted(m, run, gamma=0.99):
    """Algorithm 2, line by line."""
    terms = []
    for q, b, f in zip(m.workload.query_sets, m.answers, m.noise, strict=True):
        a, b = matrix(q), b[run]
        few = (y for j, y in enumerate(np.sort(b), 1) if max_exceeds(f, j, y) <= 1 - gamma)
        low = b < next(few, np.inf)
        n = int(low.sum())
        down = max(1.0, float(max_median(f, n))) if n else 1.0
        terms += zip(a, b, 1 / np.where(low, 2 * f.variance * down**2, f.variance), strict=True)
        if n:
            terms.append((a[low].sum(axis=0), b[low].sum(), 1 / (2 * n * f.variance)))
    return least_squares(*(np.array(t) for t in zip(*terms, strict=True)))


def sequential_ols(m, run):
    answers = tuple(a[None] for a in m.workload.answers(ols(m, run).reshape(m.workload.shape)))
    return sequential(Measurements(m.workload, answers, m.noise), 0)


METHODS = (ols, nnls, maxfit, sequential, reweighted, sequential_ols)
ORACLES = {method.__name__: method for method in METHODS}
