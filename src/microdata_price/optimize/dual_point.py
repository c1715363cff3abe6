"""A point of the dual problem: multipliers of the aggregates and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from .boxed import Boxed

Array = NDArray[np.float64]
Runs = NDArray[np.intp]


class Structure(Protocol):
    """The aggregates' matrix U, one row an aggregate, as what it does."""

    def select(self, runs: Runs | slice) -> Self:
        """Return the structure of some of the runs."""

    def pull(self, y: Array) -> Array:
        """Return U'y, shape (runs, cells), or (runs, 1) where it is the same for all cells."""

    def push(self, x: Array) -> Array:
        """Return Ux, shape (runs, aggregates)."""

    def step(self, free: Array, slack: Array, residual: Array, ridge: Array) -> Array:
        """Solve ``(U diag(free) U' + diag(slack)) step = residual``, made regular by a ridge."""


@dataclass
class Point:
    """Multipliers and what follows from them, for the runs still going.

    Parameters
    ----------
    y
        Multipliers, shape (runs, aggregates).
    free
        1/d of the cells strictly inside their bounds, else 0, shape (runs, cells).
    residual
        F(y), minus the gradient of the dual function, shape (runs, aggregates).
    slack
        1/weight of the aggregates that are not at a bound, else 0, same shape.
    """

    y: Array
    free: Array
    residual: Array
    slack: Array

    @classmethod
    def at(cls, structure: Structure, box: Boxed, y: Array) -> Point:
        """Evaluate the dual function's gradient."""
        x, free = box.cells(structure.pull(y))
        residual, slack = box.residual(structure.push(x), y)
        return cls(y, free, residual, slack)

    def put(self, runs: Runs, other: Point) -> None:
        """Replace the values of some of the runs."""
        self.y[runs] = other.y
        self.free[runs] = other.free
        self.residual[runs] = other.residual
        self.slack[runs] = other.slack

    def select(self, runs: Runs | NDArray[np.bool_]) -> Point:
        """Return the point of some of the runs."""
        return Point(self.y[runs], self.free[runs], self.residual[runs], self.slack[runs])
