"""Every inequality in the first-moment proofs, on a mechanism whose law is known exactly.

The mechanism adds independent integer noise to every cell and clips at zero. "Empty" is the
all-zero table, "full" the table with m records in one cell and nothing else.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.numbers import check_whole
from ...exceptions import InputError
from ...model.noise_discrete import DiscreteNoise
from ...model.privacy import ApproximateDP, ConcentratedDP, PureDP
from ..laws.divergences import renyi_divergence
from ..laws.outputs import clipped_law
from ..lower.packing_bounds import group_delta
from ..upper.exact_errors import clipped, clipped_sum, worst_clipped_sum
from .steps import Step

Array = NDArray[np.float64]


class Setting(NamedTuple):
    """A mechanism at d cells and a number m of records, with its exact errors."""

    d: int
    m: int
    C: float
    D: float
    empty: float
    """Mean output of an empty cell."""
    full: float
    """Mean output of a cell with m records."""

    @property
    def share(self) -> float:
        """``D/d``: what the sum's error allows an empty cell to have on average."""
        return self.D / self.d


def clipping_setting(noise: DiscreteNoise, d: int, m: int) -> Setting:
    """Return the exact means and errors of the clipping mechanism."""
    check_whole(m, "m")
    bias = clipped(noise, [0, m]).bias
    D = math.sqrt(float(worst_clipped_sum(noise, d).squared_error))
    return Setting(d, m, noise.std, D, float(bias[0]), m + float(bias[1]))


def empty_steps(noise: DiscreteNoise, case: Setting) -> list[Step]:
    """Return what happens on the empty table: a mean is at most a root mean square, one cell's."""
    root = math.sqrt(clipped_sum(noise, [0], cells=[case.d]))
    return [
        Step(r"Jensen: $\sum_i E_0 \tilde x_i \le \sqrt{E_0 \tilde x_*^2}$",
             case.d * case.empty, root),
        Step(r"The promise: $\sqrt{E_0 \tilde x_*^2} \le D$", root, case.D),
        Step(r"Some cell: $\min_i E_0 \tilde x_i \le D/d$", case.empty, case.share),
    ]  # fmt: skip


def pure_moment_steps(guarantee: PureDP, noise: DiscreteNoise, case: Setting) -> list[Step]:
    """Return the proof of ``d (m - C) <= exp(eps m) D``, step by step."""
    grown = math.exp(guarantee.epsilon * case.m)
    return [
        *empty_steps(noise, case),
        Step(r"Group privacy: $E_m \tilde x_i \le e^{\epsilon m} E_0 \tilde x_i$",
             case.full, grown * case.empty),
        Step(r"Accuracy: $m - C \le E_m \tilde x_i$", case.m - case.C, case.full),
        Step(r"All together: $m - C \le e^{\epsilon m} D/d$",
             case.m - case.C, grown * case.share),
    ]  # fmt: skip


def _laws(noise: DiscreteNoise, m: int) -> tuple[Array, Array, Array]:
    """Return outputs far enough up, and their laws at m records and at none."""
    top = m + int(float(noise.upper_quantile(1e-25))) + 2
    return np.arange(top + 1.0), clipped_law(noise, m, 0, top), clipped_law(noise, 0, 0, top)


def approximate_moment_steps(
    guarantee: ApproximateDP, noise: DiscreteNoise, case: Setting
) -> list[Step]:
    """Return the proof of ``m - C <= exp(eps m) D/d + m delta_m``, step by step."""
    m = case.m
    values, full, empty = _laws(noise, m)
    cut = np.minimum(values, m)
    grown = math.exp(guarantee.epsilon * m)
    extra = m * float(group_delta(guarantee, np.array(float(m))))
    at_m, at_0 = float(full @ cut), float(empty @ cut)
    return [
        *empty_steps(noise, case),
        Step(r"Cut at $m$: $E_0 \min(\tilde x_i, m) \le E_0 \tilde x_i$", at_0, case.empty),
        Step(r"Group privacy: $E_m \min(\tilde x_i, m) \le e^{\epsilon m} E_0 \min(\tilde x_i, m) "
             r"+ m\,\delta_m$", at_m, grown * at_0 + extra),
        Step(r"Accuracy: $m - C \le E_m \min(\tilde x_i, m)$", m - case.C, at_m),
        Step(r"All together: $m - C \le e^{\epsilon m} D/d + m\,\delta_m$",
             m - case.C, grown * case.share + extra),
    ]  # fmt: skip


def best_order(guarantee: ConcentratedDP, case: Setting) -> float:
    """Return the Renyi order that the zCDP proof takes: ``sqrt(L/(rho m^2))``, L = ln(d m/D)."""
    L, spread = math.log(case.m / case.share), guarantee.rho * case.m**2
    if not spread < L:
        raise InputError(
            f"ln(d m/D) is {L:g} and rho m^2 is {spread:g}; the first must be the larger: take a "
            "smaller m or more cells"
        )
    return math.sqrt(L / spread)


def usable_records(guarantee: ConcentratedDP, noise: DiscreteNoise, d: int, most: int) -> int:
    """Return the largest m, up to ``most``, at which the zCDP bound says something; 0 if none."""
    for m in range(most, 0, -1):
        case = clipping_setting(noise, d, m)
        if math.log(m / case.share) > guarantee.rho * m**2:
            return m
    return 0


def zcdp_moment_steps(guarantee: ConcentratedDP, noise: DiscreteNoise, case: Setting) -> list[Step]:
    """Return the proof of the zCDP bound, step by step, with ``f = min(x, m)/m``."""
    m, a, rho = case.m, best_order(guarantee, case), guarantee.rho
    values, full, empty = _laws(noise, m)
    f = np.minimum(values, m) / m
    at_m, at_0 = float(full @ f), float(empty @ f)
    raised = float(empty @ f ** (a / (a - 1)))
    divergence = renyi_divergence(full, empty, a)
    rest = 1 - 1 / a
    L = math.log(m / case.share)
    return [
        *empty_steps(noise, case),
        Step(r"Accuracy: $1 - C/m \le E_m f$", 1 - case.C / m, at_m),
        Step(r"Hölder: $E_m f \le (E_0 f^{a/(a-1)})^{1-1/a}\, e^{\frac{a-1}{a} D_a}$",
             at_m, raised**rest * math.exp(rest * divergence)),
        Step(r"$f$ at most 1: $E_0 f^{a/(a-1)} \le E_0 f$", raised, at_0),
        Step(r"The share: $E_0 f \le D/(dm)$", at_0, case.share / m),
        Step(r"Group privacy: $D_a(M_m \Vert M_0) \le a \rho m^2$", divergence, a * rho * m**2),
        Step(r"All together: $1 - C/m \le e^{-(\sqrt L - \sqrt\rho\, m)^2}$",
             1 - case.C / m, math.exp(-((math.sqrt(L) - math.sqrt(rho) * m) ** 2))),
    ]  # fmt: skip
