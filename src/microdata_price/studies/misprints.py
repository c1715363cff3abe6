"""Misprints and slips of the paper: for each the number that decides."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..base.numbers import format_number, rounded_down
from ..fitting import CONTROL
from ..model.benchmark import synthetic
from ..model.noise import Gaussian, Laplace, max_median
from ..model.privacy import ApproximateDP, ConcentratedDP, PureDP
from ..page.output import Caption
from ..theory.laws.audit import Audit, audits
from ..theory.lower.lower_bounds import BOUNDS, point_error_bound
from ..theory.lower.printed_bounds import printed_sides
from ..theory.upper.exact_errors import clipped, m_epsilon, m_rho, worst_clipped_sum
from ..theory.upper.extremes import extremes, lemma1
from ..theory.upper.truncation import paper_bound, smallest_bound
from .claims import ratios
from .grids import grid_part
from .published import RUNS_ALONE
from .scorecard import EPSILON, published_spec, scorecard

_LETTERS = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}
_MANY = 10_000
_MILLION = 1_000_000


@dataclass(frozen=True)
class Sides:
    """A printed inequality where it is false, on a mechanism whose errors are exact.

    Parameters
    ----------
    level
        The epsilon or rho.
    d
        Cells.
    k, C, D
        The k of the inequality and the errors of the mechanism, in counts.
    left, right
        Its two sides, the left claimed the larger; logarithms under pure DP.
    """

    level: float
    d: int
    k: float
    C: float
    D: float
    left: float
    right: float


@dataclass(frozen=True, eq=False)
class Findings:
    """What decides each entry of the page (ours).

    Parameters
    ----------
    epsilon, rho, delta
        The levels, where an entry needs one.
    card
        From `scorecard.scorecard`, at the published level.
    audits
        Exact audits of the discrete mechanisms, the printed ones among them.
    """

    epsilon: float
    rho: float
    delta: float
    card: pd.DataFrame
    audits: tuple[Audit, ...]

    @property
    def worst_certificate(self) -> float:
        """Of all fits behind the page."""
        return float(self.card["worst_certificate"].max())

    @property
    def opening(self) -> str:
        """What was found."""
        return (
            "None of these slips changes a conclusion of the paper. Two of them would matter to "
            f"somebody who programs its mechanisms. {self.noise_said} {self.lifted_said}"
        )

    @property
    def noise_said(self) -> str:
        """What the printed noise of item 1 does."""
        printed = self.audits[1]
        loss = format_number(round(printed.worst, 9))
        if not printed.holds:
            return (
                "With the noise that is printed, item 1 of Theorem 4 is private with "
                f"$\\epsilon =$ {loss}, not with {format_number(self.epsilon)}."
            )
        return (
            f"With the noise that is printed, item 1 of Theorem 4 is private, with a loss of {loss}"
            " where $\\epsilon = "
            f"{format_number(self.epsilon)}$ is claimed, but its noise has the variance "
            f"{format_number(m_epsilon(1 / self.epsilon).variance)} where "
            f"{format_number(m_epsilon(self.epsilon).variance)} is meant."
        )

    @property
    def lifted_said(self) -> str:
        """What the printed place of the maximum in item 2 does."""
        if math.isinf(self.audits[3].worst):
            return (
                "With the maximum where it is printed, item 2 is not private at all: the output "
                "$q_i$ has a probability of at least one half when the count is $q_i$, and none "
                "when it is $q_i + 1$."
            )
        return "With the maximum where it is printed, item 2 is private."

    @property
    def drawn(self) -> list[tuple[str, float, bool]]:
        """Each mechanism, its exact loss over what it claims, and whether the claim holds."""
        return [
            (re.sub(r"M_(\w)", r"$M_\1$", _letters(a.mechanism)), a.worst / a.claimed, a.holds)
            for a in self.audits
        ]

    @property
    def picture(self) -> Caption:
        """What is said about the picture of all audits."""
        broken = [a.mechanism for a in self.audits if not a.holds]
        early = any("a smaller B" in name for name in broken)
        trial = "; one of them is a trial with noise cut off a step too early" if early else ""
        return Caption(
            "The exact loss over what is claimed, for the mechanisms of Theorem 4 and one of ours. "
            f"A claim holds up to 1. Of {len(self.audits)} claims {len(broken)} are false "
            f"(crosses, and an arrow where the loss is infinite){trial}. DGeo and DGauss are "
            "discrete Laplace and Gaussian noise; TDGeo is DGeo cut off at a bound B. Levels: "
            f"ε = {format_number(self.epsilon)}, ρ = {format_number(self.rho)}, δ = "
            f"{format_number(self.delta)}.",
            alt="One row for each mechanism, on a logarithmic axis of the exact loss over the "
            "claim. Circles at or to the left of the marks at one are claims that hold; crosses to "
            "its right are claims that do not. An arrow at the right edge is an infinite loss.",
        )

    @property
    def audit_table(self) -> pd.DataFrame:
        """The audits in numbers."""
        return pd.DataFrame(
            {
                "mechanism": [_letters(a.mechanism).replace("_", "\\_") for a in self.audits],
                "measure": [_LETTERS[a.measure] for a in self.audits],
                "claimed": [format_number(a.claimed) for a in self.audits],
                "exact worst": [
                    "∞" if math.isinf(a.worst) else format_number(a.worst, 4) for a in self.audits
                ],
                "holds": ["yes" if a.holds else "no" for a in self.audits],
            }
        )

    @property
    def audit_caption(self) -> str:
        """What is said about the table of audits."""
        return (
            "The audits in numbers: the claimed level, and the exact worst over all neighbouring "
            "counts."
        )

    @property
    def square_said(self) -> str:
        """What the sum's error of M_epsilon is where the printed form asks for its square."""
        D = math.sqrt(float(worst_clipped_sum(m_epsilon(self.epsilon), _MANY).squared_error))
        asked = _MANY**2 / self.epsilon**2
        return (
            f"*Decides:* $M_\\epsilon$ has $C^2 \\le 2/\\epsilon^2$. At $d =$ "
            f"{format_number(_MANY)} its $D$ is {format_number(D)}, where $d^2/\\epsilon^2$ is "
            f"{format_number(asked)}. The printed form asks for that up to a constant. But $D$ "
            "grows like $d$, and only $D^2$ like $d^2$ ([clipping](upper_clipping.ipynb))."
        )

    @functools.cached_property
    def small_k(self) -> Sides:
        """The printed inequality of pure DP, false at a small k."""
        e, d, k = 10.0, _MANY, 0.01
        noise = m_epsilon(e)
        C, D = noise.std, math.sqrt(float(worst_clipped_sum(noise, d).squared_error))
        left, right = printed_sides(PureDP(e), d, C, D, k)
        return Sides(e, d, k, C, D, float(left), float(right))

    @property
    def small_k_said(self) -> str:
        """That it is false there."""
        s = self.small_k
        return (
            f"*Decides:* take $\\epsilon =$ {format_number(s.level)}, $d =$ {format_number(s.d)} "
            f"and $k =$ {format_number(s.k)}, so that $y =$ {format_number(2 * s.C + s.k)}. "
            f"$M_\\epsilon$ has exactly $C =$ {format_number(s.C)} and $D =$ {format_number(s.D)}. "
            f"The logarithm of the left side is {format_number(s.left)}, that of the right side "
            f"{format_number(s.right)}: the printed inequality is false. At $k = \\frac12$ it is "
            "true."
        )

    @functools.cached_property
    def bits(self) -> Sides:
        """The printed inequality of zCDP, at the small k at which it is most false."""
        rho, d = 50.0, 10**9
        noise = m_rho(rho)
        C, D = noise.std, math.sqrt(float(worst_clipped_sum(noise, d).squared_error))
        ks = np.geomspace(1e-4, 0.45, 400)
        left, right = printed_sides(ConcentratedDP(rho), d, C, D, ks)
        i = int(np.argmax(right - left))
        return Sides(rho, d, float(ks[i]), C, D, float(left[i]), float(right[i]))

    @property
    def bits_said(self) -> str:
        """That it is false there."""
        s = self.bits
        return (
            f"*Decides:* at $\\rho =$ {format_number(s.level)} and $d =$ {format_number(s.d)} the "
            f"mechanism $M_\\rho$ has exactly $C =$ {format_number(s.C)} and $D =$ "
            f"{format_number(s.D)}. At $k =$ {format_number(s.k)} the left side is "
            f"{format_number(s.left, 2)} and the right side {format_number(s.right)}."
        )

    @property
    def loose_said(self) -> str:
        """How loose the printed delta is."""
        m = max(1, math.ceil(3 / self.epsilon))
        exact = ApproximateDP(self.epsilon, self.delta).group_delta(m) * math.exp(-m * self.epsilon)
        return (
            f"*Decides:* at $m = {m}$ the exact term is {format_number(exact)}, and the "
            f"printed one {format_number(self.delta / self.epsilon)}."
        )

    @property
    def uniform_said(self) -> str:
        """That no constant serves all levels."""
        small, large = (
            float(worst_clipped_sum(m_epsilon(e), _MILLION).squared_error) * e**2 / _MILLION**2
            for e in (0.1, 10.0)
        )
        return (
            "*Decides:* $C^2\\epsilon^2 \\le 2$ at every $\\epsilon$. With a million cells "
            f"$D^2\\epsilon^2/d^2$ of $M_\\epsilon$ is {format_number(small, 2)} at $\\epsilon = "
            f"0.1$ and {format_number(large, 2)} at $\\epsilon = 10$."
        )

    @property
    def difficult(self) -> pd.DataFrame:
        """What two bounds say with no more records than the paper's remark has."""
        pure, rows = PureDP(self.epsilon), []
        for d in (1000, 10**6, 10**9):
            m = math.ceil(math.log(d) / self.epsilon)
            bounds = {
                BOUNDS[b].label: rounded_down(
                    float(point_error_bound(b, pure, d, pure.signed_error, max_records=m))
                )
                for b in ("first_moment", "optimised")
            }
            row = {"d": format_number(d), "records in the cell": m, **bounds}
            rows.append(row | {"signed answers": pure.signed_error})
        return pd.DataFrame(rows)

    @property
    def difficult_caption(self) -> str:
        """What is said about that table."""
        return (
            "Lower bounds on some cell's root error if the sum is as accurate as a signed answer, "
            "using only tables with at most $\\lceil \\ln(d)/\\epsilon \\rceil$ records, at "
            f"$\\epsilon = {format_number(self.epsilon)}$. Both bounds are ours; a 0 says nothing."
        )

    @property
    def sum_error_said(self) -> str:
        """What the sum's error of item 3 is on a large table."""
        e = self.epsilon
        exact = float(clipped(Laplace(2 / e), 1e4 / e).squared_error)
        return (
            f"*Decides:* on a large table it is exactly {format_number(exact)}. Here "
            f"$2/\\epsilon^2$ is {format_number(2 / e**2)} and $8/\\epsilon^2$ is "
            f"{format_number(8 / e**2)}."
        )

    @property
    def bound_said(self) -> str:
        """What B is enough in item 5."""
        return (
            f"*Decides:* the printed $B$, rounded up, is {paper_bound(self.epsilon, self.delta)} "
            f"here, and {smallest_bound(self.epsilon, self.delta)} suffices "
            "([truncated noise](upper_truncated.ipynb))."
        )

    @property
    def lemma1_said(self) -> str:
        """How loose Lemma 1 is for normal noise."""
        noise = Gaussian(1.0)
        exact, printed = (float(f(noise, 1000).mean) for f in (extremes, lemma1))
        return (
            "*Decides:* the largest of 1,000 standard normal noises, in absolute value, is "
            f"{format_number(exact, 4)} on average. The printed bound is "
            f"{format_number(printed, 4)}."
        )

    @property
    def stair_said(self) -> str:
        """What the Stair data are."""
        stair = synthetic("Stair")
        first = ", ".join(format_number(v) for v in stair[:4])
        return (
            f"*Decides:* the list is {first} and so on up to {format_number(stair[-1])}, and its "
            f"sum is {format_number(stair.sum())}."
        )

    @property
    def median_said(self) -> str:
        """What the median of Algorithm 2 can be."""
        one, hundred = (float(max_median(Laplace(8.0), n)) + 0.0 for n in (1, 100))
        return (
            f"With one draw that median is {format_number(one)}; with a hundred it is "
            f"{format_number(hundred)} records at the paper's level."
        )

    @functools.cached_property
    def _ols_sum(self) -> pd.Series:
        rows = self.card[(self.card["method"] == CONTROL) & (self.card["query_set"] == "sum")]
        return rows.iloc[0]

    @property
    def errors_said(self) -> str:
        """How large a standard deviation and a standard error are."""
        row = self._ols_sum
        error, runs = float(row["standard_error"]), int(row["runs"])
        return (
            "*Decides:* the size. In our runs the squared error of OLS's sum has a standard "
            f"deviation of {format_number(error * math.sqrt(runs), 2)} from run to run on the "
            f"first of these tables. The mean of {format_number(runs)} runs has a standard error "
            f"of {format_number(error, 2)}."
        )

    @property
    def typical_said(self) -> str:
        """How many of the printed values are between 4 and 5 times those of OLS."""
        theirs = ratios(self.card, "published", "sum", "total")
        nnls, maxfit = (int(theirs[m].between(4, 5).sum()) for m in ("nnls", "maxfit"))
        return (
            f"*Decides:* of the paper's own {len(theirs)} rows {nnls} are between 4 and 5 for NNLS "
            f"and {maxfit} for max fitting."
        )

    @property
    def sequential_said(self) -> str:
        """What the printed and the exact errors of sequential fitting's sum are."""
        rows = self.card[(self.card["method"] == "sequential") & (self.card["query_set"] == "sum")]
        low, high = rows["published"].min(), rows["published"].max()
        return (
            f"*Printed:* sequential fitting's error of the sum is from {format_number(low, 4)} to "
            f"{format_number(high, 4)} (Table 1). *Right:* "
            f"{format_number(float(rows['exact'].iloc[0]))} in every row, at $\\epsilon = "
            f"{format_number(EPSILON)}$. Only runs whose solver succeeded were kept, and that "
            "moved it ([what dropping failed runs hides](dropped_runs.ipynb))."
        )

    @property
    def maximum_said(self) -> str:
        """What the printed and the exact largest errors of OLS are."""
        rows = self.card[
            (self.card["method"] == CONTROL)
            & (self.card["metric"] == "max")
            & (self.card["dataset"] != "Level00-2d")
        ]
        return (
            f'*Printed:* "Max" columns, for example {format_number(rows["published"].iloc[0], 4)} '
            f"for OLS on {rows['dataset'].iloc[0]}. *Right:* a maximum of noisy means lies above "
            f"the truth, which is {format_number(rows['exact'].iloc[0], 6)} here ([the maximum of "
            "noisy means](max_bias.ipynb))."
        )


def _letters(text: str) -> str:
    for name, letter in _LETTERS.items():
        text = text.replace(name, letter)
    return text


def study(
    epsilon: float = 0.5, rho: float = 0.125, delta: float = 1e-6, folder: str = ""
) -> Findings:
    """Compute what decides each entry.

    Parameters
    ----------
    epsilon, rho, delta
        The levels, where an entry needs one.
    folder
        The grid at the published level, or ``""``: then a small one is computed.

    Raises
    ------
    InputError
        A level out of range, or a folder that has not all the printed values.

    Examples
    --------
    >>> study().small_k.left < study().small_k.right
    True
    """
    card = scorecard(grid_part(folder, published_spec(RUNS_ALONE)).errors)
    return Findings(epsilon, rho, delta, card, audits(epsilon, rho, delta))
