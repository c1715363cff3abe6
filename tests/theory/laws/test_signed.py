"""The signed mechanisms: errors, losses and negative cells against closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from microdata_price.theory.laws import outputs, signed

tables = st.lists(st.integers(0, 30), min_size=1, max_size=5)


@given(tables, st.sampled_from([0.01, 0.5, 3.0]), st.integers(0, 10**6))
@settings(max_examples=40)
def test_laplace_losses_never_exceed_epsilon(table, epsilon, seed):
    rng = np.random.default_rng(seed)
    for near in outputs.neighbours(table):
        losses = signed.privacy_losses(
            Workload.table(len(table)), PureDP(epsilon), table, near, 50, rng
        )
        assert np.abs(losses).max() <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("rho", [0.01, 0.125, 2.0])
def test_gaussian_losses_are_normal_with_mean_rho_and_variance_twice_that(rho):
    table = [4, 0, 2]
    n = 40_000
    losses = signed.privacy_losses(
        Workload.table(3), ConcentratedDP(rho), table, [4, 1, 2], n, np.random.default_rng(3)
    )
    assert abs(losses.mean() - rho) < 5 * math.sqrt(2 * rho / n)
    assert losses.var() == pytest.approx(2 * rho, rel=0.05)


@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.125)])
@pytest.mark.parametrize("d", [1, 2, 50])
def test_errors_do_not_depend_on_d(guarantee, d):
    exact = 8 / 0.5**2 if isinstance(guarantee, PureDP) else 1 / 0.125
    table = np.zeros(d)
    table[0] = 9
    got = signed.sampled_signed(table, guarantee, 5000, np.random.default_rng(d))
    assert abs(got.total - exact) < 5 * got.total_se
    assert abs(got.cell - exact) < 5 * got.cell_se
    noise = Laplace(4.0) if isinstance(guarantee, PureDP) else Gaussian(math.sqrt(8.0))
    expected = signed.negative_probability(noise, table).mean()
    assert abs(got.negative - expected) < 5 * got.negative_se + 1e-12


def test_negative_probability_is_the_closed_form():
    q = np.array([0.0, 1.0, 8.0, 40.0])
    np.testing.assert_allclose(signed.negative_probability(Laplace(4.0), q), np.exp(-q / 4) / 2)


@given(st.integers(1, 10**6), st.floats(0.001, 0.9), st.floats(0.1, 100))
def test_safe_count_is_the_least_safe_one(d, chance, scale):
    q = signed.safe_count(Laplace(scale), d, chance)
    assert d * math.exp(-q / scale) / 2 <= chance * (1 + 1e-9)
    assert q == 0 or d * math.exp(-(q - 1) / scale) / 2 > chance * (1 - 1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda: signed.safe_count(Laplace(1.0), 5, 0.0),
        lambda: signed.sampled_signed([1, 2], PureDP(1.0), 1, np.random.default_rng(0)),
    ],
)
def test_bad_input_is_one_sentence(call):
    with pytest.raises(InputError):
        call()
