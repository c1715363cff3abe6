"""Proofs of the paper's theorems: conversions, where each proof loses, and what an output tells."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..base.numbers import format_number, rounded_down, runs_within, standard_error
from ..model.noise import Laplace
from ..model.noise_discrete import DiscreteGaussian, DoubleGeometric, TruncatedDoubleGeometric
from ..model.privacy import ConcentratedDP, PureDP
from ..theory.difficult import difficult_table
from ..theory.laws.divergences import best_zcdp_epsilon, gaussian_epsilon
from ..theory.lower.gamma_bounds import best_gamma_sum_error
from ..theory.lower.lower_bounds import point_error_bound
from ..theory.lower.printed_bounds import printed_sides
from ..theory.lower.printed_branches import point_error_branches
from ..theory.proofs import fano_walk
from ..theory.proofs.packing_walk import clipped_packing, packing_odds, truncated_cells
from ..theory.proofs.slack import Slack, fano_slack, packing_slack
from ..theory.upper.exact_errors import worst_clipped_sum
from ..theory.upper.extremes import extremes, lemma1
from ..theory.upper.fitted_errors import cell_errors
from ..theory.upper.projection import threshold
from ..theory.upper.truncation import joint_profile, paper_bound, smallest_bound
from ..theory.upper.upper_bounds import certified, equation_bound
from .cases import written
from .levels import Levels

SIZES = (10**6, 10**9, 10**12)


def clipped_sum_error(noise, d):
    return math.sqrt(float(worst_clipped_sum(noise, d).squared_error))


@dataclass
class Findings(Levels):
    """The proofs on the mechanisms of Theorem 4, at d cells."""

    runs: int = 1000
    seed: int = 1

    # Privacy.

    @cached_property
    def conversions(self):
        """The epsilon that rho gives at delta: simple, sharper, and the least of Gaussian noise."""
        return (
            self.zcdp.to_approximate(self.delta).epsilon,
            best_zcdp_epsilon(self.rho, self.delta),
            gaussian_epsilon(self.rho, self.delta),
        )

    @cached_property
    def two_errors(self):
        """Squared errors of d signed cells: per query, simultaneous."""
        return self.signed**2, float(extremes(Laplace(2 / self.epsilon), self.d).square)

    # Theorem 3 on the clipping mechanism.

    def _packing(self, noise, k):
        packing = clipped_packing(noise, self.d, k=k)
        return packing, packing_odds(noise, packing)

    @cached_property
    def pure_walk(self):
        return self._packing(DoubleGeometric(self.epsilon), 1 / self.epsilon)

    @cached_property
    def cut_walk(self):
        return self._packing(truncated_cells(self.approximate), 1 / self.epsilon)

    @cached_property
    def gauss(self):
        return DiscreteGaussian(1 / (2 * self.rho))

    @cached_property
    def zcdp_walk(self):
        return self._packing(self.gauss, 1 / math.sqrt(self.rho))

    @cached_property
    def outputs(self):
        """How many outputs entropies are means over."""
        return runs_within(self.runs, self.d, most=20_000_000)

    @cached_property
    def entropies(self):
        rng = np.random.default_rng(self.seed)
        return fano_walk.sampled_information(self.gauss, self.zcdp_walk[0], self.outputs, rng)

    @cached_property
    def slacks(self):
        """What each theorem asks and each step loses: pure, approximate, zCDP."""
        return (
            packing_slack(self.pure, *self.pure_walk),
            packing_slack(self.approximate, *self.cut_walk),
            fano_slack(self.zcdp, self.gauss, *self.zcdp_walk, self.entropies),
        )

    @cached_property
    def losses(self):
        """The three bars as a table."""
        rows = []
        names = "3.1, pure", "3.2, approximate", "3.3, zCDP"
        for name, slack in zip(names, self.slacks, strict=True):
            steps = (("asked", slack.asked), *slack.lost, ("allowed", slack.allowed))
            rows += [{"theorem": name, "step": s, "nats": format_number(v)} for s, v in steps]
        return pd.DataFrame(rows)

    @cached_property
    def information(self):
        """What an output tells about where m records are, at several m."""
        far = 1.7 * math.sqrt(math.log(max(self.d, 3)) / self.rho)
        records = np.unique(np.round(np.linspace(1, max(far, 3), 9)))
        rng, runs = np.random.default_rng(self.seed + 1), min(self.outputs, 250)
        return fano_walk.information_curve(self.gauss, self.d, records, runs, rng)

    @cached_property
    def told(self):
        """Nats in all, and the share of them, in %, that an output tells at the proof's m."""
        full = math.log(self.d - 1)
        share = [100 * v / full if full else 0.0 for v in self.entropies.information]
        return full, written(*share)

    # The paper's choices, and its slips.

    @cached_property
    def branches(self):
        """The paper's two choices of k, as bounds on C, and the best k."""
        rows = []
        for g, D in ((self.pure, self.signed), (self.zcdp, self.zcdp.signed_error / 10)):
            for d in SIZES:
                *_, first, last = (b.value for b in point_error_branches(g, d, D).values())
                best = float(point_error_bound("printed", g, d, D))
                values = {"$k = C$": first, "other $k$": last, "best $k$": best}
                row = {"level": g.math, "d": format_number(d)}
                rows.append(row | {k: rounded_down(v) for k, v in values.items()})
        return pd.DataFrame(rows)

    @cached_property
    def slips(self):
        """Both sides of the printed inequality where it fails: pure DP, zCDP."""
        found = []
        for g, noise, d in (
            (PureDP(10.0), DoubleGeometric(10.0), 10_000),
            (ConcentratedDP(50.0), DiscreteGaussian(0.01), 1e12),
        ):
            D = clipped_sum_error(noise, d)
            found.append([float(v) for v in printed_sides(g, d, noise.std, D, 0.01)])
        return found

    @cached_property
    def large(self):
        """Clip at epsilon = 10 and d cells, in the units of part (b): the cell, the sum."""
        noise = DoubleGeometric(10.0)
        return 100 * noise.variance, 100 * clipped_sum_error(noise, self.d) ** 2 / self.d**2

    @cached_property
    def gamma_starts(self):
        """The d from which on some gamma bounds D at a signed answer's C; 0 for none."""
        ds = 10.0 ** np.arange(1, 180)
        best, _ = best_gamma_sum_error(self.rho, ds, self.zcdp.signed_error)
        return float(ds[np.argmax(best > 0)]) if (best > 0).any() else 0.0

    # Theorem 4.

    @cached_property
    def chain(self):
        """The difficult table's full cell up to the proof's bound; its largest standard error."""
        rng, b, sides = np.random.default_rng(self.seed), 2 / self.epsilon, []
        table = difficult_table(self.d, self.epsilon)
        for _ in range(runs_within(self.runs, self.d)):
            z, w = rng.laplace(scale=b, size=self.d), rng.laplace(scale=b)
            level = float(threshold(table + z, max(0.0, table.sum() + w)))
            error = max(0.0, table[0] + z[0] - level) - table[0]
            sides.append([error, z[0] - level, abs(z[0]) + abs(w) + abs(z).max()])
        cell, unclipped, bracket = np.square(sides).T
        sampled = (unclipped - cell, bracket - unclipped, bracket - cell)
        noise = Laplace(b)
        exact = cell_errors(noise, noise, max(self.d, 2), count=table[0]).squared_error
        by_moments, by_lemma = (
            float(equation_bound(noise, f(noise, self.d))) for f in (extremes, lemma1)
        )
        lost = (
            ("clipping at zero", sampled[0].mean()),
            ("the bracket", sampled[1].mean()),
            ("the largest noise", by_moments - exact - sampled[2].mean()),
            ("Lemma 1", by_lemma - by_moments),
        )
        return Slack(exact, lost, "squared records"), max(map(standard_error, sampled))

    @cached_property
    def certain(self):
        """The bracket's bound on C in signed errors at d cells."""
        return float(certified(self.pure, self.d).C) / self.signed

    @cached_property
    def cut(self):
        """Bounds on truncated noise: the paper's, of each answer, of both; delta with the last."""
        paper = paper_bound(self.epsilon, self.delta)
        one, both = (smallest_bound(self.epsilon, self.delta, joint=j) for j in (False, True))
        noise = TruncatedDoubleGeometric(self.epsilon / 2, both)
        return paper, one, both, float(joint_profile(noise, self.epsilon))
