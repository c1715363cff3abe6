"""Controlled rounding: from weights of records to whole records."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, sparse

from ..exceptions import CertificateError, InputError
from ..model.queryset import QuerySet
from ..model.workload import Workload

Array = NDArray[np.float64]

SECONDS = 6.0
"""How long the search for the least deviation may take where no theorem gives it."""
MOST_SEARCHED = 5_000
"""Cells beyond which exchanges alone search: the solver would not come back in that time."""
MOST_EXCHANGES = 20_000
"""No table of the largest size has needed a third of so many."""


@dataclass(frozen=True, eq=False)
class Rounded:
    """A table of whole records near a fitted one.

    Parameters
    ----------
    table
        Whole numbers of 0 or more, shaped as the table.
    deviations
        For each query set of the workload, the largest distance of an answer from the fitted
        table's, in counts.
    within_one
        Whether a theorem keeps every answer of the workload less than one from the fitted one.
    least
        A proven lower bound on the largest deviation of the marginals, in counts; 0 where the
        theorem holds, since there the sum of squared changes is made least instead.

    Examples
    --------
    >>> Rounded(np.array([1]), {"sum": 0.5}, True, 0.0).largest
    0.5
    """

    table: NDArray[np.int64]
    deviations: dict[str, float]
    within_one: bool
    least: float

    @property
    def largest(self) -> float:
        """The largest deviation of any query of the workload."""
        return max(self.deviations.values())


def _nested(p: QuerySet, q: QuerySet) -> bool:
    """Whether any two queries, one of each set, are disjoint or one contains the other."""
    both = (p.labels >= 0) & (q.labels >= 0)
    code = p.labels[both].astype(np.int64) * q.size + q.labels[both]
    pairs, size = np.unique(code, return_counts=True)
    return bool(((size == p.counts[pairs // q.size]) | (size == q.counts[pairs % q.size])).all())


def two_hierarchies(workload: Workload) -> bool:
    """Whether the queries split into two nested hierarchies, as for two-way tables and trees.

    Then the constraints of a rounding are those of a flow in a network, whose vertices are whole
    numbers (Hoffman and Kruskal 1956), and a rounding with every answer less than one away exists
    (for two-way tables, Bacharach 1966).

    Examples
    --------
    >>> two_hierarchies(Workload.table((3, 4))), two_hierarchies(Workload.table((3, 4, 5)))
    (True, False)
    """
    sets = workload.query_sets
    clash: dict[int, list[int]] = {i: [] for i in range(len(sets))}
    for i, j in combinations(range(len(sets)), 2):
        if not _nested(sets[i], sets[j]):
            clash[i].append(j)
            clash[j].append(i)
    side: dict[int, int] = {}
    for start in clash:
        side.setdefault(start, 0)
        waiting = [start]
        while waiting:
            i = waiting.pop()
            for j in clash[i]:
                if j not in side:
                    side[j] = 1 - side[i]
                    waiting.append(j)
                elif side[j] == side[i]:
                    return False
    return True


def _matrix(queries: QuerySet, free: NDArray[np.intp]) -> sparse.csr_array:
    labels = queries.labels[free]
    column = np.flatnonzero(labels >= 0)
    ones = np.ones(column.size)
    return sparse.csr_array((ones, (labels[column], column)), shape=(queries.size, free.size))


def round_table(table: ArrayLike, workload: Workload, seconds: float = SECONDS) -> Rounded:
    """Round a fitted table to whole records, up or down in every cell (controlled rounding).

    The total is the fitted total rounded to the nearest whole number. Where the workload's queries
    form two hierarchies (lists, two-way tables with their marginals, trees of nested totals) every
    answer is less than one from the fitted one, and among these roundings the sum of squared
    changes of the cells is least: a linear program whose vertices are whole. Otherwise the largest
    deviation of the marginals is made least by a mixed-integer program, within a limit of time;
    beyond 5,000 cells that are not whole, the marginals are brought near by exchanges alone.

    Parameters
    ----------
    table
        The fitted table, shape (table shape) or (cells,), 0 or more, in counts.
    workload
        The queries whose answers shall stay close.
    seconds
        How long the mixed-integer program may search.

    Returns
    -------
    Rounded
        The table with what became of every query set.

    Raises
    ------
    InputError
        Cells that are negative or not finite, or another number of cells than the workload's.
    CertificateError
        The program's answer is not whole.

    Examples
    --------
    >>> round_table([[1.5, 0.5], [0.5, 1.5]], Workload.table((2, 2))).largest
    0.5
    """
    fitted = np.asarray(table, dtype=float).ravel()
    if fitted.size != workload.cells:
        raise InputError(
            f"the table to round has {fitted.size} cells; the workload is for {workload.cells}"
        )
    if not np.isfinite(fitted).all() or fitted.min() < 0:
        raise InputError("the table to round has a cell that is negative or not finite")
    # A solver's last digits must not turn a whole number into one to be rounded.
    slack = min(1e-6, 0.1 / fitted.size)
    near = np.rint(fitted)
    base = np.where(np.abs(fitted - near) <= slack, near, np.floor(fitted))
    free = np.flatnonzero(np.abs(fitted - near) > slack)
    ups = round(float(fitted.sum())) - int(base.sum())
    theorem = two_hierarchies(workload)
    add, least = np.zeros(0), 0.0
    if free.size:
        part = fitted[free] - base[free]
        # The total is kept exactly and the cells move by less than one in any case.
        sets = [q for q in workload.query_sets if not q.is_identity and q.axes != ()]
        if not sets:
            add = _nearest(part, ups)
        else:
            rows = sparse.vstack([_matrix(q, free) for q in sets], format="csr")
            goal = np.concatenate([q.answers(fitted) - q.answers(base) for q in sets])
            if theorem:
                add = _network(part, rows, goal, ups, slack)
            else:
                add, least = _least_deviation(part, rows, goal, ups, seconds)
    whole = base.astype(np.int64)
    whole[free] += np.rint(add).astype(np.int64)
    deviations = {
        q.name: float(np.abs(q.answers(whole) - q.answers(fitted)).max())
        for q in workload.query_sets
    }
    return Rounded(whole.reshape(workload.shape), deviations, theorem, least)


def _whole(x: Array, ups: int) -> Array:
    """Return a solution's whole numbers, or fail: nothing is rounded that is not whole."""
    whole = np.rint(x)
    if np.abs(x - whole).max() > 1e-5 or int(whole.sum()) != ups:
        raise CertificateError("controlled rounding ended at a table that is not whole")
    return np.asarray(whole)


def _nearest(part: Array, ups: int) -> Array:
    """Round up the cells with the largest fractions."""
    add = np.zeros(part.size)
    add[np.argsort(-part, kind="stable")[:ups]] = 1
    return add


def _network(part: Array, rows: sparse.csr_array, goal: Array, ups: int, slack: float) -> Array:
    """Solve the program whose relaxation has whole vertices; squared changes cost 1 - 2 part."""
    # An answer that is whole already stays.
    low, high = np.floor(goal + slack), np.ceil(goal - slack)
    result = optimize.milp(
        1 - 2 * part,
        integrality=np.ones(part.size, dtype=np.int8),
        bounds=optimize.Bounds(0, 1),
        constraints=[
            optimize.LinearConstraint(rows, low, high),
            optimize.LinearConstraint(sparse.csr_array(np.ones((1, part.size))), ups, ups),
        ],
    )
    if result.x is None:
        raise CertificateError(f"controlled rounding found no table: {result.message}")
    return _whole(result.x, ups)


def _exchanges(part: Array, rows: sparse.csr_array, goal: Array, ups: int) -> Array:
    """Exchange a cell rounded up for one rounded down while the squared deviations fall (ours).

    Each exchange takes the two cells that bring most, at equal gain those whose own change costs
    least. The start is the nearest rounding.
    """
    add = _nearest(part, ups)
    off = rows @ add - goal
    columns = rows.T.tocsr()
    size, cost = np.diff(columns.indptr), 1e-6 * (1 - 2 * part)
    for _ in range(MOST_EXCHANGES):
        # A cell that flips changes the sum of squares by 2 off -+ 1 for each query that counts it.
        fall = np.where(add > 0, 2 * (columns @ off) - size + cost, -np.inf)
        down = int(fall.argmax())
        if not add[down]:
            break
        lower = off.copy()
        lower[columns.indices[columns.indptr[down] : columns.indptr[down + 1]]] -= 1
        rise = np.where(add > 0, -np.inf, -2 * (columns @ lower) - size - cost)
        up = int(rise.argmax())
        if add[up] or fall[down] + rise[up] <= 1e-9:
            break
        lower[columns.indices[columns.indptr[up] : columns.indptr[up + 1]]] += 1
        add[down], add[up], off = 0.0, 1.0, lower
    return add


def _least_deviation(
    part: Array, rows: sparse.csr_array, goal: Array, ups: int, seconds: float
) -> tuple[Array, float]:
    """Minimise the largest deviation t of the marginals, then stay as near as t allows."""
    n, m = part.size, goal.size
    add = _exchanges(part, rows, goal, ups)
    least = float(np.abs(goal - np.rint(goal)).max())
    if n > MOST_SEARCHED:
        return add, least
    wide = sparse.csr_array(np.ones((m, 1)))
    total = optimize.LinearConstraint(
        sparse.hstack([sparse.csr_array(np.ones((1, n))), sparse.csr_array((1, 1))]), ups, ups
    )
    bands = [
        optimize.LinearConstraint(sparse.hstack([rows, -wide], format="csr"), -np.inf, goal),
        optimize.LinearConstraint(sparse.hstack([rows, wide], format="csr"), goal, np.inf),
    ]
    whole = np.append(np.ones(n, dtype=np.int8), np.int8(0))
    first = optimize.milp(
        np.append(np.zeros(n), 1.0),
        integrality=whole,
        bounds=optimize.Bounds(np.zeros(n + 1), np.append(np.ones(n), np.inf)),
        constraints=[total, *bands],
        options={"time_limit": seconds},
    )
    bound = max(least, float(first.mip_dual_bound or 0.0))
    reached = float(np.abs(rows @ add - goal).max())
    if first.x is not None:
        found = _whole(first.x[:n], ups)
        best = float(np.abs(rows @ found - goal).max())
        if best <= reached:
            add, reached = found, best
    second = optimize.milp(
        np.append(1 - 2 * part, 0.0),
        integrality=whole,
        bounds=optimize.Bounds(np.zeros(n + 1), np.append(np.ones(n), reached + 1e-9)),
        constraints=[total, *bands],
        options={"time_limit": seconds, "mip_rel_gap": 1e-3},
    )
    if second.x is not None:
        nearer = _whole(second.x[:n], ups)
        if np.abs(rows @ nearer - goal).max() <= reached + 1e-6:
            add = nearer
    return add, min(bound, reached)
