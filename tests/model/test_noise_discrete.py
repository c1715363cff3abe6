"""The integer noise laws against direct sums in many digits."""

import mpmath as mp
import numpy as np
import pytest

from microdata_price.model import noise_released
from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.noise_discrete import TruncatedDoubleGeometric
from microdata_price.model.noise_released import DiscreteGaussian, DoubleGeometric
from rounding import digits

_digits = digits(40)

LAWS = [
    *(DoubleGeometric(e) for e in (0.05, 0.5, 3.0, 30.0)),
    *(TruncatedDoubleGeometric(e, 2000) for e in (0.01, 5.0)),
    *(TruncatedDoubleGeometric(*x) for x in ((0.5, 1), (0.25, 9), (1e-6, 40), (0.05, 300))),
    *(DiscreteGaussian(s) for s in (0.05, 0.29999, 0.3, 1.0, 50.0)),
]


def weights(law):
    """Every probability that matters, from the definition, in 40 digits."""
    if isinstance(law, DiscreteGaussian):
        far, two = int(25 * law.sigma) + 12, 2 * mp.mpf(law.sigma2)
        raw = {k: mp.exp(-(mp.mpf(k) ** 2) / two) for k in range(-far, far + 1)}
        total = sum(raw.values())
        return {k: w / total for k, w in raw.items()}
    r = mp.exp(-mp.mpf(law.epsilon))
    far = int(80 / law.epsilon) + 60 if isinstance(law, DoubleGeometric) else law.bound
    p = {k: (1 - r) / (1 + r) * r ** abs(k) for k in range(-far, far + 1)}
    if isinstance(law, TruncatedDoubleGeometric):
        p[far] = p[-far] = r**far / (1 + r)
    return p


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_probabilities_moments_and_tails_equal_direct_sums(law):
    p = weights(law)
    assert abs(sum(p.values()) - 1) < 1e-25
    near = np.arange(-60, 61)
    exact = [float(p.get(int(k), 0)) for k in near]
    np.testing.assert_allclose(law.pmf(near), exact, rtol=2e-13, atol=1e-300)
    variance = sum(w * k * k for k, w in p.items())
    assert law.variance == pytest.approx(float(variance), rel=1e-13)
    assert law.std**2 == pytest.approx(law.variance, rel=1e-14)
    for q in (0, 1, 2, 7, 30):
        first = float(sum(w * (k - q) for k, w in p.items() if k > q))
        second = float(sum(w * (k - q) ** 2 for k, w in p.items() if k > q))
        above = float(sum(w for k, w in p.items() if k > q))
        got = tuple(map(float, law.excess(float(q))))
        assert got == pytest.approx((first, second), rel=1e-11, abs=1e-290)
        assert law.sf(float(q)) == pytest.approx(above, rel=1e-11, abs=1e-290)
        below = float(mp.log(sum((w for k, w in p.items() if k <= -q - 1), mp.mpf("1e-5000"))))
        if below > -600:
            assert law.log_cdf(-q - 0.5) == pytest.approx(below, rel=1e-11)
        assert np.exp(law.log_cdf(q + 0.3)) == pytest.approx(1 - above, rel=1e-12)
        assert law.sf(-q - 1.0) == pytest.approx(1 - above, rel=1e-12)
    assert law.excess(np.arange(3000.0)).second[-1] == pytest.approx(0, abs=1e-60)


@pytest.mark.parametrize(("sigma2", "q"), [(50.0, 300), (1.0, 60), (4e10, 10**7)])
def test_tails_too_small_to_write_have_their_logarithms(sigma2, q):
    exact = mp.log(mp.ncdf(-(q + mp.mpf("0.5")) / mp.sqrt(sigma2)))
    if sigma2 < 100:
        terms = [mp.exp(-(mp.mpf(k) ** 2) / (2 * sigma2)) for k in range(2 * q)]
        exact = mp.log(sum(terms[q + 1 :]) / (2 * sum(terms[1:]) + 1))
    assert DiscreteGaussian(sigma2).log_cdf(-q - 1.0) == pytest.approx(float(exact), rel=1e-11)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_quantile_is_the_smallest_integer_with_little_enough_above(law):
    p = np.concatenate([np.geomspace(1e-12, 0.5, 40), 1 - np.geomspace(1e-9, 0.5, 40)])
    exactly = law.sf(np.arange(-9.0, 9))
    exactly = exactly[(exactly > 0) & (exactly < 1)]
    p = np.concatenate([p, exactly, np.nextafter(exactly, 0)])
    t = law.upper_quantile(p)
    assert (t == np.floor(t)).all()
    assert (law.sf(t) <= p).all()
    assert (law.sf(t - 1) > p).all()
    assert law.upper_quantile(0.5).shape == ()


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_samples_follow_the_law(law):
    n = 200_000
    draws = law.sample(np.random.default_rng(20), (4, n // 4))
    assert draws.shape == (4, n // 4)
    assert (draws == np.floor(draws)).all()
    values, counts = np.unique(draws, return_counts=True)
    p = law.pmf(values)
    # Each frequency within 6 of its standard errors, plus one draw for the rarest values.
    assert (np.abs(counts - n * p) <= 6 * np.sqrt(n * p * (1 - p)) + 3).all()
    assert p.sum() > 0.999


def test_wide_gaussian_agrees_with_its_sums(monkeypatch):
    q = np.array([0.0, 1.0, 400.0, 3000.0, 20_000.0])
    summed, smooth = DiscreteGaussian(3000.0**2), DiscreteGaussian(3000.0**2)
    direct, tail = summed.excess(q), summed.sf(q)
    monkeypatch.setattr(noise_released, "_WIDE", 1.0)
    np.testing.assert_allclose(smooth.excess(q), direct, rtol=1e-12)
    np.testing.assert_allclose(smooth.sf(q), tail, rtol=1e-12)


def test_extreme_parameters_do_not_overflow():
    for law in (*LAWS, DiscreteGaussian(1e14), Laplace(3.0), Gaussian(2.0)):
        assert law.log_cdf(np.array([-np.inf, np.inf])).tolist() == [-np.inf, 0.0]
    assert DoubleGeometric(1e-6).variance == pytest.approx(2e12, rel=1e-12)
    assert (DoubleGeometric(1e3).variance, DiscreteGaussian(5e-4).variance) == (0.0, 0.0)
    assert DiscreteGaussian(1e14).variance == pytest.approx(1e14, rel=1e-14)
    pairs = (DoubleGeometric(1e-17), Laplace(1e17)), (DiscreteGaussian(1e34), Gaussian(1e17))
    for wide, smooth in pairs:  # where doubles skip whole numbers
        found = wide.upper_quantile([0.1, 0.9])
        np.testing.assert_allclose(found, smooth.upper_quantile([0.1, 0.9]), rtol=1e-12)
    assert DiscreteGaussian(1e14).excess(0.0).first == pytest.approx(1e7 / np.sqrt(2 * np.pi))
    assert TruncatedDoubleGeometric(1e-7, 10**9).variance == pytest.approx(2e14, rel=1e-9)


@pytest.mark.parametrize("law", [Laplace(3.0), Gaussian(2.0)], ids=repr)
def test_continuous_quantile_and_excess_agree_with_the_law(law):
    p = np.array([1e-9, 0.2, 0.5, 0.8, 1 - 1e-9])
    np.testing.assert_allclose(np.exp(law.log_cdf(-law.upper_quantile(p))), p, rtol=1e-7)

    def density(x):
        if isinstance(law, Laplace):
            return mp.exp(-abs(x) / law.scale) / (2 * law.scale)
        return mp.npdf(x, 0, law.std)

    for q in (0.0, 0.7, 5.0, 20.0):
        assert float(law.pdf(-q)) == pytest.approx(float(density(mp.mpf(-q))), rel=1e-12)
        far = [q, q + 5, q + 20, q + 80, q + 300]
        for power, got in zip((1, 2), law.excess(q), strict=True):
            exact = mp.quad(lambda x, p=power, q=q: (x - q) ** p * density(x), far)
            assert float(got) == pytest.approx(float(exact), rel=1e-11)
