"""Seconds a large two-way table takes, beside an interior-point solver where that can follow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from microdata_price.fitting.methods import fit
from microdata_price.model.measurement import measure
from microdata_price.model.privacy import PureDP
from microdata_price.model.workload import Workload

from .baselines import clarabel_update_nnls
from .timing import least_seconds, one_thread

SIDES = (30, 100, 300, 1000)
METHODS = ("nnls", "maxfit", "sequential", "reweighted")


def large_tables(
    sides: Sequence[int] = SIDES,
    interior_most: int = 100,
    epsilon: float = 0.5,
    repeats: int = 2,
    seed: int = 1,
) -> pd.DataFrame:
    """Time one fit of a square table with sum, both marginals and cells, a tenth occupied.

    Returns
    -------
    DataFrame
        One line a side, method and solver: ``seconds`` on one core and our certificate; Clarabel
        solves nonnegative least squares up to sides of ``interior_most``.
    """
    lines = []
    with one_thread():
        for side in sides:
            rng = np.random.default_rng(seed)
            table = np.where(rng.random((side, side)) < 0.1, rng.integers(0, 50, (side, side)), 0)
            table[0, 0] = 10_000
            m = measure(table, Workload.table((side, side)), PureDP(epsilon), runs=1, rng=rng)
            for method in METHODS:
                worst = fit(m, method).certificate.worst
                seconds = least_seconds(lambda m=m, method=method: fit(m, method), repeats)
                lines.append((side, method, "ours", seconds, worst))
            if side <= interior_most:
                seconds = least_seconds(lambda m=m: clarabel_update_nnls(m), repeats)
                lines.append((side, "nnls", "Clarabel", seconds, np.nan))
    return pd.DataFrame(lines, columns=["side", "method", "solver", "seconds", "certificate"])
