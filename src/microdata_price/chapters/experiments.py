"""The experiments' tables and errors as chapters read them: prices, order, sparsity."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from ..errors.estimates import root_ratio
from ..exceptions import InputError
from ..fitting import CONTROL, METHODS, microdata_methods, paper_methods
from ..grid.tables import sharpest, squared_parts
from ..model.benchmark import FAMILIES, data_sets
from ..model.noise import max_exceeds
from ..model.privacy import level_of

# Names of query sets for readers: the first marginal counts the records of each row.
QUERY_NAMES = {"sum": "sum", "marginal1": "rows", "marginal2": "columns", "identity": "cells"}

MICRO = microdata_methods(paper_methods())
LABELS = {m: METHODS[m].label for m in MICRO}

DEAR, EVEN = 1.5, 1e-9  # prices above are marked; so near to 1 they are 1 but for rounding

_SUMS = {"rows": 1, "columns": 0}
_KEYS = ["dataset", "family", "privacy", "level", "query_set", "metric"]
_STATES = {
    **{"01": "Alabama", "08": "Colorado", "13": "Georgia", "17": "Illinois", "19": "Iowa"},
    **{"24": "Maryland", "26": "Michigan", "28": "Mississippi", "29": "Missouri"},
    **{"32": "Nevada", "36": "New York", "51": "Virginia"},
}


def state(dataset):
    """Name the state of a real table, from the two digits in its name.

    >>> state("PUMA0101301")
    'Alabama'
    """
    return _STATES[dataset.removeprefix("PUMA")[:2]]


class Experiment(NamedTuple):
    """A family of data sets at one privacy level."""

    privacy: str
    level: float
    family: str

    @property
    def guarantee(self):
        return level_of(self.privacy, self.level)

    def rows(self, errors):
        same = errors["privacy"].eq(self.privacy) & errors["level"].eq(self.level)
        return errors[same & errors["family"].eq(self.family)]


def levels(errors):
    """List a grid's privacy levels, pure before zCDP, weak before strong.

    >>> levels(pd.DataFrame({"privacy": ["zcdp", "pure", "pure"], "level": [0.5, 0.1, 1.0]}))
    [('pure', 1.0), ('pure', 0.1), ('zcdp', 0.5)]
    """
    pairs = set(zip(errors["privacy"], errors["level"].astype(float), strict=True))
    return sorted(pairs, key=lambda pair: (pair[0] != "pure", -pair[1]))


def experiments(errors):
    """List a grid's experiments in the order of the paper's supplement.

    >>> errors = pd.DataFrame({"privacy": ["pure"], "level": [1.0], "family": ["2d"]})
    >>> experiments(errors)
    [Experiment(privacy='pure', level=1.0, family='2d')]
    """
    there = set(errors[["privacy", "level", "family"]].itertuples(index=False, name=None))
    return [
        Experiment(kind, level, family)
        for privacy in dict.fromkeys(kind for kind, _ in levels(errors))
        for family in FAMILIES
        for kind, level in levels(errors)
        if kind == privacy and (kind, level, family) in there
    ]


def priced(errors):
    """Add prices, ratios of root errors, to a grid's errors.

    Every estimate is the sharpest one: exact where it is known, else with OLS, whose error is
    known, as control variate. New are ``ols`` (OLS's exact squared error), ``price`` (root of the
    estimate over it) and ``price_error`` (its standard error).
    """
    control = errors[errors["method"] == CONTROL]
    if control.empty:
        raise InputError("the grid has no OLS to compare with")
    base = control[[*_KEYS, "exact"]].rename(columns={"exact": "ols"})
    found = errors.merge(base, on=_KEYS, how="left", validate="many_to_one")
    value, error = sharpest(found)
    value = np.where(value > 0, value, found["value"])  # a control variate overshot: few runs
    found["price"], found["price_error"] = root_ratio(value, error, found["ols"])
    return found


def of_micro(prices, query_set, metric="total"):
    """Return the rows of one query set and of the paper's methods that make microdata."""
    same = prices["query_set"].eq(query_set) & prices["metric"].eq(metric)
    return prices[same & prices["method"].isin(MICRO)]


def price_matrix(prices, query_set, metric="total"):
    """Arrange prices: a row a data set, sparsest first in a family; a column a method and level."""
    own = of_micro(prices, query_set, metric)
    wide = own.pivot(index="dataset", columns=["method", "privacy", "level"], values="price")
    about = sparsity()
    order = [d for f in FAMILIES for d in about.loc[about["family"] == f, "dataset"]]
    return wide.loc[
        [d for d in order if d in wide.index], [(m, *pair) for m in MICRO for pair in levels(own)]
    ]


def bias_shares(queries):
    """Return the share of squared bias, from 0 to 1, in each total error of microdata.

    Its ``error`` adds up those of the queries: no less than the standard error, to first order.
    """
    own, keys = queries[queries["method"].isin(MICRO)], [*_KEYS[:4], "method", "query_set"]
    off = 2 * own["bias"].abs() * np.sqrt(own["variance"] / (own["runs"] - 1))
    errors = own.assign(off=off).groupby(keys, sort=False)[["off", "standard_error"]].sum()
    parts = squared_parts(own, keys).join(errors).reset_index()
    whole = (parts["squared_bias"] + parts["variance"]).replace(0, np.nan)
    share = (parts["squared_bias"] / whole).fillna(0.0)
    return parts.assign(share=share, error=(parts["off"] + share * parts["standard_error"]) / whole)


def sparsity(tables=None):
    """Describe the benchmark's tables, the sparsest first.

    >>> sparsity().set_index("dataset").loc["Step16-1d", "empty"]
    np.int64(49)
    """
    rows = []
    for d in data_sets() if tables is None else tables:
        full = d.table[d.table > 0]
        row = {"dataset": d.name, "family": d.family, "records": int(d.table.sum())}
        row |= {"empty": d.empty_cells, "share": d.empty_cells / d.table.size}
        row |= {"small": int((full < 10).sum()), "largest": float(full.max() / full.sum())}
        if d.table.ndim == 2:
            row |= {f"empty_{k}": int((d.table.sum(axis=a) == 0).sum()) for k, a in _SUMS.items()}
        rows.append(row | {"filled": full.size})
    return pd.DataFrame(rows).sort_values("share", ascending=False, kind="stable")


def percentile_of(noise, count, size):
    """Return the place of a size among the largest of several noises, in percent."""
    return 100 * (1 - float(max_exceeds(noise, count, size)))
