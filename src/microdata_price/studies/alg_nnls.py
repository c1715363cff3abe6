"""Nonnegative least squares: what clipping adds to the sum, and what the fit takes off again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, at_most, format_number
from ..fitting import Fit, fit_nnls
from ..model.measurement import noise_for
from ..model.noise import Gaussian, Laplace
from ..model.privacy import ConcentratedDP, PureDP, level_of
from ..model.workload import Workload
from ..page.output import Caption
from ..theory.upper.projection import threshold
from .anatomy import Balance, balance, balanced_threshold, pulls, set_errors
from .cases import LABELS, Case, bench_case, short_case

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
class Findings:
    """What NNLS does to a small list and to a table of the benchmark.

    Parameters
    ----------
    guarantee
        The level.
    dataset
        The table's name.
    short, case
        The small list, measured once, and the table, measured in many runs.
    short_fit, fitted
        Their fits.
    growth
        The bias of lists with more and more empty cells.
    """

    guarantee: PureDP | ConcentratedDP
    dataset: str
    short: Case
    case: Case
    short_fit: Fit
    fitted: Fit
    growth: Growth

    @property
    def small(self) -> tuple[Array, tuple[float, Array], tuple[float, Array]]:
        """The small list: true cells, then noisy and fitted sum and cells, in counts."""
        noisy, cells = self.short.measurements.answers, self.short_fit.cells[0]
        return self.short.truth, (float(noisy[0][0, 0]), noisy[1][0]), (float(cells.sum()), cells)

    @property
    def one_run(self) -> tuple[Array, Array, NDArray[np.bool_], float]:
        """The table in the first run: noisy and fitted cells, which are empty, the noise's size."""
        case = self.case
        return case.noisy_cells[0], self.fitted.cells[0], case.empty, case.noise.std

    @cached_property
    def parts(self) -> Balance:
        """Where the records go."""
        return balance(self.case, self.fitted.cells)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The errors of each query set."""
        return set_errors(self.case, [self.fitted]).set_index("query set")

    @property
    def of_sum(self) -> dict[str, float]:
        """The errors of the sum."""
        return {str(k): float(v.loc["sum"]) for k, v in self.frame.drop(columns="method").items()}

    @cached_property
    def taken(self) -> tuple[Array, ...]:
        """What each aggregate query takes off its cells, in counts."""
        return pulls(self.case, self.fitted)

    @property
    def bias(self) -> Mean:
        """Of the sum, in counts."""
        return self.parts.total

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
        where = f"On `{self.dataset}` under {self.guarantee.describe(math=True)}"
        of_sum = self.of_sum
        ratio = format_number(of_sum["ratio"], se=of_sum["ratio error"])
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
    def balance_picture(self) -> Caption:
        """What is said about where the records go."""
        p = self.parts
        sampled = format_number(p.clipped_empty.value + p.clipped_full.value)
        return Caption(
            f"Where the records go, on average over {self.case.measurements.runs:,} runs. "
            f"Clipping alone would make the sum {sampled} records too large (exactly "
            f"{format_number(p.exact_empty + p.exact_full)}); after NNLS {p.total} remain.",
            alt="A waterfall of bars: what clipping adds in empty cells and in others, what the "
            "fit then changes in either, and the error of the sum that remains, "
            f"{format_number(p.total.value)} records.",
        )

    @property
    def per_cell(self) -> float:
        """What clipping adds to an empty cell on average, exactly, in counts."""
        return float(self.case.noise.excess(0.0).first)

    @property
    def clipping_said(self) -> str:
        """What clipping adds, and what it means for the sum's error."""
        of_sum, empty = self.of_sum, int(self.case.empty.sum())
        error = format_number(of_sum["error"], se=of_sum["standard error"])
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
    def errors(self) -> pd.DataFrame:
        """The errors of each query set as text."""
        f = self.frame
        return pd.DataFrame(
            {
                "query set": [LABELS[str(q)] for q in f.index],
                "squared error": [
                    format_number(v, se=s)
                    for v, s in zip(f["error"], f["standard error"], strict=True)
                ],
                "over OLS": [
                    format_number(v, se=s)
                    for v, s in zip(f["ratio"], f["ratio error"], strict=True)
                ],
            }
        )

    @property
    def errors_caption(self) -> str:
        """What is said about the table of errors."""
        return (
            f"Total expected squared error of NNLS over {self.case.measurements.runs:,} runs, and "
            "over OLS's exact one."
        )

    @property
    def certificate_said(self) -> str:
        """How well the conditions hold."""
        c = self.fitted.certificate
        primal, dual, gap = (at_most(float(v.max()), 2) for v in (c.primal, c.dual, c.gap))
        return (
            f"Over all runs $a_i - g_i$ exceeds zero at a zero cell by at most "
            f"{at_most(self.slack, 2)} records. Relative to the problem's scale, constraints are "
            f"violated by at most {primal}, the gradient by {dual}, and the duality gap is at most "
            f"{gap}."
        )


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


def study(
    dataset: str = "PUMA1304600",
    privacy: str = "pure",
    epsilon: float = 0.5,
    rho: float = 0.125,
    runs: int = 1000,
    seed: int = 1,
) -> Findings:
    """Fit the small list and a table of the benchmark by NNLS.

    Parameters
    ----------
    dataset
        A table of the benchmark.
    privacy
        ``"pure"`` or ``"zcdp"``.
    epsilon, rho
        The level of the one and of the other.
    runs
        Repetitions of the whole release, 2 or more.
    seed
        Of the noise.

    Raises
    ------
    InputError
        An unknown table or kind of privacy, a level out of range, or a single run.

    Examples
    --------
    >>> study(runs=2).formula_gap < 1e-6
    True
    """
    guarantee = level_of(privacy, rho if privacy == ConcentratedDP.kind else epsilon)
    short = short_case(guarantee, seed=seed)
    _, case = bench_case(dataset, guarantee, runs=runs, seed=seed)
    fits = fit_nnls(short.measurements), fit_nnls(case.measurements)
    return Findings(guarantee, dataset, short, case, *fits, grow(guarantee, seed))
