"""The difficult table: what two ways of making its noisy answers nonnegative do to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, format_number, runs_within
from ..fitting import fit
from ..model.measurement import measure, noise_for
from ..model.noise import Laplace
from ..model.privacy import PureDP
from ..model.workload import Workload
from ..page.output import Caption
from ..theory.difficult import difficult_table
from ..theory.upper.exact_errors import clipped, clipped_sum
from ..theory.upper.projection import threshold

Array = NDArray[np.float64]

_AT_ONCE = 4_000_000
"""Cells of all runs that are held at a time."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What one way of answering gave, run after run.

    Parameters
    ----------
    label
        What the way is called.
    method
        The method whose colour it has; ``"ols"`` for the signed answers.
    cell
        Answers to the one cell with records, in counts, shape (runs,).
    total
        Answers to the sum query, in counts, shape (runs,).
    """

    label: str
    method: str
    cell: Array
    total: Array

    @property
    def empty_share(self) -> float:
        """The share of runs in which the cell with records comes out as exactly zero."""
        return float(np.mean(self.cell == 0))


@dataclass(frozen=True, eq=False)
class Findings:
    """What the runs on the difficult table gave, and what is to be said about it (ours).

    Parameters
    ----------
    epsilon, d, runs
        The level, the cells and how many runs.
    q
        The records of the full cell, which are all records.
    noise
        The noise of every answer.
    signed, nnls, sequential
        The answers to the full cell and to the sum.
    negative
        The share of noisy cells below zero.
    level
        What sequential fitting takes off every cell.
    worst_certificate
        Of all fits.
    """

    epsilon: float
    d: int
    runs: int
    q: float
    noise: Laplace
    signed: Answers
    nnls: Answers
    sequential: Answers
    negative: Mean
    level: Mean
    worst_certificate: float

    @property
    def ways(self) -> tuple[Answers, ...]:
        """The three ways of answering, in the order in which they are shown."""
        return self.signed, self.nnls, self.sequential

    @property
    def sum_bias(self) -> Mean:
        """By how much NNLS misses the sum on average."""
        return Mean.of(self.nnls.total - self.q)

    @property
    def cell_bias(self) -> Mean:
        """By how much sequential fitting misses the full cell on average."""
        return Mean.of(self.sequential.cell - self.q)

    @property
    def emptied(self) -> Mean:
        """In what share of the runs sequential fitting empties the full cell, in percent."""
        return Mean.of(100.0 * (self.sequential.cell == 0))

    @property
    def opening(self) -> str:
        """What was found."""
        return (
            f"The table has {format_number(self.d)} cells and {format_number(self.q)} records, all "
            "in one cell. Noisy answers that may be negative are right on average, for that cell "
            "and for the sum. Two methods that allow no negative count are nonnegative least "
            f"squares (NNLS) and sequential fitting. {self.nnls_verdict} {self.sequential_verdict}"
        )

    @property
    def nnls_verdict(self) -> str:
        """What nonnegative least squares does to the sum."""
        if self.sum_bias.surely_above(0):
            return (
                f"**NNLS inflates the sum.** It comes out too large by {self.sum_bias} records on "
                f"average, beside a truth of {format_number(self.q)}."
            )
        return (
            f"**NNLS leaves the sum alone here.** Its mean error, {self.sum_bias} records, is not "
            "clearly above zero at these values."
        )

    @property
    def sequential_verdict(self) -> str:
        """What sequential fitting does to the full cell."""
        if self.emptied.value > 50:
            return (
                "**Sequential fitting empties the cell.** The one cell that has records comes out "
                f"as exactly zero in {self.emptied} % of the runs."
            )
        never = f"{self.emptied} % of the runs" if self.emptied.value else "none of the runs"
        return (
            "**Sequential fitting misses the full cell.** The one cell that has records is wrong "
            f"by {self.cell_bias} records on average, and it comes out as exactly zero in {never}."
        )

    @property
    def noise_said(self) -> str:
        """How much noise the answers have, and what signs."""
        return (
            f"Here $\\epsilon = {format_number(self.epsilon)}$, so the scale is "
            f"{format_number(self.noise.scale)} and the variance of every answer is "
            f"{format_number(self.noise.variance)}, whatever $d$ is. That is all there is to "
            "signed answers: they are unbiased, and the sum is as accurate as a cell. But "
            f"{self.negative} % of the noisy cells are negative, and the cells do not add up to "
            "the noisy sum."
        )

    @property
    def histograms(self) -> Caption:
        """What is said about the picture of all answers."""
        q, zero = format_number(self.q), 100 * self.nnls.empty_share
        return Caption(
            f"Answers over {self.runs:,} runs to the one cell with records (left) and to the sum "
            f"(right); the line is the true {q}, the triangle the mean. Signed answers may be "
            f"negative. NNLS, nonnegative least squares, moves the mean of the sum by "
            f"{self.sum_bias} records; sequential fitting keeps the sum and moves that of the cell "
            f"by {self.cell_bias}.",
            alt=f"Three rows of two histograms over {self.runs} runs. Signed answers: the full "
            f"cell and the sum both lie symmetrically around the true {q} records. NNLS: the mean "
            f"of the sum lies {self.sum_bias.value:.0f} records from the truth, and the cell is "
            f"exactly zero in {zero:.0f} percent of runs. Sequential fitting: the cell is exactly "
            f"zero in {self.emptied.value:.0f} percent of runs.",
        )

    @property
    def errors(self) -> pd.DataFrame:
        """The squared errors of the three ways, simulated and, where known, exact."""
        variance = self.noise.variance
        exact = {
            ("signed", "cell"): variance,
            ("signed", "sum"): variance,
            ("sequential", "sum"): float(clipped(self.noise, self.q).squared_error),
        }
        rows = []
        for way in self.ways:
            for query, values in (("cell", way.cell), ("sum", way.total)):
                error = Mean.of((values - self.q) ** 2)
                rows.append(
                    {
                        "answers": way.label,
                        "query": {"cell": "the full cell", "sum": "the sum"}[query],
                        "squared error": str(error),
                        "exactly": exact.get((way.label, query), math.nan),
                        "over signed": error.value / variance,
                    }
                )
        return pd.DataFrame(rows)

    @property
    def errors_caption(self) -> str:
        """What is said about the table of errors."""
        return (
            "Expected squared errors in squared records: the mean over the runs with its standard "
            "error, the exact value where it is known, and the ratio to the signed answer's."
        )

    @property
    def one_bias(self) -> float:
        """What cutting at zero leaves on average of the noise of an empty cell, in records."""
        return float(clipped(self.noise, 0.0).bias)

    @property
    def clipped_root(self) -> float:
        """The root of the expected squared error of the sum of cells cut at zero."""
        return math.sqrt(clipped_sum(self.noise, [self.q, 0.0], [1, self.d - 1]))

    @property
    def bias_said(self) -> str:
        """How small errors add up."""
        return (
            f"Here $b/2$ is {format_number(self.one_bias)} records: little for a cell. For the sum "
            f"of {format_number(self.d - 1)} empty cells it is "
            f"{format_number(self.one_bias * (self.d - 1))}. The root of the sum's expected "
            f"squared error is {format_number(self.clipped_root)}, where the signed sum has "
            f"{format_number(self.noise.std)}."
        )

    @property
    def level_said(self) -> str:
        """How the level compares with what the full cell has."""
        level, q = self.level.value, self.q
        much = "not much beside"
        if level > q / 2:
            much = "a large part of"
        if level > q:
            much = "more than"
        return (
            f"On average, sequential fitting takes {self.level} records off every cell. That is "
            f"{much} the {format_number(q)} records that the full cell has."
        )


def study(
    epsilon: float = 0.5, d: int = 1000, runs: int = 2000, seed: int = 1, times: float = 1.0
) -> Findings:
    """Answer the difficult table in three ways, many times (ours).

    Runs are taken in portions, so that memory does not grow with their number.

    Parameters
    ----------
    epsilon
        Pure differential privacy of all answers together.
    d
        Cells, 2 or more.
    runs
        Repetitions of the whole release, 2 or more; fewer are made with very many cells.
    seed
        Of the simulation.
    times
        How many times the full cell of the difficult table is full.

    Raises
    ------
    InputError
        A value out of range.

    Examples
    --------
    >>> found = study(runs=100)
    >>> found.q, found.noise.scale
    (14.0, 4.0)
    >>> found.sum_bias.surely_above(0)
    True
    """
    runs = runs_within(runs, d)
    table = times * difficult_table(d, epsilon)
    workload, guarantee = Workload.table(d), PureDP(epsilon)
    rng = np.random.default_rng(seed)
    portion = max(1, _AT_ONCE // d)
    parts: list[Array] = []
    worst, noise = 0.0, noise_for(workload, guarantee)[0]
    for first in range(0, runs, portion):
        count = min(portion, runs - first)
        answers = measure(table, workload, guarantee, runs=count, rng=rng)
        sums, cells = (np.asarray(a) for a in answers.answers)
        columns = [cells[:, 0], sums[:, 0]]
        for method in ("nnls", "sequential"):
            fitted = fit(answers, method)
            worst = max(worst, fitted.certificate.worst)
            fitted_sum, fitted_cells = fitted.answers()
            columns += [fitted_cells[:, 0], fitted_sum[:, 0]]
        columns += [np.mean(cells < 0, axis=1), threshold(cells, np.maximum(sums[:, 0], 0))]
        parts.append(np.stack(columns))
    signed, signed_sum, nnls, nnls_sum, last, last_sum, negative, level = np.concatenate(parts, 1)
    if not isinstance(noise, Laplace):
        raise TypeError("pure privacy of a table has Laplace noise")
    return Findings(
        epsilon,
        d,
        runs,
        float(table.max()),
        noise,
        Answers("signed", "ols", signed, signed_sum),
        Answers("NNLS", "nnls", nnls, nnls_sum),
        Answers("sequential", "sequential", last, last_sum),
        Mean.of(100.0 * negative),
        Mean.of(level),
        worst,
    )


def one_run(cells: Array, level: float) -> Caption:
    """Say what a picture of one run shows: its noisy cells and the level taken off them.

    Parameters
    ----------
    cells
        Noisy cells, the full one first, shape (d,), in counts.
    level
        What sequential fitting takes off every cell.
    """
    above = int((cells > cells[0]).sum())
    left = int((cells > level).sum())
    larger = f"{format_number(above)} empty cells have" if above != 1 else "One empty cell has"
    stay = f"{format_number(left)} of {cells.size:,} cells stay" if left != 1 else "One cell stays"
    return Caption(
        f"One run. {larger} a larger noisy answer than the full one. To fit the measured sum, "
        f"sequential fitting takes {format_number(level)} records off every cell; {stay} above "
        "zero.",
        alt=f"The {cells.size} noisy cells of one run in order of size, on a logarithmic axis of "
        f"ranks. They fall from {cells.max():.0f} to {cells.min():.0f} records. The full cell, "
        f"with a noisy answer of {cells[0]:.0f}, is number {above + 1} in that order. A dashed "
        f"line at {level:.1f} marks the level below which sequential fitting sets cells to zero.",
    )
