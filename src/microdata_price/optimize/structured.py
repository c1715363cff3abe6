"""The fast solver: recognise a problem's structure, solve its dual, read off the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..base.batch import Batch
from .boxed import Boxed, Structure, add_aggregates, box_cells, largest_of, pinning, split
from .conjugate import conjugate
from .dual_newton import approach, newton
from .partitions import partitions
from .problem import Problem, Solution, Term, columns
from .tree import tree
from .tuning import TUNING
from .two_way import two_way

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_LEARNT = 31 << 20
"""Just under the largest block that glibc learns from."""


@cache
def keep_memory() -> None:
    """Make the C library keep the memory of arrays that are freed, where it is glibc.

    At first glibc takes each array of more than 128 KiB anew from the operating system, and the
    page faults take longer than filling it. Freeing a block of 31 MiB, which was never touched and
    so takes no memory, raises that limit as far as it goes: up to 64 MiB are kept from then on.
    """
    np.empty(_LEARNT, dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class Plan(Batch):
    """Plan of a solution: the terms' roles and the aggregates' structure."""

    by_run = ("structure",)

    own: list[int]  # the numbers of the terms on single cells
    order: list[int]  # the numbers of the other terms, in the order of the structure's unknowns
    structure: Structure  # what the aggregates' matrix does
    flip: bool  # whether a two-way table must be transposed
    block: int  # how many runs are worked on at once


def make_plan(problem: Problem) -> Plan | None:
    """Recognise a problem's structure; ``None`` without a term on single cells."""
    own, aggregates = split(problem)
    if not own:
        return None
    block = max(1, TUNING.block_cells // problem.cells)
    if table := two_way(problem, aggregates):
        structure, order, flip = table
        return Plan(own, order, structure, flip, block)
    if nested := tree(problem, aggregates):
        return Plan(own, nested[1], nested[0], False, block)
    if dense := partitions(problem, aggregates):
        unknowns = sum(problem.terms[k].size for k in aggregates)
        block = max(1, min(block, TUNING.block_entries // unknowns**2))
        return Plan(own, dense[1], dense[0], False, block)
    structure_, order = conjugate(problem, aggregates)
    return Plan(own, order, structure_, False, block)


def _transpose(a: Array, shape: tuple[int, int]) -> Array:
    if a.shape[1] == 1:
        return a
    return a.reshape(len(a), *shape).swapaxes(1, 2).reshape(a.shape)


def _transpose_box(box: Boxed, shape: tuple[int, int]) -> Boxed:
    hi = None if box.hi is None else _transpose(box.hi, shape)
    lo, centre = _transpose(box.lo, shape), _transpose(box.centre, shape)
    inverse = _transpose(box.cell_inverse_weight, shape)
    return replace(box, centre=centre, cell_inverse_weight=inverse, lo=lo, hi=hi)


def _own_multipliers(
    problem: Problem, own: list[int], box: Boxed, x: Array, forces: Array, proof: Mask
) -> list[Array]:
    """Return the multipliers of the terms on single cells, given U'y (or a proof's, per run)."""
    total = np.broadcast_to(-forces, x.shape)
    if problem.nonnegative:  # at x = 0 the sign constraint takes over where -U'y is too small
        floor = np.where(box.lo == 0, -box.centre / box.cell_inverse_weight, -np.inf)
        total = np.maximum(total, floor)
    if len(own) == 1:
        return [total]
    fixed = [np.isinf(columns(problem.terms[k].weight)) for k in own]
    weights = [np.where(f, 0.0, problem.terms[k].weight) for k, f in zip(own, fixed, strict=True)]
    if proof.any():  # a proof's forces are the bounds' alone, which any one x compares
        x = np.where(proof[:, None], 0.0, x)
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


def solve_planned(
    problem: Problem,
    plan: Plan,
    start: Array | None = None,
    accuracy: Array | float = TUNING.converged,
    patient: bool = False,
) -> tuple[Solution, Array]:
    """Solve runs whose cells all have weights; return the aggregates' multipliers, too."""
    box = add_aggregates(box_cells(problem, plan.own), problem, plan.order)
    pins = pinning(problem, plan.order)
    true_centre = box.centre
    for k, zero in pins:  # a cell without a target does not leave 0
        held = problem.terms[k].spread(zero.astype(float)) > 0
        box = replace(box, centre=np.where(held, -np.inf, box.centre))
    # Flipped tables have two sides longer than 1, the first of which is the longer.
    shape = (max(problem.shape), problem.cells // max(problem.shape))
    inner = _transpose_box(box, shape) if plan.flip else box
    if patient:
        start = approach(plan.structure, inner)
    found = newton(plan.structure, inner, start, accuracy)
    x, forces, contradictory = found.x, found.forces, found.contradictory
    if plan.flip:
        x, forces = _transpose(x, shape[::-1]), _transpose(forces, shape[::-1])
    if contradictory.any():  # a proof has no target of least squares
        x = np.where(contradictory[:, None], np.nan, x)
        true_centre = np.where(contradictory[:, None], 0.0, true_centre)
    box = replace(box, centre=true_centre)
    ends = np.cumsum([0, *(problem.terms[k].size for k in plan.order)])
    multipliers = {k: found.y[:, i:j] for k, i, j in zip(plan.order, ends, ends[1:], strict=False)}
    for k, zero in pins:
        term = problem.terms[k]
        assert isinstance(term, Term)
        missing = largest_of(term.queries, true_centre / box.cell_inverse_weight - forces)
        raised = np.where(zero, np.maximum(missing, 0.0), 0.0)
        multipliers[k] = multipliers[k] + raised
        forces = forces + term.spread(raised)
    own = _own_multipliers(problem, plan.own, box, x, forces, contradictory)
    multipliers |= dict(zip(plan.own, own, strict=True))
    y = tuple(multipliers[k] for k in range(len(problem.terms)))
    return Solution(x, y, contradictory if contradictory.any() else None), found.y


def in_blocks(problem: Problem, plan: Plan, solve: Callable[[Problem, Plan], Solution]) -> Solution:
    """Solve as many runs at once as the plan says."""
    keep_memory()
    if problem.runs <= plan.block:
        return solve(problem, plan)
    starts = range(0, problem.runs, plan.block)
    blocks = [slice(start, start + plan.block) for start in starts]
    return Solution.stack([solve(problem.select(b), plan.select(b)) for b in blocks])


def solve_structured(problem: Problem, patient: bool = False) -> Solution:
    """Solve by batched semismooth Newton on the dual; every cell must have a weight."""
    plan = make_plan(problem)
    assert plan is not None  # cells that weigh are in a term on single cells
    return in_blocks(problem, plan, lambda part, its: solve_planned(part, its, patient=patient)[0])
