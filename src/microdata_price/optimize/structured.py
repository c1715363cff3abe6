"""The fast solver: recognise a problem's structure, solve its dual, read off the answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..model.queryset import QuerySet
from .boxed import Boxed, add_aggregates, box_cells, columns, pinning, split
from .dual_newton import newton
from .dual_point import Structure
from .memory import keep_memory
from .partitions import partitions
from .problem import Problem, Solution, Term
from .tree import tree
from .two_way import two_way

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_BLOCK = 1 << 17
"""Cells times runs that are worked on at once: the arrays of a block stay in the cache."""
_MATRICES = 1 << 20
"""Entries of dense Newton matrices that are worked on at once."""


def query_max(queries: QuerySet, values: Array) -> Array:
    """Return the largest value among the cells of each query, (runs, cells) to (runs, queries).

    Examples
    --------
    >>> query_max(QuerySet.from_labels([1, 0, 1, -1], "q"), np.array([[1.0, 2.0, 3.0, 9.0]]))
    array([[2., 3.]])
    """
    runs = values.shape[0]
    if queries.axes is not None:
        k = len(queries.shape)
        drop = tuple(a - k for a in range(k) if a not in queries.axes)
        table = values.reshape(runs, *queries.shape)
        return np.asarray(table.max(axis=drop)).reshape(runs, queries.size)
    order = np.argsort(queries.labels, kind="stable")
    order = order[np.count_nonzero(queries.labels < 0) :]
    starts = np.searchsorted(queries.labels[order], np.arange(queries.size))
    return np.maximum.reduceat(values[:, order], starts, axis=1)


@dataclass(frozen=True, eq=False)
class _Plan:
    """How a problem is solved: the terms' roles and the aggregates' structure."""

    own: list[int]
    order: list[int]
    structure: Structure
    flip: bool
    block: int

    def select(self, runs: slice) -> _Plan:
        return replace(self, structure=self.structure.select(runs))


def _plan(problem: Problem) -> _Plan | None:
    own, aggregates = split(problem)
    if not own:
        return None
    block = _BLOCK // problem.cells
    if found := two_way(problem, aggregates):
        structure, order, flip = found
        return _Plan(own, order, structure, flip, max(1, block))
    if nested := tree(problem, aggregates):
        return _Plan(own, nested[1], nested[0], False, max(1, block))
    if general := partitions(problem, aggregates):
        unknowns = sum(problem.terms[k].size for k in aggregates)
        block = min(block, _MATRICES // unknowns**2)
        return _Plan(own, general[1], general[0], False, max(1, block))
    return None


def _transpose(a: Array, shape: tuple[int, int]) -> Array:
    if a.shape[1] == 1:
        return a
    return a.reshape(-1, *shape).swapaxes(1, 2).reshape(a.shape)


def _transpose_box(box: Boxed, shape: tuple[int, int]) -> Boxed:
    return replace(
        box,
        centre=_transpose(box.centre, shape),
        yielding=_transpose(box.yielding, shape),
        lo=_transpose(box.lo, shape),
        hi=None if box.hi is None else _transpose(box.hi, shape),
    )


def _own_multipliers(
    problem: Problem, own: list[int], box: Boxed, x: Array, pulled: Array, proof: Mask
) -> list[Array]:
    """Return the multipliers of the terms on single cells, given U'y (or a proof's, per run)."""
    total = np.broadcast_to(-pulled, x.shape)
    if problem.nonnegative:  # at x = 0 the sign constraint takes over where -U'y is too small
        floor = np.where(box.lo == 0, -box.centre / box.yielding, -np.inf)
        total = np.maximum(total, floor)
    fixed = [np.isinf(columns(problem.terms[k].weight)) for k in own]
    if any(f.any() for f in fixed):  # an equality takes every force
        total = np.where(np.any(np.broadcast_arrays(*fixed), axis=0), -pulled, total)
    if len(own) == 1:
        return [total]
    weights = [np.where(f, 0.0, problem.terms[k].weight) for k, f in zip(own, fixed, strict=True)]
    if proof.any():  # the forces of a proof are those of the cells' bounds alone
        high = np.inf if box.hi is None else box.hi
        x = np.where(proof[:, None], np.where(total > 0, high, box.lo), x)
        weights = [np.where(proof[:, None], 0.0, w) for w in weights]
    parts = [w * (x - problem.terms[k].target) for k, w in zip(own, weights, strict=True)]
    rest = total - np.sum(parts, axis=0)
    # The rest is the force of a bound: it goes to an equality, else to the bound that is nearest
    # on its side, else (it is rounding) to the heaviest term.
    far = []
    for k, w, f in zip(own, weights, fixed, strict=True):
        term = problem.terms[k]
        distance = np.broadcast_to(1e200 / np.maximum(w, 1e-100), x.shape)
        if term.radius is not None:
            slack = term.radius - np.sign(rest) * (x - term.target)
            distance = np.where(np.isfinite(slack), slack, distance)
        far.append(np.where(f, -np.inf, distance))
    holder = np.argmin(far, axis=0)
    return [p + np.where(holder == j, rest, 0.0) for j, p in enumerate(parts)]


def _solve_block(problem: Problem, plan: _Plan) -> Solution | None:
    own, order, structure, flip = plan.own, plan.order, plan.structure, plan.flip
    box = box_cells(problem, own)
    if box is None:
        return None
    true_centre = box.centre
    pins = [(k, zero) for k, zero in pinning(problem) if k in order]
    if pins:
        held = np.any([problem.terms[k].spread(zero.astype(float)) > 0 for k, zero in pins], axis=0)
        box = replace(box, centre=np.where(held, -np.inf, box.centre))
    box = add_aggregates(box, problem, order)
    # Flipped tables have two sides longer than 1, the first of which is the longer.
    shape = (max(problem.shape), problem.cells // max(problem.shape))
    inner = _transpose_box(box, shape) if flip else box
    found = newton(structure, inner)
    y, x, pulled, contradictory = found.y, found.x, found.pulled, found.contradictory
    if flip:
        x, pulled = _transpose(x, shape[::-1]), _transpose(pulled, shape[::-1])
    if contradictory.any():  # a proof has no target of least squares
        x = np.where(contradictory[:, None], np.nan, x)
        true_centre = np.where(contradictory[:, None], 0.0, true_centre)
    box = replace(box, centre=true_centre)
    multipliers: list[Array] = [np.zeros(0)] * len(problem.terms)
    start = 0
    for k in order:
        term = problem.terms[k]
        multipliers[k] = np.where(term.weight == 0, 0.0, y[:, start : start + term.size])
        if term.radius is not None:
            multipliers[k] = y[:, start : start + term.size]
        start += term.size
    for k, zero in pins:
        term = problem.terms[k]
        assert isinstance(term, Term)
        missing = query_max(term.queries, true_centre / box.yielding - pulled)
        raised = np.where(zero, np.maximum(missing, 0.0), 0.0)
        multipliers[k] = multipliers[k] + raised
        pulled = pulled + term.spread(raised)
    forces = _own_multipliers(problem, own, box, x, pulled, contradictory)
    for k, part in zip(own, forces, strict=True):
        multipliers[k] = part
    return Solution(x, tuple(multipliers), contradictory if contradictory.any() else None)


def solve_structured(problem: Problem) -> Solution | None:
    """Solve by batched semismooth Newton on the dual, if the problem has the structure (ours).

    Every cell must have a weight of its own; the other terms may be the sum, marginals, nested
    totals and sums of some of their queries.

    Returns
    -------
    Solution or None
        The best answer found, to be certified; ``None`` where the structure is not known.

    Examples
    --------
    >>> q, total = QuerySet.identity(2), QuerySet.sum_query(2)
    >>> one = np.ones((1, 1))
    >>> cells = Term(q, np.array([[3.0, -1.0]]), np.ones((1, 2)))
    >>> solve_structured(Problem((Term(total, 5 * one, one), cells))).x
    array([[4., 0.]])
    """
    plan = _plan(problem)
    if plan is None:
        return None
    keep_memory()
    if problem.runs <= plan.block:
        return _solve_block(problem, plan)
    parts = []
    for start in range(0, problem.runs, plan.block):
        runs = slice(start, start + plan.block)
        part = _solve_block(problem.select(runs), plan.select(runs))
        if part is None:
            return None
        parts.append(part)
    y = tuple(np.concatenate(ys) for ys in zip(*(p.y for p in parts), strict=True))
    x = np.concatenate([p.x for p in parts])
    if all(p.contradictory is None for p in parts):
        return Solution(x, y)
    none = [np.zeros(p.x.shape[0], dtype=bool) for p in parts]
    proved = [
        n if p.contradictory is None else p.contradictory for p, n in zip(parts, none, strict=True)
    ]
    return Solution(x, y, np.concatenate(proved))
