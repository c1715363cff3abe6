"""The proof of Theorem 3 on mechanisms of known output law: noisy cells, clipped at 0.

The cells are independent, so that the law of their sum is a power of one Fourier transform.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ...exceptions import InputError
from ...model.noise_discrete import DiscreteNoise, TruncatedDoubleGeometric
from ...model.privacy import ApproximateDP
from ..laws.outputs import clipped_law
from ..upper.exact_errors import worst_clipped_sum
from ..upper.truncation import smallest_bound
from .packing import Packing, packing_at

Array = NDArray[np.float64]
_LARGEST = 2**24  # values of a law: 128 MB
_NOTHING, _DEVIATIONS = 1e-19, 12.0  # chances left out, and how far the sum may lie off


class PackingOdds(NamedTuple):
    """Exact probabilities of the events in the proof, for one mechanism and one packing.

    Parameters
    ----------
    outside
        On table i: that the output lies outside G_i.
    own, base
        That the output lies in G_i, on table i and on table 1.
    union
        On table 1: that the output lies in any of the sets.
    """

    outside: float
    own: float
    base: float
    union: float


def clipped_packing(noise: DiscreteNoise, d: int, k: float) -> Packing:
    """Return the paper's packing for the mechanism that clips noisy cells, at its exact C and D.

    C is the noise's standard deviation (the supremum over counts), D the exact worst case of the
    sum.
    """
    return packing_at(d, noise.std, math.sqrt(float(worst_clipped_sum(noise, d).squared_error)), k)


def truncated_cells(guarantee: ApproximateDP) -> TruncatedDoubleGeometric:
    """Return the noise that makes every cell (epsilon, delta)-DP and never exceeds a bound.

    TDGeo(epsilon, B) with the smallest B; one record moves one cell only.
    """
    # The other function serves two answers a record, each with half of the guarantee.
    bound = smallest_bound(2 * guarantee.epsilon, min(2 * guarantee.delta, 0.999))
    return TruncatedDoubleGeometric(guarantee.epsilon, bound)


class _Laws:
    """Laws of cells of one mechanism as Fourier transforms of one length."""

    def __init__(self, noise: DiscreteNoise, packing: Packing) -> None:
        self.noise = noise
        reach = math.ceil(float(noise.upper_quantile(_NOTHING)))
        self.top = packing.n + reach
        # Before any law is made: an empty cell's mean is known, its spread at most the noise's.
        total = self.top + self.top + packing.d * float(noise.excess(0.0).first)
        total += _DEVIATIONS * math.sqrt(packing.d) * noise.std
        if not total < _LARGEST:
            raise InputError(
                f"the law of the sum of {packing.d} cells would need {total:.2g} values; choose "
                f"fewer cells or less noise (at most {_LARGEST})"
            )
        self.length = int(fft.next_fast_len(math.ceil(total), real=True))

    def cell(self, count: int, keep: tuple[int, int] | None = None, drop: bool = False) -> Array:
        """Transform the law of one cell, kept to a range of values or deprived of it."""
        law = clipped_law(self.noise, count, self.top)
        if keep is not None:
            values = np.arange(law.size)
            inside = (values >= keep[0]) & (values <= keep[1])
            law = np.where(inside != drop, law, 0.0)
        return np.asarray(fft.rfft(law, self.length))

    def mass(self, transform: Array, low: int, high: int) -> float:
        """Return the mass of a transformed law between two values, both included."""
        law = fft.irfft(transform, self.length)
        return max(float(law[max(low, 0) : max(high + 1, 0)].sum()), 0.0)


def packing_odds(noise: DiscreteNoise, packing: Packing) -> PackingOdds:
    """Return the exact probabilities of the proof's events."""
    p, laws = packing, _Laws(noise, packing)
    near, near_sum = math.floor(p.alpha * p.C + 1e-9), math.floor(p.beta * p.D + 1e-9)
    first, cell = (p.n - p.m - near, p.n - p.m + near), (p.m - near, p.m + near)
    zeros = laws.cell(0) ** (p.d - 2)
    ends = (p.n - near_sum, p.n + near_sum)

    own = laws.mass(laws.cell(p.n - p.m, first) * laws.cell(p.m, cell) * zeros, *ends)
    base_first = laws.cell(p.n, first)
    base = laws.mass(base_first * laws.cell(0, cell) * zeros, *ends)
    any_cells = laws.cell(0) * zeros
    none_cells = laws.cell(0, cell, drop=True) ** (p.d - 1)
    union = laws.mass(base_first * any_cells, *ends) - laws.mass(base_first * none_cells, *ends)
    # Where the sets are rare their overlaps are rarer still, and the difference above cancels.
    expected = (p.d - 1) * base
    union = expected if expected < 1e-6 else min(max(union, 0.0), expected)
    return PackingOdds(max(1 - own, 0.0), own, base, union)
