"""The price of microdata on one table: expected errors over those of signed answers, simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..base.numbers import check_whole
from ..errors.known import ols_variances
from ..fitting import CONTROL, METHODS, check_methods, microdata_methods
from ..grid.blocks import BlockResult, block_size, fit_block
from ..grid.tables import combine, pair_rows, sharpest, squared_parts
from ..model.benchmark import DataSet
from ..model.measurement import noise_for
from ..model.privacy import ConcentratedDP, PureDP
from ..model.workload import Workload
from ..tables.schemas import Schema
from ..tables.workloads import split_shares
from .margins import Margins, known_error, query_labels

Array = NDArray[np.float64]

WORST = 10
"""How many queries of each method are named as the worst."""
_READ = (
    *("method", "query_set", "truth", "bias", "variance", "mean_squared_error", "standard_error"),
    *("estimate_cv", "se_cv", "exact", "runs"),
)
_EVENTS = 30  # fewer runs in which a method differs from signed answers say little of the rest


@dataclass(frozen=True, eq=False)
class Price:
    """Expected errors of every method on one table, over those of signed answers (OLS).

    Everything in it depends on the true table and is as confidential as the table. A standard
    error is 0 where a value is known exactly and only there, NaN where it is not known.

    Parameters
    ----------
    guarantee, runs
        The privacy level, and how many simulated runs the estimates rest on.
    totals
        One row a method, query set and metric (``total`` of the set, or ``max``: its worst query,
        a maximum of estimates, so above the truth on average), in squared counts; ``ols`` is exact,
        ``price`` the ratio of root errors; ``squared_bias`` and ``variance`` add up to the error.
    queries
        The same of every query, with its name, ``truth`` and ``bias`` in counts.
    always
        The total and the marginal of each column and group, ``asked`` or not: ``root_error`` of one
        query in counts (root of the mean over the set), and the largest ``bias``, with its query.
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
        """Return each method's queries with the highest price, by name."""
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
    on the true table, every method is fitted to the same noise, and errors are compared with those
    of signed answers, which are exact and sharpen the other estimates as control variates.

    Parameters
    ----------
    table, schema
        The true counts, shaped as the schema.
    workload
        The queries, highest priority first, from `parse_workload`.
    guarantee
        The privacy level of the whole workload.
    methods
        Which methods; OLS is always among them.
    runs, seed, progress
        Of the simulation: 2 runs or more; called with the number of runs of each finished block.
    shares
        Shares of the budget by query sets' names (see `split_shares`). To choose them by what this
        says of the true table is not covered by a release's guarantee.

    Raises
    ------
    InputError
        A table that is none, a query set that its name does not describe, an unknown method, too
        few runs, or a workload too large for exact errors.

    Examples
    --------
    >>> schema = Schema(("sex",), (("f", "m"),))
    >>> made = price_table([40, 2], schema, Workload.table(2), PureDP(0.5), ["nnls"], runs=10)
    >>> made.totals["method"].unique().tolist()
    ['ols', 'nnls']
    """
    chosen = check_methods([CONTROL, *methods])
    runs, seed = check_whole(runs, "runs", 2), check_whole(seed, "the seed", 0)
    data = DataSet("the table", "own", np.asarray(table), workload)
    names = np.concatenate([query_labels(schema, q) for q in workload.query_sets])
    split = split_shares(workload, shares) if shares else None
    noise = [n.variance for n in noise_for(workload, guarantee, split)]
    exact = ols_variances(workload, noise)  # first, as a workload may be too large for it
    margins = Margins(data.table, schema, workload)
    summed: list[BlockResult] = []
    size = block_size(workload)
    for block, start in enumerate(range(0, runs, size)):
        rng, count = np.random.default_rng([seed, block]), min(size, runs - start)
        task = (data, guarantee, chosen, rng, count, data.name, start, size)
        here = fit_block(*task, watch=margins.see, split=split)
        summed = [combine([*summed, here])]  # at once: those of a large table fill the memory
        if progress is not None:
            progress(count)
    rows = pair_rows(data, guarantee, chosen, summed.pop(), split)
    frames, parts = [], []
    while rows.queries:  # one method at a time, without columns that are not read
        piece = pd.DataFrame(rows.queries.pop(0), columns=list(_READ))
        parts.append(squared_parts(piece, ["method", "query_set"]))
        frames.append(_queries(piece, names, np.concatenate(exact)))
    queries = pd.concat(frames, ignore_index=True)
    frames.clear()
    totals = _totals(pd.DataFrame(rows.errors), pd.concat(parts), workload, exact, margins)
    always = margins.table(totals, noise)
    # A query that is a set of its own has the set's error, so that nothing has two values.
    same = ["squared_error", "standard_error", "price", "price_error"]
    known = totals[totals["metric"] == "total"].set_index(["method", "query_set"])[same]
    single = queries["query_set"].isin([q.name for q in workload.query_sets if q.size == 1])
    for row in np.flatnonzero(single):
        queries.loc[row, same] = known.loc[tuple(queries.loc[row, ["method", "query_set"]])]
    queries["variance"] = np.maximum(queries["squared_error"] - queries["bias"] ** 2, 0.0)
    return Price(guarantee, runs, totals, queries, always, split)


def _totals(
    errors: pd.DataFrame,
    parts: pd.DataFrame,
    workload: Workload,
    exact: tuple[Array, ...],
    margins: Margins,
) -> pd.DataFrame:
    sums = {name: v.sum() for name, v in zip(workload.names, exact, strict=True)}
    most = {name: v.max() for name, v in zip(workload.names, exact, strict=True)}
    total = errors["metric"] == "total"
    ols = np.where(total, errors["query_set"].map(sums), errors["query_set"].map(most))
    single = errors["query_set"].isin([q.name for q in workload.query_sets if q.size == 1])
    pairs = zip(errors["method"], errors["query_set"], strict=True)
    events = np.array([margins.events[pair] for pair in pairs])
    value, error = sharpest(errors.assign(metric=np.where(total | single, "total", "max")))
    # The control tells nothing of what the runs did not show: then the plain mean's error holds.
    plain = sharpest(errors.assign(metric="max"))[1]
    error = np.where(events < _EVENTS, np.fmax(error, plain), error)
    error = known_error(error, np.isfinite(errors["exact"]))
    keys = ["method", "query_set", "metric"]
    totals = errors[keys].assign(**_priced(value, error, ols))
    parts = parts.reset_index().assign(metric="total")
    parts.loc[parts["method"] == CONTROL, "squared_bias"] = 0.0
    totals = totals.merge(parts.drop(columns="variance"), on=keys, how="left")
    totals["squared_bias"] = totals[["squared_bias", "squared_error"]].min(axis=1, skipna=False)
    return totals.assign(variance=totals["squared_error"] - totals["squared_bias"])


def _queries(queries: pd.DataFrame, names: NDArray[np.object_], ols: Array) -> pd.DataFrame:
    value, error = sharpest(queries.assign(value=queries["mean_squared_error"], metric="max"))
    error = known_error(error, np.isfinite(queries["exact"]))
    signed = (queries["method"] == CONTROL).to_numpy()
    spread = np.sqrt(queries["variance"] / (queries["runs"] - 1))
    return queries[["method", "query_set"]].assign(
        query=names,
        truth=queries["truth"],
        bias=np.where(signed, 0.0, queries["bias"]),
        bias_error=known_error(np.where(signed, 0.0, spread), signed),
        variance=np.nan,
        **_priced(value, error, ols),
    )


def _priced(value: Array, error: Array, ols: Array) -> dict[str, Array]:
    price = np.sqrt(value / ols)
    off = error / (2 * ols * np.where(price > 0, price, np.nan))  # of a root, to first order
    told = {"squared_error": value, "standard_error": error, "ols": ols}
    return told | {"price": price, "price_error": off}
