"""The noise's law and the privacy loss of 2,000 releases; by chance one test in 1e9 runs fails."""

import numpy as np
import pytest
from benchmarks import release_loss as rl
from scipy import stats

from microdata_price.model.noise_discrete import DiscreteGaussian, DoubleGeometric
from microdata_price.model.privacy import ConcentratedDP, PureDP

RELEASES = 2000


def smallest_chance(counts, trials, probabilities):
    """The smallest two-sided chance of any of these binomial counts, times their number."""
    low = stats.binom.cdf(counts, trials, probabilities)
    high = stats.binom.sf(counts - 1, trials, probabilities)
    each = np.minimum(1.0, 2 * np.minimum(low, high))
    return float(each.min() * each.size)


def chance_of_noise(noise, law):
    """Compare every value's count and every tail's count with a law of integer noise."""
    values = np.arange(-200, 201)
    hits = (noise.ravel()[:, None] == values).sum(axis=0)
    counts = np.concatenate([hits, (noise.ravel()[:, None] > values).sum(axis=0)])
    return smallest_chance(counts, noise.size, np.concatenate([law.pmf(values), law.sf(values)]))


def chance_of_independence(noise, law):
    """Compare how often two answers' noises are both positive with what independence says."""
    up = noise > 0
    both = [int((up[:, i] & up[:, j]).sum()) for i in range(noise.shape[1]) for j in range(i)]
    return smallest_chance(np.array(both), len(noise), float(law.sf(0)) ** 2)


@pytest.fixture(scope="module", params=[PureDP(1.0), ConcentratedDP(0.25)], ids=["pure", "zcdp"])
def drawn(request):
    made = rl.releases(rl.TABLE, request.param, RELEASES)
    return *made, rl.releases(rl.NEIGHBOUR, request.param, RELEASES)[1]


LAWS = {PureDP: DoubleGeometric(1.0 / 2), ConcentratedDP: DiscreteGaussian(2 / (2 * 0.25))}
"""By the paper's Theorems 1 and 2, where two query sets share the level."""


def noise_of(answers, table):
    pairs = zip(answers, rl.WORKLOAD.answers(table), strict=True)
    return np.concatenate([a - t for a, t in pairs], 1)


def test_the_noise_has_the_right_law(drawn):
    mechanism, first, second = drawn
    law = LAWS[type(mechanism.guarantee)]
    assert mechanism.variances == pytest.approx((law.variance,) * 2, rel=1e-12)
    noise = np.concatenate([noise_of(first, rl.TABLE), noise_of(second, rl.NEIGHBOUR)])
    assert chance_of_noise(noise, law) > rl.CHANCE
    assert chance_of_independence(noise, law) > rl.CHANCE
    # Noise of another scale, shifted, of continuous origin, or shared between answers is noticed.
    rng, shape = np.random.default_rng(5), noise.shape
    if isinstance(law, DoubleGeometric):
        other = DoubleGeometric(law.epsilon * 1.2).sample(rng, shape)
        rounded = np.rint(rng.laplace(0, 0.8 / law.epsilon, shape))
    else:
        other = DiscreteGaussian(law.sigma2 * 1.3).sample(rng, shape)
        rounded = np.trunc(rng.normal(0, law.sigma, shape))
    for wrong in (other, rounded, law.sample(rng, shape) + 1):
        assert chance_of_noise(wrong, law) < rl.CHANCE
    shared = np.repeat(law.sample(rng, (len(noise), 1)), 3, axis=1)
    assert chance_of_independence(shared, law) < rl.CHANCE


@pytest.mark.parametrize("method", ["nnls", "maxfit", "sequential", "reweighted"])
def test_the_empirical_privacy_loss_stays_within_the_claim(drawn, method):
    mechanism, first, second = drawn
    one = rl.events(first, rl.microdata(mechanism, first, method))
    two = rl.events(second, rl.microdata(mechanism, second, method))
    loss = rl.ratio if isinstance(mechanism.guarantee, PureDP) else rl.divergence
    assert rl.proven(loss, one, two) <= mechanism.guarantee.level


def test_a_loss_beyond_the_claim_would_be_noticed():
    rng, zeros = np.random.default_rng(3), np.zeros((RELEASES, 2))

    def faulty(law, table):
        return [a + law.sample(rng, (RELEASES, a.size)) for a in rl.WORKLOAD.answers(table)]

    for loss, law, claim in (
        (rl.ratio, DoubleGeometric(5.0 / 2), 1.0),
        (rl.divergence, DiscreteGaussian(2 / (2 * 0.25) / 25), 0.25),
    ):
        first, second = faulty(law, rl.TABLE), faulty(law, rl.NEIGHBOUR)
        assert rl.proven(loss, rl.events(first, zeros), rl.events(second, zeros)) > claim
        bare = []
        for table in (rl.TABLE, rl.NEIGHBOUR):
            answers = faulty(LAWS[PureDP], table)
            answers[1][:, 1] = table[1]
            bare.append(rl.events(answers, zeros))
        assert rl.proven(loss, *bare) > claim
