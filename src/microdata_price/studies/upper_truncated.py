"""Truncated noise: its exact delta, how far it must reach, and what it buys."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, at_most, format_number, rounded_down, rounded_up
from ..exceptions import InputError
from ..model.noise_discrete import DoubleGeometric, TruncatedDoubleGeometric
from ..model.privacy import ApproximateDP, PureDP
from ..page.output import Caption
from ..theory.upper.truncated_sampling import sampled_truncated
from ..theory.upper.truncation import joint_profile, paper_bound, profile, smallest_bound
from ..theory.upper.upper_bounds import certified, certified_truncated, item5
from .lower_approximate import best_of_ours

Array = NDArray[np.float64]

_WIDE = 100_000
"""Noise of this bound is, at any level that matters here, not truncated."""


_ENDLESS = 1e30
"""Cells at which nothing grows any more."""


@dataclass(frozen=True, eq=False)
class Findings:
    """Fitting to a noisy sum with truncated noise (the paper's Theorem 4, item 5).

    Parameters
    ----------
    guarantee
        The level of the whole mechanism.
    cells
        Numbers of cells, 2 or more, increasing.
    deltas
        Where the noise's bound is compared.
    runs, seed
        Of the simulation.
    noise
        The noise of every answer, with the smallest bound that makes each half as private.
    """

    guarantee: ApproximateDP
    cells: Array
    deltas: tuple[float, ...]
    runs: int
    seed: int
    noise: TruncatedDoubleGeometric

    # What it buys.

    @functools.cached_property
    def certified(self) -> Array:
        """What a cell's root error is certain not to exceed on any table, in counts."""
        return certified_truncated(self.guarantee.epsilon, self.guarantee.delta, self.cells).C

    def free(self, cells: Array) -> Array:
        """Return the same without truncation, in counts: whole-number noise, or Laplace noise."""
        g = self.guarantee
        wide = max(_WIDE, self.noise.bound)
        whole = certified_truncated(g.epsilon, g.delta, cells, B=wide).C
        return np.minimum(certified(PureDP(g.epsilon), cells).C, whole)

    @functools.cached_property
    def lower(self) -> Array:
        """What no mechanism with such a sum can go below on all tables, in counts."""
        return best_of_ours(self.guarantee, self.cells)

    @property
    def cap(self) -> float:
        """What a cell's root error never exceeds, whatever the number of cells, in counts."""
        return 2 * self.noise.std + self.noise.bound

    @functools.cached_property
    def wins(self) -> Array:
        """The numbers of cells at which truncation lowers the certified error by 2 % or more."""
        return self.cells[self.certified < 0.98 * self.free(self.cells)]

    @property
    def wins_said(self) -> str:
        """From which number of cells on truncation is worth something."""
        if self.wins.size:
            return (
                f"Of the numbers of cells in the last table, $d =$ {format_number(self.wins[0])} "
                "is the first at which truncation lowers the certified error by more than 2 %."
            )
        return (
            f"Up to $d =$ {format_number(self.cells[-1])} truncation lowers the certified error by "
            "no more than 2 % at this $\\delta$: the largest noise is still below $B$ nearly "
            "always."
        )

    @property
    def last_said(self) -> str:
        """What is certain at the most cells, with and without truncation."""
        d = format_number(self.cells[-1])
        sharp, free = float(self.certified[-1]), float(self.free(self.cells)[-1])
        return (
            f"At $d =$ {d} a cell's certified error is {format_number(sharp)} records; the same "
            f"noise without truncation, which is private without a $\\delta$, has "
            f"{format_number(free)}."
        )

    @property
    def opening(self) -> str:
        """What was found."""
        return (
            "The cells suffer because the largest of $d$ noises is large. With a small probability "
            "$\\delta$ to spend, the noise can be kept from being large, and the price stops "
            f"growing. At $\\delta =$ {format_number(self.guarantee.delta)} it is certain that no "
            f"cell's root error exceeds {at_most(self.cap)} records, however many cells there are. "
            f"{self.last_said}"
        )

    @property
    def buys_said(self) -> str:
        """What truncation buys, beside the paper's constants."""
        g = self.guarantee
        printed = float(item5(g.epsilon, g.delta, self.cells).C[-1])
        return (
            f"{self.wins_said} {self.last_said} The paper's own constants give "
            f"{format_number(printed)} at any $d$."
        )

    @property
    def fine(self) -> Array:
        """Numbers of cells for curves."""
        return np.unique(np.round(np.geomspace(10, max(float(self.cells.max()), 100), 40)))

    @property
    def curves(self) -> tuple[tuple[str, Array], ...]:
        """Root errors of a cell against the number of cells, each with its name."""
        g, fine = self.guarantee, self.fine
        return (
            ("not truncated, certified", self.free(fine)),
            ("truncated, certified", certified_truncated(g.epsilon, g.delta, fine).C),
            ("truncated, lower bound", best_of_ours(g, fine)),
            ("signed answer", np.full(fine.size, g.signed_error)),
        )

    @property
    def picture(self) -> Caption:
        """What is said about the picture of the cap."""
        g = self.guarantee
        return Caption(
            "What a cell pays for an accurate sum, at $\\epsilon = "
            f"{format_number(g.epsilon)}$. With $\\delta =$ {format_number(g.delta)} it is certain "
            f"to be at most {at_most(self.cap)} records, however many cells there are.",
            alt="Against the logarithm of d, the certified error without truncation rises without "
            "end; with truncated noise it leaves that line where d is large against epsilon over "
            "delta, and stays flat. A lower bound under approximate DP stays flat as well.",
        )

    # The noise.

    @property
    def support(self) -> Array:
        """Whole numbers around the noise's range."""
        B = self.noise.bound
        reach = min(B + max(4, B // 3), 400)
        return np.arange(-reach, reach + 1.0)

    @property
    def full_law(self) -> Array:
        """The probabilities without truncation."""
        return np.asarray(DoubleGeometric(self.noise.epsilon).pmf(self.support))

    @property
    def cut_law(self) -> Array:
        """The probabilities with it."""
        return np.asarray(self.noise.pmf(self.support))

    @property
    def law(self) -> Caption:
        """What is said about the picture of the law."""
        g, B = self.guarantee, self.noise.bound
        edge = float(self.noise.pmf(np.array([float(B)]))[0])
        return Caption(
            f"TDGeo($\\epsilon/2$, $B$) at $\\epsilon = {format_number(g.epsilon)}$ with the "
            f"smallest bound that $\\delta =$ {format_number(g.delta)} allows, $B = {B}$. Each end "
            f"point has the probability {format_number(edge, 2)}.",
            alt="A symmetric tent on a logarithmic scale, the double geometric law. Dots follow it "
            "between two dashed lines, and the last dot on either side is lifted above the tent.",
        )

    # How far it must reach.

    @functools.cached_property
    def bounds(self) -> pd.DataFrame:
        """How far the noise must reach at several deltas."""
        e, rows = self.guarantee.epsilon, []
        for delta in self.deltas:
            printed, least = paper_bound(e, delta), smallest_bound(e, delta)
            joint = smallest_bound(e, delta, joint=True)
            at = [
                float(joint_profile(TruncatedDoubleGeometric(e / 2, b), e))
                for b in (printed, joint)
            ]
            rows.append(
                {
                    "δ": format_number(delta),
                    "the paper's B": printed,
                    "smallest B": least,
                    "smallest for both answers together": joint,
                    "exact δ at the paper's B": at[0],
                    "exact δ at the smallest": at[1],
                }
            )
        return pd.DataFrame(rows)

    @property
    def bounds_caption(self) -> str:
        """What is said about it."""
        return (
            f"How far the noise must reach at ε = {format_number(self.guarantee.epsilon)}: the "
            "paper's sufficient bound, the smallest that makes each answer (ε/2, δ/2)-DP, and the "
            "smallest that makes both answers together (ε, δ)-DP."
        )

    @property
    def bounds_said(self) -> str:
        """By how much the paper's bound is longer than needed, and our exact delta."""
        table = self.bounds
        gap = table["the paper's B"] - table["smallest for both answers together"]
        low, high = int(gap.min()), int(gap.max())
        much = f"{format_number(high)} step{'s' if high > 1 else ''}"
        if low < high:
            much = f"{format_number(low)} to {much}"
        longer = f"is {much} longer than needed"
        if high == 0:
            longer = "is as short as can be"
        exact = float(profile(self.noise, self.guarantee.epsilon / 2))
        return (
            f"The paper's bound suffices and {longer}. With $B =$ {self.noise.bound} the exact "
            f"$\\delta$ of one answer is {format_number(exact, 2)}, within its allowance of "
            f"{format_number(self.guarantee.delta / 2, 2)}."
        )

    # On one table.

    @functools.cached_property
    def simulated(self) -> list[Mean]:
        """The root error of one very large cell among empty ones, in counts."""
        return [
            Mean(*sampled_truncated(self.noise, int(d), runs=self.runs, seed=self.seed))
            for d in self.cells
        ]

    @property
    def table(self) -> pd.DataFrame:
        """The same between what is impossible and what is certain."""
        return pd.DataFrame(
            {
                "d": [format_number(d) for d in self.cells],
                "lower bound on C": [rounded_down(float(v)) for v in self.lower],
                "one large cell, simulated": [str(v) for v in self.simulated],
                "certified, all tables": [rounded_up(float(v)) for v in self.certified],
                "certified, not truncated": [rounded_up(float(v)) for v in self.free(self.cells)],
            }
        )

    @property
    def table_caption(self) -> str:
        """What is said about it."""
        g = self.guarantee
        return (
            f"Root error of a cell at ε = {format_number(g.epsilon)}, δ = "
            f"{format_number(g.delta)}, in records: what no mechanism with such a sum can go below "
            "on all tables, what this one has on the table of one very large cell among empty ones "
            f"({format_number(self.runs)} runs, with standard errors), and what it is certain not "
            "to exceed on any table, with its noise truncated and not."
        )

    @property
    def creep_said(self) -> str:
        """How the level moves towards the noise's bound."""
        last, B = self.simulated[-1], self.noise.bound
        if last.value > 0.9 * B:
            return (
                "As $d$ grows, ever more empty cells carry the largest noise there is, and the "
                f"level creeps up towards $B = {B}$. There it stops, and a full cell loses about "
                f"that much: {last} at $d =$ {format_number(self.cells[-1])}."
            )
        return (
            "As $d$ grows, ever more empty cells carry a large noise, and the level rises with it. "
            f"It stops near $B = {B}$, which the numbers of cells in the table do not reach yet."
        )

    @property
    def sets_price_said(self) -> str:
        """From how many cells on delta sets the price."""
        g = self.guarantee
        ratio = g.epsilon / g.delta
        if ratio <= 10:
            return "At this level $\\delta$, not $d$, sets the price from the first cells on."
        ends = [format_number(float(f"{v:.2g}"), 2) for v in (ratio, 1 / g.delta)]
        whole = [np.array([max(2.0, round(v)), _ENDLESS]) for v in (ratio, 1 / g.delta)]
        low, most = best_of_ours(g, whole[0])
        high, at_last = certified_truncated(g.epsilon, g.delta, whole[1]).C
        shares = float(low / most) if most > 0 else 0.0, float(high / at_last)
        verdict = "So here $d$ goes on counting beyond that."
        if min(shares) > 0.8:
            verdict = "Beyond that $\\delta$, not $d$, sets the price; before that it is still $d$."
        return (
            f"At about $\\epsilon/\\delta =$ {ends[0]} cells the lower bound has "
            f"{100 * shares[0]:.0f} % of the height that it ever reaches, at about $1/\\delta =$ "
            f"{ends[1]} cells the upper one has {100 * shares[1]:.0f} %. {verdict}"
        )


def study(
    epsilon: float,
    delta: float,
    ds: Sequence[int],
    deltas: Sequence[float],
    runs: int,
    seed: int,
) -> Findings:
    """Return what truncated noise does at some numbers of cells.

    Raises
    ------
    InputError
        A level out of range, fewer than 2 runs, or no number of cells.

    Examples
    --------
    >>> study(0.5, 1e-6, [10, 1000], [1e-6], runs=50, seed=1).noise.bound
    58
    """
    if runs < 2:
        raise InputError(f"runs is {runs}; give 2 or more, so that there are standard errors")
    if not ds or not deltas:
        raise InputError("ds or deltas is empty; give one number or more")
    noise = TruncatedDoubleGeometric(epsilon / 2, smallest_bound(epsilon, delta))
    cells = np.array(sorted(set(ds)), dtype=float)
    return Findings(ApproximateDP(epsilon, delta), cells, tuple(deltas), runs, seed, noise)
