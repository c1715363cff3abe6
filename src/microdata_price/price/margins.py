"""The total and each marginal of a table, asked or not: errors and biases of each method."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..errors.known import ols_variances
from ..errors.sums import ErrorSums, answer_errors, sum_errors
from ..fitting import CONTROL
from ..model.queryset import QuerySet
from ..model.workload import Workload
from ..tables.schemas import Schema
from ..tables.workloads import parse_workload, query_values

Array = NDArray[np.float64]


def query_labels(schema: Schema, queries: QuerySet) -> NDArray[np.object_]:
    """Name the queries of a set by the values that they count, as ``a = 1, b = x``."""
    told = query_values(schema, queries)
    parts = [f"{name} = " + told[name] for name in told if told[name].iloc[0]]
    joined = functools.reduce(lambda a, b: a + ", " + b, parts) if parts else ["all records"]
    return np.array(joined, dtype=object)


def known_error(error: ArrayLike, exact: ArrayLike) -> Array:
    """Return standard errors, NaN where one is 0 though the value is not exact."""
    return np.where(np.asarray(exact) | (np.asarray(error) > 0), error, np.nan)


class Margins:
    """Sums of errors over the runs for the total and the marginal of each column and group.

    ``events`` counts, by method and query set of the workload, the runs in which its answers are
    not the signed ones.
    """

    def __init__(self, table: Array, schema: Schema, workload: Workload) -> None:
        self._true, self._schema, self._workload = table, schema, workload
        asked = {q.name: Workload((q,)) for q in workload.query_sets}
        self._sets = {n: asked.get(n) or parse_workload(n, schema) for n in ("sum", *schema.names)}
        self._sums: dict[tuple[str, str], ErrorSums] = {}
        self._signed: tuple[Array, ...] = ()
        self.events: dict[tuple[str, str], int] = {}

    def see(self, turn: str, method: str, cells: Array) -> None:
        """Add a method's fitted cells, shape (runs, cells); first signed ones, to compare with."""
        for name, alone in self._sets.items() if method == turn else ():
            sums = sum_errors(answer_errors(cells, self._true, alone))
            known = self._sums.get((method, name))
            self._sums[method, name] = sums if known is None else known + sums
        answers = answer_errors(cells, self._true, self._workload)
        if method == CONTROL:
            self._signed = answers
        if method != turn:
            return
        for name, own, signed in zip(self._workload.names, answers, self._signed, strict=True):
            moved = np.abs(own - signed).max(axis=1) > 1e-6 * np.abs(signed).max()
            self.events[method, name] = self.events.get((method, name), 0) + int(moved.sum())

    def _asked(self, alone: Workload) -> str:
        """Return the name under which the workload asks for a set, empty if it does not."""
        (extra,) = alone.query_sets
        same = (q for q in self._workload.query_sets if q.size == extra.size)
        return next((q.name for q in same if (q.labels == extra.labels).all()), "")

    def table(self, totals: pd.DataFrame, variances: Sequence[float]) -> pd.DataFrame:
        """Return `Price.always` from `Price.totals` and the noise variance of each query set."""
        shown = totals[totals["metric"] == "total"]
        both = shown[["squared_error", "standard_error"]].to_numpy(dtype=float).tolist()
        told = dict(zip(zip(shown["method"], shown["query_set"], strict=True), both, strict=True))
        rows = []
        for method, name in itertools.product(shown["method"].unique(), self._sets):
            alone, sums = self._sets[name], self._sums[method, name].pooled()
            asked, runs = self._asked(alone), float(sums.runs[0])
            (extra,) = alone.query_sets
            signed = method == CONTROL
            exact = self._exact(extra, variances) if signed and not asked else None
            if exact is not None:
                square, error = exact, 0.0
            elif asked:
                square, error = told[method, asked]
            else:
                square, second = (float(t) / runs for t in sums.totals[0, :2, 0])
                error = math.sqrt(max(second - square**2, 0.0) / max(runs - 1, 1))
            root = math.sqrt(max(square, 0.0) / extra.size)
            bias = sums.queries[0, 0] / runs
            worst = int(np.abs(bias).argmax())
            spread = max(float(sums.queries[0, 1, worst]) / runs - bias[worst] ** 2, 0.0)
            first_order = error / (2 * root * extra.size) if root else 0.0
            known = signed and (bool(asked) or exact is not None)
            sampling = 0.0 if known else math.sqrt(spread / max(runs - 1, 1))
            row = {"method": method, "query_set": name, "asked": bool(asked), "root_error": root}
            sure = known or bool(asked and not error)
            row["standard_error"] = float(known_error(first_order, sure))
            row["bias"] = 0.0 if known else float(bias[worst])
            row["bias_error"] = float(known_error(sampling, known))
            alike = known and extra.size > 1
            row["query"] = "every query" if alike else query_labels(self._schema, extra)[worst]
            rows.append(row)
        return pd.DataFrame(rows)

    def _exact(self, extra: QuerySet, variances: Sequence[float]) -> float | None:
        """Total squared error of OLS on a set: an answer with infinite noise, if it is settled."""
        sets = (*self._workload.query_sets, extra)
        if any(q.axes is None for q in sets):
            return None
        try:
            return float(ols_variances(Workload(sets), [*variances, math.inf])[-1].sum())
        except ZeroDivisionError:
            return None
