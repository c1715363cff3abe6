"""Sequential fitting: what each stage settles, the sum's exact error, who pays, and the order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, at_most, format_number, listed
from ..fitting import Fit, fit_sequential, sequential_stages
from ..fitting.sequential import Stage
from ..page.output import Caption
from ..theory.upper.exact_errors import clipped, clipped_sum
from ..theory.upper.projection import threshold
from .anatomy import set_errors
from .cases import LABELS, reordered
from .one_method import OneMethod, percent

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Findings(OneMethod):
    """What sequential fitting does to a small list and to a table of the benchmark.

    Parameters
    ----------
    stages
        The stages on the table.
    by_order
        Fits to the same noisy answers by order of priority: the paper's order first, the cells
        before everything else last.

    Examples
    --------
    >>> found = study(runs=2)
    >>> [s.queries.name for s in found.stages]
    ['sum', 'marginal1', 'marginal2', 'identity']
    """

    method: ClassVar[str] = "sequential"

    stages: tuple[Stage, ...]
    by_order: dict[tuple[str, ...], Fit]

    @cached_property
    def true_answers(self) -> tuple[Array, ...]:
        """The true answers, one array a query set, in counts."""
        return tuple(self.case.workload.answers(self.case.table))

    @property
    def sum_exact(self) -> float:
        """The expected squared error of the sum, in squared counts."""
        return float(clipped(self.case.noise, float(self.case.truth.sum())).squared_error)

    @property
    def gained(self) -> Mean:
        """What the cells that hold records gain in all, in counts."""
        errors = self.fitted.cells - self.case.truth
        return Mean.of(errors[:, ~self.case.empty].sum(axis=1))

    @property
    def opening(self) -> str:
        """What was found."""
        lost = self.gained.times(-1)
        pays = "; cells that hold records pay for it" if lost.surely_above(0) else ""
        return (
            f"**The sum is no worse than its noise{pays}.** On {self._where} its expected squared "
            f"error is {format_number(self.sum_exact)} squared records, exactly, where the noise's "
            f"variance is {format_number(self.case.noise.variance)}. Under NNLS it is "
            f"{self.error('sum', 'nnls')}. The cells that hold records lose {lost} of them in all, "
            "on average."
        )

    @property
    def small_picture(self) -> Caption:
        """What is said about the picture of the small list."""
        noisy, cells = self.short.measurements.answers, self.short_fit.cells[0]
        total = max(float(noisy[0][0, 0]), 0.0)
        gamma = float(threshold(noisy[1][0], total))
        kept = int((cells > 0).sum())
        way = "below" if gamma > 0 else "above"
        return Caption(
            f"The sum is settled first, at {format_number(total)} records. Then one threshold, "
            f"{format_number(gamma)} records, makes the cells add up to it: {kept} of "
            f"{cells.size} stay above zero.",
            alt="Grey bars for a sum and eight true cells, crosses for noisy answers, diamonds for "
            f"fitted ones. The fitted sum is {format_number(float(cells.sum()))}; {kept} cells are "
            f"above zero, each {format_number(abs(gamma), 2)} records {way} its noisy answer.",
        )

    @property
    def stage_parts(self) -> list[tuple[str, Array, Array, Array]]:
        """The first run's stages but the sum: name, noisy, fitted and true answers, in counts."""
        m = self.case.measurements
        return [
            (LABELS[s.queries.name], m.answers[i][0], s.answers[0], self.true_answers[i])
            for i, s in enumerate(self.stages)
            if i > 0
        ]

    @property
    def stages_picture(self) -> Caption:
        """What is said about the stages of one run."""
        told = " ".join(
            f"{name.capitalize()}: {int((noisy < 0).sum())} of {noisy.size} noisy answers are "
            f"negative, and {int((fitted == 0).sum())} are fitted to zero."
            for name, noisy, fitted, _ in self.stage_parts
        )
        short = " ".join(
            f"{name.capitalize()}: {int((fitted == 0).sum())} of {fitted.size} fitted to zero."
            for name, _, fitted, _ in self.stage_parts
        )
        return Caption(
            f"One run on `{self.dataset}` after the sum is settled. {told}",
            alt="Panels of noisy answers (crosses), fitted answers (diamonds) and true ones "
            f"(bars), sorted by noisy answer. {short}",
        )

    @property
    def pinned_said(self) -> str:
        """What the marginals settle about the cells."""
        if self.case.table.ndim != 2:
            return "A list has no marginals, so the cells are fitted right after the sum."
        rows, columns = (s.answers == 0 for s in self.stages[1:3])
        pinned = float((rows[:, :, None] | columns[:, None, :]).mean())
        return (
            f"A row or column that is fitted to zero settles all its cells: {percent(pinned)} of "
            "the cells, over all runs, are zero before their own noisy answers are looked at."
        )

    @property
    def stage_table(self) -> pd.DataFrame:
        """Each stage over all runs."""
        m, rows = self.case.measurements, []
        for i, s in enumerate(self.stages):
            rows.append(
                {
                    "stage": LABELS[s.queries.name],
                    "queries": s.queries.size,
                    "noisy answers below 0": percent(float((m.answers[i] < 0).mean())),
                    "fitted to 0": percent(float((s.answers == 0).mean())),
                    "squared error": str(
                        Mean.of(((s.answers - self.true_answers[i]) ** 2).sum(axis=1))
                    ),
                    "noise before": s.queries.size * m.variances[i],
                }
            )
        return pd.DataFrame(rows)

    @property
    def stage_table_caption(self) -> str:
        """What is said about it."""
        return (
            f"Each stage over {self.runs:,} runs: how many answers are negative as measured and "
            "zero as fitted, the stage's total squared error with its standard error, and that of "
            "the noisy answers themselves, exactly."
        )

    @property
    def response_picture(self) -> Caption:
        """What is said about the cells of one run."""
        row, empty = self.one_run[1], self.case.empty
        zero = int((row == 0).sum())
        return Caption(
            f"One run on `{self.dataset}`: {zero} of {row.size} cells become zero, "
            f"{int(((row == 0) & ~empty).sum())} of them although they hold records.",
            alt=f"Fitted against noisy cells in one run: {zero} of {row.size} cells lie on the "
            "zero line, the others near the diagonal or apart from it.",
        )

    @property
    def sum_said(self) -> str:
        """The exact error of the sum, and what was measured."""
        error = self.error()
        away = format_number((error.value - self.sum_exact) / error.error, 2)
        ols = float(self.frame["error"].loc["sum"] / self.frame["ratio"].loc["sum"])
        return (
            f"For {self._where} it is {format_number(self.sum_exact)}, the noise's variance being "
            f"{format_number(self.case.noise.variance)}. The measured value is {error}, "
            f"which is {away} standard errors away. The exact value is "
            f"{format_number(self.sum_exact / ols)} times that of OLS: the sum learns nothing "
            "from the other answers."
        )

    @property
    def worst_said(self) -> str:
        """Which of these cells is hit hardest."""
        low = self.worst.iloc[int(self.worst["bias"].to_numpy().argmin())]
        bias = Mean(float(low["bias"]), float(low["bias error"]))
        if bias.value < -4 * bias.error:
            return (
                f"Of these five cells, the one that is hit hardest in the mean holds "
                f"{format_number(low['truth'])} records and comes out {bias.times(-1)} too low."
            )
        return "None of these five cells is clearly too low here."

    @property
    def takes_said(self) -> str:
        """What the fit takes off, and from whom."""
        p = self.parts
        return (
            "The cells must add up to the settled sum, so what clipping adds has to come off "
            f"again. On average the fit changes the clipped empty cells by {p.taken_empty} records "
            f"in all, and the cells that hold records by {p.taken_full}."
        )

    @cached_property
    def _order_errors(self) -> dict[tuple[str, ...], pd.DataFrame]:
        # Each fit answers the query sets in its own order; the errors are asked for in ours.
        return {
            order: set_errors(self.case, [fit]).set_index("query set")
            for order, fit in self.by_order.items()
        }

    @property
    def orders(self) -> pd.DataFrame:
        """The errors under each order of priority."""
        rows = []
        for order, errors in self._order_errors.items():
            row = {"order": ", ".join(LABELS[n] for n in order)}
            for n in self.case.workload.names:
                value, error = errors["error"].loc[n], errors["standard error"].loc[n]
                row[LABELS[n]] = format_number(float(value), se=float(error))
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def orders_caption(self) -> str:
        """What is said about them."""
        return (
            "Total expected squared error of each query set under several orders of priority, over "
            f"{self.runs:,} runs on the same noise."
        )

    @property
    def orders_said(self) -> str:
        """What other orders change."""
        if self.case.table.ndim != 2:
            said = "On a list the first two orders are the same one, as there are no marginals."
        else:
            ours, theirs = list(self._order_errors.values())[:2]
            sets = [n for n in self.case.workload.names if n != "sum"]
            told = listed([f"{_quotient(theirs, ours, n)} ({LABELS[n]})" for n in sets])
            said = (
                "With the cells before the marginals, the marginals' own noisy answers are never "
                "used: the cells have already settled them. The measured squared errors are then, "
                f"over those in our order, {told}. The sum is the same in both."
            )
        last = list(self._order_errors.values())[-1]
        value, error = last["error"].loc["sum"], last["standard error"].loc["sum"]
        exact = format_number(clipped_sum(self.case.noise, self.case.truth))
        return said + (
            " With the cells first, nothing is left to decide: each is $\\max(0, a_i)$, and the "
            "sum is their sum. Its expected squared error is then "
            f"{format_number(float(value), se=float(error))}, and exactly {exact} (ours). The "
            "order *is* the trade-off between sum and cells."
        )

    @property
    def certificates(self) -> pd.DataFrame:
        """The worst certificate of each stage."""
        return pd.DataFrame(
            {
                "stage": [LABELS[s.queries.name] for s in self.stages],
                "violated constraint": [float(s.certificate.primal.max()) for s in self.stages],
                "violated gradient": [float(s.certificate.dual.max()) for s in self.stages],
                "duality gap": [float(s.certificate.gap.max()) for s in self.stages],
            }
        )

    @property
    def certificates_caption(self) -> str:
        """What is said about them."""
        return (
            f"The worst certificate of each stage over {self.runs:,} runs, relative to the scale "
            "of noise and counts."
        )

    @property
    def held(self) -> float:
        """The largest deviation of the last table from what the stages settled, in counts."""
        pairs = zip(self.fitted.answers(), self.stages, strict=True)
        return max(float(np.abs(a - s.answers).max()) for a, s in pairs)

    @property
    def held_said(self) -> str:
        """That the last table answers all earlier sets as they were settled."""
        return (
            "The last table still answers all earlier sets as they were settled: over all runs the "
            f"deviation is at most {at_most(self.held, 2)} records."
        )

    @classmethod
    def _own(cls, given: OneMethod) -> tuple[Any, ...]:
        m, names = given.case.measurements, given.case.workload.names
        marginals = tuple(n for n in names if n.startswith("marginal"))
        orders = (names, ("sum", "identity", *marginals), ("identity", "sum", *marginals))
        fits = {tuple(o): fit_sequential(reordered(m, o)) for o in dict.fromkeys(orders)}
        return sequential_stages(m), fits


def _quotient(above: pd.DataFrame, below: pd.DataFrame, query_set: str) -> Mean:
    """Return one mean error over another; its standard error counts them as independent."""
    a, b = (float(f["error"].loc[query_set]) for f in (above, below))
    da, db = (float(f["standard error"].loc[query_set]) for f in (above, below))
    return Mean(a / b, a / b * float(np.hypot(da / a, db / b)))


study = Findings.study
