"""Five methods on one table: what each makes of the same noisy answers, and who pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from ..base.numbers import Mean, at_least, at_most, format_number, listed
from ..fitting import METHODS, Fit, fit, microdata_methods, paper_methods
from ..model.benchmark import DataSet
from ..model.privacy import ConcentratedDP, PureDP, level_of
from ..page.output import Caption
from .anatomy import certificates, set_errors
from .cases import LABELS, Case, bench_case


def _names(methods: Sequence[str]) -> str:
    return listed([METHODS[m].title for m in methods])


@dataclass(frozen=True, eq=False)
class Findings:
    """What the paper's five methods made of one table's noisy answers (ours).

    Parameters
    ----------
    guarantee
        What all answers together satisfy.
    data
        The table.
    case
        The table with its noisy answers.
    fits
        By method.
    """

    guarantee: PureDP | ConcentratedDP
    data: DataSet
    case: Case
    fits: dict[str, Fit]

    @property
    def runs(self) -> int:
        """How many releases."""
        return self.case.measurements.runs

    @property
    def micro(self) -> tuple[str, ...]:
        """The methods that make microdata."""
        return microdata_methods(self.fits)

    @cached_property
    def errors(self) -> pd.DataFrame:
        """From `anatomy.set_errors`."""
        return set_errors(self.case, list(self.fits.values()))

    def of(self, query_set: str) -> pd.DataFrame:
        """Return the errors of one query set, by method."""
        return self.errors[self.errors["query set"] == query_set].set_index("method")

    def _mean(self, method: str, column: str = "error", query_set: str = "sum") -> Mean:
        row = self.of(query_set)
        error = {"error": "standard error", "bias": "bias error", "ratio": "ratio error"}[column]
        return Mean(float(row[column][method]), float(row[error][method]))

    @property
    def paying(self) -> list[str]:
        """The methods that are clearly worse than OLS on the sum."""
        ratios = {m: self._mean(m, "ratio") for m in self.micro}
        return [m for m, r in ratios.items() if r.value - 3 * r.error > 1.25]

    @property
    def opening(self) -> str:
        """What was found."""
        return f"{self.sum_said} {self.cells_said}"

    @property
    def table_said(self) -> str:
        """Which table it is, and what was measured."""
        shape = " × ".join(str(n) for n in self.data.table.shape)
        asked = listed([LABELS[n] for n in self.case.workload.names])
        return (
            f"The table is `{self.data.name}`. It has {shape} cells, of which "
            f"{self.data.empty_cells} are empty, and {format_number(self.data.table.sum())} "
            f"records. We ask for its {asked}, all together under "
            f"{self.guarantee.describe(math=True)}. Each noisy answer has a standard deviation of "
            f"{format_number(self.case.noise.std)} records. The answers contradict each other, "
            f"and {100 * float((self.case.noisy_cells < 0).mean()):.0f} % of the noisy cells are "
            "negative."
        )

    @property
    def sum_said(self) -> str:
        """Who pays with the sum."""
        paying, ratios = self.paying, self.of("sum")["ratio"]
        if not paying:
            return (
                "**No nonnegative method pays with the sum here.** Not one is clearly above 1.25 "
                "times the squared error of OLS."
            )
        worst = max(paying, key=lambda m: float(ratios[m]))
        known = self._known_ratios
        said = (
            f"**The sum is what {_names(paying)} {'pay' if len(paying) > 1 else 'pays'} with.** "
            f"Its squared error under {METHODS[worst].title} is {self._mean(worst, 'ratio')} times "
            "that of OLS."
        )
        spared = [m for m in self.micro if m not in paying]
        if spared:
            said += (
                f" Under {_names(spared)} it is at most {at_most(float(known[spared].max()), 3)} "
                "times."
            )
        return said

    @property
    def _known_ratios(self) -> pd.Series:
        """The sum's errors over that of OLS, exact where they are known."""
        own = self.of("sum")
        exact: pd.Series = own["exact"] / own["exact"]["ols"]
        return exact.fillna(own["ratio"])

    @property
    def cells_said(self) -> str:
        """Whether the cells gain."""
        top = float(self.of("identity")["ratio"][list(self.micro)].max())
        if top < 0.95:
            return (
                "On the cells every nonnegative method beats OLS, by a factor of at least "
                f"{at_least(1 / top, 2)}. It helps to know that no count is negative "
                "where most counts are near zero. **Nonnegativity is information for the cells and "
                "a burden for their sum.**"
            )
        return (
            "On the cells nonnegativity changes little here, or one of the methods loses: the "
            f"largest squared error of a nonnegative method is {format_number(top)} times that of "
            "OLS."
        )

    @cached_property
    def _positive(self) -> dict[str, int]:
        return {m: int((f.cells[0] > 0).sum()) for m, f in self.fits.items()}

    @property
    def maps(self) -> Caption:
        """What is said about the maps of one run."""
        negative = int((self.fits["ols"].cells[0] < 0).sum())
        full, p = int((self.case.truth > 0).sum()), self._positive
        kept = ", ".join(f"{p[m]} ({METHODS[m].label})" for m in self.micro)
        return Caption(
            "One run: the true table, and what the five methods make of the same noisy answers. "
            f"OLS leaves {negative} of {self.case.truth.size} cells negative. In truth {full} "
            f"{'cell holds' if full == 1 else 'cells hold'} records; "
            f"sequential fitting has {p['sequential']} above zero and NNLS {p['nnls']}.",
            alt=f"Six small maps of the same table. The true one has {full} "
            f"{'cell' if full == 1 else 'cells'} with records. "
            f"That of OLS has {negative} negative cells, marked by dashes. The nonnegative ones "
            f"have as many cells above zero: {kept}.",
        )

    @property
    def map_axes(self) -> tuple[str, str]:
        """What the rows and the columns of the table are."""
        return ("race", "Hispanic origin") if self.data.family == "pums" else ("", "")

    @property
    def mapped(self) -> list[tuple[str, object]]:
        """The true table and those of one run, with their titles."""
        made = [(METHODS[m].label, f.tables[0]) for m, f in self.fits.items()]
        return [("true", self.data.table), *made]

    @property
    def sum_misses(self) -> list[tuple[str, object]]:
        """For each method the fitted sum minus the true one, shape (runs,)."""
        truth = self.data.table.sum()
        return [(m, f.cells.sum(axis=1) - truth) for m, f in self.fits.items()]

    @property
    def sums(self) -> Caption:
        """What is said about the errors of the sum."""
        means = "; ".join(
            f"{METHODS[m].label} {format_number(self._mean(m, 'bias').value)}" for m in self.fits
        )
        return Caption(
            f"The error of the sum over {self.runs:,} runs: bars hold the middle half, lines the "
            f"middle 95 %. On average NNLS is off by {self._mean('nnls', 'bias')} records and "
            f"sequential fitting by {self._mean('sequential', 'bias')}.",
            alt="Five horizontal bars, one a method, for the fitted sum minus the true one. Mean "
            f"errors in records: {means}.",
        )

    @property
    def sum_table(self) -> pd.DataFrame:
        """The errors of the sum."""
        own = self.of("sum")
        return pd.DataFrame(
            {
                "method": [METHODS[m].label for m in self.fits],
                "squared error": [str(self._mean(m)) for m in self.fits],
                "exactly": [float(own["exact"][m]) for m in self.fits],
                "over OLS": [float(self._known_ratios[m]) for m in self.fits],
                "mean error": [str(self._mean(m, "bias")) for m in self.fits],
            }
        )

    @property
    def sum_table_caption(self) -> str:
        """What is said about it."""
        return (
            f"The sum query over {self.runs:,} runs: expected squared error with its standard "
            "error, in squared records; the exact value where it is known (OLS, and sequential "
            "fitting, whose sum is the noisy one cut at zero); the ratio to the exact one of OLS, "
            "exact likewise; and the mean error in records."
        )

    @property
    def by_set(self) -> Caption:
        """What is said about the errors of all query sets."""
        own = self.errors[self.errors["method"].isin(self.micro)].sort_values("ratio")
        worst, cells = own.iloc[-1], own[own["query set"] == "identity"].iloc[0]
        told = " ".join(
            f"{label.capitalize()}: "
            + ", ".join(
                f"{METHODS[m].label} {format_number(self._mean(m, 'ratio', q).value, 2)}"
                for m in self.micro
            )
            + "."
            for q, label in LABELS.items()
            if q in self.case.workload.names
        )
        return Caption(
            "Total expected squared error of each query set over that of OLS. The largest ratio is "
            f"{format_number(float(worst['ratio']))} ({METHODS[worst['method']].label}, "
            f"{LABELS[worst['query set']]}). On the cells the lowest is "
            f"{format_number(float(cells['ratio']))} ({METHODS[cells['method']].label}).",
            alt="Dots for four methods in each query set on a logarithmic axis, with a vertical "
            f"line for OLS. {told}",
        )

    @cached_property
    def moved(self) -> dict[str, tuple[Mean, Mean, Mean]]:
        """By method: the records that empty cells gain, that others gain, and that the sum does."""
        empty, truth = self.case.empty, self.case.truth
        parts = {}
        for m, f in self.fits.items():
            error = f.cells - truth
            inside, outside = error[:, empty].sum(axis=1), error[:, ~empty].sum(axis=1)
            parts[m] = (Mean.of(inside), Mean.of(outside), Mean.of(error.sum(axis=1)))
        return parts

    @property
    def who_pays(self) -> pd.DataFrame:
        """The records gained, by kind of cell."""
        columns = ("empty cells gain", "other cells gain", "the sum gains")
        return pd.DataFrame(
            {
                "method": [METHODS[m].label for m in self.fits],
                **{c: [str(p[i]) for p in self.moved.values()] for i, c in enumerate(columns)},
            }
        )

    @property
    def who_pays_caption(self) -> str:
        """What is said about it."""
        return (
            f"Mean records gained (below zero: lost) over {self.runs:,} runs, with standard errors."
        )

    @property
    def who_said(self) -> str:
        """Where records are moved from and to."""
        added = {m: self.moved[m][0] for m in self.micro}
        lost = {m: self.moved[m][1] for m in self.micro}
        taking = min(lost, key=lambda m: lost[m].value)
        least = min(added.values(), key=lambda a: a.value)
        if not (least.surely_above(0) and lost[taking].value < -4 * lost[taking].error):
            return "Here not every method clearly moves records from the other cells to empty ones."
        most = max(added.values(), key=lambda a: a.value)
        return (
            "Every nonnegative method leaves records in empty cells: between "
            f"{at_least(least.value)} and {at_most(most.value)} of them in all, on average. The "
            "cells that hold records pay for these, or the sum comes out too large. The method "
            f"that takes most from cells with records is {METHODS[taking].title}: "
            f"{lost[taking].times(-1)} records."
        )

    @cached_property
    def certificates(self) -> pd.DataFrame:
        """The worst certificate of each method's fits."""
        frame = certificates(list(self.fits.values()))
        frame["method"] = [METHODS[m].label for m in frame["method"]]
        return frame.rename(
            columns={
                "primal": "violated constraint",
                "dual": "violated gradient",
                "gap": "duality gap",
            }
        )

    @property
    def certificates_caption(self) -> str:
        """What is said about them."""
        worst = max(f.certificate.worst for f in self.fits.values())
        return (
            f"The worst certificate of {self.runs:,} fits a method, relative to the scale of noise "
            "and counts. Each number is computed from the fitted table and the multipliers, not "
            f"taken from a solver. All are at most {at_most(worst, 2)}."
        )


def study(
    dataset: str = "PUMA1304600",
    privacy: str = "pure",
    level: float = 0.5,
    runs: int = 1000,
    seed: int = 1,
) -> Findings:
    """Fit one table's noisy answers by the paper's five methods, many times (ours).

    Parameters
    ----------
    dataset
        A table of the benchmark.
    privacy, level
        ``"pure"`` and epsilon, or ``"zcdp"`` and rho.
    runs
        Repetitions of the whole release, 2 or more.
    seed
        Of the simulation.

    Raises
    ------
    InputError
        An unknown data set or kind of privacy, or a value out of range.

    Examples
    --------
    >>> study(level=0.1, runs=50).paying
    ['nnls', 'maxfit']
    """
    guarantee = level_of(privacy, level)
    data, case = bench_case(dataset, guarantee, runs=runs, seed=seed)
    fits = {method: fit(case.measurements, method) for method in paper_methods()}
    return Findings(guarantee, data, case, fits)
