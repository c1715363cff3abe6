"""Privacy and two errors: two output laws, signed answers, and errors averaged over cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..base.numbers import runs_within
from ..model.noise import Laplace
from ..theory.laws.outputs import output_pair
from ..theory.laws.signed import sampled_signed
from ..theory.upper.fitted_errors import cell_errors
from .levels import Levels


@dataclass
class Findings(Levels):
    """One noisy count, signed answers at several sizes, and the mean error over cells."""

    ds: Sequence[int] = (10, 100, 1000)
    count: float = 10
    runs: int = 1000
    seed: int = 1

    def __post_init__(self):
        super().__post_init__()
        self.exact = self.pure.signed_error**2, self.zcdp.signed_error**2
        self.noise = Laplace(2 / self.epsilon)

    @cached_property
    def laplace(self):
        return output_pair(self.pure, self.count)

    @cached_property
    def gaussian(self):
        return output_pair(self.zcdp, self.count)

    @property
    def reach(self):
        """The largest loss of Gaussian noise within the picture."""
        return float(np.abs(self.gaussian.loss).max())

    @cached_property
    def sampled(self):
        """Errors of signed answers at each size: under pure DP, under zCDP."""
        rng = np.random.default_rng(self.seed)
        found = [], []
        for d in self.ds:
            table = np.zeros(d)
            table[0] = 100
            for rows, level in zip(found, (self.pure, self.zcdp), strict=True):
                times = max(2, runs_within(self.runs, d, most=4_000_000))
                rows.append(sampled_signed(table, level, times, rng))
        return found

    # Keep the sum: the worst cell, and the mean over cells.

    sizes = np.unique(np.round(np.geomspace(3, 1e6, 25)))

    @cached_property
    def worst_cell(self):
        """Root error of one huge cell among empty ones, at each size."""
        squares = [cell_errors(self.noise, self.noise, d).squared_error for d in self.sizes]
        return np.sqrt(squares)

    @cached_property
    def over_cells(self):
        """What the root of the mean squared error over cells never exceeds, at each size."""
        return self.signed * (1 + np.sqrt(2 / self.sizes) + 1 / (np.sqrt(2) * self.sizes))

    @cached_property
    def curves(self):
        flat = np.full(self.sizes.size, self.signed)
        return [
            ("worst cell", self.worst_cell),
            ("mean over cells, at most", self.over_cells),
            ("signed answer", flat),
        ]

    @property
    def last(self):
        """In signed errors, at the largest size: the worst cell, the mean over cells."""
        return self.worst_cell[-1] / self.signed, self.over_cells[-1] / self.signed
