"""Our values beside the 240 that the paper's Tables 1 and 2 print."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..base.data import data_path
from ..exceptions import InputError
from ..fitting import CONTROL, paper_methods
from ..grid.spec import PAPER_RUNS, SEED, GridSpec

EPSILON = 0.5
"""The privacy level of the paper's Tables 1 and 2 (pure differential privacy)."""

LIMIT = 4.0
"""A z score of this size or more is called a mismatch."""

REPRODUCIBLE = ("ols", "nnls", "reweighted")
"""Methods of which the authors lost no run, so that their averages are of all runs."""

_KEYS = ["dataset", "method", "query_set", "metric"]


@functools.cache
def _published() -> pd.DataFrame:
    return pd.read_csv(data_path("published_tables.csv"))


def published_tables() -> pd.DataFrame:
    """Return the printed values of the paper's Tables 1 and 2.

    Returns
    -------
    DataFrame
        Columns paper_table, dataset, method, query_set, metric, squared_error.

    Examples
    --------
    >>> published_tables().shape
    (240, 6)
    """
    return _published().copy()


def published_spec(runs: int = PAPER_RUNS, seed: int = SEED) -> GridSpec:
    """Return the part of the grid that the paper's Tables 1 and 2 show.

    Parameters
    ----------
    runs, seed
        As for `GridSpec`.

    Examples
    --------
    >>> published_spec(runs=10).fits
    800
    """
    datasets = list(dict.fromkeys(_published()["dataset"]))
    return GridSpec.choose(
        datasets=datasets, epsilon=[EPSILON], methods=paper_methods(), runs=runs, seed=seed
    )


def scorecard(errors: pd.DataFrame) -> pd.DataFrame:
    """Put our values beside the published ones.

    The paper's tables print no standard errors; theirs are taken equal to ours, since they are
    averages of as many runs. So ``z = (published - value) / (sqrt(2) standard_error)``. The OLS
    values of all fifteen real tables are one: the authors' runs share their noise, so the z scores
    must not be combined into one test.

    Parameters
    ----------
    errors
        A grid's errors; see `grid.load_errors`. Other levels and data sets are left out.

    Returns
    -------
    DataFrame
        One row for each published value: paper_table, dataset, method, query_set, metric,
        published, value, standard_error, z, estimate_cv, se_cv, max_split, se_split, exact, runs,
        failures, worst_certificate.

    Raises
    ------
    InputError
        Values are missing; the message says which and how to compute them.

    Examples
    --------
    >>> scorecard(pd.DataFrame(columns=[*_KEYS, "privacy", "level"]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    microdata_price.exceptions.InputError: 240 of the 240 published values are missing ...
    """
    published = _published().rename(columns={"squared_error": "published"})
    ours = errors[(errors["privacy"] == "pure") & (errors["level"] == EPSILON)]
    joined = published.merge(ours, on=_KEYS, how="left", validate="one_to_one", indicator="side")
    missing = joined[joined["side"] != "both"]
    if len(missing):
        first = missing.iloc[0]
        raise InputError(
            f"{len(missing)} of the 240 published values are missing among these errors, the first "
            f"is {first['dataset']}, {first['method']}, {first['query_set']}; compute them with: "
            "microdata-price check-tables"
        )
    spread = np.sqrt(2) * joined["standard_error"]
    joined["z"] = (joined["published"] - joined["value"]) / spread
    columns = [
        "paper_table",
        *_KEYS,
        "published",
        "value",
        "standard_error",
        "z",
        "estimate_cv",
        "se_cv",
        "max_split",
        "se_split",
        "exact",
        "runs",
        "failures",
        "worst_certificate",
    ]
    return joined[columns]


@dataclass(frozen=True)
class Check:
    """One thing that the comparison must show.

    Parameters
    ----------
    passed
        Whether it does.
    account
        What was found, in one sentence with its numbers.
    """

    passed: bool
    account: str


def checks(card: pd.DataFrame) -> tuple[Check, ...]:
    """Say what the comparison shows, as `make check-tables` requires.

    Totals of OLS, NNLS and reweighted fitting must agree with the published ones within 4 standard
    errors of the difference; OLS must agree with its exact values and sequential fitting's sum with
    its own, 128 up to a negligible term, within 4 of its standard errors in every row; no run may
    have failed.

    Parameters
    ----------
    card
        From `scorecard`.

    Returns
    -------
    tuple of Check
    """
    totals = card[card["method"].isin(REPRODUCIBLE) & (card["metric"] == "total")]
    return (
        _within(totals, totals["z"], "totals of OLS, NNLS and reweighted against the published"),
        _known(card, "ols", "total", "OLS against its exact values"),
        _known(card, "sequential", "sum", "sequential fitting's sum against its exact value"),
        Check(
            int(card["failures"].sum()) == 0,
            f"{failures(int(card['failures'].sum()))}; the worst certificate is "
            f"{card['worst_certificate'].max():.1e}",
        ),
    )


def failures(count: int) -> str:
    """Say how many runs failed.

    Examples
    --------
    >>> [failures(n) for n in (0, 1, 2)]
    ['no run failed', '1 run failed', '2 runs failed']
    """
    return f"{count or 'no'} run{'s' if count > 1 else ''} failed"


def _known(card: pd.DataFrame, method: str, which: str, what: str) -> Check:
    column = "query_set" if which == "sum" else "metric"
    rows = card[(card["method"] == method) & (card[column] == which)]
    return _within(rows, (rows["value"] - rows["exact"]) / rows["standard_error"], what)


def _within(rows: pd.DataFrame, z: pd.Series, what: str) -> Check:
    sizes = z.abs()
    far = rows[~(sizes < LIMIT)]
    worst = rows.iloc[int(np.nan_to_num(sizes, nan=-1.0).argmax())]
    place = f"{worst['dataset']}, {worst['method']}, {worst['query_set']} {worst['metric']}"
    text = f"{what}: {len(rows)} values, largest |z| {sizes.max():.2f} ({place}), limit {LIMIT:g}"
    if len(far):
        named = "; ".join(
            f"{r.dataset}, {r.method}, {r.query_set}: {r.value:.1f} ± {r.standard_error:.1f}, "
            f"published {r.published:.1f}"
            for r in far.head(5).itertuples()
        )
        text += f"; {len(far)} are beyond it: {named}"
    return Check(not len(far), text)


_TITLES = {
    ("sum", "total"): "Table 1, sum query",
    ("identity", "total"): "Table 2, cells, total",
    ("identity", "max"): "Table 2, cells, largest",
}


def render_tables(card: pd.DataFrame) -> str:
    """Write our values, with standard errors, beside the published ones and their z scores.

    Parameters
    ----------
    card
        From `scorecard.scorecard`.

    Returns
    -------
    str
        Three tables, one row a data set.
    """
    parts = []
    for (query_set, metric), title in _TITLES.items():
        rows = card[(card["query_set"] == query_set) & (card["metric"] == metric)]
        cells = rows.assign(
            text=[
                f"{r.value:.1f} ± {r.standard_error:.1f} | {r.published:.1f} | {r.z:+.1f}"
                for r in rows.itertuples()
            ]
        )
        table = cells.pivot(index="dataset", columns="method", values="text")[paper_methods()]
        exact = rows[rows["method"] == CONTROL].set_index("dataset")["exact"]
        table.insert(1, "ols exact", exact.map("{:.3f}".format))
        table.columns.name = table.index.name = None
        parts.append(f"{title}: ours ± standard error | published | z\n{table.to_string()}")
    return "\n\n".join(parts)


def render_checks(found: tuple[Check, ...]) -> str:
    """Write one line a check.

    Examples
    --------
    >>> render_checks((Check(True, "all is well"),))
    'ok    all is well'
    """
    return "\n".join(f"{'ok  ' if c.passed else 'FAIL'}  {c.account}" for c in found)


def render_mismatches(card: pd.DataFrame) -> str:
    """Say which published values lie beyond the limit, by method and column, and why they may.

    Parameters
    ----------
    card
        From `scorecard.scorecard`.
    """
    lines = [f"Published values {LIMIT:g} or more standard errors of the difference from ours:"]
    groups = card.assign(far=~(card["z"].abs() < LIMIT)).groupby(
        ["query_set", "metric", "method"], sort=False
    )
    for (query_set, metric, method), rows in groups:
        if rows["far"].any():
            where = ", ".join(rows.loc[rows["far"], "dataset"])
            lines.append(f"  {method}, {query_set} {metric}: {rows['far'].sum()} of 16 ({where})")
    if len(lines) == 1:
        lines.append("  none")
    sums = card[(card["method"] == "sequential") & (card["query_set"] == "sum")]
    lines.append(
        f"The published sums of sequential fitting run from {sums['published'].min():.1f} to "
        f"{sums['published'].max():.1f}; exactly, every one is {sums['exact'].min():.3f}. The "
        "authors averaged the runs in which their solver succeeded."
    )
    return "\n".join(lines)
