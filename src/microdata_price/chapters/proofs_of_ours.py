"""Proofs of ours: what the proofs' steps come to in numbers."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..base.numbers import at_most, format_number
from ..theory.lower.lower_bounds import point_error_bound
from ..theory.lower.variants import (
    approximate_corollary,
    one_record_bound,
    public_total_bound,
    same_table_error,
)
from ..theory.upper.concentrated_noise import SEARCHED, Pair, SmoothNoise, core_and_flanks
from ..theory.upper.exact_errors import m_epsilon, worst_clipped_sum
from ..theory.upper.redrawn import redrawn, redrawn_whole_bound
from ..theory.upper.reports import Reports
from .levels import Levels

SEARCH_RHO = 0.125  # the level of the pairs that were searched
CORE, FLANK, W, R = 0.75, 0.9, 8.0, 60.0  # of the drawn pair, at SEARCH_RHO
LARGE_EPSILON = 10.0
LOG_D = 1000.0


@dataclass
class Findings(Levels):
    """Numbers beside the proofs, at one level."""

    runs: int = 1000
    seed: int = 1
    most = 2**53

    # First moments on other terms.

    @cached_property
    def public(self):
        """The least C with a public total, exact; as good as a signed answer's; a private one."""
        g, d, D = self.pure, self.d, self.signed
        exact, good = (float(public_total_bound(self.epsilon, d, x)) for x in (0.0, D))
        return exact, good, float(point_error_bound("first_moment", g, d, D))

    @cached_property
    def large(self):
        """Bound on D by one record at a large epsilon, and clip's own D, of a million cells."""
        noise = m_epsilon(LARGE_EPSILON)
        bound = float(one_record_bound(LARGE_EPSILON, 10**6, noise.std))
        return bound, math.sqrt(float(worst_clipped_sum(noise, 10**6).squared_error))

    @cached_property
    def with_delta(self):
        """The corollary with a delta, and the bound it is a form of."""
        g, D = self.approximate, self.signed
        value = float(approximate_corollary(g, self.d, D))
        return value, float(point_error_bound("first_moment", g, self.d, D))

    @cached_property
    def same(self):
        """Least larger root error on one table with about ln(d)/epsilon records, and they."""
        m = max(round(math.log(self.d) / self.epsilon), 1)
        return float(same_table_error(self.epsilon, self.d, m).error), m

    # Noise that is redrawn.

    @cached_property
    def redrawn(self):
        """The bound B, and the certified C, in signed errors, for very many cells."""
        found = redrawn(self.epsilon, self.delta, 1e60, self.signed)
        return found.bound, found.C / self.signed

    @cached_property
    def redrawn_whole(self):
        return redrawn_whole_bound(self.epsilon, self.delta)

    # Smooth noise; the pairs are at a rho of their own, in units that scale with it.

    @cached_property
    def pair(self):
        return core_and_flanks(SEARCH_RHO, CORE, FLANK, W, R)

    @cached_property
    def slopes(self):
        """Slopes of minus the log density: of the cells' noise, the sum's, a Gaussian's."""
        x = np.linspace(0, 90, 901)
        whole = SmoothNoise((), (2 * SEARCH_RHO,))
        return x, *(np.gradient(n.potential(x), x) for n in (*self.pair, whole))

    @cached_property
    def orders(self):
        return 1 + np.geomspace(5e-4, 9999, 60)

    @cached_property
    def used(self):
        """Share of the budget that each pair uses at each order."""
        pairs = {"core and\nflanks": self.pair}
        pairs |= {f"searched,\n$d$ = {d:.0e}".replace("e+0", "e"): p for d, p in SEARCHED.items()}
        return [(name, p.budget_used(SEARCH_RHO, self.orders)) for name, p in pairs.items()]

    @property
    def most_used(self):
        return max(float(y.max()) for _, y in self.used)

    @cached_property
    def pairs_table(self):
        """The worst cell error of searched pairs beside two Gaussians, in signed errors."""
        plain = SmoothNoise((), (SEARCH_RHO,))
        unit, rows = math.sqrt(SEARCH_RHO), []
        for d, pair in SEARCHED.items():
            runs = self.runs if d < 10**5 else max(self.runs // 2, 2)
            for name, p in (("two Gaussians", Pair(plain, plain)), ("searched pair", pair)):
                found = p.sampled_cell_error(d, runs, self.seed)
                rows.append(
                    {
                        "cells": d,
                        "noises": name,
                        "at least": format_number(found.least * unit, se=found.least_se * unit),
                        "at most": format_number(found.most * unit, se=found.most_se * unit),
                        "sum": at_most(math.sqrt(SEARCH_RHO * p.total.variance)),
                    }
                )
        return pd.DataFrame(rows)

    # The mechanism that reaches the constant.

    @cached_property
    def audit(self):
        """The largest loss over the budget, over coins and numbers of cells in use."""
        cases = [
            Reports(self.epsilon, LOG_D, s, 0.05, kappa * LOG_D)
            for s in (1.0, 1.5, 4.0)
            for kappa in (0.05, 0.3, 0.49, 0.6, 1.0)
        ]
        return max(c.largest_loss(801) / c.tau for c in cases), len(cases)
