"""What is open: each question with what is known on both sides of it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import pandas as pd

from ..base.numbers import at_least, at_most, format_number
from ..model.noise_discrete import DoubleGeometric
from ..page.output import Caption
from ..theory.lower.channel_program import (
    channel_sum_error,
    suggested_largest,
    suggested_step,
)
from ..theory.lower.lower_bounds import point_error_bound, sum_error_bound
from ..theory.upper.exact_errors import worst_clipped_sum
from ..theory.upper.freezing import cell_share, leading_limits
from ..theory.upper.operating_points import fitted
from ..theory.upper.upper_bounds import certified_truncated
from .levels import Levels


@dataclass(frozen=True)
class Question:
    """One open question: a number of which a lower and an upper end are known.

    Parameters
    ----------
    name
        In a few words.
    what
        The number in question.
    lower, upper
        Its ends.
    """

    name: str
    what: str
    lower: float
    upper: float

    @property
    def factor(self) -> float:
        """How many times larger the upper end is."""
        return self.upper / self.lower


@dataclass(frozen=True)
class Findings(Levels):
    """Both ends of every open question at one level.

    Parameters
    ----------
    lam
        The lambda, between 2 and 5, at which the first question is shown.

    Examples
    --------
    >>> all(q.lower < q.upper for q in study().questions)
    True
    """

    lam: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        cell_share(self.lam)

    @functools.cached_property
    def channel(self) -> float:
        """What the channel program proves about ``eps D/d`` at the cells' error of M_epsilon."""
        g, C = self.pure, DoubleGeometric(self.epsilon).std * (1 + 1e-9)
        step = suggested_step(self.epsilon)
        largest = suggested_largest(self.epsilon, C, step)
        return self.epsilon * channel_sum_error(g, C, largest, step)

    @functools.cached_property
    def clipping(self) -> float:
        """``eps D/d`` of M_epsilon itself, for many cells."""
        noise, d = DoubleGeometric(self.epsilon), 1e12
        return self.epsilon * math.sqrt(float(worst_clipped_sum(noise, d).squared_error)) / d

    @functools.cached_property
    def moments(self) -> float:
        """What first moments prove about the same."""
        g, C = self.pure, DoubleGeometric(self.epsilon).std
        return self.epsilon * float(sum_error_bound("first_moment", g, 10**6, C)) / 1e6

    @functools.cached_property
    def ceiling(self) -> tuple[float, float]:
        """Both ends of ``eps C`` with a delta, with a signed answer's sum and very many cells."""
        g = self.approximate
        lower = max(
            float(point_error_bound(name, g, 1e250, g.signed_error))
            for name in ("first_moment", "packing_empty")
        )
        upper = float(certified_truncated(self.epsilon, self.delta, 1e250).C)
        return self.epsilon * lower, self.epsilon * upper

    @functools.cached_property
    def worst_table(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """C of M' on the worst table known and certified, in signed errors: pure DP and zCDP."""
        ends = []
        for g in (self.pure, self.zcdp):
            known, sure = fitted(g, self.d)
            ends.append((float(known.C[0]) / g.signed_error, float(sure.C[0]) / g.signed_error))
        return ends[0], ends[1]

    @functools.cached_property
    def questions(self) -> tuple[Question, ...]:
        """All of them, in the order of the page."""
        pure, zcdp = self.worst_table
        limit = leading_limits(self.lam).freezing
        return (
            Question(f"constant at λ = {self.lam:g}", "$\\epsilon C/\\ln d$", 1.0, limit),
            Question("zCDP's constant", "$C/\\sqrt{\\ln(d)/\\rho}$", 1.0, math.sqrt(2)),
            Question("ceiling with a delta", "$\\epsilon C$, $d \\to \\infty$", *self.ceiling),
            Question("sum beside good cells", "$\\epsilon D/d$", self.channel, self.clipping),
            Question("worst table of M′, pure", "$C$ in signed errors", *pure),
            Question("worst table of M′, zCDP", "$C$ in signed errors", *zcdp),
        )

    @property
    def table(self) -> pd.DataFrame:
        """Both ends of every question."""
        return pd.DataFrame(
            [
                {
                    "question": q.name,
                    "number": q.what,
                    "at least": at_least(q.lower, 4),
                    "at most": at_most(q.upper, 4),
                    "factor": format_number(q.factor),
                }
                for q in self.questions
            ]
        )

    @property
    def table_caption(self) -> str:
        """What is said about the table."""
        return (
            "What is known on both sides. The first two rows are limits for $d \\to \\infty$; the "
            f"others are at $\\epsilon = {format_number(self.epsilon)}$, $\\delta =$ "
            f"{format_number(self.delta)}, $\\rho = {format_number(self.rho)}$ and, for the worst "
            f"tables, $d = {format_number(self.d)}$. The lower end beside good cells is for "
            "outputs in whole numbers. Here and in the text below, lower ends are rounded down and "
            "upper ends up; the text may have one digit fewer."
        )

    @property
    def opening(self) -> str:
        """What the page says in one paragraph."""
        largest = max(q.factor for q in self.questions)
        return (
            "How accurate can cells be beside a very accurate sum, and how accurate a sum beside "
            "very accurate cells? Much of that is known up to a factor that tends to 1; the rest "
            "is bounded from both sides. Over the questions on this page the largest factor "
            "between what is proved to be unavoidable and what is reached is "
            f"{format_number(largest)}."
        )

    @property
    def picture(self) -> Caption:
        """What is said about the picture of all factors."""
        by = max(self.questions, key=lambda q: q.factor)
        return Caption(
            "How far apart the two sides of each question are: the upper end over the lower one. "
            f"The widest is “{by.name}”, with a factor of {format_number(by.factor)}.",
            alt="A horizontal bar for each open question, from one to the factor between the "
            "upper and the lower end.",
        )

    @property
    def constant_said(self) -> str:
        """The first question."""
        sigma = cell_share(self.lam)
        return (
            f"At $\\lambda = {format_number(self.lam)}$ we have $\\sigma = "
            f"{format_number(sigma)}$, so the constant lies between 1 and "
            f"{at_most(leading_limits(self.lam).freezing, 4)}. As $\\lambda \\to 2$ the upper "
            "end grows without limit, since the whole right side of the budget goes to the sum. "
            "We know of no proof that it must."
        )

    @property
    def ceiling_said(self) -> str:
        """The third question."""
        lower, upper = self.ceiling
        return (
            f"Here our bounds give $\\epsilon C \\ge {at_least(lower, 4)}$ for very many cells, "
            f"and the bounded noise is certain to reach {at_most(upper, 4)}, whatever $d$ is. As "
            "$\\delta \\to 0$ the ratio of the two ends tends to 2, the factor that a half budget "
            "costs. Noise of two rates could be cut off as well; that has not been worked out."
        )

    @property
    def sum_said(self) -> str:
        """The fourth question."""
        return (
            f"Here first moments give {at_least(self.moments)}, the channel program "
            f"{at_least(self.channel)} for outputs in whole numbers, and $M_\\epsilon$ has "
            f"{at_most(self.clipping)}. For small $\\epsilon$ first moments tend to "
            f"$e^{{-1 - \\sqrt2}} \\approx {format_number(math.exp(-1 - math.sqrt(2)))}$ and "
            "$M_\\epsilon$ to $\\frac12$."
        )

    @property
    def worst_said(self) -> str:
        """The fifth question."""
        (low, high), (low_z, high_z) = self.worst_table
        return (
            f"At $d = {format_number(self.d)}$ the worst of the tables tried gives "
            f"{at_least(low, 4)} signed errors under pure DP, and no table gives more than "
            f"{at_most(high, 4)}; under zCDP the two are {at_least(low_z, 4)} and "
            f"{at_most(high_z, 4)}."
        )


study = Findings
