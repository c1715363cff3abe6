"""The plane of C and D: what is excluded, where mechanisms are, and from how many cells on."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from ..base.numbers import rounded_down, rounded_up
from ..model.noise import Laplace
from ..model.noise_discrete import DoubleGeometric
from ..model.privacy import ApproximateDP, ConcentratedDP, Guarantee
from ..theory.lower.lower_bounds import BOUNDS, point_error_bound, sum_error_bound
from ..theory.lower.single_cells import single_cell_bounds, single_cell_lines
from ..theory.lower.validity import first_above, sparse_point_error
from ..theory.upper import operating_points as known
from ..theory.upper.exact_errors import clipped, clipped_sum
from ..theory.upper.fitted_errors import cell_errors, large_table_errors
from ..theory.upper.operating_points import Operating
from ..theory.upper.redrawn import redrawn
from ..theory.upper.worst_table import certified_fit
from .levels import Levels

DRAWN_TO = 1e15  # cells, in the picture of crossings
TINY = 1e-150  # the square of a smaller error cannot be held
LEAST = 1e-3  # in signed errors, where a plane begins
ROUNDING = 1e-9  # of a D that is 1 by a formula
SCARCE = 10.0  # cells expected to differ from zero, in a sparse output
_HOW = {"exact": "exact", "family": "on its worst table", "certified": "certified"}


@dataclass
class Plane:
    guarantee: Guarantee
    d: int

    @property
    def unit(self):
        return self.guarantee.signed_error

    def scaled(self, place):
        C, D = (np.maximum(x, TINY) / self.unit for x in (place.C, place.D))
        return replace(place, C=C, D=D)

    @cached_property
    def clip(self):
        return self.scaled(known.clipping(self.guarantee, self.d))

    @cached_property
    def mapped(self):
        place = known.mapped(self.guarantee, self.d)
        return None if place is None else self.scaled(place)

    @cached_property
    def kept(self):
        """Keep the sum: its worst table, and what is certified for all."""
        return tuple(self.scaled(x) for x in known.fitted(self.guarantee, self.d))

    @cached_property
    def turned(self):
        zcdp = isinstance(self.guarantee, ConcentratedDP)
        path = (known.split if zcdp else known.asymmetric)(self.guarantee, self.d, 17)
        return self.scaled(path)

    @cached_property
    def cut(self):
        """Noise that is redrawn until it is below a bound, under approximate DP."""
        if not isinstance(self.guarantee, ApproximateDP) or self.guarantee.epsilon > 20:
            return None
        found = redrawn(self.guarantee.epsilon, self.guarantee.delta, self.d, self.unit)
        one = np.array([found.C]), np.array([self.unit])
        return self.scaled(Operating("redrawn noise", "certified", *one, np.zeros(1)))

    @property
    def marks(self):
        found = [self.clip, self.mapped, *self.kept, self.cut]
        return [place for place in found if place is not None]

    @cached_property
    def reached(self):
        """The least C that is certified beside D = 1, and of which mechanism it is."""
        found = certified_fit(self.guarantee.basis, self.d, self.unit, even=False)
        sure = [p for p in self.marks if p.status != "family" and p.D[0] <= 1 + ROUNDING]
        named = [(float(p.C[0]), p.name.partition(",")[0]) for p in sure]
        return min([(found.most / self.unit, ""), *named], key=lambda pair: pair[0])

    uneven = property(lambda self: self.reached[0])
    by = property(lambda self: self.reached[1] or self.turned.name)  # at the best rates

    @cached_property
    def sum_errors(self):
        sums = np.concatenate([p.D for p in [*self.marks, self.turned]])
        left, right = max(LEAST, min(0.4, 0.6 * float(sums.min()))), max(4.0, float(sums.max()))
        return np.sort(np.append(np.geomspace(left, right * (right / left) ** 0.15, 160), 1.0))

    def single(self, whole, D):
        """The least C by single cells, at D, in signed errors; at least first moments'."""
        lines = single_cell_lines(self.guarantee, whole=whole)
        first = point_error_bound("first_moment", self.guarantee, self.d, self.unit * D)
        return np.maximum(lines.point_error(self.d, self.unit * D), first) / self.unit

    @cached_property
    def curves(self):
        D, C = self.sum_errors, float(self.clip.C[0])
        # Two points have a program of their own; beyond each the bound is that of the point.
        at = np.where(D <= 1, self.must, 0), *(np.where(sums > D, C, 0) for sums in self.must_sum)
        found = {"channel": np.maximum.reduce([self.single(False, D), *at[:2]])}
        whole = np.maximum.reduce([self.single(True, D), found["channel"], at[2]])
        if np.abs(whole - found["channel"]).max() > 0.01:
            found["channel_whole"] = whole
        for name in ("first_moment", "printed"):
            found[name] = point_error_bound(name, self.guarantee, self.d, self.unit * D) / self.unit
        return found

    @cached_property
    def first(self):
        """The least C at D = 1 by first moments alone."""
        found = point_error_bound("first_moment", self.guarantee, self.d, self.unit)
        return float(found) / self.unit

    @cached_property
    def must(self):
        """The least C at D = 1, for weights."""
        cells, _ = single_cell_bounds(self.guarantee, self.d, sum_error=self.unit)
        return max(self.first, cells["channel"] / self.unit)

    @cached_property
    def must_sum(self):
        """The least D beside cells as good as clip's: for weights, and for whole numbers."""
        C = float(self.clip.C[0]) * self.unit
        first = float(sum_error_bound("first_moment", self.guarantee, self.d, C))
        cells, _ = single_cell_bounds(self.guarantee, self.d, point_error=C)
        return tuple(max(first, cells[n]) / self.unit for n in ("channel", "channel_whole"))


class Findings(Levels):
    most = 2**53

    @cached_property
    def planes(self):
        return [Plane(g, self.d) for g in (self.pure, self.approximate, self.zcdp)]

    @cached_property
    def main(self):
        return self.planes[0]

    @cached_property
    def kept(self):
        return [float(p.C[0]) for p in self.main.kept]

    @cached_property
    def factor(self):
        """Certified over proved, at D = 1; infinite where nothing is proved."""
        return self.main.uneven / self.main.must if self.main.must > 0 else math.inf

    @cached_property
    def places(self):
        rows = []
        for plane in self.planes:
            for p in plane.marks:
                up = rounded_up if p.status == "certified" else float
                C, D = float(p.C[0]), float(p.D[0])
                rows.append((plane.guarantee.short, p.name, _HOW[p.status], up(C), D))
        return pd.DataFrame(rows, columns=["privacy", "mechanism", "cell error", "$C$", "$D$"])

    @cached_property
    def gap(self):
        """For each kind but approximate: title, d, proved, certified, worst table, in signed."""
        ds = np.unique(np.geomspace(2, 1e9, 16).round())
        out = []
        for plane in (self.planes[0], self.planes[2]):
            g, unit = plane.guarantee, plane.unit
            lines = single_cell_lines(g, whole=False)  # as in the planes: computed once
            first = point_error_bound("first_moment", g, ds, unit)
            low = np.maximum(lines.point_error(ds, unit), first) / unit
            high = np.array([Plane(g, d).uneven for d in ds.tolist()])
            own = [certified_fit(g, d, unit, even=True).least for d in ds.tolist()]
            out.append((g.short, ds, low, high, np.array(own) / unit))
        return out

    @cached_property
    def firsts(self):
        """Kind, bound, the d from which it speaks, and from which it excludes signed answers."""
        rows = []
        for g in (self.pure, self.approximate, self.zcdp):
            unit = g.signed_error
            for name in ("first_moment", "packing_empty", "printed"):
                speaks, excludes = (first_above(name, g, unit, x) for x in (0.0, unit))
                rows.append((g.name, name, speaks, excludes))
        return rows

    def from_cells(self, name):
        return next(r[3] for r in self.firsts if r[:2] == (self.pure.name, name))

    @cached_property
    def sharp_from(self):
        return self.from_cells("first_moment")

    @cached_property
    def printed_from(self):
        return self.from_cells("printed")

    @cached_property
    def firsts_table(self):
        def whole(x):
            return f"{math.ceil(x):,}" if x < 1e12 else "more than 10¹²"

        names = {n: BOUNDS[n].label for n in BOUNDS}
        short = {p.guarantee.name: p.guarantee.short for p in self.planes}
        rows = [(short[kind], names[n], whole(a), whole(b)) for kind, n, a, b in self.firsts]
        return pd.DataFrame(rows, columns=["privacy", "bound", "speaks from", "excludes from"])

    @cached_property
    def full(self):
        """The count of the full cell in a difficult table."""
        return max(math.ceil(math.log(self.d) / self.epsilon), 1)

    @cached_property
    def difficult(self):
        """The difficult table beside an empty and an easy one, for clip and keep the sum."""
        noise, half = DoubleGeometric(self.epsilon), Laplace(2 / self.epsilon)
        rows = []
        # Above what keep the sum takes off every cell, about 2 ln(d) / epsilon, by 60 / epsilon.
        large = math.ceil((60 + 2 * math.log(self.d)) / self.epsilon)
        for name, count, others in (
            ("difficult", self.full, 0),
            ("one huge cell", large, 0),
            ("easy", large, large),
        ):
            tables = [count, others], [1, self.d - 1]
            one = float(clipped(noise, count).squared_error)
            kept, _ = large_table_errors(half, half, self.d, math.inf)
            if others == 0:
                kept = cell_errors(half, half, self.d, count).squared_error
            total = math.sqrt(clipped_sum(noise, *tables)) / self.signed
            errors = math.sqrt(one) / self.signed, total, math.sqrt(kept) / self.signed, 1.0
            rows.append((name, count, others, *errors))
        names = ["table", "full cell", "other cells", "clip: cell", "clip: sum"]
        return pd.DataFrame(
            rows, columns=[*names, "keep the sum: cell", "keep the sum: sum (at most)"]
        )

    @cached_property
    def sparse(self):
        """How many cells are expected to differ from 0, and the least C then."""
        few = min(SCARCE, self.d / 2)
        value = sparse_point_error(self.epsilon, self.d, few)
        return few, rounded_down(float(value) / self.signed)
