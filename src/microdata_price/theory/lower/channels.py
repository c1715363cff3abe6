"""A linear program over all private mechanisms on small tables: the exact price.

A mechanism is a channel, a table of probabilities of outputs given tables. Privacy, accuracy and
total probability are linear in it, so that the least possible error is a linear program: here over
every table of a few cells with small counts, with or without negative outputs.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from ...exceptions import CertificateError, InputError
from ...model.privacy import PureDP
from ..given import check_error, check_points

Array = NDArray[np.float64]

_TOLERANCE = 1e-7  # the largest violation that passes
_LIMIT = 200_000  # unknowns of a program at most


class ChannelOptimum(NamedTuple):
    """Least root error of the worst cell, and the largest violation of a constraint."""

    C: float
    violation: float


class _Rows:
    """Rows of ``A x <= b`` or ``A x = b``, collected one at a time."""

    def __init__(self) -> None:
        self.columns: list[NDArray[np.intp]] = []
        self.values: list[Array] = []
        self.right: list[float] = []

    def add(self, columns: object, values: object, right: float) -> None:
        self.columns.append(np.asarray(columns, dtype=np.intp))
        self.values.append(np.asarray(values, dtype=float))
        self.right.append(right)

    def matrix(self, size: int) -> sparse.csr_array:
        rows = np.repeat(np.arange(len(self.columns)), [c.size for c in self.columns])
        entries = (np.concatenate(self.values), (rows, np.concatenate(self.columns)))
        return sparse.csr_array(entries, shape=(len(self.columns), size))


def table_program(
    guarantee: PureDP,
    d: int,
    sum_error: float,
    *,
    max_count: int,
    low: int,
    high: int,
) -> ChannelOptimum:
    """Return the least C of any mechanism on all tables of d cells with small counts.

    Every cell's count runs from 0 to ``max_count`` and its output over the integers from ``low`` to
    ``high``; a ``low`` below 0 allows signed answers, 0 asks for microdata. Permuting the cells
    changes nothing, so that only symmetric channels are looked at.
    """
    points, D = int(check_points(d)), float(check_error(sum_error, "sum error"))
    if not (max_count >= 1 and high > low):
        raise InputError(f"counts up to {max_count} and outputs from {low} to {high} are no range")
    pairs = (max_count + 1) * (high - low + 1)
    unknowns = math.comb(pairs + points - 1, points)
    if unknowns > _LIMIT:
        raise InputError(
            f"the program has {unknowns} unknowns, more than {_LIMIT}; choose fewer records, cells "
            "or outputs"
        )
    outputs = list(itertools.product(range(low, high + 1), repeat=points))
    tables = list(itertools.combinations_with_replacement(range(max_count + 1), points))
    limits, totals = _Rows(), _Rows()
    index: dict[tuple[tuple[int, int], ...], int] = {}

    def column(x: tuple[int, ...], y: tuple[int, ...]) -> int:
        key = tuple(sorted(zip(x, y, strict=True)))
        return index.setdefault(key, len(index))

    factor = math.exp(guarantee.epsilon)
    values = np.array(outputs, dtype=float)
    sums = values.sum(axis=1)
    for x in tables:
        own = np.array([column(x, y) for y in outputs])
        totals.add(own, np.ones(own.size), 1.0)
        limits.add(own, (sums - sum(x)) ** 2, D**2)
        for i in {x.index(v) for v in x}:
            cost = np.append((values[:, i] - x[i]) ** 2, -1.0)
            limits.add(np.append(own, unknowns), cost, 0.0)
            if x[i] < max_count:
                more = (*x[:i], x[i] + 1, *x[i + 1 :])
                near = np.array([column(more, y) for y in outputs])
                for one, two in set(zip(own.tolist(), near.tolist(), strict=True)):
                    limits.add([one, two], [1.0, -factor], 0.0)
                    limits.add([two, one], [1.0, -factor], 0.0)
    A, E = limits.matrix(unknowns + 1), totals.matrix(unknowns + 1)
    b = np.array(limits.right)
    # SciPy takes sparse matrices, which its annotations do not know.
    arguments: dict[str, Any] = {"A_ub": A, "b_ub": b, "A_eq": E, "b_eq": totals.right}
    found = optimize.linprog(np.append(np.zeros(unknowns), 1.0), method="highs", **arguments)
    if found.status == 2:
        raise InputError("no channel on this grid reaches the sum error; allow more, or outputs")
    if found.x is None:
        raise CertificateError(f"the linear program over channels ended with: {found.message}")
    missed = float((A @ found.x - b).max()), float(np.abs(E @ found.x - 1).max())
    violation = max(*missed, float(-found.x.min()), 0.0)
    if violation > _TOLERANCE:
        raise CertificateError(f"the channel found violates a constraint by {violation:.2g}")
    return ChannelOptimum(math.sqrt(max(float(found.x[unknowns]), 0.0)), violation)
