"""Controlled rounding: from weights of records to whole records."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, sparse
from scipy.sparse import csgraph

from ..exceptions import CertificateError, InputError
from ..model.queryset import QuerySet
from ..model.workload import Workload
from .mechanism import is_total

Array = NDArray[np.float64]

_EXCHANGES = 20_000  # no table of the largest size has needed a third of so many
_AT_ONCE = 200_000  # cells in a linear program (300 MB)
_INTEGER = 2_000  # cells in an integer program (some seconds), which ends near its least cost
_TIE, _SHARE = 1e-3, 0.9  # of a cost, which breaks ties; of the largest program, of the sample
_PROGRAM: Any = {"integrality": 1, "options": {"node_limit": 10, "mip_rel_gap": 0.02}}


def two_hierarchies(workload: Workload) -> bool:
    """Whether the queries split into two nested hierarchies, as for two-way tables and groups.

    Then a rounding is a flow in a network, whose vertices are whole (Hoffman and Kruskal 1956), and
    one with every answer less than one away exists (for two-way tables, Bacharach 1966).
    """
    sets, n = workload.query_sets, len(workload.query_sets)
    clash: Any = np.zeros((n, n))
    for i, j in combinations(range(n), 2):
        clash[i, j] = clash[j, i] = not _nested(sets[i], sets[j])
    # Sets that clash lie on two sides: in the double cover nothing is joined with its own double.
    joined = csgraph.connected_components(sparse.bmat([[None, clash], [clash, None]]))[1]
    return not (joined[:n] == joined[n:]).any()


def _nested(p: QuerySet, q: QuerySet) -> bool:
    """Whether any two queries, one of each set, are disjoint or one contains the other."""
    both = (p.labels >= 0) & (q.labels >= 0)
    code = p.labels[both].astype(np.int64) * q.size + q.labels[both]
    pairs, size = np.unique(code, return_counts=True)
    return bool(((size == p.counts[pairs // q.size]) | (size == q.counts[pairs % q.size])).all())


def round_table(table: ArrayLike, workload: Workload) -> NDArray[np.int64]:
    """Round a fitted table to whole records, up or down in every cell (controlled rounding).

    The total is the fitted one, rounded. Where the queries form two hierarchies (lists, two-way
    tables with their marginals, groups) every answer moves by less than 1, and the sum of squared
    changes of the cells is the least that does it (of over 200,000 cells nearly): a linear program.
    Else exchanges or, of up to 2,000 cells, an integer program bring answers near, without proof.
    """
    fitted = np.asarray(table, dtype=float).ravel()
    if (n := fitted.size) != workload.cells:
        raise InputError(f"the table to round has {n} cells; the workload is for {workload.cells}")
    if not 0 <= fitted.min() <= fitted.max() < 2**63:  # what whole numbers of 64 bits hold
        raise InputError("the table to round has a cell that is negative, not finite or over 9e18")
    # A solver's last digits must not turn a whole number into one to be rounded.
    slack, near = min(1e-6, 0.1 / fitted.size), np.rint(fitted)
    still = np.abs(fitted - near) <= slack
    base, free = np.where(still, near, np.floor(fitted)), np.flatnonzero(~still)
    whole, part = base.astype(np.int64), fitted[free] - base[free]
    ups = round(float(fitted.sum())) - int(base.sum())
    add = np.zeros(part.size)
    add[np.argsort(-part, kind="stable")[:ups]] = 1
    sets = [q for q in workload.query_sets if not (q.is_identity or is_total(q))]  # these hold
    if sets and free.size:
        ones = sparse.csr_array(np.ones((1, free.size)))
        rows = sparse.vstack([*(q.matrix[:, free] for q in sets), ones], format="csr")
        goal = np.concatenate([*(q.answers(fitted) - q.answers(base) for q in sets), [ups]])
        low, high = np.floor(goal + slack), np.ceil(goal - slack)  # what is whole already stays
        if two_hierarchies(workload):
            add = _least(-part, rows, low, high).x
        else:
            add, box = _exchanges(add, part, rows, goal), optimize.Bounds(0, 1)
            if free.size <= _INTEGER and np.abs(rows @ add - goal).max() >= 1:
                best = optimize.milp(-part, bounds=box, constraints=(rows, low, high), **_PROGRAM).x
                add = add if best is None else best
        if np.abs(add - np.rint(add)).max() > 1e-5 or np.rint(add).sum() != ups:
            raise CertificateError("controlled rounding ended at a table that is not whole")
    whole[free] += np.rint(add).astype(np.int64)
    return np.asarray(whole.reshape(workload.shape))


def _least(cost: Array, rows: Any, low: Array, high: Array) -> Any:
    """Solve the program whose vertices are whole: ``low <= rows @ x <= high``, x in [0, 1].

    Of very many cells the prices of a sample's program settle most, at nearly the least cost.
    """
    size, reduced = _AT_ONCE, np.zeros(cost.size)
    if cost.size > size:
        spread = np.sin(np.arange(cost.size)) * 1e4 % 1  # over every query, and always alike
        cost = cost + _TIE * spread  # ties would take long
        some = np.flatnonzero(spread < _SHARE * size / cost.size)
        goal = rows[:, some] @ -cost[some]
        sample = _least(cost[some], rows[:, some], np.floor(goal), np.ceil(goal))
        reduced = cost + np.subtract(*np.split(-sample.ineqlin.marginals, 2)) @ rows
    while True:
        near = np.sort(np.argsort(np.abs(reduced), kind="stable")[:size])
        add = (reduced < 0).astype(float)
        add[near] = 0
        part, fixed = rows[:, near], rows @ add
        limits = np.concatenate([high - fixed, fixed - low])
        both: Any = sparse.vstack([part, -part])
        found = optimize.linprog(cost[near], both, limits, bounds=(0, 1), method="highs-ds")
        if found.x is not None:
            add[near], found.x = found.x, add
            return found
        if near.size == cost.size:
            raise CertificateError(f"controlled rounding found no table: {found.message}")
        size *= 2


def _exchanges(add: Array, part: Array, rows: sparse.csr_array, goal: Array) -> Array:
    """Exchange a cell rounded up for one rounded down while deviations fall, from the nearest.

    First their squares' sum falls, then that of eighth powers; of equal exchanges the cheapest.
    """
    add, columns, cost = add.copy(), rows.T.tocsr(), -1e-6 * part
    off = rows @ add - goal
    for power in (2, 8):
        for _ in range(_EXCHANGES):
            fall = np.where(add > 0, columns @ (off**power - (off - 1) ** power) + cost, -np.inf)
            down = int(fall.argmax())
            lower = off.copy()
            lower[columns.indices[columns.indptr[down] : columns.indptr[down + 1]]] -= 1
            gain = columns @ (lower**power - (lower + 1) ** power) - cost
            rise = np.where(add > 0, -np.inf, gain)
            up = int(rise.argmax())
            if fall[down] + rise[up] <= 1e-9:
                break
            lower[columns.indices[columns.indptr[up] : columns.indptr[up + 1]]] += 1
            add[down], add[up], off = 0.0, 1.0, lower
    return add
