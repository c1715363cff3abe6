"""A table and noisy answers to it: what the chapters on the algorithms take apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..model.benchmark import DataSet, data_set
from ..model.measurement import Measurements, measure
from ..model.noise import Gaussian, Laplace
from ..model.privacy import ConcentratedDP, PureDP
from ..model.workload import Workload

Array = NDArray[np.float64]

SHORT_LIST = (40.0, 12.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""The small list on which each method is shown step by step, in counts."""


LABELS = {
    "sum": "sum",
    "marginal1": "rows",
    "marginal2": "columns",
    "identity": "cells",
}
"""What the query sets of the paper's workload are called in figures."""


@dataclass(frozen=True, eq=False)
class Case:
    """A true table and noisy answers to its workload: what a chapter takes apart.

    Parameters
    ----------
    table
        The true counts.
    measurements
        Noisy answers, a batch of runs; the last query set is the cells.

    Examples
    --------
    >>> case = short_case(PureDP(0.5), seed=1)
    >>> case.truth.sum(), case.noisy_cells.shape
    (np.float64(55.0), (1, 8))
    """

    table: Array
    measurements: Measurements

    @property
    def workload(self) -> Workload:
        """What was asked."""
        return self.measurements.workload

    @property
    def truth(self) -> Array:
        """The true cells in a row, shape (cells,)."""
        return self.table.ravel()

    @property
    def noise(self) -> Laplace | Gaussian:
        """The noise on every answer."""
        noise = self.measurements.noise[0]
        assert isinstance(noise, (Laplace, Gaussian))
        return noise

    @property
    def noisy_cells(self) -> Array:
        """The noisy answers to the cells, shape (runs, cells)."""
        return self.measurements.answers[-1]

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Which cells hold no record."""
        return np.asarray(self.truth == 0)


def bench_case(
    name: str, guarantee: PureDP | ConcentratedDP, *, runs: int, seed: int
) -> tuple[DataSet, Case]:
    """Measure a table of the benchmark.

    Parameters
    ----------
    name
        The data set.
    guarantee
        What all its answers together satisfy.
    runs, seed
        How many repetitions, 2 or more, and of which random stream.

    Raises
    ------
    InputError
        An unknown data set, or a single run: nothing has a standard error then.

    Examples
    --------
    >>> bench_case("Level00-1d", PureDP(0.5), runs=3, seed=1)[1].measurements.runs
    3
    """
    data = data_set(name)
    if runs == 1:
        raise InputError("runs is 1; standard errors need 2 runs or more")
    rng = np.random.default_rng(seed)
    return data, Case(data.table, measure(data.table, data.workload, guarantee, runs=runs, rng=rng))


def short_case(guarantee: PureDP | ConcentratedDP, *, seed: int) -> Case:
    """Measure the small list once.

    Examples
    --------
    >>> short_case(PureDP(0.5), seed=1).noise
    Laplace(scale=4.0)
    """
    table = np.array(SHORT_LIST)
    rng = np.random.default_rng(seed)
    return Case(table, measure(table, Workload.table(table.size), guarantee, runs=1, rng=rng))


def reordered(m: Measurements, order: Sequence[str]) -> Measurements:
    """Return the same noisy answers with another priority among the query sets.

    Parameters
    ----------
    m
        Noisy answers.
    order
        The names of all query sets, highest priority first.

    Raises
    ------
    InputError
        Names that are not exactly those of the workload.

    Examples
    --------
    >>> m = short_case(PureDP(0.5), seed=1).measurements
    >>> reordered(m, ["identity", "sum"]).workload.names
    ('identity', 'sum')
    """
    if sorted(order) != sorted(m.workload.names):
        raise InputError(
            f"the order is {list(order)}; it must name each of {list(m.workload.names)} once"
        )
    places = [m.workload.names.index(name) for name in order]
    return Measurements(
        Workload(tuple(m.workload.query_sets[i] for i in places)),
        tuple(m.answers[i] for i in places),
        tuple(m.noise[i] for i in places),
    )
