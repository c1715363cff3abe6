r"""Certificates of optimality, computed from an answer and never from a solver's status.

The problem and its Fenchel dual, with the queries' matrix U, targets b and
:math:`h_k(r) = w_k r^2 / 2`, infinite beyond a radius:

.. math::

    \min_{x \ge 0} \; \sum_k h_k(u_k \cdot x - b_k), \qquad\qquad
    \max_{U'y \ge 0} \; - \sum_k \bigl( y_k b_k + h_k^*(y_k) \bigr) .

For any x and y the first is at least the second; where they agree both are optimal. `certify` says
by how much they differ, and by how much x and y violate their constraints.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..base.batch import Batch
from .problem import AnyTerm, Problem, Solution, Term, columns, divisor

Array = NDArray[np.float64]

TOLERANCE = 1e-9
"""Tolerance that a certificate meets as a rule."""
WORST_TOLERANCE = 1e-7
"""Tolerance that a certificate must meet; a fit that misses it is an error."""
ROUNDING = 1e-5
"""The part of the largest count that joins the noise in the scale of counts.

Numbers of 64 bits resolve a count to about 1e-16 of itself, so no answer can be exact to 1e-9 of a
noise that is smaller than 1e-7 of the counts; with this allowance `TOLERANCE` asks for 1e-14 of
the largest count or 1e-9 of the noise, whichever is more.
"""


UNEQUAL, RESOLVED = 1e4, 1e-4
"""How much stronger terms may be before a nonnegative answer is judged by the weakest of them.

Beside a query set with a million times less noise, a gradient that is small for that one may be
all there is of a noisy one. So no force's scale is above `UNEQUAL` times that of the weakest term
plus `RESOLVED` times the largest force, of which numbers of 64 bits resolve a part in 1e16.
"""


@dataclass(frozen=True, eq=False)
class Certificate(Batch):
    """Distance of an answer from its optimum: three numbers a run, relative to the run's scale.

    Examples
    --------
    >>> z = np.zeros(2)
    >>> Certificate(z, z, np.array([0.0, 1e-12])).worst
    1e-12
    """

    by_run = ("primal", "dual", "gap", "conic")

    primal: Array  # largest violation of a constraint, over the scale of counts
    dual: Array  # largest violation of the gradient condition, over the scale of the gradient
    # Objective at the answer minus the dual bound at the multipliers, over the scale of the
    # objective. The true optimum lies within it, up to the two residuals.
    gap: Array
    # How many of the run's problems the fast solvers missed, so that the conic solver was asked; a
    # count for the record, no part of the proof.
    conic: Array | float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "conic", np.broadcast_to(self.conic, self.gap.shape))

    def by_conic(self) -> Certificate:
        """Return this certificate as of answers that the conic solver gave."""
        return replace(self, conic=1.0)

    @property
    def conic_calls(self) -> int:
        """Number of problems that the conic solver was asked, over all runs."""
        return int(np.sum(self.conic))

    @property
    def per_run(self) -> Array:
        """The largest of the three numbers, shape (runs,)."""
        return np.maximum(np.maximum(self.primal, self.dual), self.gap)

    @property
    def worst(self) -> float:
        """The largest number of all runs."""
        return float(self.per_run.max())

    def combine(self, other: Certificate) -> Certificate:
        """Return the worse of two stages' certificates, run by run, and both their conic calls.

        >>> one, two = (Certificate(*np.array([v]).T) for v in ((1, 5, 2, 1), (4, 3, 6, 2)))
        >>> both = one.combine(two)
        >>> [int(part[0]) for part in (both.primal, both.dual, both.gap, both.conic)]
        [4, 5, 6, 3]
        """
        return Certificate(
            np.maximum(self.primal, other.primal),
            np.maximum(self.dual, other.dual),
            np.maximum(self.gap, other.gap),
            self.conic + other.conic,
        )


@dataclass(frozen=True, eq=False)
class _Parts:
    """One term's share: residuals relative to their scales, and parts of the objective."""

    primal: Array
    dual: Array
    gap: Array
    objective: Array
    force: Array
    force_scale: Array  # one column where it is the same for all of a run's queries


def _over(term: AnyTerm, values: Array) -> Array:
    """Give each cell its queries' value (or a run's one), to broadcast against (runs, *shape)."""
    if isinstance(term, Term):
        queries = term.queries
    else:
        queries, values = term.base, term.members * values
    if queries.axes is None:
        each = np.broadcast_to(values, (values.shape[0], queries.size))
        return queries.spread(each).reshape(len(each), *queries.shape)
    if values.shape[1] == 1:  # a marginal counts every cell
        return values.reshape(len(values), *(1 for _ in queries.shape))
    sides = (n if a in queries.axes else 1 for a, n in enumerate(queries.shape))
    return values.reshape(len(values), *sides)


def _largest(values: Array, scale: Array) -> Array:
    """Return each run's largest ``values / scale``, by one division a run where that will do."""
    if scale.shape[1] == 1:
        return np.asarray(values.max(axis=1) / scale[:, 0])
    return np.asarray((values / scale).max(axis=1))


def _half_square(weight: Array, values: Array) -> Array:
    """Return each run's sum of ``weight values^2 / 2``, in one array of their size."""
    squares = weight * values
    squares *= values
    return np.asarray(squares.sum(axis=1) / 2)


def _is_plain(term: AnyTerm, w: Array) -> bool:
    """Return whether a term has positive finite weights and no bounds."""
    return term.radius is None and bool(w.min() > 0) and bool(w.max() < np.inf)


def _scales(problem: Problem) -> tuple[Array, Array]:
    """Return each run's largest count asked for and its least noise, shapes (runs, 1)."""
    count = np.zeros((problem.runs, 1))
    weight = np.zeros((problem.runs, 1))
    for term in problem.terms:
        w = columns(term.weight)
        target = np.abs(term.target)
        if not _is_plain(term, w):
            if term.radius is None:
                target = np.where(w == 0, 0.0, target)
            w = np.where(np.isinf(w), 0.0, w)
        count = np.maximum(count, target.max(axis=1, keepdims=True))
        weight = np.maximum(weight, w.max(axis=1, keepdims=True))
    noise = np.where(weight > 0, 1 / np.sqrt(divisor(weight)), 0.0)
    return count, noise


def _certify_term(term: AnyTerm, x: Array, y: Array, count: Array, least: Array) -> _Parts:
    """Measure one term at an answer; ``least`` is the run's scale of counts."""
    w = columns(term.weight)
    r = term.answers(x) - term.target
    primal = np.zeros(x.shape[0])
    if _is_plain(term, w):
        scale = 1 / np.sqrt(w) + ROUNDING * count
        force_scale = w * scale
        away = y / w - r
        dual = _largest(np.abs(away), scale)
        gap = _half_square(w, away)
    else:
        equal = np.isinf(w)
        positive = (w > 0) & ~equal
        safe = np.where(positive, w, 1.0)
        scale = np.where(positive, 1 / np.sqrt(safe) + ROUNDING * count, least)
        force_scale = np.where(positive, safe * scale, 0.0)
        t = np.where(equal, 0.0, np.inf if term.radius is None else term.radius)
        sign = np.where(y < 0, -1.0, 1.0)
        over = np.abs(r) - t
        primal = _largest(np.maximum(over, 0.0), scale)
        at_bound = np.where(positive, np.abs(y) > safe * t, np.isfinite(t) & (y != 0))
        t = np.where(np.isfinite(t), t, 0.0)  # used at a bound only
        away = np.where(positive, np.where(at_bound, sign * t, y / safe) - r, 0.0)
        # An unweighted query without a bound can carry no force.
        stray = np.where((w == 0) & ~at_bound, np.abs(y), 0.0)
        dual = _largest(np.abs(away), scale)
        finite = np.where(positive, w, 0.0)
        inside = finite / 2 * away * away + stray * np.abs(r)
        bound = np.abs((t - sign * r) * (np.abs(y) - finite * (t + sign * r) / 2))
        gap = np.where(at_bound, bound, inside).sum(axis=1)
        force_scale = force_scale + np.where(at_bound | equal, ROUNDING * np.abs(y), 0.0)
        dual = np.maximum(dual, stray.max(axis=1) / divisor(force_scale.max(axis=1)))
        w = finite
    return _Parts(primal, dual, gap, _half_square(w, r), y, force_scale)


def _fill_uncovered(problem: Problem, allowed: Array, floor: Array) -> Array:
    """Give cells that only equalities and bounds count, maybe with forces of 0, a force's scale."""
    soft = [(w > 0) & np.isfinite(w) for w in (columns(t.weight) for t in problem.terms)]
    if any(t.size == problem.cells and k.all() for t, k in zip(problem.terms, soft, strict=True)):
        return allowed
    covered = np.zeros((problem.runs, problem.cells), dtype=bool)
    for term, k in zip(problem.terms, soft, strict=True):
        covered |= term.spread(np.broadcast_to(k, (problem.runs, term.size)).astype(float)) > 0
    return np.where(covered, allowed, np.maximum(allowed, floor))


def certify(problem: Problem, solution: Solution) -> Certificate:
    r"""Certify an answer: constraint violations, gradient violations and the duality gap.

    With :math:`g = U'y`, 0 or more where the cells are, primal minus dual is

    .. math:: \sum_k [h_k(r_k) + h_k^*(y_k) - y_k r_k] + g \cdot x,

    a sum of numbers that are 0 or more, so nothing cancels however large the counts are.

    The scales are of the data and the noise, not of the answer. With M the run's largest absolute
    target and ``noise_k = weight_k ** -0.5``, query k's scale of counts is
    ``noise_k + ROUNDING * M``; equalities and signs use the least of these. The scale of a force
    on query k is its weight times that (plus ``ROUNDING`` times the force itself at an equality or
    a bound), and a cell's gradient has the largest scale of the queries that count it (of all
    queries, if only equalities and bounds count it). The scale of the objective is the objective
    plus the largest scale of a force times M plus the least noise.

    Any answer with any multipliers is judged. All three numbers are zero for an exact one, and
    infinite for NaN: ``primal`` holds signs, equalities and bounds; ``dual`` holds ``g`` and how
    far a residual is from the one that its multiplier asks for.

    Examples
    --------
    >>> from microdata_price.model.queryset import QuerySet
    >>> from microdata_price.optimize import Term
    >>> q = QuerySet.identity(2)
    >>> problem = Problem((Term(q, np.array([[4.0, -2.0]]), np.full((1, 2), 0.25)),))
    >>> certify(problem, Solution(np.array([[4.0, 0.0]]), (np.array([[0.0, 0.5]]),))).worst
    0.0
    >>> certify(problem, Solution(np.array([[4.0, 0.1]]), (np.array([[0.0, 0.5]]),))).worst > 1e-3
    True
    """
    with np.errstate(invalid="ignore", over="ignore"):  # an answer may be infinite or NaN
        return _certify(problem, solution)


def _certify(problem: Problem, solution: Solution) -> Certificate:
    x = solution.x
    count, noise = _scales(problem)
    least = divisor(noise + ROUNDING * count)
    parts = [
        _certify_term(term, x, y, count, least)
        for term, y in zip(problem.terms, solution.y, strict=True)
    ]
    primal = np.max([p.primal for p in parts], axis=0)
    dual = np.max([p.dual for p in parts], axis=0)
    fall = np.zeros_like(x)  # minus the gradient: where it is positive, a sign does not hold it
    table = fall.reshape(problem.runs, *problem.shape)
    scales: Array = np.zeros((1,) * table.ndim)  # as small as it can be, to broadcast
    # The largest force that noise makes: that of the least noise, 1 if nothing is noisy.
    floor = np.where(noise > 0, least / divisor(noise) ** 2, 1.0)
    largest, weakest, force = floor[:, 0], np.full(problem.runs, np.inf), np.zeros(problem.runs)
    for term, part in zip(problem.terms, parts, strict=True):
        np.subtract(table, _over(term, part.force), out=table)
        scales = np.maximum(scales, _over(term, part.force_scale))
        strength = part.force_scale.max(axis=1)
        largest = np.maximum(largest, strength)
        w = columns(term.weight)
        plain = (w.min(axis=1) > 0) & (w.max(axis=1) < np.inf)
        weakest = np.where(plain, np.minimum(weakest, strength), weakest)
        force = np.maximum(force, np.abs(part.force).max(axis=1))
    most = np.where(problem.nonnegative, UNEQUAL * weakest + RESOLVED * force, np.inf)
    largest = np.minimum(largest, most)
    if scales[0].size > 1:
        scales = np.broadcast_to(scales, table.shape)
    allowed = _fill_uncovered(problem, scales.reshape(problem.runs, scales[0].size), floor)
    if (most < np.inf).any():
        allowed = np.minimum(allowed, most[:, None])
    if problem.nonnegative:
        primal = np.maximum(primal, -x.min(axis=1) / least[:, 0])
        dual = np.maximum(dual, _largest(fall, allowed))
    else:
        dual = np.maximum(dual, _largest(np.abs(fall), allowed))
    objective = np.sum([p.objective for p in parts], axis=0)
    np.multiply(fall, x, out=fall)
    gap = np.sum([p.gap for p in parts], axis=0) + np.abs(fall, out=fall).sum(axis=1)
    scale = objective + largest * (count + noise)[:, 0]
    results = (primal, dual, gap / divisor(scale))
    return Certificate(*(np.where(np.isnan(p), np.inf, p) for p in results))
