"""The page of complete results: its index, its tables, what each experiment says."""

from __future__ import annotations

import pandas as pd

from ..base.numbers import format_number
from ..fitting import METHODS, microdata_methods
from ..model.benchmark import FAMILIES
from ..page.prose import table_markdown
from .experiments import (
    BEYOND,
    QUERY_NAMES,
    Experiment,
    exact_sentence,
    experiments,
    result_table,
)

METRICS = {"total": "total over the set", "max": "the worst query"}
_TOO_HIGH = "[Why a maximum is too high](max_bias.ipynb)."

COLUMNS = (
    "dataset",
    "family",
    "privacy",
    "level",
    "method",
    "query_set",
    "metric",
    "value",
    "standard_error",
    "exact",
    "ols",
    "estimate_cv",
    "se_cv",
    "max_split",
    "se_split",
    "runs",
)
"""Columns of the file for readers; ``exact`` and ``ols`` are computed without simulation."""


def tidy_csv(found: pd.DataFrame) -> str:
    """Write a grid's priced errors as text with six digits, a row a value.

    Examples
    --------
    >>> row = dict.fromkeys(COLUMNS, 1 / 3)
    >>> tidy_csv(pd.DataFrame([row])).splitlines()[1][:9]
    '0.333333,'
    """
    return found[list(COLUMNS)].to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _label(experiment: Experiment, query_set: str = "", metric: str = "") -> str:
    return "-".join(filter(None, ["results", experiment.slug, query_set, metric]))


def query_sets(rows: pd.DataFrame) -> list[str]:
    """List the query sets of an experiment in their order."""
    return [name for name in QUERY_NAMES if rows["query_set"].eq(name).any()]


def index(errors: pd.DataFrame) -> str:
    """Write the table of links to every experiment and every query set of it.

    Examples
    --------
    >>> row = {"privacy": "pure", "level": 1.0, "family": "1d", "query_set": "sum"}
    >>> print(index(pd.DataFrame([row])).splitlines()[-1])
    | {ref}`1. ε = 1 <results-pure-1-1d>` | {ref}`sum <results-pure-1-1d-sum-total>` | – | – | – |
    """
    lines = []
    last = ""
    for number, experiment in enumerate(experiments(errors), 1):
        family = FAMILIES[experiment.family].title
        if family != last:
            lines += ["", f"**{family}**, {experiment.guarantee.name}:", ""]
            lines += ["| experiment | sum | rows | columns | cells |"]
            lines += ["| :--- | :--- | :--- | :--- | :--- |"]
            last = family
        there = query_sets(experiment.rows(errors))
        links = [
            f"{{ref}}`{word} <{_label(experiment, name, 'total')}>`" if name in there else "–"
            for name, word in QUERY_NAMES.items()
        ]
        level = experiment.guarantee.plain
        own = f"{{ref}}`{number}. {level} <{_label(experiment)}>`"
        lines.append(f"| {own} | {' | '.join(links)} |")
    return "\n".join(lines).strip()


def heading(experiment: Experiment, number: int) -> str:
    """Write the heading of one experiment, with its label.

    Examples
    --------
    >>> print(heading(Experiment("zcdp", 0.5, "1d"), 10).splitlines()[0])
    (results-zcdp-0p5-1d)=
    """
    family = FAMILIES[experiment.family].title
    return f"({_label(experiment)})=\n### {number}. {family}, {experiment.guarantee.math}"


def tables(experiment: Experiment, rows: pd.DataFrame) -> str:
    """Write an experiment's tables, folded, one fold a query set.

    Parameters
    ----------
    experiment
        Which.
    rows
        Its rows of `experiments.priced`.
    """
    folds = []
    for query_set in query_sets(rows):
        parts = []
        for metric, words in METRICS.items():
            if not (rows["query_set"].eq(query_set) & rows["metric"].eq(metric)).any():
                continue
            what = "Sum query" if query_set == "sum" else f"{QUERY_NAMES[query_set]}, {words}"
            caption = (
                f"{what[0].upper()}{what[1:]}: expected squared error ± standard error, "
                f"{FAMILIES[experiment.family].title.lower()}, {experiment.guarantee.math}. "
                f"{exact_sentence(rows, query_set, metric)} {_TOO_HIGH if metric == 'max' else ''}"
            ).strip()
            frame = result_table(rows, query_set, metric)
            parts.append(
                f"::::{{table}} {caption}\n:name: {_label(experiment, query_set, metric)}\n\n"
                f"{table_markdown(frame)}\n::::"
            )
        folds.append(
            f":::::{{dropdown}} Table{'s' if len(parts) > 1 else ''} of the "
            f"{QUERY_NAMES[query_set]}\n" + "\n\n".join(parts) + "\n:::::"
        )
    return "\n\n".join(folds)


def glance(rows: pd.DataFrame) -> str:
    """Say in a sentence or two what an experiment shows.

    Parameters
    ----------
    rows
        Its rows of `experiments.priced`.
    """
    micro = rows[rows["method"].isin(microdata_methods())]
    said = []
    for name, where in (("sum", "on the sum:"), ("identity", "on the worst cell:")):
        metric = "total" if name == "sum" else "max"
        own = micro[micro["query_set"].eq(name) & micro["metric"].eq(metric)]
        counts = own.groupby("method", sort=False)["beyond"].sum()
        count = own["dataset"].nunique()
        told = [f"{METHODS[str(m)].label} ({n} of {count})" for m, n in counts.items() if n]
        said.append(f"{where} {', '.join(told)}" if told else f"{where} no method")
    dear = micro[micro["query_set"].eq("sum")].sort_values("price").iloc[-1]
    return (
        f"Beyond {BEYOND:g} times OLS {said[0]}; {said[1]}. The largest price of the sum is "
        f"{dear['price']:.1f}: {METHODS[dear['method']].label} on {dear['dataset']}."
    )


def standing(found: pd.DataFrame) -> pd.DataFrame:
    """Count, for each method and kind of value, how often it is best and how often beyond.

    Parameters
    ----------
    found
        From `experiments.priced`.

    Returns
    -------
    DataFrame
        One row a method that makes microdata and kind of value, with ``pairs``, ``best``,
        ``beyond``, and the median ``price``.
    """
    micro = found[found["method"].isin(microdata_methods())]
    grouped = micro.groupby(["query_set", "metric", "method"], sort=False)
    table = grouped.agg(
        pairs=("best", "size"),
        best=("best", "sum"),
        beyond=("beyond", "sum"),
        price=("price", "median"),
    )
    return table.reset_index()


def standing_table(counts: pd.DataFrame) -> pd.DataFrame:
    """Lay `standing` out for readers: a row a kind of value, a column a method.

    Parameters
    ----------
    counts
        From `standing`.

    Returns
    -------
    DataFrame
        Texts such as ``"2.5 (14, ▲ 105)"``: the median price, how often it is the smallest, how
        often beyond.

    Examples
    --------
    >>> counts = pd.DataFrame({"query_set": ["sum"], "metric": ["total"], "method": ["nnls"],
    ...     "pairs": [6], "best": [1], "beyond": [4], "price": [2.531]})
    >>> standing_table(counts).to_dict("records")
    [{'value': 'sum', 'pairs': 6, 'NNLS': '2.53 (1, ▲ 4)'}]
    """
    rows = []
    for query_set, name in QUERY_NAMES.items():
        for metric in METRICS:
            own = counts[counts["query_set"].eq(query_set) & counts["metric"].eq(metric)]
            if own.empty:
                continue
            kind = {"total": "total", "max": "worst"}[metric]
            texts = {
                METHODS[str(method)].label: (
                    f"{format_number(float(price))} ({best}, {'▲ ' if beyond else ''}{beyond})"
                )
                for method, price, best, beyond in zip(
                    own["method"], own["price"], own["best"], own["beyond"], strict=True
                )
            }
            value = name if query_set == "sum" else f"{name}, {kind}"
            rows.append({"value": value, "pairs": int(own["pairs"].iloc[0]), **texts})
    return pd.DataFrame(rows)
