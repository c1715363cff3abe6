"""Mutual information and Fano's inequality in the proof of Theorem 3, item 3, evaluated.

X is uniform over tables 2, ..., d of the packing, and the mechanism adds independent integer noise
to every cell and clips at zero. Given an output, the posterior of X follows from one log likelihood
ratio a cell. Everything is in nats.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...base.numbers import standard_error
from ...exceptions import InputError
from ...model.noise_discrete import DiscreteNoise
from .packing import Packing

Array = NDArray[np.float64]
_CHUNK = 4_000_000  # numbers held at once
_NOTHING = 1e-25  # a chance that is left out


def cell_divergences(noise: DiscreteNoise, m: int) -> tuple[float, float]:
    """Return the KL divergences between one clipped noisy cell at m records and at none, exactly.

    First from m to 0 records, then from 0 to m; two tables of the packing are as far apart as both.
    """
    full, empty = (_log_law(noise, q, m) for q in (m, 0))
    laws = np.exp(full), np.exp(empty)
    ratio = full - empty
    return float(laws[0] @ ratio), float(-(laws[1] @ ratio))


def _log_law(noise: DiscreteNoise, count: int, m: int) -> Array:
    """Logarithms of the law of ``max(0, count + z)`` on 0, 1, ..., far above m."""
    values = np.arange(m + math.ceil(float(noise.upper_quantile(_NOTHING))) + 1.0)
    law = np.asarray(noise.log_pmf(values - count))
    law[0] = float(noise.log_cdf(np.asarray(-float(count))))
    if not np.isfinite(law).all():
        raise InputError(
            f"{noise!r} at {count} records cannot put out some value that it can at {m}; mutual "
            "information needs noise without an end"
        )
    return law


class Information(NamedTuple):
    """Entropies of the proof, in nats: means over sampled outputs and standard errors.

    ``I(X; M(X))``; ``H(X | M(X))``; ``H(G | M(X))``, G being whether the output lies in the set of
    its table; the parts of ``H(X | M(X), G)`` inside and outside; and d - 1.
    """

    information: tuple[float, float]
    h_x: tuple[float, float]
    h_g: tuple[float, float]
    inside: tuple[float, float]
    outside: tuple[float, float]
    tables: int


def sampled_information(
    noise: DiscreteNoise, packing: Packing, runs: int, rng: np.random.Generator
) -> Information:
    """Estimate mutual information and the entropies of the Fano step.

    Each sampled output contributes its exact posterior entropies, so that the chain rule ``H(X|M) =
    H(G|M) + H(X|G,M)`` holds output by output.
    """
    if runs < 2:
        raise InputError(f"runs is {runs}; it must be 2 or more, so that there are standard errors")
    p = packing
    full, empty = (_log_law(noise, q, p.m) for q in (p.m, 0))
    ratio = full - empty
    cells = p.d - 1
    parts = []
    block = max(1, _CHUNK // p.d)
    for start in range(0, runs, block):
        n = min(block, runs - start)
        x = _draw(empty, (n, cells), rng)
        # By symmetry the records may always be in the same cell.
        x[:, 0] = _draw(full, (n,), rng)
        first = np.maximum(p.n - p.m + noise.sample(rng, n), 0)
        parts.append(_entropies(p, ratio[x], x.astype(float), first))
    values = np.concatenate(parts, axis=1)
    means = values.mean(axis=1)
    errors = standard_error(values, axis=1)
    found = [(float(a), float(b)) for a, b in zip(means, errors, strict=True)]
    return Information(found[0], found[1], found[2], found[3], found[4], cells)


class InformationCurve(NamedTuple):
    """Mutual information against the number of records that are moved, in nats; shape (places,)."""

    m: Array
    information: Array
    error: Array
    """Standard error of the sampled information."""
    divergence: Array
    """The exact KL divergence from the same table without the m records."""


def information_curve(
    noise: DiscreteNoise, d: int, records: Array, runs: int, rng: np.random.Generator
) -> InformationCurve:
    """Estimate what an output tells about where m records are, for several m."""
    found = []
    for m in np.asarray(records, dtype=int):
        # Which outputs count as near plays no part in the information.
        packing = Packing(d=d, n=2 * int(m), m=int(m), C=0.25 * int(m), D=1.0)
        value, error = sampled_information(noise, packing, runs, rng).information
        found.append((float(m), value, error, cell_divergences(noise, int(m))[0]))
    return InformationCurve(*np.array(found).T)


def _draw(log_law: Array, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.intp]:
    cumulative = np.cumsum(np.exp(log_law))
    drawn = np.searchsorted(cumulative, rng.random(shape) * cumulative[-1], side="right")
    return np.asarray(np.minimum(drawn, log_law.size - 1), dtype=np.intp)


def _entropies(p: Packing, ratios: Array, x: Array, first: Array) -> Array:
    """Return information, H(X|.), H(G|.), and the two parts of H(X|G,.), one column an output."""
    log_post = ratios - special.logsumexp(ratios, axis=1, keepdims=True)
    post = np.exp(log_post)
    total = first + x.sum(axis=1)
    low, high = p.cell_range
    in_common = (np.abs(first - (p.n - p.m)) <= p.alpha * p.C + 1e-9) & (
        np.abs(total - p.n) <= p.beta * p.D + 1e-9
    )
    member = (x >= low - 1e-9) & (x <= high + 1e-9) & in_common[:, None]
    surprise = -post * log_post
    h_x = surprise.sum(axis=1)
    inside = (post * member).sum(axis=1)
    outside = (post * ~member).sum(axis=1)
    h_g = special.entr(inside) + special.entr(outside)
    h_in = (surprise * member).sum(axis=1) - special.entr(inside)
    h_out = (surprise * ~member).sum(axis=1) - special.entr(outside)
    # What is left of a difference of equal entropies is rounding.
    rest = [np.where(h < 1e-12, 0.0, h) for h in (h_in, h_out)]
    return np.stack([math.log(x.shape[1]) - h_x, h_x, h_g, *rest])
