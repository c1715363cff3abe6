"""The sum beside the best cells: clipped counts, mapped at random, so that the sum errs least.

M_epsilon is not optimal: small noisy counts sent to 0 and some raised give every cell the same
worst error and a sum that errs a third less. The map ``T`` is a linear program's; beyond its
support nothing changes, and what it does to the errors of large counts is an affine function of the
count times ``e^(-epsilon count)``, so that finitely many constraints hold for all counts.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from ...exceptions import CertificateError
from ...model.privacy import ConcentratedDP, PureDP, check_epsilon, check_guarantee, check_rho
from ..given import check_error, check_points

Array = NDArray[np.float64]

_SUPPORT = 8.0  # times 1/epsilon: the largest count that is mapped
_LARGEST = 5.0  # epsilon above which small counts are never noisy
_ROUNDS = 30
_HIGHER, _TINY = 9, 1e-300  # how far beyond it outputs go; as good as no weight
_REACH = ((4.5, 2), (8.0, 4), (12.0, 12))  # deviations, and more: mapped, bounded, summed (zCDP)
_FEW = 3  # how far a count is moved, if not to 0 (zCDP)
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_RAISED = 1e-3  # the chance to raise the largest count that is mapped, under zCDP
LEVELS = {"pure": (0.04, _LARGEST), "zcdp": (0.002, 0.5)}
"""Of epsilon and rho: below the first the program is too large, above the second none is better."""


class Remap(NamedTuple):
    """A random map of clipped noisy counts, and what it does to every count.

    A row of ``law`` holds the chances of the outputs 0, 1, ... for a noisy count up to A; larger
    ones stay. Bias and variance are one cell's at the counts 0, ..., A, beyond which the bias is
    smaller; ``worst`` is a cell's largest expected squared error over all counts.
    """

    law: Array
    bias: Array
    variance: Array
    worst: float

    @property
    def C(self) -> float:
        """The root of the worst cell's expected squared error, in counts."""
        return math.sqrt(self.worst)

    def D(self, d: float | Array) -> Array:
        """Return the sum's root error on its worst table of d cells, all of which are alike.

        The error ``(sum of biases)^2 + sum of variances`` is convex in the numbers of cells that
        hold each count.
        """
        n = np.asarray(check_points(d))[..., None]
        square = n**2 * self.bias**2 + n * self.variance
        return np.asarray(np.sqrt(np.maximum(square.max(axis=-1), n[..., 0] * self.worst)))


@functools.cache
def best_map(epsilon: float, point_error: float | None = None) -> Remap:
    """Return the map of M_epsilon's output that gives the sum the least error beside good cells.

    It minimises the largest bias of a cell among maps whose expected squared error is at most
    ``point_error^2`` at every count. Where that is M_epsilon's own no mechanism with whole outputs
    does better in the limit of many cells.

    Examples
    --------
    >>> found = best_map(0.5)
    >>> found.law[:3, 0].round(6).tolist(), round(float(np.abs(found.bias).max()) * 0.5, 4)
    ([1.0, 1.0, 1.0], 0.3225)
    """
    eps = check_epsilon(epsilon)
    q = math.exp(-eps)
    V, lift = 2 * q / (1 - q) ** 2, 2 * q / (1 - q**2)
    extra = 0.0 if point_error is None else float(check_error(point_error, "error")) ** 2 - V
    if eps > _LARGEST:  # nothing to gain
        law, at = np.eye(2), np.array([1.0, q])
        square = V - at * (V / 2 + np.arange(2) * lift)
        return Remap(law, at * lift / 2, square - (at * lift / 2) ** 2, V)
    A = math.ceil(_SUPPORT / eps)
    j = np.arange(A + 1)
    # Chances of the noisy count a (rows) at the count j, times e^(eps j); slope where j > A.
    heavy = (1 - q) / (1 + q) * np.exp(eps * (j - np.abs(j[:, None] - j)))
    heavy[0] = 1 / (1 + q)
    plain = heavy * q**j
    spare = max(extra, 0.0) * np.exp(eps * j)
    room, rise = V / 2 + j * lift + spare, lift + eps * float(spare[-1])
    columns = {(a, y) for a in range(A + 1) for y in {0, max(a - 1, 0), a + 1}} - {(0, 0)}
    before = q**j * lift / 2
    for _ in range(_ROUNDS):
        a, y = np.array(sorted(columns)).T
        moved = (y - a)[:, None].astype(float)
        error = heavy[a] * moved * ((y + a)[:, None] - 2.0 * j) / room
        pull = -2 * heavy[a, -1] * (y - a)
        chances, prices = _least_bias(
            a, error, np.ones(j.size), pull, rise, plain[a] * moved, before
        )
        # The reduced cost of a column is quadratic in y.
        flat, slope = heavy @ (prices[0] / room), heavy @ (prices[0] / room * -2 * j)
        slope += plain @ prices[2] - 2 * heavy[:, -1] * prices[1]
        best = np.where((flat > 0) | (slope != 0), -slope / np.maximum(2 * flat, _TINY), j)
        around = np.clip(np.stack([np.floor(best), np.ceil(best)]), 0, A + _HIGHER).astype(int)
        new = {(k, int(v)) for row in around for k, v in enumerate(row) if k != v} - columns
        if not new:
            break
        columns |= new
    law = _law(a, y, chances, A)
    out = np.arange(law.shape[1])
    first, second = law @ out, law @ out**2
    bias = before + plain.T @ (first - j)
    # What the map adds to a count's squared error, times e^(eps j): affine in j from A on.
    added = heavy.T @ (second - j**2) - 2 * j * (heavy.T @ (first - j)) - (V / 2 + j * lift)
    square = V + q**j * added
    return Remap(law, bias, square - bias**2, max(V, float(square.max())))


def map_at(guarantee: PureDP | ConcentratedDP, point_error: float | None = None) -> Remap | None:
    """Return `best_map` or `best_gaussian_map`; None at a level at which neither is computed."""
    zcdp = isinstance(check_guarantee(guarantee, PureDP, ConcentratedDP), ConcentratedDP)
    low, high = LEVELS["zcdp" if zcdp else "pure"]
    if not low <= guarantee.level <= high:
        return None
    return (best_gaussian_map if zcdp else best_map)(guarantee.level, point_error)


def _law(a: NDArray[np.intp], y: NDArray[np.intp], chances: Array, A: int) -> Array:
    law, own = np.zeros((A + 1, int(y.max()) + 1)), np.arange(A + 1)
    law[a, y] = np.maximum(chances, 0)
    law[own, own] = np.maximum(1 - law.sum(axis=1), 0)
    return np.asarray(law / law.sum(axis=1, keepdims=True))


@functools.cache
def best_gaussian_map(rho: float, point_error: float | None = None) -> Remap:
    """Return a map of M_rho's output that gives the sum less error beside equally good cells.

    As `best_map`, with the constraints of all counts at which they matter, to the solver's 1e-9;
    whether a better mechanism exists is open. The largest count that is mapped is raised with a
    small chance: at far counts this outweighs what the map does to smaller ones, as their chances
    fall faster.

    Examples
    --------
    >>> found = best_gaussian_map(0.125)
    >>> round(float(np.abs(found.bias).max()), 3), round(found.C, 6)
    (0.711, 2.0)
    """
    sigma2 = 1 / (2 * check_rho(rho))
    A, J, top = np.cumsum([math.ceil(k * math.sqrt(sigma2)) + more for k, more in _REACH])
    j, far = np.arange(J + 1), np.arange(1, top)
    tail = np.exp(-(far**2) / (2 * sigma2)) / (1 + 2 * np.exp(-(far**2) / (2 * sigma2)).sum())
    V = float(2 * (far**2 @ tail))
    over = far - j[:, None]
    beyond = np.where(over > 0, tail, 0.0)
    before, lifted = (beyond * over).sum(1), (beyond * over * (far + j[:, None])).sum(1)
    a = np.arange(A + 1)
    law = np.exp(-((a[:, None] - j) ** 2) / (2 * sigma2)) * tail[0] * math.exp(1 / (2 * sigma2))
    law[0] += beyond.sum(1)
    extra = 0.0 if point_error is None else float(check_error(point_error, "error")) ** 2 - V
    columns = [(k, k + x) for k in range(A + 1) for x in range(-min(k, _FEW), _FEW + 1) if x]
    columns += [(k, 0) for k in range(_FEW + 1, A + 1)]
    k, y = np.array(columns).T
    moved = (y - k)[:, None].astype(float)
    error = law[k] * moved * ((y + k)[:, None] - 2.0 * j)
    size = np.abs(error).max(axis=0)
    up = np.where((k == A) & (y == A + 1), -1.0, 0.0)
    room = (lifted + max(extra, 0.0)) / size
    chances, _ = _least_bias(k, error / size, room, up, -_RAISED, law[k] * moved, before)
    found = _law(k, y, chances, A)
    out = np.arange(found.shape[1])
    first, second = found @ out, found @ out**2
    bias = before + law.T @ (first - a)
    square = law.T @ (second - a**2) - 2 * j * (law.T @ (first - a)) - lifted + V
    return Remap(found, bias, square - bias**2, max(V, float(square.max())))


def _least_bias(
    a: NDArray[np.intp],
    error: Array,
    room: Array,
    row: Array,
    most: float,
    bias: Array,
    before: Array,
) -> tuple[Array, tuple[Array, float, Array]]:
    """Return the chances of the columns, and prices of errors, of one more row and of biases."""
    one = np.zeros((int(a.max()) + 1, a.size + 1))
    one[a, np.arange(a.size)] = 1
    t = np.ones((before.size, 1))
    rows = [np.hstack([error.T, 0 * t]), np.append(row, 0.0)[None]]
    rows += [np.hstack([bias.T, -t]), np.hstack([-bias.T, -t]), one]
    right = [room, np.array([most]), -before, before, np.ones(len(one))]
    solve: Any = optimize.linprog
    found = solve(
        np.append(np.zeros(a.size), 1.0),
        A_ub=sparse.csr_array(np.vstack(rows)),
        b_ub=np.concatenate(right),
        method="highs-ds",
        options=_OPTIONS,
    )
    if found.x is None:
        raise CertificateError(f"the program of the map was not solved: {found.message}")
    errors, price, up, down, _ = np.split(
        -found.ineqlin.marginals, np.cumsum([len(r) for r in right[:-1]])
    )
    return found.x[:-1], (errors, float(price[0]), up - down)
