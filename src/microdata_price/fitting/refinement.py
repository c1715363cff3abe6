"""Refinements among query sets: reduce a stage of sequential fitting to its core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..model.queryset import QuerySet
from ..optimize.boxed import is_cells

Array = NDArray[np.float64]
Answered = tuple[QuerySet, Array]  # a query set and its answers, shape (runs, queries)


def parents(fine: QuerySet, coarse: QuerySet) -> NDArray[np.intp] | None:
    """Return the coarse query that each fine query lies in (-1: in none).

    ``None`` if a fine query straddles coarse ones, or cells that only the coarse set counts exist:
    then the fine answers do not determine the coarse ones.
    """
    if is_cells(fine):
        return coarse.labels
    counted = fine.labels >= 0
    if (coarse.labels[~counted] >= 0).any():
        return None
    parent = np.full(fine.size, -1, dtype=np.intp)
    parent[fine.labels[counted]] = coarse.labels[counted]
    same = parent[fine.labels[counted]] == coarse.labels[counted]
    return parent if bool(same.all()) else None


def determined(queries: QuerySet, earlier: Sequence[Answered]) -> Array | None:
    """Return a query set's answers if those to some earlier set determine them, else ``None``."""
    for known, answers in earlier:
        parent = parents(known, queries)
        if parent is not None:
            return QuerySet.from_labels(parent, queries.name).answers(answers)
    return None


def strongest(limits: Sequence[Answered]) -> list[Answered]:
    """Leave out the query sets whose answers another one determines."""
    kept: list[Answered] = []
    for i, (q, a) in enumerate(limits):
        implied = False
        for j, (other, _) in enumerate(limits):
            if i != j and parents(other, q) is not None:
                implied |= j < i or parents(q, other) is None
        if not implied:
            kept.append((q, a))
    return kept


def _small(coarse: QuerySet, fine: QuerySet, parent: NDArray[np.intp]) -> QuerySet:
    """Return the coarse set as queries on the table whose cells are the fine queries."""
    if fine.axes and coarse.axes is not None and set(coarse.axes) <= set(fine.axes):
        shape = tuple(fine.shape[a] for a in fine.axes)
        return QuerySet.marginal(shape, [fine.axes.index(a) for a in coarse.axes], coarse.name)
    shape = tuple(fine.shape[a] for a in fine.axes) if fine.axes else (fine.size,)
    return QuerySet.from_labels(parent.reshape(shape), coarse.name)


def relabel(
    queries: QuerySet, earlier: Sequence[Answered]
) -> tuple[QuerySet, list[Answered]] | None:
    """Return a smaller table whose cells are the queries, and what the earlier answers ask of it.

    Its nonnegative tables with those answers must be exactly the answers that nonnegative tables
    with the earlier answers can give. That holds where each earlier set is determined by the
    queries (put each answer on one of its cells), and for marginals on quite other axes, which ask
    for their total only (multiply the two tables, divide by the total); else ``None``.
    """
    shape = tuple(queries.shape[a] for a in queries.axes) if queries.axes else (queries.size,)
    table = queries if is_cells(queries) else QuerySet.identity(shape, queries.name)
    limits: list[Answered] = []
    for q, a in earlier:
        parent = parents(queries, q)
        if parent is not None:
            limits.append((q if is_cells(queries) else _small(q, queries, parent), a))
        elif q.axes is not None and queries.axes is not None and not {*q.axes} & {*queries.axes}:
            limits.append((QuerySet.sum_query(shape, "total"), a.sum(axis=1, keepdims=True)))
        else:
            return None
    return table, limits
