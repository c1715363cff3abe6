"""Batched semismooth Newton on the multipliers of the aggregates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .boxed import Boxed
from .dual_point import Point, Structure
from .line_search import ENOUGH, search

Array = NDArray[np.float64]
Runs = NDArray[np.intp]

_STEPS = 100
_CONVERGED = 1e-11
_TOO_NEAR = 0.9
_RIDGE = 1e-2
_LEAST_RIDGE = 1e-14
_PROOF = 1e-11
_NEARLY = 1e-3
_ALMOST = 1e-7
_EXACT = 1e-11
_ROUNDED = 1e-9
_STALLED = 10
_MENDS = 2
_LATE = 20
_HARDLY = 1e-3


@dataclass(frozen=True, eq=False)
class Answer:
    """What the solver found.

    Parameters
    ----------
    y
        Multipliers of the aggregates, shape (runs, aggregates).
    x
        Cells, shape (runs, cells).
    pulled
        U'y, shape (runs, cells) or (runs, 1).
    contradictory
        Runs that have no answer; y is then the proof (see `Solution`), not scaled.
    """

    y: Array
    x: Array
    pulled: Array
    contradictory: NDArray[np.bool_]


def _step(at: Structure, free: Array, slack: Array, residual: Array, ridge: Array) -> Array:
    """Take a Newton step in units of the largest 1/d, so that one free cell counts as 1."""
    unit = free.max(axis=1, keepdims=True)
    unit = np.where(unit > 0, unit, 1.0)
    return at.step(free / unit, slack / unit, residual, ridge) / unit


def _contradictions(structure: Structure, box: Boxed, step: Array) -> tuple[Runs, Array]:
    """Find steps along which the dual function falls for ever: they prove there is no answer.

    For multipliers z of equalities and bounds every x within the cells' bounds has ``z . U x`` of
    at least its least over the box, and every feasible x has it at most
    ``z . b + radius . |z|``. If the first exceeds the second there is no feasible x.
    """
    hard = box.slack == 0
    limit = np.zeros_like(step)
    if box.radius is not None:
        hard |= np.isfinite(box.radius)
        limit = np.where(np.isfinite(box.radius), box.radius, 0.0)
    z = np.where(hard, step, 0.0)
    z /= np.maximum(np.abs(z).max(axis=1, keepdims=True), 1e-300)
    pulled = np.broadcast_to(structure.pull(z), box.centre.shape)
    pulled = np.where(np.isneginf(box.centre), 0.0, pulled)  # cells that are pinned to 0
    if box.hi is None:
        low = pulled > 0
        beyond = ~low & (pulled < -_PROOF)  # less is rounding
        edge = np.where(low, box.lo, np.where(beyond, np.inf, 0.0))
    else:
        edge = np.where(pulled > 0, box.lo, box.hi)
    with np.errstate(invalid="ignore"):
        least = np.where((pulled == 0) | (edge == 0), 0.0, pulled * edge)
    most = z * box.target + np.abs(z) * limit
    size = np.abs(least).sum(axis=1) + np.abs(z * box.target).sum(axis=1)
    proved = least.sum(axis=1) - most.sum(axis=1) > _PROOF * size
    return np.flatnonzero(proved & np.isfinite(size)), z


def newton(structure: Structure, box: Boxed) -> Answer:
    """Solve the dual problem from y = 0, a batch of runs at once (ours).

    Solves ``F(y) = U x(y) - b - clip(y / weight, -radius, radius) = 0``, where F is minus the
    gradient of a convex piecewise quadratic function: Newton steps with the generalised Hessian
    ``U diag(free) U' + diag(1/weight)``, shortened where the slope along the step has turned and
    lengthened where it has hardly fallen. On the piece that holds the solution one step is exact.
    Runs that have converged leave the batch.

    Parameters
    ----------
    structure, box
        The problem.

    Returns
    -------
    Answer
        The best found; certify it.
    """
    runs, unknowns = box.target.shape
    answer = np.zeros((runs, unknowns))
    contradictory = np.zeros(runs, dtype=bool)
    if unknowns == 0:
        nothing = np.zeros((runs, 1))
        return Answer(answer, box.cells(nothing)[0], nothing, contradictory)
    misses = np.full(runs, np.inf)
    index, at, at_box = np.arange(runs), structure, box
    point = Point.at(at, at_box, answer.copy())
    best, stalled = misses.copy(), np.zeros(runs, dtype=int)
    for count in range(_STEPS):
        miss = (np.abs(point.residual) / at_box.scale).max(axis=1)
        better = miss < best
        stalled = np.where(miss < best / 2, 0, stalled + 1)
        best = np.where(better, miss, best)
        answer[index[better]] = point.y[better]
        misses[index] = best
        done = (miss <= _CONVERGED) | (stalled > np.where(best < _ALMOST, _STALLED, 6 * _STALLED))
        done |= contradictory[index]
        if done.any():
            keep = np.flatnonzero(~done)
            if keep.size == 0:
                break
            index, best, stalled, miss = index[keep], best[keep], stalled[keep], miss[keep]
            point, at_box, at = point.select(keep), at_box.select(keep), at.select(keep)
        # Late, where steps have not led anywhere, the ridge vanishes more slowly.
        noises = (np.abs(point.residual) / at_box.noise).max(axis=1)
        vanishing = noises**2 if count < _LATE else noises
        ridge = np.clip(_RIDGE * vanishing[:, None], _LEAST_RIDGE, _RIDGE)
        step = _step(at, point.free, point.slack, point.residual, ridge)
        slope = np.einsum("bk,bk->b", point.residual, step)
        new = Point.at(at, at_box, point.y + step)
        end = np.einsum("bk,bk->b", new.residual, step)
        after = (np.abs(new.residual) / at_box.scale).max(axis=1)
        # A step that halves the residual is good; near rounding the slopes say nothing.
        good = (after < miss / 2) | (miss < _ROUNDED)
        near = np.flatnonzero(~good & (end > _TOO_NEAR * slope))
        if near.size:
            proved, proofs = _contradictions(at.select(near), at_box.select(near), step[near])
            contradictory[index[near[proved]]] = True
            new.y[near[proved]] = answer[index[near[proved]]] = proofs[proved]
            new.residual[near[proved]] = np.inf
        # Going past the zero of the slope may lead uphill, and so round in circles: late, hardly.
        past = ENOUGH if count < _LATE else _HARDLY
        far = np.flatnonzero(~good & ((end < -past * slope) | (end > _TOO_NEAR * slope)))
        far = far[~contradictory[index[far]]]
        if far.size:
            part, part_box = at.select(far), at_box.select(far)
            t = search(part, part_box, point.y[far], step[far], slope[far], past)
            new.put(far, Point.at(part, part_box, point.y[far] + t[:, None] * step[far]))
        point = new
    return _finish(structure, box, answer, misses, contradictory)


def _finish(
    structure: Structure, box: Boxed, y: Array, misses: Array, contradictory: NDArray[np.bool_]
) -> Answer:
    """Compute the cells, and mend those of runs whose residual is not yet of rounding's size.

    A cell of little weight turns the rounding of y into a large error of x. So the last steps move
    x by what the step of y asks for, which is exact, instead of computing x from y afresh.
    """
    pulled = structure.pull(y)
    x, free = box.cells(pulled)
    runs = np.flatnonzero((misses > _EXACT) & (misses < _NEARLY) & ~contradictory)
    for _ in range(_MENDS if runs.size else 0):
        part, part_box = structure.select(runs), box.select(runs)
        residual, slack = part_box.residual(part.push(x[runs]), y[runs])
        miss = (np.abs(residual) / part_box.scale).max(axis=1)
        step = _step(part, free[runs], slack, residual, np.full((runs.size, 1), _LEAST_RIDGE))
        moved = np.maximum(x[runs] - part.pull(step) * free[runs], part_box.lo)
        if part_box.hi is not None:
            moved = np.minimum(moved, part_box.hi)
        after, _ = part_box.residual(part.push(moved), y[runs] + step)
        better = (np.abs(after) / part_box.scale).max(axis=1) < miss
        # The cells that the new multipliers ask for must be the same up to rounding.
        afresh = Point.at(part, part_box, y[runs] + step).residual
        better &= (np.abs(afresh) / part_box.scale).max(axis=1) < 4 * miss
        chosen = runs[better]
        x[chosen], y[chosen] = moved[better], y[chosen] + step[better]
        runs = chosen
        pulled[chosen] = structure.select(chosen).pull(y[chosen])
        if not runs.size:
            break
    return Answer(y, x, pulled, contradictory)
