"""How large exactly: the gap at numbers of cells that occur, and the constants for very many."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..base.numbers import at_least, at_most
from ..model.noise_discrete import DoubleGeometric
from ..theory.lower.lower_bounds import point_error_bound, sum_error_bound
from ..theory.lower.single_cells import channel_point_error, channel_sum_error
from ..theory.lower.single_cells_zcdp import conic_point_error, conic_sum_error
from ..theory.upper.concentrated_noise import concentrated_wall
from ..theory.upper.leading_constant import (
    cell_share,
    leading_constant,
    needed_lambda,
    sum_wall,
)
from ..theory.upper.operating_points import fitted, weighted, weighted_certified
from ..theory.upper.redrawn import redrawn
from ..theory.upper.remap import map_at
from ..theory.upper.upper_bounds import exact_clipping
from ..theory.upper.worst_table import certified_fit
from .levels import Levels

FAR = 10**12  # cells, where there are very many
PROGRAM = 10**6  # cells up to which the program of single cells is solved


class Ends(NamedTuple):
    """What is proved and what is reached, in one unit."""

    low: float
    high: float

    @property
    def factor(self):
        return self.high / self.low if self.low > 0 else math.inf


@dataclass
class Findings(Levels):
    """Both ends of the least C beside a good sum, and of the least D beside good cells."""

    lam: float = 3.0

    def __post_init__(self):
        super().__post_init__()
        self.sizes = np.geomspace(10, FAR, 15)
        self.marks = [10, 100, 1000]

    def ends(self, guarantee, d):
        """The least C at a signed answer's D, in signed errors."""
        unit = guarantee.signed_error
        low = float(point_error_bound("first_moment", guarantee, d, unit))
        if guarantee is self.pure and d <= PROGRAM:
            low = max(low, channel_point_error(guarantee, d, unit, whole=False))
        if guarantee is self.zcdp and d <= PROGRAM:
            low = max(low, conic_point_error(guarantee, d, unit, whole=False))
        return Ends(low / unit, certified_fit(guarantee, d, unit, even=False).most / unit)

    @cached_property
    def gap(self):
        return self.ends(self.pure, self.d)

    @cached_property
    def gap_zcdp(self):
        return self.ends(self.zcdp, self.d)

    @cached_property
    def kept(self):
        """Both ends of the worst cell error of keeping the sum, in signed errors."""
        unit = self.pure.signed_error
        return Ends(*(float(found.C[0]) / unit for found in fitted(self.pure, self.d)))

    @cached_property
    def programs(self):
        unit = self.pure.signed_error
        return [channel_point_error(self.pure, d, unit, whole=False) / unit for d in self.marks]

    @cached_property
    def curves(self):
        """First moments, keeping the sum, asymmetric noise, at all sizes, in signed errors."""
        g, unit = self.pure, self.pure.signed_error
        lower = point_error_bound("first_moment", g, np.rint(self.sizes), unit) / unit
        upper = [
            [certified_fit(g, d, unit, even=even).most / unit for d in np.rint(self.sizes)]
            for even in (True, False)
        ]
        return lower, *np.array(upper)

    # Very many cells.

    @property
    def wall(self):
        return float(sum_wall(self.epsilon))

    @property
    def wall_zcdp(self):
        return concentrated_wall(self.rho)

    @property
    def free(self):
        """The lambda from which on the constant is 1."""
        return float(needed_lambda(1.0, self.epsilon))

    @property
    def at_lam(self):
        return leading_constant(self.lam, self.epsilon)

    @property
    def at_lam_whole(self):
        return leading_constant(self.lam, max(self.epsilon, 1e-3), whole=True)

    @property
    def asymmetric_limit(self):
        """The constant of asymmetric noise at the signed answers' lambda."""
        return float(1 / cell_share(8.0))

    @cached_property
    def lambdas(self):
        return self.wall + np.geomspace(0.02, 50, 200)

    @cached_property
    def constants(self):
        """The exact constant, asymmetric noise's and a split budget's, at all lambdas."""
        lam = self.lambdas
        exact = np.array([leading_constant(float(x), self.epsilon) for x in lam])
        both = lam > 2.001
        noise = np.full(lam.shape, np.nan)
        split = noise.copy()
        noise[both] = 1 / cell_share(lam[both])
        split[both] = 1 / (1 - np.sqrt(2 / lam[both]))
        return exact, noise, split

    # The sum beside the best cells.

    @cached_property
    def clip(self):
        return float(exact_clipping(self.pure, self.d).D) / self.signed

    @cached_property
    def mapped(self):
        """Clip's output mapped; None where the program is too large, or nothing is gained."""
        return map_at(self.pure)

    @cached_property
    def beside(self):
        return self.beside_of(whole=True)

    @property
    def proved(self):
        """Epsilon times the proved error of the sum over d."""
        return self.epsilon * self.beside.low * self.signed / self.d

    def beside_of(self, whole):
        """The least D at clip's C, for outputs in whole numbers or weights, in signed errors."""
        C = DoubleGeometric(self.epsilon).std * (1 + 1e-9)
        low = channel_sum_error(self.pure, self.d, C, whole=whole)
        high = float(self.mapped.D(self.d)) / self.signed if self.mapped else self.clip
        return Ends(low / self.signed, high)

    @cached_property
    def slope(self):
        """Limits of epsilon times the sum's error over d: the map's and clip's."""
        own = self.epsilon / (2 * math.sinh(min(self.epsilon, 600)))
        return self.epsilon * float(np.abs(self.mapped.bias).max()) if self.mapped else own, own

    @cached_property
    def beside_moments(self):
        C = DoubleGeometric(self.epsilon).std
        return float(sum_error_bound("first_moment", self.pure, self.d, C)) / self.signed

    # With a delta.

    @cached_property
    def ceiling(self):
        """Both ends of C for very many cells, in signed errors."""
        g, unit = self.approximate, self.approximate.signed_error
        names = "first_moment", "packing_empty"
        low = max(float(point_error_bound(name, g, 1e250, unit)) for name in names)
        return Ends(low / unit, redrawn(self.epsilon, self.delta, 1e60, unit).C / unit)

    @cached_property
    def questions(self):
        """Each open question, its number, both ends."""
        return [
            ("a cell, pure DP", "$C$ in signed errors", self.gap),
            ("a cell, zCDP", "$C$ in signed errors", self.gap_zcdp),
            ("a cell with a delta", "$C$ in signed errors, $d \\to \\infty$", self.ceiling),
            (
                "its constant, $\\delta \\to 0$",
                "$\\epsilon C/\\ln(\\epsilon/\\delta)$",
                Ends(1, self.asymmetric_limit),
            ),
            ("the sum, pure DP, weights", "$D$ in signed errors", self.beside_of(whole=False)),
            ("the sum, zCDP, whole numbers", "$D$ in signed errors", self.beside_zcdp),
            ("a cell of NNLS", "$C$ in signed errors", self.nnls),
        ]

    @cached_property
    def beside_zcdp(self):
        """The least D at clip's C under zCDP, in signed errors: by the program, by a map."""
        g, unit = self.zcdp, self.zcdp.signed_error
        clip = exact_clipping(g, self.d)
        C, high = float(clip.C), float(clip.D)
        if found := map_at(g):
            C, high = found.C, min(high, float(found.D(self.d)))
        moments = float(sum_error_bound("first_moment", g, self.d, C))
        return Ends(max(moments, conic_sum_error(g, self.d, C, whole=True)) / unit, high / unit)

    @cached_property
    def nnls(self):
        """The worst cell of NNLS, a fit to the sum with weight 1, in signed errors."""
        both = (f(self.pure, self.d, [1.0]) for f in (weighted, weighted_certified))
        return Ends(*(float(found.C[0]) / self.signed for found in both))

    @property
    def open_table(self):
        rows = [
            (name, what, at_least(e.low), at_most(e.high), at_most(e.factor) if e.low > 0 else "–")
            for name, what, e in self.questions
        ]
        return pd.DataFrame(rows, columns=["question", "number", "at least", "at most", "factor"])
