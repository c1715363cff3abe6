"""Noise on the integers: double geometric, truncated double geometric, discrete Gaussian."""

from __future__ import annotations

from .noise_discrete_gaussian import DiscreteGaussian
from .noise_geometric import DoubleGeometric, TruncatedDoubleGeometric

DiscreteNoise = DoubleGeometric | TruncatedDoubleGeometric | DiscreteGaussian
"""Any of the three integer distributions."""

__all__ = ["DiscreteGaussian", "DiscreteNoise", "DoubleGeometric", "TruncatedDoubleGeometric"]
