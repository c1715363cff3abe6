"""Ordinary least squares: what consistency alone is worth, exactly and as measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, at_most, format_number
from ..errors.estimates import answer_errors, largest, largest_split, query_errors, sum_errors
from ..errors.known import ols_variances
from ..page.output import Caption
from .anatomy import pulls
from .cases import LABELS
from .one_method import OneMethod

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Findings(OneMethod):
    """What OLS does to a small list and to a table of the benchmark.

    Examples
    --------
    >>> round(study(runs=2).each, 1)
    110.6
    """

    method: ClassVar[str] = "ols"

    @cached_property
    def exact(self) -> tuple[Array, ...]:
        """Each query's expected squared error, in squared counts, one array a query set."""
        m = self.case.measurements
        return ols_variances(m.workload, m.variances)

    @property
    def each(self) -> float:
        """That of any one query, all being equal, in squared counts."""
        return float(self.exact[0][0])

    @property
    def _negative_share(self) -> str:
        return f"{format_number(100 * float((self.fitted.cells < 0).mean()))} %"

    @property
    def opening(self) -> str:
        """What was found."""
        kept = format_number(self.each / self.case.noise.variance, 4)
        said = (
            f"**OLS makes the answers agree, and improves each of them equally.** On {self._where} "
            f"every fitted answer, the sum like each single cell, has {kept} times the expected "
            "squared error of its noisy answer, exactly. "
        )
        if (self.fitted.cells < 0).any():
            return said + (
                f"But {self._negative_share} of the fitted cells are negative, and a table with a "
                "negative cell is no microdata."
            )
        return said + f"In none of {self.runs:,} runs is a cell negative."

    @property
    def negative_said(self) -> str:
        """What the negative cells mean."""
        if (self.fitted.cells < 0).any():
            return (
                f"Over all runs {self._negative_share} of the fitted cells are negative. They are "
                "the reason why OLS is only a reference here. They are also why its sum is so "
                "good: errors below the truth cancel those above it. NNLS, which forbids negative "
                f"cells, has {self.ratio('sum', 'nnls')} times the squared error of the sum."
            )
        return (
            f"In none of {self.runs:,} runs is a fitted cell negative. So here OLS makes "
            "microdata, and nonnegativity costs nothing."
        )

    @property
    def discrepancy(self) -> float:
        """The noisy cells of the small list, added up, minus its noisy sum, in counts."""
        noisy = self.short.measurements.answers
        return float(noisy[1][0].sum() - noisy[0][0, 0])

    @property
    def shared(self) -> float:
        """What OLS takes off each cell of the small list, in counts."""
        return float(pulls(self.short, self.short_fit)[0][0, 0])

    @property
    def small_said(self) -> str:
        """How the discrepancy is spread on the small list."""
        more, way = ("more", "down") if self.discrepancy > 0 else ("less", "up")
        return (
            f"Here the noisy cells add up to {format_number(abs(self.discrepancy))} records {more} "
            f"than the noisy sum. There are {self.short.truth.size} cells and one sum, all with "
            f"equal noise. So each cell moves {way} by {format_number(abs(self.shared))} records, "
            "one part in $d + 1$, and the sum by as much the other way. No cell is treated "
            "differently for being small."
        )

    @property
    def small_picture(self) -> Caption:
        """What is said about the picture of the small list."""
        negative, moved = int((self.short_fit.cells[0] < 0).sum()), abs(self.shared)
        way = "down" if self.shared > 0 else "up"
        return Caption(
            f"A list of {self.short.truth.size} cells and its sum. All cells move {way} by the "
            f"same {format_number(moved, 2)} records and the sum as far the other way; {negative} "
            "of the fitted cells are negative.",
            alt="Grey bars for a sum and eight true cells, crosses for their noisy answers, "
            f"squares for the fitted ones. Every cell moves {way} by the same "
            f"{format_number(moved, 2)} records; {negative} fitted cells are negative.",
        )

    @property
    def response_picture(self) -> Caption:
        """What is said about the cells of one run."""
        noisy, cells = self.one_run[:2]
        negative, moved = int((cells < 0).sum()), float(np.abs(cells - noisy).mean())
        held = format_number(float(-cells[cells < 0].sum()))
        left = f"It leaves {negative} of {cells.size} cells negative"
        if negative:
            left += f"; added up, these are {held} records below zero"
        return Caption(
            f"One run on `{self.dataset}`. OLS moves a cell by {format_number(moved, 2)} records "
            f"on average. {left}.",
            alt="Fitted cells against noisy cells in one run. The points scatter along the "
            f"diagonal, {format_number(moved, 2)} records from it on average; {negative} of "
            f"{cells.size} fitted cells lie below zero.",
        )

    @property
    def exact_said(self) -> str:
        """The exact error of every query."""
        variance = self.case.noise.variance
        each = format_number(float(f"{self.each:.6g}"), 6)
        return (
            f"For `{self.dataset}` the noise has variance {format_number(variance)}. By the "
            f"theorem **every** answer of the workload has an expected squared error of exactly "
            f"{each} after OLS: {format_number(self.each / variance, 4)} times what it was. "
            "Consistency alone buys no more than that."
        )

    @property
    def measured_picture(self) -> Caption:
        """What is said about measured over exact errors."""
        f = self.frame
        away = float(((f["error"] - f["exact"]) / f["standard error"]).abs().max())
        told = ", ".join(
            f"{LABELS[str(q)]} {format_number(r)}" for q, r in (f["error"] / f["exact"]).items()
        )
        return Caption(
            f"Measured over exact squared error of each query set, over {self.runs:,} runs. The "
            f"largest deviation is {format_number(away, 2)} standard errors.",
            alt="One square with an error bar for each query set, on an axis of measured over "
            f"exact squared error, with a line at 1: {told}.",
        )

    @property
    def exact_frame(self) -> pd.DataFrame:
        """The errors of each query set for the picture."""
        return self.frame.reset_index()

    @property
    def exact_errors(self) -> pd.DataFrame:
        """The errors of each query set, exactly and as measured."""
        sets = self.case.workload.names
        return pd.DataFrame(
            {
                "query set": [LABELS[q] for q in sets],
                "queries": list(self.frame["queries"]),
                "each, exactly": [float(e[0]) for e in self.exact],
                "total, exactly": list(self.frame["exact"]),
                "total, measured": [str(self.error(q)) for q in sets],
            }
        )

    @property
    def exact_errors_caption(self) -> str:
        """What is said about the table of errors."""
        return (
            "Expected squared errors of OLS in squared records: each query's and the query set's "
            f"total, exactly and over {self.runs:,} runs."
        )

    @cached_property
    def _largest(self) -> tuple[Mean, Mean | None]:
        signed = answer_errors(self.fitted.cells, self.case.table, self.case.workload)
        sums = sum_errors(signed[-1:])
        estimated = query_errors(sums, sums, self.exact[-1])
        top = largest(estimated.plain)
        whole = Mean(float(top.value), float(top.error))
        if self.runs < 4:
            return whole, None
        split = largest_split(estimated.halves)
        return whole, Mean(float(split.value), float(split.error))

    @property
    def trap_said(self) -> str:
        """What a maximum of measured errors shows."""
        top, split = self._largest
        above = top.value / self.each - 1
        said = (
            f"The largest of the {self.case.truth.size} measured errors over {self.runs:,} runs is "
            f"{top}, where each is {format_number(self.each, 4)} in truth."
        )
        if above > 0:
            said += f" That is {format_number(100 * above, 2)} % too much"
            said += (
                ", and its standard error does not warn of it."
                if top.value - self.each > 2 * top.error
                else "."
            )
        if split is None:
            return said
        return said + (
            " One can choose the cell on one half of the runs and measure it on the other: then "
            f"the measurement no longer depends on the choice. It gives {split}, without a bias."
        )

    @property
    def gradient(self) -> float:
        """The worst sum of a cell's residuals, weighted relative to a cell's own, in counts."""
        m = self.case.measurements
        sets = zip(
            m.workload.query_sets, self.fitted.answers(), m.answers, m.variances, strict=True
        )
        total = sum(q.spread((x - a) / v) for q, x, a, v in sets)
        return float(np.abs(np.asarray(total)).max()) * self.case.noise.variance

    @property
    def certificate_said(self) -> str:
        """How well the conditions hold."""
        _, dual, gap = self._certified
        return (
            "Times the noise's variance, the worst sum of residuals over all cells and runs is at "
            f"most {at_most(self.gradient, 2)} records. Relative to the problem's scale the "
            f"gradient is at most {dual} and the duality gap at most {gap}. There is no constraint "
            "that could be violated."
        )


study = Findings.study
