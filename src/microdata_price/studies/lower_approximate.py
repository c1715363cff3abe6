"""The lower bound with a delta: truncated noise, the proof's slack, ceilings for cells only."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import at_least, at_most, format_number, rounded_down, rounded_up
from ..model.noise_discrete import DoubleGeometric, TruncatedDoubleGeometric
from ..model.privacy import ApproximateDP, PureDP
from ..page.output import Caption
from ..theory.lower.lower_bounds import point_error_bound, sum_error_bound
from ..theory.proofs import packing_walk as walk
from ..theory.proofs.packing import Packing
from ..theory.proofs.slack import Slack, packing_slack
from ..theory.proofs.steps import Step, steps_frame
from ..theory.upper.truncation import smallest_bound
from ..theory.upper.upper_bounds import certified_truncated
from .slack import bar_caption

Array = NDArray[np.float64]

_BEYOND = 1e250
"""So many cells that every bound with a delta is at its ceiling."""
_OURS = ("optimised", "packing_empty", "first_moment")
_BRACKETED = (10**3, 10**6, 10**12)


@dataclass(frozen=True, eq=False)
class Findings:
    """What a delta changes, at one level and one number of cells.

    Parameters
    ----------
    guarantee
        The level.
    d
        The cells, where one table is looked at closely.
    lam
        What is promised for the sum, in units of 1/epsilon^2.
    noise
        What makes every cell private at this level and never exceeds a bound.
    packing, odds
        The proof's tables for the mechanism with this noise, and exact probabilities.
    """

    guarantee: ApproximateDP
    d: int
    lam: float
    noise: TruncatedDoubleGeometric
    packing: Packing
    odds: walk.PackingOdds

    @property
    def sum_error(self) -> float:
        """What the sum's root error is held at, in counts."""
        return math.sqrt(self.lam) / self.guarantee.epsilon

    # The ceiling.

    @property
    def deltas(self) -> list[float]:
        """The delta given, its root and its square, the largest first."""
        delta = self.guarantee.delta
        return [math.sqrt(delta), delta, delta**2]

    @property
    def levels(self) -> list[PureDP | ApproximateDP]:
        """No delta, then each of the deltas."""
        epsilon = self.guarantee.epsilon
        return [PureDP(epsilon), *(ApproximateDP(epsilon, v) for v in self.deltas)]

    @property
    def names(self) -> list[str]:
        """What the levels are called in pictures."""
        return ["δ = 0", *(f"δ = {format_number(v, 2)}" for v in self.deltas)]

    @functools.cached_property
    def sizes(self) -> Array:
        """Numbers of cells up to where the smallest delta has its ceiling, or nearly."""
        reach = max(24.0, round(-2.6 * math.log10(self.guarantee.delta) + 12))
        return np.asarray(np.round(np.geomspace(10, 10.0 ** min(180.0, reach), 140)))

    @functools.cached_property
    def curves(self) -> list[Array]:
        """The printed bound on C at each level, in counts."""
        return [point_error_bound("printed", g, self.sizes, self.sum_error) for g in self.levels]

    @functools.cached_property
    def ceilings(self) -> list[float]:
        """What each curve tends to, in counts; infinite without a delta."""
        D = self.sum_error
        with_delta = [float(point_error_bound("printed", g, _BEYOND, D)) for g in self.levels[1:]]
        return [math.inf, *with_delta]

    @property
    def ceiling(self) -> float:
        """The ceiling at the delta given, in counts."""
        return self.ceilings[2]

    @functools.cached_property
    def near(self) -> float:
        """From how many cells on the bound is within 5 % of its ceiling; 0 without a ceiling."""
        if self.ceiling <= 0:
            return 0.0

        def short(log_d: float) -> bool:
            d = float(np.round(10.0**log_d))
            bound = point_error_bound("printed", self.guarantee, d, self.sum_error)
            return float(bound) < 0.95 * self.ceiling

        return float(np.round(10.0 ** _turn(short, 0.5, 249.0)))

    @property
    def opening(self) -> str:
        """What was found."""
        delta = format_number(self.guarantee.delta)
        if self.ceiling <= 0:
            return (
                f"A $\\delta$ puts a ceiling on what the theorem asks of a cell. At $\\delta =$ "
                f"{delta} the ceiling of the printed theorem is zero: it asks nothing of the "
                "cells, however many there are."
            )
        return (
            "A small $\\delta$ puts a ceiling on what the theorem asks of a cell. Without a "
            "$\\delta$ the bound on $C$ goes on rising with the number of cells. With $\\delta =$ "
            f"{delta} it ends at {format_number(self.ceiling)} records. {self.near_said} "
            f"{self.sum_said}"
        )

    @property
    def sum_said(self) -> str:
        """That the sum has no ceiling."""
        if math.isnan(self.slope):
            return "About the sum the printed bound says nothing here."
        return "The sum has no such ceiling: it still pays in proportion to $d$."

    @property
    def near_said(self) -> str:
        """Where the ceiling begins."""
        if self.ceiling <= 0:
            return "At this $\\delta$ the bound says nothing, however many cells there are."
        return f"It is within 5 % of that from about $d =$ {_rounded(self.near)} on."

    @property
    def rise_said(self) -> str:
        """How high the bound without a delta rises, and where ours ends."""
        if self.ceiling <= 0:
            return self.near_said
        end = format_number(float(self.curves[0][-1]))
        power = round(math.log10(float(self.sizes[-1])))
        return (
            f"At $\\delta = 0$ the bound goes on rising, to {end} at $d = 10^{{{power}}}$. At our "
            f"$\\delta$ it ends at {format_number(self.ceiling)}. {self.near_said}"
        )

    @property
    def picture(self) -> Caption:
        """What is said about the picture of ceilings."""
        return Caption(
            "Each $\\delta$ puts a ceiling (thin line) on what the theorem asks of a cell; at "
            f"$\\delta =$ {format_number(self.guarantee.delta)} it is "
            f"{format_number(self.ceiling)} records. (Theorem 3.2 as printed with the best $k$, at "
            f"$\\epsilon = {format_number(self.guarantee.epsilon)}$ and $D = "
            f"\\sqrt\\lambda/\\epsilon =$ {format_number(self.sum_error)}.)",
            alt="Lower bounds on C against the number of cells on a logarithmic axis. The line for "
            "delta zero rises without end. The lines for positive deltas end at horizontal "
            "ceilings, higher for smaller delta; where a ceiling is zero, its line is zero too.",
        )

    # Truncated noise.

    @property
    def counts(self) -> Array:
        """Numbers of records that an empty cell may show."""
        return np.arange(0, math.ceil(1.35 * self.noise.bound) + 2, dtype=float)

    @property
    def free(self) -> Array:
        """The chance that an empty cell shows at least so many, without truncation."""
        return np.asarray(DoubleGeometric(self.guarantee.epsilon).sf(self.counts - 1))

    @property
    def cut(self) -> Array:
        """The same with truncated noise."""
        return np.asarray(self.noise.sf(self.counts - 1))

    @property
    def tails(self) -> Caption:
        """What is said about the picture of tails."""
        B = self.noise.bound
        least = self.guarantee.delta / self.guarantee.epsilon
        return Caption(
            "At an empty cell, noise that is not truncated (dotted) reaches every height; "
            f"truncated noise never exceeds $B = {B}$, which has the probability "
            f"{format_number(float(self.cut[B]), 2)}. The dashed line is $\\delta/\\epsilon =$ "
            f"{format_number(least, 2)}, the most that group privacy subtracts.",
            alt="Chance that an empty cell shows at least so many records, on a logarithmic axis: "
            "two staircases fall together along a straight line; the truncated one ends at a "
            "vertical line, the other goes on. A dashed horizontal line marks delta over epsilon.",
        )

    @property
    def bound_said(self) -> str:
        """How far truncated noise reaches."""
        B, g = self.noise.bound, self.guarantee
        reach = f"{format_number(B)} records" if B > 1 else "one record"
        log = math.log(max(g.epsilon / g.delta, 1.0)) / g.epsilon
        return (
            f"An empty cell never shows more than {reach}, and a cell that shows more is known not "
            f"to be empty. For comparison, $\\ln(\\epsilon/\\delta)/\\epsilon$ is "
            f"{format_number(log)}."
        )

    # The proof on this mechanism.

    @functools.cached_property
    def steps(self) -> list[Step]:
        """Every inequality of the proof."""
        return [
            *walk.accuracy_steps(self.packing, self.odds),
            *walk.overlap_steps(self.packing, self.odds),
            *walk.approximate_steps(self.guarantee, self.packing, self.odds),
        ]

    @functools.cached_property
    def slack(self) -> Slack:
        """What the theorem asks of this mechanism, and what each step of the proof loses."""
        return packing_slack(self.guarantee, self.packing, self.odds)

    @property
    def bar(self) -> Caption:
        """What is said about the picture of the slack."""
        return bar_caption(self.slack, r"$2\epsilon m$")

    @property
    def bar_said(self) -> str:
        """What the delta costs in the proof."""
        losses = dict(self.slack.lost)
        delta, two = losses["its delta"], losses["two terms"]
        return (
            f"Here $m = {self.packing.m}$ and $k =$ {format_number(self.packing.k)}. "
            f"{self.reach_said} {self.group_said} Writing $\\delta/\\epsilon$ for the exact "
            f"$\\delta'$ loses {_loss(delta)}. The last step turns a sum into a maximum. It loses "
            f"{_loss(two)}, and never more than $\\ln 2$."
        )

    @property
    def group_said(self) -> str:
        """What group privacy promises at this distance."""
        left = self.steps[-4].left
        if left <= 0:
            return (
                "At this distance the $\\delta$ has eaten all that privacy promises: the left side "
                "of the group privacy step is not above zero."
            )
        return (
            "Group privacy still promises something at this distance: at least "
            f"{at_least(left, 2)}, where the truth is {format_number(self.odds.base, 2)}."
        )

    @property
    def reach_said(self) -> str:
        """Whether an empty cell's noise reaches the set."""
        if self.odds.base > 0:
            return (
                "The noise reaches $G_i$ from an empty cell, so the probability on the base table "
                "is positive."
            )
        return (
            "The noise does not reach $G_i$ from the base table, so its probability there is zero; "
            "the proof has to live with that."
        )

    @property
    def frame(self) -> pd.DataFrame:
        """The steps as a table."""
        return steps_frame(self.steps)

    @property
    def frame_caption(self) -> str:
        """What is said about it."""
        g = self.guarantee
        return (
            f"The proof for clipped truncated noise at $\\epsilon = {format_number(g.epsilon)}$, "
            f"$\\delta =$ {format_number(g.delta)}, $d = {format_number(self.d)}$, $m = "
            f"{self.packing.m}$, $\\alpha = \\beta = 2$: both sides and the slack of each "
            "inequality, all exact. These are the inequalities as the proof has them, not in "
            "logarithms."
        )

    # What is reached.

    @functools.cached_property
    def bracket(self) -> pd.DataFrame:
        """What C must be and what it can be, where the sum is as good as a signed answer."""
        rows = []
        for delta, g in zip(self.deltas, self.levels[1:], strict=True):
            for n in _BRACKETED:
                D = g.signed_error
                rows.append(
                    {
                        "δ": format_number(delta, 2),
                        "d": format_number(n),
                        "lower bound, printed": rounded_down(
                            float(point_error_bound("printed", g, n, D))
                        ),
                        "lower bound, best of ours": rounded_down(float(best_of_ours(g, n))),
                        "upper bound": rounded_up(float(certified_truncated(g.level, delta, n).C)),
                    }
                )
        return pd.DataFrame(rows)

    @property
    def bracket_caption(self) -> str:
        """What is said about it."""
        return (
            "What $C$ must be and what it can be when $D \\le \\sqrt8/\\epsilon$, in records: the "
            "printed lower bound, the largest of our lower bounds, and what truncated noise with "
            "fitting to the noisy sum guarantees."
        )

    @property
    def growth_said(self) -> str:
        """By how much the guaranteed error grows from a million cells on."""
        upper = self.bracket["upper bound"].to_numpy()
        million, most = format_number(upper[4]), format_number(upper[5])
        grown = f"grows from {million} to {most} records"
        if million == most:
            grown = f"stays at {million} records"
        g = self.guarantee
        cap = 2 * certified_truncated(g.epsilon, g.delta, 1).D + self.bound
        return (
            f"From a million to $10^{{12}}$ cells the guaranteed $C$ at our $\\delta$ {grown}. "
            f"However many cells there are, it is at most {at_most(float(cap))}."
        )

    @functools.cached_property
    def bound(self) -> int:
        """The bound of the noise that is fitted to a noisy sum (half the level on each answer)."""
        return smallest_bound(self.guarantee.epsilon, self.guarantee.delta)

    # Parts (a) and (b).

    @functools.cached_property
    def short(self) -> Array:
        """Numbers of cells for the slopes."""
        return np.round(np.geomspace(10, 1e15, 120))

    @functools.cached_property
    def points(self) -> list[Array]:
        """The bound on epsilon C at each level."""
        e, D = self.guarantee.epsilon, self.sum_error
        return [point_error_bound("printed", g, self.short, D) * e for g in self.levels]

    @functools.cached_property
    def totals(self) -> list[Array]:
        """The bound on epsilon D at each level, with C held at a quarter of the sum's promise."""
        e, C = self.guarantee.epsilon, self.sum_error / 4
        return [sum_error_bound("printed", g, self.short, C) * e for g in self.levels]

    @property
    def reference(self) -> tuple[str, Array]:
        """A line of slope one."""
        top = max(float(self.totals[0][-1]), 1e-6)
        return "slope 1", self.short / self.short[-1] * top * 30

    @property
    def slope(self) -> float:
        """The slope of ln D in ln d at the right end, at the delta given; NaN where D is 0."""
        ours = self.totals[2]
        if not ours[-9] > 0:
            return math.nan
        run = math.log(self.short[-1]) - math.log(self.short[-9])
        return (math.log(ours[-1]) - math.log(ours[-9])) / run

    @property
    def slope_said(self) -> str:
        """How the bound on D grows."""
        if math.isnan(self.slope):
            return "At our $\\delta$ the printed bound on $D$ says nothing at this $C$."
        return (
            "On two logarithmic axes the slope of the bound on $D$ at the right end, at our "
            f"$\\delta$, is {self.slope:.3g}."
        )

    @property
    def slopes(self) -> Caption:
        """What is said about the picture of both parts."""
        sum_, cell = format_number(self.lam), format_number(self.lam / 16)
        return Caption(
            f"Part (a), left, at $\\epsilon D = \\sqrt{{{sum_}}}$: with a $\\delta$ the cells' "
            f"bound ends at a ceiling. Part (b), right, at $\\epsilon C = \\sqrt{{{cell}}}$ (same "
            "dashes): where it says something, the sum's bound grows in proportion to $d$, without "
            "a ceiling.",
            alt="Left: epsilon times C against d, rising, and level from some d on for larger "
            "deltas. Right: epsilon times D against d on logarithmic axes, lines parallel to a "
            "reference of slope one, nearly the same for all deltas that say anything.",
        )

    @property
    def turn(self) -> float:
        """The number of cells at which delta takes over, for the packing above."""
        return 1 + self.packing.overlap * self.guarantee.epsilon / self.guarantee.delta

    @property
    def turn_said(self) -> str:
        """The same in words."""
        return (
            f"For the packing above that is $d \\approx$ {_rounded(self.turn)} (with its own $K$, "
            "which belongs to its own $D$)."
        )


def best_of_ours(guarantee: PureDP | ApproximateDP, d: float | Array) -> Array:
    """Return the largest of our bounds on C where the sum is as good as signed, in counts.

    Examples
    --------
    >>> float(best_of_ours(ApproximateDP(0.5, 1e-6), 10**6)) > 19
    True
    """
    D = guarantee.signed_error
    return np.asarray(np.max([point_error_bound(name, guarantee, d, D) for name in _OURS], axis=0))


def _rounded(value: float) -> str:
    return format_number(float(f"{value:.2g}"), 2)


def _loss(value: float) -> str:
    return "less than 0.001 nats" if value < 0.001 else f"{format_number(value)} nats"


def _turn(short: Callable[[float], bool], low: float, high: float) -> float:
    """Return where a test that holds below and fails above changes, by halving."""
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if short(middle) else (low, middle)
    return high


def study(epsilon: float, delta: float, d: int, lam: float = 8.0) -> Findings:
    """Return what a delta changes at one level.

    Raises
    ------
    InputError
        A value out of range, or a sum over so many cells that its law does not fit in memory.

    Examples
    --------
    >>> found = study(0.5, 1e-6, 100)
    >>> found.noise.bound, found.packing.m
    (27, 8)
    """
    guarantee = ApproximateDP(epsilon, delta)
    noise = walk.truncated_cells(guarantee)
    packing = walk.clipped_packing(noise, d, k=1 / epsilon)
    return Findings(guarantee, d, lam, noise, packing, walk.packing_odds(noise, packing))
