"""Why someone pays: first moments, the packing, and Theorem 3 under three kinds of privacy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..base.numbers import at_least, format_number
from ..model.noise_discrete import DiscreteGaussian, DoubleGeometric
from ..model.privacy import ApproximateDP
from ..theory.lower.lower_bounds import point_error_bound, sum_error_bound
from ..theory.lower.validity import first_above
from ..theory.proofs.packing import packing_at
from ..theory.proofs.packing_walk import clipped_packing
from ..theory.upper.exact_errors import worst_clipped_sum
from .levels import Levels

LARGE = 10**9  # cells, in the table of three kinds
BEYOND = 1e250  # so many cells that a delta's ceiling is reached
FAR = (10**6, 10**12, 10**24, 10**36)  # cells at which zCDP's printed bound is drawn


def clip(noise, d):
    """D and C of the mechanism that clips noisy cells, exactly."""
    return math.sqrt(float(worst_clipped_sum(noise, d).squared_error)), noise.std


@dataclass
class Findings(Levels):
    """Lower bounds on C and D: first moments at d cells, Theorem 3 at the sizes of ``ds``."""

    ds: Sequence = (10**4, 10**6, 10**9, 10**12)

    def __post_init__(self):
        super().__post_init__()
        self.noise = DoubleGeometric(self.epsilon)
        self.sizes = sorted(set(self.ds))

    # First moments.

    @cached_property
    def own(self):
        return clip(self.noise, self.d)

    @cached_property
    def sum_errors(self):
        D, signed = self.own[0], self.signed
        return np.geomspace(0.2 * min(D, signed), 3 * max(D, signed), 140)

    @cached_property
    def region(self):
        return point_error_bound("first_moment", self.pure, self.d, self.sum_errors)

    @cached_property
    def must(self):
        """The least C at a signed answer's D."""
        return float(point_error_bound("first_moment", self.pure, self.d, self.signed))

    @cached_property
    def must_sum(self):
        """The least D at clip's C."""
        return float(sum_error_bound("first_moment", self.pure, self.d, self.own[1]))

    @cached_property
    def times(self):
        """The least C in signed errors: at d cells, at a million."""
        most = float(point_error_bound("first_moment", self.pure, 10**6, self.signed))
        return self.must / self.signed, most / self.signed

    # The packing.

    @cached_property
    def packing(self):
        """The paper's tables at clip's errors."""
        return clipped_packing(self.noise, self.d, k=1 / self.epsilon)

    @cached_property
    def accurate(self):
        """The same for a sum as good as a signed answer."""
        return packing_at(self.d, self.packing.C, self.signed, k=1 / self.epsilon)

    @cached_property
    def reached(self):
        """The most cells that one output can point at: accurate sum, clip's sum."""
        return [int(p.memberships(p.fullest_output())) for p in (self.accurate, self.packing)]

    @cached_property
    def signed_sets(self):
        """In how many sets one signed output can lie."""
        return int(self.accurate.memberships(self.accurate.signed_output()))

    # Theorem 3 as printed.

    def _curves(self, guarantee, noise, sizes):
        """D of all curves, the curve of each size, clip at each size."""
        own, signed = [clip(noise, d) for d in sizes], guarantee.signed_error
        far = min(3 * max(own[-1][0], signed), 1e13 * signed)
        D = np.geomspace(0.05 * min(own[0][0], signed), far, 100)
        return D, [point_error_bound("printed", guarantee, d, D) for d in sizes], own

    @cached_property
    def pure_curves(self):
        return self._curves(self.pure, self.noise, self.sizes)

    @cached_property
    def zcdp_curves(self):
        return self._curves(self.zcdp, DiscreteGaussian(1 / (2 * self.rho)), FAR)

    def printed(self, guarantee, d):
        return float(point_error_bound("printed", guarantee, d, guarantee.signed_error))

    @cached_property
    def asked(self):
        """Theorem 3's C at the most cells drawn, in records: pure DP, zCDP."""
        return self.printed(self.pure, self.sizes[-1]), self.printed(self.zcdp, FAR[-1])

    far = FAR

    @cached_property
    def deltas(self):
        """No delta, the root of the one given, itself, its square."""
        some = (math.sqrt(self.delta), self.delta, self.delta**2)
        return [self.pure, *(ApproximateDP(self.epsilon, v) for v in some)]

    @cached_property
    def delta_sizes(self):
        reach = min(180.0, max(24.0, 12 - 2.6 * math.log10(self.delta)))
        return np.round(np.geomspace(10, 10.0**reach, 90))

    @cached_property
    def ceilings(self):
        """Of each delta: its name, the bound on C at every size, and the bound's limit."""
        found = []
        for g in self.deltas:
            name = f"δ = {format_number(getattr(g, 'delta', 0), 2)}"
            curve = point_error_bound("printed", g, self.delta_sizes, self.signed)
            limit = self.printed(g, BEYOND) if g.delta else math.inf
            found.append((name, curve, limit))
        return found

    @property
    def ceiling(self):
        return self.ceilings[2][2]

    @cached_property
    def kinds(self):
        """How C and D grow, values at a billion cells, and the first numbers of cells."""
        growth = {
            "pure": (self.pure, r"$\ln d$", "$d$"),
            "approximate": (self.approximate, r"$\min(\ln d, \ln\frac\epsilon\delta)$", "$d$"),
            "zCDP": (self.zcdp, r"$\sqrt{\ln d}$", r"$d^t$"),
        }
        columns = {"privacy": ["good sum: $C$ like", "good cells: $D$ like"]}
        columns["privacy"] += [
            f"{n}: {w}" for n in ("Theorem 3", "first moments") for w in ("$C$", "$d$")
        ]
        for name, (g, cells, total) in growth.items():
            columns[name] = [cells, total]
            for bound in ("printed", "first_moment"):
                at = float(point_error_bound(bound, g, LARGE, g.signed_error)) / g.signed_error
                first = first_above(bound, g, g.signed_error, g.signed_error)
                columns[name] += [at_least(at), cells_written(first)]
        return pd.DataFrame(columns)


def cells_written(d):
    """Write a least number of cells, to two digits if it is large; a dash where there is none."""
    return format_number(d if d < 1e4 else float(f"{d:.2g}"), 2) if math.isfinite(d) else "–"
