"""A linear program over all private mechanisms on small tables: the exact price.

A mechanism is a channel, a table of probabilities of outputs given tables. Privacy, accuracy and
total probability are linear in it, so that the least possible error is a linear program: here over
every table of a few cells with small counts, with or without negative outputs. (What can be proved
from one cell alone is in `channel_program`.)
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from ...exceptions import CertificateError, InputError
from ...model.privacy import PureDP
from ...theory.given import check_points
from ..given import check_error

Array = NDArray[np.float64]

_TOLERANCE = 1e-7  # the largest violation that passes
_LIMIT = 200_000  # unknowns of a program at most


@dataclass(frozen=True)
class ChannelOptimum:
    """The least error that any channel of a program has.

    Parameters
    ----------
    C
        The least root error of the worst cell, in counts, over channels with outputs on the grid.
    violation
        The largest violation of a constraint by the answer, recomputed from it.
    """

    C: float
    violation: float


class _Program:
    """Rows of ``A x <= b`` and ``E x = f``, collected one at a time."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: dict[str, list[tuple[NDArray[np.intp], Array]]] = {"ub": [], "eq": []}
        self.rhs: dict[str, list[float]] = {"ub": [], "eq": []}

    def add(self, kind: str, columns: object, values: object, rhs: float) -> None:
        self.rows[kind].append(
            (np.asarray(columns, dtype=np.intp), np.asarray(values, dtype=float))
        )
        self.rhs[kind].append(rhs)

    def matrix(self, kind: str) -> sparse.csr_array:
        rows = self.rows[kind]
        lengths = np.array([c.size for c, _ in rows])
        columns = np.concatenate([c for c, _ in rows])
        values = np.concatenate([v for _, v in rows])
        index = np.repeat(np.arange(len(rows)), lengths)
        return sparse.csr_array((values, (index, columns)), shape=(len(rows), self.size))

    def minimise(self, column: int) -> tuple[Array, float]:
        """Return the point of least value in one column, and its largest violation."""
        if self.size > _LIMIT:
            raise InputError(
                f"the program has {self.size} unknowns, more than {_LIMIT}; choose fewer records, "
                "cells or outputs"
            )
        cost = np.zeros(self.size)
        cost[column] = 1
        A, E = self.matrix("ub"), self.matrix("eq")
        b, f = np.array(self.rhs["ub"]), np.array(self.rhs["eq"])
        # SciPy takes sparse matrices, which its annotations do not know.
        arguments: dict[str, Any] = {"A_ub": A, "b_ub": b, "A_eq": E, "b_eq": f}
        found = optimize.linprog(cost, method="highs", **arguments)
        if found.status == 2:
            raise InputError(
                "no channel on this grid reaches the sum error; allow more, or more outputs"
            )
        if found.x is None:
            raise CertificateError(f"the linear program over channels ended with: {found.message}")
        x = np.asarray(found.x)
        violation = max(
            float((A @ x - b).max()), float(np.abs(E @ x - f).max()), float(-x.min()), 0.0
        )
        if violation > _TOLERANCE:
            raise CertificateError(
                f"the channel that was found violates a constraint by {violation:.2g}"
            )
        return x, violation


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
    outputs = list(itertools.product(range(low, high + 1), repeat=points))
    tables = list(itertools.combinations_with_replacement(range(max_count + 1), points))
    program = _Program(unknowns + 1)
    if unknowns > _LIMIT:
        program.minimise(0)
    index: dict[tuple[tuple[int, int], ...], int] = {}

    def column(x: tuple[int, ...], y: tuple[int, ...]) -> int:
        key = tuple(sorted(zip(x, y, strict=True)))
        return index.setdefault(key, len(index))

    factor = math.exp(guarantee.epsilon)
    sums = np.array([sum(y) for y in outputs], dtype=float)
    values = np.array(outputs, dtype=float)
    for x in tables:
        own = np.array([column(x, y) for y in outputs])
        program.add("eq", own, np.ones(own.size), 1.0)
        program.add("ub", own, (sums - sum(x)) ** 2, D**2)
        for i in {x.index(v) for v in x}:
            cost = np.append((values[:, i] - x[i]) ** 2, -1.0)
            program.add("ub", np.append(own, unknowns), cost, 0.0)
            if x[i] < max_count:
                more = (*x[:i], x[i] + 1, *x[i + 1 :])
                near = np.array([column(more, y) for y in outputs])
                for one, two in set(zip(own.tolist(), near.tolist(), strict=True)):
                    program.add("ub", [one, two], [1.0, -factor], 0.0)
                    program.add("ub", [two, one], [1.0, -factor], 0.0)
    solution, violation = program.minimise(unknowns)
    return ChannelOptimum(math.sqrt(max(float(solution[unknowns]), 0.0)), violation)
