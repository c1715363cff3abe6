"""Smooth noise under zCDP: its divergences, and pairs that use the budget better than Gaussians."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from microdata_price.theory.upper.concentrated_noise import (
    SEARCHED,
    Pair,
    SmoothNoise,
    concentrated_wall,
    core_and_flanks,
)
from microdata_price.theory.upper.projection import project

RHO = 0.125
ORDERS = 1 + np.geomspace(5e-4, 9999, 120)

NOISE = st.integers(1, 3).flatmap(
    lambda n: st.builds(
        lambda widths, bends: SmoothNoise(tuple(np.cumsum(widths)), tuple(bends)),
        st.lists(st.floats(0.2, 8), min_size=n, max_size=n),
        st.lists(st.floats(0.02, 0.5), min_size=n + 1, max_size=n + 1),
    )
)


@settings(max_examples=40)
@given(NOISE, st.floats(1.001, 300))
def test_noise_of_lipschitz_score_is_private(noise, order):
    assert noise.renyi(order) <= order * noise.rho * (1 + 1e-9)
    # Half a record costs a quarter.
    assert noise.renyi(order, 0.5) <= order * noise.rho / 4 * (1 + 1e-9)


@settings(max_examples=8)
@given(NOISE, st.floats(1.05, 20))
def test_divergence_and_variance_by_other_quadrature(noise, order):
    ends = sorted(sign * k + shift for sign in (-1, 1) for k in noise.knots for shift in (0, 1))
    ends = [-noise.reach, *(e for e in ends if abs(e) < noise.reach), 3 * noise.reach + order]

    def power(x):
        a, b = float(noise.log_density(x - 1)), float(noise.log_density(x))
        return math.exp(order * a - (order - 1) * b)

    def whole(f):
        return sum(quad(f, a, b, epsabs=1e-12)[0] for a, b in itertools.pairwise(ends))

    assert whole(lambda x: math.exp(noise.log_density(x))) == pytest.approx(1, abs=1e-9)
    second = whole(lambda x: x * x * math.exp(noise.log_density(x)))
    assert noise.variance == pytest.approx(second, rel=1e-8)
    expected = math.log(whole(power)) / (order - 1)
    assert noise.renyi(order) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@given(NOISE, st.floats(1e-6, 1 - 1e-6))
def test_quantiles_split_the_mass(noise, p):
    t = float(noise.upper_quantile(p))
    ends = [t, *(k for k in (*(-k for k in noise.knots[::-1]), *noise.knots) if k > t)]
    ends.append(max(noise.reach, ends[-1]) + 1)
    above = sum(
        quad(lambda x: math.exp(noise.log_density(x)), a, b)[0] for a, b in itertools.pairwise(ends)
    )
    assert above == pytest.approx(p, rel=2e-4)


@settings(max_examples=30)
@given(NOISE)
def test_no_noise_is_below_the_wall(noise):
    chi_square = math.expm1(noise.renyi(2.0))
    assert noise.variance >= (1 - 1e-9) / chi_square
    assert noise.rho * noise.variance >= concentrated_wall(noise.rho) * (1 - 1e-9)


@pytest.mark.parametrize("curvature", [0.01, 0.25, 2.0])
def test_gaussian_noise_is_exact(curvature):
    noise = SmoothNoise((), (curvature,))
    assert noise.variance == pytest.approx(1 / curvature, rel=1e-12)
    for order in (1.0005, 2.0, 1e4):
        assert noise.renyi(order) == pytest.approx(order * curvature / 2, rel=1e-9)


@pytest.mark.parametrize(
    ("core", "flank", "W", "R", "spread"),
    [(0.75, 0.7, 6.0, 20.0, 0.676), (0.75, 0.9, 8.0, 60.0, 0.667)],
)
def test_core_and_flanks_keep_to_the_budget_at_every_order(core, flank, W, R, spread):
    pair = core_and_flanks(RHO, core, flank, W, R)
    used = pair.budget_used(RHO, ORDERS)
    assert 0.5 < used.min() <= used.max() <= 0.98
    assert RHO * pair.total.variance == pytest.approx(spread, abs=1e-3)
    # The flanks decide how far the largest of very many noises lies.
    far = float(pair.cell.upper_quantile(1e-20))
    assert far < R + math.sqrt(math.log(1e20) / (flank * RHO))


def test_cores_that_are_too_narrow_are_found_out():
    pair = core_and_flanks(RHO, 0.75, 0.9, 8.0, 10.0)
    assert pair.budget_used(RHO, ORDERS).max() > 1.1
    gaussians = Pair(SmoothNoise((), (RHO,)), SmoothNoise((), (RHO,)))
    np.testing.assert_allclose(gaussians.budget_used(RHO, [1.5, 40.0]), 1, rtol=1e-9)


@pytest.mark.parametrize("d", SEARCHED)
def test_searched_pairs_keep_to_the_budget_and_have_less_error(d):
    pair = SEARCHED[d]
    used = pair.budget_used(RHO, np.union1d(ORDERS, np.linspace(2, 60, 59)))
    assert 0.99 < used.max() <= 1
    assert RHO * pair.total.variance <= 1
    gaussian = SmoothNoise((), (RHO,))
    # The same random numbers for both.
    ours, plain = (p.sampled_cell_error(d, 300) for p in (pair, Pair(gaussian, gaussian)))
    assert ours.least <= ours.most < plain.most


@pytest.mark.parametrize("d", [2, 60])
def test_the_sampled_worst_table_is_one_huge_cell(d):
    pair, runs, rng = SEARCHED[1000], 4000, np.random.default_rng(3)
    z = pair.cell.upper_quantile(rng.random((runs, d)))
    w = pair.total.upper_quantile(rng.random(runs))
    z[:, 0] += 1e4
    loss = (1e4 - project(z, 1e4 + w)[:, 0]) ** 2
    found = pair.sampled_cell_error(d, runs)
    root = math.sqrt(loss.mean())
    spread = loss.std() / math.sqrt(runs) / (2 * root)
    assert found.least <= found.most
    assert abs(root - found.least) < 5 * math.hypot(spread, found.least_se)
