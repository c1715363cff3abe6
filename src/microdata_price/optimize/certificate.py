"""Certificates of optimality, computed from an answer and never from a solver's status."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .problem import Problem, Solution, Term

Array = NDArray[np.float64]

TOLERANCE = 1e-9
"""What a certificate meets as a rule."""
WORST_TOLERANCE = 1e-7
"""What a certificate must meet; a fit that misses it is an error."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """How far an answer is from optimal: three numbers a run, each relative to the run's scale.

    Parameters
    ----------
    primal
        Largest violation of a constraint, over the scale of counts.
    dual
        Largest violation of the gradient condition, over the scale of the gradient.
    gap
        Objective at the answer minus the dual bound at the multipliers, over the scale of the
        objective. The true optimum lies within it, up to the two residuals.

    Examples
    --------
    >>> z = np.zeros(2)
    >>> Certificate(z, z, np.array([0.0, 1e-12])).worst
    1e-12
    """

    primal: Array
    dual: Array
    gap: Array

    @property
    def per_run(self) -> Array:
        """The largest of the three numbers, shape (runs,)."""
        return np.maximum(np.maximum(self.primal, self.dual), self.gap)

    @property
    def worst(self) -> float:
        """The largest number of all runs."""
        return float(self.per_run.max())

    def combine(self, other: Certificate) -> Certificate:
        """Return the worse of two stages' certificates, run by run."""
        return Certificate(
            np.maximum(self.primal, other.primal),
            np.maximum(self.dual, other.dual),
            np.maximum(self.gap, other.gap),
        )


def _dual_value(term: Term, y: Array) -> Array:
    """Return ``-(y . target + h*(y))`` summed over queries, h the term's convex penalty.

    For a finite weight w and radius t the conjugate of ``h(r) = w r^2 / 2`` on ``|r| <= t`` is
    ``y^2 / (2 w)`` while ``|y| <= w t`` and ``|y| t - w t^2 / 2`` beyond; for an equality it is 0.
    A weight of 0 without a bound allows y = 0 only; such a y enters the dual residual instead.
    """
    w = term.weight
    equal = np.isinf(w)
    safe = np.where(equal | (w == 0), 1.0, w)
    conj = np.where(equal | (w == 0), 0.0, y * y / (2 * safe))
    if term.radius is not None:
        bounded = np.isfinite(term.radius) & ~equal
        t = np.where(bounded, term.radius, 0.0)
        past = bounded & (np.abs(y) > w * t)
        finite = np.where(equal, 0.0, w)
        conj = np.where(past, np.abs(y) * t - finite * t * t / 2, conj)
    return np.asarray(-(y * term.target + conj).sum(axis=1))


def certify(problem: Problem, solution: Solution) -> Certificate:
    """Certify an answer: constraint violations, gradient violations and the duality gap (ours).

    With ``g = sum_k y_k u_k`` (one value a cell) the dual of the problem is to maximise
    ``-sum_k (y_k target_k + h_k*(y_k))`` subject to ``g >= 0`` (``g = 0`` without the sign
    constraint). The scales, one a run: for counts, 1 plus the largest absolute target or cell;
    for the gradient, the largest finite weight times that plus the largest multiplier; for the
    objective, their product plus the objective's own value.

    Parameters
    ----------
    problem
        What was to be solved.
    solution
        An answer; where a term's weight is finite and it has no bounds, its multipliers are
        replaced by ``weight * residual``, so that only the others are taken on trust.

    Returns
    -------
    Certificate
        All zero for an exact answer; NaN in an answer counts as infinitely bad.
    """
    x = solution.x
    runs = problem.runs
    primal = np.zeros(runs)
    if problem.nonnegative:
        primal = np.maximum(primal, -x.min(axis=1))
    gradient = np.zeros_like(x)
    objective = np.zeros(runs)
    dual_objective = np.zeros(runs)
    count_scale = 1.0 + np.abs(x).max(axis=1)
    weight_scale = np.zeros(runs)
    force_scale = np.zeros(runs)
    stray = np.zeros(runs)
    for term, y in zip(problem.terms, solution.y, strict=True):
        r = term.queries.answers(x) - term.target
        equal = np.isinf(term.weight)
        w = np.where(equal, 0.0, term.weight)
        if term.radius is None:
            y = np.where(equal, y, w * r)
        else:
            primal = np.maximum(primal, np.where(equal, 0.0, np.abs(r) - term.radius).max(axis=1))
        primal = np.maximum(primal, np.where(equal, np.abs(r), 0.0).max(axis=1))
        objective += (w * r * r).sum(axis=1) / 2
        dual_objective += _dual_value(term, y)
        gradient += term.queries.spread(y)
        count_scale = np.maximum(count_scale, 1.0 + np.abs(term.target).max(axis=1))
        weight_scale = np.maximum(weight_scale, w.max(axis=1))
        force_scale = np.maximum(force_scale, np.abs(y).max(axis=1))
        if term.radius is not None:
            free = (w == 0) & ~equal & ~np.isfinite(term.radius)
            stray = np.maximum(stray, np.where(free, np.abs(y), 0.0).max(axis=1))
    dual = -gradient.min(axis=1) if problem.nonnegative else np.abs(gradient).max(axis=1)
    dual = np.maximum(np.maximum(dual, 0.0), stray)
    gradient_scale = weight_scale * count_scale + force_scale
    gradient_scale = np.where(gradient_scale > 0, gradient_scale, 1.0)
    objective_scale = gradient_scale * count_scale + objective
    parts = (
        np.maximum(primal, 0.0) / count_scale,
        dual / gradient_scale,
        np.abs(objective - dual_objective) / objective_scale,
    )
    return Certificate(*(np.where(np.isnan(p), np.inf, p) for p in parts))
