"""What can be reached: clip, keep the sum, cut the tails, with exact errors where there are any."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..base.numbers import Mean, format_number, rounded_down
from ..model.noise import Laplace
from ..model.noise_discrete import DoubleGeometric, TruncatedDoubleGeometric
from ..theory.lower.lower_bounds import BOUNDS, point_error_bound, sum_error_bound
from ..theory.upper.exact_errors import clipped, worst_clipped_sum
from ..theory.upper.extremes import extremes, lemma1
from ..theory.upper.fitted_errors import cell_errors
from ..theory.upper.truncated_sampling import sampled_truncated
from ..theory.upper.truncation import paper_bound, profile, smallest_bound
from ..theory.upper.upper_bounds import item1, item3
from .cases import written
from .levels import Levels

LOWEST = 0.3  # signed errors that are drawn


def seen(values):
    return np.where(values > LOWEST, values, np.nan)


@dataclass
class Findings(Levels):
    """The mechanisms of Theorem 4 at d cells and at many sizes, in records or signed errors."""

    runs: int = 1000
    seed: int = 1

    sizes = np.unique(np.round(np.geomspace(3, 1e6, 10)))
    many = 10.0 ** np.array([1, 3, 5, 6, 7, 8, 9, 12])  # cells, where noise is truncated
    some = np.array([1, 3, 6, 7])  # of these, in the table

    def __post_init__(self):
        super().__post_init__()
        self.noise = DoubleGeometric(self.epsilon)
        self.half = Laplace(2 / self.epsilon)
        # Each of a record's two answers has half of epsilon and of delta.
        self.cut = TruncatedDoubleGeometric(
            self.epsilon / 2, smallest_bound(self.epsilon, self.delta)
        )

    # Clip.

    @cached_property
    def empty(self):
        """Bias and squared error of an empty cell that is clipped."""
        found = clipped(self.noise, 0.0)
        return float(found.bias), float(found.squared_error)

    @cached_property
    def counts(self):
        reach = min(max(6, math.ceil(6 / self.epsilon)), 10**6)
        return np.unique(np.linspace(0, reach, 31).round())

    @cached_property
    def one_cell(self):
        return clipped(self.noise, self.counts)

    def _clip_sum(self, d):
        return np.sqrt(worst_clipped_sum(self.noise, d).squared_error) / self.signed

    # Keep the sum.

    def _keep_cell(self, d):
        """Root error of one huge cell among empty ones, in signed errors."""
        return math.sqrt(cell_errors(self.half, self.half, d).squared_error) / self.signed

    @cached_property
    def here(self):
        """At d cells, in signed errors: clip's sum, keep the sum's cell, the least cell."""
        must = float(point_error_bound("first_moment", self.pure, self.d, self.signed))
        return float(self._clip_sum(self.d)), self._keep_cell(self.d), must / self.signed

    @property
    def item3_here(self):
        return float(item3(self.epsilon, self.d).C) / self.signed

    @cached_property
    def of_sum(self):
        """D in signed errors where the cells are as good as clip's."""
        least = sum_error_bound("first_moment", self.pure, self.sizes, self.noise.std)
        return [
            ("Theorem 4.1", item1(self.epsilon, self.sizes).D / self.signed),
            ("clip, exact", self._clip_sum(self.sizes)),
            ("at least", seen(least / self.signed)),
            ("signed", np.ones(self.sizes.size)),
        ]

    @cached_property
    def of_cell(self):
        """C in signed errors where the sum is as good as a signed answer's."""
        least = point_error_bound("first_moment", self.pure, self.sizes, self.signed)
        return [
            ("Theorem 4.3", item3(self.epsilon, self.sizes).C / self.signed),
            ("keep, exact", np.array([self._keep_cell(d) for d in self.sizes])),
            ("at least", seen(least / self.signed)),
            ("signed", np.ones(self.sizes.size)),
        ]

    @cached_property
    def largest(self):
        """Of a million Laplace noises, in scales: the mean largest size, and Lemma 1's bound."""
        one = Laplace(1.0)
        return [float(f(one, 1e6).mean) for f in (extremes, lemma1)]

    @staticmethod
    def above(answers, level):
        """Levels, and how much of the answers lies above each."""
        grid = np.linspace(min(answers.min(), level) - 1, answers.max() + 1, 300)
        return grid, np.array([np.maximum(answers - g, 0.0).sum() for g in grid])

    # Cut the tails.

    @property
    def cap(self):
        """What a cell's root error never exceeds with truncated noise, in records."""
        return math.sqrt(self.cut.bound**2 + 2 * self.cut.variance)

    @cached_property
    def bounds(self):
        """The paper's B, the smallest, and the exact delta of one answer with it."""
        paper = paper_bound(self.epsilon, self.delta)
        return paper, self.cut.bound, float(profile(self.cut, self.epsilon / 2))

    @cached_property
    def least(self):
        """The best of our bounds on C under approximate DP, in records."""
        ours = [b.name for b in BOUNDS.values() if b.ours]
        found = [point_error_bound(b, self.approximate, self.many, self.signed) for b in ours]
        return np.max(found, axis=0)

    @cached_property
    def simulated(self):
        """Root error of one huge cell among empty ones, with truncated noise."""
        return [
            Mean(*sampled_truncated(self.cut, int(d), runs=self.runs, seed=self.seed))
            for d in self.many
        ]

    @cached_property
    def free(self):
        """The same without truncation, exact."""
        return self.signed * np.array([self._keep_cell(d) for d in self.many])

    @cached_property
    def caps(self):
        return [
            ("not truncated", self.free),
            ("truncated", np.array([m.value for m in self.simulated])),
            ("truncated, at most", np.full(self.many.size, self.cap)),
            ("truncated, at least", self.least),
            ("signed", np.full(self.many.size, self.signed)),
        ]

    @cached_property
    def cut_table(self):
        at, drawn = self.some, [self.simulated[k] for k in self.some]
        return pd.DataFrame(
            {
                "d": [format_number(d) for d in self.many[at]],
                "no mechanism below": [rounded_down(float(v)) for v in self.least[at]],
                "truncated": [written(m.value, m.error) for m in drawn],
                "not truncated": self.free[at],
            }
        )
