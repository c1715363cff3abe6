"""Lemma 1, Lemma 2 and the errors of clipping, against quadrature, sums and other solvers."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad

from digits import digits
from microdata_price.model import noise_discrete as nd
from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.noise_discrete import DoubleGeometric
from microdata_price.theory.upper import exact_errors as exact
from microdata_price.theory.upper.exact_errors import clipped, clipped_sum, m_epsilon
from microdata_price.theory.upper.extremes import extremes, lemma1, lemma1_split
from microdata_price.theory.upper.projection import project, threshold
from rounding import at_most

_digits = digits(30)
PIECES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 20]
NOISES = [Laplace(1.7), Gaussian(2.3), DoubleGeometric(0.4), DoubleGeometric(3.0)]
NOISES += [nd.TruncatedDoubleGeometric(0.4, 6), nd.DiscreteGaussian(3.0)]


def largest(noise, d):
    """Mean and mean square of the largest of d noises: harmonic sums, quadrature, direct sums."""
    if isinstance(noise, Laplace):
        first, second = mp.harmonic(d), mp.zeta(2) - mp.zeta(2, d + 1)
        return noise.scale * first, noise.scale**2 * (first**2 + second)
    if isinstance(noise, Gaussian):
        above = lambda t: 1 - mp.erf(t / mp.sqrt(2)) ** d  # noqa: E731
        square = mp.quad(lambda t: 2 * t * above(t), PIECES)
        return noise.std * mp.quad(above, PIECES), noise.variance * square
    k = np.arange(0, 400.0)
    weights = np.diff(np.cumsum(noise.pmf(k) * np.where(k == 0, 1, 2)) ** d, prepend=0.0)
    return (k * weights).sum(), (k**2 * weights).sum()


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("d", [1, 2, 50, 10**12])
def test_extremes_by_sums_or_quadrature(noise, d):
    d = min(d, 3000) if hasattr(noise, "pmf") else d
    mean, square = (float(n) for n in largest(noise, d))
    found, one = extremes(noise, d), extremes(noise, np.array([1.0, d]))
    assert float(found.mean) == pytest.approx(mean, rel=1e-10)
    assert float(found.square) == pytest.approx(square, rel=1e-10)
    assert float(one.square[0]) == pytest.approx(noise.variance, rel=1e-12)


@given(st.integers(1, 10**12), st.floats(1e-3, 1e3))
@settings(max_examples=50)
def test_lemma1_bounds_hold_and_its_split_is_one_of_many(d, scale):
    laplace, gaussian = Laplace(scale), Gaussian(scale)
    log, g = math.log(d), math.sqrt(2 * math.log(d))
    assert lemma1(laplace, d).square == pytest.approx(scale**2 * (log**2 + 2 * log + 2))
    for noise in (laplace, gaussian) if d > 1 else (laplace,):
        least, bound = extremes(noise, d), lemma1(noise, d)
        assert at_most(least.mean, bound.mean)
        assert at_most(least.square, bound.square)
    if d > 1:
        printed = g + 4 / math.sqrt(2 * math.pi) / (2 * log)
        assert bound.mean == pytest.approx(scale * printed, rel=1e-12)
    for split in (0.3, 2.0, 8.0):
        laplace, gaussian = Laplace(1.0), Gaussian(1.0)
        assert at_most(extremes(laplace, d).square, lemma1_split(laplace, d, split).square)
        assert at_most(extremes(gaussian, d).mean, lemma1_split(gaussian, d, split).mean)


VECTORS = arrays(float, st.integers(1, 12), elements=st.floats(-50, 50))


@given(VECTORS, st.floats(-30, 100), st.sampled_from([0.0, 1e-6, 0.3, 1.0, 20.0, math.inf]))
@settings(max_examples=120)
def test_projection_satisfies_the_optimality_conditions(a, total, weight):
    total = max(total, 0.0) if math.isinf(weight) else total
    gamma = float(threshold(a, total, weight))
    x = project(a, total, weight)
    assert (x >= 0).all()
    pull = gamma if math.isinf(weight) else weight * (x.sum() - total)
    if math.isinf(weight):
        assert x.sum() == pytest.approx(total, abs=1e-10)
    elif x.sum() > 0 or total >= 0:
        assert pull == pytest.approx(gamma, abs=1e-9 * max(1, weight))
    # x - a + pull is 0 where x > 0 and nonnegative elsewhere.
    slope = x - a + pull
    tolerance = 1e-9 * max(1.0, weight if weight < math.inf else 1)
    assert (np.abs(slope[x > 1e-9]) < tolerance).all()
    assert (slope > -tolerance).all()


def direct(noise, q):
    """Bias and squared error of max(0, q + z) by sums or quadrature."""
    if isinstance(noise, Laplace | Gaussian):
        ends = [-300, *sorted({-60, -20, -q, 0, 20, 60}), 300]
        return [
            math.fsum(
                quad(lambda x, n=n: (max(0, q + x) - q) ** n * noise.pdf(x), *e, epsabs=1e-14)[0]
                for e in itertools.pairwise(ends)
            )
            for n in (1, 2)
        ]
    k = np.arange(-900.0, 901)
    p, err = noise.pmf(k), np.maximum(0, q + k) - q
    return math.fsum(p * err), math.fsum(p * err**2)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("q", [0, 1, 3, 12])
def test_clipping_errors_equal_direct_sums_or_quadrature(noise, q):
    bias, error = direct(noise, q)
    found = clipped(noise, q)
    assert float(found.bias) == pytest.approx(bias, rel=1e-10, abs=1e-14)
    assert float(found.squared_error) == pytest.approx(error, rel=1e-10)


def test_the_sum_of_m_epsilon_by_enumerating_all_outputs():
    noise, table = DoubleGeometric(1.5), (0, 1, 4)
    k = np.arange(-40.0, 41)
    p = noise.pmf(k)
    err = [np.maximum(0, q + k) - q for q in table]
    total = math.fsum(
        float(p[i] * p[j]) * float((p * (err[0][i] + err[1][j] + err[2]) ** 2).sum())
        for i, j in itertools.product(range(k.size), repeat=2)
    )
    assert clipped_sum(noise, table) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_no_table_beats_the_worst_of_two(noise):
    """Every table of up to 4 cells with counts up to 7, and hundreds of random larger ones."""
    for d in (1, 2, 3, 4):
        worst = float(exact.worst_clipped_sum(noise, d).squared_error)
        for table in itertools.combinations_with_replacement(range(8), d):
            assert at_most(clipped_sum(noise, table), worst)
    rng = np.random.default_rng(3)
    for _ in range(300):
        d = int(rng.integers(1, 400))
        table = rng.integers(0, rng.integers(1, 40), d) * rng.integers(0, 2, d)
        worst = float(exact.worst_clipped_sum(noise, d).squared_error)
        assert at_most(clipped_sum(noise, table), worst)
    zero = clipped_sum(noise, [0], [10**6])
    found = exact.worst_clipped_sum(noise, 10**6)
    assert found.all_zero
    assert float(found.squared_error) == pytest.approx(zero, rel=1e-13)


def test_large_tables_win_while_there_are_few_cells():
    """Up to five at small epsilon, and up to exp(epsilon) or so at large."""
    for epsilon, d in ((0.01, (5, 6)), (10.0, (20_000, 30_000))):
        found = exact.worst_clipped_sum(m_epsilon(epsilon), d)
        assert found.all_zero.tolist() == [False, True]
