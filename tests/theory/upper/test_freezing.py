"""The mechanism that reaches the leading constant: private at every step, and accurate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.model.privacy import PureDP
from microdata_price.theory.lower.lower_bounds import point_error_bound
from microdata_price.theory.upper.freezing import (
    Freezing,
    cell_share,
    leading_limits,
    threshold_limit,
)

Array = np.ndarray


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("log_d", [60.0, 1000.0, 1e5])
@pytest.mark.parametrize("sigma", [0.1, 0.5, 0.622, 0.85])
def test_no_step_loses_more_than_the_budget(epsilon: float, log_d: float, sigma: float) -> None:
    for eta in (0.02, 0.1):
        for kappa in (eta, 0.3, 0.45, 0.499, 0.5, 0.51, 0.8, 1.0):
            for few in (False, True)[: 1 + (kappa == eta)]:
                case = Freezing(epsilon, log_d, sigma, eta, kappa * log_d, few)
                assert case.largest_loss(801) <= case.e * (1 + 1e-9)
                if case.frozen:
                    assert 2 <= case.G <= 2 * case.T + 2


def noise_variance(case: Freezing) -> float:
    """Return the variance of the sum's noise, a mixture of two laws."""
    share, main = case.log_d**-2, case.main
    second = (1 - share) * (main.variance + main.mean**2) + share * 2 / case.heavy_rate**2
    return second - ((1 - share) * main.mean) ** 2


@dataclass(frozen=True)
class TooEarly(Freezing):
    """The same with counts frozen over a gap that is too short."""

    @property
    def G(self) -> int:
        return super().G // 2


@dataclass(frozen=True)
class LightTails(Freezing):
    """The same without the sum's heavy tails."""

    def log_noise(self, y: object) -> Array:
        return self.main.log_density(np.asarray(y))


@pytest.mark.parametrize("broken", [TooEarly, LightTails])
def test_the_audit_finds_a_mechanism_that_is_not_private(broken: type[Freezing]) -> None:
    case = broken(1.0, 1000.0, 0.6, 0.05, 50.0)
    assert case.largest_loss(801) > 1.5 * case.e


def test_the_sums_noise_is_a_density_with_the_stated_variance_and_spread() -> None:
    case = Freezing(1.0, 100.0, 0.6, 0.05, 20.0)
    y = np.linspace(-600, 600, 2_400_001)
    p = np.exp(case.log_noise(y)) * (y[1] - y[0])
    assert p.sum() == pytest.approx(1, rel=1e-5)
    mean = p @ y
    assert p @ (y - mean) ** 2 == pytest.approx(noise_variance(case), rel=1e-3)
    far = np.linspace(-3 * case.T, 3 * case.T, 2001)
    for s in (1.0, case.T, 2 * case.T + 2):
        change = np.abs(case.log_noise(far - s) - case.log_noise(far))
        assert change.max() <= case.spread


def test_its_variance_tends_to_that_of_asymmetric_noise() -> None:
    case = Freezing(1.0, 1e6, 0.6, 0.05, 1e5)
    assert noise_variance(case) == pytest.approx(case.main.variance, rel=1e-4)


@given(st.floats(2.05, 60.0))
def test_the_limits_are_in_order_and_tight_from_five_on(lam: float) -> None:
    found = leading_limits(lam)
    assert found.lower <= found.freezing <= found.asymmetric < found.split
    assert (found.freezing == 1) == (lam >= 5) or abs(lam - 5) < 1e-9
    sigma = cell_share(lam)
    assert 1 / (1 - sigma) ** 2 + 1 == pytest.approx(lam)
    kappa = np.linspace(0, 1, 1001)
    assert threshold_limit(sigma, kappa).max() == pytest.approx(found.freezing, rel=1e-9)


@pytest.mark.parametrize("lam", [3.0, 5.0, 8.0, 20.0])
def test_thresholds_tend_to_their_limit(lam: float) -> None:
    sigma, eta, log_d = cell_share(lam), 0.001, 1e9
    for kappa in (0.001, 0.2, 0.45, 0.55, 0.9):
        case = Freezing(0.7, log_d, sigma, eta, kappa * log_d)
        assert case.threshold / case.T == pytest.approx(
            float(threshold_limit(sigma, kappa)), abs=0.01
        )
    lower = point_error_bound("first_moment", PureDP(0.7), 1e250, math.sqrt(lam) / 0.7)
    assert 0.98 < float(lower) * 0.7 / math.log(1e250) < 1


def _outcome(case: Freezing, q: Array, rng: np.random.Generator) -> tuple[Array, Array, float]:
    """Draw reports (noisy counts, or not a number) and what the sum counts each cell as."""
    d, G, t1 = q.size, case.G, case.threshold - case.G
    z = case.cell.sample(rng, d)
    beyond = G + t1 + rng.exponential(1 / case.cell.right, d)
    chance = rng.random(d)
    alarm = np.exp(case.log_phi)
    rise = np.exp(case.log_p - case.e * np.maximum(G - q, 0)) * (q > 0)
    small = q < G
    false, frozen = small & (chance < alarm), small & (chance >= alarm) & (chance < alarm + rise)
    a = np.full(d, np.nan)
    a[false | frozen] = beyond[false | frozen]
    loud = ~small & (q + z > case.threshold)
    a[loud] = (q + z)[loud]
    value = np.where(frozen, float(G), q)
    noise = case.main.sample(rng, 1)[0] - case.main.mean
    return a, z, float(value.sum() + noise)


@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 0.6]))
def test_cells_err_by_no_more_than_the_proof_says(seed: int, kappa: float) -> None:
    """The bounds (a), for rest of either sign, hold run by run."""
    rng = np.random.default_rng(seed)
    # So loud that reports and frozen counts occur at a size that can be drawn.
    case = Freezing(2.0, 16.0, 0.6, 0.05, kappa * 16.0)
    d = 60
    q = np.where(rng.random(d) < 0.4, rng.integers(0, int(2 * case.threshold) + 2, d), 0) * 1.0
    a, z, A = _outcome(case, q, rng)
    thr, wrong = case.threshold, A - q.sum()
    seen = ~np.isnan(a)
    x0 = np.where(seen, a - thr, 0.0)
    big = q >= max(case.G, 1)
    X = np.where(seen & ~big, x0, 0.0)
    z = np.where(big, z, 0.0)
    m = q - x0
    assert (m <= thr + np.maximum(-z, 0) + 1e-9).all()
    assert (m >= -np.maximum(z, 0) - X - 1e-9).all()
    target = max(A, 0.0)
    rest = target - x0.sum()
    if rest >= 0:
        x, g = x0 + rest / d, 0.0
    else:
        low, high = 0.0, float(x0.max())
        for _ in range(200):
            g = (low + high) / 2
            low, high = (g, high) if np.maximum(x0 - g, 0).sum() > target else (low, g)
        x = np.maximum(x0 - g, 0)
        Z = float(np.maximum(z - thr, 0).max(initial=0.0, where=big))
        assert g <= Z + X.max() + abs(wrong) + 1e-6
    bound = thr + np.abs(z) + X + np.maximum(-z, 0).sum() / d + abs(wrong) + g
    assert (np.abs(x - q) <= bound + 1e-6).all()
    assert abs(x.sum() - q.sum()) <= abs(wrong) + 1e-6


def test_frozen_counts_hardly_move_the_sum() -> None:
    """Exactly: the frozen cells' part of the sum's error is of a smaller order than its noise."""
    for log_d in (100.0, 1e4):
        case = Freezing(1.0, log_d, 0.6, 0.05, 0.2 * log_d)
        # As many cells as nu says, each at the count that moves the sum most often and far.
        expected = math.exp(case.log_p + 0.2 * log_d)
        assert case.G**2 * (expected**2 + expected) < 0.05 * noise_variance(case)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="above 2"):
        cell_share(2.0)
    with pytest.raises(InputError, match="eta"):
        Freezing(1.0, 100.0, 0.9, 0.2, 50.0)
    with pytest.raises(InputError, match="or more"):
        Freezing(1.0, 10.0, 0.5, 0.1, 5.0)
    with pytest.raises(InputError, match="ln nu"):
        Freezing(1.0, 100.0, 0.5, 0.1, 5.0)
