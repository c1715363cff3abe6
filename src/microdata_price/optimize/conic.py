"""The general solver: any workload, one run at a time, through Clarabel's own interface."""

from __future__ import annotations

from dataclasses import replace

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .certificate import certify
from .polish import polish
from .problem import Problem, Solution, divisor
from .stack import Stack, hold_pinned, pinned_cells

Array = NDArray[np.float64]

_TOLERANCES = (1e-10, 1e-13)
_GOAL = 1e-11  # a miss that is not asked to be smaller


def quiet_settings(tolerance: float) -> clarabel.DefaultSettings:
    """Return Clarabel's settings: one thread, nothing printed, one tolerance for all."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    # Nearly contradictory constraints make a good answer with large multipliers, no contradiction.
    settings.tol_infeas_abs = settings.tol_infeas_rel = 1e-16
    return settings


def _clarabel(stack: Stack, tolerance: float) -> tuple[Array, Array]:
    """Solve for cells x and residuals ``r = s (A x - target)``: ``A'A``, dense, is never formed."""
    rows, cells = stack.matrix.shape
    soft = np.flatnonzero(~stack.equal)
    hard = np.flatnonzero(stack.equal)
    weight = stack.weight[soft]
    s = np.sqrt(divisor(weight))
    p = sp.diags_array(np.concatenate([np.zeros(cells), (weight > 0).astype(float)]))
    a = [
        sp.hstack([sp.diags_array(s) @ stack.matrix[soft], -sp.eye_array(soft.size)]),
        sp.hstack([stack.matrix[hard], sp.csr_array((hard.size, soft.size))]),
    ]
    b = [s * stack.target[soft], stack.target[hard]]
    below = 0
    if stack.nonnegative:
        a.append(sp.hstack([-sp.eye_array(cells), sp.csr_array((cells, soft.size))]))
        b.append(np.zeros(cells))
        below += cells
    held = np.flatnonzero(stack.bounded[soft])
    if held.size:
        pick = sp.eye_array(soft.size, format="csr")[held]
        radius = (s * stack.radius[soft])[held]
        a += [sp.hstack([sp.csr_array((held.size, cells)), sign * pick]) for sign in (1, -1)]
        b += [radius, radius]
        below += 2 * held.size
    cones = [clarabel.ZeroConeT(rows)] + ([clarabel.NonnegativeConeT(below)] if below else [])
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(p),
        np.zeros(cells + soft.size),
        sp.csc_matrix(sp.vstack(a)),
        np.concatenate(b),
        cones,
        quiet_settings(tolerance),
    )
    answer = solver.solve()
    y = np.zeros(rows)
    dual = np.asarray(answer.z)
    y[soft] = s * dual[: soft.size]
    y[hard] = dual[soft.size : rows]
    return np.asarray(answer.x)[:cells], y


def _solve_run(problem: Problem) -> Solution:
    """Solve a batch of one run."""
    whole = Stack.of(problem)
    pinned, pins = pinned_cells(whole)
    open_ = np.flatnonzero(~pinned)
    stack = replace(whole, matrix=sp.csr_array(whole.matrix[:, open_]))
    # Rows that pin their cells have nothing left to say.
    stack = replace(stack, weight=np.where(pins, 0.0, stack.weight))
    stack = replace(stack, radius=np.where(pins, np.inf, stack.radius))

    def embed(x: Array, y: Array) -> Solution:
        full = np.zeros(pinned.size)
        full[open_] = x
        forced = np.where(np.isinf(whole.weight), 0.0, whole.weight) * -whole.target
        y = hold_pinned(whole, pins, np.where(pins, forced, y))
        return whole.solution(full, y)

    def miss(x: Array, y: Array) -> float:
        return certify(problem, embed(x, y)).worst

    x = np.zeros(open_.size)
    y = -stack.target * np.where(stack.equal, 0.0, stack.weight)
    best, least = embed(x, y), miss(x, y)
    for tolerance in _TOLERANCES:
        if not open_.size or least <= _GOAL:
            break
        x, y = _clarabel(stack, tolerance)
        if not np.isfinite(np.append(x, y)).all():  # where Clarabel lost its way
            continue
        x, y = polish(stack, x, y, miss)
        found = miss(x, y)
        if found < least:
            best, least = embed(x, y), found
    return best


def solve_conic(problem: Problem) -> Solution:
    """Solve any problem, one run after the other.

    Each run goes to Clarabel in sparse residual form, then through active-set steps that make it
    exact up to rounding; a run whose certificate is not good enough is solved again to a tighter
    tolerance. Cells that a constraint pins to zero are taken out first. Where the queries leave
    the table open, one of the optimal tables is returned.
    """
    runs = np.arange(problem.runs)
    return Solution.stack([_solve_run(problem.select(run)) for run in np.split(runs, runs.size)])
