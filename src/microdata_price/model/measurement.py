"""Noisy answers: what is known of a table after a mechanism has looked at it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.batch import Batch, Runs
from ..base.numbers import check_whole
from ..exceptions import InputError
from .noise import Noise
from .privacy import ConcentratedDP, PureDP, check_guarantee
from .table import check_batch, check_table
from .workload import Workload

Array = NDArray[np.float64]

# Of a true answer over its noise. Beyond it the rounding of doubles, and what certificates allow,
# move fits by whole noises; up to it they move squared errors by 1 % at most (no cells asked).
_MOST_RATIO = 1e11


@dataclass(frozen=True, eq=False)
class Measurements(Batch):
    """Noisy answers to a workload, for a batch of runs.

    Parameters
    ----------
    answers
        One array a query set, shape (runs, queries), in counts, all finite.
    noise
        The distribution of the noise on each answer of a query set, one a query set.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> m = Measurements(Workload.table(2), ([[7.0]], [[3.0, 4.0]]), (Laplace(8), Laplace(8)))
    >>> m.runs
    1
    """

    by_run = ("answers",)

    workload: Workload
    answers: tuple[Array, ...]
    noise: tuple[Noise, ...]

    def __post_init__(self) -> None:
        answers, noise, sets = tuple(self.answers), tuple(self.noise), self.workload.query_sets
        if not len(answers) == len(noise) == len(sets):
            found = f"{len(sets)} query sets, {len(answers)} arrays of answers and {len(noise)}"
            raise InputError(f"there are {found} noise distributions; these must be equally many")
        sizes = {f"the answers to query set {q.name!r}": q.size for q in sets}
        object.__setattr__(self, "answers", check_batch(answers, sizes))
        object.__setattr__(self, "noise", noise)

    def select(self, runs: Runs) -> Self:
        """Return the measurements of some of the runs; that there are any is checked."""
        return replace(super().select(runs))

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.answers[0].shape[0])

    @property
    def variances(self) -> tuple[float, ...]:
        """The noise variance of each query set, in squared counts."""
        return tuple(n.variance for n in self.noise)


def noise_for(
    workload: Workload, guarantee: PureDP | ConcentratedDP, split: Sequence[float] | None = None
) -> tuple[Noise, ...]:
    """Return the noise on each query set that makes the whole workload satisfy the guarantee.

    Without a split every answer has the same noise, scaled to the sensitivity of the whole
    workload (the paper's Theorems 1 and 2). With a split, shares of the budget that add up to 1,
    query set k is measured with its own share, and the shares compose.

    Examples
    --------
    >>> noise_for(Workload.table((9, 24)), PureDP(0.5))[0]
    Laplace(scale=8.0)
    >>> [n.variance for n in noise_for(Workload.table(100), ConcentratedDP(0.5), (0.25, 0.75))]
    [4.0, 1.3333333333333333]
    """
    check_guarantee(guarantee, PureDP, ConcentratedDP)
    if split is None:
        return (guarantee.noise(workload.sensitivity(guarantee.norm)),) * len(workload.query_sets)
    shares = workload.check_positive(split, "shares")
    if abs(math.fsum(shares) - 1) > 1e-9:
        raise InputError(f"the split is {shares}; it must have shares that add up to 1")
    return tuple(guarantee.scaled(s).noise() for s in shares)


def truth_and_noise(
    table: ArrayLike,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    split: Sequence[float] | None = None,
) -> tuple[tuple[Array, ...], tuple[Noise, ...]]:
    """Return true answers and the noise on them, or refuse noise that rounding would drown."""
    truth = workload.answers(check_table(table, workload.shape))
    noise = noise_for(workload, guarantee, split)
    largest, least = max(float(a.max()) for a in truth), min(n.std for n in noise)
    if largest > _MOST_RATIO * least:
        raise InputError(
            f"{guarantee.parameter} is {guarantee.level:g}: beside a count of {largest:,.0f} its "
            f"noise, {least:.2g} counts, is lost in the rounding of 64-bit numbers; choose a "
            f"smaller {guarantee.parameter} (a count may be {_MOST_RATIO:g} times the noise)"
        )
    return truth, noise


def measure(
    table: ArrayLike,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    *,
    runs: int,
    rng: np.random.Generator,
    split: Sequence[float] | None = None,
) -> Measurements:
    """Simulate noisy answers to the workload (never for a release: the noise is not vetted).

    The noise is that of `noise_for`; query sets draw from the random stream in order.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> measure([5, 0, 0], Workload.table(3), PureDP(0.5), runs=10, rng=rng).answers[1].shape
    (10, 3)
    """
    truth, noise = truth_and_noise(table, workload, guarantee, split)
    runs = check_whole(runs, "runs", 1, 10**9 // sum(a.size for a in truth))  # 8 GB at once
    answers = tuple(a + n.sample(rng, (runs, a.size)) for a, n in zip(truth, noise, strict=True))
    return Measurements(workload, answers, noise)
