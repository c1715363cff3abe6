"""The mechanism that reaches the leading constant: private at every step, and accurate."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.theory.upper.projection import project, threshold
from microdata_price.theory.upper.reports import Reports


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("log_d", [60.0, 1000.0, 1e5])
@pytest.mark.parametrize("s", [1.0, 1.5, 4.0])
def test_no_step_loses_more_than_the_budget(epsilon, log_d, s):
    for eta in (0.02, 0.06):
        for kappa in (eta, 0.3, 0.45, 0.499, 0.5, 0.51, 0.8, 1.0):
            for few in (False, True)[: 1 + (kappa == eta)]:
                case = Reports(epsilon, log_d, s, eta, kappa * log_d, few)
                assert case.largest_loss(801) <= case.tau * (1 + 1e-9)


@dataclass(frozen=True)
class TooEarly(Reports):
    """The same with alarms frozen over a gap that is too short."""

    @property
    def G(self):
        return super().G // 2


@dataclass(frozen=True)
class LightTails(Reports):
    """The same without the sum's heavy tails."""

    def log_noise(self, k):
        return self.main.log_density(np.asarray(k))


@pytest.mark.parametrize("broken", [TooEarly, LightTails])
def test_the_audit_finds_a_mechanism_that_is_not_private(broken):
    case = broken(1.0, 1000.0, 1.2, 0.05, 50.0)
    assert case.largest_loss(801) > 1.5 * case.tau


def test_the_sums_noise_is_a_law_with_the_stated_variance_and_spread():
    case = Reports(1.0, 100.0, 1.2, 0.05, 20.0)
    k = np.arange(-800, 801)
    p = np.exp(case.log_noise(k))
    assert p.sum() == pytest.approx(1, rel=1e-12)
    assert p @ (k - p @ k) ** 2 == pytest.approx(case.variance, rel=1e-10)
    far = np.arange(-3 * round(case.T), 3 * round(case.T) + 1)
    for s in (1, round(case.T), math.floor(2 * case.T + 2)):
        change = np.abs(case.log_noise(far - s) - case.log_noise(far))
        assert change.max() <= case.spread
        if s == 1:
            low, high = -case.main.left, case.main.right
            step = case.log_noise(far - 1) - case.log_noise(far)
            assert low - 1e-12 <= step.min() <= step.max() <= high + 1e-12


@pytest.mark.parametrize("s", [1.0, 1.7, 5.0])
def test_thresholds_tend_to_their_limit(s):
    for k in (0.001, 0.2, 0.45, 0.55, 0.9):
        case = Reports(0.7, 1e9, s, 0.001, k * 1e9)
        limit = 1 - 2 * k + 2 * k * s if k < 0.5 else 2 * (1 - k) * s  # at most s
        assert case.threshold / case.T == pytest.approx(limit, abs=0.01)
    few = Reports(0.7, 1e9, s, 0.001, 0.001 * 1e9, few=True)
    assert few.threshold / few.T == pytest.approx(1 + 2 * 0.001 * s, abs=0.01)


def _outcome(case, q, rng):
    """Draw reports (noisy counts, or not a number) and what the sum counts each cell as."""
    d, G = q.size, case.G
    z = case.cell.sample(rng, d)
    chance = rng.random(d)
    alarm = np.exp(case.log_phi)
    rise = np.exp(case.log_p - case.tau * np.maximum(G - q, 0)) * (q > 0)
    small = q < G
    false, frozen = small & (chance < alarm), small & (chance >= alarm) & (chance < alarm + rise)
    a = np.full(d, np.nan)
    beyond = case.threshold + rng.exponential(1 / case.cell.right, d)
    a[false | frozen] = beyond[false | frozen]
    loud = ~small & (q + z > case.threshold)
    a[loud] = (q + z)[loud]
    value = np.where(frozen, float(G), q)
    noise = case.main.sample(rng, 1)[0] - case.main.mean
    return a, z, float(value.sum() + noise)


@given(st.integers(0, 10**6), st.sampled_from([0.06, 0.3, 0.6]), st.floats(0, 6))
def test_cells_err_by_no_more_than_the_proof_says(seed, kappa, h):
    """The bounds for a rest of either sign hold run by run."""
    rng = np.random.default_rng(seed)
    # So loud that reports and frozen alarms occur at a size that can be drawn.
    case = Reports(2.0, 18.0, 1.2, 0.06, kappa * 18.0)
    d = 60
    q = np.where(rng.random(d) < 0.4, rng.integers(0, int(2 * case.threshold) + 2, d), 0) * 1.0
    a, z, A = _outcome(case, q, rng)
    seen = ~np.isnan(a)
    x0 = np.where(seen, np.maximum(np.nan_to_num(a) - h, 0), 0.0)
    big = q >= max(case.G, 1)
    z = np.where(big, z, 0.0)
    wrong = abs(A - q.sum())
    assert (np.abs(x0 - q)[seen & big] <= (np.abs(z) + h + 1e-9)[seen & big]).all()
    target, rest = max(A, 0.0), max(A, 0.0) - x0.sum()
    if rest >= 0:
        share = rest / d
        lost = np.where(seen, h + np.maximum(-z, 0), q)[q > 0].sum()
        assert A <= 0 or share <= (lost + wrong) / d + 1e-9
        x = x0 + share
        assert (np.abs(x - q)[~seen] <= np.maximum(q, share)[~seen] + 1e-9).all()
    else:
        g, x = float(threshold(x0, target)), project(x0, target)
        Z = float(np.maximum(z - h, 0).max(initial=0.0, where=big & seen))
        X = float(x0.max(initial=0.0, where=~big))
        assert g <= Z + X + wrong + 1e-6
    assert abs(x.sum() - q.sum()) <= wrong + 1e-6


def test_frozen_alarms_hardly_move_the_sum():
    """Exactly: their part of the sum's error is of a smaller order than its noise."""
    for log_d in (100.0, 1e4):
        case = Reports(1.0, log_d, 1.2, 0.05, 0.2 * log_d)
        # As many cells as nu says, each at the count that moves the sum most often and far.
        expected = math.exp(case.log_p + 0.2 * log_d)
        assert case.G**2 * (expected**2 + expected) < 0.05 * case.variance
