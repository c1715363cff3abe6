"""Laws of noisy counts: clipped, as probabilities; at two neighbouring counts, as densities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...exceptions import InputError
from ...model.noise_discrete import DiscreteNoise
from ...model.privacy import ConcentratedDP, PureDP, check_guarantee

Array = NDArray[np.float64]
_POINTS = 801  # places where densities are computed
_SCALES, _DEVIATIONS = 5.0, 3.5  # how far they go beyond both counts


def clipped_law(noise: DiscreteNoise, count: int, high: int) -> Array:
    """Return the law of ``count + z`` clipped to ``0..high``, one probability a whole number."""
    if not high > 0:
        raise InputError(f"the range runs from 0 to {high}; it must hold two integers or more")
    law = np.asarray(noise.pmf(np.arange(high + 1.0) - count))
    law[0] = float(noise.sf(np.asarray(count - 1.0)))
    law[-1] = float(noise.sf(np.asarray(high - count - 1.0)))
    return law


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
