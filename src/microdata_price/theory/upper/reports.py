"""Mechanism that reaches the leading constant under pure DP, given its public coin.

A cell *reports* a noisy count beyond a threshold, or is silent. Below a count G a report is a false
alarm of a fixed small chance, or a *frozen alarm*: it says what G would have said, at a chance that
grows by ``e^tau`` with each record. The sum's noise has two rates, and a little of heavy tails that
hides that a frozen cell counts as G. The coin s: the cells get ``1/(2s)`` of the upper tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...exceptions import InputError
from ...model.noise_asymmetric import AsymmetricGeometric, AsymmetricLaplace
from ...model.privacy import check_epsilon

Array = NDArray[np.float64]
_REACH, _NEARLY = 3.0, 1 - 1e-12  # of T, audited; what rounding may take off


@dataclass(frozen=True)
class Reports:
    """Second stage of the mechanism, given the coin and how many cells may hold a record.

    Parameters
    ----------
    epsilon
        The level of pure DP of the whole.
    log_d
        ``ln d``; the proof needs it to be large.
    s
        The coin, 1 or more.
    eta
        Below 1/16: the first stage's share of the budget, and the cells' of the lower tail.
    log_nu
        Logarithm of the number of cells with a record, between ``eta ln d`` and ``ln d``.
    few
        True if that number was below ``d^eta``.
    """

    epsilon: float
    log_d: float
    s: float
    eta: float
    log_nu: float
    few: bool = False

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not (1 <= self.s < math.inf and 0 < self.eta < 1 / 16):
            raise InputError(
                f"s is {self.s!r} and eta {self.eta!r}; s must be 1 or more, eta between 0 and 1/16"
            )
        if not self.eta * self.log_d * _NEARLY <= self.log_nu <= self.log_d:
            raise InputError(f"ln nu is {self.log_nu!r}; it must lie between eta ln d and ln d")
        least = min(self.sigma, self.eta) * self.tau
        enough = self.log_d > 16 and self.log_p <= min(
            math.log(least / 4), math.log(self.eta / (self.sigma + self.eta))
        )
        if not (enough and (self.G == 0 or 2 <= self.G <= 2 * self.T + 2)):
            raise InputError(f"ln d is {self.log_d!r}; the proof needs it to be larger")

    @property
    def sigma(self) -> float:
        """The cells' share of the upper tail."""
        return 1 / (2 * self.s)

    @property
    def tau(self) -> float:
        """The second stage's budget."""
        return (1 - self.eta) * self.epsilon

    @property
    def T(self) -> float:
        """``ln(d)/tau``, the leading term, in counts."""
        return self.log_d / self.tau

    @property
    def cell(self) -> AsymmetricLaplace:
        """The noise of a cell that may report."""
        return AsymmetricLaplace(self.sigma * self.tau, self.eta * self.tau)

    @property
    def main(self) -> AsymmetricGeometric:
        """The sum's noise, but for a little of heavy tails."""
        return AsymmetricGeometric((1 - self.sigma) * self.tau, (1 - self.eta) * self.tau)

    @property
    def heavy(self) -> AsymmetricGeometric:
        """The sum's noise of heavy tails, of weight ``1/ln(d)^2``."""
        rate = self.tau / math.sqrt(self.log_d)
        return AsymmetricGeometric(rate, rate)

    def log_noise(self, k: ArrayLike) -> Array:
        """Logarithm of the probability of the sum's noise, before its mean is taken off."""
        share = self.log_d**-2
        main, heavy = self.main.log_density(k), self.heavy.log_density(k)
        return np.asarray(np.logaddexp(math.log1p(-share) + main, math.log(share) + heavy))

    @property
    def variance(self) -> float:
        """The variance of the sum's noise, a mixture of two laws."""
        share, main = self.log_d**-2, self.main
        second = (1 - share) * (main.variance + main.mean**2) + share * self.heavy.variance
        return second - ((1 - share) * main.mean) ** 2

    @property
    def spread(self) -> float:
        """Largest change of that logarithm over ``2T + 2`` counts: ell, of smaller order than L."""
        heavy = self.heavy
        return 2 * math.log(self.log_d) - heavy.log_height + heavy.right * (2 * self.T + 2)

    @cached_property
    def _chances(self) -> tuple[float, float, int]:
        L, tau = self.log_d, self.tau
        log_p = -self.log_nu - 4 * math.log(L)
        log_phi = -(1 + self.eta) * L if self.few else self.log_nu - L - 3 * math.log(L)
        if log_phi > log_p + math.log(-math.expm1(-2 * tau)):
            return log_phi, log_phi, 0
        needed = log_p - log_phi + self.spread - math.log(-math.expm1(-self.sigma * tau))
        return log_p, log_phi, math.ceil(needed / tau)

    @property
    def log_p(self) -> float:
        """The logarithm of the chance that a cell of G records reports."""
        return self._chances[0]

    @property
    def log_phi(self) -> float:
        """The logarithm of the chance that an empty cell reports."""
        return self._chances[1]

    @property
    def G(self) -> int:
        """The count below which a report is a false or frozen alarm; 0: there are none."""
        return self._chances[2]

    @property
    def threshold(self) -> float:
        """The noisy count above which a cell reports: to leading order the price, in counts."""
        cell = self.cell
        log_share = math.log(cell.left) - math.log(cell.left + cell.right)
        return self.G + (log_share - self.log_p) / cell.right

    def log_silent(self, q: ArrayLike) -> Array:
        """Logarithm of the chance that a cell of q records is silent."""
        at = np.asarray(q, dtype=float)
        rise = np.exp(self.log_p - self.tau * np.maximum(self.G - at, 0)) * (at > 0)
        below = np.log1p(-np.exp(self.log_phi) - rise)
        gap = at - self.threshold
        cell, both = self.cell, self.cell.left + self.cell.right
        up = np.log1p(-cell.left / both * np.exp(np.minimum(cell.right * gap, 0)))
        down = math.log(cell.right / both) - cell.left * np.maximum(gap, 0)
        return np.asarray(np.where(at < self.G, below, np.where(gap < 0, up, down)))

    def log_report(self, q: int, B: Array) -> Array:
        """Log density of a report and B, over the chance p and the report's law, for q <= G."""
        if q >= self.G:
            return self.log_noise(B - self.G)
        alarm = self.log_phi - self.log_p + self.log_noise(B - q)
        if q == 0:
            return alarm
        return np.logaddexp(alarm, -self.tau * (self.G - q) + self.log_noise(B - self.G))

    def largest_loss(self, points: int = 4001) -> float:
        """Largest change of a log density from q to q + 1 records, over whole sums; at most `tau`.

        Reports and silence, every kind of step: out of 0, below G, into G, beyond.
        """
        G = self.G
        counts = {0, G - 2, G - 1, G, math.floor(self.threshold)}
        reach = _REACH * self.T + G
        worst = 0.0
        for q in sorted(c for c in counts if c >= 0):
            B = np.union1d(np.rint(np.linspace(-reach, reach, points)), [q, q + 1, G])
            noise = self.log_noise(B - q - 1) - self.log_noise(B - q)
            losses = [noise + np.diff(self.log_silent(np.array([q, q + 1])))]
            if q < G:
                losses.append(self.log_report(q + 1, B) - self.log_report(q, B))
            else:
                # The reported count itself moves by the rates of its own two tails.
                losses += [noise + self.cell.right, noise - self.cell.left]
            worst = max(worst, *(float(np.abs(x).max()) for x in losses))
        return worst
