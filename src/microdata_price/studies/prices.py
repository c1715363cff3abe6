"""What requiring microdata costs over a whole grid: maps, parts, trends (ours)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from ..fitting import microdata_methods, paper_methods
from ..grid.tables import sharpest, squared_parts
from ..model.benchmark import FAMILIES, data_set
from ..model.measurement import noise_for
from ..model.privacy import level_of
from .experiments import BEYOND, QUERY_NAMES, levels, sparsity

Array = NDArray[np.float64]

MICRO = microdata_methods(paper_methods())
"""The paper's methods whose results are nonnegative and consistent: those of its experiments."""


def noise_std(dataset: str, privacy: str, level: float) -> float:
    """Return the standard deviation of the noise on each answer, in records.

    Examples
    --------
    >>> round(noise_std("PUMA0101301", "pure", 0.5), 3)
    11.314
    """
    return noise_for(data_set(dataset).workload, level_of(privacy, level))[0].std


def sharpened(found: pd.DataFrame) -> pd.DataFrame:
    """Replace prices by the sharpest estimates: exact where known, else with OLS as control.

    Parameters
    ----------
    found
        From `experiments.priced`, whose prices are plain means over the runs.
    """
    value, error = sharpest(found)
    price = value / found["ols"]
    beyond = (price > BEYOND) & found["method"].isin(microdata_methods())
    return found.assign(price=price, price_error=error / found["ols"], beyond=beyond)


def price_matrix(found: pd.DataFrame, query_set: str, metric: str = "total") -> pd.DataFrame:
    """Arrange prices: a row a data set, a column a method and level.

    Within a family the data sets are in order of their share of empty cells, the sparsest first.

    Parameters
    ----------
    found
        From `experiments.priced` or `sharpened`.
    query_set, metric
        Which errors.
    """
    own = found[found["query_set"].eq(query_set) & found["metric"].eq(metric)]
    wide = own.pivot(index="dataset", columns=["method", "privacy", "level"], values="price")
    about = sparsity().sort_values("share", ascending=False, kind="stable")
    order = [
        name
        for family in FAMILIES
        for name in about.loc[about["family"] == family, "dataset"]
        if name in wide.index
    ]
    there = [m for m in MICRO if own["method"].eq(m).any()]
    columns = [(m, privacy, level) for m in there for privacy, level in levels(found)]
    return wide.loc[order, columns]


def bias_shares(queries: pd.DataFrame) -> pd.DataFrame:
    """Return the share of squared bias in each total error of the methods that make microdata.

    Parameters
    ----------
    queries
        From `grid.load_queries`.

    Returns
    -------
    DataFrame
        One row a data set, level, method and query set: ``squared_bias``, ``variance`` (squared
        counts) and ``share``, from 0 to 1.
    """
    keys = ["dataset", "family", "privacy", "level", "method", "query_set"]
    parts = squared_parts(queries[queries["method"].isin(microdata_methods())], keys).reset_index()
    whole = parts["squared_bias"] + parts["variance"]
    return parts.assign(share=(parts["squared_bias"] / whole.where(whole > 0)).fillna(0.0))


def medians(found: pd.DataFrame) -> pd.DataFrame:
    """Summarise prices of the sum and of the worst cell over the tables of each family.

    Parameters
    ----------
    found
        From `experiments.priced` or `sharpened`.

    Returns
    -------
    DataFrame
        ``family``, ``kind`` (``"sum"`` or ``"worst"``), ``method``, ``privacy``, ``level``,
        ``noise`` (standard deviation, records), ``low``, ``median``, ``high``.
    """
    micro = found[found["method"].isin(microdata_methods())]
    frames = []
    for kind, query_set, metric in (("sum", "sum", "total"), ("worst", "identity", "max")):
        own = micro[micro["query_set"].eq(query_set) & micro["metric"].eq(metric)]
        keys = ["family", "method", "privacy", "level"]
        table = own.groupby(keys, sort=False)["price"].agg(["min", "median", "max"]).reset_index()
        table = table.rename(columns={"min": "low", "max": "high"}).assign(kind=kind)
        member = dict(zip(own["family"], own["dataset"], strict=True))
        keyed = zip(table["family"], table["privacy"], table["level"], strict=True)
        table["noise"] = [noise_std(member[f], p, level) for f, p, level in keyed]
        frames.append(table)
    return pd.concat(frames, ignore_index=True)


def with_sparsity(found: pd.DataFrame, query_set: str = "sum") -> pd.DataFrame:
    """Return the total prices of a query set with each table's share of empty cells.

    Parameters
    ----------
    found
        From `experiments.priced` or `sharpened`.
    query_set
        Which query set.
    """
    own = found[found["query_set"].eq(query_set) & found["metric"].eq("total")]
    about = sparsity()[["dataset", "share", "records"]]
    return own[own["method"].isin(microdata_methods())].merge(
        about, on="dataset", validate="many_to_one"
    )


def rank_correlations(prices: pd.DataFrame) -> pd.DataFrame:
    """Correlate the ranks of price and sparsity over the tables, by level and method.

    Parameters
    ----------
    prices
        From `with_sparsity`.

    Returns
    -------
    DataFrame
        ``privacy``, ``level``, ``method``, ``correlation`` (Spearman's; 0 where all are equal).

    Examples
    --------
    >>> rows = {"privacy": "pure", "level": 1.0, "method": "nnls"}
    >>> prices = pd.DataFrame([{**rows, "share": s, "price": 1 + s} for s in (0.1, 0.5, 0.9)])
    >>> float(rank_correlations(prices)["correlation"].iloc[0])
    1.0
    """
    rows = []
    for keys, group in prices.groupby(["privacy", "level", "method"], sort=False):
        constant = group["share"].nunique() < 2 or group["price"].nunique() < 2
        found = 0.0 if constant else float(stats.spearmanr(group["share"], group["price"])[0])
        rows.append((*keys, found))
    return pd.DataFrame(rows, columns=["privacy", "level", "method", "correlation"])


def query_sets(found: pd.DataFrame) -> list[str]:
    """List a grid's query sets in the order in which they are shown."""
    return [name for name in QUERY_NAMES if found["query_set"].eq(name).any()]
