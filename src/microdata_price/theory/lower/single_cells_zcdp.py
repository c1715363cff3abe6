"""What single cells prove under zCDP: a conic program over channels, certified.

As in `single_cells`, with a bound on the Renyi divergence of the laws at neighbouring counts, both
ways and at a few orders (fewer only weaken it): ``sum_y u^a v^(1-a) <= e^(a(a-1) rho)``. The
solver's multipliers alone prove the bound (`ConicGrid.certified`): where the solver fails the bound
is weak, and still true.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...model.privacy import ConcentratedDP
from ..given import check_error, check_queries
from .moment_bounds import moment_point_error

Array = NDArray[np.float64]

ORDERS = np.array([1.5, 2.0, 4.0])
_RHO = 0.125  # of one step of counts, about
MOST_RHO = 2.0
"""Above this rho nothing is proved here."""
_WIDTH = 4.2  # times 1/sqrt(rho): what a channel's row holds around its count
_CAREFUL = (0.9, 0.8)  # shares of a full step that the solver goes
_REACH = {False: (17.0, 8.0), True: (11.0, 6.0)}
"""N times sqrt(rho) near the least C, where far counts matter, and elsewhere; for pictures less."""
_ALIKE = 0.1  # of the level of a step; so near to `_RHO` it takes that level's multipliers
_TURNS, _SPAN = 60, 60.0  # of a bisection, and between what logarithms of ratios
_TOLERANCE, _DIGITS = 1e-6, 11  # of the solver, and of its squares
_FAR, _LEAST_N = 0.6, 8  # rho C^2 up to which far counts matter; counts at least
_BEYOND = (1.1, 1.02)  # times the first moments' C, and the noise's: where lines are best


class ConicMultipliers(NamedTuple):
    """What proves a bound: weights of errors and divergences, and prices of the laws' mass."""

    error: Array
    divergence: Array
    """Shape (orders, 2, N): of the law at j + 1 from that at j, and back."""
    prices: Array
    solved: bool


class ConicGrid(NamedTuple):
    """A channel from counts 0, ..., N to the same outputs, in steps of some records."""

    rho: float
    """The level of one step."""
    N: int

    @functools.cache  # noqa: B019, a grid is two numbers
    def multipliers(self, square: float, careful: float) -> ConicMultipliers:
        """Solve for the least mean at 0 with squared errors of at most ``square``."""
        n, N = self.N + 1, self.N
        width = min(N, math.ceil(_WIDTH / math.sqrt(self.rho)))
        j, y = np.nonzero(np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= width)
        place = np.zeros((n, n), dtype=int)
        place[j, y] = np.arange(j.size)
        # Both laws' chances of the outputs that both hold, in both directions.
        both = [np.arange(max(0, k + 1 - width), min(N, k + width) + 1) for k in range(N)]
        upper = np.concatenate([place[k + 1, at] for k, at in enumerate(both)])
        lower = np.concatenate([place[k, at] for k, at in enumerate(both)])
        pair = np.repeat(np.arange(N), [at.size for at in both])
        u, v = np.append(upper, lower), np.append(lower, upper)
        where, count = np.append(pair, pair + N), u.size
        powers = j.size + np.arange(count * ORDERS.size).reshape(ORDERS.size, count)
        size, at = int(powers[-1, -1]) + 1, np.arange(j.size)

        def matrix(rows: Any, columns: Any, values: Any, height: int) -> Any:
            return sparse.csc_array((values, (rows, columns)), shape=(height, size))

        blocks = [matrix(j, at, np.ones(j.size), n), matrix(j, at, (y - j) ** 2.0, n)]
        blocks += [matrix(where, p, np.ones(count), 2 * N) for p in powers]
        right = [np.ones(n), np.full(n, square), np.repeat(self._allowed(), 2 * N)]
        cones = [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(n + 2 * N * ORDERS.size)]
        third = 3 * np.arange(count)
        for a, p in zip(ORDERS, powers, strict=True):
            # u^a v^(1-a) <= t: a cone of second order for a = 2, else u <= t^(1/a) v^(1-1/a).
            if a == 2:
                rows = np.concatenate([third, third, third + 1, third + 1, third + 2])
                columns = np.concatenate([p, v, p, v, u])
                values = -np.repeat([1.0, 1.0, 1.0, -1.0, 2.0], count)
                cones += [clarabel.SecondOrderConeT(3)] * count
            else:
                rows, columns = np.arange(3 * count), np.stack([p, v, u], axis=1).ravel()
                values = -np.ones(3 * count)
                cones += [clarabel.PowerConeT(1 / a)] * count
            blocks.append(matrix(rows, columns, values, 3 * count))
            right.append(np.zeros(3 * count))
        cost = np.where(j == 0, y, 0.0)
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_step_fraction = False, careful
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOLERANCE
        solver = clarabel.DefaultSolver(
            sparse.csc_matrix((size, size)),
            np.append(cost, np.zeros(size - j.size)),
            sparse.csc_matrix(sparse.vstack(blocks)),
            np.concatenate(right),
            cones,
            settings,
        )
        solution = solver.solve()
        z = np.nan_to_num(np.array(solution.z))
        divergence = z[2 * n : 2 * n + 2 * N * ORDERS.size].reshape(ORDERS.size, 2, N)
        error, solved = np.maximum(z[n : 2 * n], 0), "Solved" in str(solution.status)
        return ConicMultipliers(error, np.maximum(divergence, 0), -z[:n], solved)

    def certified(self, multipliers: ConicMultipliers, square: float) -> float:
        """Bound the mean at 0 of every rho-zCDP channel from below, by any multipliers.

        What an output y adds depends on its chances at the counts only through each and the ratio
        of neighbouring ones. The least over all ratios is found from both ends inwards.
        """
        error, divergence, prices, _ = multipliers
        j = np.arange(self.N + 1)
        own = error * (j[:, None] - j) ** 2.0 - prices
        own[:, 0] += j
        left, right = own.copy(), own.copy()
        for k in range(1, self.N + 1):
            m = self.N - k
            left[:, k] += _least(left[:, k - 1], divergence[:, 1, k - 1], divergence[:, 0, k - 1])
            right[:, m] += _least(right[:, m + 1], divergence[:, 0, m], divergence[:, 1, m])
        # The chance of an output y at the count y is at most 1.
        missing = np.minimum(np.diagonal(left + right - own), 0).sum()
        value = prices.sum() - square * error.sum() - divergence.sum(axis=(1, 2)) @ self._allowed()
        return float(np.nan_to_num(value + missing, nan=-np.inf))

    def _allowed(self) -> Array:
        return np.asarray(np.exp(ORDERS * (ORDERS - 1) * self.rho))


def _least(value: Array, up: Array, down: Array) -> Array:
    """Return the least of ``r value + sum_a (up_a r^a + down_a r^(1-a))`` over r > 0.

    It is convex; the bisection ends where the slope is 0 to rounding.
    """
    low, high = np.full(value.shape, -_SPAN), np.full(value.shape, _SPAN)
    a = ORDERS[:, None]
    rise, fall = (up * ORDERS)[:, None], (down * (ORDERS - 1))[:, None]
    for _ in range(_TURNS):
        middle = (low + high) / 2
        grows = value + (rise * np.exp((a - 1) * middle) - fall * np.exp(-a * middle)).sum(0) > 0
        high, low = np.where(grows, middle, high), np.where(grows, low, middle)
    r = (low + high) / 2
    powers = up[:, None] * np.exp(a * r) + down[:, None] * np.exp((1 - a) * r)
    return np.asarray(np.exp(r) * value + powers.sum(0))


def conic_sum_error(
    guarantee: ConcentratedDP, d: float, point_error: float, *, whole: bool
) -> float:
    """Bound the sum's root error from below, given every cell's, under zCDP."""
    n, error = float(check_queries(d)), float(check_error(point_error, "point error", one=True))
    if guarantee.rho > MOST_RHO:
        return 0.0
    a, b = conic_line(guarantee, error, whole=whole)
    return max((a - error**2) / b, 0.0) * n


def conic_point_error(
    guarantee: ConcentratedDP, d: float, sum_error: float, *, whole: bool
) -> float:
    """Bound the worst cell's root error from below, given the sum's, under zCDP."""
    n, error = float(check_queries(d)), float(check_error(sum_error, "sum error", one=True))
    if guarantee.rho > MOST_RHO:
        return 0.0
    first = float(moment_point_error(guarantee, np.array(n), np.array(error)).value)
    best = max(k * C for k, C in zip(_BEYOND, (first, guarantee.noise().std), strict=True))
    a, b = conic_line(guarantee, best, whole=whole)
    return math.sqrt(max(a - b * error / n, 0.0))


def conic_line(
    guarantee: ConcentratedDP, point_error: float, *, whole: bool, drawn: bool = False
) -> tuple[float, float]:
    """Return a, b of a proved line ``C^2 >= a - b D/d`` that is best near one C, in counts.

    To be ``drawn`` counts go less far, and levels near that of `_RHO` share its multipliers.
    """
    step = max(1.0, float(round(math.sqrt(_RHO / guarantee.rho))))
    rho, rounding = guarantee.rho * step**2, 0.0 if whole and step == 1 else 0.25
    base = _RHO if drawn and abs(rho - _RHO) < _ALIKE * _RHO else rho
    square = round((point_error / step) ** 2 * rho / base, _DIGITS) + rounding
    reach = _REACH[drawn][0 if square * base < _FAR else 1]
    grid = ConicGrid(base, max(_LEAST_N, math.ceil(reach / math.sqrt(base))))
    lines = []
    for careful in _CAREFUL:
        with np.errstate(over="ignore", invalid="ignore"):
            found = grid.multipliers(square, careful)
            weight = float(found.error.sum())
            value = grid._replace(rho=rho).certified(found, 0.0) if weight > 0 else -math.inf
        lines.append((value - square * weight, value, weight))
        if found.solved:
            break
    _, value, weight = max(lines)
    if not (math.isfinite(value) and weight > 0):
        return 0.0, 1.0
    return (value / weight - rounding) * step**2, step / weight
