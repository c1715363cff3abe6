"""How often the ranges that a release gives for its own errors hold them, on the benchmark."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from microdata_price.errors.known import ols_variances
from microdata_price.fitting import CONTROL, fit
from microdata_price.model.benchmark import data_set
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.release.fit import finish
from microdata_price.release.measure import Measured
from microdata_price.release.rounding import round_table
from microdata_price.tables.schema import Schema
from microdata_price.tables.workload_text import DEFAULT, parse_workload

from .release_coverage import LEVELS, TABLES
from .seeded import seeded

METHODS = ("nnls", "maxfit", "sequential", "reweighted")
ROUNDED = 100
"""How many of the simulated runs are rounded to whole records too."""


def true_errors(
    measured: Measured, table: NDArray[np.int64], method: str, runs: int
) -> tuple[list[float], list[float]]:
    """Simulate the published table's root mean squared error of a query and its mean bias.

    Both are differences from the signed answers in the same runs, whose error is exact and whose
    bias is none. Most runs are fitted only; what rounding adds is measured in a few of them.

    Returns
    -------
    list, list
        One value each for every query set, all of which the workload asks.
    """
    workload = measured.workload
    m = measured.imitated(table, runs)
    cells, signed = fit(m, method).cells, fit(m, CONTROL).cells
    few = np.maximum(cells[:ROUNDED], 0)
    whole = np.stack([round_table(c, workload).table.ravel() for c in few])
    exact = ols_variances(workload, measured.mechanism.variances)
    roots, biases = [], []
    for q, variances in zip(workload.query_sets, exact, strict=True):
        true = q.answers(table.astype(float))
        off, plain, added = (
            q.answers(c.reshape(-1, *q.shape)) - true for c in (cells, signed, whole)
        )
        first = off[:ROUNDED]
        square = (off**2 - plain**2).mean() + (added**2 - first**2).mean()
        roots.append(np.sqrt(variances.mean() + square))
        biases.append((off - plain).mean() + (added - first).mean())
    return roots, biases


def expected_coverage(
    releases: int = 25,
    tables: Sequence[str] = TABLES,
    levels: Sequence[PureDP | ConcentratedDP] = LEVELS,
    runs: int = 2000,
    draws: int = 120,
    seed: int = 1,
) -> pd.DataFrame:
    """Release tables again and again and compare what each release says with the truth.

    Parameters
    ----------
    releases
        How many releases of each table at each level by each method.
    tables
        Data sets of the benchmark.
    levels
        Privacy levels.
    runs
        Simulated runs for the truth.
    draws
        Imitated measurements of each release's report.
    seed
        Of all noise.

    Returns
    -------
    DataFrame
        One row a level, table, method and query set: the true root error ``truth`` and mean
        ``bias``, the mean of what releases ``said`` of each, and the shares of releases whose
        ranges hold them, ``error_held`` and ``bias_held``.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for level in levels:
        for name in tables:
            table = data_set(name).table
            values = tuple(tuple(map(str, range(n))) for n in table.shape)
            schema = Schema(tuple("ab"[: table.ndim]), values)
            workload = parse_workload(DEFAULT, schema)
            for method in METHODS:
                m = seeded(table, schema, workload, level, rng)
                roots, biases = true_errors(m, table, method, runs)
                told = []
                for _ in range(releases):
                    m = seeded(table, schema, workload, level, rng)
                    report = finish(m, method, draws).report
                    assert report is not None
                    told.append(report.expected)
                sets = workload.names
                every = pd.concat(told).groupby("query_set")
                for query_set, root, bias in zip(sets, roots, biases, strict=True):
                    one = every.get_group(query_set)
                    rows.append(
                        {
                            "level": level.plain,
                            "table": name,
                            "method": method,
                            "query_set": query_set,
                            "releases": releases,
                            "truth": root,
                            "said": one["fitted"].mean(),
                            "error_held": (
                                one["fitted_low"].le(root) & one["fitted_high"].ge(root)
                            ).mean(),
                            "bias": bias,
                            "bias_said": one["bias"].mean(),
                            "bias_held": (
                                one["bias_low"].le(bias) & one["bias_high"].ge(bias)
                            ).mean(),
                        }
                    )
    return pd.DataFrame(rows)
