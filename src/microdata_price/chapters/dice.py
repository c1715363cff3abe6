"""The activity with dice: exact laws of a class's two sums, and a level that keeps a total."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..base.numbers import check_whole
from ..theory.upper.projection import project

SIDES = 6  # of a die; with cards, the ace to the six
VALUES = np.arange(-(SIDES - 1), SIDES, dtype=float)  # red minus white, in counts
CHANCES = (SIDES - np.abs(VALUES)) / SIDES**2
SIZES = (1, 2, 5, 10, 15, 20, 25, 30, 40, 60, 100)


def power(law, times):
    """Return the law of a sum of so many independent terms, by halving."""
    if times == 1:
        return law
    half = power(law, times // 2)
    both = np.convolve(half, half)
    return np.convolve(both, law) if times % 2 else both


def signed_sum_law(students):
    """Return the probabilities of the sum of signed rolls, from -5 students upwards."""
    return power(CHANCES, students)


def clipped_sum_law(students):
    """Return the probabilities of the sum of clipped rolls, from 0 upwards."""
    law = np.zeros(SIDES)
    np.add.at(law, np.maximum(VALUES, 0).astype(int), CHANCES)
    return power(law, students)


def signed_farther(students):
    """Return the chance that the signed sum is farther from 0 than the clipped one.

    The signed sum is p - n, with p and n the sums above and below zero; it is farther if n > 2 p.
    """
    steps = np.where(VALUES < 0, -VALUES, -2 * VALUES).astype(int)
    law = np.zeros(3 * SIDES - 2)
    np.add.at(law, steps + 2 * (SIDES - 1), CHANCES)
    return float(power(law, students)[2 * (SIDES - 1) * students + 1 :].sum())


@dataclass
class Activity:
    """A class of so many students; every value is a finite sum."""

    students: int = 24
    seed: int = 1

    def __post_init__(self):
        check_whole(self.students, "the number of students", 1, 1000)

    one_mean = float(CHANCES @ np.maximum(VALUES, 0))
    one_variance = float(CHANCES @ VALUES**2)
    one_square = float(CHANCES @ np.maximum(VALUES, 0) ** 2)
    gain = one_variance / one_square  # of the squared errors of one street
    zero_percent = 100 * float(CHANCES[VALUES <= 0].sum())

    @property
    def signed_std(self):
        return math.sqrt(self.students * self.one_variance)

    @property
    def clipped_mean(self):
        return self.students * self.one_mean

    @property
    def clipped_std(self):
        return math.sqrt(self.students * (self.one_square - self.one_mean**2))

    @cached_property
    def farther_percent(self):
        return [100 * signed_farther(rounds * self.students) for rounds in (1, 2)]

    @property
    def break_even(self):
        """The fewest students for whom the clipped sum has the larger squared error."""
        spread = self.one_square - self.one_mean**2
        return max(1, math.floor((self.one_variance - spread) / self.one_mean**2) + 1)

    @property
    def laws(self):
        n = self.students
        return signed_sum_law(n), -(SIDES - 1) * n, clipped_sum_law(n)

    @cached_property
    def answers(self):
        classes = [Activity(n) for n in SIZES]
        return pd.DataFrame(
            {
                "students": SIZES,
                "signed: ±": [c.signed_std for c in classes],
                "clipped: mean": [c.clipped_mean for c in classes],
                "clipped: ±": [c.clipped_std for c in classes],
                "signed farther, one round, %": [c.farther_percent[0] for c in classes],
                "two rounds, %": [c.farther_percent[1] for c in classes],
            }
        )

    @cached_property
    def example(self):
        """One round, street by street: rolls, clipped, and lowered to the announced total."""
        rng = np.random.default_rng(self.seed)
        rolls = rng.choice(VALUES, size=self.students, p=CHANCES)
        total = max(0.0, float(rng.choice(VALUES, p=CHANCES)))
        return pd.DataFrame(
            {
                "street": np.arange(1, self.students + 1),
                "red − white": rolls,
                "clipped": np.maximum(rolls, 0.0),
                "levelled": project(rolls, total),
            }
        )
