"""How far a maximum of noisy means lies above the largest expectation (ours)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..base.numbers import Mean, at_most, format_number, mean_and_error
from ..exceptions import InputError
from ..fitting import CONTROL, METHODS
from ..grid.run import evaluate
from ..grid.spec import GridSpec
from ..model.benchmark import DataSet, data_set
from ..model.privacy import ConcentratedDP, PureDP
from ..page.output import Caption
from .grids import RUNS_ALONE, grid_part
from .scorecard import EPSILON, published_tables

RUNS = (30, 100, 300, 1000)
"""Numbers of runs of an experiment, the last the paper's."""


def maximum_against_runs(
    data: DataSet,
    guarantee: PureDP | ConcentratedDP,
    method: str,
    runs: Sequence[int],
    *,
    repeats: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Estimate the expectation of the reported maximum over cells, for several numbers of runs.

    The paper reports ``max_i`` of the means over its runs. That is above ``max_i`` of the
    expectations, and less so with more runs. Choosing the cell on one half of the runs and
    estimating it on the other is below it. So the two bracket it, on average.

    Parameters
    ----------
    data
        A data set; its query set ``identity`` is looked at.
    guarantee
        The privacy level.
    method
        A method of fitting.
    runs
        Numbers of runs, each 2 or more.
    repeats
        How often each experiment is repeated, 2 or more.
    rng
        The random stream.

    Returns
    -------
    DataFrame
        Columns runs, plain, plain_error, split, split_error (means over the repeats and their
        standard errors, in squared counts) and exact (NaN where unknown); the attribute
        worst_certificate is that of all fits.

    Raises
    ------
    InputError
        Fewer than two runs or repeats, or an unknown method.

    Examples
    --------
    >>> from microdata_price.model.benchmark import data_set
    >>> rng = np.random.default_rng(1)
    >>> table = maximum_against_runs(
    ...     data_set("Level00-2d"), PureDP(0.5), "ols", [20], repeats=5, rng=rng)
    >>> bool(table["plain"][0] > table["exact"][0])
    True
    """
    if repeats < 2 or any(n < 2 for n in runs):
        raise InputError(
            f"there are {repeats} repeats of {list(runs)} runs; needed are 2 or more of each, to "
            "estimate a standard error and to have two halves"
        )
    rows = []
    worst = 0.0
    for count in runs:
        tables = [
            evaluate(data, guarantee, (method,), runs=count, rng=rng).errors for _ in range(repeats)
        ]
        worst = max(worst, *(float(t["worst_certificate"].max()) for t in tables))
        found = [_cells(t) for t in tables]
        values = np.array([[f["value"], f["max_split"]] for f in found])
        means, errors = mean_and_error(
            float(repeats), values.sum(axis=0), (values * values).sum(axis=0)
        )
        exact = found[0]["exact"]
        rows.append(
            {
                "runs": count,
                "plain": float(means[0]),
                "plain_error": float(errors[0]),
                "split": float(means[1]),
                "split_error": float(errors[1]),
                "exact": float("nan") if pd.isna(exact) else float(exact),
            }
        )
    table = pd.DataFrame(rows)
    table.attrs["worst_certificate"] = worst
    return table


def _cells(errors: pd.DataFrame) -> pd.Series:
    return errors[(errors["query_set"] == "identity") & (errors["metric"] == "max")].iloc[0]


@dataclass(frozen=True, eq=False)
class Findings:
    """How far the reported maximum of OLS is above the true one, against the number of runs.

    Parameters
    ----------
    data
        The data set.
    cells
        How many cells it has.
    repeats
        How often each experiment was repeated.
    table
        From `maximum_against_runs`.
    printed
        The value that the paper prints, in squared counts; ``None`` at another level.
    worst_certificate
        Of the fits; OLS is solved in closed form, so that it is rounding.
    """

    data: str
    cells: int
    repeats: int
    table: pd.DataFrame
    printed: float | None
    worst_certificate: float

    @property
    def exact(self) -> float:
        """The exact expected squared error of every cell, in squared counts."""
        return float(self.table["exact"].iloc[-1])

    @property
    def plain(self) -> Mean:
        """The largest mean at the largest number of runs."""
        last = self.table.iloc[-1]
        return Mean(float(last["plain"]), float(last["plain_error"]))

    @property
    def split(self) -> Mean:
        """The split estimate at the largest number of runs."""
        last = self.table.iloc[-1]
        return Mean(float(last["split"]), float(last["split_error"]))

    @property
    def over(self) -> Mean:
        """By how many percent the plain maximum is too large."""
        return Mean(self.plain.value - self.exact, self.plain.error).times(100 / self.exact)

    @property
    def opening(self) -> str:
        """What was found."""
        return (
            f"**With {self.table['runs'].iloc[-1]:,} runs, the reported worst cell of OLS is "
            f"{self.over} % too large.** All {self.cells} cells of {self.data} have the same exact "
            "error. The largest of their estimates does not: luck picks it."
        )

    @property
    def known_said(self) -> str:
        """The same for OLS on the chosen table, and what the paper prints."""
        said = (
            f"For {self.data} the exact value is {format_number(self.exact, 4)} squared counts in "
            f"each of {self.cells} cells. With {self.table['runs'].iloc[-1]:,} runs the largest of "
            f"the means is {self.plain} on average."
        )
        if self.printed is None:
            return (
                f"{said} The paper's printed values are for $\\epsilon = {EPSILON:g}$ and are not "
                "drawn here."
            )
        return (
            f"{said} The paper prints {format_number(self.printed, 5)} for OLS on this table. The "
            "figure marks it. It is one draw of such a maximum; ours scatter from experiment to "
            "experiment with a standard deviation of "
            f"{format_number(self.plain.error * self.repeats**0.5, 2)}."
        )

    @property
    def split_said(self) -> str:
        """The split estimate where it has no bias."""
        return (
            "For OLS all cells are equal, so the left side is an equality. The split estimate is "
            f"{self.split}, and the exact value {format_number(self.exact, 4)}."
        )

    @property
    def picture(self) -> Caption:
        """What is said about the picture of both estimates against the number of runs."""
        first, last = self.table.iloc[0], self.table.iloc[-1]
        return Caption(
            f"OLS on {self.data}: what an experiment reports as its worst cell, averaged over "
            f"{self.repeats} experiments (bars: two standard errors). Even at "
            f"{last['runs']:,.0f} runs it is {self.over} % too large.",
            alt=f"The mean of the largest of {self.cells} estimated errors falls from "
            f"{format_number(first['plain'])} at {first['runs']:.0f} runs to "
            f"{format_number(last['plain'])} at {last['runs']:.0f}, beside a horizontal line at "
            f"the exact value {format_number(self.exact, 4)}; the split estimate lies between "
            f"{format_number(self.table['split'].min())} and "
            f"{format_number(self.table['split'].max())}.",
        )


def study(
    epsilon: float = 0.5, data: str = "PUMA0101301", repeats: int = 24, seed: int = 7
) -> Findings:
    """Repeat experiments with OLS and compare the reported maximum with the true one (ours).

    Parameters
    ----------
    epsilon
        Pure differential privacy of all answers together.
    data
        A data set of the benchmark.
    repeats
        How often each experiment is repeated, 2 or more.
    seed
        Of the simulation.

    Raises
    ------
    InputError
        An unknown data set, a level out of range, or fewer than two repeats.

    Examples
    --------
    >>> study(data="Level00-1d", repeats=3).over.value > 0
    True
    """
    chosen, guarantee = data_set(data), PureDP(epsilon)
    table = maximum_against_runs(
        chosen, guarantee, "ols", RUNS, repeats=repeats, rng=np.random.default_rng(seed)
    )
    printed = published_tables()
    own = printed[
        (printed["method"] == CONTROL) & (printed["metric"] == "max") & (printed["dataset"] == data)
    ]
    marked = float(own["squared_error"].iloc[0]) if len(own) == 1 and epsilon == EPSILON else None
    worst = float(table.attrs["worst_certificate"])
    return Findings(data, chosen.table.size, repeats, table, marked, worst)


@dataclass(frozen=True, eq=False)
class InTheGrid:
    """The plain and the split maximum over cells in a whole grid.

    Parameters
    ----------
    rows
        A grid's errors with metric ``"max"`` of the cells.
    worst_certificate
        Of all the grid's fits.
    """

    rows: pd.DataFrame
    worst_certificate: float

    @cached_property
    def medians(self) -> pd.Series:
        """By method: the median excess of the plain over the split estimate, in percent."""
        percent = 100 * (self.rows["value"] / self.rows["max_split"] - 1)
        return percent.groupby(self.rows["method"]).median()

    @property
    def known(self) -> pd.DataFrame:
        """The rows of OLS, whose exact value is known."""
        return self.rows[(self.rows["method"] == CONTROL) & self.rows["exact"].notna()]

    def _over(self, column: str) -> str:
        off = 100 * (self.known[column] / self.known["exact"] - 1)
        return str(Mean.of(off.to_numpy(dtype=float)))

    @property
    def _most(self) -> tuple[str, float]:
        others = self.medians.drop("ols")
        # The plain maximum is never below the split one; what is left of equal ones is rounding.
        most = float(others.max())
        return METHODS[str(others.idxmax())].label, most if most > 1e-9 else 0.0

    @property
    def said(self) -> str:
        """What the grid shows of OLS and of the others."""
        name, most = self._most
        ols = float(self.medians["ols"])
        start = (
            f"Over all {len(self.known)} data sets and levels, the plain maximum of OLS is on "
            f"average {self._over('value')} % above its exact value, and the split one "
            f"{self._over('max_split')} %. "
        )
        if most < ols:
            gap = f"at most {at_most(most, 2)} % ({name})" if most else "0 % for each of them"
            return (
                start + "For the methods that make microdata the median gap between the two "
                f"estimates is smaller: {gap}, against {format_number(ols, 2)} % for OLS. They "
                "usually have one or a few cells that are really worse than the "
                "rest and win in both halves of the runs, while OLS has only ties. "
                'So a comparison of "Max" columns makes OLS look worse than it is.'
            )
        return (
            start + "At these levels the median gap between the two estimates is as large for "
            f"{name} ({format_number(most, 2)} %) as for OLS ({format_number(ols, 2)} %)."
        )

    @property
    def picture(self) -> Caption:
        """What is said about the picture of all gaps."""
        ols, (name, most) = float(self.medians["ols"]), self._most
        return Caption(
            f"Every data set at every level ({len(self.known)} of each method). The plain maximum "
            f"of OLS is {format_number(ols, 2)} % (median) above the split estimate.",
            alt="Rows of dots, one a method: how far the plain maximum lies above the split "
            f"estimate, in percent. The median is {format_number(ols, 2)} for OLS; the largest of "
            f"the others is {format_number(most, 2)}, of {name}.",
        )


def in_the_grid(folder: str = "", epsilon: float = 0.5) -> InTheGrid:
    """Compare both estimates in a computed grid, or in a small one at one level (ours).

    Parameters
    ----------
    folder
        A finished grid, or ``""``.
    epsilon
        The level of the part that is computed where there is no folder.

    Raises
    ------
    InputError
        A folder that is no finished grid.

    Examples
    --------
    >>> in_the_grid(epsilon=0.5).known["dataset"].nunique()
    31
    """
    errors = grid_part(folder, GridSpec.choose(epsilon=[epsilon], runs=RUNS_ALONE)).errors
    rows = errors[(errors["metric"] == "max") & (errors["query_set"] == "identity")]
    return InTheGrid(rows, float(errors["worst_certificate"].max()))
