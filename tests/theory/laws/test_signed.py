"""The signed mechanisms: errors, losses and negative cells against closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from microdata_price.model.noise import Laplace
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.theory.laws import signed


@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.125)])
@pytest.mark.parametrize("d", [1, 2, 50])
def test_errors_do_not_depend_on_d(guarantee, d):
    exact = 8 / 0.5**2 if isinstance(guarantee, PureDP) else 1 / 0.125
    table = np.zeros(d)
    table[0] = 9
    got = signed.sampled_signed(table, guarantee, 5000, np.random.default_rng(d))
    assert abs(got.total - exact) < 5 * got.total_se
    assert abs(got.cell - exact) < 5 * got.cell_se
    # Empty cells are negative half of the time, a cell of nine hardly ever.
    full = math.exp(-9 / 4) / 2 if isinstance(guarantee, PureDP) else stats.norm.cdf(-9 / 8**0.5)
    assert abs(got.negative - (full + (d - 1) / 2) / d) < 5 * got.negative_se + 1e-12


@given(st.integers(1, 10**6), st.floats(0.001, 0.9), st.floats(0.1, 100))
def test_safe_count_is_the_least_safe_one(d, chance, scale):
    q = signed.safe_count(Laplace(scale), d, chance)
    assert d * math.exp(-q / scale) / 2 <= chance * (1 + 1e-9)
    assert q == 0 or d * math.exp(-(q - 1) / scale) / 2 > chance * (1 - 1e-9)
