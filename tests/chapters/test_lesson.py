"""The lesson and its dice: exact laws against all rolls, and what the slides quote."""

import itertools
import math

import numpy as np
import pytest
from chapter_texts import filled, says
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.chapters.dice import Activity, clipped_sum_law, signed_farther, signed_sum_law
from microdata_price.chapters.lesson import Lesson
from microdata_price.exceptions import InputError

ROLLS = [red - white for red in range(1, 7) for white in range(1, 7)]


@pytest.mark.parametrize("students", [1, 1000])
def test_the_dice_read_whole(students):
    said = filled("dice", students=students)
    assert says(said[0], students * float(np.mean(np.maximum(ROLLS, 0))))


def test_three_students_counted_by_hand():
    triples = np.array(list(itertools.product(ROLLS, repeat=3)))
    signed, clipped = triples.sum(axis=1), np.maximum(triples, 0).sum(axis=1)
    for sums, law in ((clipped, clipped_sum_law(3)), (signed + 15, signed_sum_law(3))):
        counted = np.bincount(sums, minlength=law.size) / len(triples)
        assert np.allclose(law, counted, atol=1e-14)
    assert signed_farther(3) == pytest.approx((abs(signed) > clipped).mean())


def test_in_one_round_of_eleven_the_signed_sum_is_the_farther_one():
    one, two = Activity(24).farther_percent
    roll = np.random.default_rng(5).choice(ROLLS, size=(100_000, 24))
    farther = abs(roll.sum(axis=1)) > np.maximum(roll, 0).sum(axis=1)
    assert abs(one / 100 - farther.mean()) < 5 * farther.std() / math.sqrt(farther.size)
    assert two < one / 2


@given(st.integers(1, 60))
def test_laws_have_the_stated_moments(students):
    activity = Activity(students)
    signed, first, clipped = activity.laws
    at, place = np.arange(clipped.size), first + np.arange(signed.size)
    assert clipped @ at == pytest.approx(activity.clipped_mean)
    assert clipped @ at**2 - (clipped @ at) ** 2 == pytest.approx(activity.clipped_std**2)
    assert signed @ place**2 == pytest.approx(activity.signed_std**2)


def test_break_even_is_where_the_squared_errors_cross():
    n = Activity(1).break_even
    for students in range(1, n + 1):
        a = Activity(students)
        worse = a.clipped_mean**2 + a.clipped_std**2 > a.signed_std**2
        assert worse == (students == n)


@pytest.mark.parametrize("students", [0, -1, 1.5, True, 1001, "ten"])
def test_no_class(students):
    with pytest.raises(InputError, match="whole number from 1 to 1,000"):
        Activity(students)


@pytest.mark.parametrize(("epsilon", "d"), [(0.5, 1000), (0.1, 50), (2.0, 10**5)])
def test_what_the_slides_quote_is_what_a_student_computes(epsilon, d):
    found = Lesson(epsilon, d)
    signed = math.sqrt(8) / epsilon
    assert found.one_bias == pytest.approx(1 / (2 * epsilon))
    assert found.all_biases == pytest.approx(d / (2 * epsilon))
    m = np.arange(0, 2000)
    with np.errstate(over="ignore"):
        demanded = m - np.exp(epsilon * m) * signed / d
    assert found.demanded == pytest.approx(demanded.max())
    assert found.best_m == demanded.argmax()
    (clip_sum, clip_cell), (keep_sum, keep_cell) = found.marks
    assert clip_sum > 1 > clip_cell
    assert found.must <= keep_cell
    assert found.must_sum <= clip_sum
    assert keep_sum <= 1 + 1e-12
    _, first, second = Lesson(epsilon, d).densities
    ratio = np.maximum(first / second, second / first).max()
    assert ratio == pytest.approx(math.exp(epsilon))
