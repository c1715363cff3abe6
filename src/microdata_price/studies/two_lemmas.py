"""Two lemmas: how large the largest of many noises is, and the level that fits a sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import at_most, format_number
from ..fitting import fit
from ..model.measurement import Measurements, measure
from ..model.noise import Gaussian, Laplace
from ..model.privacy import PureDP
from ..model.workload import Workload
from ..page.output import Caption
from ..theory.difficult import difficult_table
from ..theory.upper.extremes import Extremes, extremes, lemma1, lemma1_split
from ..theory.upper.projection import bracket, project, threshold

Array = NDArray[np.float64]

SPLIT_D = 1000
"""The number of draws at which the lemma's choice is looked at."""


DRAWN = 400
"""The most cells of one draw that are drawn."""


@dataclass(frozen=True, eq=False)
class Largest:
    """Moments of the largest absolute noise, exact and by the paper's Lemma 1.

    Parameters
    ----------
    ds
        Numbers of draws, increasing.
    laplace, gaussian
        Exact and by the lemma, in scales and standard deviations.
    """

    ds: Array
    laplace: tuple[Extremes, Extremes]
    gaussian: tuple[Extremes, Extremes]

    @property
    def last(self) -> tuple[float, float]:
        """The exact means at the most draws: Laplace, Gaussian."""
        means = (np.asarray(exact.mean) for exact, _ in (self.laplace, self.gaussian))
        laplace, gauss = (float(m[-1]) for m in means)
        return laplace, gauss

    @property
    def opening(self) -> str:
        """What was found."""
        return (
            f"The largest of {format_number(self.ds[-1])} Laplace noises is only "
            f"{format_number(self.last[0])} scales on average, and the largest "
            f"of as many Gaussian noises {format_number(self.last[1])} "
            "standard deviations. The first is where the $\\ln d$ of the whole subject comes from, "
            "and the second why concentrated differential privacy pays less for microdata than "
            "pure."
        )

    @property
    def million_said(self) -> str:
        """The largest of a million Laplace noises."""
        million = format_number(float(extremes(Laplace(1.0), 1e6).mean))
        return (
            "*Look at:* the logarithm. The largest of a million Laplace noises is "
            f"{million} scales on average, not a thousand. (The paper's proof calls the scale a "
            '"location parameter" once.)'
        )

    @property
    def moments(self) -> pd.DataFrame:
        """Exact moments and bounds at each number of draws."""
        columns: dict[str, object] = {"d": [format_number(d) for d in self.ds]}
        for name, (exact, bound) in (("Laplace", self.laplace), ("Gaussian", self.gaussian)):
            columns[f"{name}: mean"] = exact.mean
            columns[f"{name}: bound on it"] = bound.mean
            columns[f"{name}: mean square"] = exact.square
            columns[f"{name}: its bound"] = bound.square
        return pd.DataFrame(columns)

    @property
    def moments_caption(self) -> str:
        """What is said about the table of moments."""
        return (
            "Moments of the largest absolute noise, exact and by Lemma 1, in scales (Laplace) and "
            "standard deviations (Gaussian)."
        )

    @property
    def ratios(self) -> Array:
        """All bounds over the exact values: one row a bound, one column a number of draws."""
        return np.array(
            [
                getattr(bound, moment) / getattr(exact, moment)
                for exact, bound in (self.laplace, self.gaussian)
                for moment in ("mean", "square")
            ]
        )

    @property
    def bounds_said(self) -> str:
        """How loose the bounds are at most."""
        ratios = self.ratios
        where = int(ratios.max(axis=0).argmax())
        return (
            "The bounds are never below the exact values. The loosest of them, at $d =$ "
            f"{format_number(self.ds[where])}, is at most {at_most(float(ratios.max()))} times the "
            "truth."
        )

    @property
    def growth(self) -> Caption:
        """What is said about the picture of growth."""
        laplace, gauss = self.last
        return Caption(
            "The expected largest noise, in absolute value. At "
            f"$d =$ {format_number(self.ds[-1])} it is {format_number(laplace)} scales for "
            f"Laplace noise and {format_number(gauss)} "
            "standard deviations for Gaussian noise: this is the whole difference between $\\ln d$ "
            "and $\\sqrt{\\ln d}$ in the theorems.",
            alt="Two panels. Left, for Laplace noise, two parallel lines that rise in proportion "
            "to the logarithm of d. Right, for Gaussian noise, two curves that rise ever more "
            "slowly and come together.",
        )

    @property
    def split(self) -> Caption:
        """What is said about the picture of split points."""
        laplace = Laplace(1.0)
        bound = float(lemma1(laplace, SPLIT_D).mean)
        exact = float(extremes(laplace, SPLIT_D).mean)
        return Caption(
            "The bound on the largest of 1,000 Laplace noises for every split point. The lemma "
            f"takes the best, $\\ln 1000$, and gets {format_number(bound, 4)} scales; exactly it "
            f"is {format_number(exact, 4)}.",
            alt="A curve that falls steeply from the union bound at a split point of zero, has its "
            "minimum where a diamond marks the lemma's choice, and rises as a straight line; a "
            "dashed line below it is the exact value.",
        )


@dataclass(frozen=True, eq=False)
class Level:
    """The level that fits one draw's noisy sum.

    Parameters
    ----------
    cells, total
        Noisy cells, shape (d,), and the noisy sum cut at zero, in counts.
    level
        What is taken off every cell.
    low, high
        The ends between which the proof of Theorem 4 puts it.
    apart
        By how much the general solver's table differs at most.
    worst_certificate
        Of the general solver's fit.
    """

    cells: Array
    total: float
    level: float
    low: float
    high: float
    apart: float
    worst_certificate: float

    @property
    def kept(self) -> int:
        """How many cells keep something."""
        return int((self.cells > self.level).sum())

    @property
    def curve(self) -> tuple[Array, Array]:
        """Levels, and the sum of what lies above each."""
        low, high = min(self.cells.min(), self.level) - 1, self.cells.max() + 1
        grid = np.linspace(low, high, 300)
        return grid, np.array([np.maximum(self.cells - level, 0.0).sum() for level in grid])

    @property
    def picture(self) -> Caption:
        """What is said about the picture of the level."""
        d, kept = self.cells.size, self.kept
        below = ", some below zero" if np.sort(self.cells)[-DRAWN:].min() < 0 else ""
        drawn = "" if d <= DRAWN else f" The {DRAWN} largest are drawn."
        return Caption(
            f"Noisy cells, and the level $\\gamma =$ {format_number(self.level)} at which what is "
            f"above adds up to the noisy sum {format_number(self.total)} (right). Of {d:,} cells, "
            f"{kept:,} keep something.{drawn}",
            alt=f"Left, {min(d, DRAWN)} bars{below}, with a dashed level; only what is "
            f"above the level is hatched, in {kept} bars. Right, a falling bent line: the sum of "
            "what lies above the level; a dotted line leads from the wanted sum to the level.",
        )

    @property
    def said(self) -> str:
        """What the level does, and that the general solver agrees."""
        move = f"gives up {format_number(self.level)}"
        if self.level < 0:
            move = f"gains {format_number(-self.level)}"
        return (
            f"The level is {format_number(self.level)}: every cell {move} or all it has, "
            f"{self.kept:,} keep something, and what they keep adds up to "
            f"{format_number(self.total)}. The general solver behind sequential fitting, which "
            "knows nothing of levels, finds the same table to within "
            f"{at_most(self.apart, 1)} records."
        )

    @property
    def ends_said(self) -> str:
        """Between which ends the proof puts the level."""
        return (
            f"Here the ends are {format_number(self.low)} and {format_number(self.high)}. [The "
            "next chapters](upper_projection.ipynb) use it."
        )


def largest(ds: Sequence[float]) -> Largest:
    """Return the moments of the largest noise at some numbers of draws (the paper's Lemma 1).

    Examples
    --------
    >>> float(largest([2]).laplace[0].mean[0])
    1.5
    """
    draws = np.array(sorted(set(ds)), dtype=float)
    laplace, gaussian = Laplace(1.0), Gaussian(1.0)
    return Largest(
        draws,
        (extremes(laplace, draws), lemma1(laplace, draws)),
        (extremes(gaussian, draws), lemma1(gaussian, draws)),
    )


def splits() -> tuple[Array, Array, float, float]:
    """Return split points, the bound that each gives, the exact value and the best split."""
    laplace = Laplace(1.0)
    points = np.linspace(0.0, 2.2 * math.log(SPLIT_D) + 1, 240)
    bounds = np.asarray(lemma1_split(laplace, SPLIT_D, points).mean)
    return points, bounds, float(extremes(laplace, SPLIT_D).mean), math.log(SPLIT_D)


def one_draw(epsilon: float, d: int, seed: int) -> Measurements:
    """Return one draw of noisy answers to the difficult table."""
    rng = np.random.default_rng(seed)
    table = difficult_table(d, epsilon)
    return measure(table, Workload.table(d), PureDP(epsilon), runs=1, rng=rng)


def level_of(noisy: Measurements, epsilon: float) -> Level:
    """Return the level that fits the sum of one draw (the paper's Lemma 2).

    Examples
    --------
    >>> level_of(one_draw(0.5, 20, seed=4), 0.5).apart < 1e-6
    True
    """
    measured, cells = float(noisy.answers[0][0, 0]), np.asarray(noisy.answers[1][0])
    total = max(0.0, measured)
    table = difficult_table(cells.size, epsilon)
    ends = bracket(cells - table, measured - table.sum())
    reference = fit(noisy, "sequential")
    return Level(
        cells,
        total,
        float(threshold(cells, total)),
        float(ends.low),
        float(ends.high),
        float(np.abs(reference.cells[0] - project(cells, total)).max()),
        reference.certificate.worst,
    )
