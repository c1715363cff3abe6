"""How far a maximum of noisy means lies above the largest expectation (ours)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..base.numbers import mean_and_error
from ..exceptions import InputError
from ..grid.run import evaluate
from ..model.benchmark import DataSet
from ..model.privacy import ConcentratedDP, PureDP


def maximum_against_runs(
    data: DataSet,
    guarantee: PureDP | ConcentratedDP,
    method: str,
    runs: Sequence[int],
    *,
    repeats: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Estimate the expectation of the reported maximum over cells, for several numbers of runs.

    The paper reports ``max_i`` of the means over its runs. That is above ``max_i`` of the
    expectations, and less so with more runs. Choosing the cell on one half of the runs and
    estimating it on the other is below it. So the two bracket it, on average.

    Parameters
    ----------
    data
        A data set; its query set ``identity`` is looked at.
    guarantee
        The privacy level.
    method
        A method of fitting.
    runs
        Numbers of runs, each 2 or more.
    repeats
        How often each experiment is repeated, 2 or more.
    rng
        The random stream.

    Returns
    -------
    DataFrame
        Columns runs, plain, plain_error, split, split_error (means over the repeats and their
        standard errors, in squared counts) and exact (NaN where unknown).

    Raises
    ------
    InputError
        Fewer than two runs or repeats, or an unknown method.

    Examples
    --------
    >>> from microdata_price.model.benchmark import data_set
    >>> rng = np.random.default_rng(1)
    >>> table = maximum_against_runs(
    ...     data_set("Level00-2d"), PureDP(0.5), "ols", [20], repeats=5, rng=rng)
    >>> bool(table["plain"][0] > table["exact"][0])
    True
    """
    if repeats < 2 or any(n < 2 for n in runs):
        raise InputError(
            f"there are {repeats} repeats of {list(runs)} runs; needed are 2 or more of each, to "
            "estimate a standard error and to have two halves"
        )
    rows = []
    for count in runs:
        found = [
            _cells(evaluate(data, guarantee, (method,), runs=count, rng=rng).errors)
            for _ in range(repeats)
        ]
        values = np.array([[f["value"], f["max_split"]] for f in found])
        means, errors = mean_and_error(
            float(repeats), values.sum(axis=0), (values * values).sum(axis=0)
        )
        exact = found[0]["exact"]
        rows.append(
            {
                "runs": count,
                "plain": float(means[0]),
                "plain_error": float(errors[0]),
                "split": float(means[1]),
                "split_error": float(errors[1]),
                "exact": float("nan") if pd.isna(exact) else float(exact),
            }
        )
    return pd.DataFrame(rows)


def _cells(errors: pd.DataFrame) -> pd.Series:
    return errors[(errors["query_set"] == "identity") & (errors["metric"] == "max")].iloc[0]
