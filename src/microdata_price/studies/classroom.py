"""A classroom activity with dice: clipping bias adds up, and a water level takes it back (ours).

Each student is an empty cell and rolls two dice. The red minus the white one is noise: symmetric
about zero, from -5 to 5. Everything about it is a finite sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..base.numbers import check_whole
from ..theory.upper.projection import project

Array = NDArray[np.float64]

SIDES = 6
"""Sides of a die; with cards, the ace to the six."""

VALUES = np.arange(-(SIDES - 1), SIDES, dtype=float)
"""What red minus white can be, in counts."""

CHANCES = (SIDES - np.abs(VALUES)) / SIDES**2
"""Its probabilities."""


def clipped_sum_law(students: int) -> Array:
    """Return the probabilities of the sum of clipped rolls, from 0 upwards.

    Parameters
    ----------
    students
        How many roll, from 1 to 1,000.

    Returns
    -------
    ndarray
        Shape (5 students + 1,), for the sums 0, 1, ..., 5 students.

    Raises
    ------
    InputError
        No whole number of students from 1 to 1,000.

    Examples
    --------
    >>> law = clipped_sum_law(1)
    >>> (law * 36).round(9).tolist()
    [21.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    """
    return _power(_clipped_law(), check_students(students))


def signed_sum_law(students: int) -> Array:
    """Return the probabilities of the sum of signed rolls, from -5 students upwards.

    Examples
    --------
    >>> float(signed_sum_law(2).sum().round(12))
    1.0
    """
    return _power(CHANCES, check_students(students))


def check_students(students: int) -> int:
    """Return the number of students, or say why it cannot be one.

    Examples
    --------
    >>> check_students(24)
    24
    """
    return check_whole(students, "the number of students", 1, 1000)


def _clipped_law() -> Array:
    law = np.zeros(SIDES)
    np.add.at(law, np.maximum(VALUES, 0).astype(int), CHANCES)
    return law


def _power(law: Array, times: int) -> Array:
    """Convolve a law with itself; halving keeps it quick for a whole lecture hall."""
    if times == 1:
        return law
    half = _power(law, times // 2)
    both = np.convolve(half, half)
    return np.convolve(both, law) if times % 2 else both


@dataclass(frozen=True)
class DiceActivity:
    """What a class of so many students should find, exactly.

    Parameters
    ----------
    students
        How many roll.

    Examples
    --------
    >>> round(DiceActivity(36).clipped_mean, 9)
    35.0
    """

    students: int

    def __post_init__(self) -> None:
        check_students(self.students)

    @property
    def signed_std(self) -> float:
        """Standard deviation of the sum of signed rolls; its mean is 0."""
        return math.sqrt(self.students * float(CHANCES @ VALUES**2))

    @property
    def clipped_mean(self) -> float:
        """Mean of the sum of clipped rolls."""
        return self.students * float(CHANCES @ np.maximum(VALUES, 0))

    @property
    def clipped_std(self) -> float:
        """Standard deviation of the sum of clipped rolls."""
        one = CHANCES @ np.maximum(VALUES, 0) ** 2 - (self.clipped_mean / self.students) ** 2
        return math.sqrt(self.students * float(one))

    @cached_property
    def clipped_beats(self) -> float:
        """Chance that the clipped sum is further from the truth, 0, than twice `signed_std`."""
        law = clipped_sum_law(self.students)
        return float(law[np.arange(law.size) > 2 * self.signed_std].sum())

    @property
    def break_even(self) -> int:
        """The fewest students for whom the clipped sum's squared error is the larger."""
        bias = self.clipped_mean / self.students
        spread = (self.clipped_std**2) / self.students
        gain = float(CHANCES @ VALUES**2) - spread
        return max(1, math.floor(gain / bias**2) + 1)


def worked_example(rolls: Array, total_roll: float) -> tuple[Array, Array]:
    """Return what clipping and what the water level make of a class's rolls.

    Parameters
    ----------
    rolls
        Red minus white of every student; all cells are truly empty, shape (students,).
    total_roll
        Red minus white of the teacher: the noise on the sum.

    Returns
    -------
    clipped, levelled
        The cells after clipping, and after fitting their sum to ``max(0, total_roll)``.

    Examples
    --------
    >>> clipped, levelled = worked_example(np.array([3.0, -2.0, 1.0]), 2.0)
    >>> clipped.tolist(), levelled.tolist()
    ([3.0, 0.0, 1.0], [2.0, 0.0, 0.0])
    """
    rolls = np.asarray(rolls, dtype=float)
    return np.maximum(rolls, 0.0), project(rolls, max(0.0, float(total_roll)))
