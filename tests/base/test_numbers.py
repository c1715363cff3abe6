from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.base.numbers import Mean, at_least, at_most, format_number
from microdata_price.exceptions import InputError


def read(written: str) -> float:
    mantissa, _, power = written.replace("−", "-").replace(",", "").partition(" × 10")
    return float(f"{mantissa}e{power.translate(str.maketrans('⁻⁰¹²³⁴⁵⁶⁷⁸⁹', '-0123456789')) or 0}")


@given(st.floats(-1e300, 1e300), st.integers(1, 8))
def test_bounds_are_rounded_outward_and_stay_near(value: float, digits: int) -> None:
    low, high = read(at_least(value, digits)), read(at_most(value, digits))
    assert low <= value <= high
    tiny = 10.0 ** (1 - digits) * abs(value) * 1.0001
    assert high - low <= 2 * tiny or abs(value) < 1e-300


@pytest.mark.parametrize("value", [0.0, 7.0, -7.0, 0.5, 123456.0, 0.03])
def test_what_is_written_in_full_is_not_moved(value: float) -> None:
    assert at_least(value) == at_most(value) == format_number(value)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number_is_no_bound(bad: float) -> None:
    with pytest.raises(InputError):
        at_least(bad)


def test_a_mean_is_that_of_its_runs() -> None:
    runs = np.array([1.0, 2.0, 6.0])
    mean = Mean.of(runs)
    assert mean.value == pytest.approx(3.0)
    assert mean.error == pytest.approx(runs.std(ddof=1) / math.sqrt(3))
    assert mean.times(-2.0).error == pytest.approx(2 * mean.error)
    assert not mean.surely_above(0.0)
    assert mean.surely_above(-100.0)
