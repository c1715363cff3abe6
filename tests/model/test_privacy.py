"""Guarantees, and their conversions: OpenDP's for zCDP, exact sums for pure parts."""

import math

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from microdata_price.exceptions import InputError
from microdata_price.model import privacy
from microdata_price.model.conversion import approximate_together, pure_renyi
from microdata_price.model.privacy import KINDS, ConcentratedDP, PureDP, guarantee_of

dp.enable_features("contrib")


@pytest.mark.parametrize("rho", [1e-6, 1e-4, 0.005, 0.125, 0.5, 5.0, 40.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3, 0.1, 0.5])
def test_zcdp_is_converted_as_opendp_does(rho, delta):
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="f64")
    gaussian = dp.m.make_gaussian(*space, scale=(2 * rho) ** -0.5)
    theirs = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0).epsilon(delta)
    ours = approximate_together([], rho, delta).epsilon
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-10)
    assert theirs * (1 - 1e-9) <= ours <= ConcentratedDP(rho).to_approximate(delta).epsilon


@given(st.lists(st.floats(1e-6, 30.0), max_size=5), st.floats(0, 5.0), st.floats(1e-12, 0.5))
@example([1e-6], 0.0, 1e-6)
def test_together_is_never_more_than_any_way_of_adding(epsilons, rho, delta):
    if not epsilons and rho == 0:
        return
    found = approximate_together(epsilons, rho, delta).epsilon
    slack = 1 + 1e-9
    alone = approximate_together([], rho, delta).epsilon if rho else 0.0
    assert found <= (math.fsum(epsilons) + alone) * slack + (1e-11 if rho else 0)
    all_zcdp = rho + sum(e * e / 2 for e in epsilons)
    if all_zcdp > 1e-29:
        assert found <= approximate_together([], all_zcdp, delta).epsilon * slack + 1e-11
    # More of anything is never less.
    assert approximate_together([*epsilons, 0.5], rho, delta).epsilon >= found / slack - 1e-11
    assert approximate_together(epsilons, rho + 0.1, delta).epsilon >= found / slack - 1e-11


@given(st.floats(1e-3, 10.0), st.floats(1.001, 60.0))
@example(1e-5, 1 + 1e-8)  # the formula's rounding is 200 times what it computes
def test_no_pure_mechanism_has_a_larger_divergence(epsilon, order):
    largest = float(pure_renyi(epsilon, order))
    assert largest <= min(epsilon, order * epsilon**2 / 2) * (1 + 1e-12)
    # Randomised response attains it; Laplace noise and random laws stay below.
    p = np.array([math.exp(epsilon), 1.0]) / (1 + math.exp(epsilon))
    attained = np.log((p**order * p[::-1] ** (1 - order)).sum()) / (order - 1)
    rounding = 1e-12 + 1e-14 / (order - 1)
    assert largest == pytest.approx(attained, rel=1e-6, abs=rounding)
    a = order  # Laplace noise on a count: Mironov (2017), Table II
    falling = a * np.exp((a - 1) * epsilon) + (a - 1) * np.exp(-a * epsilon)
    assert np.log(falling / (2 * a - 1)) / (a - 1) <= largest * (1 + 1e-9) + rounding


def exact_delta(epsilons, sigma, epsilon):
    """The exact delta of randomised responses and a Gaussian step together, by quadrature."""
    ratios = [(0.0, 1.0, 1.0)]
    for e in epsilons:
        p = math.exp(e) / (1 + math.exp(e))
        ratios = [
            (r + s * e, a * (p if s > 0 else 1 - p), b * (1 - p if s > 0 else p))
            for r, a, b in ratios
            for s in (1, -1)
        ]
    x = np.linspace(-12 * sigma, 12 * sigma + 1, 200_001)
    density, other = (stats.norm.pdf(x, mean, sigma) for mean in (1, 0))
    return sum(
        np.trapezoid(np.maximum(a * density - math.exp(epsilon) * b * other, 0), x)
        for _, a, b in ratios
    )


@pytest.mark.parametrize("epsilons", [(), (0.5,), (2.0,), (0.3, 1.0)])
@pytest.mark.parametrize("rho", [0.02, 0.5])
@pytest.mark.parametrize("delta", [1e-2, 1e-5])
def test_the_guarantee_holds_for_the_worst_mechanisms(epsilons, rho, delta):
    epsilon = approximate_together(list(epsilons), rho, delta).epsilon
    assert exact_delta(epsilons, (2 * rho) ** -0.5, epsilon) <= delta


@given(st.floats(1e-5, 3.0), st.floats(-14.0, -2.0))
@example(0.0011392047764550936, -12.0)
def test_a_pure_mechanism_alone_is_told_no_less_than_randomised_response_has(epsilon, log):
    told = approximate_together([epsilon], 0.0, 10**log).epsilon
    assert -math.expm1(told - epsilon) / (1 + math.exp(-epsilon)) <= 10**log * (1 + 1e-9)


LEVELS = {"epsilon": 0.5, "rho": 0.125, "delta": 1e-6}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_found_by_its_word_and_says_its_levels(kind):
    guarantee = guarantee_of(kind, **LEVELS)
    assert type(guarantee) is KINDS[kind]
    # A grid names the guarantee of its noise by two columns.
    assert privacy.level_of(guarantee.basis.kind, guarantee.level) == guarantee.basis
    assert guarantee.kind == kind
    assert guarantee.fields() == {"kind": kind} | {n: LEVELS[n] for n in privacy.parameters(kind)}
    for name in privacy.parameters(kind):
        with pytest.raises(InputError, match=f"needs .*give {name}, too"):
            guarantee_of(kind, **{n: v for n, v in LEVELS.items() if n != name})
        assert f"{name} = {LEVELS[name]:g}" in guarantee.describe()
        written = {"epsilon": "0.5", "rho": "0.125", "delta": "10^{-6}"}[name]
        assert rf"$\{name} = {written}$" in guarantee.describe(math=True)
    assert guarantee.plain.startswith(f"{guarantee.symbol} = {guarantee.level:g}")
    # A signed answer has half the budget, and sqrt(2) sensitivity for two query sets.
    assert guarantee.signed_error == pytest.approx(4 * math.sqrt(2) if kind != "zcdp" else 8**0.5)


@pytest.mark.parametrize("guarantee", [PureDP(0.3), ConcentratedDP(0.3)], ids=str)
def test_noise_and_errors_shrink_with_the_level_as_the_norm_says(guarantee):
    """Noise four times as small is that of the level which holds between groups of four."""
    stronger = guarantee.scaled(4.0**guarantee.norm)
    assert (stronger, guarantee.records(stronger.level)) == (guarantee.group(4), pytest.approx(4))
    for s in (1.0, 3.0):  # sensitivities
        assert stronger.noise(4 * s).std == pytest.approx(guarantee.noise(s).std, rel=1e-14)
    # A cell and the sum count each record: 2 in L1, the root of 2 in L2.
    both = guarantee.noise(2.0 ** (1 / guarantee.norm))
    assert both.std == pytest.approx(guarantee.signed_error, rel=1e-14)
