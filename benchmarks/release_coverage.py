"""How often a release's 90 % intervals hold the truth, on the benchmark's tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from microdata_price.errors.known import ols_variances
from microdata_price.fitting import CONTROL, fit
from microdata_price.model.benchmark import data_set
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.release.measure import measure_privately
from microdata_price.release.report import signed_intervals
from microdata_price.tables.schema import Schema
from microdata_price.tables.workload_text import DEFAULT, parse_workload

TABLES = ("PUMA0101301", "PUMA3603710", "Level00-2d", "Level16-2d", "Stair-2d", "SplitStairs-2d")
LEVELS = (PureDP(1.0), PureDP(0.5), PureDP(0.1), ConcentratedDP(0.125))


def release_coverage(
    releases: int = 30,
    tables: Sequence[str] = TABLES,
    levels: Sequence[PureDP | ConcentratedDP] = LEVELS,
    measured: int = 200,
) -> pd.DataFrame:
    """Measure real tables with the release's own noise and count the truths in its intervals.

    The widths of intervals depend on the noise alone. So those of a release are compared with many
    measurements of its table.

    Parameters
    ----------
    releases
        How many releases of each table at each level, each with widths of its own.
    tables
        Data sets of the benchmark.
    levels
        Privacy levels.
    measured
        How many measurements each of them is compared with.

    Returns
    -------
    DataFrame
        One row a level and table: ``alone``, the share of truths in the intervals that hold one by
        one, and ``joint``, the share of measurements whose joint intervals hold all truths at once,
        each with its standard error over the releases.
    """
    rows = []
    for level in levels:
        for name in tables:
            table = data_set(name).table
            values = tuple(tuple(map(str, range(n))) for n in table.shape)
            schema = Schema(tuple("ab"[: table.ndim]), values)
            workload = parse_workload(DEFAULT, schema)
            truth = workload.answers(table)
            alone, joint = [], []
            for _ in range(releases):
                m = measure_privately(table.astype(float), schema, workload, level)
                stds = [np.sqrt(v) for v in ols_variances(workload, m.mechanism.variances)]
                found = signed_intervals(m, stds, 99)
                assert found is not None
                signed = fit(m.imitated(table, measured), CONTROL).answers()
                off = [np.abs(s - t) for s, t in zip(signed, truth, strict=True)]
                one, every = (
                    np.concatenate([o <= h for o, h in zip(off, half, strict=True)], axis=1)
                    for half in found
                )
                alone.append(one.mean())
                joint.append(every.all(axis=1).mean())
            rows.append(
                {
                    "level": level.plain,
                    "table": name,
                    "measured": releases * measured,
                    "alone": np.mean(alone),
                    "alone_error": np.std(alone, ddof=1) / np.sqrt(releases),
                    "joint": np.mean(joint),
                    "joint_error": np.std(joint, ddof=1) / np.sqrt(releases),
                }
            )
    return pd.DataFrame(rows)
