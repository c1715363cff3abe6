"""Sums of errors over simulated runs, which add up block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exceptions import InputError
from ..model.table import check_batch, check_numbers, check_table
from ..model.workload import Workload

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ErrorSums:
    """Sums over runs from which every estimate follows; the runs are split into two halves.

    A half is every other run: run 0, 2, ... and run 1, 3, ... The control is OLS's squared error on
    the same noise. The queries of all query sets stand one after the other.

    Examples
    --------
    >>> sum_errors([np.array([[3.0], [4.0]])]).queries[:, 1, 0]
    array([ 9., 16.])
    """

    runs: Array  # runs of each half, shape (2,)
    queries: Array  # (2, 4, queries): sums of the error e, e^2, e^4 and e^2 times the control
    totals: Array  # (2, 3, query sets): of the total T of e^2, T^2, T times the control's total

    def __add__(self, other: ErrorSums) -> ErrorSums:
        """Add the sums of other runs."""
        return ErrorSums(
            self.runs + other.runs, self.queries + other.queries, self.totals + other.totals
        )

    def pooled(self) -> ErrorSums:
        """Return the sums over both halves, with a first axis of length 1."""
        parts = self.runs, self.queries, self.totals
        return ErrorSums(*(part.sum(axis=0, keepdims=True) for part in parts))


def answer_errors(cells: ArrayLike, table: ArrayLike, workload: Workload) -> tuple[Array, ...]:
    """Return the signed errors of fitted tables: fitted answers minus true answers.

    From cells of shape (runs, cells), in counts, to an array of shape (runs, queries) a query set.

    Examples
    --------
    >>> [e.tolist() for e in answer_errors([[3.0, 5.0]], [3, 4], Workload.table(2))]
    [[[1.0]], [[0.0, 1.0]]]
    """
    truth = check_table(table, workload.shape).ravel()
    (fitted,) = check_batch([cells], {"the fitted cells": truth.size})
    # The difference is taken cell by cell: a sum of differences loses less than one of sums.
    return workload.answers((fitted - truth).reshape(-1, *workload.shape))


def sum_errors(
    errors: Sequence[Array], control: Sequence[Array] | None = None, first_run: int = 0
) -> ErrorSums:
    """Add up the signed errors of a block of runs, one array of shape (runs, queries) a query set.

    The control is OLS's on the same noise, by default the errors themselves; the number of the
    block's first run decides which half it belongs to.

    Examples
    --------
    >>> sum_errors([np.array([[3.0], [4.0], [5.0]])], first_run=1).runs
    array([1., 2.])
    """
    both = [errors] if control is None or control is errors else [errors, control]
    both = [[check_numbers(e, "an error", np.isfinite, "a finite number") for e in p] for p in both]
    shapes = [[e.shape for e in part] for part in both]
    counts = {s[0] if len(s) == 2 else 0 for s in shapes[0]}
    if shapes[0] != shapes[-1] or len(counts) != 1 or 0 in counts:
        said = f"the errors have shapes {shapes[0]}, the control's {shapes[-1]}; needed of both is"
        raise InputError(f"{said} (runs, queries) a query set, with as many runs everywhere")
    squares = [[e * e for e in part] for part in both]
    parts = [np.stack([s.sum(axis=1) for s in part]) for part in (squares[0], squares[-1])]
    halves = [slice((first_run + h) % 2, None, 2) for h in (0, 1)]

    def added(e: Array, s: Array, c: Array) -> Array:
        squared, product = (np.einsum("rq,rq->q", s, other) for other in (s, c))
        return np.stack([e.sum(axis=0), s.sum(axis=0), squared, product])

    triples = list(zip(both[0], squares[0], squares[-1], strict=True))
    queries = [[added(e[half], s[half], c[half]) for e, s, c in triples] for half in halves]
    sums = [
        [t.sum(axis=1), (t**2).sum(axis=1), (t * c).sum(axis=1)]
        for t, c in ([part[:, half] for part in parts] for half in halves)
    ]
    runs = np.array([float(len(range(*half.indices(parts[0].shape[1])))) for half in halves])
    joined = np.stack([np.concatenate(parts, axis=1) for parts in queries])
    return ErrorSums(runs, joined, np.array(sums))
