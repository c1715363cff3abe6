"""Simulated errors of fitting to a noisy sum, for tables of very many empty cells."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...base.numbers import standard_error
from ...exceptions import InputError
from ...model.noise_discrete import TruncatedDoubleGeometric
from ...theory.given import check_points

Array = NDArray[np.float64]
_ROUNDING = 1e-9  # of the error: what the arithmetic may lose where runs hardly differ


def sampled_truncated(
    noise: TruncatedDoubleGeometric, d: int, *, runs: int = 20_000, seed: int = 0
) -> tuple[float, float]:
    """Estimate the root error of one large cell among d - 1 empty ones, and its standard error.

    Cells and sum carry truncated noise. Of the empty cells only how many carry each value matters,
    so that any d takes the same time. The noises of the large cell and the sum are averaged over
    exactly, and so is the event that no empty cell has any noise: runs may miss what is rare.
    """
    points = check_points(d)
    if points < 2 or points > 2**62:
        raise InputError(f"the number of cells is {d!r}; it must be between 2 and 2^62")
    if runs < 2:
        raise InputError(f"runs is {runs}; it must be 2 or more, so that there is an error bar")
    n, rng = int(points) - 1, np.random.default_rng(seed)
    own = np.arange(-noise.bound, noise.bound + 1.0)
    p = noise.pmf(own)
    p /= p.sum()
    moments = [np.convolve(p * own**k, p) for k in range(3)]
    targets = np.arange(-2.0 * noise.bound, 2 * noise.bound + 1)  # the cell's noise less the sum's
    other = np.where(own == 0, 0.0, p)
    some, other = other.sum(), other / other.sum()
    quiet = n * math.log1p(-some)  # the logarithm of the chance that no empty cell has noise

    def square(counts: Array) -> float:
        """Average the squared error over both noises: the level solves ``g - H(g) = target``."""
        above = np.cumsum(np.pad(counts, noise.bound)[:0:-1])
        reached = targets - np.append(np.cumsum(above)[::-1], 0.0)
        level = np.interp(targets, reached, targets)
        return float(moments[0] @ level**2 - 2 * moments[1] @ level + moments[2].sum())

    squares = np.empty(runs)
    for run in range(runs):
        # First come cells without noise, then one that has some, then any.
        first = min(n - 1, int(math.log1p(rng.random() * math.expm1(quiet)) / math.log1p(-some)))
        counts = rng.multinomial(n - 1 - first, p) + rng.multinomial(1, other)
        counts[noise.bound] += first
        squares[run] = square(counts.astype(float))
    none = square(np.where(own == 0, float(n), 0.0))
    share = -math.expm1(quiet)
    root = math.sqrt((1 - share) * none + share * float(squares.mean()))
    spread = share * float(standard_error(squares)) / (2 * root)
    return root, max(spread, _ROUNDING * root)
