"""What the chapter on mbi says: its kept results beside the five methods', on the same noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..base.numbers import at_most, format_number
from ..exceptions import InputError
from ..fitting import METHODS, paper_methods
from ..page.output import Caption
from .experiments import QUERY_NAMES
from .peers import FIXED, load_peers
from .scorecard import EPSILON

ORDER = ("sum", "marginal1", "marginal2", "identity")
RIVALS = ("nnls", "sequential", "reweighted")


@dataclass(frozen=True, eq=False)
class Findings:
    """The kept comparison, and when a difference counts as clear.

    Parameters
    ----------
    kept
        From `peers.load_peers`.
    standard_errors
        A difference is clear beyond so many of them.
    """

    kept: pd.DataFrame
    standard_errors: float

    @property
    def names(self) -> dict[str, str]:
        """The query sets, in the order of the page, by what they count."""
        return {q: QUERY_NAMES[q] for q in ORDER}

    @property
    def tables(self) -> int:
        """How many data sets there are."""
        return int(self.kept["dataset"].nunique())

    @cached_property
    def mbi(self) -> pd.DataFrame:
        """Mbi's own totals, by data set and query set."""
        own = self.kept[(self.kept["metric"] == "total") & (self.kept["method"] == "mbi")]
        return own.set_index(["dataset", "query_set"])

    @cached_property
    def totals(self) -> pd.DataFrame:
        """Totals of all methods: their ratio to mbi's, its error, and whether it is clear."""
        totals = self.kept[self.kept["metric"] == "total"]
        at = pd.MultiIndex.from_frame(totals[["dataset", "query_set"]])
        base = self.mbi["value"].loc[at].to_numpy()
        apart, error = totals["minus_mbi"], totals["minus_mbi_error"]
        return totals.assign(
            ratio=totals["value"].to_numpy() / base,
            # The paired difference's standard error, as a share of mbi's error.
            ratio_error=error.to_numpy() / base,
            clear=np.sign(apart) * (apart.abs() > self.standard_errors * error),
        )

    @property
    def drawn(self) -> pd.DataFrame:
        """What the figure shows."""
        return self.totals[self.totals["method"].isin(RIVALS)]

    def median(self, query_set: str, method: str) -> float:
        """Return a method's total over mbi's, in the median over the tables."""
        return float(self._ratios(query_set, method).median())

    def _ratios(self, query_set: str, method: str) -> pd.Series:
        own = self.totals[
            (self.totals["query_set"] == query_set) & (self.totals["method"] == method)
        ]
        return own["ratio"]

    def clear(self, query_set: str, method: str) -> tuple[int, int]:
        """Return in how many tables mbi wins clearly, and loses clearly."""
        own = self.totals[
            (self.totals["query_set"] == query_set) & (self.totals["method"] == method)
        ]["clear"]
        return int((own > 0).sum()), int((own < 0).sum())

    @property
    def opening(self) -> str:
        """What was found."""
        nnls, reweighted = self.median("sum", "nnls"), self.median("marginal2", "reweighted")
        first = (
            "**mbi holds the total, and pays elsewhere.** Its error of the sum is "
            f"{format_number(1 / nnls, 2)} times that of NNLS in the median of the tables."
        )
        if reweighted < 1:
            return (
                f"{first} But reweighted fitting has {format_number(reweighted, 2)} times mbi's "
                "error on the columns."
            )
        return f"{first} On the columns reweighted fitting is no better than mbi."

    @property
    def picture(self) -> Caption:
        """What is said about the picture of all totals."""
        on_sum, on_cells = self.median("sum", "nnls"), self.median("identity", "nnls")
        columns = format_number(self.median("marginal2", "reweighted"), 2)
        return Caption(
            "Total squared error over mbi's on the same noise. Right of the line mbi is better; "
            "bars are two standard errors of the paired difference. Medians: NNLS on the sum "
            f"{format_number(on_sum)}, on the cells {format_number(on_cells)}; reweighted fitting "
            f"on the columns {columns}.",
            alt="Four panels, one a query set: the total squared error of NNLS, sequential and "
            f"reweighted fitting over mbi's for {self.tables} tables, with bars. On the sum the "
            f"median of NNLS is {format_number(on_sum, 2)}; on the columns the median of "
            f"reweighted fitting is {columns}.",
        )

    @property
    def kept_said(self) -> str:
        """At which level the results are, and how many runs they have."""
        return (
            "They are at the level of the paper's printed tables, "
            f"$\\epsilon = {format_number(EPSILON)}$, whatever level the rest of this book was "
            f"computed at. Each table has {int(self.kept['runs'].iloc[0])} runs. The version of "
            f"mbi is {self.kept['mbi_version'].iloc[0]}."
        )

    @property
    def total_said(self) -> str:
        """Whether its error of the sum is that of OLS."""
        if np.allclose(self._ratios("sum", "ols"), 1, rtol=1e-4):
            return (
                "So its error of the sum is that of OLS, run by run. No price at all is paid on "
                "the sum."
            )
        return "In these results its error of the sum nevertheless differs from that of OLS."

    @property
    def exact_said(self) -> str:
        """How near mbi comes to the optimum of its own problem."""
        excess = 100 * float(self.kept["excess_objective"].max())
        exact = self.totals[self.totals["method"] == FIXED]["ratio"]
        gap = 100 * float((exact - 1).abs().max())
        return (
            "That problem we can solve exactly, with a certificate. The iterations of mbi (its "
            "default of 1,000 steps of mirror descent, in double precision) end within "
            f"{at_most(excess, 2)} % of its optimum in the worst of all runs. No total error "
            f"differs from that of the exact problem by more than {at_most(gap, 2)} %. So what "
            "follows is about the problem that mbi poses, not about how well it is solved."
        )

    def _told(self, query_set: str) -> str:
        parts = []
        for method in RIVALS:
            won, lost = self.clear(query_set, method)
            parts.append(
                f"against {METHODS[method].label} it wins clearly in {won} tables and loses "
                f"clearly in {lost}"
            )
        return "; ".join(parts)

    @property
    def sum_said(self) -> str:
        """The sum."""
        return (
            f"**On the sum**, of {self.tables} tables, {self._told('sum')}. The median error of "
            f"NNLS is {format_number(self.median('sum', 'nnls'), 2)} times mbi's."
        )

    @property
    def cells_said(self) -> str:
        """The cells."""
        won, _ = self.clear("identity", "nnls")
        verdict = "it beats NNLS in most tables" if 2 * won > self.tables else "it is near NNLS"
        return (
            f"**On the cells** {verdict}: {self._told('identity')}. The median total of NNLS is "
            f"{format_number(self.median('identity', 'nnls'))} times mbi's."
        )

    @property
    def rows_said(self) -> str:
        """The rows."""
        return f"**On the rows** {self._told('marginal1')}."

    @property
    def columns_said(self) -> str:
        """The columns."""
        _, lost = self.clear("marginal2", "reweighted")
        verdict = (
            "it loses to reweighted fitting in most tables"
            if 2 * lost > self.tables
            else "it holds its own against reweighted fitting"
        )
        return (
            f"**On the columns** {verdict}: {self._told('marginal2')}. The median of reweighted "
            f"fitting is {format_number(self.median('marginal2', 'reweighted'), 2)} times mbi's."
        )

    @property
    def table(self) -> pd.DataFrame:
        """Mbi's own totals with their standard errors."""
        rows = []
        for name in dict.fromkeys(self.kept["dataset"]):
            values = {
                QUERY_NAMES[q]: format_number(
                    self.mbi.loc[(name, q), "value"], se=self.mbi.loc[(name, q), "standard_error"]
                )
                for q in ORDER
            }
            rows.append({"data set": name, **values})
        return pd.DataFrame(rows)

    @property
    def table_caption(self) -> str:
        """What is said about them."""
        return "Results of mbi: total squared error of each query set, with standard errors."

    @cached_property
    def medians(self) -> pd.DataFrame:
        """The largest error of a query, in the median over the tables."""
        worst = self.kept[self.kept["metric"] == "max"].pivot_table(
            index="query_set", columns="method", values="value", aggfunc="median"
        )
        return worst.loc[list(ORDER[1:]), ["mbi", "ols", *RIVALS]]

    @property
    def worst(self) -> pd.DataFrame:
        """The same for the page."""
        labels = {m: METHODS[m].label for m in paper_methods()}
        return (
            self.medians.rename(index=QUERY_NAMES, columns=labels)
            .rename_axis("query set")
            .reset_index()
        )

    @property
    def worst_caption(self) -> str:
        """What is said about it."""
        return (
            "Largest mean squared error of a query, in the median over the tables. A maximum of "
            "noisy means is too high, so all are somewhat too high."
        )

    @property
    def worst_said(self) -> str:
        """Where mbi stands on the worst column."""
        column = self.medians.T["marginal2"]
        values = dict(zip(map(str, column.index), column.to_numpy(dtype=float), strict=True))
        order = sorted(values, key=lambda m: values[m])
        listed = ", ".join(
            f"{'mbi' if m == 'mbi' else METHODS[m].label} {format_number(values[m])}" for m in order
        )
        place = order.index("mbi") + 1
        words = {1: "the lowest", len(order): "the highest"}.get(place, f"number {place}")
        return (
            f"From the lowest, the median error of the worst column is: {listed}. mbi is {words}."
        )


def study(standard_errors: float = 2.0) -> Findings:
    """Read the kept comparison (ours).

    Parameters
    ----------
    standard_errors
        A difference counts as clear beyond so many standard errors, 0 or more.

    Raises
    ------
    InputError
        A negative number of standard errors.

    Examples
    --------
    >>> study().tables
    16
    """
    if not standard_errors >= 0:
        raise InputError(f"standard_errors is {standard_errors!r}; it must be 0 or more")
    return Findings(load_peers(), float(standard_errors))
