"""Nodes and weights for integrals over the threshold g and over a cell's or the sum's error."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ...model.noise import Gaussian, Laplace

Array = NDArray[np.float64]
AnyNoise = Laplace | Gaussian

ORDER = 8
"""Nodes in a panel of a quadrature; errors are good to 1e-9, 1e-5 with 4, if noises are alike."""
_STEPS = {
    Laplace: np.array([0.7, 1.8, 3.5, 6.0, 10.0, 16.0, 26.0, 45.0]),
    Gaussian: np.array([0.9, 1.8, 2.8, 3.9, 5.2, 6.9, 9.5]),
}
"""Where the panels of a quadrature end, in scales of the noise, and how far it matters."""
_AHEAD, _CLOSE = 60.0, 1e-12  # how far its centre may lie beyond, and how close it is


def ends(cell: AnyNoise, other: AnyNoise, n: float) -> tuple[float, float]:
    """Return between what the threshold lies, but for chances that are below rounding.

    Below, all noise exceeds it; above, none does, whatever one cell and the sum do.
    """
    far, scale = float(_STEPS[type(cell)][-1]), unit(cell)
    log = math.log(max(n, 1.0))
    middle = scale * (log if isinstance(cell, Laplace) else math.sqrt(2 * log))
    return -far * scale, middle + far * (scale + unit(other))


def unit(noise: AnyNoise) -> float:
    """Return the scale of Laplace noise, or the standard deviation of Gaussian, in counts."""
    return noise.scale if isinstance(noise, Laplace) else noise.std


def _panels(edges: Array, order: int) -> tuple[Array, Array]:
    """Return nodes and weights between sorted edges; edges (..., n), nodes (..., order (n - 1))."""
    places, shares = np.polynomial.legendre.leggauss(order)
    left, width = edges[..., :-1], np.diff(edges, axis=-1)
    nodes = left[..., None] + width[..., None] * (places + 1) / 2
    weights = width[..., None] * shares / 2
    return nodes.reshape(*edges.shape[:-1], -1), weights.reshape(*edges.shape[:-1], -1)


def half_line(
    g: Array, kinks: list[Array], noise: AnyNoise, end: Array, order: int = ORDER
) -> tuple[Array, Array]:
    """Return nodes and weights on (0, end) for every g, fine at and around the kinks."""
    steps = _STEPS[type(noise)] * unit(noise)
    around = [np.zeros((g.size, 1)), np.broadcast_to(steps, (g.size, steps.size))]
    for kink in kinks:
        around += [kink[:, None], kink[:, None] + steps, kink[:, None] - steps]
    edges = np.sort(np.clip(np.concatenate(around, axis=1), 0.0, end[:, None]), axis=1)
    return _panels(edges, order)


def tail(start: Array, kink: Array, noise: Laplace) -> tuple[Array, Array]:
    """Return nodes and weights from each start on, for Laplace tails with one kink."""
    steps = start[:, None] + np.concatenate([[0.0], _STEPS[Laplace]]) * noise.scale
    bend = np.clip(kink[:, None], steps[:, :1], steps[:, -1:])
    return _panels(np.sort(np.concatenate([steps, bend], axis=1), axis=1), ORDER)


def thresholds(
    cell: AnyNoise,
    other: AnyNoise,
    n: float,
    weight: float,
    pull: float,
    count: float = math.inf,
    order: int = ORDER,
) -> tuple[Array, Array]:
    """Return nodes for the threshold g, fine where it mostly lies.

    Up to noise it solves ``(pull + 1/weight) g = E S(g)``.
    """
    scale, steps = unit(cell), _STEPS[type(cell)]
    low, high = ends(cell, other, n)
    total = scale + unit(other)
    middle = high - steps[-1] * total
    slope = pull + 1 / weight

    def miss(g: float) -> float:
        return slope * g - n * float(cell.excess(g).first)

    centre = float(optimize.brentq(miss, 0.0, middle + _AHEAD * scale, xtol=_CLOSE * scale))
    first, second = (float(x) for x in cell.excess(centre))
    chance = math.exp(float(cell.log_cdf(-centre)))
    spread = n * (second - first**2) + other.variance + pull * cell.variance
    width = math.sqrt(spread) / (slope + n * chance)
    # A cell of a given count can fall no further: there the integrand has corners.
    corners = [c for c in (count, -weight * count) if math.isfinite(c)]
    sides = np.concatenate([-steps, [0.0], steps])
    places = [(0.0, scale), (0.0, total / slope), (middle, total), (centre, width)]
    places += [(corner, scale) for corner in corners]
    edges = np.concatenate([at + sides * size for at, size in places])
    return _panels(np.unique(np.clip(edges, low, high)), order)
