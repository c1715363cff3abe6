"""Laws of noisy counts: clipped, as probabilities; at two neighbouring counts, as densities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.numbers import check_whole
from ...model.noise import check_count
from ...model.noise_discrete import DiscreteNoise
from ...model.privacy import ConcentratedDP, PureDP, check_guarantee

Array = NDArray[np.float64]
_POINTS = 801  # places where densities are computed
_SCALES, _DEVIATIONS = 5.0, 3.5  # how far they go beyond both counts


def log_clipped_law(noise: DiscreteNoise, count: int, high: int) -> Array:
    """Return the logarithms of the law of ``count + z`` clipped to ``0..high``, far tails too."""
    count, high = check_whole(count, "the count", 0), check_whole(high, "the range's end")
    law = np.array(noise.log_pmf(np.arange(high + 1.0) - count))
    law[0] = noise.log_cdf(np.asarray(-float(count)))
    law[-1] = noise.log_cdf(np.asarray(float(count - high)))
    return law


def clipped_law(noise: DiscreteNoise, count: int, high: int) -> Array:
    """Return the law of ``count + z`` clipped to ``0..high``, one probability a whole number."""
    return np.asarray(np.exp(log_clipped_law(noise, count, high)))


class OutputPair(NamedTuple):
    """Densities of one noisy count at two true counts one apart, and their loss in nats, at x."""

    x: Array
    first: Array
    second: Array
    loss: Array


def output_pair(guarantee: PureDP | ConcentratedDP, count: float) -> OutputPair:
    """Return the two densities for one counting query with the noise of its guarantee.

    Laplace noise of scale 1/epsilon under pure DP, Gaussian noise of variance 1/(2 rho) under zCDP.
    """
    check_guarantee(guarantee, PureDP, ConcentratedDP)
    check_count(count)
    if isinstance(guarantee, PureDP):
        scale = 1 / guarantee.epsilon
        x = _places(count, _SCALES * scale)
        exponents = [-np.abs(x - c) / scale for c in (count, count + 1)]
        height = 1 / (2 * scale)
    else:
        std = 1 / np.sqrt(2 * guarantee.rho)
        x = _places(count, _DEVIATIONS * std)
        exponents = [-((x - c) ** 2) / (2 * std**2) for c in (count, count + 1)]
        height = 1 / (np.sqrt(2 * np.pi) * std)
    first, second = (height * np.exp(e) for e in exponents)
    # From the exponents, so that far tails that round to zero keep their ratio.
    return OutputPair(x, first, second, exponents[0] - exponents[1])


def _places(count: float, reach: float) -> Array:
    return np.linspace(count - reach, count + 1 + reach, _POINTS)
