"""The difficult table: its noisy answers, and what two ways to microdata make of them."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..base.numbers import Mean, format_number, runs_within
from ..fitting import fit
from ..model.measurement import measure, noise_for
from ..model.privacy import PureDP
from ..model.workload import Workload
from ..theory.difficult import difficult_table
from ..theory.lower.lower_bounds import point_error_bound
from ..theory.upper.exact_errors import clipped, clipped_sum
from ..theory.upper.fitted_errors import cell_errors, vanishing_chance
from ..theory.upper.operating_points import clipping, fitted, weighted
from ..theory.upper.projection import threshold
from .cases import root_mean

AT_ONCE = 4_000_000  # cells of all runs that are held at a time


class Answers(NamedTuple):
    """The answers of one way, run after run, to the full cell and to the sum, in records."""

    label: str
    method: str  # the method whose colour it has
    cell: np.ndarray
    total: np.ndarray


@dataclass
class Findings:
    """Runs on the difficult table, its full cell ``times`` as full, and the marks of the plane."""

    epsilon: float = 0.5
    d: int = 1000
    runs: int = 2000
    seed: int = 1
    times: float = 1.0

    def __post_init__(self):
        self.runs = runs_within(self.runs, self.d)
        self.table = self.times * difficult_table(self.d, self.epsilon)
        self.q = float(self.table.max())
        self.guarantee, self.workload = PureDP(self.epsilon), Workload.table(self.d)
        self.noise = noise_for(self.workload, self.guarantee)[0]
        self.signed_error = self.noise.std

    @cached_property
    def simulated(self):
        """Rows of numbers, one a run, in portions so that memory does not grow with the runs."""
        rng = np.random.default_rng(self.seed)
        portion = max(1, AT_ONCE // self.d)
        parts, worst = [], 0.0
        for first in range(0, self.runs, portion):
            count = min(portion, self.runs - first)
            answers = measure(self.table, self.workload, self.guarantee, runs=count, rng=rng)
            sums, cells = (np.asarray(a) for a in answers.answers)
            columns = [cells[:, 0], sums[:, 0]]
            for method in ("nnls", "sequential"):
                found = fit(answers, method)
                worst = max(worst, found.certificate.worst)
                total, fitted_cells = found.answers()
                columns += [fitted_cells[:, 0], total[:, 0]]
            columns.append(threshold(cells, np.maximum(sums[:, 0], 0)))
            parts.append(np.stack(columns))
        return *np.concatenate(parts, axis=1), worst

    @cached_property
    def ways(self):
        cell, total, nnls, nnls_total, kept, kept_total, _, _ = self.simulated
        return (
            Answers("signed", "ols", cell, total),
            Answers("NNLS", "nnls", nnls, nnls_total),
            Answers("keep the sum", "sequential", kept, kept_total),
        )

    @property
    def worst_certificate(self):
        return self.simulated[-1]

    @property
    def level(self):
        """Mean of what keeping the sum takes off every cell."""
        return Mean.of(self.simulated[6])

    @property
    def negative(self):
        """Percentage of the noisy cells below 0, on average and exactly."""
        return 100 * float(np.exp(self.noise.log_cdf(-self.table)).mean())

    @property
    def emptied(self):
        """Percentage of releases in which keeping the sum empties the full cell, exactly."""
        return 100 * vanishing_chance(self.noise, self.noise, self.d, self.q)

    @property
    def kept_mean(self):
        return self.q + cell_errors(self.noise, self.noise, self.d, self.q).bias

    @property
    def nnls_total(self):
        return Mean.of(self.ways[1].total)

    @property
    def nnls_empty(self):
        return 100 * vanishing_chance(self.noise, self.noise, self.d, self.q, 1.0)

    @cached_property
    def prices_paid(self):
        """By way and query: root error in signed errors, of the runs and exactly (or None)."""
        unit, noises = self.signed_error, (self.noise, self.noise)
        exact = {("signed", "cell"): unit**2, ("signed", "total"): unit**2,
                 ("keep the sum", "total"): clipped(self.noise, self.q).squared_error}  # fmt: skip
        for way, weight in (("NNLS", 1.0), ("keep the sum", math.inf)):
            exact[way, "cell"] = cell_errors(*noises, self.d, self.q, weight).squared_error
        found = {}
        for way, query in product(self.ways, ("cell", "total")):
            simulated = root_mean((getattr(way, query) - self.q) ** 2).times(1 / unit)
            known = exact.get((way.label, query))
            found[way.label, query] = simulated, known and math.sqrt(known) / unit
        return found

    @property
    def errors(self):
        rows, names = [], {"cell": "the full cell", "total": "the sum"}
        for (way, query), (simulated, known) in self.prices_paid.items():
            root = simulated.times(self.signed_error)
            own = {"answers": way, "query": names[query], "root error": str(root)}
            exactly = known and format_number(known * self.signed_error, se=root.error)
            own["exactly"] = exactly and exactly.partition(" ")[0]
            rows.append(own | {"price": format_number(known) if known else str(simulated)})
        return pd.DataFrame(rows)

    def pays(self, way):
        """Say where the price of a way is above 1 as it is written, or by two standard errors."""
        names = {(False, False): "in neither", (True, False): "in the cell alone",
                 (False, True): "in the sum alone", (True, True): "in both"}  # fmt: skip
        prices = (self.prices_paid[way, query] for query in ("cell", "total"))
        # An exact price has three digits in the table, where 1.003 reads 1.00.
        least = (round(known, 2) if known else s.value - 2 * s.error for s, known in prices)
        return names[tuple(price > 1 for price in least)]

    @property
    def clip_root(self):
        """Root error of the sum of this table's clipped cells."""
        return math.sqrt(clipped_sum(self.noise, [self.q, 0.0], [1, self.d - 1]))

    def bound(self, d, D=1.0):
        """Return the least C for a given D by first moments, both in signed errors."""
        unit = self.signed_error
        return point_error_bound("first_moment", self.guarantee, d, unit * np.asarray(D)) / unit

    @property
    def prices(self):
        """The least price at d and at a million cells, where the sum is as good as signed."""
        return [(d, float(self.bound(d))) for d in (self.d, 10**6)]

    @cached_property
    def marks(self):
        """Name, D and C in signed errors; of NNLS on the worst table known."""
        unit, given = self.signed_error, (self.guarantee, self.d)
        known = (
            ("signed answers", None),
            ("clip", clipping(*given)),
            ("NNLS", weighted(*given, [1.0])),
            ("keep the sum", fitted(*given)[0]),
        )
        return [
            (name, *(float(e[0]) / unit for e in (place.D, place.C))) if place else (name, 1.0, 1.0)
            for name, place in known
        ]

    @cached_property
    def edge(self):
        """Errors D from below to above those of all marks, and the least C at each."""
        seen = [D for _, D, _ in self.marks]
        D = np.geomspace(0.3 * min(seen), 3 * max(10.0, *seen), 300)
        return D, self.bound(self.d, D)
