r"""Batched semismooth Newton on the multipliers of the aggregates.

The problem (see `Boxed`), for one run, with the matrix U of the aggregates, one row each:

.. math::

    \min_{lo \le x \le hi} \; \sum_i \tfrac{d_i}{2} (x_i - a_i)^2 + \sum_k h_k(u_k \cdot x - b_k),
    \qquad h_k(r) = \tfrac{w_k}{2} r^2 \text{ where } |r| \le \rho_k, \text{ else } \infty .

With a multiplier :math:`y_k` for each :math:`r_k = u_k \cdot x - b_k` the Lagrangian separates, and
the inner minimum is attained at

.. math::

    x_i(y) = \mathrm{clip}\bigl(a_i - (U'y)_i / d_i,\; lo_i,\; hi_i\bigr), \qquad
    r_k(y) = \mathrm{clip}\bigl(y_k / w_k,\; -\rho_k,\; \rho_k\bigr).

The dual function to minimise, minus the Lagrangian's minimum, is convex and once differentiable;
minus its gradient is

.. math:: F(y) = U x(y) - b - r(y),

which is piecewise linear, so a root of F is a solution. F's generalised Jacobian is
:math:`-H` with

.. math:: H(y) = U \, \mathrm{diag}(p) \, U' + \mathrm{diag}(q),

where :math:`p_i = 1/d_i` for the free cells, those strictly within their bounds, else 0, and
:math:`q_k = 1/w_k` for aggregates strictly within their radius, else 0. A step solves
:math:`H s = F(y)`; on the linear piece that holds the root it is exact. Newton's method on such
projections is that of Qi and Sun, "A nonsmooth version of Newton's method", Mathematical
Programming 58 (1993), 353-367. Two safeguards make it converge from anywhere: a ridge where q is 0
and H may be singular, and a line search (`line_search.search`), both of which vanish near the root.
How the systems are solved is each structure's own matter: see `two_way`, `tree`, `partitions` and
`conjugate`. The constants are `TUNING`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .boxed import Boxed, Point, Structure
from .line_search import search
from .problem import divisor
from .tuning import TUNING

Array = NDArray[np.float64]
Runs = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Answer:
    """Answers of the dual Newton method."""

    y: Array  # multipliers of the aggregates, shape (runs, aggregates)
    x: Array  # cells, shape (runs, cells)
    forces: Array  # U'y, shape (runs, cells) or (runs, 1)
    # Runs that have no answer; y is then the proof (see `Solution`), not scaled.
    contradictory: Mask


@dataclass(eq=False)
class _Best:
    """The best multipliers of every run so far, their misses, and which runs have no answer."""

    y: Array
    miss: Array
    contradictory: Mask


@dataclass(eq=False)
class _Batch:
    """The runs still going: which they are, their part of the problem, and where they stand.

    ``now`` is each run's miss at its point, ``miss`` its least so far, and ``stalled`` counts the
    steps since that was last halved.
    """

    index: Runs
    structure: Structure
    box: Boxed
    point: Point
    now: Array = field(init=False)
    miss: Array = field(init=False)
    stalled: NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        self.now = self.box.miss(self.point.residual)
        self.miss = np.full(self.index.size, np.inf)
        self.stalled = np.zeros(self.index.size, dtype=np.intp)

    def keep(self, runs: Runs) -> None:
        """Go on with some of the runs."""
        self.index, self.stalled = self.index[runs], self.stalled[runs]
        self.now, self.miss = self.now[runs], self.miss[runs]
        self.point, self.box = self.point.select(runs), self.box.select(runs)
        self.structure = self.structure.select(runs)


def _step(
    structure: Structure, free: Array, inverse_weight: Array, residual: Array, ridge: Array
) -> Array:
    """Solve for a Newton step in units of the largest 1/d, so that one free cell counts as 1."""
    unit = divisor(free.max(axis=1, keepdims=True))
    return structure.solve(free / unit, inverse_weight / unit, residual, ridge) / unit


def _contradictions(structure: Structure, box: Boxed, step: Array) -> tuple[Runs, Array]:
    """Find steps along which the dual function falls for ever: they prove there is no answer.

    With multipliers z of equalities and bounds alone, ``z . U x`` has a least over the cells'
    bounds; where that exceeds ``z . b + radius . |z|`` no x is feasible.
    """
    hard = box.inverse_weight == 0
    limit = np.zeros_like(step)
    if box.radius is not None:
        hard |= np.isfinite(box.radius)
        limit = np.where(np.isfinite(box.radius), box.radius, 0.0)
    z = np.where(hard, step, 0.0)
    z /= divisor(np.abs(z).max(axis=1, keepdims=True))
    forces = np.broadcast_to(structure.rmatvec(z), box.centre.shape)
    forces = np.where(np.isneginf(box.centre), 0.0, forces)  # cells that are pinned to 0
    if box.hi is None:
        low = forces > 0
        beyond = ~low & (forces < -TUNING.proof)  # less is rounding
        edge = np.where(low, box.lo, np.where(beyond, np.inf, 0.0))
    else:
        edge = np.where(forces > 0, box.lo, box.hi)
    with np.errstate(invalid="ignore"):
        least = np.where((forces == 0) | (edge == 0), 0.0, forces * edge)
    most = z * box.target + np.abs(z) * limit
    size = np.abs(least).sum(axis=1) + np.abs(z * box.target).sum(axis=1)
    proved = least.sum(axis=1) - most.sum(axis=1) > TUNING.proof * size
    return np.flatnonzero(proved & np.isfinite(size)), z


def _drop_finished(batch: _Batch, best: _Best, accuracy: Array) -> bool:
    """Record where the runs stand and let go of those that are done; return whether any is left."""
    miss = batch.now
    better = miss < batch.miss
    batch.stalled = np.where(miss < batch.miss / 2, 0, batch.stalled + 1)
    batch.miss = np.where(better, miss, batch.miss)
    best.y[batch.index[better]] = batch.point.y[better]
    best.miss[batch.index] = batch.miss
    # The end begins below 1e-7.
    patience = np.where(batch.miss < 1e-7, TUNING.stalled, TUNING.stalled_early)
    done = (miss <= accuracy[batch.index]) | (batch.stalled > patience)
    done |= best.contradictory[batch.index]
    if done.any():
        batch.keep(np.flatnonzero(~done))
    return batch.index.size > 0


def _ridge(residual: Array, box: Boxed, count: int) -> Array:
    """Return the ridge, shape (runs, 1), at a step; late, where steps led nowhere, it falls slower.

    Multipliers of held answers are as large as the counts. Where these are a million noises and
    more, a ridge that waits for a miss below a noise lets them get there in no number of steps, so
    at last it falls from step to step.
    """
    noises = (np.abs(residual) / box.noise).max(axis=1, keepdims=True)
    vanishing = noises**2 if count < TUNING.late else noises
    if count >= TUNING.lost:
        vanishing = box.miss(residual)[:, None] * TUNING.ridge_fall ** (count - TUNING.lost)
    return np.asarray(np.clip(TUNING.ridge * vanishing, TUNING.least_ridge, TUNING.ridge))


def _way_to_free(structure: Structure, box: Boxed, point: Point) -> Array:
    """Return how far equalities without a free cell are from freeing one, else 0.

    As far as H knows, no cell answers to the multiplier of such a row before a bound is reached.
    """
    dead = (point.inverse_weight == 0) & (point.residual < 0)
    if dead.any():  # seldom, and a product with U costs more than asking
        dead &= structure.matvec(point.free) == 0
    if not dead.any():
        return np.zeros_like(point.y)
    inside = box.centre - structure.rmatvec(point.y) * box.cell_inverse_weight - box.lo
    way = structure.largest(inside)
    return np.where(dead & np.isfinite(way), np.minimum(way, 0.0), 0.0)


def _advance(batch: _Batch, best: _Best, count: int) -> None:
    """Take one Newton step in every run, of a length that the slope along it allows."""
    at, box, point = batch.structure, batch.box, batch.point
    miss = batch.now
    ridge = _ridge(point.residual, box, count)
    right = point.residual
    if batch.stalled.max() >= TUNING.patience:
        right = right + _way_to_free(at, box, point)
    step = _step(at, point.free, point.inverse_weight, right, ridge)
    slope = np.einsum("bk,bk->b", point.residual, step)
    new = Point.at(at, box, point.y + step)
    end = np.einsum("bk,bk->b", new.residual, step)
    # A step that halves the residual is good; near rounding the slopes say nothing.
    after = box.miss(new.residual)
    good = (after < TUNING.halved * miss) | (miss < 1e-9)
    short = ~good & (end > TUNING.too_near * slope)
    near = np.flatnonzero(short)
    if near.size:
        proved, proofs = _contradictions(at.select(near), box.select(near), step[near])
        gone = near[proved]
        best.contradictory[batch.index[gone]] = True
        new.y[gone] = best.y[batch.index[gone]] = proofs[proved]
        new.residual[gone] = after[gone] = np.inf
    # Going past the zero of the slope may lead uphill, and so round in circles: late, hardly.
    past = TUNING.enough if count < TUNING.late else TUNING.hardly
    wrong = short | (~good & (end < -past * slope))
    far = np.flatnonzero(wrong & ~best.contradictory[batch.index])
    if far.size:
        part, part_box = at.select(far), box.select(far)
        t = search(part, part_box, point.y[far], step[far], slope[far], past)
        searched = Point.at(part, part_box, point.y[far] + t[:, None] * step[far])
        new.put(far, searched)
        after[far] = part_box.miss(searched.residual)
    batch.point, batch.now = new, after


def newton(
    structure: Structure,
    box: Boxed,
    start: Array | None = None,
    accuracy: Array | float = TUNING.converged,
) -> Answer:
    """Find a root of F for a batch of runs at once; the module's text has the mathematics.

    Runs that have converged leave the batch, so each costs its own number of steps.
    """
    runs, unknowns = box.target.shape
    y = np.zeros((runs, unknowns)) if start is None else start.copy()
    best = _Best(y, np.full(runs, np.inf), np.zeros(runs, dtype=bool))
    if unknowns == 0:
        nothing = np.zeros((runs, 1))
        return Answer(y, box.cells(nothing)[0], nothing, best.contradictory)
    goal = np.broadcast_to(np.asarray(accuracy, dtype=float), (runs,))
    batch = _Batch(np.arange(runs), structure, box, Point.at(structure, box, y.copy()))
    for count in range(100):
        if not _drop_finished(batch, best, goal):
            break
        _advance(batch, best, count)
    return _mend(structure, box, best, goal)


def approach(structure: Structure, box: Boxed) -> Array:
    """Return multipliers near a root, to start from, by proximal steps in the multipliers.

    Where cells weigh very little, fewer are free than there are aggregates, and H is singular. Each
    step adds an inverse weight, which falls while Newton's method finds its way. Without radii.
    """
    y, added = np.zeros_like(box.target), box.cell_inverse_weight.max(axis=1, keepdims=True)
    for _ in range(40):
        wanted, slack = box.target - added * y, box.inverse_weight + added
        near = replace(box, target=wanted, inverse_weight=slack)
        y = newton(structure, near, y, TUNING.approached).y
        if (box.miss(Point.at(structure, box, y).residual) <= TUNING.approached).all():
            break
        found = near.miss(Point.at(structure, near, y).residual) <= TUNING.approached
        added = np.where(found[:, None], added / 2, added * 4)
    return y


def _mend(structure: Structure, box: Boxed, best: _Best, goal: Array) -> Answer:
    """Compute the cells, and mend those of runs whose residual is not yet of rounding's size.

    A cell of little weight turns the rounding of y into a large error of x. So the last steps move
    x by what the step of y asks for, which is exact, instead of computing x from y afresh.
    """
    y = best.y
    forces = structure.rmatvec(y)
    x, free = box.cells(forces)
    wanting = (best.miss > 1e-11) & (best.miss < 1e-3) & ~best.contradictory
    runs = np.flatnonzero(wanting & (goal <= TUNING.converged))
    for _ in range(2):
        if not runs.size:
            break
        part, part_box = structure.select(runs), box.select(runs)
        residual, inverse_weight = part_box.residual(part.matvec(x[runs]), y[runs])
        miss = part_box.miss(residual)
        ridge = np.full((runs.size, 1), TUNING.least_ridge)
        step = _step(part, free[runs], inverse_weight, residual, ridge)
        moved = np.maximum(x[runs] - part.rmatvec(step) * free[runs], part_box.lo)
        if part_box.hi is not None:
            moved = np.minimum(moved, part_box.hi)
        after, _ = part_box.residual(part.matvec(moved), y[runs] + step)
        better = part_box.miss(after) < miss
        # The cells that the new multipliers ask for must be the same up to rounding.
        afresh = Point.at(part, part_box, y[runs] + step).residual
        better &= part_box.miss(afresh) < 4 * miss
        runs = runs[better]
        x[runs], y[runs] = moved[better], y[runs] + step[better]
        forces[runs] = structure.select(runs).rmatvec(y[runs])
    return Answer(y, x, forces, best.contradictory)
