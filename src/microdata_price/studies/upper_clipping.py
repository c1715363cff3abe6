"""Clipping at zero: small biases that add up, exactly and by the paper's bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import format_number
from ..model.noise_discrete import DoubleGeometric
from ..model.privacy import ConcentratedDP
from ..page.output import Caption
from ..theory.upper.exact_errors import clipped, clipped_sum, m_epsilon, m_rho, worst_clipped_sum
from ..theory.upper.upper_bounds import exact_clipping, item1, item2

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Findings:
    """What clipping does to a cell and to the sum of many (the paper's Theorem 4, items 1 and 2).

    Parameters
    ----------
    epsilon, rho
        The two guarantees.
    ds
        Numbers of cells, increasing.
    """

    epsilon: float
    rho: float
    ds: Array

    @property
    def noise(self) -> DoubleGeometric:
        """The noise on every cell under pure DP."""
        return m_epsilon(self.epsilon)

    @property
    def worst(self) -> Array:
        """The largest expected squared error of the sum, one a number of cells."""
        return np.asarray(worst_clipped_sum(self.noise, self.ds).squared_error)

    @property
    def opening(self) -> str:
        """What was found."""
        empty = clipped(self.noise, 0.0)
        return (
            "Set negative noisy counts to zero, and no single count gets worse: an "
            f"empty cell has the squared error {format_number(float(empty.squared_error))} in "
            f"place of {format_number(self.noise.variance)}. But each empty cell gains "
            f"{format_number(float(empty.bias))} records on average, and gains add up. "
            f"{self.beyond_said} {self.last_said}"
        )

    @property
    def cell_said(self) -> str:
        """How accurate one clipped cell is."""
        empty = clipped(self.noise, 0.0)
        return (
            f"At $\\epsilon =$ {format_number(self.epsilon)} the noise has variance "
            f"{format_number(self.noise.variance)} (the paper's bound: "
            f"{format_number(2 / self.epsilon**2)}). Every single cell is *more* accurate than its "
            "signed answer, an empty one twice as accurate: "
            f"{format_number(float(empty.squared_error))}. The price is a bias of "
            f"{format_number(float(empty.bias))} records in every empty cell. It looks harmless."
        )

    @property
    def cell(self) -> Caption:
        """What is said about the picture of one cell."""
        empty = clipped(self.noise, 0.0)
        return Caption(
            f"One clipped cell at $\\epsilon = {format_number(self.epsilon)}$, exactly. An empty "
            f"cell is lifted by {format_number(float(empty.bias))} records on average; its squared "
            f"error is {format_number(float(empty.squared_error))}, half the noise's variance "
            f"{format_number(self.noise.variance)}.",
            alt="Two panels against the true count. The bias falls from its largest value at an "
            "empty cell towards zero. The squared error rises from half the variance at an empty "
            "cell towards the variance.",
        )

    @property
    def counts(self) -> Array:
        """Counts at which one cell is looked at."""
        reach = max(6, math.ceil(6 / self.epsilon))
        return np.unique(np.linspace(0, min(reach, 10**6), 31).round())

    @property
    def sums(self) -> pd.DataFrame:
        """Errors of the sum: two tables, the worse, the paper's bound, a signed sum."""
        printed = item1(self.epsilon, self.ds).D ** 2
        return pd.DataFrame(
            {
                "d": [format_number(d) for d in self.ds],
                "all zero": [clipped_sum(self.noise, [0], [int(d)]) for d in self.ds],
                "all large": self.ds * self.noise.variance,
                "worst": self.worst,
                "the paper's bound": printed,
                "bound / worst": printed / self.worst,
                "worst / signed": self.worst * self.epsilon**2 / 8,
            }
        )

    @property
    def sums_caption(self) -> str:
        """What is said about the table of sums."""
        return (
            f"Expected squared error of the sum of M_ε at ε = {format_number(self.epsilon)}: on "
            "the all-zero table, on tables of large counts, the larger of the two, the paper's "
            "bound, and the ratio to the 8/ε² of a signed sum."
        )

    @property
    def worst_said(self) -> str:
        """Which tables are the worst."""
        flip = self.ds[np.asarray(worst_clipped_sum(self.noise, self.ds).all_zero)]
        if not flip.size:
            return (
                "Tables of large counts are the worst in every row: at this $\\epsilon$ counts are "
                "so exact that an empty cell is hardly ever lifted."
            )
        if flip.size == self.ds.size:
            return "The all-zero table is the worst in every row."
        return (
            f"The all-zero table is the worst from $d =$ {format_number(flip[0])} on; with fewer "
            "cells tables of large counts are."
        )

    @property
    def beyond_said(self) -> str:
        """From where on a signed sum is better."""
        beyond = self.ds[self.worst > 8 / self.epsilon**2]
        if beyond.size:
            return (
                "The worst squared error of the sum exceeds the $8/\\epsilon^2$ of a signed sum "
                f"from $d =$ {format_number(beyond[0])} on, of the numbers listed."
            )
        return (
            "The worst squared error of the sum stays below the $8/\\epsilon^2$ of a signed sum "
            "for every $d$ listed."
        )

    @property
    def last_said(self) -> str:
        """How much worse than a signed sum at the most cells."""
        ratio = float(self.worst[-1]) * self.epsilon**2 / 8
        return f"At $d =$ {format_number(self.ds[-1])} it is {format_number(ratio, 2)} times that."

    @property
    def fine(self) -> Array:
        """Numbers of cells for curves."""
        return np.unique(np.round(np.geomspace(2, max(float(self.ds.max()), 10), 60)))

    @property
    def growth_curves(self) -> tuple[tuple[str, Array], ...]:
        """Root errors of the sum against the number of cells, each with its name."""
        exact = worst_clipped_sum(self.noise, self.fine).squared_error
        return (
            ("the paper's bound", item1(self.epsilon, self.fine).D),
            ("exact worst sum", np.sqrt(exact)),
            ("if biases cancelled", np.sqrt(self.fine * self.noise.variance)),
            ("signed sum", np.full(self.fine.size, math.sqrt(8) / self.epsilon)),
        )

    @property
    def growth(self) -> Caption:
        """What is said about the picture of growth."""
        return Caption(
            "The sum of clipped cells. Where $d$ is large the bias makes its root error "
            f"proportional to $d$. {self.beyond_said} {self.last_said}",
            alt="Log-log curves against d. The paper's bound is a line of slope one, and where d "
            "is large the exact worst error runs parallel to it; errors without bias would have "
            "slope one half; the signed sum is flat.",
        )

    @property
    def zcdp(self) -> pd.DataFrame:
        """The same under zCDP: exact largest errors beside the bounds."""
        printed, tight = item2(self.rho, self.ds), exact_clipping(ConcentratedDP(self.rho), self.ds)
        worst = np.asarray(worst_clipped_sum(m_rho(self.rho), self.ds).squared_error)
        return pd.DataFrame(
            {
                "d": [format_number(d) for d in self.ds],
                "C²": tight.C**2,
                "the paper's bound": printed.C**2,
                "D²": worst,
                "the paper's bound ": printed.D**2,
                "bound / D²": printed.D**2 / worst,
            }
        )

    @property
    def zcdp_caption(self) -> str:
        """What is said about the table under zCDP."""
        return (
            f"Exact largest squared errors of M_ρ at ρ = {format_number(self.rho)} beside the "
            "bounds of Theorem 4, item 2."
        )

    @property
    def zcdp_said(self) -> str:
        """By how much an empty cell is lifted under zCDP."""
        bias = float(clipped(m_rho(self.rho), 0.0).bias)
        return (
            f"At $\\rho =$ {format_number(self.rho)} an empty cell is lifted by "
            f"{format_number(bias)} records on average."
        )

    @property
    def share_said(self) -> str:
        """How much of an error is bias: a hundred empty cells and a large one."""
        total = clipped_sum(self.noise, [0, 10**6], [100, 1])
        bias = (100 * float(clipped(self.noise, 0).bias)) ** 2
        return (
            f"At this level the expected squared error is {format_number(total)}. The bias makes "
            f"{format_number(100 * bias / total, 2)} % of it, and the large cell's own noise has "
            f"variance {format_number(self.noise.variance)}."
        )


def study(epsilon: float, rho: float, ds: Sequence[float]) -> Findings:
    """Return what clipping does at some numbers of cells.

    Examples
    --------
    >>> study(0.5, 0.125, [2, 1000]).worst.round().tolist()
    [16.0, 923671.0]
    """
    return Findings(epsilon, rho, np.array(sorted(set(ds)), dtype=float))
