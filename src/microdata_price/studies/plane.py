"""The plane of C and D: what is excluded, and where known mechanisms are, in signed errors."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import at_least, at_most, format_number, rounded_up
from ..model.privacy import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from ..page.output import Caption
from ..theory.lower.lower_bounds import BOUNDS, point_error_bound, sum_error_bound
from ..theory.lower.validity import balanced_error
from ..theory.upper import operating_points as known
from ..theory.upper.asymmetric import best_rates, certified_asymmetric
from ..theory.upper.one_sided import certified_split
from ..theory.upper.operating_points import Operating, Status

Array = NDArray[np.float64]

TINY = 1e-150
"""The square of a smaller error cannot be held as a number."""
_LEAST = 1e-3  # in signed errors, where a plane begins
_SHOWN = ("first_moment", "packing_empty", "printed")
_HOW = {
    "exact": "exact, all tables",
    "family": "worst known",
    "certified": "certified, all tables",
}


def _held(place: Operating) -> Operating:
    return replace(place, C=np.maximum(place.C, TINY), D=np.maximum(place.D, TINY))


def _must_pay(guarantee: Guarantee, d: int) -> float:
    """Return the least C, in counts, where the sum is as good as a signed answer."""
    D = guarantee.signed_error
    return max(float(point_error_bound(n, guarantee, d, D)) for n in BOUNDS)


def _listed(status: Status, value: float) -> float:
    """Return an error for the table; what is only certified is an upper end."""
    return rounded_up(value) if status == "certified" else value


@dataclass(frozen=True)
class Plane:
    """One plane, at one kind of privacy.

    Parameters
    ----------
    guarantee
        The level.
    d
        Cells.
    """

    guarantee: Guarantee
    d: int

    @property
    def unit(self) -> float:
        """The root error of a signed answer, in counts."""
        return self.guarantee.signed_error

    def scaled(self, place: Operating) -> Operating:
        """Return a place in signed errors."""
        return replace(place, C=place.C / self.unit, D=place.D / self.unit)

    @functools.cached_property
    def weights(self) -> Array:
        """Weights of the sum that are marked."""
        return np.concatenate([[0], np.geomspace(0.6 / self.d, 1, 4), [8, np.inf]])

    @functools.cached_property
    def clipping(self) -> Operating:
        """M."""
        return self.scaled(_held(known.clipping(self.guarantee, self.d)))

    @functools.cached_property
    def fitted(self) -> tuple[Operating, Operating]:
        """M', worst known and certified."""
        first, second = known.fitted(self.guarantee, self.d)
        return self.scaled(first), self.scaled(second)

    @functools.cached_property
    def weighted(self) -> Operating:
        """The worst known of the fits with a weight of the sum."""
        return self.scaled(known.weighted(self.guarantee, self.d, self.weights))

    @functools.cached_property
    def turned(self) -> Operating:
        """Asymmetric noise; under zCDP a split of the budget."""
        if isinstance(self.guarantee, ConcentratedDP):
            return self.scaled(known.split(self.guarantee, self.d))
        return self.scaled(known.asymmetric(self.guarantee, self.d))

    @functools.cached_property
    def truncated(self) -> Operating | None:
        """Bounded noise, with a delta."""
        if not isinstance(self.guarantee, ApproximateDP):
            return None
        return self.scaled(_held(known.truncated(self.guarantee, self.d)))

    @property
    def places(self) -> list[Operating]:
        """Everything that is drawn."""
        more = [self.truncated] if self.truncated is not None else []
        return [self.clipping, *self.fitted, self.weighted, self.turned, *more]

    @functools.cached_property
    def sum_errors(self) -> Array:
        """The D of the curves, in signed errors."""
        sums = np.concatenate([p.D for p in self.places])
        left = max(_LEAST, min(0.4, 0.6 * float(sums.min())))
        right = max(4.0, float(sums.max()))
        return np.geomspace(left, right * (right / left) ** 0.15, 160)

    @functools.cached_property
    def curves(self) -> dict[str, Array]:
        """Each bound on C."""
        D = self.unit * self.sum_errors
        return {n: point_error_bound(n, self.guarantee, self.d, D) / self.unit for n in _SHOWN}

    @functools.cached_property
    def must(self) -> tuple[float, float]:
        """The least C at D = 1, and the least D at the C of M."""
        g, unit = self.guarantee, self.unit
        C = unit * self.clipping.C
        total = max(float(sum_error_bound(n, g, self.d, C)[0]) for n in BOUNDS)
        return _must_pay(g, self.d) / unit, total / unit

    @functools.cached_property
    def uneven(self) -> float | None:
        """The C that asymmetric noise certifies at D = 1; none under zCDP."""
        if isinstance(self.guarantee, ConcentratedDP):
            return None
        eps = self.guarantee.epsilon
        rates = best_rates(eps, self.d, self.unit)
        return float(certified_asymmetric(eps, self.d, rates.right, rates.left).C) / self.unit

    @property
    def verdict(self) -> str:
        """Whether signed errors are excluded."""
        if self.must[0] > 1:
            return (
                "The star lies in the hatched region: signed errors in all queries are impossible "
                "for microdata here."
            )
        return (
            "The star is not in the hatched region: at this number of cells the bounds do not "
            "exclude that microdata match signed answers."
        )

    @property
    def said(self) -> str:
        """What the picture says along the vertical through the star and along M's level."""
        low, high = (float(p.C[0]) for p in self.fitted)
        own = float(self.clipping.D[0])
        sum_has = format_number(own) if own > TINY / self.unit * 2 else "next to nothing"
        cells, total = self.must
        knob = ""
        if self.uneven is not None:
            knob = f", and asymmetric noise is certain to pay at most {at_most(self.uneven)}"
        bounded = ""
        if self.truncated is not None:
            value = float(self.truncated.C[0])
            less = "less" if value < high else "no less"
            bounded = (
                f" Noise that is cut off is certain to pay at most {at_most(value)}, {less} than "
                f"the {at_most(high)} certified for $M'$; but it stops growing with $d$."
            )
        return (
            f"With $D = 1$ the cells must pay at least {at_least(cells)}. $M'$ pays "
            f"{format_number(low)} on the worst table known and at most {at_most(high)} on any"
            f"{knob}.{bounded} Cells as good as those of $M$ force a sum of at least "
            f"{at_least(total)}, and $M$ has {sum_has}. {self.verdict}"
        )

    @property
    def caption(self) -> Caption:
        """What is said about the picture."""
        low, high = (float(p.C[0]) for p in self.fitted)
        hatched = any(float(c.max()) > _LEAST for c in self.curves.values())
        region = (
            "A hatched region at the lower left, below falling curves, is impossible"
            if hatched
            else "No region of it is shown to be impossible here"
        )
        knob = "a split budget" if self.uneven is None else "asymmetric noise"
        return Caption(
            f"Under {self.guarantee.describe(math=True)}, at $d = {format_number(self.d)}$: if "
            "the sum is as good as a signed answer, some cell errs by at least "
            f"{at_least(self.must[0])} signed errors on some table. $M'$ errs by "
            f"{format_number(low)} on the worst table known and by at most {at_most(high)} on any.",
            alt="The plane of the sum's error, across, and a cell's error, up, both on logarithmic "
            f"axes. {region}. A star at (1, 1) marks signed answers, a square the mechanism M. A "
            "diamond marks M prime on the worst table known, an open triangle above it what is "
            "certified. A curve with dots, the weighted sum, leads from the diamond to a hollow "
            f"square; a dashed curve is {knob}.",
        )


@dataclass(frozen=True)
class Findings:
    """The three planes, the weights, and what cells pay against d."""

    epsilon: float
    rho: float
    delta: float
    d: int
    ds: tuple[int, ...]

    @functools.cached_property
    def pure(self) -> Plane:
        """Under pure DP."""
        return Plane(PureDP(self.epsilon), self.d)

    @functools.cached_property
    def approximate(self) -> Plane:
        """Under approximate DP."""
        return Plane(ApproximateDP(self.epsilon, self.delta), self.d)

    @functools.cached_property
    def zcdp(self) -> Plane:
        """Under zCDP."""
        return Plane(ConcentratedDP(self.rho), self.d)

    @property
    def planes(self) -> tuple[Plane, Plane, Plane]:
        """All three."""
        return self.pure, self.approximate, self.zcdp

    @property
    def opening(self) -> str:
        """What was found."""
        cells, _ = self.pure.must
        low, _ = (float(p.C[0]) for p in self.pure.fitted)
        return (
            f"Every private mechanism is a point in this plane. At {format_number(self.d)} cells "
            f"and $\\epsilon = {format_number(self.epsilon)}$, a sum as good as a signed answer's "
            f"costs the cells at least {at_least(cells)} times a signed answer's error on some "
            f"table; $M'$ pays {format_number(low)} times on the worst "
            "table known. A gap remains between what is proved impossible and what is reached."
        )

    @functools.cached_property
    def prices(self) -> dict[int, float]:
        """What a cell must pay, in signed errors, at two numbers of cells."""
        g = self.pure.guarantee
        large = 10**6 if self.d < 10**6 else 10**12
        return {n: _must_pay(g, n) / self.pure.unit for n in (self.d, large)}

    @property
    def price_said(self) -> str:
        """How large the price is, for readers who have seen nothing else yet."""
        shown = {n: x for n, x in self.prices.items() if x > 1}
        if not shown:
            return (
                f"At $\\epsilon = {format_number(self.epsilon)}$ the theorem sets in only where "
                f"there are more than {format_number(max(self.prices))} counts."
            )
        words = {10**6: "a million", 10**12: "$10^{12}$"}
        times = ", ".join(
            f"at least {at_least(x)} times as much at {words.get(n, f'{n:,}')} counts"
            for n, x in shown.items()
        )
        return (
            "How large is the price? Let the total be as accurate as noise that may be negative "
            "makes it. Then, by our sharper bounds, on some table some count errs more than with "
            "such noise: "
            f"{times}. All this at the level of privacy $\\epsilon = "
            f"{format_number(self.epsilon)}$: one person makes no published table more than "
            f"{at_most(math.exp(self.epsilon))} times as likely. The factor grows like the "
            "logarithm of the number of counts."
        )

    @property
    def places(self) -> pd.DataFrame:
        """The marks of the three pictures."""
        rows = []
        for plane in self.planes:
            ends: tuple[tuple[str, Status, int], ...] = (
                ("weight 0", "exact", 0),
                ("weight 1, NNLS", "family", int(np.flatnonzero(plane.weights == 1)[0])),
            )
            half, nnls = (
                replace(
                    plane.weighted,
                    name=name,
                    status=status,
                    C=plane.weighted.C[[i]],
                    D=plane.weighted.D[[i]],
                )
                for name, status, i in ends
            )
            marks = [plane.clipping, half, nnls, *plane.fitted]
            marks += [plane.truncated] if plane.truncated is not None else []
            for p in marks:
                rows.append(
                    {
                        "privacy": plane.guarantee.name,
                        "mechanism": p.name,
                        "how known": _HOW[p.status],
                        "$C$": _listed(p.status, float(p.C[0]) * plane.unit),
                        "$D$": float(p.D[0]) * plane.unit,
                        "$C$ in signed errors": _listed(p.status, float(p.C[0])),
                        "$D$ in signed errors": float(p.D[0]),
                    }
                )
        return pd.DataFrame(rows)

    @property
    def places_caption(self) -> str:
        """What is said about that table."""
        return (
            f"Marks of the three pictures at $d = {format_number(self.d)}$, in records and in "
            "signed errors. The $D$ of $M'$ is exact in every row."
        )

    @functools.cached_property
    def turned(self) -> Array:
        """Weights of the second picture."""
        return np.concatenate([[0], np.geomspace(0.1 / self.d, 320, 120), [np.inf]])

    @functools.cached_property
    def families(self) -> list[tuple[str, Operating, Operating]]:
        """The fits with a weight, worst known and certified, for pure DP and zCDP."""
        return [
            (
                plane.guarantee.short,
                plane.weighted,
                plane.scaled(known.weighted_certified(plane.guarantee, self.d, self.turned)),
            )
            for plane in (self.pure, self.zcdp)
        ]

    @property
    def weights_caption(self) -> Caption:
        """What is said about the picture of weights."""
        path = self.pure.weighted
        ends = [format_number(float(x)) for x in (path.C[0], path.C[-1], path.D[0], path.D[-1])]
        return Caption(
            f"Both errors against the weight of the sum at $d = {format_number(self.d)}$: worst "
            "known (dots) and certified for all tables (dashed). From weight 0 to infinity a "
            f"cell's error goes from {ends[0]} to {ends[1]} signed errors for pure DP and the "
            f"sum's from {ends[2]} to {ends[3]}.",
            alt="Two panels, the error of a cell and that of the sum, against the sum's weight "
            "on a logarithmic axis from 0 to infinity. For pure DP and for zCDP a line with dots "
            "shows the worst known error and a dashed line above it the certified one.",
        )

    @property
    def weights_said(self) -> str:
        """What the ends of the weights are, and whether few cells profit."""
        path = self.pure.weighted
        at = int(np.argmin(np.maximum(path.C, path.D)))
        errors = (float(path.C[at]), float(path.D[at]))
        few = "No weight that is shown brings both errors below a signed answer's."
        if max(errors) < 1:
            few = (
                "With so few cells the sum's own measurement helps every cell more than clipping "
                f"harms: at weight {format_number(float(self.pure.weights[at]))} and pure DP the "
                f"errors are {format_number(errors[0])} and {format_number(errors[1])} on the "
                "worst table known, both below a signed answer's."
            )
        loss = []
        for plane in (self.pure, self.zcdp):
            own = float(plane.clipping.D[0])
            tiny = own <= 2 * TINY / plane.unit
            ratio = "very many" if tiny else format_number(float(plane.weighted.D[0]) / own)
            loss.append(ratio)
        return (
            f"At weight 0 the sum's error is {loss[0]} times that of $M$ for pure DP and {loss[1]} "
            f"times for zCDP. {few}"
        )

    @functools.cached_property
    def several(self) -> tuple[Array, list[Array], list[Operating], list[Operating]]:
        """For several d: the D of the curves, the edges, M and M' under pure DP."""
        g, unit = self.pure.guarantee, self.pure.unit
        sizes = self.sizes
        marks = [self.pure.scaled(_held(known.clipping(g, n))) for n in sizes]
        fits = [self.pure.scaled(known.fitted(g, n)[0]) for n in sizes]
        low = max(_LEAST, min(0.4, 0.6 * float(marks[0].D[0])))
        reach = np.geomspace(low, 2.5 * max(4.0, float(marks[-1].D[0])), 120)
        edges = [self._edge(g, n, unit * reach) / unit for n in sizes]
        return reach, edges, marks, fits

    @property
    def sizes(self) -> list[int]:
        """The numbers of cells that are compared."""
        return sorted(set(self.ds))

    def _edge(self, g: Guarantee, d: float | Array, D: float | Array) -> Array:
        both = [point_error_bound(n, g, d, D) for n in ("first_moment", "packing_empty")]
        return np.asarray(np.maximum(*both))

    @property
    def several_caption(self) -> Caption:
        """What is said about the picture of several d."""
        _, edges, _, _ = self.several
        first, last = float(edges[0][0]), float(edges[-1][0])
        lifted = "No bound says anything at this level."
        if edges[-1].max() > 0:
            lifted = (
                f"At the left margin the edge is at {format_number(first)} for $d = "
                f"{format_number(self.sizes[0])}$ and at {format_number(last)} for $d =$ "
                f"{format_number(self.sizes[-1])}."
            )
        return Caption(
            "The edge of the impossible region, $M'$ (left, worst known) and $M$ (lower right, "
            f"exact) for several $d$, pure DP at $\\epsilon = {format_number(self.epsilon)}$. "
            f"{lifted}",
            alt="The plane for several numbers of cells; only the sum's error is on a logarithmic "
            "axis. Curves fall from the left to the right, the more cells the higher and the "
            "further right. A mark at D = 1 shows M prime, one at the lower right shows M.",
        )

    @functools.cached_property
    def series(self) -> list[tuple[str, Array, Array, Array, Array, Array]]:
        """What cells pay against d, for pure DP and zCDP."""
        grid = self.grid
        at = {"pure": np.array([2.0, 100, 1e4, 1e7, 1e12]), "zcdp": np.array([2.0, 1e4, 1e12])}
        found = []
        for plane, where in ((self.pure, at["pure"]), (self.zcdp, at["zcdp"])):
            g, unit = plane.guarantee, plane.unit
            own = [known.fitted(g, n) for n in where]
            worst, sure = (np.array([float(p[i].C[0]) for p in own]) / unit for i in (0, 1))
            lower = self._edge(g, grid, unit) / unit
            upper = certified_split(g.basis, grid).C / unit
            found.append((g.short, lower, upper, where, worst, sure))
        return found

    @functools.cached_property
    def grid(self) -> Array:
        """The numbers of cells of that picture."""
        return np.unique(np.floor(np.geomspace(2, 1e12, 50)))

    @property
    def price(self) -> Caption:
        """What is said about what cells pay."""
        ends = [at_most(float(s[2][-1])) for s in self.series]
        return Caption(
            "What cells pay when the sum is as good as a signed answer's: impossible (hatched), "
            "$M'$ on the worst table known (diamonds) and certified (dashed). At $d = 10^{12}$ the "
            f"certified value is {ends[0]} signed errors for pure DP and {ends[1]} for zCDP.",
            alt="Two panels, pure DP and zCDP, over a logarithmic axis of cells. A line with "
            "diamonds for M prime rises with the cells, and above it a dashed certified curve. "
            "Below it a hatched region is impossible, where a bound says so. A horizontal line "
            "marks signed answers.",
        )

    @property
    def gap_said(self) -> str:
        """How wide the gap is at 10^12 cells."""
        words = []
        for name, lower, upper, _, worst, _ in self.series:
            sure, some = float(upper[-1]), float(worst[-1])
            least = float(lower[-1])
            if least > _LEAST:
                words.append(
                    f"under {name} the certified error of $M'$ is {format_number(sure / least)} "
                    "times what is proved unavoidable, and the worst known one "
                    f"{format_number(some / least)} times"
                )
            else:
                words.append(f"under {name} no bound says anything")
        return f"At $d = 10^{{12}}$, {'; '.join(words)}."

    @property
    def colleague_said(self) -> str:
        """The solution of the first exercise."""
        g = PureDP(0.5)
        must = float(balanced_error("first_moment", g, 10**6)) / g.signed_error
        return (
            "No: the bounds are about the worst table, and one table was measured. On some table "
            f"one of the two errors is at least {at_least(must)} signed errors."
        )


def study(
    epsilon: float = 0.5,
    rho: float = 0.125,
    delta: float = 1e-6,
    d: int = 1000,
    ds: Sequence[int] = (10, 1000, 10**6, 10**9),
) -> Findings:
    """Return what the chapter computes, each thing when it is asked for.

    Parameters
    ----------
    epsilon, rho, delta
        The levels.
    d, ds
        Cells of the planes, and the numbers that are compared.

    Examples
    --------
    >>> study().pure.must[0] > 1
    True
    """
    found = Findings(epsilon, rho, delta, d, tuple(ds))
    _ = [plane.unit for plane in found.planes]
    return found
