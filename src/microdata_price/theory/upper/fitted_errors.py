"""Exact errors of fitting cells to their noisy sum, on three kinds of tables.

One cell of q records among empty ones, all cells empty, all cells large. With S(g) the sum of the
empty cells' noise above g, the cell's error exceeds u exactly when ``S(g) + u - g/weight < z*`` at
``g = z_1 - u``: integrals over g and u of densities of z_1 times the law of S(g) - z*.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...exceptions import InputError
from ...model.noise import Gaussian, Laplace, check_count
from ...theory.given import check_cells
from .exact_errors import clipped, clipped_sum
from .excess_gaussian import GaussianExcess
from .excess_laplace import LaplaceExcess, excess_sum
from .fit_quadrature import ORDER, ends, half_line, tail, thresholds
from .projection import check_weight

Array = NDArray[np.float64]
AnyNoise = Laplace | Gaussian
_NOTHING = 1e-18  # a weight that adds nothing


class CellErrors(NamedTuple):
    """Bias (counts) and expected squared error (squared counts) of one fitted cell."""

    bias: float
    squared_error: float


def cell_errors(
    cell_noise: AnyNoise,
    sum_noise: AnyNoise,
    d: float,
    count: float = math.inf,
    weight: float = math.inf,
    *,
    order: int = ORDER,
) -> CellErrors:
    """Return bias and squared error of the one cell of ``count`` records among d - 1 empty ones.

    ``order`` is that of the quadrature, here and below; its panels fit noises that are alike: where
    the sum's is over six times the cells', digits are lost.
    """
    n, w = _check(cell_noise, sum_noise, d, weight)
    q = float(check_count(count))
    if w == 0:
        bias, square = clipped(cell_noise, q)
        return CellErrors(float(bias), float(square))
    law = excess_sum(cell_noise, sum_noise, n)
    g, g_weights = thresholds(cell_noise, sum_noise, n, w, 1.0, q, order)
    # How far the cell may end above its count: never by more than its noise less g.
    kinks = [np.maximum(-g, 0.0), np.maximum(g / w, 0.0)]
    u, u_weights = half_line(g, kinks, cell_noise, np.full(g.shape, np.inf), order)
    up = u_weights * cell_noise.pdf(g[:, None] + u) * law.below(g, g[:, None] / w - u)
    # And below it, by at most the count. Where g < 0 and its law is Laplace, the part in which S
    # matters is a closed form, of which the tail beyond the count is taken away.
    closed = (g < 0) & isinstance(law, LaplaceExcess)
    start = -g / w
    end = np.where(closed, np.minimum(q, start), q)
    kinks = [np.maximum(g, 0.0), np.maximum(start, 0.0)]
    v, v_weights = half_line(g, kinks, cell_noise, end, order)
    down = v_weights * _down(cell_noise, law, g, v, w)
    bias = up.sum(axis=1) - down.sum(axis=1)
    square = 2 * (u * up).sum(axis=1) + 2 * (v * down).sum(axis=1)
    if isinstance(law, LaplaceExcess):
        low, begin = g[closed], start[closed]
        rate = 1 / law.b
        scale = np.exp((low - begin) * rate) * rate / 2
        mean = scale * law.exceeded(low, np.ones(low.shape), 0.0, rate)
        moment = scale * law.exceeded(low, 2 * begin, 2.0, rate)
        if math.isfinite(q):
            # The law of S bends where s = g/w + v is -g.
            far, weights = tail(np.maximum(begin, q), begin - low, Laplace(law.b))
            weights = weights * cell_noise.pdf(low[:, None] - far)
            # Elsewhere (at s below 0, where the law is simple) it is multiplied by nothing.
            matters = weights > _NOTHING
            s = np.where(matters, far - begin[:, None], -1.0)
            beyond = np.where(matters, weights, 0.0) * (1 - law.below(low, s))
            mean, moment = mean - beyond.sum(axis=1), moment - 2 * (far * beyond).sum(axis=1)
        bias[closed] -= mean
        square[closed] += moment
    return CellErrors(float(g_weights @ bias), float(g_weights @ square))


def vanishing_chance(
    cell_noise: AnyNoise, sum_noise: AnyNoise, d: float, count: float, weight: float = math.inf
) -> float:
    """Probability that the one cell of ``count`` records among d - 1 empty ones is fitted to 0.

    It is that of ``S(g) - z* >= count + g/weight`` at the threshold ``g = count + z_1`` at which
    the cell just reaches 0.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> round(vanishing_chance(Laplace(4.0), Laplace(4.0), 1000, 14), 4)
    0.8511
    """
    n, w = _check(cell_noise, sum_noise, d, weight)
    law = excess_sum(cell_noise, sum_noise, n)
    g, weights = thresholds(cell_noise, sum_noise, n, w, 1.0, q := float(check_count(count)))
    below = law.below(g, (g / w + q)[:, None])[:, 0]
    return float(weights @ (cell_noise.pdf(g - q) * (1 - below)))


def _down(
    noise: AnyNoise, law: LaplaceExcess | GaussianExcess, g: Array, v: Array, w: float
) -> Array:
    """Return the density of ending v below the count, at threshold g."""
    return noise.pdf(g[:, None] - v) * (1 - law.below(g, g[:, None] / w + v))


def _check(cell: AnyNoise, other: AnyNoise, d: float, weight: float) -> tuple[float, float]:
    points = check_cells(d)
    if type(cell) is not type(other):
        needed = "both must be Laplace or both Gaussian"
        raise InputError(f"the noises are {cell!r} and {other!r}; {needed}")
    return points - 1, check_weight(weight)


def large_table_errors(
    cell_noise: AnyNoise, sum_noise: AnyNoise, d: float, weight: float
) -> tuple[float, float]:
    """Return the squared errors of every cell and of the sum where all counts are large.

    Nothing is clipped: with ``c = weight/(1 + d weight)`` a cell errs by ``z_i - c (sum z - z*)``
    and the sum by ``(1 - d c) sum z + d c z*``.
    """
    n, w = _check(cell_noise, sum_noise, d, weight)
    m = n + 1
    c = 1 / (1 / w + m) if w > 0 else 0.0
    one, star = cell_noise.variance, sum_noise.variance
    cell = one * ((1 - c) ** 2 + n * c**2) + star * c**2
    return cell, m * one * (1 - m * c) ** 2 + star * (m * c) ** 2


def lone_cell_sum_error(
    cell_noise: AnyNoise, sum_noise: AnyNoise, d: float, weight: float, *, order: int = ORDER
) -> float:
    """Return the sum's squared error where one cell is large and all others are empty.

    The fitted sum errs by more than v exactly when ``S(g) + z_1 > v + g`` at ``g = weight (v -
    z*)``.
    """
    n, w = _check(cell_noise, sum_noise, d, weight)
    if math.isinf(w):
        return sum_noise.variance
    if w == 0:
        return clipped_sum(cell_noise, [math.inf, 0.0], [1, n])
    law = excess_sum(cell_noise, cell_noise, n)
    return _sum_error(cell_noise, sum_noise, n, w, law, order)


def _sum_error(
    cell: AnyNoise,
    other: AnyNoise,
    n: float,
    w: float,
    law: LaplaceExcess | GaussianExcess,
    order: int,
) -> float:
    g, g_weights = thresholds(cell, other, n, w, 1.0, order=order)
    total = np.zeros(g.shape)
    closed = (g < 0) & isinstance(law, LaplaceExcess)
    for sign in (1.0, -1.0):
        # z* = v - g/w has its peak, and for Laplace noise its kink, at v = g/w; and s = v + g.
        kinks = [np.maximum(sign * g / w, 0.0), np.maximum(-sign * g, 0.0)]
        end = np.where(closed & (sign > 0), -g, np.inf)
        v, weights = half_line(g, kinks, other, end, order)
        chance = law.below(g, sign * v + g[:, None])
        chance = 1 - chance if sign > 0 else chance
        density = other.pdf(sign * v - g[:, None] / w)
        total += (2 * v * density * chance * weights).sum(axis=1)
    if isinstance(law, LaplaceExcess) and isinstance(other, Laplace):
        low, rate = g[closed], 1 / other.scale
        scale = np.exp(low * rate * (1 + 1 / w)) * rate / 2
        total[closed] += scale * law.exceeded(low, -2 * low, 2.0, rate)
    # Beyond its ends the threshold decides nothing, and z* alone does.
    low_end, high_end = ends(cell, other, n)
    beyond = other.excess(-low_end / w).second + other.excess(high_end / w).second
    return float(g_weights @ total) / w + float(beyond)


def empty_table_sum_error(
    cell_noise: AnyNoise, sum_noise: AnyNoise, d: float, weight: float, *, order: int = ORDER
) -> float:
    """Return the sum's squared error on the all-zero table.

    The fitted sum exceeds v exactly when ``S(g) > v`` at ``g = weight (v - z*)``, S over all d
    cells.
    """
    n, w = _check(cell_noise, sum_noise, d, weight)
    m = n + 1
    if math.isinf(w):
        return sum_noise.variance / 2
    if w == 0:
        return clipped_sum(cell_noise, [0.0], [m])
    law = excess_sum(cell_noise, sum_noise, m)
    g, g_weights = thresholds(cell_noise, sum_noise, m, w, 0.0, order=order)
    beyond = float(sum_noise.excess(-ends(cell_noise, sum_noise, m)[0] / w).second)
    if isinstance(law, GaussianExcess):
        # Integrated over v by parts: S is smoothed by z*, and the part below 0 is subtracted.
        c = (g / w)[:, None]
        inner = 2 * c * (1 - law.below(g, c)) - 2 * sum_noise.variance * law.density(g, c)
        inner = inner + 2 * np.asarray(sum_noise.excess(np.abs(c)).first)
        inner -= 2 * np.minimum(c, 0)
        return float(g_weights @ inner[:, 0]) / w + beyond
    total = np.zeros(g.shape)
    up, rate = g >= 0, 1 / law.b_other
    end = np.full(int(up.sum()), np.inf)
    v, weights = half_line(g[up], [g[up] / w], sum_noise, end, order)
    density = sum_noise.pdf(v - g[up][:, None] / w)
    total[up] = (2 * v * density * law.survival(g[up], v) * weights).sum(axis=1)
    # Below 0 the density of z* is one exponential, whose integral up to S is a closed form.
    m0, m1, _ = law.moments(g[~up], np.asarray(rate))
    total[~up] = np.exp(g[~up] * rate / w) * (1 - m0 - rate * m1) / rate
    return float(g_weights @ total) / w + beyond
