"""From sums of errors to the two tidy tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors.estimates import (
    Estimate,
    QueryErrors,
    largest,
    largest_split,
    query_errors,
    total_errors,
)
from ..errors.known import known_errors, ols_variances
from ..exceptions import InputError
from ..fitting import CONTROL
from ..model.benchmark import DataSet
from ..model.measurement import truth_and_noise
from ..model.privacy import ConcentratedDP, PureDP
from .blocks import BlockResult

Array = NDArray[np.float64]
# Of one data set at one level: rows of the error table, and columns of the other.
PairRows = tuple[list[dict[str, Any]], list[dict[str, Any]]]

KEYS = ("dataset", "family", "privacy", "level", "method", "query_set")
_CV, _SPLIT = ("estimate_cv", "se_cv"), ("max_split", "se_split")
_NUMBERS = ("value", "standard_error", *_CV, *_SPLIT, "exact")
ERROR_COLUMNS = (*KEYS, "metric", *_NUMBERS, "runs", "failures", "worst_certificate", "conic_calls")
_MOMENTS = ("bias", "variance", "mean_squared_error", "standard_error")
QUERY_COLUMNS = (*KEYS, "query", "truth", *_MOMENTS, *_CV, "exact", "runs")


class Tables(NamedTuple):
    """The tidy tables of expected errors (``errors``) and of every query (``queries``)."""

    errors: pd.DataFrame
    queries: pd.DataFrame


def combine(blocks: list[BlockResult]) -> BlockResult:
    """Add up the blocks of one pair, in their order."""
    first, *rest = blocks
    sums, worst, conic = dict(first.sums), dict(first.certificates), dict(first.conic)
    for block in rest:
        for method, more in block.sums.items():
            sums[method] = sums[method] + more
            worst[method] = max(worst[method], block.certificates[method])
            conic[method] += block.conic[method]
    return BlockResult(sums, worst, conic)


def _metrics(
    sizes: list[int],
    names: Sequence[str],
    found: QueryErrors,
    totals: Sequence[Estimate],
    exact: Array,
) -> list[dict[str, Any]]:
    """One entry a query set and metric; the sum query has its total only."""
    rows: list[dict[str, Any]] = []
    ends = np.cumsum(sizes)
    unknown = Estimate(np.array(np.nan), np.array(np.nan))
    for k, (size, name) in enumerate(zip(sizes, names, strict=True)):
        own = slice(int(ends[k]) - size, int(ends[k]))
        metrics = {"total": ([*(t.at(k) for t in totals), unknown], exact[own].sum())}
        if name != "sum":
            most = [largest(e.at(own)) for e in (found.plain, found.controlled)]
            split = largest_split(found.halves.at((slice(None), own)))
            metrics["max"] = ([*most, split], exact[own].max())
        for metric, (estimates, known) in metrics.items():
            numbers = [float(number) for e in estimates for number in (e.value, e.error)]
            told = dict(zip(_NUMBERS, [*numbers, float(known)], strict=True))
            rows.append({"query_set": name, "metric": metric, **told})
    return rows


def pair_rows(
    data: DataSet,
    guarantee: PureDP | ConcentratedDP,
    methods: tuple[str, ...],
    result: BlockResult,
    split: Sequence[float] | None = None,
) -> PairRows:
    """Turn the sums of one data set at one level into rows."""
    workload = data.workload
    sizes = [q.size for q in workload.query_sets]
    truth, noise = truth_and_noise(data.table, workload, guarantee, split)
    try:
        exact_control = np.concatenate(ols_variances(workload, [n.variance for n in noise]))
    except InputError:  # too large to be known; the control variates are then left out
        exact_control = np.full(sum(sizes), np.nan)
    exact_totals = np.array([p.sum() for p in np.split(exact_control, np.cumsum(sizes)[:-1])])
    control = result.sums[CONTROL]
    rows: PairRows = [], []
    for method in methods:
        sums = result.sums[method]
        found = query_errors(sums, control, exact_control)
        totals = total_errors(sums, control, exact_totals)
        exact = exact_control
        if method != CONTROL:
            exact = np.concatenate(known_errors(method, workload, noise, truth))
        place = (data.name, data.family, guarantee.kind, guarantee.level, method)
        keys = dict(zip(KEYS, place, strict=False)) | {"runs": int(sums.runs.sum())}
        # A fit that fails its certificate stops the grid, so none that failed is ever averaged.
        worst, conic = result.certificates[method], result.conic[method]
        verdict = {"failures": 0, "worst_certificate": worst, "conic_calls": conic}
        metrics = _metrics(sizes, workload.names, found, totals, exact)
        rows[0].extend({**keys, **row, **verdict} for row in metrics)
        queries = {
            "query_set": np.repeat(workload.names, sizes),
            "query": np.concatenate([np.arange(n) for n in sizes]),
            "truth": np.concatenate(truth),
            "bias": found.bias,
            "variance": found.variance,
            "mean_squared_error": found.plain.value,
            "standard_error": found.plain.error,
            "estimate_cv": found.controlled.value,
            "se_cv": found.controlled.error,
            "exact": exact,
        }
        rows[1].append(keys | queries)
    return rows


def conic_calls(errors: pd.DataFrame) -> int:
    """Return how often the conic solver was asked for all fits of an error table."""
    return int(errors.drop_duplicates([*KEYS[:-1]])["conic_calls"].sum())


def tables_of(parts: list[PairRows]) -> Tables:
    """Put the rows of one or several pairs into the two tables."""
    errors = pd.DataFrame([row for part in parts for row in part[0]])
    pieces = [piece for part in parts for piece in part[1]]
    sizes = [len(piece["query"]) for piece in pieces]
    columns = {}
    for name in QUERY_COLUMNS:
        values = [piece[name] for piece in pieces]
        whole = isinstance(values[0], np.ndarray)
        columns[name] = np.concatenate(values) if whole else np.repeat(values, sizes)
    return Tables(errors[list(ERROR_COLUMNS)], pd.DataFrame(columns))


def squared_parts(queries: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Split total errors into squared bias and variance, the former without its own noise.

    The square of an estimated bias is too large by the variance of the estimate, which is taken
    off; both parts are sums over the queries of a group.

    Examples
    --------
    >>> queries = pd.DataFrame({"m": ["a"], "bias": [3.0], "variance": [4.0], "runs": [5]})
    >>> squared_parts(queries, ["m"]).to_numpy().tolist()
    [[8.0, 5.0]]
    """
    runs = queries["runs"]
    spread = queries["variance"] * runs / (runs - 1)
    parts = pd.DataFrame({"squared_bias": queries["bias"] ** 2 - spread / runs, "variance": spread})
    found = parts.groupby([queries[k] for k in keys], sort=False).sum()
    return found.assign(squared_bias=found["squared_bias"].clip(lower=0))


def sharpest(errors: pd.DataFrame) -> tuple[Array, Array]:
    """Return the best that is known of each expected error, with its standard error.

    What is known exactly is not estimated and has the standard error 0. Totals are estimated with
    OLS as control variate; where that is of no use (few runs), the plain mean remains, and it is
    what a maximum is made of.

    Examples
    --------
    >>> rows = {"exact": [2.0], "value": [2.5], "standard_error": [0.4], "estimate_cv": [2.1]}
    >>> errors = pd.DataFrame(rows | {"se_cv": [0.1], "metric": ["total"]})
    >>> [a.tolist() for a in sharpest(errors)]
    [[2.0], [0.0]]
    """
    known = np.isfinite(errors["exact"].to_numpy())
    sharp = np.isfinite(errors["se_cv"].to_numpy()) & (errors["metric"] == "total").to_numpy()
    sharp &= (errors["estimate_cv"] >= 0).to_numpy()  # few runs can leave one below 0
    value = np.where(sharp, errors["estimate_cv"], errors["value"])
    error = np.where(sharp, errors["se_cv"], errors["standard_error"])
    return np.where(known, errors["exact"], value), np.where(known, 0.0, error)
