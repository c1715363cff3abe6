"""The lesson of fifty minutes: what its slides show and say, computed for one class."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.numbers import Mean, at_least, at_most, format_number
from ..model.noise import Laplace
from ..model.privacy import PureDP
from ..page.output import Caption
from ..theory.difficult import difficult_table
from ..theory.upper.exact_errors import clipped, clipped_sum
from ..theory.upper.extremes import extremes
from . import lower_pure, two_lemmas, upper_projection
from .classroom import CHANCES, VALUES, DiceActivity
from .plane import Plane

Array = NDArray[np.float64]

STREETS = 20
"""Cells of the table whose level is drawn; more would not be told apart from the last row."""
_RUNS = 2000
"""Draws of the table for the level's mean."""
_DRAWS = 40_000_000
"""The most noises drawn for it: larger tables have fewer draws."""
_TENS = np.unique(np.round(np.geomspace(10, 1e6, 31)))


def _largest_upwards(noise: Laplace, d: Array) -> Array:
    """Return the mean of the largest of d Laplace noises, or of 0 if none is positive.

    The largest *absolute* noise has the mean ``b H_d``. Half of the noises are negative, and the
    level has nothing to do with those: ``b sum_k (1 - 2^-k) / k`` for k from 1 to d.

    Examples
    --------
    >>> [float(mean) for mean in _largest_upwards(Laplace(4.0), np.array([1.0, 2.0]))]
    [2.0, 3.5]
    """
    k = np.arange(1, 1075)  # beyond it 2^-k is 0 in floating point
    lost = np.cumsum(0.5**k / k)[np.minimum(d, k.size).astype(int) - 1]
    mean: Array = np.asarray(extremes(noise, d).mean, dtype=np.float64)
    return np.asarray(mean - noise.scale * lost, dtype=np.float64)


@dataclass(frozen=True)
class Findings:
    """What the lesson says, at one level of privacy and for one class (ours).

    Parameters
    ----------
    epsilon
        Pure differential privacy of all answers together.
    d
        Cells of the table where one is looked at.
    students
        How many roll dice.
    seed
        Of the one draw that is shown.
    """

    epsilon: float
    d: int
    students: int
    seed: int

    @property
    def activity(self) -> DiceActivity:
        """The dice's exact answers."""
        return DiceActivity(self.students)

    @property
    def noise(self) -> Laplace:
        """The noise of every signed answer: half of the budget for the cells, half for the sum."""
        return Laplace(2 / self.epsilon)

    @functools.cached_property
    def game(self) -> lower_pure.HidingGame:
        """The hiding game of the lower bound."""
        return lower_pure.hiding_game(self.epsilon, self.d)

    @functools.cached_property
    def plane(self) -> Plane:
        """The plane of both errors."""
        return Plane(PureDP(self.epsilon), self.d)

    @functools.cached_property
    def draw(self) -> two_lemmas.Level:
        """One draw of a small table, and its level."""
        return two_lemmas.level_of(
            two_lemmas.one_draw(self.epsilon, STREETS, self.seed), self.epsilon
        )

    @functools.cached_property
    def densities(self) -> tuple[Array, Array, Array]:
        """Published counts, and the densities of a lone count of 3 and of 4 with its noise."""
        b = 1 / self.epsilon
        x = np.linspace(3.5 - 4.2 * b, 3.5 + 4.2 * b, 601)
        x = np.unique(np.concatenate([x, [3.0, 4.0]]))
        first, second = (np.exp(-np.abs(x - q) / b) / (2 * b) for q in (3, 4))
        return x, first, second

    @functools.cached_property
    def growth(self) -> tuple[Array, Array, Array]:
        """Numbers of empty cells, and the root errors of the clipped and of the signed sum."""
        sums = [math.sqrt(clipped_sum(self.noise, [0.0], [n])) for n in _TENS]
        return _TENS, np.array(sums), np.full(_TENS.size, self.noise.std)

    @functools.cached_property
    def largest(self) -> tuple[Array, Array, Array]:
        """Numbers of cells, the expected largest noise upwards and the full cell's records."""
        held = [float(difficult_table(int(n), self.epsilon).max()) for n in _TENS]
        return _TENS, _largest_upwards(self.noise, _TENS), np.array(held)

    @functools.cached_property
    def mean_level(self) -> Mean:
        """What is taken off every noisy cell, on average over runs, in records."""
        table = difficult_table(self.d, self.epsilon)
        count = max(20, min(_RUNS, _DRAWS // table.size))
        runs = upper_projection.sampled(table, self.epsilon, count, self.seed)
        return Mean.of(runs.level)

    @property
    def one_bias(self) -> float:
        """What clipping leaves of the noise of one empty cell on average, in records."""
        return float(clipped(self.noise, 0.0).bias)

    @functools.cached_property
    def edge(self) -> Array:
        """The sharpest bound on a cell's error along the plane, in signed errors."""
        return np.asarray(np.max(list(self.plane.curves.values()), axis=0))

    @property
    def marks(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Sum's and cell's error of clipping and of keeping the sum, in signed errors."""
        clip, keep = self.plane.clipping, self.plane.fitted[0]
        return (float(clip.D[0]), float(clip.C[0])), (float(keep.D[0]), float(keep.C[0]))

    @property
    def values(self) -> dict[str, str]:
        """What the slides, the quiz and the handout quote, by name."""
        game = self.game
        return {
            "epsilon": format_number(self.epsilon),
            "d": format_number(self.d),
            "odds": at_most(math.exp(self.epsilon)),
            "odds_percent": at_most(min(100.0, math.exp(self.epsilon))),
            "scale": format_number(self.noise.scale),
            "signed": format_number(self.noise.std),
            "one_bias": format_number(self.one_bias),
            "all_biases": format_number(self.one_bias * self.d),
            "students": format_number(self.students),
            "one_roll": format_number(float(CHANCES @ np.maximum(VALUES, 0))),
            "zero_rolls": format_number(100 * float(CHANCES[VALUES <= 0].sum()), 2),
            "rolls_signed": format_number(self.activity.signed_std, 2),
            "rolls_clipped": format_number(self.activity.clipped_mean),
            "break_even": format_number(self.activity.break_even),
            "mean_level": str(self.mean_level),
            "held": format_number(float(difficult_table(self.d, self.epsilon).max())),
            "moved": format_number(game.own.m),
            "steps": format_number(game.own.steps),
            "room": format_number(game.reached[0]),
            "others": format_number(self.d - 1),
            "must": at_least(self.plane.must[0]),
            "must_sum": at_least(self.plane.must[1]),
            "clip_sum": format_number(self.marks[0][0]),
            "keep_cell": format_number(self.marks[1][1]),
            "star_said": self.star_said,
            "keep_most": at_most(float(self.plane.fitted[1].C[0])),
        }

    @property
    def opening(self) -> str:
        """What the lesson shows."""
        return (
            f"**{format_number(self.d)} empty streets, clipped at zero, are "
            f"{format_number(self.one_bias * self.d)} people too many on average.** Each noise has "
            f"a scale of {format_number(self.noise.scale)} people, and clipping leaves "
            f"{format_number(self.one_bias)} of it in every street."
        )

    @property
    def star_said(self) -> str:
        """What the bounds force at the sum's signed error, and whether that beats the star."""
        must = self.plane.must[0]
        verdict = (
            "so signed answers, the star, are out of reach for microdata"
            if must > 1
            else "so at this number of cells nothing is said against the star"
        )
        return (
            f"With a sum as good as a signed one, some cell on some table errs by at least "
            f"{at_least(must)} signed errors, {verdict}."
        )

    @property
    def dice(self) -> Caption:
        """What is said about the class's sums."""
        a = self.activity
        return Caption(
            f"The class's sum of {format_number(self.students)} empty streets, every chance exact. "
            f"Clipped it is {format_number(a.clipped_mean)} on average.",
            alt="Two hills of bars. The grey one, the signed sum, is centred at zero. The hatched "
            f"one, clipped at zero, is narrower and centred at {format_number(a.clipped_mean)}.",
        )

    @property
    def neighbours(self) -> Caption:
        """What is said about two neighbouring tables."""
        return Caption(
            f"A count of 3 and one of 4, each with Laplace noise of scale $1/\\epsilon$. Nowhere "
            f"is one curve more than $e^\\epsilon$, {at_most(math.exp(self.epsilon))} times, "
            "above the other.",
            alt="Two tents with straight logarithms, one with its peak at 3, one dashed with its "
            "peak at 4. They overlap almost everywhere, also below zero, which is shaded grey.",
        )

    @property
    def growing(self) -> Caption:
        """What is said about the sum's error."""
        return Caption(
            f"The root error of the sum of $d$ empty cells. Clipped, it grows like $d$; measured "
            f"by itself, it stays at {format_number(self.noise.std)} records.",
            alt="On logarithmic axes a straight line rises steadily with the number of cells: the "
            "sum of clipped cells. A flat dashed line below it is the signed sum.",
        )

    @property
    def level(self) -> Caption:
        """What is said about the level."""
        kept, full = self.draw.kept, float(self.draw.cells[0])
        fate = "goes under" if full <= self.draw.level else "stays above it"
        return Caption(
            f"Noisy counts of {STREETS} streets. A level of {format_number(self.draw.level)} "
            f"leaves {kept} of them with the measured sum between them; the full street {fate}.",
            alt=f"Bars of {STREETS} streets, some below zero, with a dashed level. What lies above "
            f"it is hatched, in {kept} of them. The full street is the first bar.",
        )

    @property
    def largest_said(self) -> Caption:
        """What is said about the largest noise."""
        noise = float(_largest_upwards(self.noise, np.array([float(self.d)]))[0])
        held = float(difficult_table(self.d, self.epsilon).max())
        return Caption(
            "The largest of $d$ noises upwards grows by about the same amount whenever $d$ grows "
            f"tenfold. At $d = {format_number(self.d)}$ it is {format_number(noise)} on average. "
            f"The full cell holds {format_number(held)}; the level takes "
            f"{self.mean_level} on average.",
            alt="Against the number of cells, on a logarithmic axis, two straight rising lines: "
            "the expected largest noise upwards, and lower the records of the full cell.",
        )

    @property
    def room(self) -> Caption:
        """What is said about the room for cells."""
        good, _ = self.game.reached
        return Caption(
            f"With a sum as good as a signed one there is room for {good} cells; the game has "
            f"{format_number(self.d - 1)} besides the first.",
            alt="A horizontal bar up to a dashed line, the largest allowed sum. A grey part "
            "belongs to the first cell; the rest is cut into equal blocks, one for each further "
            f"cell that can be served: {good}.",
        )

    @property
    def everything(self) -> Caption:
        """What is said about the plane."""
        hatched = float(self.edge.max()) > 0
        shut = (
            "A hatched region at the lower left is closed to microdata."
            if hatched
            else "No region is shown to be closed to microdata."
        )
        return Caption(
            f"At $\\epsilon = {format_number(self.epsilon)}$ and $d = {format_number(self.d)}$. "
            f"{self.star_said} The square is clipping with the whole budget on the cells.",
            alt="The plane of the sum's error, across, and a cell's error, up, both logarithmic. "
            f"{shut} A star marks signed answers at (1, 1), a square at the right clipping, a "
            "diamond above keeping the sum.",
        )


def study(epsilon: float = 0.5, d: int = 1000, students: int = 24, seed: int = 4) -> Findings:
    """Return what the lesson shows; each thing is computed when it is asked for (ours).

    Parameters
    ----------
    epsilon
        Pure differential privacy of all answers together.
    d
        Cells of the table, 2 or more.
    students
        How many roll, from 1 to 1,000.
    seed
        Of the one draw that is shown.

    Raises
    ------
    InputError
        A value out of range.

    Examples
    --------
    >>> study().values["all_biases"]
    '2,000'
    """
    found = Findings(epsilon, d, students, seed)
    _ = found.activity, found.plane.unit, found.game
    return found
