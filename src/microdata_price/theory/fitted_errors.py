"""Exact errors of fitting cells to their noisy sum, on the tables that are worst for it (ours).

The fit is `project`: ``x_i = (a_i - gamma)+``, with gamma the weight of the sum times how far the
fitted sum exceeds the noisy one. At infinite weight that is the paper's M'_epsilon and M'_rho.
Three kinds of tables: one cell of q records among empty ones, all cells empty, all cells large.

With S(g) the sum of the empty cells' noise above g, the cell's error exceeds u exactly when ``S(g)
+ u - g/weight < z*`` at ``g = z_1 - u``. So its moments are integrals over g and u of densities of
z_1 times the law of S(g) - z*, which `excess_sums` knows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ..exceptions import InputError
from ..noise import Gaussian, Laplace
from .excess_gaussian import GaussianExcess
from .excess_laplace import LaplaceExcess
from .excess_sums import excess_sum
from .extremes import check_points
from .projection import check_weight

Array = NDArray[np.float64]
AnyNoise = Laplace | Gaussian

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_STEPS = {
    Laplace: np.array([0.7, 1.8, 3.5, 6.0, 10.0, 16.0, 26.0, 45.0]),
    Gaussian: np.array([1.0, 2.2, 3.7, 6.0, 9.5]),
}
_BELL = np.array([0.0, 1.2, 2.4, 3.6, 5.0, 7.0])
"""Where the panels of a quadrature end, in scales of the noise, and how far it matters."""


class CellErrors(NamedTuple):
    """Bias (counts) and expected squared error (squared counts) of one fitted cell.

    Examples
    --------
    >>> CellErrors(0.0, 2.0).squared_error
    2.0
    """

    bias: float
    squared_error: float


def _density(noise: AnyNoise, x: Array) -> Array:
    if isinstance(noise, Laplace):
        return np.exp(-np.abs(x) / noise.scale) / (2 * noise.scale)
    return np.exp(-((x / noise.std) ** 2) / 2) / (math.sqrt(2 * math.pi) * noise.std)


def _unit(noise: AnyNoise) -> float:
    return noise.scale if isinstance(noise, Laplace) else noise.std


def _panels(edges: Array) -> tuple[Array, Array]:
    """Return nodes and weights between sorted edges; edges (..., n), nodes (..., 8 (n - 1))."""
    left, width = edges[..., :-1], np.diff(edges, axis=-1)
    nodes = left[..., None] + width[..., None] * (_NODES + 1) / 2
    weights = width[..., None] * _WEIGHTS / 2
    return nodes.reshape(*edges.shape[:-1], -1), weights.reshape(*edges.shape[:-1], -1)


def _half_line(g: Array, kinks: list[Array], noise: AnyNoise, end: Array) -> tuple[Array, Array]:
    """Return nodes on (0, end) for every g, with panel ends at the kinks and around them."""
    steps = _STEPS[type(noise)] * _unit(noise)
    around = [np.zeros((g.size, 1)), np.broadcast_to(steps, (g.size, steps.size))]
    for kink in kinks:
        around += [kink[:, None], kink[:, None] + steps, kink[:, None] - steps]
    edges = np.sort(np.clip(np.concatenate(around, axis=1), 0.0, end[:, None]), axis=1)
    return _panels(edges)


def _thresholds(
    cell: AnyNoise, other: AnyNoise, n: float, weight: float, pull: float, count: float = math.inf
) -> tuple[Array, Array]:
    """Return nodes for the threshold g, fine where it mostly lies.

    Up to noise it solves ``(pull + 1/weight) g = E S(g)``: pull is 1 where a large cell takes part.
    """
    scale, steps = _unit(cell), _STEPS[type(cell)]
    log = math.log(max(n, 1.0))
    middle = scale * (log if isinstance(cell, Laplace) else math.sqrt(2 * log))
    slope = pull + 1 / weight

    def miss(g: float) -> float:
        return slope * g - n * float(cell.excess(g).first)

    centre = float(optimize.brentq(miss, 0.0, middle + 60 * scale, xtol=1e-12 * scale))
    first, second = (float(x) for x in cell.excess(centre))
    chance = math.exp(float(cell.log_cdf(-centre)))
    spread = n * (second - first**2) + other.variance + pull * cell.variance
    width = math.sqrt(spread) / (slope + n * chance)
    reach = 45 * max(scale, _unit(other) / slope)
    # A cell of a given count can fall no further: there the integrand has corners.
    corners = [c for c in (count, -weight * count) if math.isfinite(c)]
    # Many noises add up to a bell, few keep their own tails.
    both = np.union1d(steps, _BELL)
    edges = np.concatenate(
        [
            [0.0, middle, middle + reach],
            -steps * scale,
            *(sign * steps * (scale + _unit(other)) / slope for sign in (-1, 1)),
            middle + steps * scale,
            middle - steps * scale,
            *(centre + sign * both * width for sign in (-1, 1)),
            *(c + sign * steps * scale for c in corners for sign in (-1, 1)),
            corners,
        ]
    )
    return _panels(np.unique(np.clip(edges, -steps[-1] * scale, middle + reach)))


def cell_errors(
    cell_noise: AnyNoise,
    sum_noise: AnyNoise,
    d: float,
    count: float = math.inf,
    weight: float = math.inf,
) -> CellErrors:
    """Return bias and squared error of the one cell of ``count`` records among d - 1 empty ones.

    Parameters
    ----------
    cell_noise, sum_noise
        The laws of every cell's and of the sum's noise, both Laplace or both Gaussian. M'_epsilon
        has Laplace(2/epsilon) for both, M'_rho Gaussian(1/sqrt(rho)); a split budget has two.
    d
        The number of cells, 2 or more.
    count
        Its true count, 0 or more; infinity for the limit of large counts, the worst tested.
    weight
        The weight of the sum beside a cell's; infinity fits the sum exactly.

    Raises
    ------
    InputError
        d below 2, a negative count, a weight below 0, or noises of two kinds.

    Examples
    --------
    >>> noise = Laplace(4.0)
    >>> error = cell_errors(noise, noise, 100).squared_error
    >>> bool(2 * 16 < error < 300)
    True
    >>> cell_errors(noise, noise, 100, weight=0.0).squared_error
    32.0
    """
    n, w = _check(cell_noise, sum_noise, d, weight)
    q = float(count)
    if not q >= 0:
        raise InputError(f"the cell's count is {count!r}; it must be 0 or more")
    if w == 0:
        first, second = cell_noise.excess(min(q, 1e300))
        lifted = float(second) + 2 * min(q, 1e300) * float(first)
        return CellErrors(float(first), cell_noise.variance - lifted)
    law = excess_sum(cell_noise, sum_noise, n)
    g, g_weights = _thresholds(cell_noise, sum_noise, n, w, 1.0, q)
    # How far the cell may end above its count: never by more than its noise less g.
    kinks = [np.maximum(-g, 0.0), np.maximum(g / w, 0.0)]
    u, u_weights = _half_line(g, kinks, cell_noise, np.full(g.shape, np.inf))
    up = u_weights * _density(cell_noise, g[:, None] + u) * law.below(g, g[:, None] / w - u)
    # And below it, by at most the count. Where g < 0 and its law is Laplace, the part in which S
    # matters is a closed form, of which the tail beyond the count is taken away.
    closed = (g < 0) & isinstance(law, LaplaceExcess)
    start = -g / w
    end = np.where(closed, np.minimum(q, start), q)
    kinks = [np.maximum(g, 0.0), np.maximum(start, 0.0)]
    v, v_weights = _half_line(g, kinks, cell_noise, end)
    down = v_weights * _down(cell_noise, law, g, v, w)
    bias = up.sum(axis=1) - down.sum(axis=1)
    square = 2 * (u * up).sum(axis=1) + 2 * (v * down).sum(axis=1)
    if isinstance(law, LaplaceExcess):
        low, begin = g[closed], start[closed]
        rate = 1 / law.b
        scale = np.exp((low - begin) * rate) * rate / 2
        one, zero = np.ones(low.shape), np.zeros(low.shape)
        mean = scale * law.exceeded(low, one, 0.0, rate)
        moment = scale * law.exceeded(low, 2 * begin, 2.0, rate)
        if math.isfinite(q):
            tail, weights = _half_line(low, [np.maximum(begin, q)], cell_noise, zero + np.inf)
            beyond = (
                weights
                * _down(cell_noise, law, low, tail, w)
                * (tail > q)
                * (tail > begin[:, None])
            )
            mean, moment = mean - beyond.sum(axis=1), moment - 2 * (tail * beyond).sum(axis=1)
        bias[closed] -= mean
        square[closed] += moment
    return CellErrors(float(g_weights @ bias), float(g_weights @ square))


def _down(
    noise: AnyNoise, law: LaplaceExcess | GaussianExcess, g: Array, v: Array, w: float
) -> Array:
    """Return the density of ending v below the count, at threshold g."""
    return _density(noise, g[:, None] - v) * (1 - law.below(g, g[:, None] / w + v))


def _check(cell: AnyNoise, other: AnyNoise, d: float, weight: float) -> tuple[float, float]:
    points = check_points(d)
    if points.ndim or points < 2:
        raise InputError(f"the number of cells is {d!r}; one whole number of 2 or more is needed")
    if type(cell) is not type(other):
        raise InputError(
            f"the noises are {cell!r} and {other!r}; both must be Laplace or both Gaussian"
        )
    return float(points) - 1, check_weight(weight)


def large_table_errors(
    cell_noise: AnyNoise, sum_noise: AnyNoise, d: float, weight: float
) -> tuple[float, float]:
    """Return the squared errors of every cell and of the sum where all counts are large.

    Nothing is clipped: with ``c = weight/(1 + d weight)`` a cell errs by ``z_i - c (sum z - z*)``
    and the sum by ``(1 - d c) sum z + d c z*``.

    Examples
    --------
    >>> cell, total = large_table_errors(Laplace(1.0), Laplace(1.0), 100, 1.0)
    >>> round(cell, 12) == round(total, 12) == round(2 * 100 / 101, 12)
    True
    """
    n, w = _check(cell_noise, sum_noise, d, weight)
    m = n + 1
    c = 1 / (1 / w + m) if w > 0 else 0.0
    one, star = cell_noise.variance, sum_noise.variance
    cell = one * ((1 - c) ** 2 + n * c**2) + star * c**2
    return cell, m * one * (1 - m * c) ** 2 + star * (m * c) ** 2


def lone_cell_sum_error(
    cell_noise: AnyNoise, sum_noise: AnyNoise, d: float, weight: float
) -> float:
    """Return the sum's squared error where one cell is large and all others are empty.

    The fitted sum errs by more than v exactly when ``S(g) + z_1 > v + g`` at ``g = weight (v -
    z*)``.

    Examples
    --------
    >>> lone_cell_sum_error(Laplace(1.0), Laplace(1.0), 100, math.inf)
    2.0
    """
    n, w = _check(cell_noise, sum_noise, d, weight)
    if math.isinf(w):
        return sum_noise.variance
    if w == 0:
        first, second = cell_noise.excess(0.0)
        spread = cell_noise.variance + n * (float(second) - float(first) ** 2)
        return spread + (n * float(first)) ** 2
    law = excess_sum(cell_noise, cell_noise, n)
    return _sum_error(cell_noise, sum_noise, n, w, law)


def _sum_error(
    cell: AnyNoise, other: AnyNoise, n: float, w: float, law: LaplaceExcess | GaussianExcess
) -> float:
    g, g_weights = _thresholds(cell, other, n, w, 1.0)
    total = np.zeros(g.shape)
    closed = (g < 0) & isinstance(law, LaplaceExcess)
    for sign in (1.0, -1.0):
        # z* = v - g/w has its peak, and for Laplace noise its kink, at v = g/w; and s = v + g.
        kinks = [np.maximum(sign * g / w, 0.0), np.maximum(-sign * g, 0.0)]
        end = np.where(closed & (sign > 0), -g, np.inf)
        v, weights = _half_line(g, kinks, other, end)
        chance = law.below(g, sign * v + g[:, None])
        chance = 1 - chance if sign > 0 else chance
        density = _density(other, sign * v - g[:, None] / w)
        total += (2 * v * density * chance * weights).sum(axis=1)
    if isinstance(law, LaplaceExcess) and isinstance(other, Laplace):
        low, rate = g[closed], 1 / other.scale
        scale = np.exp(low * rate * (1 + 1 / w)) * rate / 2
        total[closed] += scale * law.exceeded(low, -2 * low, 2.0, rate)
    return float(g_weights @ total) / w


def empty_table_sum_error(
    cell_noise: AnyNoise, sum_noise: AnyNoise, d: float, weight: float
) -> float:
    """Return the sum's squared error on the all-zero table.

    The fitted sum exceeds v exactly when ``S(g) > v`` at ``g = weight (v - z*)``, S over all d
    cells.

    Examples
    --------
    >>> z = Laplace(1.0)
    >>> empty_table_sum_error(z, z, 100, 0.0) == 100 * (1 - 0.25) + 2500
    True
    """
    n, w = _check(cell_noise, sum_noise, d, weight)
    m = n + 1
    first, second = (float(x) for x in cell_noise.excess(0.0))
    if math.isinf(w):
        return sum_noise.variance / 2
    if w == 0:
        return m * (second - first**2) + (m * first) ** 2
    law = excess_sum(cell_noise, sum_noise, m)
    g, g_weights = _thresholds(cell_noise, sum_noise, m, w, 0.0)
    if isinstance(law, GaussianExcess):
        # Integrated over v by parts: S is smoothed by z*, and the part below 0 is subtracted.
        c = (g / w)[:, None]
        inner = 2 * c * (1 - law.below(g, c)) - 2 * sum_noise.variance * law.density(g, c)
        inner = inner + 2 * np.asarray(sum_noise.excess(np.abs(c)).first)
        inner -= 2 * np.minimum(c, 0)
        return float(g_weights @ inner[:, 0]) / w
    total = np.zeros(g.shape)
    up, rate = g >= 0, 1 / law.b_other
    v, weights = _half_line(g[up], [g[up] / w], sum_noise, np.full(int(up.sum()), np.inf))
    density = _density(sum_noise, v - g[up][:, None] / w)
    total[up] = (2 * v * density * law.survival(g[up], v) * weights).sum(axis=1)
    # Below 0 the density of z* is one exponential, whose integral up to S is a closed form.
    m0, m1, _ = law.moments(g[~up], np.asarray(rate))
    total[~up] = np.exp(g[~up] * rate / w) * (1 - m0 - rate * m1) / rate
    return float(g_weights @ total) / w
