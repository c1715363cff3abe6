"""An imitation of dropping the runs in which a first-order solver fails, to see what that hides.

Nothing else in the package uses this module: it does on purpose what the others avoid. The paper's
authors solved max and sequential fitting by a first-order solver with slacks, and kept a run only
when every stage had succeeded. Their solver was COSMO, in Julia; this is OSQP at their settings, so
the results are an imitation and not a repetition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import osqp
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import unknown_name
from ..model.measurement import Measurements
from ..model.workload import Workload

Array = NDArray[np.float64]

TOLERANCE = 1e-7
"""The authors' absolute and relative tolerance."""
ITERATIONS = 20_000
"""The authors' limit of iterations, a stage."""
EQUALITY_SLACK = 0.001
"""How far the authors let an equality be missed either way, in counts."""
DISTANCE_SLACK = 0.01
"""What the authors add to max fitting's distance, in standard deviations of the noise."""


@dataclass(frozen=True, eq=False)
class Imitated:
    """Tables from a first-order solver, and whether it says that it succeeded.

    Parameters
    ----------
    cells
        Shape (runs, cells), in counts; what the solver left where it failed.
    solved
        Whether every stage was reported as solved, shape (runs,).
    stages
        The first stage that was not, counted from 1; 0 where all were; shape (runs,).
    """

    cells: Array
    solved: NDArray[np.bool_]
    stages: NDArray[np.intp]


def _queries(workload: Workload) -> list[sparse.csc_matrix]:
    """Return each query set as a sparse matrix of 0 and 1, one row a query."""
    matrices = []
    for q in workload.query_sets:
        cells = np.flatnonzero(q.labels >= 0)
        matrices.append(
            sparse.csc_matrix(
                (np.ones(cells.size), (q.labels[cells], cells)), shape=(q.size, q.cells)
            )
        )
    return matrices


def _minimise(
    quadratic: sparse.csc_matrix, linear: Array, rows: sparse.csc_matrix, low: Array, high: Array
) -> tuple[Array, bool]:
    """Run the first-order solver once; return its point and whether it reports success."""
    solver = osqp.OSQP()
    solver.setup(
        quadratic,
        linear,
        rows,
        low,
        high,
        eps_abs=TOLERANCE,
        eps_rel=TOLERANCE,
        max_iter=ITERATIONS,
        verbose=False,
    )
    result = solver.solve(raise_error=False)
    point = np.asarray(result.x, dtype=float)
    fine = result.info.status_val == osqp.SolverStatus.OSQP_SOLVED
    return np.nan_to_num(point), bool(fine and np.isfinite(point).all())


def _squares(matrix: sparse.csc_matrix, target: Array) -> tuple[sparse.csc_matrix, Array]:
    """Write half a sum of squared residuals as the solver wants it (this forms A'A, as it must)."""
    return sparse.triu(matrix.T @ matrix, format="csc"), -(matrix.T @ target)


def _sequential(queries: list[sparse.csc_matrix], answers: list[Array]) -> tuple[Array, int]:
    """Fit one run's stages one after the other, equalities loosened by the slack."""
    cells = queries[0].shape[1]
    rows, low, high = sparse.identity(cells, format="csc"), np.zeros(cells), np.full(cells, np.inf)
    x = np.zeros(cells)
    for stage, (matrix, target) in enumerate(zip(queries, answers, strict=True), start=1):
        x, solved = _minimise(*_squares(matrix, target), rows, low, high)
        if not solved:
            return x, stage
        fitted = matrix @ x
        rows = sparse.vstack([rows, matrix], format="csc")
        low = np.concatenate([low, fitted - EQUALITY_SLACK])
        high = np.concatenate([high, fitted + EQUALITY_SLACK])
    return x, 0


def _max(queries: list[sparse.csc_matrix], answers: list[Array]) -> tuple[Array, int]:
    """Fit one run's distance and then its least squares; answers are in units of the noise."""
    matrix, target = sparse.vstack(queries, format="csc"), np.concatenate(answers)
    cells, count = matrix.shape[1], target.size
    ones = sparse.csc_matrix(np.ones((count, 1)))
    rows = sparse.vstack(
        [
            sparse.hstack([matrix, ones]),
            sparse.hstack([matrix, -ones]),
            sparse.identity(cells + 1),
        ],
        format="csc",
    )
    free = np.full(count, np.inf)
    low = np.concatenate([target, -free, np.zeros(cells + 1)])
    high = np.concatenate([free, target, np.full(cells + 1, np.inf)])
    objective = np.zeros(cells + 1)
    objective[-1] = 1.0
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


_WAYS = {"sequential": _sequential, "maxfit": _max}


def imitate(m: Measurements, method: str) -> Imitated:
    """Fit as the paper's authors did: a first-order solver, slacks, success as it reports it.

    Parameters
    ----------
    m
        Noisy answers, a batch of runs, in counts.
    method
        ``"sequential"`` or ``"maxfit"``, the two methods of which they lost runs.

    Raises
    ------
    InputError
        Another method.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> m = Measurements(Workload.table(2), ([[9.0]], [[8.0, 4.0]]), (Laplace(8), Laplace(8)))
    >>> imitate(m, "sequential").solved
    array([ True])
    """
    if method not in _WAYS:
        raise unknown_name("imitated method", str(method), tuple(_WAYS))
    queries = _queries(m.workload)
    cells = np.empty((m.runs, m.workload.cells))
    stages = np.empty(m.runs, dtype=np.intp)
    for run in range(m.runs):
        # In units of the noise, so that the tolerance means the same at every level of privacy;
        # sequential fitting's slack is in counts and its stages each have one kind of noise.
        if method == "maxfit":
            scaled = [q / n.std for q, n in zip(queries, m.noise, strict=True)]
            answers = [a[run] / n.std for a, n in zip(m.answers, m.noise, strict=True)]
            cells[run], stages[run] = _max([sparse.csc_matrix(q) for q in scaled], answers)
        else:
            cells[run], stages[run] = _sequential(queries, [a[run] for a in m.answers])
    return Imitated(cells, stages == 0, stages)
