"""The complete experiments as tables to read: order, names, prices, marks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..base.numbers import format_number
from ..exceptions import InputError
from ..fitting import CONTROL, METHODS, microdata_methods
from ..model.benchmark import FAMILIES, DataSet, data_sets
from ..model.noise import Noise
from ..model.privacy import ConcentratedDP, PureDP, level_of

QUERY_NAMES = {"sum": "sum", "marginal1": "rows", "marginal2": "columns", "identity": "cells"}
"""How query sets are called: the first marginal counts the records of each row."""

BEYOND = 2.0
"""Errors of more than this times OLS's are marked."""

_STATES = {
    "01": "Alabama",
    "08": "Colorado",
    "13": "Georgia",
    "17": "Illinois",
    "19": "Iowa",
    "24": "Maryland",
    "26": "Michigan",
    "28": "Mississippi",
    "29": "Missouri",
    "32": "Nevada",
    "36": "New York",
    "51": "Virginia",
}


def state(dataset: str) -> str:
    """Return the state of a real table, from the two digits in its name.

    Examples
    --------
    >>> state("PUMA0101301")
    'Alabama'
    """
    return _STATES[dataset.removeprefix("PUMA")[:2]]


@dataclass(frozen=True)
class Experiment:
    """One family of data sets at one privacy level.

    Examples
    --------
    >>> Experiment("pure", 0.5, "1d").slug
    'pure-0p5-1d'
    """

    privacy: str
    level: float
    family: str

    @property
    def slug(self) -> str:
        """A name for links."""
        written = f"{self.level:g}".replace(".", "p").replace("-", "m").replace("+", "")
        return f"{self.privacy}-{written}-{self.family}"

    @property
    def guarantee(self) -> PureDP | ConcentratedDP:
        """The privacy level."""
        return level_of(self.privacy, self.level)

    def rows(self, errors: pd.DataFrame) -> pd.DataFrame:
        """Return the experiment's rows."""
        same = errors["privacy"].eq(self.privacy) & errors["level"].eq(self.level)
        return errors[same & errors["family"].eq(self.family)]


def levels(errors: pd.DataFrame) -> list[tuple[str, float]]:
    """List a grid's privacy levels, pure before zCDP, weak before strong.

    Examples
    --------
    >>> levels(pd.DataFrame({"privacy": ["zcdp", "pure", "pure"], "level": [0.5, 0.1, 1.0]}))
    [('pure', 1.0), ('pure', 0.1), ('zcdp', 0.5)]
    """
    pairs = errors[["privacy", "level"]].drop_duplicates().itertuples(index=False)
    found = [(str(p), float(v)) for p, v in pairs]
    return sorted(found, key=lambda pair: (pair[0] != "pure", -pair[1]))


def experiments(errors: pd.DataFrame) -> list[Experiment]:
    """List a grid's experiments in the order of the paper's supplement.

    Examples
    --------
    >>> errors = pd.DataFrame({"privacy": ["pure"], "level": [1.0], "family": ["2d"]})
    >>> experiments(errors)
    [Experiment(privacy='pure', level=1.0, family='2d')]
    """
    keys = ["privacy", "level", "family"]
    there = set(errors[keys].drop_duplicates().itertuples(index=False, name=None))
    pairs = levels(errors)
    return [
        Experiment(privacy, level, family)
        for privacy in dict.fromkeys(kind for kind, _ in pairs)
        for family in FAMILIES
        for kind, level in pairs
        if kind == privacy and (privacy, level, family) in there
    ]


def priced(errors: pd.DataFrame) -> pd.DataFrame:
    """Add to a grid's errors what they cost and how they stand.

    Parameters
    ----------
    errors
        From `grid.load_errors`; OLS must be among the methods.

    Returns
    -------
    DataFrame
        With the columns ``ols`` (OLS's exact error, squared counts), ``price`` (the estimated error
        over it) and ``price_error``, ``best`` (the smallest of the methods that make microdata) and
        ``beyond`` (more than twice ``ols``).

    Raises
    ------
    InputError
        A grid without OLS.
    """
    keys = ["dataset", "family", "privacy", "level", "query_set", "metric"]
    control = errors[errors["method"] == CONTROL]
    if control.empty:
        raise InputError("the grid has no OLS; compute it with the method ols among the others")
    base = control[[*keys, "exact"]].rename(columns={"exact": "ols"})
    found = errors.merge(base, on=keys, how="left", validate="many_to_one")
    found["price"] = found["value"] / found["ols"]
    found["price_error"] = found["standard_error"] / found["ols"]
    micro = found["value"].where(found["method"].isin(microdata_methods()))
    smallest = micro.groupby([found[k] for k in keys]).transform("min")
    found["best"] = micro.eq(smallest)
    found["beyond"] = (found["price"] > BEYOND) & found["method"].isin(microdata_methods())
    return found


def marked(row: pd.Series) -> str:
    r"""Write one value with its standard error and its marks: bold the best, ▲ beyond twice OLS.

    Examples
    --------
    >>> row = {"value": 461.9, "standard_error": 12.3, "best": True, "beyond": True}
    >>> marked(pd.Series(row))
    '▲\xa0**462\xa0±\xa012**'
    """
    error = float(row["standard_error"])
    written = format_number(float(row["value"]), se=error if np.isfinite(error) else None)
    text = written.replace(" ", "\u00a0")
    text = f"**{text}**" if row["best"] else text
    return f"▲\u00a0{text}" if row["beyond"] else text


def result_table(rows: pd.DataFrame, query_set: str, metric: str) -> pd.DataFrame:
    """Lay out one table of the supplement: a row a data set, a column a method.

    Parameters
    ----------
    rows
        One experiment's rows of `priced`.
    query_set, metric
        Which errors; ``"total"`` or ``"max"``.
    """
    own = rows[rows["query_set"].eq(query_set) & rows["metric"].eq(metric)]
    text = own.assign(shown=own.apply(marked, axis=1))
    order = list(dict.fromkeys(own["dataset"]))
    wide = text.pivot(index="dataset", columns="method", values="shown").loc[order]
    wide = wide[[m for m in METHODS if m in wide.columns]]
    return wide.rename(columns={m: s.label for m, s in METHODS.items()}).reset_index(names="data")


def exact_sentence(rows: pd.DataFrame, query_set: str, metric: str) -> str:
    """Say which expected errors of a table are known exactly, and what they are.

    Parameters
    ----------
    rows
        One experiment's rows of a grid's errors.
    query_set, metric
        Which errors.
    """
    own = rows[rows["query_set"].eq(query_set) & rows["metric"].eq(metric)]
    said = []
    for method, group in own.groupby("method", sort=False):
        known = group["exact"].dropna()
        if known.empty:
            continue
        ends = (float(known.min()), float(known.max()))
        low, high = (format_number(v, 6 if v >= 1 else 4) for v in ends)
        where = f"{low} in every row" if low == high else f"from {low} to {high}"
        said.append(f"{METHODS[str(method)].label} has {where}")
    return f"Exactly, {' and '.join(said)}." if said else ""


def sparsity(tables: Iterable[DataSet] | None = None) -> pd.DataFrame:
    """Describe the benchmark's tables: sizes, records, empty cells, the largest cell's share.

    Examples
    --------
    >>> sparsity().set_index("dataset").loc["Step16-1d", "empty"]
    np.int64(49)
    """
    rows = []
    for d in data_sets() if tables is None else tables:
        full = d.table[d.table > 0]
        empty_sums = [
            int((a == 0).sum())
            for q, a in zip(d.workload.query_sets, d.workload.answers(d.table), strict=True)
            if q.name.startswith("marginal")
        ]
        rows.append(
            {
                "dataset": d.name,
                "family": d.family,
                "cells": d.table.size,
                "records": int(d.table.sum()),
                "empty": d.empty_cells,
                "share": d.empty_cells / d.table.size,
                "small": int((full < 10).sum()),
                "largest": float(d.table.max() / d.table.sum()),
                "empty_rows": empty_sums[0] if empty_sums else 0,
                "empty_columns": empty_sums[1] if empty_sums else 0,
            }
        )
    return pd.DataFrame(rows)


def percentile_of(noise: Noise, count: int, size: float) -> float:
    """Return where a size lies in the distribution of the largest of several noises, in percent.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> round(percentile_of(Laplace(4.0), 100, 16.0), 1)
    39.9
    """
    from ..model.noise import max_exceeds

    return 100 * (1 - float(max_exceeds(noise, count, size)))
