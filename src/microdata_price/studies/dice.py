"""What the chapter with the dice says: both sums of a class, and one round played."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import at_least, format_number
from ..page.output import Caption
from .classroom import CHANCES, VALUES, DiceActivity, worked_example

Array = NDArray[np.float64]

SIZES = (1, 2, 5, 10, 15, 20, 25, 30, 40, 60, 100)
"""Classes for which the table has the answers."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What a class should find, and one round of it.

    Parameters
    ----------
    activity
        The exact answers.
    rolls
        Red minus white of every student in the round, shape (students,).
    clipped, levelled
        What clipping and the water level make of them.
    """

    activity: DiceActivity
    rolls: Array
    clipped: Array
    levelled: Array

    @property
    def signed_std(self) -> str:
        """The signed sum's standard deviation, as it is quoted."""
        return format_number(self.activity.signed_std, 2)

    @property
    def clipped_mean(self) -> str:
        """The clipped sum's mean, as it is quoted."""
        return format_number(self.activity.clipped_mean)

    @property
    def one_mean(self) -> str:
        """The mean of one clipped roll, as it is quoted."""
        return format_number(float(CHANCES @ np.maximum(VALUES, 0)))

    @property
    def opening(self) -> str:
        """What comes out."""
        n = self.activity.students
        class_of = "A class of one" if n == 1 else f"A class of {format_number(n)}"
        return (
            f"**The village is empty, and its clipped total is {self.clipped_mean} on average.** "
            f"{class_of} rolls. Signed, the noises cancel: 0, give or take {self.signed_std}. Cut "
            "at zero, they all point the same way."
        )

    @property
    def picture(self) -> Caption:
        """What is said about the picture of both laws."""
        a = self.activity
        return Caption(
            f"The exact chances of both sums for {format_number(a.students)} "
            f"{'student' if a.students == 1 else 'students'}. The truth is 0. The clipped sum is "
            f"{self.clipped_mean} on average, with a standard deviation of "
            f"{format_number(a.clipped_std, 2)}; the signed one is 0 on average, with "
            f"{self.signed_std}.",
            alt="Two hills of bars. The grey one, the signed sum, is centred at zero. The hatched "
            f"one, the clipped sum, is narrower and centred at {self.clipped_mean}.",
        )

    @property
    def expected(self) -> str:
        """Both sums in numbers."""
        a = self.activity
        zero = format_number(100 * float(CHANCES[VALUES <= 0].sum()), 2)
        return (
            f"Exactly, the signed sum is 0 give or take {self.signed_std} (one standard "
            f"deviation), and the clipped sum is {self.clipped_mean} give or take "
            f"{format_number(a.clipped_std, 2)}. A street contributes only {self.one_mean} of a "
            f"person on average, and {zero} % of the streets are published as exactly empty, which "
            "is right. But the small errors all point the same way. With a chance of "
            f"{format_number(100 * a.clipped_beats)} % the clipped sum is off by more than twice "
            "the signed sum's standard deviation."
        )

    @property
    def break_even(self) -> str:
        """From how many students on clipping is worse for the total."""
        gain = DiceActivity(1).signed_std ** 2 / float(CHANCES @ np.maximum(VALUES, 0) ** 2)
        return (
            f"From {self.activity.break_even} students on, the clipped sum has the larger expected "
            "squared error. Every single street, on the other hand, has an expected squared error "
            f"at least {at_least(gain, 2)} times smaller when it is clipped. That is the first "
            "half of the uncertainty principle: good parts, bad total."
        )

    @property
    def answers(self) -> pd.DataFrame:
        """The exact answers for classes of many sizes."""
        classes = [DiceActivity(n) for n in SIZES]
        return pd.DataFrame(
            {
                "students": SIZES,
                "signed: ±": [c.signed_std for c in classes],
                "clipped: mean": [c.clipped_mean for c in classes],
                "clipped: ±": [c.clipped_std for c in classes],
                "off by more than 2 signed ±, %": [100 * c.clipped_beats for c in classes],
            }
        )

    @property
    def answers_caption(self) -> str:
        """What is said about that table."""
        return (
            "The answers for classes of other sizes, all exact: standard deviations, means, and "
            "the chance that the clipped sum is far off."
        )

    @property
    def example(self) -> pd.DataFrame:
        """One round, street by street."""
        return pd.DataFrame(
            {
                "street": np.arange(1, self.rolls.size + 1),
                "red − white": self.rolls,
                "clipped": self.clipped,
                "levelled": self.levelled,
            }
        )

    @property
    def example_caption(self) -> str:
        """What is said about that round."""
        sums = [format_number(float(a.sum())) for a in (self.rolls, self.clipped, self.levelled)]
        return (
            f"Another round, with a level of any height: the rolls add up to {sums[0]}, the "
            f"clipped ones to {sums[1]}, and the levelled ones to {sums[2]}, as announced."
        )


def study(students: int = 24, seed: int = 32) -> Findings:
    """Compute what a class should find, and play one round (ours).

    Parameters
    ----------
    students
        How many roll, from 1 to 1,000.
    seed
        Of the round.

    Raises
    ------
    InputError
        No whole number of students from 1 to 1,000.

    Examples
    --------
    >>> study(24).one_mean
    '0.972'
    """
    activity = DiceActivity(students)
    rng = np.random.default_rng(seed)
    rolls = rng.choice(VALUES, size=students, p=CHANCES)
    clipped, levelled = worked_example(rolls, float(rng.choice(VALUES, p=CHANCES)))
    return Findings(activity, rolls, clipped, levelled)
