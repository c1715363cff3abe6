"""Sharper bounds: first moments beside packings, their proofs on mechanisms, and what is left."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.colours import COLOURS, Dash
from ..base.numbers import at_least, at_most, format_number
from ..model.noise_discrete import DiscreteGaussian, DoubleGeometric
from ..model.privacy import PureDP
from ..page.output import Caption
from ..theory.lower import channel_program as program
from ..theory.lower.channels import ChannelOptimum, table_program
from ..theory.lower.gamma_bounds import best_gamma_sum_error
from ..theory.lower.lower_bounds import BOUNDS, point_error_bound, sum_error_bound
from ..theory.lower.moment_bounds import moment_point_error, moment_sum_error
from ..theory.lower.validity import first_above
from ..theory.lower.variants import approximate_corollary, one_record_bound, public_total_bound
from ..theory.proofs import moment_walk as walk
from ..theory.proofs import packing_walk
from ..theory.proofs.slack import Slack, moment_slack
from ..theory.proofs.steps import Step, steps_frame
from ..theory.upper.exact_errors import worst_clipped_sum
from ..theory.upper.leading import Leading, leading_ratios
from ..theory.upper.one_sided import certified_split
from .levels import Levels
from .slack import bar_caption

Array = NDArray[np.float64]

SMALL = (1.0, 3, 1.3)
"""Epsilon, cells and D of the small world that is solved whole, whatever the levels are."""


def cells_written(d: float) -> str:
    """Write a number of cells, to two digits if it is large; a dash for none."""
    if math.isinf(d):
        return "–"
    return format_number(d if d < 10_000 else float(f"{d:.2g}"), 2)


@dataclass(frozen=True)
class Findings(Levels):
    """Everything that the chapter computes at one set of levels.

    Examples
    --------
    >>> found = study()
    >>> found.at_signed["printed"] < found.at_signed["first_moment"]
    True
    """

    @property
    def noise(self) -> DoubleGeometric:
        """The noise of the clipping mechanism M_epsilon."""
        return DoubleGeometric(self.epsilon)

    # The main picture: bounds on C against D.

    @functools.cached_property
    def own(self) -> tuple[float, float]:
        """D and C of the clipping mechanism, exact."""
        square = float(worst_clipped_sum(self.noise, self.d).squared_error)
        return math.sqrt(square), self.noise.std

    @functools.cached_property
    def sum_errors(self) -> Array:
        """The D of the curves."""
        ends = (self.own[0], self.pure.signed_error)
        return np.geomspace(0.3 * min(ends), 3 * max(ends), 140)

    @functools.cached_property
    def curves(self) -> dict[str, Array]:
        """Each bound on C."""
        return {n: point_error_bound(n, self.pure, self.d, self.sum_errors) for n in BOUNDS}

    @functools.cached_property
    def reached(self) -> tuple[Array, Array]:
        """D and C that a split budget is certain to reach."""
        found = certified_split(self.pure, self.d, np.geomspace(0.02, 0.95, 60))
        return found.D, found.C

    @functools.cached_property
    def at_signed(self) -> dict[str, float]:
        """Each bound on C where D is a signed answer's."""
        s = self.pure.signed_error
        return {n: float(point_error_bound(n, self.pure, self.d, s)) for n in BOUNDS}

    @functools.cached_property
    def certain(self) -> float:
        """C that half a budget is certain to reach at a signed answer's D."""
        return float(certified_split(self.pure, self.d).C)

    @property
    def opening(self) -> str:
        """What was found."""
        signed, ours = self.pure.signed_error, self.at_signed["first_moment"]
        printed = self.at_signed["printed"]
        verdict = "That does not yet exclude the point of signed answers at so few cells."
        if ours > signed:
            verdict = (
                "So the accuracy of signed answers is out of reach for nonnegative ones already at "
                "this number of cells."
            )
        demands = (
            f"the paper's theorem demands that cells err by at least {at_least(printed)} records. "
            f"A proof of half a page demands {at_least(ours)}."
        )
        if ours == printed == 0:
            demands = "neither the paper's theorem nor a proof of half a page says anything."
        return (
            f"With {format_number(self.d)} cells and a sum as good as a signed answer's, $D = "
            f"{format_number(signed)}$, {demands} {verdict} One mechanism is proved "
            f"to err by at most {at_most(self.certain)}."
        )

    @property
    def compared(self) -> Caption:
        """What is said about the picture of all bounds."""
        return Caption(
            f"Lower bounds on $C$ at $d = {format_number(self.d)}$ and $\\epsilon = "
            f"{format_number(self.epsilon)}$. At the signed answers' $D$ (star) the printed "
            f"theorem demands {at_least(self.at_signed['printed'])}, first moments "
            f"{at_least(self.at_signed['first_moment'])}. Solid line on top: what a split budget "
            "is certain to reach. Square: the clipping mechanism, exact.",
            alt="Falling curves of the smallest allowed cell error against the sum error on a "
            "logarithmic axis: as printed, with free constants, from the empty base, and by first "
            "moments. Above them a solid line of what mechanisms reach; a star marks signed "
            "answers and a square the clipping mechanism.",
        )

    @functools.cached_property
    def firsts(self) -> dict[tuple[str, str], tuple[float, float]]:
        """From which d each bound says something, and from which it excludes signed errors."""
        found = {}
        for short, g in (("pure", self.pure), ("zCDP", self.zcdp)):
            s = g.signed_error
            for n in BOUNDS:
                found[short, n] = (first_above(n, g, s), first_above(n, g, s, s))
        return found

    @property
    def firsts_table(self) -> pd.DataFrame:
        """The same as a table."""
        rows = []
        for n in BOUNDS:
            row = {"bound": BOUNDS[n].label}
            for short in ("pure", "zCDP"):
                says, excludes = self.firsts[short, n]
                row[f"{short}: says something"] = cells_written(says)
                row[f"{short}: excludes signed"] = cells_written(excludes)
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def firsts_caption(self) -> str:
        """What is said about that table."""
        never = any(math.isinf(x) for pair in self.firsts.values() for x in pair)
        dash = " A dash: not up to $10^{300}$." if never else ""
        return (
            "The least number of cells at which each bound on $C$ is above zero, and above the "
            "signed answers' own error, when the sum is as good as a signed answer ($\\epsilon = "
            f"{format_number(self.epsilon)}$, $\\rho = {format_number(self.rho)}$). Numbers "
            f"from 10,000 on are given to two digits.{dash} The printed bound is the paper's, the "
            "others are ours. *Free constants*: the paper's proof with a closer base table and its "
            "constants at their best. *Empty base*: the same from the table without records. "
            "*First moments*: a proof from expected values alone."
        )

    @property
    def firsts_said(self) -> str:
        """From how many cells on signed accuracy is excluded."""
        words = []
        for short, kind in (("pure", "Under pure DP"), ("zCDP", "Under zCDP")):
            old, new = (self.firsts[short, n][1] for n in ("printed", "first_moment"))
            ours = f"first moments do so from {cells_written(new)} cells on"
            theirs = f"the printed theorem from {cells_written(old)}"
            if math.isinf(new):
                ours = "first moments do so at no number of cells tried"
            if math.isinf(old):
                theirs = "the printed theorem at none that was tried"
            words.append(f"{kind}, {ours}, {theirs}.")
        return f"From how many cells on does each bound exclude signed accuracy? {' '.join(words)}"

    # The proofs, step by step on mechanisms.

    @functools.cached_property
    def case(self) -> walk.Setting:
        """The pure proof's setting on M_epsilon, at the m that is best for its own C."""
        m = int(moment_sum_error(self.pure, np.array(float(self.d)), np.array(self.noise.std)).m)
        return walk.clipping_setting(self.noise, self.d, m)

    @functools.cached_property
    def steps(self) -> list[Step]:
        """Every inequality of the pure proof."""
        return walk.pure_moment_steps(self.pure, self.noise, self.case)

    @property
    def steps_table(self) -> pd.DataFrame:
        """The same as a table."""
        return steps_frame(self.steps)

    @property
    def steps_caption(self) -> str:
        """What is said about it."""
        return (
            f"The first-moment proof for $M_\\epsilon$ at $\\epsilon = "
            f"{format_number(self.epsilon)}$, $d = {format_number(self.d)}$, $m = {self.case.m}$: "
            "both sides of each inequality in records, all exact."
        )

    @functools.cached_property
    def slack(self) -> Slack:
        """Where the pure proof loses, in records."""
        return moment_slack(self.pure, self.case, self.steps)

    @property
    def bar(self) -> Caption:
        """What is said about the picture of it."""
        return bar_caption(
            self.slack,
            r"$e^{\epsilon m} D/d$",
            f"Here $m = {self.case.m}$, and the mechanism is $M_\\epsilon$.",
        )

    @functools.cached_property
    def slacks(self) -> tuple[float, float]:
        """By which factor the two sides of the theorem are apart: first moments, the packing."""
        final = next(s for s in self.steps if s.name.startswith("All together"))
        packing = packing_walk.clipped_packing(self.noise, self.d, k=1 / self.epsilon)
        odds = packing_walk.packing_odds(self.noise, packing)
        old = packing_walk.pure_steps(self.pure, packing, odds)[-1]
        return final.right / final.left, math.exp(min(old.slack, 700.0))

    @property
    def steps_said(self) -> str:
        """How much the proof loses."""
        ours, theirs = self.slacks
        return (
            f"At $m = {self.case.m}$ the right side of the last row is "
            f"{format_number(ours, 2)} times the left. The two sides of the paper's theorem, on "
            f"the same mechanism (with $k = 1/\\epsilon$), are a factor of "
            f"{format_number(float(f'{theirs:.2g}'), 2)} apart."
        )

    @functools.cached_property
    def cut(self) -> tuple[list[Step], walk.Setting, bool]:
        """The proof with a delta on truncated noise: steps, setting, and whether m is the best."""
        noise = packing_walk.truncated_cells(self.approximate)
        best = moment_sum_error(self.approximate, np.array(float(self.d)), np.array(noise.std)).m
        case = walk.clipping_setting(noise, self.d, max(int(best), 1))
        return walk.approximate_moment_steps(self.approximate, noise, case), case, bool(best > 0)

    @functools.cached_property
    def cut_slack(self) -> Slack:
        """Where the proof with a delta loses, in records."""
        return moment_slack(self.approximate, self.cut[1], self.cut[0])

    @property
    def cut_bar(self) -> Caption:
        """What is said about the picture of it."""
        return bar_caption(
            self.cut_slack,
            r"$e^{\epsilon m} D/d + m\,\delta_m$",
            f"Here $m = {self.cut[1].m}$, and the mechanism clips truncated noise.",
        )

    @property
    def cut_table(self) -> pd.DataFrame:
        """Its steps as a table."""
        return steps_frame(self.cut[0])

    @property
    def cut_caption(self) -> str:
        """What is said about it."""
        _, case, best = self.cut
        word = (
            f"$m = {case.m}$ is best for the mechanism's own $C$."
            if best
            else "At these values no $m$ bounds $D$; the table is for $m = 1$."
        )
        return (
            "The first-moment proof for clipped truncated noise at $\\epsilon = "
            f"{format_number(self.epsilon)}$, $\\delta =$ {format_number(self.delta)}, $d = "
            f"{format_number(self.d)}$: both sides in records, all exact. {word}"
        )

    @property
    def corollary_said(self) -> str:
        """The explicit form with a delta, beside the bound."""
        g, d, D = self.approximate, float(self.d), self.pure.signed_error
        value = float(approximate_corollary(g, d, D))
        bound = float(point_error_bound("first_moment", g, d, D))
        far = float(approximate_corollary(g, 1e250, D))
        if bound == 0:
            return "At these values neither the theorem nor its corollary says anything about $C$."
        return (
            f"Here the theorem at its best $m$ gives $C \\ge {at_least(bound)}$, and the proof of "
            f"the corollary {at_least(value)}. However many cells there are, that proof gives no "
            f"more than {at_most(far)}: the ceiling."
        )

    # zCDP

    @functools.cached_property
    def zcdp_noise(self) -> DiscreteGaussian:
        """The noise of M_rho."""
        return DiscreteGaussian(1 / (2 * self.rho))

    @functools.cached_property
    def growth(self) -> dict[str, Array]:
        """D against d at the C of M_rho: the mechanism's own, first moments, two packings."""
        C, grid = self.zcdp_noise.std, self.grid
        gamma, _ = best_gamma_sum_error(self.rho, grid, C)
        return {
            "own": np.sqrt(worst_clipped_sum(self.zcdp_noise, grid).squared_error),
            "moment": sum_error_bound("first_moment", self.zcdp, grid, C),
            "free": sum_error_bound("optimised", self.zcdp, grid, C),
            "gamma": gamma,
        }

    @functools.cached_property
    def grid(self) -> Array:
        """Numbers of cells of that picture."""
        return np.round(np.geomspace(3, 1e15, 90))

    @property
    def growth_curves(self) -> list[tuple[str, Array, str, Dash]]:
        """The curves with names, colours and dashes; bounds look as they do everywhere."""
        g = self.growth
        bounds = {"moment": BOUNDS["first_moment"], "free": BOUNDS["optimised"]}
        return [
            ("$M_\\rho$, exact", g["own"], COLOURS["red"], "-"),
            *((b.label.replace(" ", "\n"), g[k], b.colour, b.dash) for k, b in bounds.items()),
            ("best $\\gamma$", g["gamma"], COLOURS["orange"], (0, (5, 1.5))),
        ]

    @functools.cached_property
    def growth_factor(self) -> float:
        """How many times the mechanism's D is above the bound at the largest d."""
        return float(self.growth["own"][-1] / self.growth["moment"][-1])

    @property
    def gap(self) -> Caption:
        """What is said about the picture of growth."""
        g = self.growth
        behind = "Packing bounds lie below it."
        if 0 < g["free"][-1] / g["moment"][-1] < g["free"][-20] / g["moment"][-20]:
            shares = [format_number(float(g["free"][i] / g["moment"][i]), 2) for i in (-1, -20)]
            behind = (
                f"The packing bound with free constants is {shares[0]} of it at the right end, and "
                f"{shares[1]} at $d =$ {cells_written(float(self.grid[-20]))}: it falls behind."
            )
        return Caption(
            "The sum's error when cells are as good as those of $M_\\rho$, $C = "
            f"{format_number(self.zcdp_noise.std)}$. The first-moment bound is parallel to the "
            "exact error of $M_\\rho$, in the end a constant factor of "
            f"{format_number(self.growth_factor, 2)} below it. {behind}",
            alt="Sum error against number of cells on two logarithmic axes. The exact error of the "
            "clipping mechanism and the first-moment bound are parallel straight lines of slope "
            "one; the packing bounds start later and rise less steeply, or do not appear at all.",
        )

    @property
    def gap_said(self) -> str:
        """What is left of the paper's argument."""
        g = self.growth
        if g["gamma"][-1] <= 0:
            return (
                "The paper's argument, with its best $\\gamma$ for each $d$, has not even left "
                "zero at the right end of the picture."
            )
        share = format_number(float(g["gamma"][-1] / g["moment"][-1]), 2)
        return (
            f"The paper's argument, with its best $\\gamma$, gives {share} of it at the right end."
        )

    @functools.cached_property
    def zcdp_steps(self) -> tuple[list[Step], int]:
        """The zCDP proof on M_rho, and its m; 0 and no steps where no m lets it begin."""
        C = self.zcdp_noise.std
        m = int(moment_sum_error(self.zcdp, np.array(float(self.d)), np.array(C)).m)
        used = walk.usable_records(self.zcdp, self.zcdp_noise, self.d, m)
        if used == 0:
            return [], 0
        case = walk.clipping_setting(self.zcdp_noise, self.d, used)
        return walk.zcdp_moment_steps(self.zcdp, self.zcdp_noise, case), used

    @property
    def zcdp_bars(self) -> list[tuple[Slack, Caption]]:
        """Where the zCDP proof loses, in records, and what is said; none where it cannot begin."""
        steps, m = self.zcdp_steps
        if not steps:
            return []
        case = walk.clipping_setting(self.zcdp_noise, self.d, m)
        slack = moment_slack(self.zcdp, case, steps)
        allowed = r"$m\,e^{-(\sqrt L - \sqrt\rho\,m)^2}$"
        rest = f"Here $m = {m}$, and the mechanism is $M_\\rho$."
        return [(slack, bar_caption(slack, allowed, rest))]

    @property
    def zcdp_table(self) -> pd.DataFrame:
        """Its steps as a table; at another number of cells where it cannot begin."""
        steps, _ = self.zcdp_steps
        return steps_frame(steps) if steps else pd.DataFrame({"step": ["none at these values"]})

    @property
    def zcdp_caption(self) -> str:
        """What is said about it."""
        steps, m = self.zcdp_steps
        if not steps:
            return (
                "At these values no whole number $m$ lets the proof begin on $M_\\rho$ itself, "
                "since its sum is so bad that $L < \\rho m^2$; more cells or less privacy loss "
                "would."
            )
        return (
            f"The zCDP proof for $M_\\rho$ at $\\rho = {format_number(self.rho)}$, $d = "
            f"{format_number(self.d)}$, $m = {m}$, at the best Rényi order: all sides exact."
        )

    # The leading term

    @functools.cached_property
    def sizes(self) -> Array:
        """Numbers of cells for the leading term."""
        return np.round(10.0 ** np.geomspace(2, 290, 60))

    @functools.cached_property
    def leads(self) -> dict[str, Leading]:
        """Both bounds over the leading term."""
        return {
            "pure DP": leading_ratios(self.pure, self.sizes),
            "zCDP": leading_ratios(self.zcdp, self.sizes),
        }

    @property
    def leading(self) -> Caption:
        """What is said about the picture of the leading term."""
        ends = [
            format_number(float(getattr(f, side)[-1]))
            for f in self.leads.values()
            for side in ("lower", "upper")
        ]
        million = leading_ratios(self.pure, [1e6])
        low, high = (format_number(float(x[0]), 2) for x in (million.lower, million.upper))
        return Caption(
            "Bounds on $C$ over $\\ln(d)/\\epsilon$ (left) and $\\sqrt{\\ln(d)/\\rho}$ (right), "
            "when the sum gets the share $1/\\sqrt{\\ln d}$ of the budget. At $d = 10^{290}$ they "
            f"are {ends[0]} and {ends[1]} under pure DP, {ends[2]} and {ends[3]} under zCDP; at a "
            f"million cells still {low} and {high}. Both tend to 1, very slowly.",
            alt="Two panels of bounds on C divided by the leading term, against d on a doubly "
            "logarithmic scale from a hundred to ten to the 290. In each, an upper curve falls "
            "towards one and a lower curve rises towards one.",
        )

    @property
    def other_said(self) -> str:
        """What first moments say on other terms."""
        d, s = self.d, self.pure.signed_error
        public = float(public_total_bound(self.epsilon, d))
        private = self.at_signed["first_moment"]
        return (
            f"Here, with $d = {format_number(d)}$ and a public, exact total, some cell errs by at "
            f"least {at_least(public)} records on average; with a total as good as a signed "
            f"answer's, $D = {format_number(s)}$, it is {at_least(private)}."
        )

    @property
    def large_said(self) -> str:
        """How tight one record is at a large epsilon."""
        eps, d = max(self.epsilon, 10.0), 10**6
        noise = DoubleGeometric(eps)
        bound = float(one_record_bound(eps, d, noise.std))
        own = math.sqrt(float(worst_clipped_sum(noise, d).squared_error))
        return (
            f"At $\\epsilon = {format_number(eps)}$ and a million cells, with the $C$ of "
            f"$M_\\epsilon$, it gives $D \\ge {at_least(bound)}$, and $M_\\epsilon$ has "
            f"{format_number(own)}."
        )

    # Linear programs

    @functools.cached_property
    def step(self) -> int:
        """Records of a step of the channel program."""
        return program.suggested_step(self.epsilon)

    @functools.cached_property
    def errors(self) -> Array:
        """The C at which the channel program is solved."""
        return self.noise.std * 1.001 + np.array([0.0, 0.5, 1.0, 2.0, 3.5, 5.0]) / self.epsilon

    @functools.cached_property
    def channels(self) -> list[program.BestChannel]:
        """The best channel at each C."""
        return [
            program.best_channel(self.pure, float(c), self._largest(float(c)), self.step)
            for c in self.errors
        ]

    def _largest(self, c: float) -> int:
        return program.suggested_largest(self.epsilon, c, self.step)

    @functools.cached_property
    def any_weights(self) -> Array:
        """What the program proves for outputs that need not be whole."""
        return np.array(
            [
                program.channel_sum_error(
                    self.pure, float(c), self._largest(float(c)), self.step, whole=False
                )
                for c in self.errors
            ]
        )

    @functools.cached_property
    def moment_curve(self) -> Array:
        """The first-moment bound on D per cell at the same C."""
        return sum_error_bound("first_moment", self.pure, self.d, self.errors) / self.d

    @functools.cached_property
    def over(self) -> Array:
        """The program's value over first moments."""
        return np.array([f.bound for f in self.channels]) / self.moment_curve

    @property
    def channels_caption(self) -> Caption:
        """What is said about the picture of the channel program."""
        coarse = ""
        if self.step > 1:
            coarse = f" Counts and outputs move in steps of {self.step} records."
        return Caption(
            f"What an empty cell must show on average if its error is at most $C$, at $\\epsilon = "
            f"{format_number(self.epsilon)}$ (times $d$: a bound on $D$). The best of all private "
            f"channels is {format_number(float(self.over[0]), 2)} times the first-moment bound at "
            f"the smallest $C$ and {format_number(float(self.over[-1]), 2)} times at the largest. "
            f"Dotted: what is proved for outputs that need not be whole numbers.{coarse}",
            alt="Left: the least mean of an empty cell against the allowed error C on a "
            "logarithmic axis; the linear program's curve runs on or above the first-moment bound, "
            "and a dotted curve for outputs that need not be whole. A square marks the "
            "clipping mechanism above them. Right: the ratio of the two curves.",
        )

    @property
    def channels_said(self) -> str:
        """How much single cells could still give."""
        worst = max(f.worst for f in self.channels)
        shift = math.log(max(float(np.nanmax(self.over)), 1.0)) / self.epsilon
        own = self.case.empty / self.channels[0].bound
        return (
            f"The worst certificate is {format_number(worst, 2)}. Read the other way, as a bound "
            "on $C$ for given $D$, even the largest of these factors is worth no more than about "
            f"{format_number(shift, 2)} records. $M_\\epsilon$ itself, the square, lies a factor "
            f"of {format_number(own, 2)} above the best channel of the same error."
        )

    @functools.cached_property
    def small(self) -> tuple[ChannelOptimum, ChannelOptimum, float]:
        """The best small mechanisms, nonnegative and signed, and the first-moment bound."""
        eps, d, D = SMALL
        plain, signed = (
            table_program(PureDP(eps), int(d), D, max_count=2, low=low, high=3) for low in (0, -1)
        )
        bound = float(point_error_bound("first_moment", PureDP(eps), int(d), D, max_records=2))
        return plain, signed, bound

    @property
    def small_said(self) -> str:
        """What whole small tables say."""
        plain, signed, bound = self.small
        word = (
            "So three cells pay already, though very little"
            if plain.C > signed.C * (1 + 1e-5)
            else "So three cells do not pay yet"
        )
        silent = (
            f"first moments prove $C \\ge {at_least(bound)}$ here"
            if bound > 0
            else "first moments are silent at so few cells"
        )
        violation = max(plain.violation, signed.violation)
        return (
            f"At $\\epsilon = {format_number(SMALL[0])}$, with {SMALL[1]} cells and a sum held to "
            f"$D \\le {format_number(SMALL[2])}$, the best mechanism with nonnegative outputs has "
            f"$C = {format_number(plain.C, 4)}$. If a cell may also come out as $-1$, the best has "
            f"{format_number(signed.C, 4)} (constraints hold to {format_number(violation, 1)}). "
            f"{word}. This is an observation about these outputs and tables, not a theorem about "
            f"all $d$; for comparison, {silent}."
        )

    @property
    def by_hand_said(self) -> str:
        """The solution of the first exercise: with and without rounding."""
        d, D = np.array(1000.0), np.array(math.sqrt(8))
        whole = moment_point_error(PureDP(1.0), d, D)
        real = moment_point_error(PureDP(1.0), d, D, integer=False)
        return (
            f"The best whole number is $m = {int(whole.m)}$, which gives "
            f"{format_number(float(whole.value), 4)}. If $m$ could be any real number, the best "
            f"would be {format_number(float(real.m))} and give "
            f"{format_number(float(real.value), 4)}."
        )

    @property
    def program_said(self) -> str:
        """The solution of the last exercise: biases of the best channel."""
        law = self.channels[0].channel
        y = self.step * np.arange(law.shape[1])
        bias = law @ y - self.step * np.arange(law.shape[0])
        low = bias[: max(2, bias.size // 2)]
        return (
            f"Its bias is {format_number(float(bias[0]))} at an empty cell and "
            f"{format_number(float(low.min()))} at the worst count in the lower half of the "
            "program's range (near its top outputs can only err downwards)."
        )


study = Findings
