"""Active sets: turn a nearly optimal answer into one that is optimal up to rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import linalg as spla

from .stack import Stack

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_STEPS = 25  # changes of the active set at most
_REFINEMENTS = 30  # of one linear system at most
_PROXIMAL = (1e-7, 1e-10, 1e-13)
_ROUNDING = 1e-16  # a residual of this size is rounding


@dataclass(frozen=True, eq=False)
class Active:
    """Active set: the constraints that hold as equalities."""

    zero: Mask  # cells at 0, shape (cells,)
    side: Array  # -1, 0 or 1 a row: its residual is at minus its radius, between, or at its radius


def guess_active(stack: Stack, x: Array, y: Array) -> Active:
    """Guess the active set of a nearly optimal answer: of slack and force the larger decides."""
    zero = np.zeros(x.size, dtype=bool)
    if stack.nonnegative:
        zero = x <= stack.matrix.T @ y
    r = stack.matrix @ x - stack.target
    finite = np.where(stack.equal, 0.0, stack.weight)
    force = y - finite * r
    at = stack.bounded & (np.abs(force) > stack.radius - np.abs(r))
    return Active(zero, np.where(at, np.where(force > 0, 1.0, -1.0), 0.0))


def solve_active(stack: Stack, active: Active, x: Array, y: Array) -> tuple[Array, Array]:
    """Solve the least-squares problem with the active constraints as equalities.

    The optimality conditions are linear in the free cells and the multipliers. Small proximal terms
    make a singular system regular; iterative refinement leads to a solution near the given one.
    """
    free = np.flatnonzero(~active.zero)
    rows = np.flatnonzero((stack.weight > 0) | (active.side != 0))
    hard = stack.equal[rows] | (active.side[rows] != 0)
    shift = active.side * np.where(stack.bounded, stack.radius, 0.0)
    row_scale = np.sqrt(np.where(hard, 1.0, stack.weight[rows]))
    a = sp.csc_array(sp.diags_array(row_scale) @ stack.matrix[rows][:, free])
    largest = np.ones(free.size) if not rows.size else a.max(axis=0).toarray().ravel()
    col_scale = 1.0 / np.where(largest > 0, largest, 1.0)
    a = sp.csc_array(a @ sp.diags_array(col_scale))
    goal = row_scale * (stack.target + shift)[rows]
    d = np.where(hard, 0.0, 1.0)
    z = np.concatenate([x[free] / col_scale, y[rows] / row_scale])
    bottom = sp.hstack([a, -sp.diags_array(d + np.where(hard, _PROXIMAL[0], 0.0))])
    for proximal in _PROXIMAL:
        top = sp.hstack([proximal * sp.eye_array(free.size), a.T])
        factor = spla.splu(sp.csc_array(sp.vstack([top, bottom])))
        least, stalled = np.inf, 0
        for _ in range(_REFINEMENTS):
            xf, v = z[: free.size], z[free.size :]
            residual = np.concatenate([-(a.T @ v), goal - a @ xf + d * v])
            size = float(np.abs(residual).max(initial=0.0))
            stalled = 0 if size < 0.5 * least else stalled + 1
            # Constraints that contradict each other leave a residual; each step then pushes the
            # multipliers on towards those that show which constraint to release.
            if size < _ROUNDING or stalled > 2:
                break
            least = min(least, size)
            z = z + factor.solve(residual)
        if least < 10 * _ROUNDING or size < 10 * _ROUNDING:
            break
    new_x = np.zeros_like(x)
    new_y = np.zeros_like(y)
    new_x[free] = z[: free.size] * col_scale
    new_y[rows] = z[free.size :] * row_scale
    return new_x, new_y


def revise_active(stack: Stack, active: Active, x: Array, y: Array) -> Active:
    """Release constraints that pull the wrong way and add those that are violated."""
    tiny = 1e-13
    zero = active.zero
    if stack.nonnegative:
        gradient = stack.matrix.T @ y
        zero = np.where(active.zero, gradient >= -tiny, x < -tiny)
    r = stack.matrix @ x - stack.target
    finite = np.where(stack.equal, 0.0, stack.weight)
    wrong = (active.side != 0) & ((y - finite * r) * active.side < -tiny)
    side = np.where(wrong, 0.0, active.side)
    past = stack.bounded & (side == 0) & ~wrong & (np.abs(r) > stack.radius + tiny)
    side = np.where(past, np.sign(r), side)
    return replace(active, zero=zero, side=side)


def polish(
    stack: Stack, x: Array, y: Array, miss: Callable[[Array, Array], float]
) -> tuple[Array, Array]:
    """Improve an answer by active-set steps and return the best one seen."""
    best, least = (x, y), np.inf
    active = guess_active(stack, x, y)
    seen: set[bytes] = set()
    for _ in range(_STEPS):
        clipped = np.maximum(x, 0.0) if stack.nonnegative else x
        found = miss(clipped, y)
        if found < least:
            best, least = (clipped, y), found
        key = active.zero.tobytes() + active.side.tobytes()
        if key in seen:
            break
        seen.add(key)
        try:
            x, y = solve_active(stack, active, x, y)
        except RuntimeError:  # the factorisation met an exactly singular matrix
            break
        active = revise_active(stack, active, x, y)
    return best
