"""The mechanism that reaches the leading constant: counts are frozen where a report is rare.

Fitting to a noisy sum costs ``ln(d)/(sigma eps)``, sigma the cells' share of the upper tail. The
whole budget can serve the cells where a report is so rare that it need not be right about the sum.
In outline (the proof is in the book, and every step of it is computed here):

1. A sliver eta of the budget counts the cells with a record: that sets how rare reports must be.
2. A cell either *reports* a noisy count beyond a threshold, or is silent. Below a count G a report
   is a false alarm of a fixed small chance, or *frozen*: it says what G would have said, at a
   chance that grows by ``e^e`` with each record, the most that privacy allows.
3. The sum is released with asymmetric noise mixed with a little noise of heavy tails, which hides
   that a frozen cell counts as G in it.

The threshold, and with it C, is ``max(1, 1/(2 sigma)) ln(d)/eps`` to leading order. This is a
result about d to infinity: the next terms are of order ``sqrt(ln d)/eps`` and large at every d that
occurs, so that numbers of cells are given by their logarithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...exceptions import InputError
from ...model.noise_asymmetric import AsymmetricLaplace
from ...model.privacy import check_epsilon

Array = NDArray[np.float64]


def cell_share(lam: float) -> float:
    """Return ``sigma = 1 - 1/sqrt(lambda - 1)``, the cells' share of the upper tail.

    With the rest of that tail, and nearly all of the other, the sum has ``D^2 = lambda/eps^2``.
    """
    if not 2 < lam < math.inf:
        raise InputError(f"lambda is {lam!r}; it must be a number above 2")
    return 1 - 1 / math.sqrt(lam - 1)


class Limits(NamedTuple):
    """What is known of ``eps C/ln d`` for d to infinity at a fixed ``eps D = sqrt(lambda)``."""

    lower: float
    """No mechanism has less (first moments)."""
    freezing: float
    """Reached by freezing: the limit itself from lambda = 5 on."""
    asymmetric: float
    """Reached by asymmetric noise alone."""
    split: float
    """Reached by a split budget."""


def leading_limits(lam: float) -> Limits:
    """Return the limits of the lower bound and of three mechanisms.

    Examples
    --------
    >>> found = leading_limits(8.0)
    >>> found.lower == found.freezing == 1.0, round(found.asymmetric, 3)
    (True, 1.608)
    """
    sigma = cell_share(lam)
    return Limits(1.0, max(1.0, 1 / (2 * sigma)), 1 / sigma, 1 / (1 - math.sqrt(2 / lam)))


@dataclass(frozen=True)
class Freezing:
    """The second stage of the mechanism, given how many cells may hold a record.

    Parameters
    ----------
    epsilon
        The level of pure DP of the whole.
    log_d
        ``ln d``; the proof needs it to be large.
    sigma
        The cells' share of the upper tail, between 0 and 1.
    eta
        A small number: the first stage's share of the budget, and the cells' share of the other
        tail.
    log_nu
        The logarithm of the (noisy) number of cells with a record, held between ``eta ln d`` and
        ``ln d``.
    few
        Whether that number was below ``d^eta``, so that there may be none.
    """

    epsilon: float
    log_d: float
    sigma: float
    eta: float
    log_nu: float
    few: bool = False

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not (0 < self.sigma < 1 and 0 < self.eta < min(1 - self.sigma, 0.25)):
            raise InputError(
                f"sigma is {self.sigma!r} and eta {self.eta!r}; sigma must lie between 0 and 1, "
                "eta between 0 and the smaller of 1/4 and 1 - sigma"
            )
        # From here on f's two components are ordered as the proof uses them.
        least = max(16.0, 1 / (1 - self.sigma) ** 2)
        if not self.log_d >= least:
            raise InputError(f"ln d is {self.log_d!r}; the mechanism needs {least:g} or more")
        if not self.eta * self.log_d * (1 - 1e-12) <= self.log_nu <= self.log_d:
            raise InputError(f"ln nu is {self.log_nu!r}; it must lie between eta ln d and ln d")

    @property
    def e(self) -> float:
        """The second stage's budget."""
        return (1 - self.eta) * self.epsilon

    @property
    def T(self) -> float:
        """``ln(d)/e``, the leading term, in counts."""
        return self.log_d / self.e

    @property
    def cell(self) -> AsymmetricLaplace:
        """The noise of a cell that may report."""
        return AsymmetricLaplace(self.sigma * self.e, self.eta * self.e)

    @property
    def main(self) -> AsymmetricLaplace:
        """The sum's noise, but for a little of heavy tails."""
        return AsymmetricLaplace((1 - self.sigma) * self.e, (1 - self.eta) * self.e)

    @property
    def heavy_rate(self) -> float:
        """The rate of the sum's heavy tails, ``e/sqrt(ln d)``."""
        return self.e / math.sqrt(self.log_d)

    def log_noise(self, y: ArrayLike) -> Array:
        """Return the logarithm of the density of the sum's noise, before its mean is taken off."""
        at, share = np.asarray(y, dtype=float), self.log_d**-2
        heavy = math.log(share * self.heavy_rate / 2) - self.heavy_rate * np.abs(at)
        return np.asarray(np.logaddexp(math.log1p(-share) + self.main.log_density(at), heavy))

    @property
    def spread(self) -> float:
        """How much the log density can change over ``2T + 2`` counts: l, of smaller order than L.

        From ``f >= L^-2 (rho/2) e^(-rho |y|)`` and ``f <= e e^(-rho |y|)``.
        """
        reach = 2 * self.T + 2
        return math.log(2) + 2.5 * math.log(self.log_d) + self.heavy_rate * reach

    @cached_property
    def _chances(self) -> tuple[float, float, int]:
        L = self.log_d
        log_p = -self.log_nu - 4 * math.log(L)
        log_phi = -(1 + self.eta) * L if self.few else self.log_nu - L - math.log(L)
        if log_phi > log_p + math.log(-math.expm1(-2 * self.e)):
            return log_phi, log_phi, 0
        needed = log_p - log_phi + self.spread - math.log(-math.expm1(-self.sigma * self.e))
        return log_p, log_phi, math.ceil(needed / self.e)

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
        """The count below which a report is a false alarm or frozen; 0: none are."""
        return self._chances[2]

    @property
    def frozen(self) -> bool:
        """Whether there are frozen counts."""
        return self.G > 0

    @property
    def threshold(self) -> float:
        """The noisy count above which a cell reports: to leading order the price, in counts."""
        cell = self.cell
        log_share = math.log(cell.left) - math.log(cell.left + cell.right)
        return self.G + max((log_share - self.log_p) / cell.right, 0.0)

    def log_silent(self, q: ArrayLike) -> Array:
        """Return the logarithm of the chance that a cell of q records is silent."""
        at = np.asarray(q, dtype=float)
        rise = np.exp(self.log_p - self.e * np.maximum(self.G - at, 0)) * (at > 0)
        below = np.log1p(-np.exp(self.log_phi) - rise)
        gap = at - self.threshold
        cell, both = self.cell, self.cell.left + self.cell.right
        up = np.log1p(-cell.left / both * np.exp(np.minimum(cell.right * gap, 0)))
        down = math.log(cell.right / both) - cell.left * np.maximum(gap, 0)
        return np.asarray(np.where(at < self.G, below, np.where(gap < 0, up, down)))

    def log_report(self, q: int, B: Array) -> Array:
        """Return the log density of a report and B, over that of a frozen report, for q <= G."""
        if q >= self.G:
            return self.log_noise(B - self.G)
        alarm = self.log_phi - self.log_p + self.log_noise(B - q)
        if q == 0:
            return alarm
        return np.logaddexp(alarm, -self.e * (self.G - q) + self.log_noise(B - self.G))

    def largest_loss(self, points: int = 4001) -> float:
        """Return the largest change of a log density from q to q + 1 records, on a grid of sums.

        Reports and silence, every kind of step: out of 0, within the frozen counts, into G, beyond.
        It is e or less if the mechanism is private as proved.
        """
        G = self.G
        counts = {0, 1, 2, G // 2, G - 2, G - 1, G, G + 1, math.floor(self.threshold)}
        reach = 3 * self.T + G
        worst = 0.0
        for q in sorted(c for c in counts if c >= 0):
            bends = np.array([0, 1, q, q + 1, G, G - 1.0])
            B = np.union1d(np.linspace(-reach, reach, points), bends)
            noise = self.log_noise(B - q - 1) - self.log_noise(B - q)
            silent = noise + np.diff(self.log_silent(np.array([q, q + 1])))
            if q < G:
                report = self.log_report(q + 1, B) - self.log_report(q, B)
                worst = max(worst, float(np.abs(report).max()))
            else:
                # The reported count itself moves by the rates of its own two tails.
                worst = max(worst, float((noise + self.cell.right).max()))
                worst = max(worst, float((self.cell.left - noise).max()))
            worst = max(worst, float(np.abs(silent).max()))
        return worst


def threshold_limit(sigma: float, kappa: ArrayLike) -> Array:
    """Return the threshold over ``ln(d)/e`` for d to infinity, with ``d^kappa`` cells in use.

    With frozen counts ``1 - 2 kappa + kappa/sigma``; without, from kappa = 1/2 on, ``(1 -
    kappa)/sigma``. The largest of all is ``max(1, 1/(2 sigma))``.
    """
    k = np.asarray(kappa, dtype=float)
    return np.where(k < 0.5, 1 - 2 * k + k / sigma, (1 - k) / sigma)
