"""Reweighted fitting: which answers are low, what their weights do, and what the paper leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, at_most, format_number
from ..fitting import Fit, Rules, fit_reweighted, reweighting
from ..fitting.reweighted import CONFIDENCE, Reweighting
from ..model.noise import max_quantile
from ..model.privacy import ConcentratedDP, PureDP
from ..page.output import Caption
from .cases import LABELS, Case, bench_case
from .one_method import OneMethod, percent

Array = NDArray[np.float64]

HERE = "as here"
VARIANTS = {
    HERE: Rules(),
    "draws: rank of the cutoff": Rules(draws="cutoff"),
    "downweight at least 0.1": Rules(least_downweight=0.1),
    "median in noises, not records": Rules(unit="noise"),
}
"""Readings of what the paper leaves open."""

_PLACES = ("this level", "little noise")

Ranked = tuple[Array, Array, float, NDArray[np.bool_], float]
"""A query set's noisy answers, what is rarely reached, the cutoff, which are 0, and the noise."""


@dataclass(frozen=True)
class Effect:
    """What another reading changes (ours).

    Parameters
    ----------
    changed
        In which share of the runs some cell differs by more than a millionth of the noise.
    of_sum, of_cells
        Squared error of the sum, and total of the cells, in squared counts.
    difference
        Mean change of the latter run by run.
    """

    changed: float
    of_sum: Mean
    of_cells: Mean
    difference: Mean


@dataclass(frozen=True, eq=False)
class Findings(OneMethod):
    """What reweighted fitting does to a small list and to a table of the benchmark.

    Parameters
    ----------
    short_steps, steps
        What Algorithm 2 makes of each query set.
    finer, finer_std
        The level with little noise, and the noise's standard deviation there, in counts.
    effects
        By place (this level, little noise) and reading.
    fits
        All fits behind them.

    Examples
    --------
    >>> found = study(runs=2)
    >>> found.finer
    PureDP(epsilon=10.0)
    """

    method: ClassVar[str] = "reweighted"

    short_steps: tuple[Reweighting, ...]
    steps: tuple[Reweighting, ...]
    finer: PureDP | ConcentratedDP
    finer_std: float
    effects: dict[tuple[str, str], Effect]
    fits: tuple[Fit, ...]

    @property
    def opening(self) -> str:
        """What was found."""
        truth = self.case.truth.sum()
        ours, theirs = ((f.cells.sum(axis=1) - truth) ** 2 for f in (self.fitted, self.nnls))
        gain = Mean.of(theirs - ours)
        ratio, nnls = self.ratio(), self.ratio("sum", "nnls")
        if gain.surely_above(0):
            some = "most" if ratio.value - 1 <= 0.5 * (nnls.value - 1) else "part"
            finding = f"Reweighting mends {some} of what NNLS does to the sum."
            if nnls.value <= 1:
                finding = "Reweighting answers the sum still better than NNLS does here."
        elif gain.times(-1).surely_above(0):
            finding = "Reweighting answers the sum worse than NNLS does here."
        else:
            finding = "Reweighting makes no clear difference to this sum."
        return (
            f"**{finding}** On {self._where} the sum's squared error is {ratio} times that of OLS, "
            f"where NNLS has {nnls} times. The method holds no answer fixed: it changes weights, "
            "and adds sums of answers as further queries."
        )

    def _cutoff(self, i: int) -> Ranked:
        answers, std = self.case.measurements.answers[i][0], self.case.noise.std
        level = max_quantile(self.case.noise, np.arange(1.0, answers.size + 1), 1 - CONFIDENCE)
        truth = self.case.workload.answers(self.case.table)[i]
        return answers, level, float(self.steps[i].cutoff[0]), truth == 0, std

    def _cutoff_picture(self, i: int) -> Caption:
        answers, _, cut, empty, _ = self._cutoff(i)
        low = self.steps[i].low[0]
        inside, name = int((low & ~empty).sum()), LABELS[self.steps[i].name]
        what = (
            f"the cutoff is {format_number(cut)} records"
            if np.isfinite(cut)
            else "no answer stands out, so there is no cutoff"
        )
        return Caption(
            f"The {name} in one run of `{self.dataset}`: {what}. Of {answers.size} answers "
            f"{int(low.sum())} are low; of these {inside} {_are(inside)} not zero in truth.",
            alt=f"The noisy {name} of one run in rising order, with a dashed curve for what the "
            f"largest of so many noises rarely reaches. {int(low.sum())} of {answers.size} answers "
            f"are low; of these {inside} {_are(inside)} not really zero.",
        )

    @property
    def cells_cutoff(self) -> Ranked:
        """The cells of the first run."""
        return self._cutoff(-1)

    @property
    def cells_cutoff_picture(self) -> Caption:
        """What is said about them."""
        return self._cutoff_picture(-1)

    @property
    def rows_cutoff(self) -> list[tuple[Ranked, Caption]]:
        """The rows of the first run, and what is said about them; nothing on a list."""
        if self.case.table.ndim == 1:
            return []
        return [(self._cutoff(1), self._cutoff_picture(1))]

    @cached_property
    def _several(self) -> list[Reweighting]:
        sets = zip(self.steps, self.case.workload.query_sets, strict=True)
        return [w for w, q in sets if q.size > 1]

    @property
    def steps_table(self) -> pd.DataFrame:
        """Algorithm 2 in the first run."""
        rows = []
        for w in self._several:
            n, down, cut = int(w.low_count[0]), float(w.downweight[0]), float(w.cutoff[0])
            rows.append(
                {
                    "query set": LABELS[w.name],
                    "cutoff": cut if np.isfinite(cut) else np.nan,
                    "low": n,
                    "queries": w.low.shape[1],
                    "downweight": down if n else np.nan,
                    "weight of a low one": 1 / (2 * down**2) if n else np.nan,
                    "sum of the low ones": float(w.low_sum[0]) if n else np.nan,
                    "weight of that sum": 1 / (2 * n) if n else np.nan,
                }
            )
        return pd.DataFrame(rows)

    @property
    def steps_caption(self) -> str:
        """What is said about it."""
        return (
            f"Algorithm 2 in one run of `{self.dataset}`. Weights are relative to that of an "
            "answer that is not low. A dash: no such thing."
        )

    @property
    def low_said(self) -> str:
        """How many cells are low."""
        cells, full = self.steps[-1], ~self.case.empty
        missed = Mean.of((cells.low & full).sum(axis=1))
        cut = float(np.median(cells.cutoff))
        said = (
            f"Over all runs on {self._where}, {Mean.of(cells.low_count)} of "
            f"{self.case.truth.size} cells are low on average, among them {missed} of the "
            f"{int(full.sum())} that hold records. "
        )
        if np.isfinite(cut):
            return said + f"The median cutoff of the cells is {format_number(cut)} records."
        return said + "In half of the runs or more no cell stands out, and there is no cutoff."

    @property
    def pull_said(self) -> str:
        """How much more a low cell moves than another."""
        pull = float(np.median(2 * self.steps[-1].downweight ** 2))
        said = (
            f"By its own weight a low cell yields {format_number(pull)} times as far to the same "
            "pull as one that is not low (the median over the runs of $2w^2$). "
        )
        if pull > 10:
            return said + "So it is the low cells that give way, as far as their sum allows."
        return said + "So at this level low cells are treated not very differently."

    @property
    def small_picture(self) -> Caption:
        """What is said about the picture of the small list."""
        low = self.short_steps[-1].low[0]
        moved = np.abs(self.short_fit.cells - self.short.noisy_cells)[0]
        n, size = int(low.sum()), low.size
        parts = []
        if n < size:
            parts.append(f"those that are not low move by up to {_top(moved[~low])} records")
        if n:
            parts.append(f"the low ones move by up to {_top(moved[low])} records")
        zeros = int((self.short_fit.cells[0] == 0).sum())
        told = ", ".join(parts)
        return Caption(
            f"A list of {size} cells, {n} of them low. {told[0].upper()}{told[1:]}.",
            alt="Grey bars for a sum and eight true cells, crosses for noisy answers, filled "
            f"crosses for fitted ones. Of the cells {n} are low, and {zeros} are fitted to zero.",
        )

    @property
    def response_picture(self) -> Caption:
        """What is said about the cells of one run."""
        noisy, row = self.one_run[:2]
        zero, clear = int((row == 0).sum()), ~self.steps[-1].low[0]
        said = f"One run on `{self.dataset}`: {zero} of {row.size} cells become zero."
        if clear.any():
            moved = float(np.abs(row - noisy)[clear].mean())
            said += (
                f" Those that are not low, {int(clear.sum())} in number, move by "
                f"{format_number(moved, 2)} records on average."
            )
        return Caption(
            said,
            alt=f"Fitted against noisy cells in one run. {zero} of {row.size} cells lie on the "
            "zero line; the largest lie near the diagonal.",
        )

    @property
    def worst_said(self) -> str:
        """What is wrong with the worst cell."""
        top = self.worst.iloc[0]
        bias = Mean(float(top["bias"]), float(top["bias error"]))
        squares = ((self.fitted.cells - self.case.truth) ** 2).mean(axis=0)
        cell = int(np.argsort(-squares, kind="stable")[0])
        low = float(self.steps[-1].low[:, cell].mean())
        said = (
            f"The worst cell's true count is {format_number(top['truth'])}. It is low in "
            f"{percent(low)} of the runs, and its mean error is {bias} records. "
        )
        if low > 0.5 and bias.value < -4 * bias.error:
            return said + (
                "As a low cell it is pulled towards zero with the empty ones. That is the weak "
                "spot of the method: counts that are clearly there, but not clearly enough to "
                "stand out among so many."
            )
        if low > 0.5 and bias.surely_above(0):
            return said + (
                "A low cell has little weight of its own, so it takes up what the aggregates leave "
                "over."
            )
        return said + "It is not one that being low clearly hurts."

    @property
    def open_table(self) -> pd.DataFrame:
        """How often the open cases arise."""
        rows = []
        for w in self._several:
            low = w.low_count
            shares = {
                "no answer stands out": np.isinf(w.cutoff),
                "every answer does": low == 0,
                "one low answer": low == 1,
                "median at most one record": (low > 0) & (w.downweight == 1.0),
            }
            rows.append(
                {
                    "query set": LABELS[w.name],
                    **{k: percent(float(v.mean())) for k, v in shares.items()},
                }
            )
        return pd.DataFrame(rows)

    @property
    def open_caption(self) -> str:
        """What is said about it."""
        return f"How often the open cases arise on `{self.dataset}`, in {self.runs:,} runs."

    @property
    def twice_said(self) -> str:
        """At which levels the readings are compared."""
        return (
            "What follows is measured twice: at this page's level, and under "
            f"{self.finer.describe(math=True)}. There the noise has a standard deviation of "
            f"{format_number(self.finer_std)} records. The bound of 1 and the unit matter where "
            "the noise is small against one record."
        )

    @property
    def variants(self) -> pd.DataFrame:
        """The errors under each reading."""
        return pd.DataFrame(
            {
                "noise": place,
                "rule": label,
                "runs changed": percent(e.changed),
                "sum": str(e.of_sum),
                "cells": str(e.of_cells),
                "cells, change": "–" if label == HERE else str(e.difference),
            }
            for (place, label), e in self.effects.items()
        )

    @property
    def variants_caption(self) -> str:
        """What is said about them."""
        return (
            "Expected squared error of the sum and total of the cells under each reading, over "
            f"{self.runs:,} runs on the same noise, and the mean change in the cells run by run."
        )

    def _judge(self, place: str, label: str) -> str:
        e = self.effects[place, label]
        if e.changed == 0:
            return "changes nothing"
        before = e.of_cells.value - e.difference.value
        share = f"{format_number(100 * abs(e.difference.value) / before, 2)} %"
        if abs(e.difference.value) <= 4 * e.difference.error:
            return f"changes the cells' error by {share}, which is not clear of chance"
        return f"{'raises' if e.difference.value > 0 else 'lowers'} the cells' error by {share}"

    @property
    def variants_said(self) -> str:
        """What each reading changes in the cells' total error."""
        names = ("The other number of draws", "A lower bound of 0.1", "The median in noises")
        return "\n".join(
            f"- **{name}.** At this level it {self._judge(_PLACES[0], label)}; with little noise "
            f"it {self._judge(_PLACES[1], label)}."
            for name, label in zip(names, list(VARIANTS)[1:], strict=True)
        )

    @property
    def certificate_said(self) -> str:
        """How well the conditions hold."""
        _, dual, gap = self._certified
        held = self._certified.constraints
        return (
            f"{held[0].upper()}{held[1:]}, the gradient misses its condition by at most {dual}, "
            f"and the duality gap is at most {gap}, all relative to the problem's scale."
        )

    @classmethod
    def _own(cls, given: OneMethod) -> tuple[Any, ...]:
        finer = given.guarantee.scaled(20**given.guarantee.norm)  # noise of a twentieth of the size
        _, quiet = bench_case(given.dataset, finer, runs=given.runs, seed=given.seed)
        effects, fits = compare(dict(zip(_PLACES, (given.case, quiet), strict=True)))
        steps = reweighting(given.short.measurements), reweighting(given.case.measurements)
        return *steps, finer, quiet.noise.std, effects, tuple(fits)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _top(moved: Array) -> str:
    return at_most(float(moved.max()), 2)


def compare(cases: dict[str, Case]) -> tuple[dict[tuple[str, str], Effect], list[Fit]]:
    """Fit the same noisy answers under each reading of the paper.

    Parameters
    ----------
    cases
        By place.

    Examples
    --------
    >>> case = bench_case("Level00-1d", PureDP(0.5), runs=5, seed=1)[1]
    >>> effects, _ = compare({"here": case})
    >>> effects["here", HERE].changed
    0.0
    """
    effects, fits = {}, []
    for place, case in cases.items():
        base = fit_reweighted(case.measurements)
        squares = ((base.cells - case.truth) ** 2).sum(axis=1)
        for label, rules in VARIANTS.items():
            fit = base if label == HERE else fit_reweighted(case.measurements, rules=rules)
            fits.append(fit)
            changed = np.abs(fit.cells - base.cells).max(axis=1) > 1e-6 * case.noise.std
            of_cells = ((fit.cells - case.truth) ** 2).sum(axis=1)
            effects[place, label] = Effect(
                float(changed.mean()),
                Mean.of((fit.cells.sum(axis=1) - case.truth.sum()) ** 2),
                Mean.of(of_cells),
                Mean.of(of_cells - squares),
            )
    return effects, fits


study = Findings.study
