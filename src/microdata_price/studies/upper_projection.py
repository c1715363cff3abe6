"""Fitting the sum: one level for all cells, its bracket, and how large a cell's error is."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, format_number, runs_within
from ..model.measurement import measure
from ..model.noise import Gaussian, Laplace
from ..model.privacy import ConcentratedDP, PureDP
from ..model.workload import Workload
from ..page.output import Caption
from ..theory.difficult import difficult_table
from ..theory.proofs.slack import Slack
from ..theory.proofs.steps import Step, steps_frame
from ..theory.upper.exact_errors import clipped
from ..theory.upper.extremes import extremes, lemma1
from ..theory.upper.fitted_errors import cell_errors
from ..theory.upper.projection import bracket, threshold
from ..theory.upper.upper_bounds import certified, equation_bound, item3, item4

Array = NDArray[np.float64]

_AT_ONCE = 4_000_000  # numbers held


RARE = 10  # runs in which something happened, below which a standard error is rough itself


@dataclass(frozen=True, eq=False)
class Runs:
    """What the mechanism did to one table, run after run; all in counts, shape (runs,).

    Parameters
    ----------
    level, low, high
        The level that is taken off every cell, and the ends of its bracket.
    first
        The fitted first cell.
    noise, sum_noise, largest
        The first cell's noise, the sum's, and the largest absolute noise of the cells.
    """

    level: Array
    low: Array
    high: Array
    first: Array
    noise: Array
    sum_noise: Array
    largest: Array


def sampled(table: Array, epsilon: float, runs: int, seed: int) -> Runs:
    """Run the mechanism of Theorem 4, item 3, on a table, a portion of the runs at a time.

    Examples
    --------
    >>> found = sampled(np.array([5.0, 0.0, 0.0]), 0.5, runs=50, seed=1)
    >>> bool((found.low <= found.level).all() and (found.level <= found.high).all())
    True
    """
    rng, workload = np.random.default_rng(seed), Workload.table(table.size)
    portion, parts = max(1, _AT_ONCE // table.size), []
    for done in range(0, runs, portion):
        count = min(portion, runs - done)
        answers = measure(table, workload, PureDP(epsilon), runs=count, rng=rng)
        total, cells = answers.answers[0][:, 0], answers.answers[1]
        z, z_sum = cells - table, total - table.sum()
        level, ends = threshold(cells, np.maximum(total, 0.0)), bracket(z, z_sum)
        first = np.maximum(cells[:, 0] - level, 0.0)
        rows = [level, ends.low, ends.high, first, z[:, 0], z_sum, np.abs(z).max(axis=1)]
        parts.append(np.stack([np.asarray(row) for row in rows]))
    return Runs(*np.concatenate(parts, axis=1))


@dataclass(frozen=True, eq=False)
class OneTable:
    """The mechanism on the difficult table, and on a table of large counts.

    Parameters
    ----------
    epsilon, d, q
        The level of privacy, the cells, and the records of the full one.
    sparse, dense
        The runs on the two tables.
    """

    epsilon: float
    d: int
    q: float
    sparse: Runs
    dense: Runs

    @property
    def runs(self) -> int:
        """How many runs were made on each table."""
        return self.sparse.level.size

    @property
    def noise(self) -> Laplace:
        """The noise of every answer."""
        return Laplace(2 / self.epsilon)

    @property
    def error(self) -> Mean:
        """The squared error of the full cell."""
        return Mean.of((self.sparse.first - self.q) ** 2)

    @property
    def exact(self) -> float:
        """The same by quadrature."""
        return cell_errors(self.noise, self.noise, self.d, count=self.q).squared_error

    @property
    def emptied(self) -> Mean:
        """In how many runs, in percent, the full cell comes out as exactly zero."""
        return Mean.of(100.0 * (self.sparse.first == 0))

    def holds(self) -> str:
        """Return what the full cell holds, in words."""
        return f"{format_number(self.q)} records" if self.q > 1 else "one record"

    @property
    def opening(self) -> str:
        """What was found."""
        verdict = "hardly less accurate than its signed answer"
        if self.exact > 12 / self.epsilon**2:
            verdict = "far less accurate than its signed answer"
        return (
            "Keep the sum as it was measured, and the cells have to give way. On a table of "
            f"{format_number(self.d)} cells with {self.holds()} in one of them, every noisy cell "
            f"loses {Mean.of(self.sparse.level)} records on average, or all it has. The full "
            f"cell is then {verdict}: its expected squared error is "
            f"{format_number(self.exact, 4)} in place of {format_number(8 / self.epsilon**2)}."
        )

    @functools.cached_property
    def chain(self) -> tuple[Mean, ...]:
        """The sides of the inequalities of the proof, from the cell's error upwards."""
        s = self.sparse
        return (
            self.error,
            Mean.of((s.noise - s.level) ** 2),
            Mean.of((np.abs(s.noise) + np.abs(s.sum_noise) + s.largest) ** 2),
            Mean.of((np.abs(s.sum_noise) + 2 * s.largest) ** 2),
        )

    @property
    def ends(self) -> tuple[float, float]:
        """The proof's last two sides: by exact moments, and by Lemma 1."""
        return (
            float(equation_bound(self.noise, extremes(self.noise, self.d))),
            float(equation_bound(self.noise, lemma1(self.noise, self.d))),
        )

    @property
    def slack(self) -> Slack:
        """What each step adds to the cell's exact squared error; the first two are sampled."""
        own, moved, bracketed, _ = (side.value for side in self.chain)
        last, lemma = self.ends
        lost = (moved - own, bracketed - moved, last - self.exact - (bracketed - own), lemma - last)
        names = ("clipping at zero", "the bracket", "the largest noise", "Lemma 1")
        return Slack(self.exact, tuple(zip(names, lost, strict=True)), "squared records")

    @property
    def bar(self) -> Caption:
        """What is said about the picture of the slack."""
        name, loss = self.slack.largest
        return Caption(
            f"The full cell's squared error is {format_number(self.exact)} squared records, and "
            f'the proof ends at {format_number(self.slack.allowed)}. The step "{name}" loses '
            f"most: {format_number(loss)}. Both ends are exact, the pieces between them are from "
            f"{self.sparse.level.size:,} runs.",
            alt="A bar cut into pieces, and below it each piece in a row of its own with its name "
            "and size in squared records. The first piece is the cell's squared error, the others "
            "are what each step of the proof adds.",
        )

    @property
    def steps(self) -> pd.DataFrame:
        """Every inequality of the proof."""
        names = (
            "E(x_1 - q_1)^2",
            "E(z_1 - \\gamma)^2",
            "E(|z_1| + |z_*| + \\max|z_j|)^2",
            "E(|z_*| + 2\\max|z_j|)^2",
        )
        steps = [
            Step(f"{n}: ${a} \\le {b}$", left.value, right.value, left.error)
            for n, ((a, left), (b, right)) in enumerate(
                itertools.pairwise(zip(names, self.chain, strict=True)), 1
            )
        ]
        last = "$E z_*^2 + 4E|z_*|E\\max|z_j| + 4E\\max z_j^2 \\le \\text{Lemma 1's}$"
        return steps_frame([*steps, Step(f"4 by exact moments, 5 by Lemma 1: {last}", *self.ends)])

    @property
    def steps_caption(self) -> str:
        """What is said about the table of steps."""
        return (
            "The chain of inequalities in the proof, on the difficult table with "
            f"{self.d:,} cells at ε = {format_number(self.epsilon)}, from "
            f"{self.sparse.level.size:,} runs with standard errors; the last line is exact."
        )

    @property
    def steps_said(self) -> str:
        """What the chain loses."""
        s = self.sparse
        inside = (s.level >= s.low - 1e-9) & (s.level <= s.high + 1e-9)
        where = f"in all {s.level.size:,} runs"
        if not inside.all():
            where = f"in {int(inside.sum()):,} of {s.level.size:,} runs only"
        verdict = (
            "At these values the cell is hardly less accurate than its signed answer; the proof's "
            "bound is far above both."
        )
        if self.exact > 12 / self.epsilon**2:
            verdict = (
                "So the full cell is far less accurate than its signed answer, and the proof is "
                "generous besides."
            )
        return (
            f"The level lies in its bracket {where}. The last sampled side of the chain is "
            f"{self.chain[-1]}, and {format_number(self.ends[0], 4)} exactly. The cell's squared "
            f"error is {self.error} (by quadrature {format_number(self.exact, 4)}), where a signed "
            f"answer has {format_number(8 / self.epsilon**2)}; the proof ends at "
            f"{format_number(self.ends[1] / self.exact, 2)} times the cell's real error. {verdict}"
            f"{self._rare_said}"
        )

    @property
    def _rare_said(self) -> str:
        """Whether few runs decide the sampled error, whose standard error is then rough itself."""
        kept = int((self.sparse.first > 0).sum())
        if kept >= RARE:
            return ""
        some = f"only {kept}" if kept else "none"
        return (
            f" The cell keeps something in {some} of {self.runs:,} runs; with so few the sampled "
            "error's own standard error is rough, and the exact value is the one to trust."
        )

    @property
    def bracket_means(self) -> tuple[float, float]:
        """The mean ends of the bracket."""
        return float(self.sparse.low.mean()), float(self.sparse.high.mean())

    @property
    def labels(self) -> list[str]:
        """What the two tables are called in the picture."""
        return [f"one cell of {self.q:g} records, {self.d - 1:,} empty", "all cells large"]

    @property
    def levels(self) -> Caption:
        """What is said about the picture of the level."""
        mean = float(self.sparse.level.mean())
        return Caption(
            f"The level over {self.sparse.level.size:,} runs. On the sparse table its mean is "
            f"{format_number(mean)} records: that is what every noisy cell loses, or all it has. "
            "Where all cells are large it is nearly zero. The bracket (mean ends dashed) is the "
            "same for both.",
            alt="Two histograms of the level between two dashed lines. On the sparse table it is "
            f"spread around {format_number(mean, 2)} records, on the table of large counts it is a "
            "narrow peak at zero.",
        )

    @property
    def levels_said(self) -> str:
        """Where the level lies on the two tables."""
        level, high = Mean.of(self.sparse.level), self.bracket_means[1]
        share = format_number(100 * level.value / high, 2)
        come = f"{format_number(self.q)} records come" if self.q > 1 else "one record comes"
        return (
            "On the sparse table the level has to take away the noise that clipping leaves above "
            f"zero in every empty cell. It is {level} on average, {share} % of the upper end of "
            f"its bracket, which is at {format_number(high)} on average. What it takes from the "
            f"empty cells it also takes from the full one, whose {come} out as exactly zero in "
            f"{self.emptied} % of the runs. Where all cells are large, the excesses cancel, and "
            f"the level is nearly nothing ({Mean.of(self.dense.level)}). The bracket cannot tell "
            "the two apart; it holds for every table and is reached by none of these."
        )


@dataclass(frozen=True, eq=False)
class Growth:
    """A cell's error against the number of cells: one large cell exactly, and two bounds.

    Parameters
    ----------
    epsilon, rho
        The two guarantees.
    sizes
        Numbers of cells, 3 or more, increasing.
    pure, zcdp
        The exact squared error of one very large cell among empty ones.
    """

    epsilon: float
    rho: float
    sizes: Array
    pure: Array
    zcdp: Array

    def table(self, zcdp: bool = False) -> tuple[pd.DataFrame, str]:
        """Return the errors and bounds under one guarantee, with the table's caption."""
        exact, unit, at = self.pure, 8 / self.epsilon**2, f"ε = {format_number(self.epsilon)}"
        sharp, paper = certified(PureDP(self.epsilon), self.sizes), item3(self.epsilon, self.sizes)
        if zcdp:
            exact, unit, at = self.zcdp, 1 / self.rho, f"ρ = {format_number(self.rho)}"
            sharp = certified(ConcentratedDP(self.rho), self.sizes)
            paper = item4(self.rho, self.sizes)
        frame = pd.DataFrame(
            {
                "d": [format_number(d) for d in self.sizes],
                "one large cell, exact": exact,
                "certified": sharp.C**2,
                "the paper's constants": paper.C**2,
                "exact / signed": exact / unit,
            }
        )
        return frame, (
            f"Squared error of a cell at {at}: on the table with one very large cell and the rest "
            "empty (by quadrature), the certified bound on all tables, and the paper's proof with "
            "every constant written out."
        )

    @property
    def curves(self) -> tuple[tuple[str, Array], ...]:
        """Root errors of a cell in units of 1/epsilon, each with its name."""
        e = self.epsilon
        return (
            ("the paper's constants", item3(e, self.sizes).C * e),
            ("certified, all tables", certified(PureDP(e), self.sizes).C * e),
            ("one large cell, exact", np.sqrt(self.pure) * e),
            ("signed answer", np.full(self.sizes.size, math.sqrt(8))),
        )

    @property
    def picture(self) -> Caption:
        """What is said about the picture of growth."""
        ratio = self.pure[-1] * self.epsilon**2 / 8
        return Caption(
            "What a cell pays for an accurate sum: a constant times $\\ln d$. At $d =$ "
            f"{format_number(self.sizes[-1])} one large cell among empty ones has "
            f"{format_number(ratio, 2)} times the squared error of a signed answer.",
            alt="Four curves against the logarithm of d, all nearly straight: the paper's bound is "
            "steepest, the certified one half as steep, the exact error of one large cell lower "
            "still, and a flat line for signed answers.",
        )

    @property
    def said(self) -> str:
        """How large the error of the single large cell is at the most cells."""
        pure, zcdp = self.pure[-1] * self.epsilon**2 / 8, self.zcdp[-1] * self.rho
        return (
            "The single large cell is the worst table that we have tested, not one that is proved "
            f"to be worst. At $d =$ {format_number(self.sizes[-1])} its squared error is "
            f"{format_number(pure, 2)} times that of a signed answer under pure DP and "
            f"{format_number(zcdp, 2)} times under zCDP."
        )

    @property
    def sums(self) -> pd.DataFrame:
        """The exact squared error of the fitted sum at several true sums."""
        noise, qs = Laplace(2 / self.epsilon), np.array([0.0, 1, 5, 20, 100, 1000])
        return pd.DataFrame(
            {
                "true sum": [format_number(q) for q in qs],
                "squared error": clipped(noise, qs).squared_error,
                "8/ε²": np.full(qs.size, 8 / self.epsilon**2),
            }
        )

    @property
    def sums_caption(self) -> str:
        """What is said about the table of sums."""
        return "Exact squared error of the fitted sum against the true sum."


def one_table(epsilon: float, d: int, runs: int, seed: int) -> OneTable:
    """Run the mechanism on the difficult table and on one of large counts.

    Examples
    --------
    >>> one_table(0.5, 50, runs=20, seed=1).holds()
    '8 records'
    """
    runs = runs_within(runs, d)
    table, big = difficult_table(d, epsilon), np.full(d, max(10.0**6, 10.0**4 / epsilon))
    return OneTable(
        epsilon,
        d,
        float(table.max()),
        sampled(table, epsilon, runs, seed),
        sampled(big, epsilon, runs, seed + 1),
    )


def growth(epsilon: float, rho: float, ds: Sequence[int]) -> Growth:
    """Return the exact error of one very large cell among empty ones, at several sizes.

    Examples
    --------
    >>> growth(0.5, 0.125, [2, 100]).sizes
    array([100.])
    """
    sizes = np.array(sorted({n for n in ds if n >= 3} or {3}), dtype=float)
    laplace, gauss = Laplace(2 / epsilon), Gaussian(1 / math.sqrt(rho))
    return Growth(
        epsilon,
        rho,
        sizes,
        np.array([cell_errors(laplace, laplace, n).squared_error for n in sizes]),
        np.array([cell_errors(gauss, gauss, n).squared_error for n in sizes]),
    )
