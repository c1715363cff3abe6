"""A linear program over private channels: the most that looking at single cells can prove.

A channel sends a count 0, ..., N of one cell to an output on the same range. Clipping to that range
and averaging over the cells turns every mechanism into such a channel, whose mean at count 0 is at
most D/d. The program finds the channel of least mean at 0 among all private and accurate ones, so
``D >= d`` times its value; the first-moment bound is a lower bound on it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from ...base.numbers import check_whole
from ...exceptions import CertificateError, InputError
from ...model.privacy import ApproximateDP, PureDP
from ..given import check_error

Array = NDArray[np.float64]

_LARGEST = 80  # counts at most; the time grows fast with them
_GAP = 1e-7  # the largest gap of a certificate that passes


class BestChannel(NamedTuple):
    """The channel of least mean at an empty cell, with a certificate.

    Parameters
    ----------
    value
        Its mean output at count 0, in counts.
    bound
        A lower bound on the mean of every channel, from the multipliers alone.
    channel
        Probabilities; row j is the law of the output at count j (in steps).
    step
        How many records one step of counts and outputs is.
    worst
        The largest of the primal residuals and of the relative gap between value and bound.
    """

    value: float
    bound: float
    channel: Array
    step: int
    worst: float


def suggested_step(epsilon: float) -> int:
    """Return how many records a step should be, so that the program stays small: about 0.4/eps."""
    return max(1, round(0.4 / epsilon))


def suggested_largest(epsilon: float, point_error: float, step: int) -> int:
    """Return an N, in steps, beyond which larger counts hardly matter: ``(C + 6/eps)/step``."""
    return min(max(math.ceil((point_error + 6 / epsilon) / step), 3), _LARGEST)


def best_channel(
    guarantee: PureDP | ApproximateDP, point_error: float, largest: int, step: int = 1
) -> BestChannel:
    """Return the private channel with least mean at count 0 among those with a given error.

    The channel is (epsilon, delta)-DP between counts one record apart and has an expected squared
    error of at most ``point_error^2`` at every count. With a step s only multiples of s are used,
    as counts and as outputs, and neighbouring ones are s records apart (by group privacy).
    """
    check_whole(largest, "N", 1, _LARGEST)
    check_whole(step, "the step")
    error = float(check_error(point_error, "point error")) / step
    loss, leak = guarantee.epsilon * step, min(guarantee.group_delta(step), 1.0)
    program = _Program(largest, math.exp(-min(loss, 600.0)), leak, error**2)
    solve: Any = optimize.linprog
    found = solve(
        program.cost,
        A_ub=program.matrix,
        b_ub=program.right,
        A_eq=program.sums,
        b_eq=np.ones(largest + 1),
        bounds=(0, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status == 2:
        raise InputError(
            f"no private channel on 0, ..., {largest} steps of {step} has a root error of "
            f"{point_error:g}; allow a larger one"
        )
    if found.status != 0 or found.x is None:
        raise CertificateError(f"the channel program was not solved: {found.message}")
    n = largest + 1
    law = np.maximum(found.x[: n * n].reshape(n, n), 0)
    bound = program.lagrange(np.maximum(-found.ineqlin.marginals, 0))
    value = float(law[0] @ np.arange(n))
    slack = program.right - program.matrix @ found.x
    residual = max(float(-slack.min()), float(np.abs(law.sum(axis=1) - 1).max()), 0.0)
    worst = max(residual, abs(value - bound) / max(value, 1e-300))
    if not worst <= _GAP:
        raise CertificateError(
            f"the channel program at a root error of {point_error:g} misses its certificate: "
            f"{worst:.1e} exceeds {_GAP:g}"
        )
    return BestChannel(value * step, bound * step, law, step, worst)


def channel_sum_error(
    guarantee: PureDP | ApproximateDP,
    point_error: float,
    largest: int,
    step: int = 1,
    *,
    whole: bool = True,
) -> float:
    """Return what the program proves about D, per cell: ``D >= d`` times this."""
    exact = whole and step == 1
    error = point_error if exact else math.hypot(point_error, step / 2)
    return best_channel(guarantee, error, largest, step).bound


class _Program:
    """The program in the form ``min cost x``, ``matrix x <= right``, rows summing to one, x >= 0.

    The first n^2 unknowns are the channel, row by row; with a leak there are as many slacks again
    for each direction, whose sums the leak bounds.
    """

    def __init__(self, largest: int, shrink: float, leak: float, square: float) -> None:
        n = largest + 1
        self.n, self.leak = n, leak
        y = np.arange(n)
        one = sparse.identity(n, format="csr")
        # p_j <= e^eps p_(j+1) and the reverse, divided by e^eps so that no entry is large.
        down = sparse.diags([shrink, -1.0], [0, 1], shape=(largest, n))
        up = sparse.diags([-1.0, shrink], [0, 1], shape=(largest, n))
        private = sparse.vstack([sparse.kron(down, one), sparse.kron(up, one)])
        squares = (y - y[:, None]) ** 2.0
        accurate: Any = sparse.block_diag([row.reshape(1, -1) for row in squares])
        self.pairs = 2 * largest
        slacks = self.pairs * n if leak > 0 else 0
        right = [np.zeros(2 * largest * n), np.full(n, square)]
        matrix = sparse.vstack([private, accurate])
        if slacks:
            taken = sparse.vstack([-sparse.identity(slacks), sparse.csr_matrix((n, slacks))])
            totals = sparse.kron(sparse.identity(self.pairs), np.ones((1, n)))
            none = sparse.csr_matrix((self.pairs, n * n))
            matrix = sparse.vstack([sparse.hstack([matrix, taken]), sparse.hstack([none, totals])])
            right.append(np.full(self.pairs, leak * shrink))
        self.matrix = sparse.csr_matrix(matrix)
        self.right = np.concatenate(right)
        self.cost = np.concatenate([y, np.zeros(n * n - n + slacks)]).astype(float)
        rows = sparse.kron(one, np.ones((1, n)))
        self.sums = sparse.hstack([rows, sparse.csr_matrix((n, slacks))], format="csr")

    def lagrange(self, multipliers: Array) -> float:
        """Bound the optimum from below by any nonnegative multipliers.

        The channel's rows are minimised over all laws. The slacks' multipliers are raised to the
        largest of the privacy constraints they serve, where the slacks' best value is zero.
        """
        n, size = self.n, self.n * self.n
        lam = multipliers.copy()
        if self.leak > 0:
            private = lam[: self.pairs * n].reshape(self.pairs, n)
            lam[-self.pairs :] = np.maximum(lam[-self.pairs :], private.max(axis=1))
        reduced = (self.cost + self.matrix.T @ lam)[:size].reshape(n, n)
        return float(reduced.min(axis=1).sum() - lam @ self.right)
