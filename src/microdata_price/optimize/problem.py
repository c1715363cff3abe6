"""The one problem behind every method: boxed least squares coupled by a few aggregates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..queryset import QuerySet

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Term:
    """One query set's part of the objective, for a batch of runs.

    It contributes ``sum_k weight_k (u_k . x - target_k)^2 / 2``, where ``u_k`` is the k-th query.
    An infinite weight is the equality ``u_k . x = target_k``, and a finite ``radius_k`` adds the
    constraint ``|u_k . x - target_k| <= radius_k`` to a finite weight.

    Parameters
    ----------
    queries
        The query set.
    target
        Noisy answers, shape (runs, queries), in counts.
    weight
        One over the variance, shape (runs, queries); 0 or more, infinity for an equality.
    radius
        Largest residual allowed, shape (runs, queries), infinity for none; ``None`` for no bounds.

    Examples
    --------
    >>> q = QuerySet.sum_query(3)
    >>> Term(q, np.array([[4.0]]), np.array([[np.inf]])).runs
    1
    """

    queries: QuerySet
    target: Array
    weight: Array
    radius: Array | None = None

    def __post_init__(self) -> None:
        runs = self.target.shape[0]
        for name, a in (("target", self.target), ("weight", self.weight), ("radius", self.radius)):
            if a is not None and a.shape != (runs, self.queries.size):
                raise InputError(
                    f"the {name} of the term on {self.queries.name!r} has shape {a.shape}; needed "
                    f"is {(runs, self.queries.size)}"
                )

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.target.shape[0])


@dataclass(frozen=True, eq=False)
class Problem:
    """``min sum_terms sum_k weight_k (u_k . x - target_k)^2 / 2`` over ``x >= 0``, a batch of runs.

    The paper's NNLS, the second stage of max fitting, each stage of sequential fitting and the
    last step of reweighted fitting all have this form. With ``nonnegative=False`` it is OLS.

    Parameters
    ----------
    terms
        At least one, all for one table's shape and the same number of runs.
    nonnegative
        Whether every cell must be 0 or more.

    Examples
    --------
    >>> q = QuerySet.identity(2)
    >>> Problem((Term(q, np.array([[1.0, -2.0]]), np.ones((1, 2))),)).cells
    2
    """

    terms: tuple[Term, ...]
    nonnegative: bool = True

    def __post_init__(self) -> None:
        shapes = {t.queries.shape for t in self.terms}
        runs = {t.runs for t in self.terms}
        if len(shapes) != 1 or len(runs) != 1:
            raise InputError(
                f"the terms are for tables of shapes {sorted(shapes)} and for {sorted(runs)} runs; "
                "a problem has one shape and one number of runs"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The table's shape."""
        return self.terms[0].queries.shape

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.terms[0].queries.cells

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self.terms[0].runs


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver returns: primal and dual values, from which a certificate can be computed.

    Parameters
    ----------
    x
        Cells, shape (runs, cells).
    y
        One array a term, shape (runs, queries): the multiplier of ``r = u_k . x - target_k``, which
        at the optimum is ``weight r`` where the weight is finite and no bound is active, anything
        at an equality, and ``weight r`` plus a force pointing inwards where a bound is active.
        The gradient condition is ``sum_k y_k u_k >= 0`` with equality where ``x > 0``.
    """

    x: Array
    y: tuple[Array, ...]
