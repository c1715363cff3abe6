"""Max fitting's linear program, ``min t`` with ``|U x - a| <= t s``, x >= 0, by two libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy import optimize

from .conic import quiet_settings

Array = NDArray[np.float64]
Multipliers = Callable[[Array], Array | None]

_WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"presolve": False, "maxiter": 10_000},
    {"primal_feasibility_tolerance": 1e-9, "maxiter": 10_000},
)
"""Options of the simplex method, in turn: the first may end without an answer, rarely."""
_INTERIOR = 1e-10
"""The tolerance that the interior-point method is given."""


def simplex_multipliers(matrix: sp.csr_array, std: Array) -> Multipliers:
    """Return a function from noisy answers to the program's multipliers, by HiGHS (simplex)."""
    unit = float(std.min())
    column = sp.csr_array(-(std / unit)[:, None])
    both: Any = sp.csc_array(sp.vstack([sp.hstack([matrix, column]), sp.hstack([-matrix, column])]))
    cost = np.zeros(both.shape[1])
    cost[-1] = 1.0
    fine = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}

    def find(answers: Array) -> Array | None:
        limits = np.concatenate([answers, -answers]) / unit
        for way in _WAYS:
            options: Any = fine | way
            found = optimize.linprog(
                cost, A_ub=both, b_ub=limits, method="highs-ds", options=options
            )
            if found.status == 0:
                dual = -np.asarray(found.ineqlin.marginals)
                return np.asarray(dual[: answers.size] - dual[answers.size :])
        return None

    return find


def interior_multipliers(matrix: sp.csr_array, std: Array) -> Multipliers:
    """Do the same by Clarabel, an interior-point method, with cells, residuals and t as unknowns.

    Thousands of queries on 100,000 cells take it seconds, and the simplex method hours.
    """
    rows, cells = matrix.shape
    scaled = sp.csr_array(sp.diags_array(1 / std) @ matrix)
    one = sp.csr_array(np.ones((rows, 1)))
    blocks: Any = [
        [scaled, -sp.eye_array(rows), None],
        [-sp.eye_array(cells), None, None],
        [None, sp.eye_array(rows), -one],
        [None, -sp.eye_array(rows), -one],
    ]
    cost = np.zeros(cells + rows + 1)
    cost[-1] = 1.0
    settings = quiet_settings(_INTERIOR)
    settings.direct_solve_method = "faer"  # which factorises large dense parts in blocks

    def find(answers: Array) -> Array | None:
        solver = clarabel.DefaultSolver(
            sp.csc_matrix((cost.size, cost.size)),
            cost,
            sp.csc_matrix(sp.block_array(blocks)),
            np.concatenate([answers / std, np.zeros(cells + 2 * rows)]),
            [clarabel.ZeroConeT(rows), clarabel.NonnegativeConeT(cells + 2 * rows)],
            settings,
        )
        y = np.asarray(solver.solve().z)[:rows] / std
        if not np.isfinite(y).all():
            return None
        # At a distance above 0 the program's own constraint says that s . |y| is 1.
        rounding = np.abs(y) < _INTERIOR * np.abs(y).max() if np.abs(y) @ std > 0.5 else True
        return np.where(rounding, 0.0, y)

    return find
