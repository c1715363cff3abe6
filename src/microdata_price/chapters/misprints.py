"""Misprints and slips of the paper: the numbers that decide and depend on the levels."""

import math
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..base.numbers import format_number, rounded_down
from ..model.benchmark import data_set
from ..model.measurement import noise_for
from ..model.noise import Gaussian
from ..model.privacy import ApproximateDP, ConcentratedDP, PureDP
from ..theory.laws.audit import audits
from ..theory.lower.lower_bounds import BOUNDS, point_error_bound
from ..theory.lower.printed_bounds import printed_sides
from ..theory.upper.exact_errors import m_epsilon, m_rho
from ..theory.upper.extremes import extremes, lemma1
from ..theory.upper.truncation import paper_bound, smallest_bound
from .proofs_of_the_paper import clipped_sum_error
from .published import published_tables

LETTERS = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}


def false_at(guarantee, d, ks):
    """Both sides of the printed inequality on M where it is most false: k, left, right."""
    zcdp = isinstance(guarantee, ConcentratedDP)
    noise = m_rho(guarantee.rho) if zcdp else m_epsilon(guarantee.epsilon)
    errors = noise.std, clipped_sum_error(noise, d)
    left, right = (np.atleast_1d(s) for s in printed_sides(guarantee, d, *errors, ks))
    i = int(np.argmax(right - left))
    return float(np.atleast_1d(ks)[i]), float(left[i]), float(right[i])


def letters(text):
    return re.sub("|".join(LETTERS), lambda m: LETTERS[m[0]], text)


@dataclass
class Findings:
    """Audits of the discrete mechanisms, the printed ones among them, and two bounds."""

    epsilon: float = 0.5
    rho: float = 0.125
    delta: float = 1e-6

    def __post_init__(self):
        self.pure = PureDP(self.epsilon)
        self.audits = audits(self.epsilon, self.rho, self.delta)

    @cached_property
    def printed(self):
        """The loss of item 1 as printed, and the variances of printed and meant noise."""
        printed, meant = (m_epsilon(e).variance for e in (1 / self.epsilon, self.epsilon))
        return {"loss": round(self.audits[1].worst, 9), "variance": printed, "meant": meant}

    @property
    def broken(self):
        return sum(not a.holds for a in self.audits)

    @property
    def drawn(self):
        return [
            (re.sub(r"M_(\w)", r"$M_\1$", letters(a.mechanism)), a.worst / a.claimed, a.holds)
            for a in self.audits
        ]

    @cached_property
    def audit_table(self):
        return pd.DataFrame(
            {
                "mechanism": letters(a.mechanism).replace("_", "\\_"),
                "measure": LETTERS[a.measure],
                "claimed": format_number(a.claimed),
                "exact worst": "∞" if math.isinf(a.worst) else format_number(a.worst, 4),
                "holds": "yes" if a.holds else "no",
            }
            for a in self.audits
        )

    @cached_property
    def square(self):
        """At 10,000 cells: D of M, and the D that the printed form asks for, up to a constant."""
        return clipped_sum_error(m_epsilon(self.epsilon), 10_000), (10_000 / self.epsilon) ** 2

    @cached_property
    def loose(self):
        """The number of records moved, the exact term of group privacy, and the printed one."""
        m = max(1, math.ceil(3 / self.epsilon))
        exact = ApproximateDP(self.epsilon, self.delta).group_delta(m) * math.exp(-m * self.epsilon)
        return m, exact, self.delta / self.epsilon

    @cached_property
    def difficult(self):
        """What two bounds say with no more records than the paper's remark has, rounded up."""
        rows = []
        for d in (1000, 10**6, 10**9):
            m = math.ceil(math.log(d) / self.epsilon)
            row = {"d": format_number(d), "records in the cell": m}
            for b in ("first_moment", "optimised"):
                found = point_error_bound(b, self.pure, d, self.pure.signed_error, max_records=m)
                row[BOUNDS[b].label] = rounded_down(float(found))
            rows.append(row | {"signed answers": self.pure.signed_error})
        return pd.DataFrame(rows)

    @cached_property
    def bounds(self):
        """The printed B of item 5, rounded up, and the smallest that suffices."""
        levels = self.epsilon, self.delta
        return paper_bound(*levels), smallest_bound(*levels)

    # What depends on no level.

    @property
    def false_pure(self):
        return false_at(PureDP(10.0), 10**4, np.array([0.01]))

    @property
    def false_zcdp(self):
        return false_at(ConcentratedDP(50.0), 10**9, np.geomspace(1e-4, 0.45, 400))

    @property
    def shares(self):
        """D^2 epsilon^2 / d^2 of M with a million cells, at epsilon 0.1 and 10."""
        return [(clipped_sum_error(m_epsilon(e), 10**6) * e / 10**6) ** 2 for e in (0.1, 10.0)]

    @property
    def normal(self):
        """The mean of the largest of 1,000 normal noises, and the printed bound."""
        return [float(f(Gaussian(1.0), 1000).mean) for f in (extremes, lemma1)]

    @cached_property
    def table_1(self):
        own = published_tables().query("query_set == 'sum'")
        return own.pivot(index="dataset", columns="method", values="squared_error")

    @property
    def four_to_five(self):
        t = self.table_1
        return [int((t[m] / t["ols"]).between(4, 5).sum()) for m in ("nnls", "maxfit")]

    @property
    def max_ols(self):
        own = published_tables().query("metric == 'max' and method == 'ols'")
        return own["squared_error"].max()

    @property
    def ols(self):
        """OLS's exact squared error of each answer on the real tables."""
        noise = noise_for(data_set("PUMA0101301").workload, PureDP(0.5))[0]
        return noise.variance * 9 / 10 * 24 / 25
