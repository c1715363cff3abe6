"""One door to the solvers: the fast ones first, the general one for what they miss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import CertificateError
from .boxed import cells_weigh
from .certificate import WORST_TOLERANCE, Certificate, certify
from .conic import solve_conic
from .least_norm import least_norm_problem
from .merge import merge
from .problem import Problem, Solution
from .proximal import solve_proximal
from .structured import solve_structured

Array = NDArray[np.float64]
Solved = tuple[Solution, Certificate]

_CONIC_CELLS = 10_000  # cells beyond which the conic solver may take minutes and gigabytes


def _settle(
    problem: Problem, solution: Solution, certificate: Certificate, counts: Array | float
) -> tuple[Solution, Certificate]:
    """Among the tables that answer every query as the solution does, take that of least norm."""
    good = np.flatnonzero(certificate.per_run <= WORST_TOLERANCE)
    if not good.size:
        return solution, certificate
    part = solution.select(good)
    nearest = least_norm_problem(problem.select(good), part, counts)
    settled = solve_structured(nearest)
    x = Solution(settled.x, part.y)
    proof = certify(problem.select(good), x).combine(certify(nearest, settled))
    return solution.replace_runs(good, x), certificate.replace_runs(good, proof)


def attempt(
    problem: Problem, least_norm: bool = True, near: Array | None = None
) -> tuple[Solution, Certificate]:
    """Solve by the fast solvers alone; a run that they miss has a certificate that says so.

    Cells that no query tells apart are merged first. Where the queries leave the table open, it
    becomes that of least norm, and the certificate is of both problems.
    """
    merged = merge(problem)
    small = problem if merged is None else merged.problem
    weigh = cells_weigh(small)
    if near is not None and merged is not None:
        near = merged.gather(near)
    solution = solve_structured(small) if weigh else solve_proximal(small, near)
    certificate = certify(small, solution)
    if least_norm and not weigh:
        counts = 1.0 if merged is None else merged.counts
        solution, certificate = _settle(small, solution, certificate, counts)
    if merged is None:
        return solution, certificate
    solution = merged.expand(solution)
    return solution, certificate.combine(certify(problem, solution))


def solve(problem: Problem, least_norm: bool = True, names: Any = None) -> Solved:
    """Solve a batch of problems, each run with its certificate.

    The fast solvers are asked first (see `attempt`); a run that misses `WORST_TOLERANCE` is solved
    again by the conic solver, and the certificate counts that; or, where the table is large and
    each cell weighs, with patience by the fast one alone.

    Parameters
    ----------
    problem, least_norm, names
        Any problem; whether a table that the queries leave open must be that of least norm (if only
        its answers matter, that stage is saved); what messages call the runs, else numbers from 0.

    Raises
    ------
    CertificateError
        Runs that miss the tolerance with both solvers; the message names them.

    Examples
    --------
    >>> from microdata_price.model.queryset import QuerySet
    >>> from microdata_price.optimize import Term
    >>> term = Term(QuerySet.identity(2), np.array([[3.0, -1.0]]), np.ones((1, 2)))
    >>> solution, certificate = solve(Problem((term,)))
    >>> solution.x, certificate.worst
    (array([[3., 0.]]), 0.0)
    """
    solution, certificate = attempt(problem, least_norm)
    missed = np.flatnonzero(~(certificate.per_run <= WORST_TOLERANCE))
    if missed.size:
        part = problem.select(missed)
        weigh = cells_weigh(part)
        patient = weigh and part.cells > _CONIC_CELLS and all(t.radius is None for t in part.terms)
        again = solve_structured(part, patient=True) if patient else solve_conic(part)
        proof = certify(part, again)
        if least_norm and not weigh:
            again, proof = _settle(part, again, proof, counts=1.0)
        solution = solution.replace_runs(missed, again)
        certificate = certificate.replace_runs(missed, proof if patient else proof.by_conic())
    if (missed := np.flatnonzero(~(certificate.per_run <= WORST_TOLERANCE))).size:
        called = missed if names is None else names[missed]
        some = ", ".join(map(str, called[:10])) + ", ..." * (missed.size > 10)
        raise CertificateError(
            f"{missed.size} of {problem.runs} runs (numbers from 0: {some}) have no optimal answer "
            f"within {WORST_TOLERANCE:g}; the worst certificate is {certificate.worst:.2g}. The "
            "constraints may contradict each other, or answers be too large, or too unequal in "
            "noise, for numbers of 64 bits: try another method, such as 'ols'"
        )
    return solution, certificate
