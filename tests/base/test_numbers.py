"""Numbers as text stay on their side; means and runs are as asked."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.base.numbers import Mean, at_least, at_most, format_number, runs_within


def read(written):
    plain = re.sub(r"^(-?)10(?=[⁻⁰¹²³⁴⁵⁶⁷⁸⁹])", r"\g<1>1 × 10", written.replace("−", "-"))
    mantissa, _, power = plain.replace(",", "").partition(" × 10")
    return float(f"{mantissa}e{power.translate(str.maketrans('⁻⁰¹²³⁴⁵⁶⁷⁸⁹', '-0123456789')) or 0}")


@given(st.floats(-1e300, 1e300), st.integers(1, 8))
def test_bounds_are_rounded_outward_and_stay_near(value, digits):
    low, high = read(at_least(value, digits)), read(at_most(value, digits))
    assert low <= value <= high
    assert high - low <= 2.0002 * 10.0 ** (1 - digits) * abs(value) or abs(value) < 1e-300
    near = pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits), abs=5e-324)
    assert read(format_number(value, digits)) == near


@given(st.floats(-1e9, 1e9), st.floats(1e-9, 1e9))
def test_a_standard_error_is_written_to_its_second_digit_and_its_value_as_far(value, se):
    se += 1e-11 * abs(value)  # less is rounding, written as 0
    written = format_number(value, se=se).split(" ± ")
    assert len({len(w.partition(".")[2]) for w in written}) == 1
    first, second = map(read, written)
    assert second == pytest.approx(se, rel=0.051)
    assert abs(first - value) <= 0.051 * se * 1.0001 + 1e-9 * abs(value)


def test_what_is_written_in_full_is_not_moved():
    for value in (0.0, 7.0, -7.0, 0.5, 123456.0, 0.03):
        assert at_least(value) == at_most(value) == format_number(value)


def test_a_mean_is_that_of_its_runs():
    mean = Mean.of(np.array([1.0, 2.0, 6.0]))
    assert (mean.value, mean.error) == pytest.approx((3.0, math.sqrt(7 / 3)))
    assert mean.times(-2.0).error == pytest.approx(2 * mean.error)
    assert math.isnan(Mean.of([3.0]).error)
    texts = [str(Mean(*m)) for m in ((3.0, 1.5), (-0.01, 1.0), (20.0, 7e-16))]
    assert texts == ["3.0 ± 1.5", "0.0 ± 1.0", "20 ± 0"]


@given(st.integers(2, 10**6), st.integers(2, 4 * 10**6))
def test_a_simulation_makes_the_runs_asked_for_or_as_many_as_can_be_afforded(runs, size):
    made = runs_within(runs, size)
    assert min(runs, 10) <= made <= runs
    assert made == runs or made == 10 or made * size <= 4 * 10**7 < (made + 1) * size
