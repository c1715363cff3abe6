"""The standard form that the fast solver works on: boxed cells, coupled by a few aggregates.

`dual_newton` displays the problem and its dual. Here is how a `Problem` is brought to that form:
terms on single cells become centres, weights and bounds (`box_cells`), all others the rows of U
(`add_aggregates`). U itself is never formed; a `Structure` knows its products and Newton systems.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..base.batch import Batch, Runs
from ..model.queryset import QuerySet
from .certificate import ROUNDING
from .problem import AnyTerm, Problem, Term, columns

Array = NDArray[np.float64]

_NEVER = 1e60
"""One over the weight of a query that is not asked: its multiplier stays at 0 up to rounding."""
_BY_AGGREGATE = ("target", "inverse_weight", "radius", "noise", "scale")


@dataclass(frozen=True, eq=False)
class Boxed(Batch):
    r"""The data of a batch of problems in standard form.

    .. math:: \min_{lo \le x \le hi} \sum_i \tfrac{d_i}{2} (x_i - a_i)^2 + \sum_k h_k(u_k x - b_k),

    with ``h_k(r) = w_k r^2 / 2``, infinite beyond a radius. Inverse weights are what is kept, since
    only they occur in the dual and an equality has one: 0.
    """

    by_run = ("centre", "cell_inverse_weight", "hi", *_BY_AGGREGATE)
    by_run_or_shared = ("lo",)

    centre: Array  # a, shape (runs, cells); minus infinity for a cell that an equality pins to 0
    # 1/d, shape (runs, cells), or (runs, 1) where a run's cells all weigh the same.
    cell_inverse_weight: Array
    lo: Array  # bounds that broadcast against the cells; ``None`` for no upper bounds
    hi: Array | None
    target: Array  # b and 1/w, shape (runs, aggregates); an inverse weight of 0 is an equality
    inverse_weight: Array
    radius: Array | None  # shape (runs, aggregates), or ``None`` for no bounds
    # Weight ** -0.5, of an equality that of the heaviest term, shape (runs, aggregates).
    noise: Array
    scale: Array  # the residual that counts as 1, shape (runs, aggregates): see `certify`

    def cells(self, forces: Array) -> tuple[Array, Array]:
        """Return x and, for cells strictly inside their bounds, 1/d (else 0), given U'y.

        >>> one, a = np.ones((1, 1)), np.array([[1.0, 2.0, 3.0, 6.0, 8.0]])
        >>> box = Boxed(a, one / 2, 0 * one, 4 * one, one, one, None, one, one)
        >>> box.cells(4 * one)
        (array([[0., 0., 1., 4., 4.]]), array([[0. , 0. , 0.5, 0. , 0. ]]))
        >>> replace(box, hi=None).cells(4 * one)
        (array([[0., 0., 1., 4., 6.]]), array([[0. , 0. , 0.5, 0.5, 0.5]]))
        """
        v = forces * self.cell_inverse_weight
        v = np.subtract(self.centre, v, out=v if v.shape == self.centre.shape else None)
        x = np.maximum(v, self.lo)
        inside = v > self.lo
        if self.hi is not None:
            np.minimum(x, self.hi, out=x)
            inside &= v < self.hi
        return x, np.multiply(inside, self.cell_inverse_weight)

    def residual(self, answers: Array, y: Array) -> tuple[Array, Array]:
        """Return F(y) and, for aggregates strictly within their radius, 1/w (else 0), given Ux.

        >>> one, y = np.ones((1, 3)), np.array([[1.0, 2.0, -3.0]])
        >>> box = Boxed(one, one, one, None, one, 2 * one, 4 * one, one, one * [1, 2, 4])
        >>> box.residual(9 * one, y)
        (array([[ 6.,  4., 12.]]), array([[2., 0., 0.]]))
        >>> replace(box, radius=None).residual(9 * one, y)
        (array([[ 6.,  4., 14.]]), array([[2., 2., 2.]]))
        >>> box.miss(np.array([[6.0, -14.0, 20.0]]))
        array([7.])
        """
        wanted = y * self.inverse_weight
        inverse_weight = self.inverse_weight
        if self.radius is not None:
            inverse_weight = np.where(np.abs(wanted) < self.radius, inverse_weight, 0.0)
            wanted = np.clip(wanted, -self.radius, self.radius)
        return answers - self.target - wanted, inverse_weight

    def miss(self, residual: Array) -> Array:
        """Return the largest residual in units of `scale`, shape (runs,)."""
        return np.asarray((np.abs(residual) / self.scale).max(axis=1))


def is_cells(queries: QuerySet) -> bool:
    """Return whether each cell is a query of its own, in order (as the sum of one cell is).

    >>> is_cells(QuerySet.sum_query(1)), is_cells(QuerySet.from_labels([1, 0], "swapped"))
    (True, False)
    """
    if queries.size != queries.cells:
        return False
    return queries.axes is not None or queries.is_identity


def split(problem: Problem) -> tuple[list[int], list[int]]:
    """Return the numbers of the terms on single cells and of the others, the aggregates."""
    own = [k for k, t in enumerate(problem.terms) if isinstance(t, Term) and is_cells(t.queries)]
    return own, [k for k in range(len(problem.terms)) if k not in own]


def cells_weigh(problem: Problem) -> bool:
    """Return whether every cell of every run has a weight of its own."""
    own, _ = split(problem)
    weight: Array = np.zeros((problem.runs, 1))
    for k in own:
        weight = weight + columns(problem.terms[k].weight)
    return bool((weight > 0).all())


def box_cells(problem: Problem, own: list[int]) -> Boxed:
    """Merge the terms on single cells, all of which weigh, to centres and bounds; no aggregates.

    >>> given, held = np.array([[2.0, 8.0]]), np.array([[np.inf, 1.0]])
    >>> box_cells(Problem((Term(QuerySet.identity(2), given, held, given / 4),)), [0]).lo
    array([[2., 6.]])
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
    centre = moment if len(own) == 1 else moment / weight
    if hi is not None:  # rounding may leave a - a or so a little below 0
        hi = np.maximum(hi, lo)
    nothing = np.zeros((runs, 0))
    return Boxed(centre, 1 / weight, lo, hi, nothing, nothing, None, nothing, nothing)


def add_aggregates(box: Boxed, problem: Problem, order: list[int]) -> Boxed:
    """Add the aggregates in the given order of terms.

    >>> cells = Term(QuerySet.identity(2), np.array([[8.0, -9.0]]), np.ones((1, 2)))
    >>> total = Term(QuerySet.sum_query(2), np.array([[7.0]]), np.full((1, 1), np.inf))
    >>> both = Problem((cells, total))
    >>> add_aggregates(box_cells(both, [0]), both, [1]).scale  # of the heaviest term
    array([[1.00009]])
    """
    terms = [problem.terms[k] for k in order]
    if not terms:
        return box
    every = problem.terms
    count = np.max([np.abs(t.target).max(axis=1, keepdims=True) for t in every], axis=0)
    weight = np.concatenate([t.weight for t in terms], axis=1)
    with np.errstate(divide="ignore"):
        inverse_weight = np.minimum(1 / weight, _NEVER)
    finite = np.where(np.isinf(weight), 0.0, weight).max(axis=1, keepdims=True)
    heaviest = np.maximum(finite, 1 / box.cell_inverse_weight.min(axis=1, keepdims=True))
    noise = np.sqrt(np.where(inverse_weight == 0, 1 / heaviest, inverse_weight))
    radius = None
    if any(t.radius is not None for t in terms):
        radius = np.concatenate([_radius(t) for t in terms], axis=1)
    target = np.concatenate([t.target for t in terms], axis=1)
    scale = noise + ROUNDING * count
    return replace(
        box, target=target, inverse_weight=inverse_weight, radius=radius, noise=noise, scale=scale
    )


def _radius(term: AnyTerm) -> Array:
    if term.radius is None:
        return np.full_like(term.target, np.inf)
    return np.where(np.isinf(term.weight), 0.0, term.radius)


def pinning(problem: Problem, order: list[int]) -> list[tuple[int, NDArray[np.bool_]]]:
    """Return the aggregates' terms with equalities to 0, which pin their cells to 0, and which."""
    terms = [(k, problem.terms[k]) for k in order if problem.nonnegative]
    pins = [(k, (t.target == 0) & np.isinf(t.weight)) for k, t in terms if isinstance(t, Term)]
    return [(k, zero) for k, zero in pins if zero.any()]


class Structure(Protocol):
    """The aggregates' matrix U, one row an aggregate, as what it does: products and systems."""

    def select(self, runs: Runs) -> Self:
        """Return the structure of some of the runs."""

    def rmatvec(self, y: Array) -> Array:
        """Return U'y, shape (runs, cells), or (runs, 1) where it is the same for all cells."""

    def matvec(self, x: Array) -> Array:
        """Return Ux, shape (runs, aggregates)."""

    def largest(self, x: Array) -> Array:
        """Return the largest entry of x among each aggregate's cells, shape (runs, aggregates)."""

    def solve(self, free: Array, inverse_weight: Array, residual: Array, ridge: Array) -> Array:
        """Solve ``(U diag(free) U' + diag(inverse_weight)) step = residual``.

        Where an inverse weight is 0 a ridge, shape (runs, 1), makes the matrix regular.
        """


def largest_of(queries: QuerySet, values: Array) -> Array:
    """Return the largest value among the cells of each query, (runs, cells) to (runs, queries)."""
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


@dataclass
class Point(Batch):
    """A point of the dual problem: multipliers and what follows from them."""

    by_run = ("y", "free", "residual", "inverse_weight")

    y: Array  # multipliers, shape (runs, aggregates)
    free: Array  # 1/d of the cells strictly inside their bounds, else 0, shape (runs, cells)
    residual: Array  # F(y), minus the gradient of the dual function, shape (runs, aggregates)
    inverse_weight: Array  # 1/w of the aggregates strictly within their radius, else 0, same shape

    @classmethod
    def at(cls, structure: Structure, box: Boxed, y: Array) -> Point:
        """Evaluate the dual function's gradient."""
        x, free = box.cells(structure.rmatvec(y))
        residual, inverse_weight = box.residual(structure.matvec(x), y)
        return cls(y, free, residual, inverse_weight)

    def put(self, runs: Runs, other: Point) -> None:
        """Replace the values of some of the runs."""
        for name in self.by_run:
            getattr(self, name)[runs] = getattr(other, name)
