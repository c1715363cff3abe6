"""One door to the solvers: the fast one where it applies, the general one where it must."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..exceptions import CertificateError
from .certificate import WORST_TOLERANCE, Certificate, certify
from .conic import solve_conic
from .problem import Problem, Solution
from .structured import solve_structured

Array = NDArray[np.float64]


def _replaced(solution: Solution, runs: NDArray[np.intp], new: Solution) -> Solution:
    def put(old: Array, other: Array) -> Array:
        mixed = old.copy()
        mixed[runs] = other
        return mixed

    y = tuple(put(a, b) for a, b in zip(solution.y, new.y, strict=True))
    return Solution(put(solution.x, new.x), y)


def solve(problem: Problem) -> tuple[Solution, Certificate]:
    """Solve a batch of problems, each run with its certificate (ours).

    Problems of known structure go to the batched dual Newton solver; a run that misses
    `WORST_TOLERANCE` is solved again by the conic solver, and so is every problem of another
    structure. Where a cell has no weight of its own the table may be left open: then the conic
    solver returns the optimal table of least norm, by a second stage that holds every answer.

    Parameters
    ----------
    problem
        Any problem.

    Returns
    -------
    Solution, Certificate
        Cells and multipliers, and what they prove; both of all runs.

    Raises
    ------
    CertificateError
        Runs that miss the tolerance with both solvers; the message names them.

    Examples
    --------
    >>> from microdata_price.optimize import Term
    >>> from microdata_price.model.queryset import QuerySet
    >>> term = Term(QuerySet.identity(2), np.array([[3.0, -1.0]]), np.ones((1, 2)))
    >>> solution, certificate = solve(Problem((term,)))
    >>> solution.x, certificate.worst
    (array([[3., 0.]]), 0.0)
    """
    solution = solve_structured(problem)
    if solution is None:
        solution = solve_conic(problem)
        certificate = certify(problem, solution)
    else:
        certificate = certify(problem, solution)
        missed = np.flatnonzero(certificate.per_run > WORST_TOLERANCE)
        if missed.size:
            solution = _replaced(solution, missed, solve_conic(problem.select(missed)))
            certificate = certify(problem, solution)
    missed = np.flatnonzero(~(certificate.per_run <= WORST_TOLERANCE))
    if missed.size:
        some = ", ".join(str(r) for r in missed[:10]) + (", ..." if missed.size > 10 else "")
        raise CertificateError(
            f"{missed.size} of {problem.runs} runs (numbers from 0: {some}) have no optimal answer "
            f"within {WORST_TOLERANCE:g}; the worst certificate is {certificate.worst:.2g}. The "
            "constraints may contradict each other"
        )
    return solution, certificate
