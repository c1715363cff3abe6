"""The errors of fitting to a noisy sum: closed cases, other formulas for the same, and samples."""

import functools
import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from digits import digits
from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.theory.upper import fitted_errors as fe
from microdata_price.theory.upper.exact_errors import clipped, clipped_sum
from microdata_price.theory.upper.excess_gaussian import GaussianExcess
from microdata_price.theory.upper.excess_laplace import LaplaceExcess
from microdata_price.theory.upper.projection import project

_digits = digits(25)
KINDS = [Laplace, Gaussian]


@pytest.mark.parametrize("r", [0.4, 1.0, 5.0])
@pytest.mark.parametrize("g", [-3.0, 0.0, 0.8])
def test_one_laplace_excess_equals_quadrature(r, g):
    """P((z - g)+ + z' <= s) for one noise: an integral over z."""
    law = LaplaceExcess(1.0, 1 / r, 1)

    def cdf(x):
        return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2

    for s in (-1.3, 0.2, 1.0, 3.5):
        ends = sorted({g, max(g, 0.0), g + max(s, 0.0), g + 2, g + 10, g + 60})
        some = mp.quad(lambda z, s=s: mp.exp(-abs(z)) / 2 * cdf(r * (s - (z - g))), ends)
        found = float(law.below(np.array([g]), np.array([[s]]))[0, 0])
        # Below 0 the law of few noises is inverted numerically, and bends.
        within = 2e-13 if g >= 0 or s < 0 else 1e-8
        assert found == pytest.approx(float(cdf(g) * cdf(r * s) + some), abs=within)


def over_their_number(n, p, r, s):
    """P(S <= s) and P(S + z <= s): a sum over how many of n exceed g, each by an exponential."""
    alone, smoothed, chance = mp.mpf(0), mp.mpf(0), (1 - p) ** n
    for k in range(int(min(n, n * p + 12 * mp.sqrt(n * p) + 25)) + 1):
        below, lifted, fallen = mp.mpf(1), mp.mpf(1), mp.mpf(0)
        if k:
            chance *= (n - k + 1) / k * p / (1 - p)
            below = mp.gammainc(k, 0, s, regularized=True)
            # E exp(r S) where S <= s, and E exp(-r S) where it is above.
            lifted = s**k * mp.hyp1f1(k, k + 1, (r - 1) * s) / mp.factorial(k)
            fallen = mp.gammainc(k, (1 + r) * s, regularized=True) / mp.mpf(1 + r) ** k
        alone += chance * below
        smoothed += chance * (below - mp.exp(-r * s) * lifted / 2 + mp.exp(r * s) * fallen / 2)
    return float(alone), float(smoothed)


@pytest.mark.parametrize("r", [0.3, 1.0, 3.0])
@pytest.mark.parametrize(
    ("n", "means"), [(1.0, [1e-3]), (90.0, [1e-3, 3.0, 44.0]), (1e12, [3.0, 44.0, 46.0])]
)
def test_the_laplace_law_is_a_sum_over_how_many_exceed(n, means, r):
    law = LaplaceExcess(2.0, 2.0 / r, n)
    for mean, s in itertools.product(means, (0.1, 4.0, 70.0)):
        g, at = np.array([2.0 * math.log(n / 2 / mean)]), np.array([[s]])
        alone, smoothed = over_their_number(n, mp.exp(-mp.mpf(g[0]) / 2) / 2, r, mp.mpf(s) / 2)
        assert 1 - float(law.survival(g, at)[0, 0]) == pytest.approx(alone, abs=1e-12)
        assert float(law.below(g, at)[0, 0]) == pytest.approx(smoothed, abs=1e-12)


def test_moments_and_integrals_below_zero_equal_samples_and_the_law():
    law = LaplaceExcess(1.3, 0.7, 4)
    h = np.array([-0.7])
    s = np.linspace(1e-6, 60, 6_001)
    chance = 1 - law.below(h, s[None])[0]
    weight = (1.0 + 2.0 * s) * np.exp(-0.6 * s)
    values = weight * chance
    simpson = (values[:-1:2] + 4 * values[1::2] + values[2::2]).sum() * (s[1] - s[0]) / 3
    found = law.exceeded(h, np.array([1.0]), 2.0, 0.6)
    # The law near s = 0 is inverted to 1e-10 only.
    assert float(found[0]) == pytest.approx(simpson, rel=2e-6)
    m0, m1, m2 = (float(m[0]) for m in law.moments(h, np.array(0.9)))
    step = 1e-5
    up, down = (float(law.moments(h, np.array(0.9 + x))[0][0]) for x in (step, -step))
    assert m1 == pytest.approx(-(up - down) / (2 * step), rel=1e-7)
    assert m2 == pytest.approx((up - 2 * m0 + down) / step**2, rel=1e-4)


def test_gaussian_density_is_the_slope_of_the_law():
    law = GaussianExcess(2.0, 1.5, 12)
    g, s, step = np.array([-1.0, 1.0]), np.array([[3.0, 9.0], [0.5, 4.0]]), 1e-5
    slope = (law.below(g, s + step) - law.below(g, s - step)) / (2 * step)
    np.testing.assert_allclose(law.density(g, s), slope, rtol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 40, 10**12])
def test_at_weight_one_the_cell_and_the_sum_err_alike(kind, d):
    """Swapping the two noises swaps the two errors: two quadratures of different integrands."""
    noise = kind(1.7)
    cell = fe.cell_errors(noise, noise, d, weight=1.0).squared_error
    if d == 2:  # in closed form for every symmetric law
        at_infinity = fe.cell_errors(noise, noise, d).squared_error
        closed = 7 / 12 * noise.variance, 7 / 8 * noise.variance
        assert (cell, at_infinity) == pytest.approx(closed, rel=1e-10)
    assert fe.lone_cell_sum_error(noise, noise, d, 1.0) == pytest.approx(cell, rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 300])
def test_ends_of_the_weighted_family(kind, d):
    cell, star = kind(1.0), kind(1.4)

    def square(count, weight):
        return fe.cell_errors(cell, star, d, count, weight).squared_error

    assert square(math.inf, 1e8) == pytest.approx(square(math.inf, math.inf), rel=1e-6)
    lone, empty = (
        functools.partial(f, cell, star, d)
        for f in (fe.lone_cell_sum_error, fe.empty_table_sum_error)
    )
    assert (lone(1e8), 2 * empty(1e8)) == pytest.approx((star.variance,) * 2, rel=1e-5)
    ends = lone(0.0), clipped_sum(cell, [0], [d])
    assert (lone(1e-7), empty(1e-7)) == pytest.approx(ends, rel=1e-3)
    assert square(math.inf, 1e-9) == pytest.approx(cell.variance, rel=1e-5)
    for count in (0.0, 2.0):
        exact = float(clipped(cell, count).squared_error)
        assert square(count, 1e-9) == pytest.approx(exact, rel=1e-4)
        assert square(count, 0.0) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("d", "weight", "ratio"),
    [
        (2, math.inf, 1.0),
        (12, math.inf, 0.4),
        (12, 1.0, 2.5),
        (150, 0.03, 0.4),
    ],
)
def test_errors_agree_with_samples(kind, d, weight, ratio):
    rng = np.random.default_rng(int(1000 * ratio) + d)
    runs = 10_000 if d < 50 else 4_000
    cell, star = kind(1.0), kind(ratio)

    def agree(exact, sample):
        assert abs(exact - sample.mean()) < 5.5 * sample.std() / math.sqrt(runs)

    for count in (0.0, 3.0, math.inf):
        true = 1e5 if math.isinf(count) else count
        table = np.zeros(d)
        table[0] = true
        total = true + star.sample(rng, runs)
        if math.isinf(weight):
            total = np.maximum(total, 0)
        fit = project(table + cell.sample(rng, (runs, d)), total, weight)
        found = fe.cell_errors(cell, star, d, count, weight)
        agree(found.bias, fit[:, 0] - true)
        agree(found.squared_error, (fit[:, 0] - true) ** 2)
        if 0 < count < math.inf:
            agree(fe.vanishing_chance(cell, star, d, count, weight), fit[:, 0] <= 0)
        if count == 0:
            agree(fe.empty_table_sum_error(cell, star, d, weight), fit.sum(axis=1) ** 2)
        if math.isinf(count):
            agree(fe.lone_cell_sum_error(cell, star, d, weight), (fit.sum(axis=1) - true) ** 2)
    z, w = cell.sample(rng, (runs, d)), star.sample(rng, runs)
    fit = project(1e6 + z, 1e6 * d + w, weight) - 1e6
    found = fe.large_table_errors(cell, star, d, weight)
    agree(found[0], fit[:, 0] ** 2)
    agree(found[1], fit.sum(axis=1) ** 2)


@pytest.mark.parametrize("kind", KINDS)
def test_large_counts_are_the_limit_and_the_worst(kind):
    noise = kind(1.0)
    assert fe.large_table_errors(noise, noise, 6, 0.0) == pytest.approx(
        (noise.variance, 6 * noise.variance)
    )
    values = [fe.cell_errors(noise, noise, 500, q).squared_error for q in (0, 1, 3, 6, 12, 40)]
    assert all(a < b * (1 + 1e-12) for a, b in itertools.pairwise(values))
    assert values[-1] == pytest.approx(fe.cell_errors(noise, noise, 500).squared_error, rel=1e-9)
