"""Two thousand releases of a small table: the noise's law and the privacy loss.

Every test of chance is exact (binomial) and the chances of all its comparisons together are below
1e-9, so a failure means a fault. Each is also shown to notice a fault of the size that matters.
"""

import math

import numpy as np
import pytest
from scipy import special, stats

from microdata_price.fitting import fit
from microdata_price.model.measurement import Measurements
from microdata_price.model.noise_discrete import DiscreteGaussian, DoubleGeometric
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from microdata_price.release.measure import measure_privately
from microdata_price.release.rounding import round_table
from microdata_price.tables.schema import Schema

RELEASES = 2000
CHANCE = 1e-9
SCHEMA = Schema(("answer",), (("yes", "no"),))
WORKLOAD = Workload.table(2)
TABLE = np.array([4.0, 0.0])
NEIGHBOUR = np.array([4.0, 1.0])


def releases(table, guarantee):
    """Measure a table two thousand times, as `release` does."""
    made = [measure_privately(table, SCHEMA, WORKLOAD, guarantee) for _ in range(RELEASES)]
    answers = tuple(np.stack(part) for part in zip(*(m.answers for m in made), strict=True))
    return made[0].mechanism, answers


def smallest_chance(counts, trials, probabilities):
    """The smallest two-sided chance of any of these binomial counts, times their number."""
    low = stats.binom.cdf(counts, trials, probabilities)
    high = stats.binom.sf(counts - 1, trials, probabilities)
    each = np.minimum(1.0, 2 * np.minimum(low, high))
    return float(each.min() * each.size)


def chance_of_noise(noise, law):
    """Compare every value's count and every tail's count with a law of integer noise."""
    values = np.arange(-200, 201)
    n = noise.size
    hits = (noise.ravel()[:, None] == values).sum(axis=0)
    tails = (noise.ravel()[:, None] > values).sum(axis=0)
    counts = np.concatenate([hits, tails])
    return smallest_chance(counts, n, np.concatenate([law.pmf(values), law.sf(values)]))


def chance_of_independence(noise, law):
    """Compare how often two answers' noises are both positive with what independence says."""
    up = noise > 0
    both = [int((up[:, i] & up[:, j]).sum()) for i in range(noise.shape[1]) for j in range(i)]
    return smallest_chance(np.array(both), len(noise), float(law.sf(0)) ** 2)


@pytest.fixture(scope="module", params=[PureDP(1.0), ConcentratedDP(0.25)], ids=["pure", "zcdp"])
def drawn(request):
    guarantee = request.param
    mechanism, first = releases(TABLE, guarantee)
    second = releases(NEIGHBOUR, guarantee)[1]
    return mechanism, first, second


def law_of(mechanism):
    """The law from the paper's Theorems 1 and 2, not from the mechanism's own description."""
    if isinstance(mechanism.guarantee, PureDP):
        return DoubleGeometric(1.0 / 2)  # Two query sets share epsilon = 1.
    return DiscreteGaussian(2 / (2 * 0.25))


def noise_of(answers, table):
    truth = WORKLOAD.answers(table)
    return np.concatenate([a - t for a, t in zip(answers, truth, strict=True)], axis=1)


def test_the_noise_has_the_right_law(drawn):
    mechanism, first, second = drawn
    law = law_of(mechanism)
    assert mechanism.variances == pytest.approx((law.variance,) * 2, rel=1e-12)
    noise = np.concatenate([noise_of(first, TABLE), noise_of(second, NEIGHBOUR)])
    assert chance_of_noise(noise, law) > CHANCE
    assert chance_of_independence(noise, law) > CHANCE


def test_a_wrong_law_would_be_noticed(drawn):
    """Noise of another scale, shifted, of continuous origin, or shared between answers."""
    law = law_of(drawn[0])
    rng = np.random.default_rng(5)
    shape = (2 * RELEASES, 3)
    if isinstance(law, DoubleGeometric):
        other = DoubleGeometric(law.epsilon * 1.2).sample(rng, shape)
        rounded = np.rint(rng.laplace(0, 0.8 / law.epsilon, shape))
    else:
        other = DiscreteGaussian(law.sigma2 * 1.3).sample(rng, shape)
        rounded = np.trunc(rng.normal(0, law.sigma, shape))
    assert chance_of_noise(other, law) < CHANCE
    assert chance_of_noise(rounded, law) < CHANCE
    assert chance_of_noise(law.sample(rng, shape) + 1, law) < CHANCE
    shared = np.repeat(law.sample(rng, (2 * RELEASES, 1)), 3, axis=1)
    assert chance_of_independence(shared, law) < CHANCE
    assert chance_of_noise(law.sample(rng, shape), law) > CHANCE


def microdata(mechanism, answers, method):
    """Fit and round every release, as `release` does."""
    noise = mechanism.noise
    stacked = Measurements(WORKLOAD, tuple(a.astype(float) for a in answers), noise)
    weights = np.maximum(fit(stacked, method).cells, 0)
    return np.stack([round_table(w, WORKLOAD).table for w in weights])


def events(answers, tables):
    """Indicator of many sets of outputs, shape (releases, sets): tails of answers and tables."""
    vector = np.concatenate([*answers, tables, tables.sum(axis=1, keepdims=True)], axis=1)
    # The direction in which one more record moves all answers at once shows the loss best.
    vector = np.column_stack([vector, answers[0][:, 0] + answers[1][:, 1]])
    cuts = np.arange(-8, 16)
    above = (vector[:, :, None] > cuts).reshape(len(vector), -1)
    both = (answers[0][:, :1] > cuts) & (answers[1][:, 1:] > cuts[:1])
    joint = [(answers[0][:, 0] > a) & (answers[1][:, 1] > b) for a in cuts[::3] for b in cuts[::3]]
    sets = np.concatenate([above, both, np.stack(joint, axis=1)], axis=1)
    return np.concatenate([sets, ~sets], axis=1)


def proven(loss, first, second):
    """A lower bound on a loss between two laws, false with a chance below 1e-9 for all sets.

    The loss is a function of the chances p and q of one set that grows with p and falls with q.
    """
    n = len(first)
    level = CHANCE / (4 * first.shape[1])
    bound = -math.inf
    for a, b in ((first, second), (second, first)):
        hits, others = a.sum(axis=0), b.sum(axis=0)
        # Clopper and Pearson's bounds for a chance, from below and from above.
        low = np.where(hits > 0, stats.beta.ppf(level, hits, n - hits + 1), 0.0)
        high = np.where(others < n, stats.beta.isf(level, others + 1, n - others), 1.0)
        apart = low > high
        if apart.any():
            bound = max(bound, float(loss(low[apart], high[apart]).max()))
    return bound


def ratio(p, q):
    """Pure DP bounds the logarithm of the ratio of any set's chances by epsilon."""
    return np.log(p) - np.log(q)


def divergence(p, q):
    """Order 1 of zCDP: rho bounds the divergence of the laws, and so that of any set."""
    return special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)


@pytest.mark.parametrize("method", ["nnls", "maxfit", "sequential", "reweighted"])
def test_the_empirical_privacy_loss_stays_within_the_claim(drawn, method):
    mechanism, first, second = drawn
    one = events(first, microdata(mechanism, first, method))
    two = events(second, microdata(mechanism, second, method))
    if isinstance(mechanism.guarantee, PureDP):
        assert proven(ratio, one, two) <= mechanism.guarantee.epsilon
    else:
        assert proven(divergence, one, two) <= mechanism.guarantee.rho


def test_a_loss_beyond_the_claim_would_be_noticed():
    """A fifth of the noise that is due, or one cell left without noise."""
    rng = np.random.default_rng(3)
    zeros = np.zeros((RELEASES, 2))

    def faulty(law, table):
        return [a + law.sample(rng, (RELEASES, a.size)) for a in WORKLOAD.answers(table)]

    for loss, law, claim in (
        (ratio, DoubleGeometric(5.0 / 2), 1.0),
        (divergence, DiscreteGaussian(2 / (2 * 0.25) / 25), 0.25),
    ):
        first, second = faulty(law, TABLE), faulty(law, NEIGHBOUR)
        assert proven(loss, events(first, zeros), events(second, zeros)) > claim
        right = DoubleGeometric(1.0 / 2)
        bare = []
        for table in (TABLE, NEIGHBOUR):
            answers = faulty(right, table)
            answers[1][:, 1] = table[1]
            bare.append(events(answers, zeros))
        assert proven(loss, *bare) > claim
