r"""Empirical-Bayes targets and weights for the cells of one noisy table.

A cell's noisy answer alone cannot tell a small count from an empty cell with lucky noise; all the
cells' answers together can say how common each is. Count x is thought of as drawn from a mixture
of few sizes :math:`\theta_k` with shares :math:`w_k` that are estimated from the table's own noisy
answers (empirical Bayes: Robbins; the shares are the maximum-likelihood ones of Kiefer and
Wolfowitz, approached by few steps of expectation maximisation). Some sizes are multiples of the
noise, the same for each cell; in a table of two or more sides others are multiples of the size that
the cell would have if its sides were independent, so that a cell in a small row is thought small.

The answers to the other query sets then speak once (a step of expectation propagation: Minka). What
a marginal's answer leaves over for a cell, once the other cells' means are taken off, is one more
noisy answer for this cell, and joins its likelihood; its part is taken out of the result again, as
the fit counts the marginals itself. Only noisy answers are used, so nothing here costs privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.measurement import Measurements
from ..model.noise import Gaussian, Noise
from ..model.noise_discrete import DiscreteGaussian

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Shrinkage:
    """Constants of the prior, one setting for every table; lengths in noises of a cell.

    They were chosen on tables other than those that the book reports. Near these values nothing
    depends much on any of them.
    """

    # How many sizes of counts the prior mixes, besides 0, evenly spaced in logarithm.
    sizes: int = 10
    smallest: float = 0.25  # the least and the greatest of them
    largest: float = 12.0
    # Sizes relative to those of a table with independent sides.
    ratios: tuple[float, ...] = (0.05, 0.15, 0.4, 0.7, 1.0, 1.4, 2.5, 6.0)
    # What is added to each marginal before they are multiplied, so that no cell is ruled out.
    floor: float = 0.05
    empty: float = 0.9  # the share of empty cells from which the estimate starts
    # Steps of expectation maximisation before and after the marginals have spoken. Fewer
    # steps leave the shares nearer to the start; many follow the noise.
    first_steps: int = 5
    second_steps: int = 8
    # The part of an answer's squared misfit that is added to its variance as a message:
    # answers that disagree with the cells' means are believed less.
    misfit: float = 0.2
    large: float = 9.0  # answers of this or more keep themselves as targets
    # Their variance in the fit, in squared noises. Below 1: what the small cells' answers
    # have too much is taken from small cells first.
    large_variance: float = 0.35
    least_variance: float = 0.01  # bounds for the variances of the others
    most_variance: float = 0.5

    @property
    def grid(self) -> Array:
        """Sizes that all cells share, 0 first."""
        return np.concatenate([[0.0], np.geomspace(self.smallest, self.largest, self.sizes)])


DEFAULT = Shrinkage()
_BLOCK = 4000  # cells that are worked on together: their arrays stay near the processor
_SMALLEST_SHARE = 1e-12  # a share of 0 would stay 0 in every later step
_SMALLEST_SPREAD = 1e-6  # in squared counts: its inverse is a weight


class Targets(NamedTuple):
    """Posterior mean and variance of each cell; shapes (runs, cells)."""

    mean: Array
    variance: Array


def _log_likelihood(noise: Noise, away: Array) -> Array:
    """Turn distances, in noises, into the logarithm of the noise's density, up to a constant."""
    if isinstance(noise, (Gaussian, DiscreteGaussian)):
        np.multiply(away, away, out=away)
        away *= -0.5
    else:
        np.abs(away, out=away)
        away *= -np.sqrt(2)
    return away


def _likelihood(log: Array, large: NDArray[np.bool_]) -> Array:
    """Turn logarithms into likelihoods, in place; large cells say nothing of the shares."""
    likelihood = np.exp(log, out=log)
    likelihood[large] = 0.0
    return np.asarray(likelihood)


def _maximise(likelihood: Array, shares: Array, steps: int) -> Array:
    """Improve the shares, shape (runs, sizes), by steps of expectation maximisation."""
    for _ in range(steps):
        density = np.matmul(likelihood, shares[:, :, None])[:, :, 0]
        inverse = np.divide(1.0, density, out=np.zeros_like(density), where=density > 0)
        shares = shares * np.matmul(inverse[:, None, :], likelihood)[:, 0]
        total = shares.sum(axis=1, keepdims=True)
        shares = np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)
        shares = np.maximum(shares, _SMALLEST_SHARE)
    return shares


def _moments(likelihood: Array, shares: Array, sizes: Array) -> tuple[Array, Array]:
    """Return each cell's posterior mean and variance; the likelihood is overwritten."""
    density = np.matmul(likelihood, shares[:, :, None])
    joint = np.multiply(likelihood, shares[:, None, :], out=likelihood)
    joint /= np.where(density > 0, density, 1.0)
    mean = np.einsum("rck,rck->rc", joint, sizes)
    joint *= sizes
    second = np.einsum("rck,rck->rc", joint, sizes)
    return mean, np.maximum(second - mean * mean, _SMALLEST_SPREAD)


def independent_sizes(m: Measurements, cells: Array, floor: float) -> Array | None:
    """Return tables of independent sides with marginals raised by a floor; ``None`` for lists."""
    shape = m.workload.shape
    long = [a for a, n in enumerate(shape) if n > 1]
    if len(long) < 2:
        return None
    tables = cells.reshape(-1, *shape)
    total = cells.sum(axis=1).reshape(-1, *[1] * len(shape))
    shares = np.where(total > 0, total, 1.0)
    found = total
    for axis in long:
        others = tuple(a + 1 for a in range(len(shape)) if a != axis)
        found = found * ((tables.sum(axis=others, keepdims=True) + floor) / shares)
    return np.asarray(found.reshape(cells.shape))


def _messages(m: Measurements, own: int, means: Array, variances: Array) -> tuple[Array, Array]:
    """Return the other query sets' messages to each cell: precision times mean, and precision."""
    linear, precision = np.zeros_like(means), np.zeros_like(means)
    sets = zip(m.workload.query_sets, m.answers, m.variances, strict=True)
    for k, (queries, answers, variance) in enumerate(sets):
        if k == own or queries.size == 1:  # a total says next to nothing of one cell
            continue
        left = answers - queries.answers(means.reshape(-1, *queries.shape))
        spread = queries.answers(variances.reshape(-1, *queries.shape))
        spread = spread + DEFAULT.misfit * left * left
        around = variance + np.maximum(queries.spread(spread) - variances, 0.0)
        weight = np.where(queries.labels >= 0, 1 / around, 0.0)
        precision += weight
        linear += weight * (queries.spread(left) + means)
    return linear, precision


def _block(m: Measurements, own: int, expected: Array | None) -> Targets:
    """Return the targets of a few runs; everything but the measurements is in noises of a cell."""
    noise, rules = m.noise[own], DEFAULT
    unit = noise.std
    answers = m.answers[own] / unit
    large = answers >= rules.large
    sizes = np.broadcast_to(rules.grid, (*answers.shape, rules.grid.size))
    if expected is not None:
        sizes = np.concatenate([sizes, expected[:, :, None] / unit * rules.ratios], axis=2)
    likelihood = _likelihood(_log_likelihood(noise, answers[:, :, None] - sizes), large)
    shares = np.full((m.runs, sizes.shape[2]), (1 - rules.empty) / (sizes.shape[2] - 1))
    shares[:, 0] = rules.empty
    shares = _maximise(likelihood, shares, rules.first_steps)
    mean, variance = _moments(likelihood, shares, sizes)
    means = np.where(large, answers, mean) * unit
    linear, precision = _messages(m, own, means, np.where(large, 1.0, variance) * unit**2)
    linear, precision = linear * unit, precision * unit**2
    if precision.any():
        centre = np.divide(linear, precision, out=np.zeros_like(linear), where=precision > 0)
        del likelihood  # with a large table, more than two arrays of this size fill the memory
        log = _log_likelihood(noise, answers[:, :, None] - sizes)
        for k in range(sizes.shape[2]):
            away = sizes[:, :, k] - centre
            log[:, :, k] -= away * away * (precision / 2)
        # A precise message may lie far from every size; then the nearest must still be found.
        log -= log.max(axis=2, keepdims=True)
        likelihood = _likelihood(log, large)
        shares = _maximise(likelihood, shares, rules.second_steps)
        mean, variance = _moments(likelihood, shares, sizes)
    # The marginals' part is taken out again: what is left is the cell's own.
    least, most = 1 / rules.most_variance, 1 / rules.least_variance
    kept = np.clip(1 / variance - precision, least, most)
    mean = (mean * (kept + precision) - linear) / kept
    return Targets(
        np.where(large, m.answers[own], np.clip(mean, 0.0, rules.largest) * unit),
        np.where(large, rules.large_variance, 1 / kept) * unit**2,
    )


def shrink(m: Measurements, own: int, first: Array) -> Targets:
    """Return a target and its variance for each cell from the noisy answers alone.

    Parameters
    ----------
    m
        Noisy answers, a batch of runs, in counts.
    own
        Which of the query sets are the cells in order.
    first
        A first fit of 0 or more, shape (runs, cells), in counts, from which the sizes of the
        marginals are taken.

    Returns
    -------
    Targets
        Means in counts and variances in squared counts. No mean lies below 0 unless the answer is
        large, and a mean differs from an answer of 0 or more by at most 12 noises.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> from microdata_price.model.workload import Workload
    >>> w, noise = Workload.table(5), (Laplace(8.0),) * 2
    >>> m = Measurements(w, ([[200.0]], [[205.0, -9.0, 3.0, 8.0, -4.0]]), noise)
    >>> shrink(m, 1, np.array([[200.0, 0, 0, 0, 0]])).mean.round(1).tolist()
    [[205.0, 0.1, 0.2, 0.4, 0.1]]
    """
    expected = independent_sizes(m, first, DEFAULT.floor * m.noise[own].std)
    parts = []
    block = max(1, _BLOCK // m.workload.cells)
    for start in range(0, m.runs, block):
        runs = slice(start, start + block)
        parts.append(_block(m.select(runs), own, None if expected is None else expected[runs]))
    return Targets(*(np.concatenate(both) for both in zip(*parts, strict=True)))
