"""The total and every single column of a table, asked or not: errors and biases of each method."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors.known import ols_variances
from ..errors.sums import ErrorSums, answer_errors, sum_errors
from ..fitting import CONTROL
from ..model.workload import Workload
from ..tables.schema import Schema
from ..tables.workload_text import parse_workload

Array = NDArray[np.float64]

ALIKE = "every query"
"""Stands for a query's name where all of a set have the same bias: none."""


class Margins:
    """Adds up the errors of the total and of each single column's marginal, asked or not.

    Parameters
    ----------
    table
        The true table.
    schema
        Columns and values.
    workload
        What was asked.
    """

    def __init__(self, table: Array, schema: Schema, workload: Workload) -> None:
        self._true, self._schema, self._workload = table, schema, workload
        self._sets: list[tuple[str, bool, Workload]] = []
        for name in ("sum", *schema.columns):
            alone = parse_workload(name, schema)
            asked = any(alone.names[0] == own for own in workload.names)
            self._sets.append((name, asked, alone))
        self._sums: dict[tuple[str, str], ErrorSums] = {}

    def see(self, method: str, cells: Array) -> None:
        """Add some runs of a method: its fitted cells, shape (runs, cells)."""
        for name, _, alone in self._sets:
            sums = sum_errors(answer_errors(cells, self._true, alone))
            known = self._sums.get((method, name))
            self._sums[method, name] = sums if known is None else known + sums

    def table(self, totals: pd.DataFrame, variances: Sequence[float]) -> pd.DataFrame:
        """Return one row a method and query set; what is known exactly stands there exactly.

        Parameters
        ----------
        totals
            Those of `Price`: what was asked has the same error here as there.
        variances
            The noise variance of each query set that was asked, in squared counts.

        Returns
        -------
        DataFrame
            The columns of `Price.always`.
        """
        asked_for = totals[totals["metric"] == "total"]
        pairs = zip(asked_for["method"], asked_for["query_set"], strict=True)
        both = asked_for[["squared_error", "standard_error"]].to_numpy(dtype=float).tolist()
        told = dict(zip(pairs, both, strict=True))
        rows = []
        for method in dict.fromkeys(m for m, _ in self._sums):
            for name, asked, alone in self._sets:
                size = alone.query_sets[0].size
                sums = self._sums[method, name].pooled()
                runs = float(sums.runs[0])
                exact = self._exact(alone, variances) if method == CONTROL else None
                if exact is not None:
                    square, error = exact, 0.0
                elif asked:
                    square, error = told[method, alone.names[0]]
                else:
                    square, second = (float(t) / runs for t in sums.totals[0, :2, 0])
                    error = math.sqrt(max(second - square**2, 0.0) / max(runs - 1, 1))
                root = math.sqrt(max(square, 0.0) / size)
                bias = sums.queries[0, 0] / runs
                worst = int(np.abs(bias).argmax())
                spread = max(float(sums.queries[0, 1, worst]) / runs - bias[worst] ** 2, 0.0)
                axes = () if name == "sum" else (self._schema.columns.index(name),)
                query = query_label(self._schema, self._schema.cell_values(axes)[worst])
                rows.append(
                    {
                        "method": method,
                        "query_set": name,
                        "asked": asked,
                        "root_error": root,
                        # of a root, to first order
                        "standard_error": error / (2 * root * size) if root else 0.0,
                        "bias": float(bias[worst]) if exact is None else 0.0,
                        "bias_error": math.sqrt(spread / max(runs - 1, 1)) if exact is None else 0,
                        "query": query if exact is None or size == 1 else ALIKE,
                    }
                )
        return pd.DataFrame(rows)

    def _exact(self, alone: Workload, variances: Sequence[float]) -> float | None:
        """Total squared error of OLS on one set, ``None`` where what was asked does not settle it.

        What was not asked is an answer with infinite noise.
        """
        sets, extra = self._workload.query_sets, alone.query_sets[0]
        if extra.name in self._workload.names:
            own = self._workload.names.index(extra.name)
            return float(ols_variances(self._workload, variances)[own].sum())
        if any(q.axes is None for q in sets):
            return None
        try:
            return float(ols_variances(Workload((*sets, extra)), [*variances, math.inf])[-1].sum())
        except ZeroDivisionError:
            return None


def query_label(schema: Schema, values: Sequence[str]) -> str:
    """Name a query by the values that it counts.

    Examples
    --------
    >>> query_label(Schema(("a", "b"), (("1",), ("x", "y"))), ("", "y"))
    'b = y'
    """
    told = [f"{c} = {v}" for c, v in zip(schema.columns, values, strict=True) if v]
    return ", ".join(told) or "all records"
