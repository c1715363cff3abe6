"""Fitting to a noisy sum under (epsilon, delta): noise of two rates, redrawn until at most B.

The cells' asymmetric noise z is drawn again until ``z <= B``; the sum's w is not. Where both laws
of neighbouring tables have densities, both are divided by the same chance, so that they differ by
factors within ``e^(+-epsilon)`` as without redrawing. Only a cell's last answers, ``B - 1 < z <=
B``, tell a record, with ``delta = (e^R - 1) eta/(1 - eta)``, ``eta = P(z > B)`` before redrawing.
(For one cell this is the truncated Laplace mechanism of Geng, Ding, Guo and Kumar, 2020.)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import optimize

from ...model.privacy import check_delta, check_epsilon
from ..given import check_error, check_points
from .asymmetric import best_rates
from .worst_table import TwoTails, margin_of_mean, panels

_EDGE, _HUGE, _EXPONENT = 1e-6, 1e100, 700.0  # of a search; of d; its exponential is a double
_CUTS, _BEND, _PANELS = (45.0, 10.0), 3.0, 6  # decays of each tail at which panels end


class Redrawn(NamedTuple):
    """Noise of cells and sum, where the cells' is cut, and the cell error that is certified."""

    cell: TwoTails
    total: TwoTails
    bound: float
    C: float


def redrawn_bound(cell: TwoTails, delta: float) -> float:
    """Return the least B, in counts, at which redrawing the cells' noise costs only ``delta``.

    Examples
    --------
    >>> z = TwoTails(0.25, 0.25)
    >>> eta = 0.5 * math.exp(-z.right * redrawn_bound(z, 1e-6))
    >>> math.isclose(math.expm1(z.right) * eta / (1 - eta), 1e-6, rel_tol=1e-9)
    True
    """
    eta = check_delta(delta) / (math.expm1(min(cell.right, _EXPONENT)) + delta)
    return max(math.log(cell.left / (cell.right + cell.left) / eta) / cell.right, 1.0)


def redrawn_whole_bound(epsilon: float, delta: float) -> int:
    """Return the least B for whole double geometric noise of half the budget, redrawn.

    Examples
    --------
    >>> redrawn_whole_bound(0.5, 1e-6)
    47
    """
    r, slack = math.exp(-check_epsilon(epsilon) / 2), check_delta(delta)
    # (1 - r) r^B <= delta (1 + r - r^(B + 1)), linear in r^B.
    return max(0, math.ceil(math.log(slack * (1 + r) / (1 - r + slack * r)) / math.log(r)))


def redrawn(epsilon: float, delta: float, d: float, sum_error: float) -> Redrawn:
    """Return the redrawn noise that certifies the least cell error beside a sum error, for all d.

    On every table a cell loses at most ``max(B - z_i, w-)`` and gains at most O_i of `worst_table`.
    The cells' right rate is searched.

    Examples
    --------
    >>> round(redrawn(0.5, 1e-6, 1e12, 2 * math.sqrt(8)).C * 0.5, 2)
    21.67
    """
    eps, n = check_epsilon(epsilon), float(check_points(d, 2))
    D = float(check_error(sum_error, "sum error", one=True))
    first = best_rates(eps, min(n, _HUGE), D)
    low = 1 / math.sqrt(D**2 - 1 / eps**2)
    high = math.sqrt(2) / D

    def at(right: float) -> Redrawn:
        total = TwoTails(right, 1 / math.sqrt(D**2 - 1 / right**2))
        cell = TwoTails(eps - total.right, eps - total.left)
        bound = redrawn_bound(cell, delta)
        return Redrawn(cell, total, bound, _cell_error(cell, total, bound, n))

    edge = (high - low) * _EDGE
    found = optimize.minimize_scalar(
        lambda right: at(right).C, bounds=(low + edge, high), method="bounded"
    )
    return min((at(float(found.x)), at(max(float(first.right), low + edge))), key=lambda x: x.C)


def _cell_error(cell: TwoTails, total: TwoTails, B: float, d: float) -> float:
    (R, L), (r, left) = cell, total
    kept = 1 - L / (R + L) * math.exp(-R * B)
    ends = sorted({*(-cut / L for cut in _CUTS), 0.0, min(B, _BEND / R), B / 2, B})
    z, weights = (x[0] for x in panels(np.array([ends]), _PANELS))
    weights = weights * R * L / (R + L) * np.exp(np.where(z > 0, -R * z, L * z)) / kept
    mean = float(weights @ z)
    # The moments of the noise that is cut are at most those of the uncut, about another mean.
    margin, apart = margin_of_mean(
        lambda k: float(weights @ (z - mean) ** k) if k == 2 else cell.cumulant(4) / kept,
        total.cumulant,
        d,
    )
    most = np.maximum(B - z, np.maximum(z - mean, 0) + margin)
    most = np.maximum(most, total.mean)
    # P(w < -t) is exponential from there on.
    tail = r / (r + left) * np.exp(-left * (most - total.mean)) * 2 * (most / left + 1 / left**2)
    return math.sqrt(weights @ (most**2 + tail)) + apart
