"""The standard form that the fast solver works on: boxed cells, coupled by a few aggregates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..model.queryset import QuerySet
from .certificate import ROUNDING
from .problem import AnyTerm, Problem, Term

Array = NDArray[np.float64]
Runs = NDArray[np.intp]

_NEVER = 1e60
"""One over the weight of a query that is not asked: its multiplier stays at 0 up to rounding."""


@dataclass(frozen=True, eq=False)
class Boxed:
    """``min sum_i d_i (x_i - a_i)^2 / 2 + sum_k h_k(u_k . x - b_k)`` over ``lo <= x <= hi``.

    ``h_k(r) = weight_k r^2 / 2``, infinite beyond ``radius_k``. Given multipliers y of the
    aggregates the cells are ``x_i = clip(a_i - (U'y)_i / d_i, lo_i, hi_i)``.

    Parameters
    ----------
    centre
        a, shape (runs, cells); minus infinity for a cell that an equality pins to 0.
    yielding
        1/d, shape (runs, cells), or (runs, 1) where a run's cells all weigh the same.
    lo, hi
        Bounds that broadcast against the cells; ``None`` for no upper bounds.
    target, slack
        b and 1/weight, shape (runs, aggregates); a slack of 0 is an equality.
    radius
        Shape (runs, aggregates), or ``None`` for no bounds.
    noise
        Weight ** -0.5, of an equality that of the heaviest term, shape (runs, aggregates).
    scale
        The residual that counts as 1, shape (runs, aggregates): see `certify`.
    """

    centre: Array
    yielding: Array
    lo: Array
    hi: Array | None
    target: Array
    slack: Array
    radius: Array | None
    noise: Array
    scale: Array

    def select(self, runs: Runs) -> Boxed:
        """Return the problem of some of the runs."""
        return Boxed(
            self.centre[runs],
            self.yielding[runs],
            self.lo if self.lo.shape[0] == 1 else self.lo[runs],
            None if self.hi is None else self.hi[runs],
            self.target[runs],
            self.slack[runs],
            None if self.radius is None else self.radius[runs],
            self.noise[runs],
            self.scale[runs],
        )

    def cells(self, pulled: Array) -> tuple[Array, Array]:
        """Return x and, for cells strictly inside their bounds, 1/d (else 0), given U'y."""
        v = pulled * self.yielding
        v = np.subtract(self.centre, v, out=v if v.shape == self.centre.shape else None)
        x = np.maximum(v, self.lo)
        inside = v > self.lo
        if self.hi is not None:
            np.minimum(x, self.hi, out=x)
            inside &= v < self.hi
        return x, np.multiply(inside, self.yielding)

    def residual(self, answers: Array, y: Array) -> tuple[Array, Array]:
        """Return F(y) and the slack of the aggregates that are not at a bound, given Ux."""
        wanted = y * self.slack
        slack = self.slack
        if self.radius is not None:
            slack = np.where(np.abs(wanted) < self.radius, slack, 0.0)
            wanted = np.clip(wanted, -self.radius, self.radius)
        return answers - self.target - wanted, slack


def is_cells(queries: QuerySet) -> bool:
    """Whether each cell is a query of its own, in order (also the sum of a table of one cell)."""
    if queries.size != queries.cells:
        return False
    return queries.axes is not None or queries.is_identity


def split(problem: Problem) -> tuple[list[int], list[int]]:
    """Return the numbers of the terms on single cells and of the others, the aggregates."""
    own = [k for k, t in enumerate(problem.terms) if isinstance(t, Term) and is_cells(t.queries)]
    return own, [k for k in range(len(problem.terms)) if k not in own]


def columns(a: Array) -> Array:
    """Return one column of an array that repeats it (by its strides), else the array."""
    return a[:, :1] if a.shape[1] > 1 and a.strides[1] == 0 else a


def box_cells(problem: Problem, own: list[int]) -> Boxed | None:
    """Merge the terms on single cells into centres, weights and bounds; no aggregates yet.

    Returns
    -------
    Boxed or None
        ``None`` where a cell has no weight, since its value is then not a function of y.
    """
    runs = problem.runs
    weight: Array = np.zeros((runs, 1))
    moment: Array = np.zeros((runs, 1))
    lo: Array = np.full((1, 1), 0.0 if problem.nonnegative else -np.inf)
    hi: Array | None = None
    for k in own:
        term = problem.terms[k]
        w = columns(term.weight)
        radius = term.radius
        if np.isinf(w).any():
            fixed = np.isinf(w)
            radius = np.where(fixed, 0.0, np.inf if radius is None else radius)
            w = np.where(fixed, 1.0, w)
        if radius is not None:
            lo = np.maximum(lo, term.target - radius)
            top = term.target + radius
            hi = top if hi is None else np.minimum(hi, top)
        if len(own) == 1:
            moment, weight = term.target, w
            continue
        weight = weight + w
        moment = moment + w * term.target
    if not (weight > 0).all():
        return None
    centre = moment if len(own) == 1 else moment / weight
    if hi is not None:  # rounding may leave a - a or so a little below 0
        hi = np.maximum(hi, lo)
    nothing = np.zeros((runs, 0))
    return Boxed(centre, 1 / weight, lo, hi, nothing, nothing, None, nothing, nothing)


def add_aggregates(box: Boxed, problem: Problem, order: list[int]) -> Boxed:
    """Add the aggregates in the given order of terms."""
    terms = [problem.terms[k] for k in order]
    if not terms:
        return box
    every = problem.terms
    count = np.max([np.abs(t.target).max(axis=1, keepdims=True) for t in every], axis=0)
    weight = np.concatenate([t.weight for t in terms], axis=1)
    with np.errstate(divide="ignore"):
        slack = np.minimum(1 / weight, _NEVER)
    finite = np.where(np.isinf(weight), 0.0, weight).max(axis=1, keepdims=True)
    heaviest = np.maximum(finite, 1 / box.yielding.min(axis=1, keepdims=True))
    noise = np.sqrt(np.where(slack == 0, 1 / heaviest, slack))
    radius = None
    if any(t.radius is not None for t in terms):
        radius = np.concatenate([_radius(t) for t in terms], axis=1)
    target = np.concatenate([t.target for t in terms], axis=1)
    scale = noise + ROUNDING * count
    return replace(box, target=target, slack=slack, radius=radius, noise=noise, scale=scale)


def _radius(term: AnyTerm) -> Array:
    if term.radius is None:
        return np.full_like(term.target, np.inf)
    return np.where(np.isinf(term.weight), 0.0, term.radius)


def pinning(problem: Problem) -> list[tuple[int, NDArray[np.bool_]]]:
    """Return the terms with equalities to 0, which pin their cells to 0, and which these are."""
    pins = []
    if problem.nonnegative:
        for k, term in enumerate(problem.terms):
            if isinstance(term, Term) and np.isinf(term.weight[:, :1]).any():
                zero = (term.target == 0) & np.isinf(term.weight)
                if zero.any():
                    pins.append((k, zero))
    return pins
