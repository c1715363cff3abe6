"""Workloads: which query sets are asked of a table, in which order of priority."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError, find
from .queryset import QuerySet
from .table import check_numbers, check_shape, real_numbers

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Workload:
    """Query sets on one table, highest priority first: at least one, with distinct names.

    Examples
    --------
    >>> Workload.table((9, 24)).names, Workload.table((9, 24)).sensitivity(1)
    (('sum', 'marginal1', 'marginal2', 'identity'), 4.0)
    """

    query_sets: tuple[QuerySet, ...]

    def __post_init__(self) -> None:
        sets = tuple(self.query_sets)
        object.__setattr__(self, "query_sets", sets)
        if not sets:
            raise InputError("the workload has no query set; it needs at least one")
        if len(set(self.names)) != len(sets):
            raise InputError(f"the query sets are {self.names}; every name must be used once")
        for q in sets[1:]:
            if q.shape != sets[0].shape:
                both = f"{sets[0].name!r} is for tables of shape {sets[0].shape} and {q.name!r} for"
                raise InputError(f"query set {both} shape {q.shape}; a workload has one shape")

    @classmethod
    def table(cls, shape: int | Sequence[int]) -> Workload:
        """Build the paper's workload in its priority order: sum, one-way marginals, identity.

        A list has no marginals beside its sum and its cells.
        """
        shape = check_shape(shape)
        axes = range(len(shape)) if len(shape) > 1 else ()
        marginals = (QuerySet.marginal(shape, keep=(a,)) for a in axes)
        return cls((QuerySet.sum_query(shape), *marginals, QuerySet.identity(shape)))

    @property
    def shape(self) -> tuple[int, ...]:
        """The table's shape."""
        return self.query_sets[0].shape

    @property
    def cells(self) -> int:
        """The number of cells of the table."""
        return self.query_sets[0].cells

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the query sets, highest priority first."""
        return tuple(q.name for q in self.query_sets)

    def __getitem__(self, name: str) -> QuerySet:
        """Return the query set called ``name``."""
        return find("query set", name, {q.name: q for q in self.query_sets})

    def check_positive(self, numbers: ArrayLike, what: str) -> list[float]:
        """Return positive numbers, not all infinite, one a query set, or say why they are none."""
        found, sets = real_numbers(numbers, f"the {what}"), len(self.query_sets)
        if found.shape != (sets,) or not (found > 0).all() or np.isinf(found).all():
            wanted = f"the workload must have {sets} positive {what}, one a query set"
            raise InputError(f"the {what} are {numbers!r}; {wanted}")
        return [float(x) for x in found]

    def answers(self, table: ArrayLike) -> tuple[Array, ...]:
        """Answer every query set; one array of shape (..., queries) for each.

        Examples
        --------
        >>> [a.tolist() for a in Workload.table(2).answers([3, 4])]
        [[7.0], [3.0, 4.0]]
        """
        cells = check_numbers(table, "a cell of the table", np.isfinite, "a finite number")
        return tuple(q.answers(cells) for q in self.query_sets)

    def sensitivity(self, p: int) -> float:
        """Return the L_p sensitivity: how far one record more moves all answers (Definition 4).

        The queries of one set are disjoint, so one record moves at most one answer of each set by
        one; a cell's record moves as many answers as there are sets that count the cell.
        """
        if p not in (1, 2):
            raise InputError(f"the sensitivity's order is {p!r}; it must be 1 or 2")
        touched = sum((q.labels >= 0 for q in self.query_sets), np.zeros(self.cells))
        return float(touched.max() ** (1 / p))
