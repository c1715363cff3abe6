"""The lower bound under zCDP: what an output tells, Fano's inequality, nats and bits, gamma."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, at_least, format_number, runs_within
from ..model.noise_discrete import DiscreteGaussian
from ..model.privacy import ConcentratedDP
from ..page.output import Caption
from ..theory.lower.gamma_bounds import best_gamma_sum_error, gamma_sum_error
from ..theory.lower.lower_bounds import point_error_bound
from ..theory.lower.printed_bounds import ZCDP_FIRST, ZCDP_SECOND, in_range, printed_sides
from ..theory.lower.printed_branches import point_error_branches
from ..theory.proofs import fano_walk
from ..theory.proofs import packing_walk as walk
from ..theory.proofs.packing import Packing
from ..theory.proofs.slack import Slack, fano_slack
from ..theory.proofs.steps import Step, steps_frame
from .printed_curves import PrintedCurves, clipped_sum_error
from .slack import bar_caption

Array = NDArray[np.float64]

GAMMAS = (0.3, 0.5, 0.7)
"""The gammas that are drawn."""


def _nats(sampled: tuple[float, float], factor: float = 1.0) -> str:
    """Write a sampled entropy; what is almost none or hardly varies has no digits to show."""
    mean = Mean(*sampled).times(factor)
    if mean.value < 1e-6:
        return "almost nothing"
    return f"{format_number(mean.value)} nats" if mean.error < 1e-6 else f"{mean} nats"


@dataclass(frozen=True, eq=False)
class Telling:
    """What an output of the clipping mechanism tells, and the proof on it.

    Parameters
    ----------
    guarantee, d
        The level and the cells.
    noise
        The noise on every cell.
    curve
        Mutual information against the number of moved records, sampled.
    packing, odds
        The proof's tables for the mechanism, and exact probabilities.
    entropies
        The entropies of the proof, sampled.
    runs
        How many outputs the entropies are means over.
    """

    guarantee: ConcentratedDP
    d: int
    noise: DiscreteGaussian
    curve: fano_walk.InformationCurve
    packing: Packing
    odds: walk.PackingOdds
    entropies: fano_walk.Information
    runs: int

    @property
    def full(self) -> float:
        """What there is to be known, in nats."""
        return math.log(self.d - 1)

    @property
    def half_said(self) -> str:
        """With how many records half of it is known."""
        half = self.curve.information > self.full / 2
        if self.d == 2 or not half.any():
            return "With so few cells there is hardly anything to know."
        m = format_number(float(self.curve.m[np.argmax(half)]))
        scale = format_number(math.sqrt(math.log(self.d) / self.guarantee.rho))
        return (
            f"Of the numbers of records drawn, $m =$ {m} is the first with which more than half of "
            f"it is known; for comparison, $\\sqrt{{\\ln(d)/\\rho}} =$ {scale}."
        )

    @property
    def opening(self) -> str:
        """What was found."""
        if self.d == 2:
            return (
                "An output that is accurate on the cells tells where records are, and privacy "
                "limits how much it may tell. With two cells there is nothing to tell."
            )
        return (
            "An output that is accurate on the cells tells where records are, and privacy limits "
            f"how much it may tell. With {format_number(self.d)} cells there are "
            f"{format_number(self.full)} nats to be known. {self.half_said}"
        )

    @property
    def picture(self) -> Caption:
        """What is said about the picture of information."""
        return Caption(
            "What one output of $M_\\rho$ tells about which of the other cells holds the $m$ "
            f"records ({format_number(self.d - 1)} to choose from, $\\rho = "
            f"{format_number(self.guarantee.rho)}$; bars are two standard errors). Privacy keeps "
            "it below the parabolas; it cannot exceed $\\ln(d-1) =$ "
            f"{format_number(self.full)} nats.",
            alt="Mutual information against the number of moved records: points that begin below "
            "two parabolas, rho m squared and four times that, and do not rise above a horizontal "
            "line.",
        )

    # The proof, step by step.

    @functools.cached_property
    def steps(self) -> list[Step]:
        """Every inequality of the proof."""
        return [
            *fano_walk.information_steps(self.guarantee, self.noise, self.packing, self.entropies),
            *fano_walk.fano_steps(self.guarantee, self.packing, self.odds, self.entropies),
        ]

    @functools.cached_property
    def slack(self) -> Slack:
        """What the theorem asks of this mechanism, and what each step of the proof loses."""
        return fano_slack(self.guarantee, self.noise, self.packing, self.odds, self.entropies)

    @property
    def bar(self) -> Caption:
        """What is said about the picture of the slack."""
        rest = f"(Entropies are means over {format_number(self.runs)} outputs.)"
        return bar_caption(self.slack, r"$\rho(2m)^2$", rest)

    @property
    def frame(self) -> pd.DataFrame:
        """The steps as a table."""
        return steps_frame(self.steps)

    @property
    def frame_caption(self) -> str:
        """What is said about it."""
        return (
            f"The proof for $M_\\rho$ at $\\rho = {format_number(self.guarantee.rho)}$, $d = "
            f"{format_number(self.d)}$, $m = {self.packing.m}$, $\\alpha = \\beta = 2$, in nats. "
            f"Values with ± are means over {format_number(self.runs)} outputs; all others are "
            "exact."
        )

    @property
    def steps_said(self) -> str:
        """How much an output tells, and how much the proof allows."""
        p, g = self.packing, self.guarantee
        told, left = _nats(self.entropies.information), _nats(self.entropies.h_x)
        return (
            f"At $m = {p.m}$ (so $k =$ {format_number(p.k)}) the output tells {told} and "
            f"leaves {left}. The proof allows it {format_number(g.group(p.steps).rho)} nats; with "
            f"the closer base table it would be {format_number(g.group(p.m).rho)}. {self.hit_said}"
        )

    @property
    def hit_said(self) -> str:
        """What is left to know after a hit."""
        if self.d == 2:
            return "With a single table to choose from there is nothing to tell."
        left = _nats(self.entropies.inside, 1 / self.odds.own)
        return (
            f"After a hit, the proof grants $\\ln K =$ "
            f"{format_number(math.log(self.packing.overlap))} nats of uncertainty; the output of "
            f"this mechanism really leaves {left}."
        )

    # Nats and bits.

    @functools.cached_property
    def sides(self) -> tuple[float, float]:
        """Both sides of the theorem on this mechanism, in nats."""
        return self.slack.allowed, self.slack.asked

    @property
    def units(self) -> pd.DataFrame:
        """The conclusion in nats, in bits, and as printed."""
        (left, right), bit = self.sides, math.log(2)
        rows = pd.DataFrame(
            {
                "version": ["all in nats", "all in bits", "left in nats, right in bits (printed)"],
                "left side": [left, left / bit, left],
                "right side": [right, right / bit, right / bit],
            }
        )
        rows["slack"] = rows["left side"] - rows["right side"]
        return rows

    @property
    def units_caption(self) -> str:
        """What is said about it."""
        return f"The conclusion for $M_\\rho$ at $m = {self.packing.m}$ in three versions."

    @property
    def range_said(self) -> str:
        """Where the printed inequality is true, and whether this mechanism is there."""
        y = 2 * self.packing.C + self.packing.k
        lies = "lies" if bool(in_range(self.guarantee, y)) else "does not lie"
        return (
            f"The printed form is true from {format_number(ZCDP_FIRST, 5)} to 1 and from "
            f"{format_number(ZCDP_SECOND, 5)} on. In the table $y =$ {format_number(y)}, which "
            f"{lies} in that range. {self.slip_said}"
        )

    @property
    def slip_said(self) -> str:
        """Where the printed inequality fails: one example, whatever the level."""
        rho, d, k = 50.0, 1e12, 0.01
        noise = DiscreteGaussian(1 / (2 * rho))
        D = clipped_sum_error(noise, d)
        left, right = (float(v) for v in printed_sides(ConcentratedDP(rho), d, noise.std, D, k))
        verdict = "so the printed form fails" if left < right else "so it holds there"
        return (
            "For $\\rho = 50$, $d = 10^{12}$ and $k = 0.01$ with the exact $C$ and $D$ of "
            f"$M_\\rho$, the left side is {format_number(left, 2)} and the right side "
            f"{format_number(right, 2)}, {verdict}."
        )


class Curves(PrintedCurves):
    """The theorem's curves of C against D, and signed answers among them."""

    @property
    def verdict(self) -> str:
        """Whether the printed theorem excludes signed answers, and what it says at most cells."""
        text = (
            "At none of these $d$ does the printed theorem exclude the point of signed answers: "
            "its constants are too generous to the mechanism, and it would take more cells."
        )
        if self.above:
            text = (
                f"From $d =$ {format_number(self.above[0])} on, of the values drawn, the printed "
                "theorem excludes the point of signed answers."
            )
        end, most = float(self.at_signed[-1]), format_number(self.ds[-1])
        about = f"it says nothing about $C$ at $d =$ {most}"
        if end > 0:
            about = f"it asks for a $C$ of at least {at_least(end)} at $d =$ {most}"
        signed = format_number(self.signed)
        return f"{text} With the sum as good as a signed answer, {signed}, {about}."

    @property
    def picture(self) -> Caption:
        """What is said about the picture of the curves."""
        g = self.guarantee
        return Caption(
            "No nonnegative mechanism lies below its curve (Theorem 3.3 as printed, best $k$ in "
            f"its range; $\\rho = {format_number(g.level)}$). Star: signed answers at $C = D = "
            f"1/\\sqrt\\rho =$ {format_number(g.signed_error)}. Other markers: $M_\\rho$ at the "
            "same numbers of cells.",
            alt="Curves of the smallest allowed cell error against the sum error on a logarithmic "
            "axis, one for each number of cells, falling from left to right to zero. A star marks "
            "signed answers, other markers the clipping mechanism.",
        )

    @functools.cached_property
    def branches(self) -> pd.DataFrame:
        """The paper's two choices of k beside the best, at a sum ten times as good as signed."""
        g, rows = self.guarantee, []
        for n in self.ds:
            known = point_error_branches(g, n, self.small)
            rows.append(
                {
                    "d": format_number(n),
                    "$k=C$, as printed": known["k=C"].value,
                    "$k=C$, in nats": known["k=C (nats)"].value,
                    "$k=1/\\sqrt\\rho$, best $\\gamma$": known["k=1/sqrt(rho)"].value,
                    "$\\alpha = \\beta = 2$, best $k$": float(
                        point_error_bound("printed", g, n, self.small)
                    ),
                }
            )
        return pd.DataFrame(rows)

    @property
    def small(self) -> float:
        """A tenth of a signed answer's root error, in counts."""
        return self.guarantee.signed_error / 10

    @property
    def branches_caption(self) -> str:
        """What is said about it."""
        return (
            "Lower bounds on $C$ in records at a sum ten times as good as a signed answer, $D =$ "
            f"{format_number(self.small)}: the paper's two choices of $k$, each turned into a "
            "bound that supposes nothing about $C$ and $D$, and the best $k$ with $\\alpha$ and "
            "$\\beta$ held at 2. Zero means that the bound says nothing."
        )


@dataclass(frozen=True, eq=False)
class Growth:
    """How the bounds grow with the number of cells: C like a root, D like a power.

    Parameters
    ----------
    guarantee, lam
        The level, and what is promised for a cell in units of 1/rho.
    ds
        Numbers of cells, increasing.
    point
        The printed bound on C at a signed answer's D, in units of 1/sqrt(rho).
    lines
        The bound on D at each of `GAMMAS`, in the same units.
    best, gamma
        The best over all gammas, and the gamma that gives it.
    """

    guarantee: ConcentratedDP
    lam: float
    ds: Array
    point: Array
    lines: tuple[Array, ...]
    best: Array
    gamma: Array

    @property
    def named(self) -> list[tuple[str, Array]]:
        """The lines with their names."""
        names = [*(f"γ = {g}" for g in GAMMAS), "best γ"]
        return list(zip(names, (*self.lines, self.best), strict=True))

    @property
    def reference(self) -> tuple[str, Array] | None:
        """A line of slope one from where the envelope begins."""
        first = int(np.argmax(self.best > 0.1))
        if not self.best[first] > 0.1:
            return None
        return "slope 1", self.ds / self.ds[first] * float(self.best[first])

    @property
    def starts(self) -> float:
        """The first number of cells drawn with a bound on D; infinite without one."""
        return float(self.ds[np.argmax(self.best > 0)]) if (self.best > 0).any() else math.inf

    @property
    def ends(self) -> tuple[float, float]:
        """Slopes at the right end: of C in sqrt(ln d), of ln D in ln d; NaN where D is 0."""
        roots, logs = np.sqrt(np.log(self.ds)), np.log(self.ds)
        of_cell = float((self.point[-1] - self.point[-60]) / (roots[-1] - roots[-60]))
        if not self.best[-9] > 0:
            return of_cell, math.nan
        run = float(logs[-1] - logs[-9])
        return of_cell, (math.log(self.best[-1]) - math.log(self.best[-9])) / run

    @property
    def said(self) -> str:
        """Where the lines begin and how steep they end."""
        of_cell, of_sum = self.ends
        power = round(math.log10(float(self.ds[-1])))
        cell = (
            f"On the left, the printed bound on $C$ grows by {format_number(of_cell, 2)} per unit "
            "of $\\sqrt{\\ln d}$ (in units of $1/\\sqrt\\rho$, with $D = 1/\\sqrt\\rho$)."
        )
        if of_cell <= 0:
            cell = "On the left, the printed bound on $C$ does not grow up to the largest $d$."
        if math.isnan(of_sum):
            return (
                f"Up to $d = 10^{{{power}}}$ no $\\gamma$ gives a bound on $D$ at this $C$. {cell}"
            )
        start = f"at about $d =$ {format_number(float(f'{self.starts:.2g}'), 2)}"
        if self.starts > 1e15:
            start = (
                f"only at about $d = 10^{{{round(math.log10(self.starts))}}}$, a number of cells "
                "that no table has"
            )
        return (
            f"With the best $\\gamma$ the bound on $D$ leaves zero {start}. At the right end, $d = "
            f"10^{{{power}}}$, the best $\\gamma$ is {format_number(float(self.gamma[-1]), 2)}, "
            f"and the slope of the envelope {format_number(of_sum, 2)}. {cell}"
        )

    @property
    def picture(self) -> Caption:
        """What is said about the picture."""
        sum_said = (
            "Part (b), right: for each $\\gamma$ a line of slope $\\gamma$; the best $\\gamma$ for "
            "each $d$ gives an envelope. Just after it starts it is steeper than the reference "
            "line of slope 1; far out it is not as steep."
        )
        if math.isnan(self.ends[1]):
            sum_said = "Part (b), right: no $\\gamma$ gives a bound up to the largest $d$ drawn."
        return Caption(
            "Part (a), left: where it says something, the bound on $\\sqrt\\rho\\,C$ grows like "
            f"$\\sqrt{{\\ln d}}$. {sum_said}",
            alt="Left: root rho times C against the logarithm of d, zero at first and then a curve "
            "that rises like a square root. Right: root rho times D against d on logarithmic axes, "
            "lines of different slopes below one and their envelope, and a reference line of slope "
            "one.",
        )


def telling(rho: float, d: int, runs: int, seed: int) -> Telling:
    """Return what outputs of the clipping mechanism tell, and the proof on it.

    Fewer runs are made with very many cells.

    Raises
    ------
    InputError
        A value out of range, or fewer than 2 runs.

    Examples
    --------
    >>> telling(0.125, 50, runs=200, seed=3).packing.m
    7
    """
    runs = runs_within(runs, d, most=20_000_000)
    guarantee, rng = ConcentratedDP(rho), np.random.default_rng(seed)
    noise = DiscreteGaussian(1 / (2 * rho))
    packing = walk.clipped_packing(noise, d, k=1 / math.sqrt(rho))
    far = 1.7 * math.sqrt(math.log(max(d, 3)) / rho)
    records = np.unique(np.round(np.linspace(1, max(far, 3), 9)))
    return Telling(
        guarantee,
        d,
        noise,
        fano_walk.information_curve(noise, d, records, min(runs, max(runs // 4, 50)), rng),
        packing,
        walk.packing_odds(noise, packing),
        fano_walk.sampled_information(noise, packing, runs, rng),
        runs,
    )


def curves(rho: float, ds: Sequence[int]) -> Curves:
    """Return the theorem's curves at some numbers of cells, and signed answers among them.

    Examples
    --------
    >>> curves(0.125, [10**6]).verdict[:10]
    'At none of'
    """
    return Curves.at(ConcentratedDP(rho), DiscreteGaussian(1 / (2 * rho)), ds)


def growth(rho: float, lam: float) -> Growth:
    """Return how the bounds grow with d, a cell's error held at sqrt(lambda/rho).

    Examples
    --------
    >>> bool((growth(0.125, 1.0).gamma <= 1).all())
    True
    """
    guarantee = ConcentratedDP(rho)
    signed, C = guarantee.signed_error, math.sqrt(lam / rho)
    m = math.ceil(math.sqrt(3 / (1 - GAMMAS[-1])) * C + signed)
    reach = 4 * guarantee.group(m).rho / math.log(10) / GAMMAS[-1]
    ds = 10.0 ** np.linspace(1, min(max(1.5 * reach, 20.0), 180.0), 200)
    best, gamma = best_gamma_sum_error(rho, ds, C)
    return Growth(
        guarantee,
        lam,
        ds,
        point_error_bound("printed", guarantee, np.round(ds), signed) / signed,
        tuple(gamma_sum_error(rho, ds, C, g).value / signed for g in GAMMAS),
        best / signed,
        gamma,
    )
