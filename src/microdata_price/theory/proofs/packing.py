"""The packing in the proof of the paper's Theorem 3: its tables, its sets, and how they overlap."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.numbers import check_whole
from ...exceptions import InputError
from ...theory.given import check_points

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Packing:
    """Tables that differ only in which cell holds m records, and the outputs near each.

    Table 1 has n records in its first cell. Table i, for i = 2, ..., d, has m of them in cell i
    instead. The set G_i holds the nonnegative outputs whose first and i-th cell lie within ``alpha
    C`` of table i's and whose sum lies within ``beta D`` of n (the proof of the paper's Theorem 3).

    Examples
    --------
    >>> p = Packing(d=100, n=40, m=20, C=4.0, D=6.0)
    >>> p.k, p.overlap, p.share
    (12.0, 3.3333333333333335, 0.25)
    """

    d: int
    n: int
    m: int
    C: float
    D: float
    alpha: float = 2.0
    beta: float = 2.0

    def __post_init__(self) -> None:
        if check_points(self.d) < 2:
            raise InputError(f"the number of cells is {self.d}; the packing needs 2 or more")
        if not self.n >= self.m >= 1:
            needed = "whole numbers with n >= m >= 1 are needed"
            raise InputError(f"n is {self.n} and m is {self.m}; {needed}")
        if not self.k > 0:
            raise InputError(
                f"m is {self.m} and alpha C is {self.alpha * self.C:g}; m must be the larger, so "
                "that k = m - alpha C is above zero"
            )

    @property
    def k(self) -> float:
        """Least count of cell i in G_i: ``m - alpha C``."""
        return self.m - self.alpha * self.C

    @property
    def overlap(self) -> float:
        """The proof's K: no nonnegative output lies in more than ``(2 alpha C + beta D + k)/k``."""
        return (2 * self.alpha * self.C + self.beta * self.D + self.k) / self.k

    @property
    def share(self) -> float:
        """The proof's P: ``1 - 2/alpha^2 - 1/beta^2``, a bound on the chance to lie in G_i."""
        return 1 - 2 / self.alpha**2 - 1 / self.beta**2

    @property
    def steps(self) -> int:
        """Number of records between table 1 and any other: ``2 m``."""
        return 2 * self.m

    @property
    def cell_range(self) -> tuple[float, float]:
        """Range of cell i in G_i, in counts."""
        return self.k, self.m + self.alpha * self.C

    @property
    def first_range(self) -> tuple[float, float]:
        """Range of the first cell in G_i, in counts."""
        middle = self.n - self.m
        return middle - self.alpha * self.C, middle + self.alpha * self.C

    @property
    def sum_range(self) -> tuple[float, float]:
        """Range of the sum in G_i, in counts."""
        return self.n - self.beta * self.D, self.n + self.beta * self.D

    def table(self, i: int) -> Array:
        """Return table i, for i from 1 to d."""
        counts = np.zeros(check_whole(self.d, "d"))
        counts[0] = self.n if i == 1 else self.n - self.m
        if i > 1:
            counts[i - 1] = self.m
        return counts

    def memberships(self, outputs: ArrayLike) -> NDArray[np.intp]:
        """Count the sets in which each output lies; outputs of shape (..., d), of any sign."""
        x = np.asarray(outputs, dtype=float)
        inside = self._within(x[..., 0], self.first_range) & self._within(
            x.sum(axis=-1), self.sum_range
        )
        cells = self._within(x[..., 1:], self.cell_range).sum(axis=-1)
        return np.asarray(np.where(inside, cells, 0))

    @staticmethod
    def _within(values: Array, ends: tuple[float, float]) -> NDArray[np.bool_]:
        tiny = 1e-9 * max(1.0, *map(abs, ends))
        return (values >= ends[0] - tiny) & (values <= ends[1] + tiny)

    def fullest_output(self) -> Array:
        """Return a nonnegative output that lies in as many of the sets as any.

        The first cell gets as little as it may, then one cell after the other gets k, as long as
        the sum allows. What is missing to the least allowed sum goes to the first cell.
        """
        x = np.zeros(self.d)
        x[0] = max(self.first_range[0], 0.0)
        full = min(math.floor((self.sum_range[1] - x[0]) / self.k * (1 + 1e-12)), self.d - 1)
        x[1 : 1 + full] = self.k
        x[0] += min(max(self.sum_range[0] - x.sum(), 0.0), 2 * self.alpha * self.C)
        return x

    def signed_output(self) -> Array:
        """Return an output with one very negative cell that lies in all sets but one.

        Every cell from the second to the last but one holds m records, and the last one as many
        less than none as brings the sum back to n: the overlap bound needs nonnegative cells. (With
        two cells there is one set, and table 2 itself is returned.)
        """
        x = np.full(self.d, float(self.m))
        x[0] = self.n - self.m
        x[-1] = self.n - x[:-1].sum()
        return x


def packing_at(
    d: int, C: float, D: float, k: float, alpha: float = 2.0, beta: float = 2.0
) -> Packing:
    """Return the paper's packing at a given k, mended so that m is a whole number.

    ``m = ceil(alpha C + k)``, so that the k in use is a little larger, and n = 2 m.

    Examples
    --------
    >>> packing_at(100, 4.0, 6.0, 1.5).m
    10
    """
    m = math.ceil(alpha * C + k)
    return Packing(d=d, n=2 * m, m=m, C=C, D=D, alpha=alpha, beta=beta)
