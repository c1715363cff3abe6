"""The paper's two remarks in numbers: from how many cells microdata must lose, and where."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import at_least, at_most, format_number, rounded_down
from ..model.noise import Laplace
from ..model.noise_discrete import DoubleGeometric
from ..model.privacy import Guarantee
from ..page.output import Caption
from ..theory.lower.lower_bounds import BOUNDS, point_error_bound
from ..theory.lower.printed_bounds import printed_sides
from ..theory.lower.validity import (
    balanced_error,
    first_above,
    sparse_point_error,
)
from ..theory.lower.variants import SameTable, same_table_error
from ..theory.upper.exact_errors import clipped, clipped_sum
from ..theory.upper.fitted_errors import cell_errors
from .levels import Levels

Array = NDArray[np.float64]

SHARPEST = "first_moment"
PRINTED = "printed"
DRAWN_TO = 1e15
"""The most cells in the picture of all bounds."""
SCARCE = 10.0
"""Cells expected to differ from zero, where a sparse output is looked at."""


@dataclass(frozen=True)
class First:
    """From how many cells one bound speaks.

    Parameters
    ----------
    kind
        The kind of privacy.
    name
        The bound, in `BOUNDS`.
    speaks, excludes
        The least d at which it says something, and at which it excludes signed errors; infinite
        for never.
    """

    kind: str
    name: str
    speaks: float
    excludes: float


@dataclass(frozen=True)
class Findings(Levels):
    """What the bounds say at one level about finitely many cells (ours).

    Examples
    --------
    >>> study(d=1000).full
    14
    """

    @property
    def firsts(self) -> tuple[First, ...]:
        """Every bound for every kind of privacy, the sharpest first."""
        kinds = (self.pure, self.approximate, self.zcdp)
        return tuple(first for guarantee in kinds for first in _firsts(guarantee))

    @property
    def rows(self) -> list[tuple[str, str, float, float]]:
        """The same as the picture takes it."""
        return [(f.kind, f.name, f.speaks, f.excludes) for f in self.firsts]

    def excludes(self, kind: str, name: str) -> float:
        """Return from which d on a bound excludes signed errors."""
        return next(f.excludes for f in self.firsts if (f.kind, f.name) == (kind, name))

    @property
    def opening(self) -> str:
        """What was found."""
        sharp = min(f.excludes for f in self.firsts if f.kind == "pure DP")
        printed = self.excludes("pure DP", PRINTED)
        return (
            "With enough cells, private microdata are worse than signed answers: on some table "
            "some answer has a larger error. How many cells are enough depends on the bound. Under "
            f"pure DP with $\\epsilon = {format_number(self.epsilon)}$ our sharpest bound shows it "
            f"{_from(sharp)}, the paper's theorem as printed {_from(printed)}."
        )

    @property
    def crossings(self) -> Caption:
        """What is said about the picture of all bounds."""
        sharp, printed = (self.excludes("pure DP", n) for n in (SHARPEST, PRINTED))
        return Caption(
            "A bound says nothing to the left of its open circle. To the right of its filled "
            "circle no nonnegative mechanism matches signed answers. Under pure DP the filled "
            f"circle of first moments is {_at(sharp)}, that of the printed theorem {_at(printed)}. "
            "An arrow: beyond $10^{15}$ cells, or never.",
            alt="Three groups of four horizontal lines over the number of cells, one group for "
            "each kind of privacy and one line for each bound. A line starts with an open circle, "
            "where the bound begins to say something, and turns thick at a filled circle, from "
            "which on it excludes signed errors. Lines that do not get there end in an arrow.",
        )

    @property
    def signed_said(self) -> str:
        """The root errors of signed answers."""
        return (
            f"At the levels of this page that is {format_number(self.signed)} records under pure "
            f"DP and {format_number(self.zcdp.signed_error)} under zCDP."
        )

    @property
    def first_table(self) -> pd.DataFrame:
        """The picture's numbers."""
        return pd.DataFrame(
            {
                "privacy": [f.kind for f in self.firsts],
                "bound": [BOUNDS[f.name].label for f in self.firsts],
                "says something from $d$": [_cells(f.speaks) for f in self.firsts],
                "excludes signed errors from $d$": [_cells(f.excludes) for f in self.firsts],
            }
        )

    @property
    def first_caption(self) -> str:
        """What is said about the table of the picture's numbers."""
        return (
            "For mechanisms whose sum is as accurate as a signed answer's: the least $d$ at which "
            "a bound on $C$ is above zero, and the least at which it is above the signed error. "
            f"Here $\\epsilon = {format_number(self.epsilon)}$, $\\delta =$ "
            f"{format_number(self.delta)} and $\\rho = {format_number(self.rho)}$. Found by "
            "bisection up to $d = 10^{300}$: exact up to 10,000, and to one part in 10,000 beyond."
        )

    @property
    def zcdp_said(self) -> str:
        """The same under zCDP and approximate DP."""
        sharp, printed = (self.excludes("zCDP", n) for n in (SHARPEST, PRINTED))
        least = min(f.excludes for f in self.firsts if f.kind == "approximate DP")
        approximate = (
            f"Under approximate DP the sharpest of the four excludes them {_from(least)}."
            if math.isfinite(least)
            else "Under approximate DP none of the four ever does: with a $\\delta$ of "
            f"{format_number(self.delta)} there is a ceiling on what they say of $C$, and it lies "
            "below the signed error."
        )
        return (
            f"Under zCDP first moments exclude signed errors {_from(sharp)}, the printed theorem "
            f"{_from(printed)}. {approximate}"
        )

    @property
    def own_d_said(self) -> str:
        """What that means for the number of cells of this page."""
        d = f"At $d =$ {format_number(self.d)}"
        if self.d >= min(f.excludes for f in self.firsts if f.kind == "pure DP"):
            return f"{d} signed errors are excluded under pure DP."
        return (
            f"{d} none of these bounds excludes signed errors under pure DP. That does not prove "
            "that microdata can match them; these arguments cannot tell."
        )

    @property
    def balanced(self) -> tuple[Array, list[tuple[str, Array]]]:
        """Numbers of cells, and what each bound says of the larger error, in signed errors."""
        return _balanced(self.pure)

    @property
    def balanced_picture(self) -> Caption:
        """What is said about the picture of both errors."""
        last = {name: float(curve[-1]) for name, curve in self.balanced[1]}
        return Caption(
            "How large the larger of $C$ and $D$ must be at least, under pure DP. At $d = "
            f"10^{{12}}$ it is at least {at_least(last[SHARPEST], 2)} signed errors by first "
            f"moments, and at least {at_least(last[PRINTED], 2)} as printed.",
            alt="Four curves over the number of cells on a logarithmic axis. They rise, far out "
            "along straight lines of different slopes. A horizontal line at one marks the signed "
            "error.",
        )

    @property
    def both_said(self) -> str:
        """How large the larger of the two errors is at the page's number of cells."""
        both = float(balanced_error(SHARPEST, self.pure, self.d))
        return (
            f"At $d =$ {format_number(self.d)} one of the two errors is at least {at_least(both)} "
            f"records. That is {format_number(both / self.signed, 2)} times the signed error."
        )

    @property
    def full(self) -> int:
        """Records in the full cell of the difficult tables with d cells."""
        return _records(self.d, self.epsilon)

    @functools.cached_property
    def same_table(self) -> SameTable:
        """What the proposition says of the difficult tables with d cells, at the best k and h."""
        return same_table_error(self.epsilon, self.d, self.full)

    @property
    def same_table_said(self) -> str:
        """What the proposition says at the page's number of cells."""
        found = self.same_table
        where = (
            f"At $d =$ {format_number(self.d)} the count of the full cell is $m =$ "
            f"{format_number(self.full)}"
        )
        if found.error == 0:
            return f"{where}, and the proposition says nothing."
        return (
            f"{where}. The best choice is $k =$ {format_number(found.k)} and $h =$ "
            f"{format_number(found.h)}: the probability is then at least "
            f"{at_least(found.chance, 2)}, and the larger root error on that table at least "
            f"{at_least(found.error, 2)} records. This is a weak number. It is paid for saying "
            "which table it is about."
        )

    @property
    def sizes(self) -> list[int]:
        """The numbers of cells of the table of difficult tables."""
        return sorted({10, 100, 10_000, 1_000_000, 1_000_000_000, self.d})

    @functools.cached_property
    def difficult(self) -> pd.DataFrame:
        """What is known about the difficult tables, one row a number of cells."""
        noise, half, rows = DoubleGeometric(self.epsilon), Laplace(2 / self.epsilon), []
        for d in self.sizes:
            m = _records(d, self.epsilon)
            # With the least possible C and D its right side is as large as it can be.
            left, right = printed_sides(self.pure, d, 1e-12, 1e-12, m)
            rows.append(
                {
                    "$d$": format_number(d),
                    "$m$": m,
                    "printed, sides": f"{at_least(float(left))} ≥ {at_most(float(right))}",
                    "bound on $C$": float(
                        point_error_bound(SHARPEST, self.pure, d, self.signed, max_records=m)
                    ),
                    "$M'_\\epsilon$: cell": math.sqrt(
                        cell_errors(half, half, d, count=m).squared_error
                    ),
                    "$M'_\\epsilon$: sum": math.sqrt(float(clipped(half, m).squared_error)),
                    "$M_\\epsilon$: cell": math.sqrt(float(clipped(noise, m).squared_error)),
                    "$M_\\epsilon$: sum": math.sqrt(clipped_sum(noise, [m, 0], [1, d - 1])),
                }
            )
        return pd.DataFrame(rows)

    @property
    def difficult_shown(self) -> pd.DataFrame:
        """The same with the bound rounded down, so that what is shown is not above it."""
        bounds = [rounded_down(x) for x in self.difficult["bound on $C$"]]
        return self.difficult.assign(**{"bound on $C$": bounds})

    @property
    def difficult_caption(self) -> str:
        """What is said about that table."""
        return (
            "One cell of $m$ records, $\\ln(d)/\\epsilon$ rounded (and at least 1), among $d - 1$ "
            f"empty ones, at $\\epsilon = {format_number(self.epsilon)}$; signed answers err by "
            f"{format_number(self.signed)} everywhere. The logarithms of both sides of the printed "
            "inequality at this $m$; what first moments exclude with at most $m$ records if the "
            "sum is as accurate as a signed answer; and exact root errors of two mechanisms."
        )

    @property
    def difficult_said(self) -> str:
        """What its last row says."""
        last = self.difficult.iloc[-1]
        return (
            f"Take the last row, $d =$ {last['$d$']}. Any private nonnegative mechanism with a "
            f"signed answer's sum errs by at least {at_least(last['bound on $C$'])} records in the "
            f"full cell of some table with at most {last['$m$']:,} records, all in "
            f"one cell. On the table with {format_number(last['$m$'])} records, $M'_\\epsilon$ "
            f"errs by {format_number(last[self.difficult.columns[4]])} in the full cell, and "
            f"$M_\\epsilon$ by {format_number(last[self.difficult.columns[7]])} in the sum."
        )

    @functools.cached_property
    def sparse(self) -> pd.DataFrame:
        """What outputs with few cells other than zero pay."""
        allowed = [1.0, SCARCE, math.sqrt(self.d)]
        bounds = [float(sparse_point_error(self.epsilon, self.d, n)) for n in allowed]
        return pd.DataFrame({"cells other than 0, $N$": allowed, "lower bound on $C$": bounds})

    @property
    def sparse_caption(self) -> str:
        """What is said about that table."""
        return (
            "What outputs of either sign pay for being sparse, at $d =$ "
            f"{format_number(self.d)} and $\\epsilon = {format_number(self.epsilon)}$, in records; "
            f"a signed answer errs by {format_number(self.signed)}. Zero means that the bound says "
            "nothing."
        )

    @property
    def sparse_said(self) -> str:
        """What the theorem on sparse outputs says at the most cells."""
        d = self.sizes[-1]
        bound = float(sparse_point_error(self.epsilon, d, SCARCE))
        more = "That is still below a signed answer's error at this level."
        if bound > self.signed:
            more = "That is more than a signed answer's error, although negative weights are used."
        return (
            f"With {format_number(SCARCE)} cells expected to differ from 0 and $d =$ "
            f"{format_number(d)}, some cell errs by at least {at_least(bound)} records. {more}"
        )


@functools.cache
def _balanced(guarantee: Guarantee) -> tuple[Array, list[tuple[str, Array]]]:
    ds = np.unique(np.floor(np.geomspace(2, 1e12, 60)))
    signed = guarantee.signed_error
    return ds, [(n, balanced_error(n, guarantee, ds) / signed) for n in reversed(BOUNDS)]


@functools.cache
def _firsts(guarantee: Guarantee) -> tuple[First, ...]:
    kind = {"pure": "pure DP", "approximate": "approximate DP", "zcdp": "zCDP"}[guarantee.kind]
    s = guarantee.signed_error
    return tuple(
        First(
            kind,
            name,
            first_above(name, guarantee, s),
            first_above(name, guarantee, s, s),
        )
        for name in reversed(BOUNDS)
    )


def _cells(d: float) -> str:
    return format_number(d) if math.isfinite(d) else "never"


def _from(d: float) -> str:
    return f"from {format_number(d)} cells on" if math.isfinite(d) else "at no number of cells"


def _at(d: float) -> str:
    return f"at $d =$ {format_number(d)}" if math.isfinite(d) else "missing, since it never does"


def _records(d: int, epsilon: float) -> int:
    return max(round(math.log(d) / epsilon), 1)


study = Findings
