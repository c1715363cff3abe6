"""Truncated double geometric noise: its exact (epsilon, delta), and the smallest bound B.

TDGeo(e, B) is double geometric noise clipped at -B and B. Between two neighbouring counts its
privacy loss takes five values: infinity at one end, ``ln(exp(e) - 1)`` at the point where the other
end piles up, and plus or minus e in between. Everything here follows from that.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...exceptions import InputError
from ...model.noise_discrete import TruncatedDoubleGeometric
from ...model.privacy import check_delta, check_epsilon
from ...model.table import check_numbers

Array = NDArray[np.float64]


class Losses(NamedTuple):
    """The privacy loss of one noisy count against its neighbour: values and probabilities."""

    loss: Array
    """Nats, one a group of outputs; infinity where the neighbour cannot produce the output."""
    probability: Array
    """Probability of the group under the count itself."""


def privacy_losses(noise: TruncatedDoubleGeometric) -> Losses:
    """Return the privacy loss of ``q + z`` against ``q + 1 + z`` (the same the other way)."""
    e, B = noise.epsilon, noise.bound
    edge = math.exp(-e * B) / (1 + noise.ratio)
    inner = -math.expm1(-e) / (1 + noise.ratio)
    # P(z = k) and P(z = k - 1) at k = -B; -B + 1; -B + 2..0; 1..B - 1; B. With B = 1 the second and
    # the fourth group are one point, k = 0, which is the neighbour's lower end.
    log_odds = math.log(math.expm1(e)) if e < 700 else e
    near = inner * math.exp(-e * (B - 1))
    above = math.exp(-e) * -math.expm1(-e * (B - 1)) / (1 + noise.ratio)
    below = -math.expm1(-e * (B - 1)) / (1 + noise.ratio)
    return Losses(
        np.array([math.inf, log_odds, e, -e, -log_odds]),
        np.array([edge, near, below, above, edge]),
    )


def delta_of(losses: Losses, epsilon: ArrayLike) -> Array:
    """Return the least delta at each epsilon: the mean of ``(1 - exp(epsilon - loss))+``."""
    e = check_numbers(epsilon, "epsilon", lambda x: (x >= 0) & (x < math.inf), "0 or more")
    gap = e[..., None] - losses.loss
    return np.asarray((losses.probability * np.maximum(-np.expm1(np.minimum(gap, 0)), 0)).sum(-1))


def composed(first: Losses, second: Losses) -> Losses:
    """Return the privacy loss of two independent outputs that one record moves together."""
    return Losses(
        (first.loss[:, None] + second.loss).ravel(),
        np.outer(first.probability, second.probability).ravel(),
    )


def profile(noise: TruncatedDoubleGeometric, epsilon: ArrayLike) -> Array:
    """Return the exact delta of one noisy count at each epsilon.

    At epsilon = e, the noise's own decay, it is ``r^B (1 + max(0, 1 + exp(e) - exp(2e)))/(1 + r)``
    with ``r = exp(-e)``.
    """
    return delta_of(privacy_losses(noise), epsilon)


def joint_profile(noise: TruncatedDoubleGeometric, epsilon: ArrayLike) -> Array:
    """Return the exact delta of a noisy cell and the noisy sum together, which one record moves."""
    one = privacy_losses(noise)
    return delta_of(composed(one, one), epsilon)


def paper_bound(epsilon: float, delta: float) -> int:
    """Return the paper's B for M'_(epsilon,delta): ``(2/epsilon) ln(4/delta) + 1``, rounded up.

    It makes each answer with TDGeo(epsilon/2, B) noise (epsilon/2, delta/2)-DP (Theorem 4, item 5;
    the paper writes "satisfies epsilon, delta").
    """
    e, log = check_epsilon(epsilon), math.log(4) - math.log(check_delta(delta))
    return math.ceil(2 * log / e + 1)


def smallest_bound(epsilon: float, delta: float, *, joint: bool = False) -> int:
    """Return the smallest B that TDGeo(epsilon/2, B) noise needs in M'_(epsilon,delta).

    Each of the two answers that a record moves is (epsilon/2, delta/2)-DP by itself, as in the
    paper's proof, or with ``joint`` the two together are (epsilon, delta)-DP.

    Examples
    --------
    >>> smallest_bound(1.0, 1e-6), smallest_bound(1.0, 1e-6, joint=True)
    (29, 29)
    """
    e, d = check_epsilon(check_epsilon(epsilon) / 2, "half of epsilon"), check_delta(delta)

    def enough(B: int) -> bool:
        noise = TruncatedDoubleGeometric(e, B)
        if joint:
            return bool(joint_profile(noise, 2 * e) <= d)
        return bool(profile(noise, e) <= d / 2)

    low, high = 0, paper_bound(epsilon, delta)
    if not enough(high):
        raise InputError(f"no bound up to the paper's {high} gives ({epsilon:g}, {delta:g})-DP")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
