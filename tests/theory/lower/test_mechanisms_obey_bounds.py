"""Private mechanisms, many and on small tables all, are on the allowed side of every bound."""

import itertools
import math

import numpy as np
import pytest

from microdata_price.model.noise_discrete import TruncatedDoubleGeometric
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.lower.lower_bounds import BOUNDS, point_error_bound, sum_error_bound
from microdata_price.theory.lower.printed_bounds import in_range, printed_sides
from microdata_price.theory.upper.exact_errors import m_epsilon, m_rho, worst_clipped_sum
from private_channels import least_worst_loss

POINTS = np.array([2.0, 100, 1e6, 1e12])


def laws(level):
    clipped = TruncatedDoubleGeometric(level, max(1, math.ceil(8 / level)))
    p = clipped.pmf(np.arange(-clipped.bound - 1.0, clipped.bound + 2))
    delta = float(np.maximum(p[:-1] - math.exp(level) * p[1:], 0).sum()) * (1 + 1e-9)
    return [
        (PureDP(level), m_epsilon(level)),
        (ConcentratedDP(level), m_rho(level)),
        (ConcentratedDP(level**2 / 2), m_epsilon(level)),
        (ApproximateDP(level, min(delta, 0.99)), clipped),
    ]


@pytest.mark.parametrize("level", [0.3, 1.0, 3.0, 8.0])
def test_random_thresholds_obey_every_bound(level):
    """Any nonnegative value of a private noisy count is private; its errors are exact sums."""
    rng = np.random.default_rng(int(10 * level))
    for g, noise in laws(level):
        spread = max(noise.std, 0.5)
        tail = math.ceil(float(noise.upper_quantile(1e-14))) + 1
        counts = np.arange(0.0, math.ceil(14 * spread) + 5)
        z = np.arange(-tail, tail + 1.0)
        a = counts[:, None] + z
        cut = np.append(0, rng.uniform(0, 3, 12))[:, None, None] * spread  # 0: clipping
        f = np.where(a > cut, a, rng.choice([0, 0, 0.3, 1], cut.shape) * cut)
        error, p = f - counts[:, None], noise.pmf(z)
        bias, square = (error @ p)[..., None], (error**2 @ p)[..., None]
        C = np.sqrt(square.max(axis=1))
        # By convexity a table of equal counts has the worst sum.
        D = np.sqrt((POINTS * (square - bias**2) + POINTS**2 * bias**2).max(axis=1))
        for name in BOUNDS:
            assert (point_error_bound(name, g, POINTS, D) <= C * (1 + 1e-9)).all(), name
            assert (sum_error_bound(name, g, POINTS, C) <= D * (1 + 1e-9)).all(), name


def least_error(epsilon, d, D, most, low, high):
    """Return the least C of any private channel, counts to ``most``, outputs low to high."""
    x, y = (
        np.array(list(itertools.product(range(*ends), repeat=d)))
        for ends in ((most + 1,), (low, high + 1))
    )
    near = np.argwhere(np.abs(x[:, None] - x).sum(axis=2) == 1)
    cells = (x[:, None] - y) ** 2
    sums = (x.sum(axis=1)[:, None] - y.sum(axis=1)) ** 2
    return math.sqrt(least_worst_loss(near, epsilon, np.moveaxis(cells, 2, 0), sums, D**2))


@pytest.mark.parametrize(
    ("epsilon", "d", "most", "D"),
    [(1, 2, 3, 1.4), (1, 2, 3, 3.0), (1, 2, 2, 1.3), (2, 2, 3, 0.7), (2, 3, 2, 0.9)],
)
def test_all_mechanisms_on_small_tables_obey_every_bound(epsilon, d, most, D):
    g = PureDP(epsilon)
    C = least_error(epsilon, d, D, most, 0, most + 1)
    assert d > 2 or least_error(epsilon, d, D, most, -1, most + 1) <= C + 1e-7
    for name in list(BOUNDS)[1:]:
        assert float(point_error_bound(name, g, d, D, max_records=most)) <= C + 1e-6
        assert float(sum_error_bound(name, g, d, C + 1e-6, max_records=most)) <= D + 1e-6


def test_printed_bounds_fail_outside_their_range():
    """M_epsilon and M_rho with their exact errors violate the printed forms at small k."""
    pure = m_epsilon(10.0)
    C, D = pure.std, math.sqrt(float(worst_clipped_sum(pure, 1e4).squared_error))
    for g in (PureDP(10.0), ApproximateDP(10.0, 1e-12)):
        left, right = printed_sides(g, 1e4, C, D, 0.01)
        assert not in_range(g, 2 * C + 0.01)
        assert left < right - 1
        # With k in range both are satisfied.
        k = np.geomspace(0.5, 100, 500)
        left, right = printed_sides(g, 1e4, C, D, k)
        assert (left > right).all()
    zcdp = m_rho(40.0)
    C, D = zcdp.std, math.sqrt(float(worst_clipped_sum(zcdp, 1e12).squared_error))
    left, right = printed_sides(ConcentratedDP(40.0), 1e12, C, D, 0.1)
    assert not in_range(ConcentratedDP(40.0), 2 * C + 0.1)
    assert left < right - 5
    k = np.concatenate([np.linspace(0.6006, 1 - 2 * C, 100), np.geomspace(1.2011, 100, 200)])
    left, right = printed_sides(ConcentratedDP(40.0), 1e12, C, D, k)
    assert (left > right).all()
