"""Our values beside the 240 that the paper's Tables 1 and 2 print."""

import functools
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..base.data import data_path
from ..exceptions import InputError
from ..fitting import CONTROL, paper_methods
from ..grid.spec import PAPER_RUNS, SEED, GridSpec

# The privacy level of the paper's Tables 1 and 2 (pure differential privacy).
EPSILON = 0.5

# A z score of this size or more is called a mismatch.
LIMIT = 4.0

# Methods of which the authors lost no run, so that their averages are of all runs.
REPRODUCIBLE = ("ols", "nnls", "reweighted")

PRINTED = {
    ("sum", "total"): "sum",
    ("identity", "total"): "cells, total",
    ("identity", "max"): "worst cell",
}

_KEYS = ["dataset", "method", "query_set", "metric"]


@functools.cache
def published_tables() -> pd.DataFrame:
    """Read the printed values: paper_table, dataset, method, query_set, metric, squared_error.

    >>> published_tables().shape
    (240, 6)
    """
    return pd.read_csv(data_path("published_tables.csv"))


def published_spec(runs: int = PAPER_RUNS, seed: int = SEED) -> GridSpec:
    """Choose the part of the grid that the paper's Tables 1 and 2 show.

    >>> published_spec(runs=10).fits
    800
    """
    return GridSpec.choose(
        datasets=list(dict.fromkeys(published_tables()["dataset"])),
        epsilon=[EPSILON],
        methods=paper_methods(),
        runs=runs,
        seed=seed,
    )


def scorecard(errors: pd.DataFrame) -> pd.DataFrame:
    """Put our values beside the published ones.

    The paper's tables print no standard errors; theirs are taken as ours of 1,000 runs would be.
    So ``z = (published - value) / (sqrt(1 + runs / 1000) standard_error)``. The OLS values of all
    fifteen real tables are one: the authors' runs share their noise, so the z scores must not be
    combined into one test.

    Parameters
    ----------
    errors
        A grid's errors; see `grid.load_errors`. Other levels and data sets are left out.

    Returns
    -------
    DataFrame
        The published values in their order with ``published`` and ``z`` beside a grid's columns.

    Raises
    ------
    InputError
        Values are missing; the message names the first.

    Examples
    --------
    >>> scorecard(pd.DataFrame(columns=[*_KEYS, "privacy", "level"]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    microdata_price.exceptions.InputError: 240 of the 240 published values are missing, ...
    """
    published = published_tables().rename(columns={"squared_error": "published"})
    ours = errors[(errors["privacy"] == "pure") & (errors["level"] == EPSILON)]
    joined = published.merge(ours, on=_KEYS, how="left", validate="one_to_one", indicator="side")
    missing = joined[joined["side"] != "both"]
    if len(missing):
        first = ", ".join(missing.iloc[0][["dataset", "method", "query_set"]])
        raise InputError(
            f"{len(missing)} of the 240 published values are missing, first: {first}; "
            f"compute them with {'microdata-price check-tables'}"
        )
    spread = np.sqrt(1 + joined["runs"] / PAPER_RUNS) * joined["standard_error"]
    joined.insert(5, "z", (joined["published"] - joined["value"]) / spread)
    return joined.drop(columns=["side", "family", "privacy", "level", "conic_calls"])


class Check(NamedTuple):
    """One comparison: its rows with the distance ``z``, in standard errors."""

    rows: pd.DataFrame

    @property
    def far(self) -> pd.DataFrame:
        return self.rows[~(self.rows["z"].abs() < LIMIT)]

    @property
    def worst(self) -> pd.Series:
        return self.rows.iloc[int(np.nan_to_num(self.rows["z"].abs(), nan=-1.0).argmax())]


def checks(card: pd.DataFrame) -> dict[str, Check]:
    """Compare what must agree.

    Totals of OLS, NNLS and reweighted fitting with the published ones; OLS with its exact values;
    sequential fitting's sum with its own exact value, 128 up to a negligible term.
    """
    totals = card["metric"].eq("total")
    exact = card.assign(z=(card["value"] - card["exact"]) / card["standard_error"])
    sequential = exact["method"].eq("sequential") & exact["query_set"].eq("sum")
    return {
        "published": Check(card[totals & card["method"].isin(REPRODUCIBLE)]),
        "ols": Check(exact[totals & exact["method"].eq(CONTROL)]),
        "sequential": Check(exact[sequential]),
    }
