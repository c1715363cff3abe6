"""Signed answers: what one record moves, what the noise costs, and what comes out negative."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, format_number, listed
from ..errors.known import ols_variances
from ..model.measurement import noise_for
from ..model.noise import Laplace
from ..model.privacy import ConcentratedDP, PureDP
from ..model.workload import Workload
from ..page.output import Caption
from ..theory.laws import outputs, signed
from ..theory.upper.exact_errors import clipped

Array = NDArray[np.float64]

_AT_ONCE = 4_000_000  # numbers held

DRAWN = 400
"""The most cells of one draw that are drawn."""
_TABLE, _NEIGHBOUR = (5, 0, 2), (5, 1, 2)


def sensitivities() -> tuple[pd.DataFrame, str]:
    """Return how far all neighbours of three tables move the answers, and the table's caption."""
    workload, rows = Workload.table(3), []
    for table in ([0, 0, 0], [5, 0, 2], [1000, 3, 0]):
        rows.append(
            {
                "table": str(tuple(table)),
                "neighbours": len(outputs.neighbours(table)),
                "farthest, $L_1$": outputs.largest_change(workload, table, 1),
                "sensitivity $\\Delta_1$": workload.sensitivity(1),
                "farthest, $L_2$": outputs.largest_change(workload, table, 2),
                "sensitivity $\\Delta_2$": workload.sensitivity(2),
            }
        )
    return pd.DataFrame(rows), (
        "How far all neighbours of three tables move the answers to the sum and the three cells, "
        "against the sensitivity."
    )


@dataclass(frozen=True, eq=False)
class Findings:
    """Signed answers at several numbers of cells: simulated and exact errors, and their signs.

    Parameters
    ----------
    epsilon, rho
        The two guarantees.
    ds
        Numbers of cells.
    runs
        The most repetitions; fewer where there are very many cells.
    pure, zcdp
        Simulated errors at each number of cells.
    losses
        Sampled privacy losses under either guarantee, for a sum and three cells.
    """

    epsilon: float
    rho: float
    ds: tuple[int, ...]
    runs: int
    pure: tuple[signed.SampledErrors, ...]
    zcdp: tuple[signed.SampledErrors, ...]
    losses: tuple[Array, Array]

    @property
    def exact(self) -> tuple[float, float]:
        """The exact squared error of every answer: pure, zCDP."""
        return 8 / self.epsilon**2, 1 / self.rho

    @property
    def noise(self) -> Laplace:
        """The Laplace noise of every answer: one record moves two of them."""
        return Laplace(2 / self.epsilon)

    @property
    def opening(self) -> str:
        """What was found."""
        return (
            "If answers may be negative, the sum and all of its parts can be answered privately "
            "with an error that does not depend on how many parts there are. At $\\epsilon = "
            f"{format_number(self.epsilon)}$ every answer has the expected squared error "
            f"{format_number(self.exact[0])}, at {self._sizes} cells alike."
        )

    @property
    def _sizes(self) -> str:
        return listed([format_number(d) for d in self.ds])

    @property
    def distances(self) -> list[float]:
        """How many standard errors each simulated error lies from the exact one."""
        found = []
        for exact, rows in zip(self.exact, (self.pure, self.zcdp), strict=True):
            for e in rows:
                found += [(e.total - exact) / e.total_se, (e.cell - exact) / e.cell_se]
        return found

    @property
    def flat_said(self) -> str:
        """That nothing depends on the number of cells."""
        pure, zcdp = (format_number(v) for v in self.exact)
        worst = format_number(max(map(abs, self.distances)), 2)
        return (
            f"Nothing happens. The exact values are {pure} and {zcdp}; of the "
            f"{len(self.distances)} estimates the farthest is {worst} standard errors away."
        )

    @property
    def flat(self) -> Caption:
        """What is said about the picture of errors."""
        pure, zcdp = (format_number(v) for v in self.exact)
        return Caption(
            "Squared error of the sum and of the cells when answers may be negative, from at most "
            f"{self.runs:,} runs with two standard errors, and the exact values "
            f"$8/\\epsilon^2 =$ {pure} and $1/\\rho =$ {zcdp}. Nothing depends on $d$.",
            alt="Two panels of squared error against the number of cells on a logarithmic axis. In "
            "both, all points lie close to a horizontal line.",
        )

    @property
    def loss_table(self) -> pd.DataFrame:
        """What the losses came out as, beside what the proofs say."""
        laplace, gauss = self.losses
        return pd.DataFrame(
            {
                "quantity": [
                    "Laplace: largest loss of all outputs drawn",
                    "Laplace: average loss",
                    "Gaussian: largest loss of all outputs drawn",
                    "Gaussian: average loss",
                ],
                "found": [
                    format_number(float(np.abs(laplace).max())),
                    str(Mean.of(laplace)),
                    format_number(float(np.abs(gauss).max())),
                    str(Mean.of(gauss)),
                ],
                "the proof says": [
                    f"at most ε = {format_number(self.epsilon)}",
                    f"at most ε²/2 = {format_number(self.epsilon**2 / 2)}",
                    "no bound",
                    f"ρ = {format_number(self.rho)} exactly",
                ],
            }
        )

    @property
    def loss_caption(self) -> str:
        """What is said about the table of losses."""
        return (
            f"Privacy losses of {format_number(self.losses[0].size)} outputs, in nats; averages "
            "with their standard errors."
        )

    @property
    def at_top(self) -> Mean:
        """The percentage of outputs at which the Laplace loss is as large as it can be."""
        return Mean.of(100.0 * (np.abs(self.losses[0]) > self.epsilon * (1 - 1e-9)))

    @property
    def loss_said(self) -> str:
        """How often the first proof's inequality is an equality."""
        return (
            f"The inequality in the first proof is an equality for {self.at_top} % of the outputs: "
            "those in which both moved answers lie outside the gap between their two true values, "
            "on the same side."
        )

    @property
    def consistency(self) -> pd.DataFrame:
        """Exact errors of the sum and of a cell, as measured and after least squares."""
        level, rows = self.exact[0], []
        for d in self.ds:
            total, cells = ols_variances(Workload.table(d), [level, level])
            rows.append(
                {
                    "d": d,
                    "as measured": level,
                    "cells added up": d * level,
                    "least squares, sum": float(total[0]),
                    "least squares, cell": float(cells[0]),
                }
            )
        return pd.DataFrame(rows)

    @property
    def consistency_caption(self) -> str:
        """What is said about the table of least squares."""
        return (
            "Expected squared errors, exact: one answer as measured, the sum obtained by adding up "
            "the measured cells, and sum and cell after least squares."
        )

    @property
    def clipping(self) -> pd.DataFrame:
        """What setting negative cells to zero adds to the sum of an empty table."""
        lifted = float(clipped(self.noise, 0.0).bias)
        ratio = [d * lifted / self.noise.std for d in self.ds]
        return pd.DataFrame(
            {
                "d": self.ds,
                "added per empty cell": [lifted] * len(self.ds),
                "added to an all-zero table": [d * lifted for d in self.ds],
                "root error of the measured sum": [self.noise.std] * len(self.ds),
                "ratio": ratio,
            }
        )

    @property
    def clipping_caption(self) -> str:
        """What is said about the table of clipping."""
        return (
            "What setting negative cells to zero adds to the sum of an empty table, on average, in "
            "records, against the root error of the sum as measured."
        )

    @property
    def clipping_said(self) -> str:
        """How many records clipping invents at the most cells."""
        last = self.clipping.iloc[self.clipping["d"].argmax()]
        verdict = "That is still within the root error of the measured sum; more cells change that."
        if last["ratio"] > 1:
            verdict = (
                f"That is {format_number(float(last['ratio']), 2)} times the root error of the "
                "measured sum."
            )
        return (
            "Every empty cell gains $b/2 = 1/\\epsilon$ records on average, because its negative "
            f"noise is lost and its positive noise is kept. At {format_number(last['d'])} cells an "
            f"empty table gets {format_number(last['added to an all-zero table'])} inhabitants. "
            f"{verdict} These gains have the same sign in every cell, so they add up instead of "
            "averaging out."
        )


@dataclass(frozen=True, eq=False)
class OneDraw:
    """One draw of signed answers to a table with one full cell.

    Parameters
    ----------
    table, answers
        True and noisy counts, shape (d,).
    chance
        For every cell, the chance that it comes out negative.
    """

    table: Array
    answers: Array
    chance: Array

    @property
    def below(self) -> int:
        """How many answers are negative."""
        return int((self.answers < 0).sum())

    @property
    def picture(self) -> Caption:
        """What is said about the picture of the draw."""
        around = ""
        if self.table.size > DRAWN:
            around = f" ({DRAWN} of them are drawn, around the full one)"
        return Caption(
            f"Signed answers to {self.table.size:,} cells, one draw{around}. The number of "
            f"negative ones is {self.below:,}; its expectation is "
            f"{format_number(float(self.chance.sum()))}.",
            alt="Bars of noisy answers by cell, above and below zero at random; those below zero "
            "are hatched. A short line marks the true count of the only cell that is not empty.",
        )

    @property
    def said(self) -> str:
        """How many answers are negative, and whether the full cell stands out."""
        larger = int((self.answers > self.answers[self.table.argmax()]).sum())
        others = f"And {larger:,} empty cells have a larger answer than the full one."
        if larger == 1:
            others = "And one empty cell has a larger answer than the full one."
        if larger == 0:
            others = "In this draw the full cell has the largest answer of all."
        spread = math.sqrt(float((self.chance * (1 - self.chance)).sum()))
        return (
            f"The number of negative answers is {self.below:,} in this draw and "
            f"{format_number(float(self.chance.sum()))} on average, with a standard deviation of "
            f"{format_number(spread, 2)}. {others} An empty cell comes out negative half the time, "
            "and there is nothing wrong with that: each answer is unbiased, and sums of answers "
            "are too."
        )


def one_draw(table: Array, answers: Array, epsilon: float) -> OneDraw:
    """Return one draw with each cell's chance to come out negative.

    Examples
    --------
    >>> one_draw(np.array([5.0, 0.0]), np.array([4.0, -1.0]), 1.0).below
    1
    """
    noise = noise_for(Workload.table(table.size), PureDP(epsilon))[1]
    return OneDraw(table, answers, signed.negative_probability(noise, table))


def study(
    epsilon: float = 0.5,
    rho: float = 0.125,
    ds: Sequence[int] = (10, 100, 1000),
    runs: int = 1000,
    seed: int = 2,
) -> Findings:
    """Simulate signed answers at several numbers of cells (the paper's Section 3.1).

    Parameters
    ----------
    epsilon, rho
        The two guarantees, each for the sum and all cells together.
    ds
        Numbers of cells.
    runs
        Repetitions, 2 or more; fewer where there are very many cells, so that memory is bounded.
    seed
        Of the simulation.

    Examples
    --------
    >>> study(runs=50).exact
    (32.0, 8.0)
    """
    rng = np.random.default_rng(seed)
    pure, zcdp = PureDP(epsilon), ConcentratedDP(rho)
    workload = Workload.table(3)
    losses = (
        signed.privacy_losses(workload, pure, _TABLE, _NEIGHBOUR, 20 * runs, rng),
        signed.privacy_losses(workload, zcdp, _TABLE, _NEIGHBOUR, 20 * runs, rng),
    )
    found: tuple[list[signed.SampledErrors], list[signed.SampledErrors]] = ([], [])
    for d in ds:
        sparse = np.zeros(d)
        sparse[0] = 100
        times = min(runs, max(2, _AT_ONCE // d))
        found[0].append(signed.sampled_signed(sparse, pure, times, rng))
        found[1].append(signed.sampled_signed(sparse, zcdp, times, rng))
    return Findings(epsilon, rho, tuple(ds), runs, tuple(found[0]), tuple(found[1]), losses)
