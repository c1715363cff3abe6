"""Small searches, done for a whole array of problems at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

_BISECTIONS = 60  # more than a double has bits
_ROUNDS = 24
_FINE = 9  # places of each grid but the first
_WINDOW, _WIDE = 1.7, 2.3  # how far the next grid goes each way, in places of this one
_NEAR = np.arange(-2.0, 4.0)  # whole numbers about the best real one


def largest_true(holds: Callable[[Array], Flags], low: Array, high: Array) -> Array:
    """Return the end of the interval from ``low`` on which ``holds`` is true, by bisection."""
    start = low
    high = np.maximum(low, high)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        ok = holds(middle)
        low, high = np.where(ok, middle, low), np.where(ok, high, middle)
    return np.where(holds(start), low, start)


def maximise(
    function: Callable[[Array], Array],
    low: Array,
    high: Array,
    coarse: int = 65,
    rounds: int = _ROUNDS,
) -> tuple[Array, Array]:
    """Return where and how large a function is at its largest, for each problem.

    A coarse grid finds the hill, and finer ones climb it. The function takes and gives shape (...,
    n); minus infinity is allowed, NaN is not.
    """
    ends, count = (low, high), coarse
    best_x, best = low, np.full(low.shape, -np.inf)
    for _ in range(rounds):
        places = _grid(low, high, count)
        values = function(places)
        i = values.argmax(axis=-1)[..., None]
        x = np.take_along_axis(places, i, axis=-1)[..., 0]
        found = np.take_along_axis(values, i, axis=-1)[..., 0]
        best_x, best = np.where(found > best, x, best_x), np.maximum(best, found)
        low, high = _around(best_x, (high - low) * _WINDOW / count, ends)
        count = _FINE
    return best_x, best


def maximise_two(
    function: Callable[[Array, Array], Array],
    low: tuple[Array, Array],
    high: tuple[Array, Array],
    coarse: int,
    rounds: int,
) -> tuple[Array, Array, Array]:
    """Return where and how large a function of two numbers is at its largest, for each problem."""
    (low_x, low_y), (high_x, high_y) = low, high
    ends_x, ends_y, count = (low_x, high_x), (low_y, high_y), coarse
    best_x, best_y, best = low_x, low_y, np.full(low_x.shape, -np.inf)
    for _ in range(rounds):
        xs, ys = _grid(low_x, high_x, count), _grid(low_y, high_y, count)
        values = function(xs[..., :, None], ys[..., None, :])
        flat = values.reshape(*values.shape[:-2], count * count)
        i = flat.argmax(axis=-1)[..., None]
        found = np.take_along_axis(flat, i, axis=-1)[..., 0]
        x = np.take_along_axis(xs, i // count, axis=-1)[..., 0]
        y = np.take_along_axis(ys, i % count, axis=-1)[..., 0]
        better = found > best
        best_x, best_y = np.where(better, x, best_x), np.where(better, y, best_y)
        best = np.maximum(best, found)
        # The window may drift, since the hill may be a ridge that lies askew to the grid.
        low_x, high_x = _around(best_x, (high_x - low_x) * _WIDE / count, ends_x)
        low_y, high_y = _around(best_y, (high_y - low_y) * _WIDE / count, ends_y)
        count = _FINE
    return best_x, best_y, best


def whole_records(m: Array, low: Array, first: int, max_records: float) -> Array:
    """Return whole numbers next to the best real ones, and the first above ``low``; a last axis."""
    near = np.floor(m)[..., None] + _NEAR
    least = np.floor(low)[..., None] + np.arange(1.0, first + 1)
    whole = np.maximum(np.concatenate([near, least], axis=-1), 1)
    return np.asarray(np.minimum(whole, np.floor(max_records)))


def _around(centre: Array, reach: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
    return np.maximum(centre - reach, ends[0]), np.minimum(centre + reach, ends[1])


def _grid(low: Array, high: Array, count: int) -> Array:
    share = np.linspace(0.0, 1.0, count)
    return low[..., None] * (1 - share) + high[..., None] * share
