"""The lower bound under pure DP: the packing, its inequalities on a mechanism, its curves."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import at_least, format_number, rounded_down
from ..model.noise_discrete import DoubleGeometric
from ..model.privacy import PureDP
from ..page.output import Caption
from ..theory.lower.lower_bounds import point_error_bound, sum_error_bound
from ..theory.lower.printed_bounds import printed_sides
from ..theory.lower.printed_branches import point_error_branches
from ..theory.proofs.packing import Packing, packing_at
from ..theory.proofs.packing_walk import (
    PackingOdds,
    accuracy_steps,
    clipped_packing,
    overlap_steps,
    packing_odds,
    pure_steps,
)
from ..theory.proofs.slack import Slack, packing_slack
from ..theory.proofs.steps import Step, steps_frame
from .printed_curves import PrintedCurves, clipped_sum_error
from .slack import bar_caption

Array = NDArray[np.float64]

_LARGEST_D = 1e15  # up to there every whole number is a double


@dataclass(frozen=True, eq=False)
class HidingGame:
    """The packing at d cells: how many sets an output can lie in, and what each step loses.

    Parameters
    ----------
    epsilon, d
        The level and the cells.
    own
        The packing at the errors of the clipping mechanism.
    accurate
        The same, with a sum as accurate as a signed answer's.
    odds
        Exact probabilities for the clipping mechanism.
    """

    epsilon: float
    d: int
    own: Packing
    accurate: Packing
    odds: PackingOdds

    @property
    def reached(self) -> tuple[int, int]:
        """The most sets that one output lies in: accurate sum, the mechanism's sum."""
        first, second = (int(p.memberships(p.fullest_output())) for p in (self.accurate, self.own))
        return first, second

    @functools.cached_property
    def steps(self) -> list[Step]:
        """Every inequality of the proof."""
        return [
            *accuracy_steps(self.own, self.odds),
            *overlap_steps(self.own, self.odds),
            *pure_steps(PureDP(self.epsilon), self.own, self.odds),
        ]

    @property
    def tables(self) -> Caption:
        """What is said about the picture of the packing."""
        p = self.own
        return Caption(
            f"The first tables of the packing, with $n = {p.n}$ records, of which $m = {p.m}$ are "
            f"moved. Table $\\mathcal D_1$ is the base; each other table is {p.steps} records away "
            "from it.",
            alt="Rows of boxes. The first row has all records in cell 1. Every further row has "
            "half of them in cell 1 and the other half in one other cell, a different one in each "
            "row.",
        )

    @property
    def privacy_said(self) -> str:
        """What group privacy says between the tables."""
        loss = format_number(self.own.steps * self.epsilon)
        return (
            f"*Privacy.* The base table $\\mathcal D_1$ is only $2m = {self.own.steps}$ records "
            "away. So on $\\mathcal D_1$ the output lands in $G_i$ as well, with a probability "
            f"smaller by a factor of at most $e^{{2m\\epsilon}}$ (here $e$ to the power {loss}). "
            "**And this is so for each of the $d - 1$ sets at once.**"
        )

    @property
    def room(self) -> Caption:
        """What is said about the picture of the room for cells."""
        good, own = self.reached
        return Caption(
            f"What the first cell needs (grey) and how many portions of $k = "
            f"{format_number(self.own.k)}$ records fit below the largest allowed sum: {good:,} if "
            f"$D = {format_number(self.accurate.D)}$ (above), {own:,} of {self.d - 1:,} if $D = "
            f"{format_number(self.own.D)}$ (below).",
            alt="Two horizontal bars up to a dashed line, the largest allowed sum. A grey part "
            "belongs to the first cell; the rest is cut into equal blocks, one for each further "
            "cell that can be served.",
        )

    @property
    def room_said(self) -> str:
        """How many cells one output can point at."""
        good, own = self.reached
        verdict = (
            "With so few cells there is room for most of them at once, and the argument is empty; "
            "it needs more cells."
        )
        if good < (self.d - 1) / 2:
            verdict = (
                "If the sum is as accurate as a signed answer's, one output can point at a part "
                "of the cells only."
            )
        return (
            f"{verdict} The proof counts at most $K = (2\\alpha C + \\beta D + k)/k$ cells: "
            f"{format_number(self.accurate.overlap)} in the upper picture, where {good:,} can be "
            f"reached, and {format_number(self.own.overlap)} in the lower one, where {own:,} can."
        )

    @property
    def signed_said(self) -> str:
        """Why a signed output may lie in nearly all the sets."""
        odd = self.accurate.signed_output()
        inside = int(self.accurate.memberships(odd))
        if self.d <= 3:
            return "With so few cells there is hardly anything to overlap; try it with more."
        return (
            f"Its sum is $n$, its first cell holds $n - m$, its last cell {format_number(odd[-1])} "
            f"records, and it lies in {inside:,} of the {self.d - 1:,} sets. (A single output like "
            "this is absurd, but a little of it in each signed output is exactly what we saw in "
            "the last chapter.)"
        )

    @property
    def frame(self) -> pd.DataFrame:
        """The steps of the proof as a table."""
        return steps_frame(self.steps)

    @property
    def steps_caption(self) -> str:
        """What is said about the table of steps."""
        return (
            f"The proof for $M_\\epsilon$ at $\\epsilon = {format_number(self.epsilon)}$, $d = "
            f"{format_number(self.d)}$, $m = {self.own.m}$, $\\alpha = \\beta = 2$: left side, "
            "right side, and slack of each inequality, all exact. The last two rows are in "
            "logarithms."
        )

    @functools.cached_property
    def slack(self) -> Slack:
        """What the theorem asks of this mechanism, and what each step of the proof loses."""
        return packing_slack(PureDP(self.epsilon), self.own, self.odds)

    @property
    def bar(self) -> Caption:
        """What is said about the picture of the slack."""
        return bar_caption(self.slack, r"$2\epsilon m$")

    @property
    def steps_said(self) -> str:
        """What each step of the proof loses."""
        p, odds = self.own, self.odds
        most = self.reached[1]
        binds = "So the overlap condition binds."
        if most > (self.d - 1) / 2:
            binds = "So the overlap condition hardly binds."
        group = "Most are not."
        if self.steps[-2].slack < 0.05 * abs(self.steps[-2].right):
            group = "Here nearly all of them are."
        markov, privacy, overlap, one = (format_number(loss) for _, loss in self.slack.lost)
        return "\n".join(
            [
                "- Markov's inequality is crude. It allows a miss of a cell with probability "
                f"{format_number(1 / p.alpha**2)}; the noise misses with "
                f"{format_number(odds.miss_cell, 2)}. The output lands in its own set with "
                f"probability {format_number(odds.own)}, and the proof uses one quarter.",
                f"- This mechanism's error on the sum leaves room for {most:,} of the "
                f"{self.d - 1:,} sets in one output, and on the base table an output lies in "
                f"{format_number((self.d - 1) * odds.base)} of them on average. {binds}",
                "- Group privacy supposes that every output of $G_i$ is as unfavourable as an "
                f"output can be. {group}",
                f"- The theorem's slack is {format_number(self.slack.total)} nats: {markov} by "
                f"Markov and union, {privacy} by group privacy, {overlap} by the overlap, and "
                f'{one} by "at most 1".',
            ]
        )


class Curves(PrintedCurves):
    """The theorem's curves of C against D, and signed answers among them."""

    @property
    def epsilon(self) -> float:
        """The level."""
        return self.guarantee.level

    @property
    def opening(self) -> str:
        """What was found."""
        return (
            "No private mechanism whose answers are never negative can be accurate both on the sum "
            f"and on every cell, once there are many cells. {self.price_said} {self.verdict}"
        )

    @property
    def price_said(self) -> str:
        """What a sum as good as a signed answer's costs at the most cells."""
        d, bound = self.ds[-1], float(self.at_signed[-1])
        if bound == 0:
            return "At these numbers of cells the printed theorem is still silent."
        return (
            f"At $d =$ {format_number(d)} and $\\epsilon =$ {format_number(self.epsilon)}, a "
            "mechanism whose sum is as accurate as a signed answer has some cell with a root error "
            f"of at least {at_least(bound)} records; a signed answer has "
            f"{format_number(self.signed)}."
        )

    @property
    def verdict(self) -> str:
        """From which number of cells on the theorem excludes the star."""
        if self.above:
            return (
                f"From $d =$ {format_number(self.above[0])} on, of the values drawn, the curve "
                "passes above the star: no nonnegative mechanism can match signed answers there."
            )
        return (
            "None of the curves drawn passes above the star: at these $d$ the printed theorem does "
            "not yet separate nonnegative tables from signed answers."
        )

    @property
    def silence_said(self) -> str:
        """Where the printed theorem says nothing."""
        silent = [n for n, c in zip(self.ds, self.at_signed, strict=True) if c == 0]
        if silent:
            return (
                f"At $d =$ {format_number(silent[-1])} the printed theorem says nothing about "
                "mechanisms whose sum is as good as a signed answer."
            )
        return (
            "At each $d$ drawn the printed theorem says something about mechanisms whose sum is as "
            "good as a signed answer."
        )

    @property
    def star_said(self) -> str:
        """Where the star and the other markers are."""
        return (
            f"The star is where signed answers are, at {format_number(self.signed)} in both "
            f"coordinates. {self.silence_said} The other markers are the clipping mechanism "
            "$M_\\epsilon$, each on the allowed side of the curve of its $d$."
        )

    @property
    def picture(self) -> Caption:
        """What is said about the picture of the curves."""
        return Caption(
            "No nonnegative mechanism lies below its curve (Theorem 3.1 as printed, best $k$; "
            f"$\\epsilon = {format_number(self.epsilon)}$). Star: signed answers, at $C = D = "
            f"\\sqrt8/\\epsilon =$ {format_number(self.signed)}, whatever $d$. Other markers: the "
            "clipping mechanism at the same numbers of cells, with a small $C$ and a $D$ that "
            "grows with $d$.",
            alt="Curves of the smallest allowed cell error against the sum error on a logarithmic "
            "axis, one for each number of cells. They fall from left to right and reach zero where "
            "the sum error is large; more cells give a higher curve. A star marks signed answers; "
            "other markers near the bottom right mark the clipping mechanism.",
        )

    @property
    def branches(self) -> pd.DataFrame:
        """The paper's two choices of k beside the best, as bounds on C at the star's D."""
        rows = []
        for d, best in zip(self.ds, self.at_signed, strict=True):
            named = point_error_branches(PureDP(self.epsilon), d, self.signed)
            columns = {f"with ${k.replace('epsilon', chr(92) + 'epsilon')}$": rounded_down(b.value)
                       for k, b in named.items()}  # fmt: skip
            least = rounded_down(float(best))
            rows.append({"d": format_number(d), **columns, "with the best $k$": least})
        return pd.DataFrame(rows)

    @property
    def branches_caption(self) -> str:
        """What is said about the table of branches."""
        return (
            f"Lower bounds on $C$ at $D = \\sqrt8/\\epsilon =$ {format_number(self.signed)}, in "
            "records: the paper's two choices of $k$, turned into bounds that suppose nothing "
            "about $C$ and $D$, and the best $k$. Zero means that the bound says nothing."
        )


@dataclass(frozen=True, eq=False)
class Slopes:
    """How the two bounds grow with the number of cells.

    Parameters
    ----------
    epsilon
        The level.
    ds
        Numbers of cells, increasing.
    point, total
        Named curves: the bound on epsilon C and on epsilon D, by what is held for the other.
    first
        The least numbers of cells at which the first curve of either kind is above zero; infinite
        if that is beyond the largest number.
    """

    epsilon: float
    ds: Array
    point: tuple[tuple[str, Array], ...]
    total: tuple[tuple[str, Array], ...]
    first: tuple[float, float]

    @property
    def ends(self) -> tuple[float, float]:
        """The slopes at the right end: of C in ln d, of ln D in ln d; NaN where D is 0."""
        run = math.log(self.ds[-1]) - math.log(self.ds[-9])
        C, D = self.point[0][1], self.total[0][1]
        of_sum = math.log(D[-1] / D[-9]) / run if D[-9] > 0 else math.nan
        return float(C[-1] - C[-9]) / run, of_sum

    @property
    def reference(self) -> tuple[str, Array]:
        """A line of slope one for the right panel."""
        return "slope 1", self.ds / self.ds[-1] * max(float(self.total[0][1][-1]), 1e-6) * 30

    @property
    def picture(self) -> Caption:
        """What is said about the picture of both bounds."""
        return Caption(
            "Part (a), left: with $D = \\sqrt\\lambda/\\epsilon$, $\\epsilon C$ grows like $\\ln "
            f"d$; the slope at the right end is {format_number(self.ends[0])} per unit of $\\ln "
            "d$. Part (b), right: with $C = \\sqrt\\lambda/\\epsilon$, $D$ grows like $d$.",
            alt="Left: epsilon times C against the logarithm of d, zero at first and then a rising "
            "straight line. Right: epsilon times D against d on two logarithmic axes, rising "
            "parallel to a reference line of slope one.",
        )

    @property
    def slopes_said(self) -> str:
        """What the slopes are and where the bounds begin."""
        left, right = self.ends
        of_sum = "On the right the bound says nothing up to the largest $d$ drawn"
        if math.isfinite(right):
            of_sum = f"On the right both axes are logarithmic, and the slope is {right:.3g}"
        begin = "One of the bounds says nothing up to the largest $d$ drawn."
        if all(map(math.isfinite, self.first)):
            begin = (
                f"The first bound begins to say something at $d =$ {format_number(self.first[0])}, "
                f"the second at $d =$ {format_number(self.first[1])}."
            )
        return (
            "On the left the axis of $d$ is logarithmic and that of $C$ is not: a straight line "
            f"means $C \\propto \\ln d$. Its slope at the right end is {format_number(left)}. "
            f"{of_sum}. {begin}"
        )


@dataclass(frozen=True)
class Slip:
    """The printed inequality where it fails, with m as a real number.

    Parameters
    ----------
    epsilon, d, k
        Where.
    left, right
        Logarithms of both sides: the left is claimed the larger.
    """

    epsilon: float
    d: int
    k: float
    left: float
    right: float

    @property
    def said(self) -> str:
        """That the printed inequality fails there."""
        return (
            f"For $\\epsilon = {format_number(self.epsilon)}$, $d = {format_number(self.d)}$, $k = "
            f"{format_number(self.k)}$ the exact $C$ and $D$ of $M_\\epsilon$ violate the printed "
            f"inequality: in logarithms the left side is {format_number(self.left, 2)} and the "
            f"right side {format_number(self.right, 2)}."
        )


def hiding_game(epsilon: float = 0.5, d: int = 1000) -> HidingGame:
    """Return the packing of the clipping mechanism and the exact odds of its events.

    Raises
    ------
    InputError
        A value out of range, or a sum over so many cells that its law does not fit in memory.

    Examples
    --------
    >>> game = hiding_game(0.5, 100)
    >>> game.own.m, all(step.holds for step in game.steps)
    (8, True)
    """
    noise = DoubleGeometric(epsilon)
    own = clipped_packing(noise, d, k=1 / epsilon)
    accurate = packing_at(d, own.C, PureDP(epsilon).signed_error, k=1 / epsilon)
    return HidingGame(epsilon, d, own, accurate, packing_odds(noise, own))


def curves(epsilon: float, ds: Sequence[int]) -> Curves:
    """Return the theorem's curves at some numbers of cells, and signed answers among them.

    Examples
    --------
    >>> curves(0.5, [10**6]).verdict[:4]
    'None'
    """
    return Curves.at(PureDP(epsilon), DoubleGeometric(epsilon), ds)


def slopes(epsilon: float, lam: float) -> Slopes:
    """Return how the bounds grow with d, the other error held at sqrt(lambda)/epsilon.

    The printed constant of part (b) falls like exp(-4 sqrt(lambda)): smaller ones are taken there.

    Examples
    --------
    >>> slopes(0.5, 8.0).first[0]
    135.0
    """
    guarantee, ds = PureDP(epsilon), np.round(np.geomspace(10, _LARGEST_D, 120))
    point, total = (lam, 100 * lam), (lam / 16, lam / 4)

    def of_point(d: Array | float, held: float) -> Array:
        error = math.sqrt(held) / epsilon
        return np.asarray(point_error_bound("printed", guarantee, d, error) * epsilon)

    def of_sum(d: Array | float, held: float) -> Array:
        error = math.sqrt(held) / epsilon
        return np.asarray(sum_error_bound("printed", guarantee, d, error) * epsilon)

    return Slopes(
        epsilon,
        ds,
        tuple((f"λ={format_number(v)}", of_point(ds, v)) for v in point),
        tuple((f"λ={format_number(v)}", of_sum(ds, v)) for v in total),
        (
            _first(lambda d: float(of_point(d, point[0]))),
            _first(lambda d: float(of_sum(d, total[0]))),
        ),
    )


def _first(bound: Callable[[float], float]) -> float:
    """Return the least d at which a bound that grows with d is above zero."""
    if bound(_LARGEST_D) <= 0:
        return math.inf
    low, high = 1, int(_LARGEST_D)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(float(middle)) > 0 else (middle, high)
    return float(high)


def slip() -> Slip:
    """Return a mechanism that breaks the printed inequality where m is no whole number.

    Examples
    --------
    >>> found = slip()
    >>> found.left < found.right
    True
    """
    epsilon, d, k = 10.0, 10_000, 0.01
    noise = DoubleGeometric(epsilon)
    total = clipped_sum_error(noise, d)
    left, right = printed_sides(PureDP(epsilon), d, noise.std, total, k)
    return Slip(epsilon, d, k, float(left), float(right))


def large_epsilon(epsilon: float, d: int) -> tuple[pd.DataFrame, str]:
    """Return the clipping mechanism's exact errors at several levels, and the table's caption."""
    rows = []
    for level in sorted({0.1, 1.0, 10.0, epsilon}):
        noise = DoubleGeometric(level)
        worst = clipped_sum_error(noise, d) ** 2
        rows.append(
            {
                "level $\\epsilon$": format_number(level),
                "cell: $C^2\\epsilon^2$": noise.variance * level**2,
                "sum: $D^2\\epsilon^2/d^2$": worst * level**2 / d**2,
            }
        )
    return pd.DataFrame(rows), (
        f"Exact errors of $M_\\epsilon$ at $d = {format_number(d)}$ in the units of part (b): "
        "$C^2\\epsilon^2$ never exceeds 2, and still $D^2\\epsilon^2/d^2$ falls towards zero as "
        "$\\epsilon$ grows."
    )
