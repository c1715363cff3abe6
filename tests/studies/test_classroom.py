"""The dice: closed forms against brute force over all rolls."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.studies.classroom import (
    CHANCES,
    VALUES,
    DiceActivity,
    clipped_sum_law,
    signed_sum_law,
    worked_example,
)

ROLLS = [red - white for red in range(1, 7) for white in range(1, 7)]


def test_one_roll_counted_by_hand():
    counted = [ROLLS.count(int(v)) / 36 for v in VALUES]
    assert np.allclose(CHANCES, counted, atol=1e-15)


def test_three_students_counted_by_hand():
    sums = [sum(max(0, r) for r in three) for three in itertools.product(ROLLS, repeat=3)]
    law = clipped_sum_law(3)
    counted = np.bincount(sums, minlength=law.size) / len(sums)
    assert np.allclose(law, counted, atol=1e-14)
    activity = DiceActivity(3)
    assert activity.clipped_mean == pytest.approx(np.mean(sums))
    assert activity.clipped_std == pytest.approx(np.std(sums))


@given(st.integers(1, 60))
def test_laws_have_the_stated_moments(students):
    activity = DiceActivity(students)
    clipped, signed = clipped_sum_law(students), signed_sum_law(students)
    at = np.arange(clipped.size)
    place = np.arange(signed.size) - 5 * students
    assert clipped.sum() == pytest.approx(1)
    assert signed.sum() == pytest.approx(1)
    assert clipped @ at == pytest.approx(activity.clipped_mean)
    assert clipped @ at**2 - (clipped @ at) ** 2 == pytest.approx(activity.clipped_std**2)
    assert signed @ place == pytest.approx(0, abs=1e-9)
    assert signed @ place**2 == pytest.approx(activity.signed_std**2)


def test_break_even_is_where_the_squared_errors_cross():
    n = DiceActivity(1).break_even

    def worse(students):
        a = DiceActivity(students)
        return a.clipped_mean**2 + a.clipped_std**2 > a.signed_std**2

    assert worse(n)
    assert not any(worse(k) for k in range(1, n))


@given(st.lists(st.sampled_from(ROLLS), min_size=1, max_size=40), st.sampled_from(ROLLS))
def test_levelled_cells_are_a_table_with_the_announced_sum(rolls, total):
    clipped, levelled = worked_example(np.array(rolls, dtype=float), total)
    assert (clipped >= 0).all()
    assert (levelled >= 0).all()
    assert levelled.sum() == pytest.approx(max(0, total))


@pytest.mark.parametrize("students", [0, -1, 1.5, True, 1001, "ten"])
def test_no_class(students):
    with pytest.raises(InputError, match="whole number from 1 to 1,000"):
        DiceActivity(students)
