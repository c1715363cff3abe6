"""The mechanism that reaches the leading constant: private at every step, and accurate."""

import math

import numpy as np
import pytest

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


OWN_GAP = vars(Reports)["G"]


@pytest.mark.parametrize(
    ("part", "broken"),
    [
        ("G", property(lambda case: OWN_GAP.__get__(case) // 2)),  # alarms frozen too early
        ("log_noise", lambda case, k: case.main.log_density(k)),  # without heavy tails
    ],
)
def test_the_audit_finds_a_mechanism_that_is_not_private(monkeypatch, part, broken):
    monkeypatch.setattr(Reports, part, broken)
    case = Reports(1.0, 1000.0, 1.2, 0.05, 50.0)
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


def test_frozen_alarms_hardly_move_the_sum():
    """Exactly: their part of the sum's error is of a smaller order than its noise."""
    for log_d in (100.0, 1e4):
        case = Reports(1.0, log_d, 1.2, 0.05, 0.2 * log_d)
        # As many cells as nu says, each at the count that moves the sum most often and far.
        expected = math.exp(case.log_p + 0.2 * log_d)
        assert case.G**2 * (expected**2 + expected) < 0.05 * case.variance
