"""Answers that may be negative: the mechanisms of the paper's Theorems 1 and 2, made measurable."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.numbers import check_whole, mean_and_error
from ...model.measurement import measure
from ...model.noise import Laplace, check_chance
from ...model.privacy import ConcentratedDP, PureDP
from ...model.table import check_table
from ...model.workload import Workload
from ..given import check_points

Array = NDArray[np.float64]


class SampledErrors(NamedTuple):
    """Mean squared errors of the sum and of the cells, each with its standard error."""

    total: float
    total_se: float
    cell: float
    """The mean over all cells, which have equal errors."""
    cell_se: float
    negative: float
    """The mean share of the cells that come out negative."""
    negative_se: float


def sampled_signed(
    table: ArrayLike, guarantee: PureDP | ConcentratedDP, runs: int, rng: np.random.Generator
) -> SampledErrors:
    """Simulate the mechanism of Theorem 1 or 2 on the sum and the cells of a list."""
    check_whole(runs, "runs", 2, hint=", so that there are standard errors")
    truth = check_table(table)
    found = measure(truth, Workload.table(truth.size), guarantee, runs=runs, rng=rng)
    squares = (found.answers[0][:, 0] - truth.sum()) ** 2
    cells = ((found.answers[1] - truth) ** 2).mean(axis=1)
    below = (found.answers[1] < 0).mean(axis=1)
    values = []
    for sample in (squares, cells, below):
        mean, error = mean_and_error(float(runs), sample.sum(), (sample**2).sum())
        values += [float(mean), float(error)]
    return SampledErrors(*values)


def safe_count(noise: Laplace, d: int, chance: float) -> int:
    """Return the least count at which d cells of it are all nonnegative but for a small chance.

    By the union bound ``d exp(-q/b)/2 <= chance``, so q is ``b ln(d/(2 chance))``, rounded up.
    """
    odds = float(check_points(d) / (2 * check_chance(chance)))
    return max(math.ceil(noise.scale * math.log(odds)), 0)
