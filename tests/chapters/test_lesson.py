"""The lesson and its dice: exact laws against all rolls, and what the slides quote."""

import itertools
import math

import numpy as np
import pytest
from chapter_texts import says

from microdata_price.chapters.dice import Activity, clipped_sum_law, signed_sum_law
from microdata_price.chapters.lesson import Lesson, demand
from microdata_price.exceptions import InputError

ROLLS = [red - white for red in range(1, 7) for white in range(1, 7)]


@pytest.mark.parametrize("students", [1, 2, 3])
def test_few_students_counted_by_hand(students):
    rolls = np.array(list(itertools.product(ROLLS, repeat=students)))
    signed, clipped = rolls.sum(axis=1), np.maximum(rolls, 0).sum(axis=1)
    laws = signed_sum_law(students), clipped_sum_law(students)
    for sums, law in zip((signed + 5 * students, clipped), laws, strict=True):
        assert np.allclose(law, np.bincount(sums, minlength=law.size) / len(rolls), atol=1e-14)
    farther = 100 * (abs(signed) > clipped).mean()
    assert Activity(students).farther_percent[0] == pytest.approx(farther)
    assert students != 2 or Activity(1).farther_percent[1] == pytest.approx(farther)


def test_laws_have_the_stated_moments_and_squared_errors_cross_at_break_even():
    for students in range(1, 61):
        activity = Activity(students)
        signed, first, clipped = activity.laws
        at, place = np.arange(clipped.size), first + np.arange(signed.size)
        assert clipped @ at == pytest.approx(activity.clipped_mean)
        assert clipped @ at**2 - (clipped @ at) ** 2 == pytest.approx(activity.clipped_std**2)
        assert signed @ place**2 == pytest.approx(activity.signed_std**2)
        assert (clipped @ at**2 > signed @ place**2) == (students >= activity.break_even)
    for students in (0, 1.5, 1001):
        with pytest.raises(InputError, match="whole number from 1 to 1,000"):
            Activity(students)


@pytest.mark.parametrize(("epsilon", "d"), [(0.5, 1000), (0.1, 50), (2.0, 10**5), (20.0, 1000)])
def test_what_the_slides_quote_is_what_a_student_computes(epsilon, d):
    found, signed = Lesson(epsilon, d), math.sqrt(8) / epsilon
    assert (found.one_bias, found.all_biases) == pytest.approx((0.5 / epsilon, d / epsilon / 2))
    m = np.arange(0, 2000)
    with np.errstate(over="ignore"):
        demanded = m - np.exp(epsilon * m) * signed / d
    assert found.demanded == pytest.approx(max(demanded.max(), 0))
    assert found.best_m == 1 + demanded[1:].argmax()
    (clip_sum, clip_cell), (keep_sum, keep_cell) = found.marks
    assert (clip_sum > 1, clip_cell < 1) == (epsilon < 20, True)
    assert found.sum_errors[0] < min(clip_sum, keep_sum)
    assert max(clip_sum, keep_sum) < found.sum_errors[-1]
    assert (found.must <= keep_cell, found.must_sum <= clip_sum) == (True, True)
    assert keep_sum <= 1 + 1e-12
    said = found.values
    assert says(said["clip_error"], clip_sum * signed)
    assert says(said["odds_percent"], min(np.exp(epsilon), 100 - 99 * np.exp(-epsilon)))
    assert (said["must"], found.must > 0) in (("nothing", False), (demand(found.must), True))
    _, first, second = found.densities
    assert np.maximum(first / second, second / first).max() == pytest.approx(math.exp(epsilon))
