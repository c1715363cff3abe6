"""Asymmetric noise, the one-sided bound and the worst table: laws, certificates, outcomes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from scipy.integrate import quad
from scipy.stats import norm

from by_quadrature import expected
from microdata_price.model.noise_asymmetric import AsymmetricGeometric, AsymmetricLaplace
from microdata_price.model.noise_discrete import DoubleGeometric
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.theory.laws.audit import audit_asymmetric
from microdata_price.theory.upper import one_sided
from microdata_price.theory.upper.asymmetric import best_rates, certified_asymmetric
from microdata_price.theory.upper.projection import project, threshold

rates = st.floats(0.05, 3.0)


@given(rates, rates)
def test_both_noises_have_the_moments_of_their_laws(r, s):
    whole, real = AsymmetricGeometric(r, s), AsymmetricLaplace(r, s)
    k = np.arange(-900.0, 901.0)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    x = k[:-1, None] + (1 + nodes) / 2
    for z, at, weight in ((whole, k, 1.0), (real, x, weights / 2)):
        p = weight * np.exp(z.log_density(at))
        assert p.sum() == pytest.approx(1, rel=1e-10)
        assert (p * at).sum() == pytest.approx(z.mean, rel=1e-8, abs=1e-8)
        assert (p * (at - z.mean) ** 2).sum() == pytest.approx(z.variance, rel=1e-8)
    even = AsymmetricGeometric(r, r).log_density(k[800:1000])
    assert even == pytest.approx(DoubleGeometric(r).log_pmf(k[800:1000]), abs=1e-11)


@pytest.mark.parametrize("law", [AsymmetricGeometric, AsymmetricLaplace])
def test_draws_follow_the_law(law):
    z = law(0.7, 0.3)
    drawn = z.sample(np.random.default_rng(5), 200_000)
    for sample, want in ((drawn, z.mean), ((drawn - z.mean) ** 2, z.variance)):
        assert abs(sample.mean() - want) < 5 * sample.std() / math.sqrt(drawn.size)


@given(st.floats(0.02, 8.0), st.floats(0.1, 0.9), st.floats(0.1, 0.9), st.floats(1, 2))
def test_whole_noise_loses_exactly_what_it_may(eps, up, down, more):
    """As much as the larger of the two sums of rates, also where one exceeds the budget."""
    cell = AsymmetricGeometric((1 - up) * eps * more, (1 - down) * eps)
    found = audit_asymmetric(cell, AsymmetricGeometric(up * eps, down * eps))
    assert found.holds
    assert found.worst == pytest.approx(((1 - up) * more + up) * eps, rel=1e-9)


@pytest.mark.parametrize("d", [1, 7, 40])
def test_the_largest_of_few_gaussian_draws_by_quadrature(d):
    for k, found in enumerate(one_sided.largest_gaussian(d), 1):
        density = lambda t, k=k: t**k * d * norm.pdf(t) * norm.cdf(t) ** (d - 1)  # noqa: E731
        assert float(found) == pytest.approx(quad(density, 0, 20, points=[3])[0], rel=1e-10)


@pytest.mark.parametrize(
    ("d", "rate", "uneven", "even", "gaussian"),
    [
        *((10**3, 0.4318, 15.07, 16.08, 4.18), (10**6, 0.4166, 26.75, 29.62, 5.73)),
        (10**12, 0.4058, 50.05, 57.15, 7.96),
    ],
)
def test_printed_certificates(d, rate, uneven, even, gaussian):
    """Rounded up; units of 1/epsilon and 1/sqrt(rho). One side is below both, in that order."""
    best, pure, zcdp = best_rates(1.0, d, math.sqrt(8)), PureDP(1.0), ConcentratedDP(1.0)
    assert float(best.right) == pytest.approx(rate, abs=1e-4)
    own = certified_asymmetric(1.0, d, best.right, best.left)
    found = (own, one_sided.certified_split(pure, d), one_sided.certified_split(zcdp, d))
    for one, printed in zip(found, (uneven, even, gaussian), strict=True):
        assert printed - 0.011 <= float(one.C) <= printed
    assert pytest.approx(math.sqrt(8), rel=1e-9) == own.D
    for kind in (PureDP, ConcentratedDP):  # the level is a unit
        one, other = (one_sided.certified_split(kind(x), d, 0.3) for x in (1.0, 0.07))
        unit = kind(0.07).signed_error / kind(1.0).signed_error
        np.testing.assert_allclose(np.array(one) * unit, other, rtol=1e-12)
    # No rates on a fine grid are better.
    right = np.linspace(0.36, 0.5, 300)
    left = 1 / np.sqrt(8 - 1 / right**2)
    some = left < 1
    assert (certified_asymmetric(1.0, d, right[some], left[some]).C >= own.C * (1 - 1e-7)).all()


@pytest.mark.parametrize("d", [1, 7, 10**9])
@pytest.mark.parametrize(
    ("cell", "total"), [((0.7, 0.3), (0.4, 1.3)), ((0.6, 1.7), (0.9, 0.35)), ((0.5, 0.5),) * 2]
)
def test_sides_of_asymmetric_noise_by_quadrature(d, cell, total):
    z, w = AsymmetricLaplace(*cell), AsymmetricLaplace(*total)
    least, mean, far = max(-z.mean, 0.0), w.mean, math.log(d) + 50

    def beyond(t, k):  # the largest of d, in units of its tail
        chance = -math.expm1(d * math.log1p(-cell[1] / sum(cell) * math.exp(-t)))
        return k * t ** (k - 1) * chance / cell[0] ** k

    top = [quad(beyond, 0, far, (k,), points=[far - 50], epsabs=1e-12)[0] for k in (1, 2)]
    down = [expected(w, lambda x, k=k: max(mean - x, 0) ** k, mean) for k in (1, 2)]
    low = [expected(z, lambda x, k=k: max(-x, least) ** k, -least) for k in (1, 2)]
    up = expected(w, lambda x: max(x - mean, 0) ** 2, mean)
    above = [top[0] + down[0], top[1] + down[1] + 2 * top[0] * down[0]]
    lift = (math.sqrt(up) + math.sqrt(d * z.variance)) / d
    found = one_sided.laplace_sides(np.array(float(d)), cell, total)
    got = [*found.above, *found.below, found.lift, found.least]
    assert got == pytest.approx([*above, *low, lift, least], rel=1e-9)


def huge_loss(z, w, i):
    """Return Lam_i by root finding: the loss of cell i when it is huge and all others are empty."""
    others = np.delete(z, i)

    def gap(g):
        return g - z[i] + w - np.maximum(others - g, 0).sum()

    reach = np.abs(z).sum() + abs(w) + 1
    return float(optimize.brentq(gap, -reach, reach, xtol=1e-13)) - z[i]


@given(st.integers(2, 6), st.data())
def test_no_table_is_worse_than_one_huge_cell_outcome_by_outcome(d, data):
    w, *z = data.draw(st.lists(st.floats(-8, 8), min_size=d + 1, max_size=d + 1))
    q = np.array(data.draw(st.lists(st.integers(0, 30), min_size=d, max_size=d)), dtype=float)
    z = np.array(z)
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


noises = st.lists(st.floats(-20, 20), min_size=2, max_size=12)


@given(noises, st.data(), st.sampled_from([math.inf, 0.01, 1.0, 30.0]))
def test_the_one_sided_bound_holds_for_any_noise_whatsoever(cells, data, weight):
    d, z = len(cells), np.array(cells)
    w = data.draw(st.floats(-60, 60))
    q = np.array(data.draw(st.lists(st.integers(0, 30), min_size=d, max_size=d)), dtype=float)
    answer = q.sum() + w
    target = max(0.0, answer) if math.isinf(weight) else answer
    x = project(q + z, target, weight)
    g = float(threshold(q + z, target, weight))
    up, low = max(z.max(), 0.0), max(-w, 0.0)
    lift = (max(w, 0.0) + max(-z.sum(), 0.0)) / d
    rounding = 1e-9 * (1 + abs(z).max() + q.sum())
    bound = up + low + np.maximum(np.maximum(-z, 0), lift)
    assert (np.abs(x - q) <= bound + rounding).all()
    if x.any():
        assert -lift - rounding <= g <= up + low + rounding
