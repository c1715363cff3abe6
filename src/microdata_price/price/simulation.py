"""The price of microdata on one table: expected errors over those of signed answers, simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..base.numbers import check_whole
from ..errors.estimates import root_ratio
from ..errors.known import ols_variances
from ..fitting import CONTROL, METHODS, check_methods, microdata_methods
from ..grid.blocks import BlockResult, block_size, fit_block
from ..grid.tables import combine, pair_rows, sharpest, squared_parts
from ..model.benchmark import DataSet
from ..model.measurement import truth_and_noise
from ..model.privacy import ConcentratedDP, PureDP
from ..model.table import check_table
from ..model.workload import Workload
from ..tables.schemas import Schema
from ..tables.workloads import query_values, split_shares
from .margins import Margins, known_error, query_labels

Array = NDArray[np.float64]

_KEYS = ["method", "query_set"]
_MOST_RUNS = 10_000_000  # which tell more digits than anybody reads
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
    always
        The total and the marginal of each column and group, ``asked`` or not: ``root_error`` of one
        query in counts (root of the mean over the set), and the largest ``bias``, with its query.
    split, schema, workload, truth, ols, found
        As asked, shares ``None`` where all noise is alike; of every query truth, error, estimates.
    """

    guarantee: PureDP | ConcentratedDP
    runs: int
    totals: pd.DataFrame
    always: pd.DataFrame
    split: tuple[float, ...] | None
    schema: Schema
    workload: Workload
    truth: Array
    ols: Array
    found: Mapping[str, Array]

    @cached_property
    def _names(self) -> tuple[NDArray[np.str_], NDArray[np.object_]]:
        """Name each query's set, and the query itself."""
        labels = [query_labels(self.schema, q) for q in self.workload.query_sets]
        return np.repeat(self.workload.names, [*map(len, labels)]), np.concatenate(labels)

    def of(self, method: str, rows: slice | NDArray[np.intp] = slice(None)) -> pd.DataFrame:
        """Return some queries of a method as `totals`, with name, ``truth`` and ``bias``."""
        bias, bias_error, value, error = self.found[method][:, rows]
        sets, names = self._names
        keys = {"method": method, "query_set": sets[rows], "query": names[rows]}
        told = {"truth": self.truth[rows], "bias": bias, "bias_error": bias_error}
        told["variance"] = np.maximum(value - bias**2, 0.0)
        return pd.DataFrame({**keys, **told, **_priced(value, error, self.ols[rows])})

    def worst(self, count: int = 10) -> pd.DataFrame:
        """Return each method's queries with the highest price, by name."""
        rows = [self.of(CONTROL, slice(0))]
        for method in sorted(microdata_methods(self.found)):
            price = np.sqrt(self.found[method][2] / self.ols)
            rows.append(self.of(method, np.argsort(-price, kind="stable")[:count]))
        return pd.concat(rows[1:] or rows, ignore_index=True)


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
        Of the simulation: 2 to 10,000,000; called with the runs of each finished block of a method.
    shares
        Shares of the budget by query sets' names (see `split_shares`). To choose them by what this
        says of the true table is not covered by a release's guarantee.

    Raises
    ------
    InputError
        A table that is none, a query set that its name does not describe, an unknown method, too
        few runs, noise lost in rounding, or a workload too large for exact errors.

    Examples
    --------
    >>> schema = Schema(("sex",), (("f", "m"),))
    >>> made = price_table([40, 2], schema, Workload.table(2), PureDP(0.5), ["nnls"], runs=10)
    >>> made.totals["method"].unique().tolist()
    ['ols', 'nnls']
    """
    chosen = check_methods([CONTROL, *methods])
    runs, seed = check_whole(runs, "runs", 2, _MOST_RUNS), check_whole(seed, "the seed", 0)
    data = DataSet("the table", "own", check_table(table), workload)
    for asked in workload.query_sets:
        query_values(schema, asked)  # a name is right or there is none
    split = split_shares(workload, shares) if shares else None
    answers, laws = truth_and_noise(data.table, workload, guarantee, split)
    noise = [law.variance for law in laws]
    exact = ols_variances(workload, noise)  # first, as a workload may be too large for it
    margins = Margins(data.table, schema, workload)
    errors, parts, found = list[dict[str, Any]](), list[pd.DataFrame](), dict[str, Array]()
    size = block_size(workload)
    # One method at a time, the last first: it takes most of the memory, while nothing else is kept.
    for method in reversed(chosen):
        summed: list[BlockResult] = []
        for block, start in enumerate(range(0, runs, size)):
            rng, count = np.random.default_rng([seed, block]), min(size, runs - start)
            task = (data, guarantee, (method,), rng, count, data.name, start, size)
            summed = [combine([*summed, fit_block(*task, partial(margins.see, method), split)])]
            if progress is not None:
                progress(count)
        rows, columns = pair_rows(data, guarantee, (method,), summed.pop(), split)
        own, part = _queries(pd.DataFrame(columns.pop()))
        errors, parts, found = [*rows, *errors], [part, *parts], {method: own, **found}
    by_set = dict(zip(workload.names, exact, strict=True))
    totals = _totals(pd.DataFrame(errors), pd.concat(parts), by_set, margins)
    # A query that is a set of its own has the set's error, so that nothing has two values.
    ends = dict(zip(workload.names, np.cumsum([v.size for v in exact]), strict=True))
    for row in totals[totals["metric"] == "total"].to_dict("records"):
        if by_set[row["query_set"]].size == 1:
            known = row["squared_error"], row["standard_error"]
            found[row["method"]][2:, ends[row["query_set"]] - 1] = known
    told = (schema, workload, np.concatenate(answers), np.concatenate(exact), found)
    return Price(guarantee, runs, totals, margins.table(totals, noise), split, *told)


def _totals(
    errors: pd.DataFrame, parts: pd.DataFrame, exact: Mapping[str, Array], margins: Margins
) -> pd.DataFrame:
    sums = {name: v.sum() for name, v in exact.items()}
    most = {name: v.max() for name, v in exact.items()}
    total = errors["metric"] == "total"
    ols = np.where(total, errors["query_set"].map(sums), errors["query_set"].map(most))
    single = errors["query_set"].isin([name for name, v in exact.items() if v.size == 1])
    events = np.array([margins.events[pair] for pair in errors[_KEYS].itertuples(index=False)])
    value, error = sharpest(errors.assign(metric=np.where(total | single, "total", "max")))
    # The control tells nothing of what the runs did not show: then the plain mean's error holds.
    plain = sharpest(errors.assign(metric="max"))[1]
    error = np.where(events < _EVENTS, np.fmax(error, plain), error)
    error = known_error(error, np.isfinite(errors["exact"]))
    keys = [*_KEYS, "metric"]
    totals = errors[keys].assign(**_priced(value, error, ols))
    parts = parts.reset_index().assign(metric="total")
    parts.loc[parts["method"] == CONTROL, "squared_bias"] = 0.0
    totals = totals.merge(parts.drop(columns="variance"), on=keys, how="left")
    totals["squared_bias"] = totals[["squared_bias", "squared_error"]].min(axis=1, skipna=False)
    return totals.assign(variance=totals["squared_error"] - totals["squared_bias"])


def _queries(queries: pd.DataFrame) -> tuple[Array, pd.DataFrame]:
    """Return bias, its error, squared error and its error, one row each; and squared parts."""
    parts = squared_parts(queries, _KEYS)
    value, error = sharpest(queries.assign(value=queries["mean_squared_error"], metric="max"))
    error = known_error(error, np.isfinite(queries["exact"]))
    signed = (queries["method"] == CONTROL).to_numpy()
    spread = np.sqrt(queries["variance"] / (queries["runs"] - 1))
    bias = np.where(signed, 0.0, queries["bias"])
    off = known_error(np.where(signed, 0.0, spread), signed)
    return np.stack([bias, off, value, error]), parts


def _priced(value: Array, error: Array, ols: Array) -> dict[str, Array]:
    price, off = root_ratio(value, error, ols)
    told = {"squared_error": value, "standard_error": error, "ols": ols}
    return told | {"price": price, "price_error": off}
