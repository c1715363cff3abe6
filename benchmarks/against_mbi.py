"""Workloads of marginals: our fits beside mbi's, with what each of them minimises."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pandas as pd

from microdata_price.base.numbers import mean_and_error
from microdata_price.errors.sums import answer_errors
from microdata_price.fitting.methods import fit
from microdata_price.model.measurement import Measurements, measure
from microdata_price.model.privacy import PureDP

from .baselines import Array
from .peers import fit_estimated_total, fit_mbi, objective
from .timing import least_seconds, one_thread
from .workloads import CASES, EPSILON, identify, sparse_table

MARGINALS = ("3-way, pairs only", "4-way, pairs only")
SOLVERS: dict[str, Callable[[Measurements], Array]] = {
    "mbi": fit_mbi,
    "ours, mbi's total held": lambda m: fit_estimated_total(m).cells,
    "ours": lambda m: fit(m, "nnls").cells,
}


def against_mbi(cases: Iterable[str] = MARGINALS, runs: int = 30, seed: int = 1) -> pd.DataFrame:
    """Fit the same noise by mbi, by its problem solved exactly, and by nonnegative least squares.

    Returns
    -------
    DataFrame
        One line a case and solver: ``seconds`` a fit (the second call, so that what mbi compiles
        is not counted); ``error``, the mean sum of squared errors of all answers, with its
        ``standard_error``; ``excess``, by how much the solver's weighted squared distance from the
        noisy answers is above that of mbi's problem solved exactly, relative, largest of all runs.
    """
    lines = []
    with one_thread():
        for case in cases:
            workload = CASES[case]()
            table = sparse_table(workload.shape, seed)
            rng = np.random.default_rng(seed)
            m = measure(table, workload, PureDP(EPSILON), runs=runs, rng=rng)
            exact = objective(m, fit_estimated_total(m).cells)
            for solver, call in SOLVERS.items():
                if solver == "mbi" and importlib.util.find_spec("mbi") is None:
                    continue
                cells = call(m)
                own = answer_errors(cells, table, workload)
                total = np.sum([(e**2).sum(axis=1) for e in own], axis=0)
                error, apart = mean_and_error(runs, total.sum(), (total**2).sum())
                line = identify(m, case, "nnls", solver)
                line["seconds"] = least_seconds(partial(call, m), 2) / runs
                line |= {"error": float(error), "standard_error": float(apart), "runs": runs}
                line["excess"] = float((objective(m, cells) / exact - 1).max())
                lines.append(line)
    return pd.DataFrame(lines)
