"""The projection's worst table, the map beside the best cells, redrawn and truncated noise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.noise_asymmetric import AsymmetricGeometric, AsymmetricLaplace
from microdata_price.model.noise_discrete import TruncatedDoubleGeometric
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.theory.upper.exact_errors import clipped, m_epsilon, m_rho
from microdata_price.theory.upper.fitted_errors import cell_errors
from microdata_price.theory.upper.projection import project
from microdata_price.theory.upper.redrawn import redrawn, redrawn_bound, redrawn_whole_bound
from microdata_price.theory.upper.remap import best_gaussian_map, best_map
from microdata_price.theory.upper.truncated_sampling import sampled_truncated
from microdata_price.theory.upper.worst_table import (
    TwoTails,
    certified_fit,
    worst_cell_error,
    worst_gaussian_cell_error,
)

SIGNED = math.sqrt(8)


def huge_loss(z, w, i):
    """Return Lam_i by root finding: the loss of cell i when it is huge and all others are empty."""
    others = np.delete(z, i)

    def gap(g):
        return g - z[i] + w - np.maximum(others - g, 0).sum()

    reach = np.abs(z).sum() + abs(w) + 1
    return float(optimize.brentq(gap, -reach, reach, xtol=1e-13)) - z[i]


numbers = st.floats(-8, 8)
tables = st.integers(2, 6).flatmap(
    lambda d: st.tuples(
        st.lists(st.integers(0, 30), min_size=d, max_size=d),
        st.lists(numbers, min_size=d, max_size=d),
        numbers,
    )
)


@given(tables)
def test_no_table_is_worse_than_one_huge_cell_outcome_by_outcome(drawn):
    q, z, w = np.array(drawn[0], dtype=float), np.array(drawn[1]), drawn[2]
    fit = project(q + z, max(q.sum() + w, 0.0), math.inf)
    for i in range(q.size):
        over = max(z[i] - (z.sum() - w) / q.size, 0.0)
        assert -over - 1e-9 <= q[i] - fit[i] <= max(huge_loss(z, w, i), 0.0) + 1e-9
    # The mean over the cells has no price: the noise, and the sum's noise twice.
    share = max(w, 0.0) / math.sqrt(q.size) + 2 * max(-w, 0.0)
    assert np.linalg.norm(fit - q) <= np.linalg.norm(z - z.mean()) + share + 1e-9
    far = np.zeros(q.size)
    far[0] = 1e6
    fit = project(far + z, max(far.sum() + w, 0.0), math.inf)
    assert far[0] - fit[0] == pytest.approx(huge_loss(z, w, 0), abs=1e-8)


@pytest.mark.parametrize("d", [20, 1000, 10**6])
def test_the_lower_end_is_the_one_huge_cell(d):
    """Another quadrature gives its whole error, gains included, which are small."""
    even, laplace, gaussian = TwoTails(0.5, 0.5), Laplace(2.0), Gaussian(1.0)
    found = worst_cell_error(even, even, d), worst_gaussian_cell_error(gaussian, gaussian, d)
    for worst, noise in zip(found, (laplace, gaussian), strict=True):
        exact = math.sqrt(cell_errors(noise, noise, d).squared_error)
        assert worst.least <= exact * (1 + 1e-5) <= worst.most * (1 + 2e-5)
        assert noise is gaussian or exact < worst.least * 1.01


def test_sampling_agrees_with_asymmetric_noise():
    rng = np.random.default_rng(5)
    d, runs = 200, 4000
    cell, total = TwoTails(0.56, 0.4), TwoTails(0.44, 0.6)
    found = worst_cell_error(cell, total, d)
    z = AsymmetricLaplace(*cell).sample(rng, (runs, d))
    w = AsymmetricLaplace(*total).sample(rng, runs) - total.mean
    z[:, 0] += 1e7
    square = (1e7 - project(z, 1e7 + w, math.inf)[:, 0]) ** 2
    se = square.std() / math.sqrt(runs)
    assert found.least**2 - 4 * se <= square.mean() <= found.most**2 + 4 * se


@pytest.mark.parametrize(
    ("guarantee", "d", "even", "low", "high"),
    [
        (PureDP(0.5), 10**3, False, 9.12, 9.24),
        (PureDP(0.5), 10**9, False, 29.9, 30.27),
        (PureDP(0.5), 10**3, True, 9.72, 9.88),
        (ConcentratedDP(0.125), 10**3, True, 2.62, 2.68),
        (ConcentratedDP(0.125), 10**9, True, 5.50, 5.51),
    ],
)
def test_the_certified_numbers_at_the_signed_answers_error(guarantee, d, even, low, high):
    """In units of 1/epsilon and 1/sqrt(rho)."""
    unit = guarantee.signed_error / (SIGNED if isinstance(guarantee, PureDP) else 1)
    found = certified_fit(guarantee, d, guarantee.signed_error, even=even)
    assert low < found.least / unit < found.most / unit < high


def test_the_certified_error_at_its_ends():
    assert certified_fit(PureDP(0.5), 1000, 2.8, even=False) is None
    far = certified_fit(PureDP(0.5), 1e80, 6, even=False)  # by the one-sided certificate alone
    assert far.least == 0 < far.most < 4 * math.log(1e80)


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0, 4.9, 6.0])
def test_the_map_keeps_every_cell_as_good(epsilon):
    """Errors of far more counts than the map touches, summed with nothing left out."""
    found, noise = best_map(epsilon), m_epsilon(epsilon)
    A, width = found.law.shape[0] - 1, found.law.shape[1]
    q = np.arange(4 * A + 40)
    a = np.arange(q.size + math.ceil(60 / epsilon))
    chance = np.exp(-epsilon * np.abs(a[:, None] - q)) * math.tanh(epsilon / 2)
    chance[0] = np.exp(-epsilon * q) / (1 + math.exp(-epsilon))
    law = np.eye(a.size, max(a.size, width))
    law[: A + 1] = 0
    law[: A + 1, :width] = found.law
    y = np.arange(law.shape[1])
    mean, square = chance.T @ (law @ y), chance.T @ (law @ y**2)
    error = square - 2 * q * mean + q**2
    assert error.max() <= noise.variance * (1 + 1e-9)
    bias = mean - q
    assert bias[: A + 1] == pytest.approx(found.bias, abs=1e-9)
    assert np.abs(bias).max() <= np.abs(found.bias).max() + 1e-9
    assert np.abs(bias).max() <= clipped(noise, 0).bias * (1 + 1e-9)
    d = np.array([2.0, 1000.0])
    worst = (d[:, None] ** 2 * bias**2 + d[:, None] * (error - bias**2)).max(axis=1)
    assert found.D(d) == pytest.approx(np.sqrt(np.maximum(worst, d * noise.variance)), rel=1e-6)


def test_the_gaussian_map():
    found, own = best_gaussian_map(0.125), clipped(m_rho(0.125), 0)
    assert pytest.approx(2.0, abs=1e-8) == found.C
    assert np.abs(found.bias).max() == pytest.approx(0.7108, abs=2e-4)
    assert own.bias == pytest.approx(0.7810, abs=1e-4)
    assert found.D(1000) / SIGNED < 252.6


def test_redrawn_noise_spends_its_delta_exactly():
    """The whole-number pair, audited: the largest excess over e^epsilon is P(z = B | z <= B)."""
    cell, total, B = (0.6, 0.3), (0.4, 0.7), 9
    k, m = np.arange(-90, B + 1), np.arange(-90, 91)
    z = np.exp(AsymmetricGeometric(*cell).log_density(k))
    z /= z.sum()
    w = np.exp(AsymmetricGeometric(*total).log_density(m))
    here = np.outer(np.append(z, 0), np.append(w, 0))
    there = np.outer(np.append(0, z), np.append(0, w))  # one record more moves both by one
    inner = here[:, 1:-1], there[:, 1:-1]
    excess = [np.maximum(x - math.e * y, 0) for x, y in (inner, inner[::-1])]
    # At the far left both laws are cut off, where nothing is left.
    assert excess[1][1:].sum() == pytest.approx(z[-1] * w[1:-1].sum(), rel=1e-6)
    assert excess[0][1:].sum() < 1e-12


def test_bounds_of_redrawn_noise():
    z = TwoTails(0.3, 0.2)
    B = redrawn_bound(z, 1e-6)
    eta = 0.4 * math.exp(-0.3 * B)
    assert (math.exp(0.3) - 1) * eta / (1 - eta) == pytest.approx(1e-6)
    k = np.arange(-400, redrawn_whole_bound(0.5, 1e-6) + 1)
    p = np.exp(-0.25 * np.abs(k))
    assert p[-1] / p.sum() <= 1e-6 < p[-2] / p[:-1].sum()


@pytest.mark.parametrize(("delta", "value"), [(1e-6, 21.67), (1e-9, 33.30), (1e-12, 44.85)])
def test_redrawn_noise_at_the_signed_answers_error(delta, value):
    found = redrawn(0.5, delta, 1e12, 2 * SIGNED)
    assert pytest.approx(value, abs=0.01) == 0.5 * found.C
    assert found.cell.right + found.total.right == pytest.approx(0.5)
    assert found.cell.left + found.total.left == pytest.approx(0.5)


@pytest.mark.parametrize("d", [2, 30])
def test_truncated_noise_by_two_simulations(d):
    noise = TruncatedDoubleGeometric(0.5, 8)
    C, se = sampled_truncated(noise, d, runs=20_000, seed=1)
    rng = np.random.default_rng(2)
    z, star = noise.sample(rng, (20_000, d)), noise.sample(rng, 20_000)
    z[:, 0] += 1e4
    other = (project(z, 1e4 + star)[:, 0] - 1e4) ** 2
    spread = other.std() / math.sqrt(other.size)
    assert abs(C**2 - other.mean()) < 5 * math.hypot(spread, 2 * C * se)


def test_truncated_noise_at_very_many_cells():
    """All values occur: the threshold is so near the bound that the cell falls with it."""
    noise = TruncatedDoubleGeometric(0.5, 8)
    C, se = sampled_truncated(noise, 10**9, runs=20_000, seed=1)
    assert (C, se) == sampled_truncated(noise, 10**9, runs=20_000, seed=1)
    assert 8 < C < 2 * noise.std + noise.bound
