"""Sequential fitting: the paper's Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ..model.measurement import Measurements
from ..model.queryset import QuerySet
from ..optimize import (
    WORST_TOLERANCE,
    Certificate,
    Problem,
    Solution,
    Term,
    attempt,
    certify,
    solve,
)
from ..optimize.simplex import grid_of, project_groups
from .fit import Fit, finish, held, weighted
from .refinement import Answered, determined, relabel, strongest

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage of sequential fitting."""

    queries: QuerySet  # that is fitted
    answers: Array  # as fitted, shape (runs, queries), in counts
    certificate: Certificate  # each run's distance from the stage's optimum


def _fit_stage(
    queries: QuerySet, given: Array, variance: float, earlier: list[Stage], table: Array | None
) -> tuple[Stage, Array | None]:
    """Fit one query set with the answers to the earlier ones, which a known table has, held.

    If no earlier set has a finer partition, the answers may be anything that adds up to theirs, so
    they are fitted as the cells of a smaller table: by projections on simplexes, or by a solver.
    """
    answered = [(s.queries, s.answers) for s in earlier]
    known = determined(queries, answered)
    if known is not None:
        exact = np.zeros(given.shape[0])
        return Stage(queries, known, Certificate(exact, exact, exact)), table
    smaller = relabel(queries, answered)
    if smaller is None:
        fitted = weighted(queries, given, variance)
        x, certificate = _solve_holding(strongest(answered), fitted, table, least_norm=False)
        return Stage(queries, fitted.answers(x), certificate), x
    cells, limits = smaller
    limits = strongest(limits)
    fitted = weighted(cells, given, variance)
    if len(limits) > 1:
        # A smaller table is another one than that which is known.
        x, certificate = _solve_holding(limits, fitted, table if cells is queries else None)
    else:
        solution = _project(given, variance, limits)
        x, certificate = solution.x, certify(_holding(limits, fitted), solution)
    return Stage(queries, x, certificate), x if cells is queries else None


def _holding(limits: list[Answered], fitted: Term) -> Problem:
    return Problem((*(held(q, a) for q, a in limits), fitted))


def _solve_holding(
    limits: list[Answered], fitted: Term, table: Array | None, least_norm: bool = True
) -> tuple[Array, Certificate]:
    """Fit a term with answers held; return the cells and their certificate.

    Answers found by several solvers contradict each other a little, so no table has them, and
    Newton's method would take long steps for nothing. A table of the stage before has them up to
    its certificate: its own answers, which agree to the last bits, are held in their place. The
    problem as given is certified, and a run that misses is solved as given.
    """
    problem = _holding(limits, fitted)
    if table is None:
        solution, certificate = solve(problem, least_norm)
        return solution.x, certificate
    agreeing = [(q, held(q, a).answers(table)) for q, a in limits]
    solution, certificate = attempt(_holding(agreeing, fitted), least_norm, near=table)
    certificate = certificate.combine(certify(problem, solution))
    missed = np.flatnonzero(~(certificate.per_run <= WORST_TOLERANCE))
    if missed.size:  # all runs, so that an error names them rightly; it is rare
        again, proof = solve(problem, least_norm)
        solution = solution.replace_runs(missed, again.select(missed))
        certificate = certificate.replace_runs(missed, proof.select(missed))
    return solution.x, certificate


def _project(given: Array, variance: float, limits: list[Answered]) -> Solution:
    """Fit cells to noisy answers where the sums of some disjoint groups are held, if any."""
    if not limits:
        x = np.maximum(given, 0.0)
        # Answers that add up without rounding, so that no later stage finds a contradiction.
        unit = grid_of(x.sum(axis=1, keepdims=True))
        x = np.rint(x / unit) * unit
        return Solution(x, ((x - given) / variance,))
    groups, totals = limits[0]
    x, threshold = project_groups(given, groups.labels, totals)
    force = threshold / variance
    return Solution(x, (force, np.where(x > 0, -groups.spread(force), (x - given) / variance)))


def sequential_stages(m: Measurements) -> tuple[Stage, ...]:
    """Return the stages of sequential fitting in their order (the paper's Algorithm 1).

    Where the workload leaves the table open a last stage fits the cells to 0: the table of least
    norm with all the answers fitted before.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> from microdata_price.model.workload import Workload
    >>> m = Measurements(Workload.table(2), ([[9.0]], [[8.0, -4.0]]), (Laplace(8), Laplace(8)))
    >>> [s.answers.tolist() for s in sequential_stages(m)]
    [[[9.0]], [[9.0, 0.0]]]
    """
    stages: list[Stage] = []
    table: Array | None = None
    sets = zip(m.workload.query_sets, m.answers, m.variances, strict=True)
    for queries, given, variance in sets:
        stage, table = _fit_stage(queries, given, variance, stages, table)
        stages.append(stage)
    if all(s.queries.size < s.queries.cells for s in stages):
        cells = QuerySet.identity(m.workload.shape, "least norm")
        stages.append(_fit_stage(cells, np.zeros((m.runs, cells.size)), 1.0, stages, table)[0])
    return tuple(stages)


def fit_sequential(m: Measurements) -> Fit:
    """Fit by sequential fitting (the paper's Algorithm 1).

    Query sets are fitted in the order of the workload, each by nonnegative least squares with the
    answers to all earlier ones held exactly, and without a solver where the structure allows it.
    `sequential_stages` shows the steps.
    """
    stages = sequential_stages(m)
    certificate = reduce(Certificate.combine, (s.certificate for s in stages))
    last = next(s for s in stages if s.queries.size == s.queries.cells)
    return finish("sequential", m, last.queries.spread(last.answers), certificate)
