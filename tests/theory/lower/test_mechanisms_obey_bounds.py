"""Private mechanisms, thousands of them, lie on the allowed side of every lower bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from microdata_price.model.noise_discrete import DiscreteNoise, TruncatedDoubleGeometric
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from microdata_price.theory.lower.lower_bounds import BOUNDS, point_error_bound, sum_error_bound
from microdata_price.theory.lower.printed_bounds import in_range, printed_sides
from microdata_price.theory.upper.exact_errors import m_epsilon, m_rho, worst_clipped_sum

Array = NDArray[np.float64]
POINTS = np.array([2.0, 3, 10, 100, 1e4, 1e6, 1e9, 1e12])


def assert_allowed(g: Guarantee, C: Array, D: Array, **limits: float) -> None:
    """No bound may exceed the errors that a mechanism has, at any of `POINTS`.

    The bounds fall as the given error grows, so that mechanisms whose errors another one's undercut
    are allowed if that one is: only the best are looked at.
    """
    rows, columns = [], []
    for j in range(POINTS.size):
        order = np.lexsort((D[:, j], C[:, j]))
        sums = D[order, j]
        best = np.concatenate([[True], sums[1:] < np.minimum.accumulate(sums)[:-1]])
        rows += order[best].tolist()
        columns += [j] * int(best.sum())
    d, c, s = POINTS[columns], C[rows, columns], D[rows, columns]
    for name in list(BOUNDS)[1 if limits else 0 :]:
        assert (point_error_bound(name, g, d, s, **limits) <= c * (1 + 1e-9)).all(), name
        assert (sum_error_bound(name, g, d, c, **limits) <= s * (1 + 1e-9)).all(), name


def worst_sum(bias: Array, square: Array, d: Array) -> Array:
    """Root error of the sum of d independent cells on their worst table.

    It is convex in how many cells hold each count, so a table of equal counts is worst.
    """
    spread = (square - bias**2)[..., None]
    return np.sqrt((d * spread + d**2 * bias[..., None] ** 2).max(axis=-2))


def laws(level: float) -> list[tuple[Guarantee, DiscreteNoise]]:
    clipped = TruncatedDoubleGeometric(level, max(1, math.ceil(8 / level)))
    p = clipped.pmf(np.arange(-clipped.bound - 1.0, clipped.bound + 2))
    delta = float(np.maximum(p[:-1] - math.exp(level) * p[1:], 0).sum()) * (1 + 1e-9)
    return [
        (PureDP(level), m_epsilon(level)),
        (ConcentratedDP(level), m_rho(level)),
        (ConcentratedDP(level**2 / 2), m_epsilon(level)),
        (ApproximateDP(level, min(delta, 0.99)), clipped),
    ]


@pytest.mark.parametrize("level", [0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0])
def test_clipping_obeys_every_bound(level: float) -> None:
    for g, noise in laws(level):
        D = np.sqrt(worst_clipped_sum(noise, POINTS).squared_error)
        assert_allowed(g, np.full((1, D.size), noise.std), D[None, :])


def random_outputs(rng: np.random.Generator, count: int, size: int, spread: float) -> Array:
    """Random nonnegative values for noisy counts -size..size; far above, every count is kept."""
    a = np.arange(-size, size + 1.0)
    kinds = []
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
def test_random_postprocessing_obeys_every_bound(level: float) -> None:
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


def random_channels(
    rng: np.random.Generator, count: int, most: int, epsilon: float
) -> tuple[Array, Array]:
    """Random epsilon-DP channels from counts 0..most to random nonnegative outputs.

    Exponential mechanisms with random scores: one record moves a score by at most 1.
    """
    outputs = np.sort(rng.uniform(0, 1.5 * most, (count, 1, 3 * most)), axis=-1)
    q = np.arange(most + 1.0)[None, :, None]
    pull = -rng.choice([0.3, 0.7, 1.0], (count, 1, 1)) * np.abs(q - outputs)
    steps = rng.uniform(-1, 1, (count, most + 1, 3 * most))
    mix = rng.uniform(0, 1, (count, 1, 1))
    score = (1 - mix) * pull + mix * np.cumsum(steps, axis=1)
    return special.softmax(epsilon / 2 * score, axis=-1), outputs


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_random_private_channels_obey_every_bound_on_small_tables(epsilon: float) -> None:
    most = 6
    channel, outputs = random_channels(np.random.default_rng(8), 1500, most, epsilon)
    ratio = np.abs(np.diff(np.log(channel), axis=1)).max()
    assert ratio <= epsilon * (1 + 1e-9)
    error = outputs - np.arange(most + 1.0)[None, :, None]
    bias, square = (channel * error).sum(-1), (channel * error**2).sum(-1)
    C = np.sqrt(square.max(axis=-1))[:, None] * np.ones(POINTS.size)
    D = worst_sum(bias, square, POINTS)
    for g in (PureDP(epsilon), ConcentratedDP(epsilon**2 / 2), ApproximateDP(epsilon, 1e-9)):
        assert_allowed(g, C, D, max_records=most)


def test_printed_bounds_fail_outside_their_range() -> None:
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
