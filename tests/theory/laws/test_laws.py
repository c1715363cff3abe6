"""Conversions against quadrature and a search; laws of outputs; the signed mechanisms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from microdata_price.model.noise import Laplace
from microdata_price.model.noise_discrete import DiscreteGaussian, DoubleGeometric
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.theory.laws import divergences as dv
from microdata_price.theory.laws import outputs, signed
from microdata_price.theory.laws.audit import log_clipped_law


@given(st.sampled_from([1e-6, 0.005, 0.125, 2.0, 10.0, 1e3]), st.sampled_from([0.5, 1e-3, 1e-12]))
def test_exact_gaussian_epsilon_inverts_delta_and_lies_below_both_conversions(rho, delta):
    exact = dv.gaussian_epsilon(rho, delta)
    if exact > 0:
        assert dv.gaussian_delta(rho, exact) == pytest.approx(delta, rel=1e-6)
    best = dv.best_zcdp_epsilon(rho, delta)
    x = np.geomspace(1e-4, 1e6, 2001)  # orders less 1
    tried = (1 + x) * rho + np.log(x / (1 + x)) - (math.log(delta) + np.log1p(x)) / x
    assert best == pytest.approx(max(float(tried.min()), 0.0), rel=1e-4, abs=1e-9)
    assert exact <= best * (1 + 1e-9)
    assert best <= (rho + 2 * math.sqrt(rho * -math.log(delta))) * (1 + 1e-12)


@pytest.mark.parametrize(("rho", "epsilon"), [(0.125, 1.0), (2.0, 3.0), (0.005, 0.2)])
def test_gaussian_delta_is_the_integral(rho, epsilon):
    u = math.sqrt(2 * rho)

    def excess(x):
        return max(0.0, stats.norm.pdf(x - u) - math.exp(epsilon) * stats.norm.pdf(x))

    start = epsilon / u + u / 2
    whole = integrate.quad(excess, start, start + 40, epsabs=0, epsrel=1e-10)[0]
    assert dv.gaussian_delta(rho, epsilon) == pytest.approx(whole, rel=1e-8)


@pytest.mark.parametrize(
    "noise", [*map(DoubleGeometric, (0.5, 2.0)), *map(DiscreteGaussian, (1e-3, 4.0, 9.0))]
)
def test_clipped_law_is_a_law_and_the_clipped_noise(noise):
    law = outputs.clipped_law(noise, 3, 0, 200)
    assert law.sum() == pytest.approx(1, abs=1e-13)
    logs = log_clipped_law(noise, 3, 0, 200)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(np.exp(logs), law, atol=1e-14)
    far = np.arange(-400, 401)
    pmf = noise.pmf(far)
    expected = np.bincount(np.clip(far + 3, 0, 200), weights=pmf, minlength=201)
    np.testing.assert_allclose(law, expected, atol=1e-14)


@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.125)])
def test_the_laws_of_two_neighbouring_counts(guarantee):
    pair, noise = outputs.output_pair(guarantee, 3.0), guarantee.noise()
    for density, count in ((pair.first, 3.0), (pair.second, 4.0)):
        np.testing.assert_allclose(density, noise.pdf(pair.x - count), rtol=1e-12)
    np.testing.assert_allclose(pair.loss, np.log(pair.first / pair.second), atol=1e-12)


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
