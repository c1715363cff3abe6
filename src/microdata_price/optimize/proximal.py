r"""Problems whose cells have no weights of their own: the proximal point method.

The dual Newton method needs a weight on every cell, since the cells are read off the multipliers.
Where one has none, as in a table asked for its margins only, each step of the proximal point method
adds weights that vanish at the solution:

.. math:: x^{k+1} = \arg\min_{x \ge 0} \; f(x) + \tfrac{\tau}{2} \lVert x - x^k \rVert^2 .

The multipliers of this problem are nearly those of the problem itself: only the gradient in x is
off, by :math:`\tau (x^{k+1} - x^k)`. So each step's answer is certified against the problem itself,
with the multipliers of all its terms but the proximal one, and the steps end when that certificate
is good. The method is that of Rockafellar, "Monotone operators and the proximal point algorithm",
SIAM Journal on Control and Optimization 14 (1976), 877-898. A small :math:`\tau` takes few steps,
but makes the Newton systems harder and the cells, multipliers over :math:`\tau`, less exact. So it
begins near the weights and falls from step to step, each starting from the multipliers of the one
before. Early steps need not be solved exactly (his criterion A).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model.queryset import QuerySet
from .certificate import certify
from .problem import Problem, Solution, Term, divisor
from .structured import Plan, in_blocks, make_plan, solve_planned
from .tuning import TUNING

Array = NDArray[np.float64]


def _with_cells(problem: Problem, x: Array, tau: Array) -> Problem:
    """Add the proximal term, last."""
    cells = QuerySet.identity(problem.shape, "proximal")
    term = Term(cells, x, np.broadcast_to(tau[:, None], x.shape))
    return Problem((*problem.terms, term), problem.nonnegative)


def _proximal_weights(problem: Problem) -> Array:
    """Return the proximal weights to begin with, shape (runs,): between light and heavy terms."""
    logs, many = np.zeros(problem.runs), np.zeros(problem.runs)
    for term in problem.terms:
        w = np.where(np.isinf(term.weight), 0.0, term.weight).max(axis=1)
        logs += np.log(divisor(w))
        many += w > 0
    return np.asarray(TUNING.proximal * np.exp(logs / np.maximum(many, 1)))


def _solve_block(first: Problem, plan: Plan) -> Solution:
    """Take proximal steps in every run of a block until its certificate is good.

    The steps begin at the target of the last term, the proximal one, which each replaces.
    """
    problem, x = Problem(first.terms[:-1], first.nonnegative), first.terms[-1].target
    runs = problem.runs
    live = np.arange(runs)
    tau = _proximal_weights(problem)
    start: Array | None = None
    best: Solution | None = None
    least = np.full(runs, np.inf)
    misses, stalled = np.full(runs, np.inf), np.zeros(runs, dtype=int)
    for _ in range(24):
        accuracy = np.clip(TUNING.inexact * misses, TUNING.proximal_goal / 4, TUNING.inexact)
        proximal = _with_cells(problem, x, tau)
        found, y = solve_planned(proximal, plan, start, accuracy)
        found = Solution(found.x, found.y[:-1], found.contradictory)
        reached = certify(problem, found).per_run
        gone = found.unanswerable
        better = (reached < least[live]) | gone
        least[live[better]] = reached[better]
        pick = np.flatnonzero(better)
        best = found if best is None else best.replace_runs(live[pick], found.select(pick))
        stalled = np.where(reached < misses / 2, 0, stalled + 1)
        keep = (reached > TUNING.proximal_goal) & ~gone & (stalled < 2)
        if not keep.any():
            break
        k = np.flatnonzero(keep)
        tau = tau[k] / TUNING.proximal_fall
        x, start, live, misses, stalled = found.x[k], y[k], live[k], reached[k], stalled[k]
        problem, plan = problem.select(k), plan.select(k)
    assert best is not None
    return best


def solve_proximal(problem: Problem, near: Array | None = None) -> Solution:
    """Solve any problem by proximal point steps with the dual Newton method.

    Where the queries leave the table open, which of the optimal tables is found depends on the
    steps; `solve` takes that of least norm.
    """
    x = np.zeros((problem.runs, problem.cells)) if near is None else near
    first = _with_cells(problem, x, np.ones(problem.runs))
    plan = make_plan(first)
    assert plan is not None  # the proximal term is on single cells
    return in_blocks(first, plan, _solve_block)
