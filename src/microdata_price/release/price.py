"""What requiring microdata costs on one table: expected errors over those of signed answers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..base.numbers import check_whole
from ..errors.known import ols_variances
from ..exceptions import InputError
from ..fitting import CONTROL, METHODS, check_methods, microdata_methods
from ..grid.blocks import block_size, fit_block
from ..grid.tables import combine, pair_rows, sharpest, squared_parts, tables_of
from ..model.benchmark import DataSet
from ..model.measurement import noise_for
from ..model.privacy import ConcentratedDP, PureDP
from ..model.workload import Workload
from ..tables.schema import Schema
from .margins import Margins, query_label
from .mechanism import split_shares

Array = NDArray[np.float64]

WORST = 10
"""How many queries of each method are named as the worst."""

_PROBING = 2.0
"""Seconds after which no larger batch is timed beforehand."""
_SLOW = 10.0
"""From so many seconds on a run is not timed once more."""


@dataclass(frozen=True, eq=False)
class Price:
    """Expected errors of every method on one table, over OLS's.

    Everything in it depends on the true table and is as confidential as the table.

    Parameters
    ----------
    guarantee
        The privacy level.
    runs
        How many simulated runs the estimates rest on.
    totals
        One row a method, query set and metric (``total`` of the set, or ``max``: its worst query):
        ``squared_error`` in squared counts with its ``standard_error`` (0 where it is known
        exactly), ``ols`` (exact), ``price`` (their ratio) and ``price_error``, and for totals the
        parts ``squared_bias`` and ``variance``, which add up to it. A ``max`` is the largest of
        estimates, so it lies above the truth on average.
    always
        The total and each single column's marginal, whether they were asked or not, one row a
        method and query set: ``asked``, ``root_error`` of one query in counts (root of the mean
        over its queries) with its ``standard_error`` (as in ``totals`` for what was asked), and the
        largest ``bias`` of a query, signed, with its standard error ``bias_error`` and ``query``,
        its name. Signed answers that what was asked settles are exact: bias and both standard
        errors are 0.
    queries
        One row a method and query: its name, ``truth``, ``bias`` with ``bias_error``, ``variance``,
        ``squared_error``, ``standard_error``, ``ols``, ``price``, ``price_error``. A query that is
        a set of its own has the set's error.
    split
        Each query set's share of the budget; ``None`` where all answers have the same noise.
    """

    guarantee: PureDP | ConcentratedDP
    runs: int
    totals: pd.DataFrame
    queries: pd.DataFrame
    always: pd.DataFrame
    split: tuple[float, ...] | None = None

    def worst(self, count: int = WORST) -> pd.DataFrame:
        """Return each method's queries with the highest price, by name.

        Signed answers are left out: their errors are the same for all queries of a set.
        """
        dear = self.queries[self.queries["method"].isin(microdata_methods())]
        ranked = dear.sort_values(["method", "price"], ascending=[True, False], kind="stable")
        return ranked.groupby("method", sort=False).head(count).reset_index(drop=True)


def price_table(
    table: ArrayLike,
    schema: Schema,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    methods: Iterable[str] = METHODS,
    *,
    runs: int = 1000,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
    shares: Mapping[str, float] | None = None,
) -> Price:
    """Estimate what each method's microdata cost on a table: simulated, never a release.

    The paper's mechanisms (Laplace or Gaussian noise on every answer of the workload) are simulated
    on the true table, every method is fitted to the same noise, and errors are compared with OLS's,
    which are exact. OLS's errors also sharpen the other estimates, as control variates.

    Parameters
    ----------
    table
        The true counts, shaped as the schema.
    schema
        Columns and values, for names.
    workload
        The queries, highest priority first.
    guarantee
        The privacy level of the whole workload.
    methods
        Which methods; OLS is always among them.
    runs
        How many simulated runs, 2 or more.
    seed
        Of the simulation.
    progress
        Called with the number of runs of each finished block.
    shares
        Shares of the budget by query sets' names (see `split_shares`). To choose them by what this
        says of the true table is not covered by a release's guarantee.

    Raises
    ------
    InputError
        A table that is none or is weighted, an unknown method, too few runs.
    CertificateError
        A fit that misses its certificate.

    Examples
    --------
    >>> schema = Schema(("sex",), (("f", "m"),))
    >>> made = price_table([40, 2], schema, Workload.table(2), PureDP(0.5), ["nnls"], runs=10)
    >>> made.totals["method"].unique().tolist()
    ['ols', 'nnls']
    """
    chosen = check_methods([CONTROL, *methods])
    if schema.weighted:
        raise InputError(
            "the table is weighted: one person can change it by more than one; a table that counts "
            "records is needed"
        )
    runs, seed = check_whole(runs, "runs", 2), check_whole(seed, "the seed", 0)
    data = DataSet("the table", "own", np.asarray(table), workload)
    size = block_size(workload)
    split = split_shares(workload, shares) if shares else None
    margins = Margins(data.table, schema, workload)
    blocks = []
    for block, start in enumerate(range(0, runs, size)):
        rng = np.random.default_rng([seed, block])
        count = min(size, runs - start)
        blocks.append(
            fit_block(
                data,
                guarantee,
                chosen,
                rng,
                count,
                data.name,
                start,
                size,
                watch=margins.see,
                split=split,
            )
        )
        if progress is not None:
            progress(count)
    found = tables_of([pair_rows(data, guarantee, chosen, combine(blocks), split)])
    noise = [n.variance for n in noise_for(workload, guarantee, split)]
    exact = ols_variances(workload, noise)
    totals, named = _priced(found.errors, found.queries, data, schema, exact)
    return Price(guarantee, runs, totals, named, margins.table(totals, noise), split)


def seconds_about(
    table: ArrayLike,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    methods: Iterable[str],
    runs: int,
    long: float = 0.0,
) -> float:
    """Estimate how long `price_table` takes, from small batches of its own runs, timed (ours).

    A batch costs something by itself and something for each run, and the very first also what is
    done once. So larger and larger batches are timed, for a few seconds, until one is a block.

    Parameters
    ----------
    table, workload, guarantee, methods, runs
        As for `price_table`.
    long
        Below so many seconds any number will do, and one run settles it.

    Examples
    --------
    >>> seconds_about([40, 2], Workload.table(2), PureDP(0.5), ["nnls"], 2) < 10
    True
    """
    data = DataSet("the table", "own", np.asarray(table), workload)
    chosen = check_methods(methods)

    def timed(count: int) -> float:
        start = time.monotonic()
        fit_block(data, guarantee, chosen, np.random.default_rng(0), count, data.name)
        return time.monotonic() - start

    size = min(block_size(workload), runs)
    one = spent = timed(1)
    if one * runs < long:
        return one * runs
    if spent < _SLOW:  # beside a slower run what is done once is nothing
        one = timed(1)
        spent += one
    count, last = 1, one
    while count < size and (count == 1 or spent < _PROBING):
        count = min(4 * count, size)
        last = timed(count)
        spent += last
    each = max(last - one, 0.0) / (count - 1) if count > 1 else 0.0
    return math.ceil(runs / size) * max(one - each, 0.0) + runs * each


def _priced(
    errors: pd.DataFrame,
    queries: pd.DataFrame,
    data: DataSet,
    schema: Schema,
    exact: tuple[Array, ...],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    workload = data.workload
    ols = {
        (q.name, metric): float(v.sum() if metric == "total" else v.max())
        for q, v in zip(workload.query_sets, exact, strict=True)
        for metric in ("total", "max")
    }
    base = np.array([ols[key] for key in zip(errors["query_set"], errors["metric"], strict=True)])
    # The worst of one query is that query: its total, so that nothing has two values.
    single = {q.name for q in workload.query_sets if q.size == 1}
    alone = errors["query_set"].isin(single)
    value, error = sharpest(errors.assign(metric=errors["metric"].mask(alone, "total")))
    totals = errors[["method", "query_set", "metric"]].assign(
        squared_error=value,
        standard_error=error,
        ols=base,
        price=value / base,
        price_error=error / base,
    )
    parts = squared_parts(queries, ["method", "query_set"]).reset_index().assign(metric="total")
    parts.loc[parts["method"] == CONTROL, "squared_bias"] = 0.0
    totals = totals.merge(
        parts.drop(columns="variance"), on=["method", "query_set", "metric"], how="left"
    )
    totals["squared_bias"] = totals[["squared_bias", "squared_error"]].min(axis=1, skipna=False)
    totals["variance"] = totals["squared_error"] - totals["squared_bias"]
    names = [
        query_label(schema, values)
        for q in workload.query_sets
        for values in schema.cell_values(q.axes)
    ]
    repeats = len(queries) // len(names)
    each = np.tile(np.concatenate(exact), repeats)
    kind = np.where(queries["query_set"].isin(single), "total", "max")
    value, error = sharpest(queries.assign(value=queries["mean_squared_error"], metric=kind))
    signed = queries["method"] == CONTROL
    bias = np.where(signed, 0.0, queries["bias"])
    spread = np.sqrt(queries["variance"] / (queries["runs"] - 1))
    named = queries[["method", "query_set"]].assign(
        query=names * repeats,
        truth=queries["truth"],
        bias=bias,
        bias_error=np.where(signed, 0.0, spread),
        variance=np.maximum(value - bias**2, 0.0),
        squared_error=value,
        standard_error=error,
        ols=each,
        price=value / each,
        price_error=error / each,
    )
    return totals, named
