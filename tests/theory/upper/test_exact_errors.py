"""The lemmas, clipping's errors and those of fits, against quadrature, sums and samples."""

import functools
import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from by_quadrature import expected
from microdata_price.model import noise_discrete as nd
from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.noise_discrete import DoubleGeometric
from microdata_price.theory.upper import fitted_errors as fe
from microdata_price.theory.upper.exact_errors import clipped, clipped_sum, worst_clipped_sum
from microdata_price.theory.upper.excess_laplace import LaplaceExcess, excess_sum
from microdata_price.theory.upper.extremes import extremes, lemma1, lemma1_split
from microdata_price.theory.upper.projection import project, threshold
from rounding import at_most, digits

_digits = digits(30)
PIECES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 20]
KINDS = [Laplace, Gaussian]
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
    assert (found.mean, found.square) == pytest.approx((mean, square), rel=1e-10)
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
        return [expected(noise, lambda z, n=n: (max(0, q + z) - q) ** n, -q) for n in (1, 2)]
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


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_no_table_beats_the_worst_of_two(noise):
    for d in (1, 2, 3, 4):
        worst = float(worst_clipped_sum(noise, d).squared_error)
        for table in itertools.combinations_with_replacement(range(8), d):
            assert at_most(clipped_sum(noise, table), worst)
    zero = clipped_sum(noise, [0], [10**6])
    found = worst_clipped_sum(noise, 10**6)
    assert found.all_zero
    assert float(found.squared_error) == pytest.approx(zero, rel=1e-13)
    # Large tables win up to five cells at small epsilon, and up to exp(epsilon) or so at large.
    for epsilon, d in ((0.01, (5, 6)), (10.0, (20_000, 30_000))):
        assert worst_clipped_sum(DoubleGeometric(epsilon), d).all_zero.tolist() == [False, True]


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


@pytest.mark.parametrize("r", [0.03, 1.0, 3.0])
@pytest.mark.parametrize(
    ("n", "means"), [(1.0, [1e-3]), (90.0, [1e-3, 3.0, 44.0]), (1e12, [3.0, 44.0, 46.0])]
)
def test_the_laplace_law_is_a_sum_over_how_many_exceed(n, means, r):
    law = LaplaceExcess(2.0, 2.0 / r, n)
    for mean, s in itertools.product(means, (0.1, 4.0, 70.0, 1200.0)):
        g, at = np.array([2.0 * math.log(n / 2 / mean)]), np.array([[s]])
        alone, smoothed = over_their_number(n, mp.exp(-mp.mpf(g[0]) / 2) / 2, r, mp.mpf(s) / 2)
        assert 1 - float(law.survival(g, at)[0, 0]) == pytest.approx(alone, abs=1e-12)
        assert float(law.below(g, at)[0, 0]) == pytest.approx(smoothed, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_law_of_one_excess_by_quadrature(kind):
    cell, star, s = kind(1.3), kind(0.7), np.array([-2.0, 0.05, 1.0, 5.0, 30.0])
    law, g = excess_sum(cell, star, 1), np.array([-2.0, -0.3, 0.4, 3.0])

    def each(f):
        return [
            [expected(cell, lambda z, h=h, x=x: f(x - max(z - h, 0)), h, h + x) for x in s]
            for h in g
        ]

    at = np.tile(s, (g.size, 1))
    found = law.below(g, at)
    np.testing.assert_allclose(found, each(lambda x: math.exp(star.log_cdf(x))), atol=4e-9)
    if kind is Gaussian:
        np.testing.assert_allclose(law.density(g, at), each(star.pdf), atol=1e-12)
        # Excesses a hundred times as wide as the other noise, but rare.
        none = math.exp(1e5 * Gaussian(1.0).log_cdf(6.0) + Gaussian(1.0).log_cdf(-5.0))
        wide = excess_sum(Gaussian(50.0), Gaussian(0.5), 1e5)
        assert wide.below(np.array([300.0]), np.array([[-2.5]])) == pytest.approx(none, abs=1e-10)


@pytest.mark.parametrize("n", [1.0, 4.0])
@pytest.mark.parametrize(("g", "theta"), [(-0.7, 0.9), (-6.0, 2.0), (-2.0, 1 / 1.3), (-0.1, 0.3)])
def test_moments_and_integrals_below_zero_equal_quadrature(n, g, theta):
    law, at = LaplaceExcess(1.3, 0.7, n), np.array([g])
    some = (lambda z, k=k: max(z - g, 0) ** k * math.exp(-theta * max(z - g, 0)) for k in range(3))
    a, b, c = (expected(Laplace(1.3), f, g) for f in some)
    want = a**n, n * a ** (n - 1) * b, n * a ** (n - 1) * c + n * (n - 1) * a ** (n - 2) * b**2
    assert [float(x[0]) for x in law.moments(at, np.array(theta))] == pytest.approx(want, rel=1e-10)
    # The law itself, inverted to 1e-10 or so, on panels.
    nodes, weights = np.polynomial.legendre.leggauss(12)
    s = np.linspace(0, 60, 121)[:-1, None] + (nodes + 1) / 4
    chance = 1 - law.below(at, s.reshape(1, -1)).reshape(s.shape)
    whole = (((1.5 + 2 * s) * np.exp(-0.6 * s) * chance) @ weights).sum() / 4
    assert float(law.exceeded(at, np.array([1.5]), 2.0, 0.6)[0]) == pytest.approx(whole, rel=1e-8)


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
def test_ends_of_the_weighted_family(kind):
    cell, star, d = kind(1.0), kind(1.4), 30
    lone, empty = (
        functools.partial(f, cell, star, d)
        for f in (fe.lone_cell_sum_error, fe.empty_table_sum_error)
    )
    assert (lone(math.inf), 2 * empty(math.inf)) == (star.variance,) * 2
    want = clipped_sum(cell, [math.inf, 0], [1, d - 1]), clipped_sum(cell, [0], [d])
    assert (lone(0.0), empty(0.0)) == want == pytest.approx((lone(1e-7), empty(1e-7)), rel=1e-3)
    for count in (0.0, 2.0, math.inf):
        want = float(clipped(cell, count).squared_error)
        found = [fe.cell_errors(cell, star, d, count, w).squared_error for w in (0.0, 1e-9)]
        assert found == pytest.approx([want, want], rel=1e-4)


FITS = [  # the chance to vanish, the cell's bias, and squared errors of it and of two sums
    (Laplace, 12, 0.3, 2.5, 3, 0.097811815, -0.781686625, 2.94353689, 17.4356761, 20.1056489),
    (Laplace, 300, 1e-3, 0.2, 6, 0.00561984148, -0.162953099, 3.29673393, 29258.4084, 29480.0154),
    (Laplace, 40, math.inf, 0.4, 5, 0.0783367741, -2.77306259, 9.41557294),
    (Laplace, 1e4, 300, 0.1, 6, 0.943041723, -5.93907836, 35.3935524, 0.0345991337, 0.0227505245),
    (Gaussian, 12, 0.3, 2.5, 3, 0.029029522, -0.655911936, 1.86461152, 9.18490972, 10.5198002),
    (Gaussian, 300, 1e-3, 0.2, 6, 3.16597447e-06, -0.135462736, 1.70548845, 18468.8113, 18608.4919),
    (Gaussian, 40, math.inf, 0.4, 5, 0.00217579997, -1.85796035, 4.47543483),
    (Gaussian, 1e4, 300, 0.1, 6, 0.0480629016, -3.96459097, 17.0207955, 0.0170672377, 0.0102669667),
]


@pytest.mark.parametrize("case", FITS, ids=str)
def test_errors_agree_with_samples_and_are_as_exact_as_their_order(case):
    kind, d, weight, ratio, count, *known = case
    cell, star = kind(1.3), kind(1.3 * ratio)
    for order, error in ((8, 1e-8), (3, 2e-5)):
        found = [fe.vanishing_chance(cell, star, d, count, weight)] if order == 8 else [known[0]]
        found += fe.cell_errors(cell, star, d, count, weight, order=order)
        if weight < math.inf:
            found.append(fe.lone_cell_sum_error(cell, star, d, weight, order=order))
            found.append(fe.empty_table_sum_error(cell, star, d, weight, order=order))
        assert found == pytest.approx(known, rel=error)
    if d == 1e4:
        return
    rng, runs, fits = np.random.default_rng(d), 20_000 if d < 50 else 4_000, []
    z, w = cell.sample(rng, (runs, d)), star.sample(rng, runs)
    for true in (count, 1e5, 0.0):
        table = np.eye(d)[0] * true
        total = true + w if weight < math.inf else np.maximum(true + w, 0)
        fits.append(project(table + z, total, weight) - table)
    one, sums = fits[0][:, 0], [fit.sum(axis=1) ** 2 for fit in fits[1:]]
    for want, sample in zip(known, (one <= -count, one, one**2, *sums), strict=False):
        assert abs(want - sample.mean()) < 5.5 * sample.std() / math.sqrt(runs) + 1e-5


def test_errors_of_large_tables_by_linear_algebra():
    one, star, w = Laplace(1.3), Laplace(0.4), 0.7
    hat = np.linalg.inv(np.eye(5) + w)
    cell, total = np.eye(5)[0], np.ones(5)
    errors = fe.large_table_errors(one, star, 5, w)
    for asked, found in zip((cell, total), errors, strict=True):
        own, sums = asked @ hat, w * (asked @ hat).sum()
        assert found == pytest.approx(own @ own * one.variance + sums**2 * star.variance, rel=1e-12)
