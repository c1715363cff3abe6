"""The one problem behind every method: boxed least squares coupled by a few aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..base.batch import Batch, Runs
from ..exceptions import InputError
from ..model.queryset import QuerySet

Array = NDArray[np.float64]


def divisor(values: Array) -> Array:
    """Return positive values as they are, and 1 in place of others, to divide by."""
    return np.where(values > 0, values, 1.0)


def columns(a: Array) -> Array:
    """Return one column of an array that repeats it (by its strides), else the array.

    >>> [columns(a).shape for a in (np.broadcast_to([[3.0], [4.0]], (2, 5)), np.ones((2, 5)))]
    [(2, 1), (2, 5)]
    """
    return a[:, :1] if a.strides[1] == 0 else a


def _check(name: str, what: str, given: NDArray[np.generic], needed: tuple[int, int]) -> None:
    if given.shape != needed:
        raise InputError(
            f"the {what} of the term on {name!r} has shape {given.shape}; needed is {needed}"
        )


@dataclass(frozen=True, eq=False)
class Term(Batch):
    """One query set's part of the objective, for a batch of runs.

    It contributes ``sum_k weight_k (u_k . x - target_k)^2 / 2``, where ``u_k`` is the k-th query.
    An infinite weight is the equality ``u_k . x = target_k``, and a finite ``radius_k`` adds the
    constraint ``|u_k . x - target_k| <= radius_k`` to a finite weight.

    Examples
    --------
    >>> q = QuerySet.sum_query(3)
    >>> Term(q, np.array([[4.0]]), np.array([[np.inf]])).runs
    1
    """

    by_run = ("target", "weight", "radius")

    queries: QuerySet
    target: Array  # noisy answers, shape (runs, queries), in counts
    # One over the variance, shape (runs, queries); 0 or more, infinity for an equality. A view that
    # repeats one number (`numpy.broadcast_to`) takes no memory and is used as such.
    weight: Array
    # Largest residual allowed, shape (runs, queries), infinity for none; ``None`` for no bounds.
    radius: Array | None = None

    def __post_init__(self) -> None:
        needed = (self.target.shape[0], self.queries.size)
        _check(self.name, "target", self.target, needed)
        _check(self.name, "weight", self.weight, needed)
        if self.radius is not None:
            _check(self.name, "radius", self.radius, needed)

    @property
    def name(self) -> str:
        """The query set's name."""
        return self.queries.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The table's shape."""
        return self.queries.shape

    @property
    def size(self) -> int:
        """The number of queries."""
        return self.queries.size

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.target.shape[0])

    def answers(self, x: Array) -> Array:
        """Answer the queries: (runs, cells) to (runs, queries)."""
        # A batch of one run of a table with one row has the shape of a table: say which it is.
        return self.queries.answers(x.reshape(len(x), *self.shape))

    def spread(self, y: Array) -> Array:
        """Give each cell the sum of its queries' values: (runs, queries) to (runs, cells)."""
        return self.queries.spread(y)

    def matrix(self, run: int) -> sp.csr_array:
        """Return the queries of one run as rows of zeros and ones, shape (queries, cells)."""
        del run  # the queries are the same in each
        return self.queries.matrix


@dataclass(frozen=True, eq=False)
class SubsetSum(Batch):
    """A term on one query that differs from run to run: the sum of some queries of a query set.

    Reweighted fitting asks for "the sum of the low queries" of each query set, and which are low
    depends on the noise (the paper's Algorithm 2, lines 11 to 13). It contributes
    ``weight (sum_k members_k u_k . x - target)^2 / 2``.

    Examples
    --------
    >>> q = QuerySet.identity(3)
    >>> low = np.array([[True, False, True]])
    >>> term = SubsetSum(q, low, np.array([[4.0]]), np.array([[0.5]]))
    >>> term.answers(np.array([[1.0, 2.0, 4.0]])), term.spread(np.array([[7.0]]))
    (array([[5.]]), array([[7., 0., 7.]]))
    """

    by_run = ("members", "target", "weight")

    base: QuerySet  # the query set summed over
    # The queries that are summed, shape (runs, queries of base), true or false. In a run without
    # members the query is 0 whatever the table, so its weight must be 0 there.
    members: NDArray[np.bool_]
    target: Array  # shape (runs, 1), in counts
    weight: Array  # shape (runs, 1), 0 or more, infinity for an equality

    radius = None  # such a term has no bounds
    size = 1  # the number of queries

    def __post_init__(self) -> None:
        runs = self.target.shape[0]
        _check(self.name, "target", self.target, (runs, 1))
        _check(self.name, "weight", self.weight, (runs, 1))
        _check(self.name, "members", self.members, (runs, self.base.size))
        if self.members.dtype != np.bool_:
            raise InputError(
                f"the members of the term on {self.name!r} are of type {self.members.dtype}; "
                "they must be true or false"
            )
        empty = ~self.members.any(axis=1) & (self.weight[:, 0] != 0)
        if empty.any():
            raise InputError(
                f"the weight of the term on {self.name!r} must be 0 in a run in which no query is "
                "a member"
            )

    @property
    def name(self) -> str:
        """The base query set's name, marked."""
        return f"some of {self.base.name}"

    @property
    def shape(self) -> tuple[int, ...]:
        """The table's shape."""
        return self.base.shape

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.target.shape[0])

    @cached_property
    def cell_members(self) -> Array:
        """1 for each cell that the run's query counts, else 0; shape (runs, cells)."""
        return self.base.spread(self.members)

    def answers(self, x: Array) -> Array:
        """Answer the query: (runs, cells) to (runs, 1)."""
        answers = self.base.answers(x.reshape(len(x), *self.shape))
        return np.asarray(np.where(self.members, answers, 0.0).sum(axis=1, keepdims=True))

    def spread(self, y: Array) -> Array:
        """Give each cell that is counted the query's value: (runs, 1) to (runs, cells)."""
        return self.cell_members * y

    def matrix(self, run: int) -> sp.csr_array:
        """Return the query of one run as a row of zeros and ones, shape (1, cells)."""
        return sp.csr_array(self.cell_members[run][None, :])


AnyTerm = Term | SubsetSum


@dataclass(frozen=True, eq=False)
class Problem(Batch):
    """``min sum_terms sum_k weight_k (u_k . x - target_k)^2 / 2`` over ``x >= 0``, a batch of runs.

    The paper's NNLS, the second stage of max fitting, each stage of sequential fitting and the
    last step of reweighted fitting all have this form. With ``nonnegative=False`` it is OLS.

    Examples
    --------
    >>> q = QuerySet.identity(2)
    >>> Problem((Term(q, np.array([[1.0, -2.0]]), np.ones((1, 2))),)).cells
    2
    """

    by_run = ("terms",)

    terms: tuple[AnyTerm, ...]  # at least one, all for one table's shape and number of runs
    nonnegative: bool = True  # whether every cell must be 0 or more

    def __post_init__(self) -> None:
        shapes = {t.shape for t in self.terms}
        runs = {t.runs for t in self.terms}
        if len(shapes) != 1 or len(runs) != 1:
            raise InputError(
                f"the terms are for tables of shapes {sorted(shapes)} and for {sorted(runs)} runs; "
                "a problem has one shape and one number of runs"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The table's shape."""
        return self.terms[0].shape

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(np.prod(self.shape))

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self.terms[0].runs


@dataclass(frozen=True, eq=False)
class Solution(Batch):
    """Primal and dual values from a solver, from which a certificate can be computed."""

    by_run = ("x", "y", "contradictory")

    x: Array  # cells, shape (runs, cells)
    # One array a term, shape (runs, queries): the multiplier of ``r = u_k . x - target_k``, which
    # at the optimum is ``weight r`` where the weight is finite and no bound is active, anything at
    # an equality, and ``weight r`` plus a force that points inwards where a bound is active:
    # ``r = clip(y / weight, -radius, radius)``. The gradient condition is ``sum_k y_k u_k >= 0``
    # with equality where ``x > 0``.
    y: tuple[Array, ...]
    # The runs that have no answer, shape (runs,); ``None`` if none has been proved to have none.
    # There x is NaN and y the proof: ``sum_k y_k u_k >= 0`` and, with a radius of 0 at an equality,
    # ``sum_k (y_k target_k + radius_k |y_k|) < 0``, where y is 0 for queries that have neither; so
    # no x of 0 or more can be within every radius.
    contradictory: NDArray[np.bool_] | None = None

    @property
    def unanswerable(self) -> NDArray[np.bool_]:
        """Mask of the runs that are proved to have no answer, shape (runs,)."""
        if self.contradictory is None:
            return np.zeros(self.x.shape[0], dtype=bool)
        return self.contradictory

    @classmethod
    def stack(cls, parts: Sequence[Solution]) -> Solution:
        """Join the solutions of consecutive batches of runs."""
        y = tuple(np.concatenate(ys) for ys in zip(*(p.y for p in parts), strict=True))
        none = all(p.contradictory is None for p in parts)
        proved = None if none else np.concatenate([p.unanswerable for p in parts])
        return cls(np.concatenate([p.x for p in parts]), y, proved)

    def replace_runs(self, runs: Runs, other: Solution) -> Solution:
        """Return this solution with some runs taken from another batch."""
        mine, theirs = (replace(s, contradictory=s.unanswerable) for s in (self, other))
        found = super(Solution, mine).replace_runs(runs, theirs)
        return found if found.unanswerable.any() else replace(found, contradictory=None)
