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
_ENTRIES = 4_000_000  # numbers held at once


def sampled_truncated(
    noise: TruncatedDoubleGeometric, d: int, *, runs: int = 20_000, seed: int = 0
) -> tuple[float, float]:
    """Estimate the root error of one large cell among d - 1 empty ones, and its standard error.

    Cells and sum carry truncated noise. Of the empty cells only how many carry each value matters,
    so that any d takes the same time.
    """
    points = check_points(d)
    if points < 2 or points > 2**62:
        raise InputError(f"the number of cells is {d!r}; it must be between 2 and 2^62")
    if runs < 2:
        raise InputError(f"runs is {runs}; it must be 2 or more, so that there is an error bar")
    values = np.arange(-noise.bound, noise.bound + 1.0)
    p = noise.pmf(values)
    p /= p.sum()
    rng = np.random.default_rng(seed)
    block = max(1, _ENTRIES // values.size)
    squares = []
    for start in range(0, runs, block):
        size = min(block, runs - start)
        counts = rng.multinomial(int(points) - 1, p, size=size).astype(float)
        own, star = noise.sample(rng, size), noise.sample(rng, size)
        squares.append((own - _threshold(values, counts, own - star)) ** 2)
    square = np.concatenate(squares)
    root = math.sqrt(float(square.mean()))
    spread = float(standard_error(square))
    return root, spread / (2 * root) if root > 0 else 0.0


def _threshold(values: Array, counts: Array, target: Array) -> Array:
    """Solve ``g - sum of counts (values - g)+ = target`` for g, one for each run."""
    # From above: at the k largest distinct values the sum has so many terms, adding up to that.
    down, number = values[::-1], np.cumsum(counts[:, ::-1], axis=1)
    total = np.cumsum(counts[:, ::-1] * down, axis=1)
    candidates = (target[:, None] + total) / (1 + number)
    kept = (down > candidates).sum(axis=1)
    none = np.concatenate([target[:, None], candidates], axis=1)
    return np.take_along_axis(none, kept[:, None], axis=1)[:, 0]
