"""The comparison with the paper's Tables 1 and 2 as plain text."""

from __future__ import annotations

import pandas as pd

from .fitting import METHODS
from .scorecard import LIMIT, Check

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
        table = cells.pivot(index="dataset", columns="method", values="text")[list(METHODS)]
        exact = rows[rows["method"] == "ols"].set_index("dataset")["exact"]
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
