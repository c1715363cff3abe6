"""An imitation of dropping the runs in which a first-order solver fails, to see its effect.

The paper's authors solved max and sequential fitting by a first-order solver with slacks, and kept
a run only when every stage had succeeded. Their solver was COSMO, in Julia; this is OSQP at their
settings, so the results are an imitation and not a repetition. Nearly all its time goes into runs
that fail: each takes all the iterations.
"""

from typing import NamedTuple

import numpy as np
import osqp
from scipy import sparse

from ..exceptions import unknown_name

TOLERANCE = 1e-7  # the authors' absolute and relative tolerance
ITERATIONS = 20_000  # their limit, a stage
EQUALITY_SLACK = 0.001  # how far they let an equality be missed either way, in counts
DISTANCE_SLACK = 0.01  # added to max fitting's distance, in standard deviations of the noise


class Imitated(NamedTuple):
    """Tables, shape (runs, cells), of a first-order solver; the first stage that failed, or 0."""

    cells: np.ndarray
    stages: np.ndarray

    @property
    def solved(self):
        return self.stages == 0


def _queries(workload):
    """Write each query set as a sparse matrix of 0 and 1, one row a query."""
    for q in workload.query_sets:
        cells = np.flatnonzero(q.labels >= 0)
        entries = (np.ones(cells.size), (q.labels[cells], cells))
        yield sparse.csc_matrix(entries, shape=(q.size, q.cells))


def _minimise(quadratic, linear, rows, low, high):
    """Run the first-order solver once; return its point and whether it reports success."""
    solver = osqp.OSQP()
    settings = {"eps_abs": TOLERANCE, "eps_rel": TOLERANCE, "max_iter": ITERATIONS}
    solver.setup(quadratic, linear, rows, low, high, verbose=False, **settings)
    result = solver.solve(raise_error=False)
    point = np.asarray(result.x, dtype=float)
    fine = result.info.status_val == osqp.SolverStatus.OSQP_SOLVED
    return np.nan_to_num(point), bool(fine and np.isfinite(point).all())


def _squares(matrix, target):
    """Write half a sum of squared residuals as the solver wants it (this forms A'A, as it must)."""
    return sparse.triu(matrix.T @ matrix, format="csc"), -(matrix.T @ target)


def _sequential(queries, answers):
    """Fit one run's stages one after the other, equalities loosened by the slack."""
    cells = queries[0].shape[1]
    rows, low, high = sparse.identity(cells, format="csc"), np.zeros(cells), np.full(cells, np.inf)
    for stage, (matrix, target) in enumerate(zip(queries, answers, strict=True), start=1):
        x, solved = _minimise(*_squares(matrix, target), rows, low, high)
        if not solved:
            return x, stage
        fitted = matrix @ x
        rows = sparse.vstack([rows, matrix], format="csc")
        low = np.concatenate([low, fitted - EQUALITY_SLACK])
        high = np.concatenate([high, fitted + EQUALITY_SLACK])
    return x, 0


def _max(queries, answers):
    """Fit one run's distance and then its least squares; answers are in units of the noise."""
    matrix, target = sparse.vstack(queries, format="csc"), np.concatenate(answers)
    count, cells = matrix.shape
    ones = sparse.csc_matrix(np.ones((count, 1)))
    bounds = [sparse.hstack([matrix, ones]), sparse.hstack([matrix, -ones])]
    rows = sparse.vstack([*bounds, sparse.identity(cells + 1)], format="csc")
    free = np.full(count, np.inf)
    low = np.concatenate([target, -free, np.zeros(cells + 1)])
    high = np.concatenate([free, target, np.full(cells + 1, np.inf)])
    objective = np.append(np.zeros(cells), 1.0)
    nothing = sparse.csc_matrix((cells + 1, cells + 1))
    x, solved = _minimise(nothing, objective, rows, low, high)
    if not solved:
        return x[:-1], 1
    reach = x[-1] + DISTANCE_SLACK
    rows = sparse.vstack([matrix, sparse.identity(cells)], format="csc")
    low = np.concatenate([target - reach, np.zeros(cells)])
    high = np.concatenate([target + reach, np.full(cells, np.inf)])
    x, solved = _minimise(*_squares(matrix, target), rows, low, high)
    return x, 0 if solved else 2


def imitate(m, method, runs=None):
    """Fit the first runs as the paper's authors did: a first-order solver, slacks, its success."""
    if method not in ("sequential", "maxfit"):
        raise unknown_name("imitated method", str(method), ("sequential", "maxfit"))
    # Max fitting is in units of the noise, so that the tolerance means the same at every level of
    # privacy; sequential fitting's slack is in counts, and its stages each have one kind of noise.
    units = [n.std if method == "maxfit" else 1.0 for n in m.noise]
    queries = [sparse.csc_matrix(q / u) for q, u in zip(_queries(m.workload), units, strict=True)]
    solve = _max if method == "maxfit" else _sequential
    found = [
        solve(queries, [a[run] / u for a, u in zip(m.answers, units, strict=True)])
        for run in range(m.runs if runs is None else runs)
    ]
    return Imitated(np.array([x for x, _ in found]), np.array([stage for _, stage in found]))
