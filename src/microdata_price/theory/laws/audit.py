"""Privacy audits: the exact worst privacy loss of each discrete mechanism, against its claim.

Cells are alike and independent, so one is audited with its neighbour. Clipping at zero clips less
of a larger count, so the loss between q and q + 1 grows with q; small and large q are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...model.noise_asymmetric import AsymmetricGeometric
from ...model.noise_discrete import (
    DiscreteGaussian,
    DiscreteNoise,
    DoubleGeometric,
    TruncatedDoubleGeometric,
)
from ...model.privacy import check_delta, check_epsilon, check_rho
from ..upper.asymmetric import best_rates
from ..upper.exact_errors import m_epsilon, m_rho
from ..upper.truncation import joint_profile, paper_bound, profile, smallest_bound
from .outputs import log_clipped_law

Array = NDArray[np.float64]
LogLaw = Callable[[int], Array]

ORDERS = np.concatenate([1 + np.geomspace(1e-3, 1, 13), np.geomspace(2.5, 64, 24)])
"""The Renyi orders at which zCDP is audited."""

_COUNTS = (0, 1, 2, 3, 5, 10, 20, 50)
_FAR, _DEVIATIONS, _TIMES = 100, 12.0, 3  # where nothing is clipped; for Gaussian noise more
_WHOLE = np.arange(-200, 201)
_CLOSE = 300.0  # an exponent whose exponential still is a double


@dataclass(frozen=True)
class Audit:
    """One mechanism in words, what it claims, and the worst over all neighbouring counts.

    The measure is ``epsilon``: the largest privacy loss; ``rho``: the largest Renyi divergence over
    its order; or ``delta``: the least delta at the claimed epsilon. The count q is where it is
    worst, against q + 1 records; ``None`` for large counts.
    """

    mechanism: str
    measure: Literal["epsilon", "rho", "delta"]
    claimed: float
    worst: float
    count: int | None

    @property
    def holds(self) -> bool:
        """True if the worst is within the claim, up to rounding."""
        # Losses are differences of logarithms, which carry an absolute rounding error.
        rounding = 0.0 if self.measure == "delta" else 1e-13
        return self.worst <= self.claimed * (1 + 1e-9) + rounding


def worst_loss(law: LogLaw, counts: tuple[int, ...]) -> tuple[float, int]:
    """Return the largest absolute log ratio between the laws at q and q + 1, and that q."""

    def loss(q: int) -> float:
        one, two = law(q), law(q + 1)
        seen = np.isfinite(one) | np.isfinite(two)
        return float(np.abs(one[seen] - two[seen]).max())

    return max(((loss(q), q) for q in counts), key=lambda found: found[0])


def worst_renyi(law: LogLaw, counts: tuple[int, ...]) -> tuple[float, int]:
    """Return the largest Renyi divergence over its order between q and q + 1, and that q.

    Both directions, at all `ORDERS`: the least rho of zCDP that these orders allow.
    """

    def divergence(one: Array, two: Array) -> float:
        if (np.isneginf(two) & ~np.isneginf(one)).any():
            return math.inf
        seen = ~np.isneginf(one)
        log_p = one[seen]
        excess = (ORDERS[:, None] - 1) * (log_p - two[seen])
        if excess.max() < _CLOSE:
            # Close laws: their divergence is a small difference, which expm1 keeps.
            total = np.log1p((np.exp(log_p) * np.expm1(excess)).sum(axis=1))
        else:
            total = special.logsumexp(log_p + excess, axis=1)
        return float((total / (ORDERS - 1) / ORDERS).max())

    def both(q: int) -> float:
        one, two = law(q), law(q + 1)
        return max(divergence(one, two), divergence(two, one))

    return max(((both(q), q) for q in counts), key=lambda found: found[0])


def audit_clipping(noise: DiscreteNoise, claimed: float, name: str) -> Audit:
    """Audit ``max(0, q + z)``: loss of geometric noise, divergences of discrete Gaussian."""
    zcdp = isinstance(noise, DiscreteGaussian)
    reach = _FAR
    if isinstance(noise, DiscreteGaussian):
        reach += math.ceil(_DEVIATIONS * noise.sigma)

    def law(q: int) -> Array:
        return log_clipped_law(noise, q, _TIMES * reach)

    counts = (*(q for q in _COUNTS if q < reach), reach)
    worst, count = worst_renyi(law, counts) if zcdp else worst_loss(law, counts)
    return Audit(
        name, "rho" if zcdp else "epsilon", claimed, worst, None if count == reach else count
    )


def audit_lifted_noise(rho: float) -> Audit:
    """Audit ``q + max(0, z)``, the paper's printed M_rho: the output q is impossible at q + 1."""
    noise = m_rho(rho)
    values = np.arange(_FAR + math.ceil(_DEVIATIONS * noise.sigma))

    def law(q: int) -> Array:
        lifted = np.where(values > q, noise.log_pmf(np.asarray(values - q, dtype=float)), -np.inf)
        lifted[q] = noise.log_cdf(np.asarray(0.0))
        return lifted

    worst, count = worst_renyi(law, _COUNTS[:1])
    return Audit("M_rho as printed: q + max(0, DGauss)", "rho", check_rho(rho), worst, count)


def audit_asymmetric(cell: AsymmetricGeometric, total: AsymmetricGeometric) -> Audit:
    """Audit a cell and the sum, each with whole-number noise of two rates, for one record more.

    The loss is the sum of two log ratios, at every pair of whole numbers within reach.
    """
    steps = [np.diff(noise.log_density(_WHOLE)) for noise in (cell, total)]
    joint = steps[0][:, None] + steps[1]
    claimed = max(cell.right + total.right, cell.left + total.left)
    name = "cell and sum with asymmetric geometric noise"
    return Audit(name, "epsilon", claimed, float(np.abs(joint).max()), None)


def audits(epsilon: float, rho: float, delta: float) -> tuple[Audit, ...]:
    """Audit every discrete mechanism of Theorem 4, the two misprinted ones, and asymmetric noise.

    Examples
    --------
    >>> [a.holds for a in audits(0.5, 0.125, 1e-6)]
    [True, False, True, False, True, True, True, True, False, True]
    """
    e, r, d = check_epsilon(epsilon), check_rho(rho), check_delta(delta)
    paper, least = paper_bound(e, d), smallest_bound(e, d)
    found = [
        audit_clipping(m_epsilon(e), e, "M_epsilon: max(0, q + DGeo(epsilon))"),
        audit_clipping(DoubleGeometric(1 / e), e, "M_epsilon as printed: DGeo(1/epsilon)"),
        audit_clipping(m_rho(r), r, "M_rho: max(0, q + DGauss(1/(2 rho)))"),
        audit_lifted_noise(r),
    ]
    for B, what in ((paper, "the paper's"), (least, "the smallest")):
        noise = TruncatedDoubleGeometric(e / 2, B)
        one, both = float(profile(noise, e / 2)), float(joint_profile(noise, e))
        name = f"TDGeo(epsilon/2, {B}), {what} B"
        found.append(Audit(f"one answer with {name}", "delta", d / 2, one, None))
        found.append(Audit(f"cell and sum with {name}", "delta", d, both, None))
    if least > 1:
        less = float(profile(TruncatedDoubleGeometric(e / 2, least - 1), e / 2))
        name = f"one answer with TDGeo(epsilon/2, {least - 1}), a smaller B"
        found.append(Audit(name, "delta", d / 2, less, None))
    up, down = (float(rate) for rate in best_rates(e, 1000, math.sqrt(8) / e))
    pair = AsymmetricGeometric(e - up, e - down), AsymmetricGeometric(up, down)
    return (*found, audit_asymmetric(*pair))
