"""Nonnegative least squares: what clipping adds to the sum, and what the fit takes off again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..base.numbers import Mean, at_most, format_number
from ..model.measurement import noise_for
from ..model.noise import Gaussian, Laplace
from ..model.privacy import ConcentratedDP, PureDP
from ..model.workload import Workload
from ..page.output import Caption
from ..theory.upper.projection import threshold
from .anatomy import balanced_threshold, pulls
from .cases import LABELS
from .one_method import OneMethod

Array = NDArray[np.float64]

COUNTS = (10, 30, 100, 300, 1000, 3000, 10_000)
"""Numbers of empty cells at which the bias is measured."""

LARGE = 1000.0
"""The large cell of these lists, in standard deviations of the noise."""


@dataclass(frozen=True, eq=False)
class Growth:
    """The bias of the sum against the number of empty cells, beside one large cell (ours).

    Parameters
    ----------
    counts
        How many cells are empty.
    clipped
        The exact bias of clipping alone, in counts.
    measured
        NNLS's bias, in counts.
    predicted
        From `anatomy.balanced_threshold`, in counts.
    std
        Standard deviation of the noise, in counts.
    """

    counts: Array
    clipped: Array
    measured: tuple[Mean, ...]
    predicted: Array
    std: float

    @property
    def values(self) -> tuple[Array, Array]:
        """NNLS's bias and its standard error, in counts."""
        return np.array([m.value for m in self.measured]), np.array(
            [m.error for m in self.measured]
        )

    @property
    def picture(self) -> Caption:
        """What is said about the picture of the growth."""
        first, last = self.measured[0], self.measured[-1]
        return Caption(
            f"One large cell among empty ones, equal noise on cells and sum. From {COUNTS[0]} to "
            f"{COUNTS[-1]:,} empty cells the bias of NNLS's sum rises from {first} to {last} "
            f"records (dashed: predicted); that of clipping alone reaches "
            f"{format_number(float(self.clipped[-1]))}. The noise has a standard deviation of "
            f"{format_number(self.std)}.",
            alt="On logarithmic axes, the bias of the sum by clipping alone rises in proportion to "
            "the number of empty cells. That of NNLS rises slowly, along a dashed line of "
            "predicted values.",
        )


@dataclass(frozen=True, eq=False)
class Findings(OneMethod):
    """What NNLS does to a small list and to a table of the benchmark.

    Parameters
    ----------
    growth
        The bias of lists with more and more empty cells.

    Examples
    --------
    >>> study(runs=2).formula_gap < 1e-6
    True
    """

    method: ClassVar[str] = "nnls"

    growth: Growth

    @cached_property
    def taken(self) -> tuple[Array, ...]:
        """What each aggregate query takes off its cells, in counts."""
        return pulls(self.case, self.fitted)

    @property
    def formula_gap(self) -> float:
        """The largest deviation of a cell from its formula, in counts."""
        expected = np.maximum(self.case.noisy_cells - sum(self.taken), 0)
        return float(np.abs(self.fitted.cells - expected).max())

    @property
    def slack(self) -> float:
        """By how much the condition on a zero cell is violated at most, in counts."""
        total = np.asarray(sum(self.taken))
        wrong = np.where(self.fitted.cells == 0, self.case.noisy_cells - total, 0.0)
        return max(0.0, float(wrong.max()))

    @property
    def opening(self) -> str:
        """What was found."""
        where, ratio = f"On {self._where}", self.ratio()
        if self.bias.surely_above(0):
            return (
                f"**NNLS makes the sum too large.** {where} it comes out {self.bias} records too "
                f"large on average, and its squared error is {ratio} times that of OLS."
            )
        return (
            f"**NNLS leaves this sum nearly alone.** {where} its bias, {self.bias} records, is not "
            f"clearly above zero. Its squared error is {ratio} times that of OLS."
        )

    @property
    def _short_level(self) -> float:
        return float(pulls(self.short, self.short_fit)[0][0, 0])

    @property
    def small_picture(self) -> Caption:
        """What is said about the picture of the small list."""
        g, zeros = self._short_level, int((self.short_fit.cells[0] == 0).sum())
        up, down = ("above", "below") if g > 0 else ("below", "above")
        return Caption(
            f"The threshold here is {format_number(g, 2)} records: the sum is fitted that far "
            f"{up} its noisy answer, all positive cells as far {down} theirs, and {zeros} of "
            f"{self.short.truth.size} cells are zero.",
            alt="Grey bars for a sum and eight true cells, crosses for noisy answers, circles for "
            f"fitted ones. The sum moves {'up' if g > 0 else 'down'}, every cell above zero moves "
            f"{'down' if g > 0 else 'up'} by as much, and {zeros} cells are zero.",
        )

    @property
    def response_picture(self) -> Caption:
        """What is said about the cells of one run."""
        noisy, row = self.one_run[:2]
        zero, lower = int((row == 0).sum()), int((row[row > 0] < noisy[row > 0]).sum())
        return Caption(
            f"One run on `{self.dataset}`: {zero} of {row.size} cells become zero. Of those that "
            f"stay above zero, {lower} of {int((row > 0).sum())} are lower than measured.",
            alt=f"Fitted against noisy cells in one run. {zero} of {row.size} cells lie on the "
            "zero line, whether really empty or not; the others lie near the diagonal.",
        )

    @property
    def formula_said(self) -> str:
        """That the formula of the lemma holds with more thresholds."""
        names = self.case.workload.names
        which = "its row's, its column's and the sum's thresholds"
        if len(names) == 2:
            which = "the sum's threshold"
        means = ", ".join(
            f"{LABELS[n]} {Mean.of(p.mean(axis=1))}"
            for n, p in zip(names, self.taken, strict=False)
        )
        zero = self.fitted.cells == 0
        lost = Mean.of(zero[:, ~self.case.empty].sum(axis=1))
        return (
            f"Here $g_i$ is the sum of {which}. Over all cells and runs no cell differs from the "
            f"formula by more than {at_most(self.formula_gap, 2)} records. On average the "
            f"aggregates are fitted above their noisy answers by, in records: {means}. In all, "
            f"{format_number(100 * float(zero.mean()))} % of the cells become zero. Among them "
            f"are {lost} of the {int((~self.case.empty).sum())} that do hold records."
        )

    @property
    def per_cell(self) -> float:
        """What clipping adds to an empty cell on average, exactly, in counts."""
        return float(self.case.noise.excess(0.0).first)

    @property
    def clipping_said(self) -> str:
        """What clipping adds, and what it means for the sum's error."""
        of_sum, empty = self.of_sum, int(self.case.empty.sum())
        error = self.error()
        share = format_number(100 * min(of_sum["bias"] ** 2 / of_sum["error"], 1.0), 2)
        said = (
            f"An empty cell gains {format_number(self.per_cell)} records by clipping, the {empty} "
            f"empty cells together {format_number(self.per_cell * empty)}, exactly. "
        )
        if self.bias.surely_above(0):
            return said + (
                f"After the fit the sum is too large by {self.bias} records on average. Its "
                f"squared error is {error}, and {share} % of it is the square of the bias: an "
                "error that no averaging over releases removes."
            )
        return said + (
            f"On this table the bias after the fit is not clear of zero: {self.bias} records. "
            f"The squared error of the sum is {error}."
        )

    @property
    def growth_said(self) -> str:
        """How the bias grows, and who shares it."""
        worst = float(np.abs(self.growth.predicted / self.growth.values[0] - 1).max())
        law = (
            "its own grows about like the logarithm of that number, as the extremes of Laplace "
            "noise do"
        )
        if isinstance(self.guarantee, ConcentratedDP):
            law = (
                "its own grows more slowly than the logarithm of that number, as the extremes of "
                "Gaussian noise do"
            )
        shared = ", ".join(
            f"{format_number(balanced_threshold(self.case.noise, 1000, k))} with {k}"
            for k in (1, 10, 50)
        )
        return (
            "NNLS does much better than clipping, whose bias is proportional to the number of "
            f"empty cells; {law} (we observe this). The prediction is within "
            f"{at_most(100 * worst, 2)} % of what is measured. It also says who shares the bill. "
            "With a thousand empty cells, and noise as on the table above, the predicted bias of "
            f"the sum is, in records, {shared} large cells. Each of these cells loses that much."
        )

    @property
    def certificate_said(self) -> str:
        """How well the conditions hold."""
        _, dual, gap = self._certified
        over = (
            "Over all runs $a_i - g_i$ exceeds zero at a zero cell by at most "
            f"{at_most(self.slack, 2)} records."
        )
        if self.slack == 0:
            over = "In no run does $a_i - g_i$ exceed zero at a zero cell."
        return (
            f"{over} Relative to the problem's scale, {self._certified.constraints}, the gradient "
            f"misses its condition by at most {dual}, and the duality gap is at most {gap}."
        )

    @classmethod
    def _own(cls, given: OneMethod) -> tuple[Any, ...]:
        return (grow(given.guarantee, given.seed),)


def grow(guarantee: PureDP | ConcentratedDP, seed: int) -> Growth:
    """Measure the bias of the sum on lists with one large cell and more and more empty ones.

    Examples
    --------
    >>> round(float(grow(PureDP(0.5), 1).predicted[0]), 2)
    3.83
    """
    noise = noise_for(Workload.table(2), guarantee)[0]
    assert isinstance(noise, (Laplace, Gaussian))
    large, rng, measured = LARGE * noise.std, np.random.default_rng(seed), []
    for n in COUNTS:
        runs = min(400, 400_000 // n)
        cells = noise.sample(rng, (runs, n + 1)) + np.r_[large, np.zeros(n)]
        totals = large + noise.sample(rng, runs)
        measured.append(Mean.of(threshold(cells, totals, weight=1.0)))
    counts = np.array(COUNTS, dtype=float)
    predicted = np.array([balanced_threshold(noise, n, 1) for n in COUNTS])
    clipped = counts * float(noise.excess(0.0).first)
    return Growth(counts, clipped, tuple(measured), predicted, noise.std)


study = Findings.study
