"""Batched semismooth Newton on the multipliers of the aggregates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from .boxed import Boxed

Array = NDArray[np.float64]
Runs = NDArray[np.intp]

_STEPS = 100
_SEARCH = 40
_CONVERGED = 1e-11
_TOO_FAR = 0.5
_TOO_NEAR = 0.9
_RIDGE = 1e-4
_LEAST_RIDGE = 1e-14
_PROOF = 1e-11


class Structure(Protocol):
    """The aggregates' matrix U, one row an aggregate, as what it does."""

    def select(self, runs: Runs | slice) -> Self:
        """Return the structure of some of the runs."""

    def pull(self, y: Array) -> Array:
        """Return U'y, shape (runs, cells), or (runs, 1) where it is the same for all cells."""

    def push(self, x: Array) -> Array:
        """Return Ux, shape (runs, aggregates)."""

    def step(self, free: Array, slack: Array, residual: Array, ridge: Array) -> Array:
        """Solve ``(U diag(free) U' + diag(slack)) step = residual``, made regular by a ridge."""


@dataclass
class _Point:
    """Multipliers and what follows from them, for the runs still going."""

    y: Array
    free: Array
    residual: Array
    slack: Array

    def put(self, runs: Runs, other: _Point) -> None:
        self.y[runs] = other.y
        self.free[runs] = other.free
        self.residual[runs] = other.residual
        self.slack[runs] = other.slack

    def select(self, runs: Runs) -> _Point:
        return _Point(self.y[runs], self.free[runs], self.residual[runs], self.slack[runs])


def _at(structure: Structure, box: Boxed, y: Array) -> _Point:
    x, free = box.cells(structure.pull(y))
    residual, slack = box.residual(structure.push(x), y)
    return _Point(y, free, residual, slack)


def _search(
    structure: Structure, box: Boxed, start: _Point, step: Array, slope: Array, end: Array
) -> _Point:
    """Search along the step for a point where the slope has nearly gone, per run.

    Along a line the dual function is convex, and its slope ``residual . step``, positive at the
    start, falls piecewise linearly. Where the step ends before the slope has fallen, as in a
    direction in which the Newton matrix is singular, it is doubled; once the slope's zero is
    enclosed: false position, halving the side that does not move.
    """
    low, high = np.zeros_like(slope), np.ones_like(slope)
    at_low, at_high = slope.copy(), end.copy()
    goal = _TOO_FAR * slope
    last = np.zeros_like(slope)
    t = np.ones_like(slope)
    done = np.zeros(slope.shape, dtype=bool)
    point = start
    for _ in range(_SEARCH):
        enclosed = at_high < 0
        between = low + (high - low) * at_low / np.where(enclosed, at_low - at_high, 1.0)
        t = np.where(done, t, np.where(enclosed, between, 2 * high))
        point = _at(structure, box, start.y + t[:, None] * step)
        found = np.einsum("bk,bk->b", point.residual, step)
        done |= np.abs(found) <= goal
        if done.all():
            break
        right = found < 0
        side = np.where(right, -1.0, 1.0)
        again = enclosed & (side == last)
        outside = ~enclosed & ~right
        low, high = (
            np.where(right, low, np.where(outside, high, t)),
            np.where(right | outside, t, high),
        )
        at_low, at_high = (
            np.where(right, np.where(again, at_low / 2, at_low), np.where(outside, at_high, found)),
            np.where(right | outside, found, np.where(again, at_high / 2, at_high)),
        )
        last = np.where(enclosed, side, 0.0)
    return point


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
    pulled = np.where(np.abs(pulled) <= _PROOF, 0.0, pulled)
    pulled = np.where(np.isneginf(box.centre), 0.0, pulled)  # cells that are pinned to 0
    top: Array | float = np.inf if box.hi is None else box.hi
    edge = np.where(pulled > 0, box.lo, np.where(pulled < 0, top, 0.0))
    least = np.where(pulled == 0, 0.0, pulled * np.where(pulled == 0, 0.0, edge))
    most = z * box.target + np.abs(z) * limit
    size = np.abs(least).sum(axis=1) + np.abs(z * box.target).sum(axis=1)
    proved = least.sum(axis=1) - most.sum(axis=1) > _PROOF * size
    return np.flatnonzero(proved & np.isfinite(size)), z


def newton(structure: Structure, box: Boxed) -> tuple[Array, NDArray[np.bool_]]:
    """Solve the dual problem from y = 0, a batch of runs at once (ours).

    Solves ``F(y) = U x(y) - b - clip(y / weight, -radius, radius) = 0``, where F is minus the
    gradient of a convex piecewise quadratic function: Newton steps with the generalised Hessian
    ``U diag(free) U' + diag(1/weight)``, shortened where the slope along the step has turned. On
    the piece that holds the solution one step is exact, so the last steps polish. Runs that have
    converged leave the batch.

    Parameters
    ----------
    structure, box
        The problem.

    Returns
    -------
    y, contradictory
        Multipliers, shape (runs, aggregates): the best found; certify the answer. Where the
        second is true, no answer exists, and y is the proof (see `Solution`).
    """
    runs, unknowns = box.target.shape
    answer = np.zeros((runs, unknowns))
    contradictory = np.zeros(runs, dtype=bool)
    if unknowns == 0:
        return answer, contradictory
    index = np.arange(runs)
    point = _at(structure, box, answer.copy())
    best = np.full(runs, np.inf)
    for _ in range(_STEPS):
        miss = (np.abs(point.residual) / box.scale).max(axis=1)
        miss[contradictory[index]] = 0.0  # leave the batch
        better = (miss < best) & ~contradictory[index]
        answer[index[better]] = point.y[better]
        best = np.where(better, miss, best)
        done = miss <= _CONVERGED
        if done.any():
            keep = np.flatnonzero(~done)
            if keep.size == 0:
                break
            index, best = index[keep], best[keep]
            point, box, structure = point.select(keep), box.select(keep), structure.select(keep)
        ridge = np.clip(_RIDGE * miss[~done, None], _LEAST_RIDGE, _RIDGE)
        unit = point.free.max(axis=1, keepdims=True)
        unit = np.where(unit > 0, unit, 1.0)
        step = structure.step(point.free / unit, point.slack / unit, point.residual, ridge) / unit
        slope = np.einsum("bk,bk->b", point.residual, step)
        new = _at(structure, box, point.y + step)
        end = np.einsum("bk,bk->b", new.residual, step)
        near = np.flatnonzero(end > _TOO_NEAR * slope)
        if near.size:
            found, rays = _contradictions(structure.select(near), box.select(near), step[near])
            contradictory[index[near[found]]] = True
            answer[index[near[found]]] = rays[found]
        far = np.flatnonzero((end < -_TOO_FAR * slope) | (end > _TOO_NEAR * slope))
        if far.size:
            searched = _search(
                structure.select(far),
                box.select(far),
                point.select(far),
                step[far],
                slope[far],
                end[far],
            )
            new.put(far, searched)
        point = new
    return answer, contradictory
