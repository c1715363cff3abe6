"""The most that single cells prove: a linear program over private channels, certified.

A channel sends the count 0, ..., N of one cell to an output. Clipping and averaging over the cells
turns every mechanism into such a channel, whose mean at an empty cell is at most D/d. Of all
epsilon-DP channels some postprocessing of the geometric mechanism is optimal, as the loss at every
count grows with the distance from it (Ghosh, Roughgarden and Sundararajan, 2012); so the program is
small. Its multipliers alone prove the bound (`certified_value`), and nothing rests on that theorem.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, sparse

from ...model.noise_discrete import DoubleGeometric
from ...model.privacy import ConcentratedDP, Guarantee, PureDP, check_guarantee
from ..given import check_error, check_queries
from .single_cells_zcdp import MOST_RHO, conic_line, conic_point_error, conic_sum_error

Array = NDArray[np.float64]

_RANGE, _FAR = 60.0, 100.0  # N times epsilon, and that where C is as small as it can be
_SHORT = 40.0  # N times epsilon, where C is so large that far counts hardly matter
_NEAR = 1.01  # times the least square of C, up to where far counts matter
_STEP = 0.3  # epsilon of one step of counts, if that is more than one record
_LEAST = 1e-6  # a mean at 0, in steps, that the solver still sees
_LARGEST = 420  # N at most, in steps
_FINE = 8  # outputs to a step, where they are weights
_KNOTS = 12  # of the multipliers far from 0
_INSTEAD = "for single cells there is the bound by first moments"
_GAP, _ROUNDS = 1e-4, 40  # relative, from the best multipliers
_EACH, _SHARE = 12.0, 2 / 3  # up to what count there are knots at all: times 1/epsilon, or of N
_REACHED, _MORE = 20.0, 3  # N times epsilon beyond a mean, at least; steps more
_MOST, _DIGITS, _SAME = 300.0, 12, 1e-12  # the level of a step at most; what two have in common
_NONE, _TINY, _CLOSE = 1e-12, 1e-300, 1e-9  # an error; as good as no weight; above the least C
_OPTIONS = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
_ERRORS = np.array([0.999, 1.02, 1.12, 1.3, 1.6, 2.0, 2.6])  # times the noise's: of lines
_MEANS = np.geomspace(3e-2, 3e-6, 11)  # times 1/epsilon
_LEAST_SEEN, _LARGE = 0.99, 1.5  # times the noise's: another least C; where far counts end


class Multipliers(NamedTuple):
    """What proves a bound: weights of the squared error at each count, and of the mean at 0."""

    error: Array
    mean: float


def channel_sum_error(guarantee: PureDP, d: float, point_error: float, *, whole: bool) -> float:
    """Bound the sum's root error from below, given every cell's: the single-cell program.

    In counts; 0 where it proves nothing. Outputs are whole numbers or, if not ``whole``, weights.
    Every range of counts proves a bound; a larger one, up to rounding, a better one.

    Examples
    --------
    >>> guarantee = PureDP(1.0)
    >>> C = math.sqrt(2 * math.exp(-1)) / (1 - math.exp(-1))
    >>> round(channel_sum_error(guarantee, 1000, C, whole=False) / 1000, 4)
    0.2934
    >>> round(channel_sum_error(guarantee, 1000, C, whole=True) / 1000, 4)
    0.3285
    """
    n, error = float(check_queries(d)), float(check_error(point_error, "point error", one=True))
    grid = _grid(guarantee.epsilon, _RANGE, whole)
    if error**2 < _NEAR * DoubleGeometric(guarantee.epsilon).variance:
        # As far as steps stay as fine as they are: coarser ones would cost more.
        grid = grid._replace(N=max(grid.N, min(_LARGEST, math.ceil(_FAR / grid.epsilon) + _MORE)))
    square = (error / grid.step) ** 2 + grid.rounding
    multipliers = grid.multipliers(square=square)
    if multipliers is None:
        return 0.0
    value = grid.certified_value(multipliers) - square * multipliers.error.sum()
    return max(float(value), 0.0) * grid.step * n


def channel_point_error(guarantee: PureDP, d: float, sum_error: float, *, whole: bool) -> float:
    """Bound the worst cell's root error from below, given the sum's: the single-cell program.

    Parameters are as for `channel_sum_error`, with D for C.
    """
    n, error = float(check_queries(d)), float(check_error(sum_error, "sum error", one=True))
    reach = _REACHED + max(math.log(n / error / guarantee.epsilon), 0.0)
    grid = _grid(guarantee.epsilon, reach, whole, 2 * _STEP)
    mean = error / grid.step / n
    if mean < _LEAST:
        return 0.0
    multipliers = grid.multipliers(mean=mean)
    if multipliers is None:
        return 0.0
    value = grid.certified_value(multipliers) - mean * multipliers.mean - grid.rounding
    return math.sqrt(max(float(value), 0.0)) * grid.step


class Grid(NamedTuple):
    """Counts and outputs of a channel, in steps."""

    epsilon: float
    """The level of one step."""
    step: float
    """How many records one step is."""
    fine: int
    """Outputs to a step."""
    N: int
    """The largest count, in steps."""

    @property
    def rounding(self) -> float:
        """What unbiased rounding of weights to the outputs adds to a squared error, at most."""
        return 0.25 / self.fine**2 if self.fine > 1 else 0.0

    def geometric(self) -> Array:
        """Return the truncated geometric mechanism; row a is its output, column j the count."""
        j, N = np.arange(self.N + 1), self.N
        q = math.exp(-self.epsilon)
        law = (1 - q) / (1 + q) * q ** np.abs(j[:, None] - j).astype(float)
        law[[0, N]] /= 1 - q
        return np.asarray(law)

    def multipliers(
        self, *, square: float | None = None, mean: float = math.inf
    ) -> Multipliers | None:
        """Solve the program for the best multipliers; None if it fails.

        Given ``square`` the mean at 0 is minimised, otherwise the largest squared error. Of the
        maps of the geometric mechanism only a few are looked at, and those that the multipliers
        ask for are added. The multipliers are straight between knots.
        """
        N, law, j = self.N, self.geometric(), np.arange(self.N + 1.0)
        last = math.ceil(_EACH / self.epsilon) if square else int(N * _SHARE)
        near = np.arange(min(N, last) + 1)
        knots = np.unique(np.append(near, np.linspace(near[-1], N, _KNOTS).round()))
        hats = np.array([np.interp(j, knots, e) for e in np.eye(knots.size)])
        total = hats.sum(axis=1)
        moments = [law @ (hats * j**k).T for k in range(3)]
        some = {(a, a + x) for a in range(N + 1) for x in (-1, 0, 1) if 0 <= a + x <= N}
        maps = {(a, self.fine * y) for a, y in some | {(a, 0) for a in near.tolist()}}
        for _ in range(_ROUNDS):
            a, y = np.array(sorted(maps)).T
            y = y / self.fine
            errors = moments[0][a] * y[:, None] ** 2 - 2 * moments[1][a] * y[:, None]
            errors = (errors + moments[2][a]) / total
            found = _solve(np.where(errors < _NONE, 0, errors), a, law[a, 0] * y, square, mean)
            if found is None:
                return None
            value, weights, slope = found
            multipliers = Multipliers((weights / total) @ hats, slope)
            best, loss = self._best(multipliers, law)
            proved = loss.sum() - (square or 0) * multipliers.error.sum()
            proved -= 0 if square else mean * slope
            new = {(int(a), int(v)) for row in best for a, v in enumerate(row)} - maps
            if not new or value - proved < _GAP * value:
                break
            maps |= new
        return multipliers

    def _best(self, multipliers: Multipliers, law: Array) -> tuple[Array, Array]:
        """Return the two outputs around the best for every geometric output, and its loss."""
        lam, j = multipliers.error, np.arange(self.N + 1)
        flat, at_zero = law @ lam, multipliers.mean * law[:, 0]
        slope = at_zero - 2 * (law @ (lam * j))
        place = np.clip(-slope / np.maximum(2 * flat, _TINY), 0, self.N) * self.fine
        around = np.stack([np.floor(place), np.ceil(place)])
        y = around / self.fine
        return around, (flat * y**2 + slope * y + law @ (lam * j * j)).min(axis=0)

    def certified_value(self, multipliers: Multipliers) -> float:
        """Bound the weighted loss of every epsilon-DP channel from below, whatever its outputs.

        The loss of count j and output y is ``error_j (y - j)^2``, at j = 0 ``mean y`` more. Less
        prices ``pi_j`` of the laws' total mass, what an output y adds is linear in its chances at
        the counts, and these change by factors in ``[e^-eps, e^eps]`` from count to count: the
        least is found from both ends inwards, exactly.
        """
        lam = multipliers.error
        N, q, law, j = self.N, math.exp(-self.epsilon), self.geometric(), np.arange(lam.size)
        prices = np.linalg.solve(law, self._best(multipliers, law)[1])
        y = np.arange(N * self.fine + 1) / self.fine
        own = lam * (y[:, None] - j) ** 2 - prices
        own[:, 0] += multipliers.mean * y
        left, right = own.copy(), own.copy()
        for k in range(1, N + 1):
            before, after = left[:, k - 1], right[:, N - k + 1]
            left[:, k] += np.where(before > 0, before * q, before / q)
            right[:, N - k] += np.where(after > 0, after * q, after / q)
        nearest = np.rint(y).astype(int)
        least = (left + right - own)[np.arange(y.size), nearest]
        # The chances of the outputs nearest to one count add up to at most 1 at that count.
        missing = np.zeros(lam.size)
        np.minimum.at(missing, nearest, least)
        return float(prices.sum() + missing.sum())


def _grid(epsilon: float, reach: float, whole: bool, size: float = _STEP) -> Grid:
    step = max(1.0, math.floor(size / epsilon), math.ceil(reach / _LARGEST / epsilon))
    level = min(epsilon * step, _MOST)
    return Grid(level, step, 1 if whole and step == 1 else _FINE, math.ceil(reach / level) + _MORE)


def _solve(
    errors: Array, a: NDArray[np.intp], at_zero: Array, square: float | None, mean: float
) -> tuple[float, Array, float] | None:
    """Return the value and the multipliers of errors and mean; None if it fails."""
    size, knots = errors.shape
    one = sparse.csr_array((np.ones(size), (a, np.arange(size))), shape=(int(a.max()) + 1, size))
    solve: Any = optimize.linprog
    if square is not None:
        cost, rows, right, sums = at_zero, sparse.csr_array(errors.T), np.full(knots, square), one
    else:
        worst = np.append(-np.ones(knots), 0)[:, None]
        rows = sparse.csr_array(np.hstack([np.vstack([errors.T, at_zero / mean]), worst]))
        cost, right = np.append(np.zeros(size), 1.0), np.append(np.zeros(knots), 1.0)
        sums = sparse.hstack([one, sparse.csr_array((one.shape[0], 1))]).tocsr()
    found = solve(
        cost,
        A_ub=rows,
        b_ub=right,
        A_eq=sums,
        b_eq=np.ones(sums.shape[0]),
        bounds=(0, None),
        method="highs-ds",
        options=_OPTIONS,
    )
    if found.x is None:
        return None
    dual = np.maximum(-found.ineqlin.marginals, 0)
    if square is not None:
        return float(found.fun), dual, 1.0
    total = dual[:-1].sum()
    return (
        (float(found.fun), dual[:-1] / total, float(dual[-1] / mean / total)) if total > 0 else None
    )


def single_cell_bounds(
    guarantee: Guarantee,
    d: int,
    *,
    sum_error: float | None = None,
    point_error: float | None = None,
) -> tuple[dict[str, float], str]:
    """Return what single cells prove about one error, given the other; a note where nothing.

    ``channel`` is for weights and so for all nonnegative outputs, ``channel_whole`` for whole
    numbers; in counts, 0 where nothing is proved. Under zCDP multipliers are those that are best
    near one error: true bounds, and not the most that single cells prove.

    Examples
    --------
    >>> values, _ = single_cell_bounds(PureDP(0.5), 1000, sum_error=math.sqrt(32))
    >>> {name: round(value, 2) for name, value in values.items()}
    {'channel': 10.03, 'channel_whole': 10.04}
    """
    bounds: Any = {
        PureDP: (channel_sum_error, channel_point_error),
        ConcentratedDP: (conic_sum_error, conic_point_error),
    }
    if type(check_guarantee(guarantee)) not in bounds:
        none = {"channel": 0.0, "channel_whole": 0.0}
        return none, f"channel and channel_whole are not computed with a delta: {_INSTEAD}"
    bound, given = bounds[type(guarantee)][point_error is None], point_error or sum_error
    weights, whole = (bound(guarantee, d, given, whole=w) for w in (False, True))
    found = {"channel": weights, "channel_whole": max(weights, whole)}
    silent = "channel says" if whole > 0 else "channel and channel_whole say"
    return found, "" if weights > 0 else f"{silent} nothing here: {_INSTEAD}"


class Lines(NamedTuple):
    """Proved lines ``C^2 >= a - b D/d``, in counts, true for every d, C and D together."""

    a: Array
    b: Array

    def point_error(self, d: ArrayLike, sum_error: ArrayLike) -> Array:
        """Return the least C beside a sum error; arrays that broadcast."""
        mean = (np.asarray(sum_error, dtype=float) / np.asarray(d, dtype=float))[..., None]
        return np.asarray(np.sqrt(np.maximum((self.a - self.b * mean).max(axis=-1), 0)))

    def sum_error(self, d: ArrayLike, point_error: ArrayLike) -> Array:
        """Return the least D beside a cell error; arrays that broadcast."""
        square = np.asarray(point_error, dtype=float)[..., None] ** 2
        mean = ((self.a - square) / self.b).max(axis=-1)
        return np.asarray(np.asarray(d, dtype=float) * np.maximum(mean, 0))


@functools.cache
def _line(grid: Grid, **fixed: float) -> tuple[float, float]:
    """Return a, b of the line that the program proves, in steps; b is 0 if it fails."""
    found = grid.multipliers(**fixed)
    if found is None or not (weight := float(found.error.sum())) > 0:
        return 0.0, 0.0
    return grid.certified_value(found) / weight - grid.rounding, found.mean / weight


@functools.cache
def single_cell_lines(guarantee: Guarantee, *, whole: bool = False, few: bool = False) -> Lines:
    """Return lines that enclose what single cells prove, under pure DP or zCDP, at one level.

    Multipliers that are best near one error prove a bound at every other, so that a few programs
    give the whole curve, for all d; a ``few`` of them, chosen by trial and shared by levels whose
    steps are alike, give most of it where cells are good. Under approximate DP only ``C^2 >= 0``.

    Examples
    --------
    >>> lines = single_cell_lines(PureDP(1.0))
    >>> bool(5.0 > lines.point_error(1000, math.sqrt(8)) > 4.95)
    True
    """
    lines = [(0.0, 1.0)]
    unit = float(guarantee.basis.noise().std)
    errors, means = unit * _ERRORS, _MEANS
    if isinstance(guarantee, ConcentratedDP):
        if guarantee.rho <= MOST_RHO:
            near_one = errors[1:4:2] if few else errors[1:-1]
            lines += [conic_line(guarantee, C, whole=whole, drawn=True) for C in near_one.tolist()]
    elif isinstance(guarantee, PureDP):
        epsilon, size = guarantee.epsilon, _STEP
        least = DoubleGeometric(epsilon).std * (1 + _CLOSE)
        if few:
            errors, means, size = errors[:5:4], means[:0], size * (1 + _CLOSE)
        if least < _LEAST_SEEN * unit:
            errors = np.append(errors, least)
        given: list[tuple[Grid, dict[str, float]]] = []
        for C in errors.tolist():
            far = _grid(epsilon, _SHORT if few and C / unit > _LARGE else _RANGE, whole, size)
            given.append((far, {"square": (C / far.step) ** 2 + far.rounding}))
        # Where the sum is good whole numbers make no difference that can be seen.
        for mean in [] if whole else means / epsilon:
            near = _grid(epsilon, _REACHED - math.log(mean * epsilon), whole, 2 * _STEP)
            if mean >= _LEAST * near.step:
                given.append((near, {"mean": mean / near.step}))
        for grid, fixed in given:
            # To rounding, upwards, levels are the same whose steps are, and their lines are.
            alike = grid._replace(epsilon=round(grid.epsilon, _DIGITS) + _SAME, step=1.0)
            a, b = _line(alike, **{name: float(f"{x:.11g}") for name, x in fixed.items()})
            lines.append((a * grid.step**2, b * grid.step))
    a, b = np.array([line for line in lines if line[1] > 0]).T
    return Lines(a, b)
