"""Private mechanisms, thousands and on small tables all, are on the allowed side of every bound."""

import itertools
import math

import numpy as np
import pytest

from microdata_price.model.noise_discrete import DoubleGeometric, TruncatedDoubleGeometric
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.lower.lower_bounds import BOUNDS, point_error_bound, sum_error_bound
from microdata_price.theory.lower.printed_bounds import in_range, printed_sides
from microdata_price.theory.upper.exact_errors import clipped, m_epsilon, m_rho, worst_clipped_sum
from private_channels import least_worst_loss
from rounding import at_most

POINTS = np.array([2.0, 3, 10, 100, 1e4, 1e6, 1e9, 1e12])


def assert_allowed(g, C, D):
    """No bound may exceed any of the errors at `POINTS`; they fall, so only the best are asked."""
    rows, columns = [], []
    for j in range(POINTS.size):
        order = np.lexsort((D[:, j], C[:, j]))
        sums = D[order, j]
        best = np.concatenate([[True], sums[1:] < np.minimum.accumulate(sums)[:-1]])
        rows += order[best].tolist()
        columns += [j] * int(best.sum())
    d, c, s = POINTS[columns], C[rows, columns], D[rows, columns]
    for name in BOUNDS:
        assert (point_error_bound(name, g, d, s) <= c * (1 + 1e-9)).all(), name
        assert (sum_error_bound(name, g, d, c) <= s * (1 + 1e-9)).all(), name


def worst_sum(bias, square, d):
    """Root error of the sum of d cells on their worst table: by convexity, one of equal counts."""
    spread = (square - bias**2)[..., None]
    return np.sqrt((d * spread + d**2 * bias[..., None] ** 2).max(axis=-2))


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


def random_outputs(rng, count, size, spread):
    """Nonnegative values for noisy counts -size..size: clipped, or random and kept far above."""
    a = np.arange(-size, size + 1.0)
    kinds = [np.maximum(a, 0)]
    for _ in range(count):
        cut = rng.uniform(0, 3) * spread
        kind = rng.integers(0, 5)
        if kind == 0:  # threshold rule
            f = np.where(a > cut, a, 0)
        elif kind == 1:  # soft threshold up to a point
            f = np.where(a > 4 * cut + 1, a, np.maximum(a - cut, 0))
        elif kind == 2:  # a threshold with another value below it
            f = np.where(a > cut, a, rng.uniform(0, 1) * cut)
        elif kind == 3:  # anything near the noisy count
            f = np.maximum(a + rng.normal(0, 0.5 * spread, a.size) * (np.abs(a) < 4 * spread), 0)
        else:  # anything at all at small counts
            f = np.where(np.abs(a) < 2 * spread, rng.uniform(0, 2 * spread + 1, a.size), a)
        kinds.append(np.maximum(f, 0))
    return np.array(kinds)


@pytest.mark.parametrize("level", [0.3, 1.0, 3.0, 8.0])
def test_random_postprocessing_obeys_every_bound(level):
    """Any nonnegative value of a private noisy count is private; its errors are exact sums."""
    rng = np.random.default_rng(int(10 * level))
    for g, noise in laws(level):
        spread = max(noise.std, 0.5)
        tail = math.ceil(float(noise.upper_quantile(1e-14))) + 1
        counts = np.arange(0.0, math.ceil(14 * spread) + 5)
        size = int(counts[-1]) + tail
        f = random_outputs(rng, 300, size, spread)
        z = np.arange(-tail, tail + 1)
        at = (counts[:, None] + z + size).astype(int)
        error = f[:, at] - counts[:, None]
        p = noise.pmf(z.astype(float))
        bias, square = error @ p, error**2 @ p
        C = np.sqrt(square.max(axis=-1))[:, None] * np.ones(POINTS.size)
        assert_allowed(g, C, worst_sum(bias, square, POINTS))


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


def test_a_loose_sum_leaves_the_best_cell_by_cell_mechanism():
    """Clipped to 0..2 on both sides, geometric noise is one that exists."""
    noise, most = DoubleGeometric(1.0), 2
    k = np.arange(-60.0, 61)
    errors = [float(noise.pmf(k) @ (np.clip(q + k, 0, most) - q) ** 2) for q in range(most + 1)]
    assert at_most(errors[0], clipped(noise, 0).squared_error)
    loose = least_error(1.0, 2, 50.0, most, 0, most)
    assert math.sqrt(max(errors)) + 1e-9 >= loose
    assert loose <= least_error(1.0, 2, 1.4, most, 0, most) + 1e-9


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
