"""Workloads beyond two-way tables: our methods, and other solvers where they can follow.

`workloads` times every method on tables whose queries overlap, with and without the cells;
`ratios` divides by nonnegative least squares of the same four-way table with its cells, which is
what the package promises to stay within a multiple of; `sizes` goes up to a million cells.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd

from microdata_price.fitting import Fit
from microdata_price.fitting.methods import fit
from microdata_price.model.measurement import Measurements, measure
from microdata_price.model.privacy import PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload

from .baselines import Array, Baseline, cvxpy_nnls, piqp_nnls, stacked
from .timing import least_seconds, one_thread

METHODS = ("nnls", "maxfit", "sequential", "reweighted")
REFERENCE = "4-way, pairs and cells"
FOUR, THREE = (10, 6, 5, 20), (10, 12, 20)
EPSILON = 0.5
PROMISED = 150.0
"""No method takes more than this many times the NNLS of the reference."""


def marginals(shape: Sequence[int], ways: int, cells: bool = False) -> Workload:
    """Return the workload of all marginals on so many axes, and the cells if asked."""
    sets = [QuerySet.marginal(shape, k) for k in combinations(range(len(shape)), ways)]
    return Workload((*sets, QuerySet.identity(shape)) if cells else tuple(sets))


def nested(counties: int, tracts: int, blocks: int) -> Workload:
    """Return the workload of every level of a tree of places, and the total."""
    n = counties * tracts * blocks
    place = np.arange(n)
    county = QuerySet.from_labels(place // (tracts * blocks), "county")
    tract = QuerySet.from_labels(place // blocks, "tract")
    return Workload((QuerySet.sum_query(n), county, tract, QuerySet.identity(n, "block")))


def three_of_six() -> Workload:
    """Return ten overlapping three-way marginals of a six-way table of about 10^5 cells."""
    shape = (5, 6, 7, 8, 8, 8)
    kept = list(combinations(range(6), 3))[::2]
    return Workload(tuple(QuerySet.marginal(shape, k) for k in kept))


CASES: dict[str, Callable[[], Workload]] = {
    REFERENCE: lambda: marginals(FOUR, 2, cells=True),
    "4-way, pairs only": lambda: marginals(FOUR, 2),
    "3-way, pairs only": lambda: marginals(THREE, 2),
    "200 x 200, margins only": lambda: marginals((200, 200), 1),
}
SIZES: dict[str, tuple[Callable[[], Workload], tuple[str, ...], float]] = {
    "4-way, 10^6 cells, pairs and cells": (
        lambda: marginals((20, 25, 40, 50), 2, cells=True),
        METHODS,
        60.0,
    ),
    "1000 x 1000, margins only": (lambda: marginals((1000, 1000), 1), METHODS, 10.0),
    "county, tract, block": (lambda: nested(50, 60, 40), METHODS, 1.0),
    "ten 3-way marginals of a 6-way table": (
        three_of_six,
        ("nnls", "maxfit", "sequential"),
        30.0,
    ),
}
"""Each with its methods and the seconds it should stay within."""


def sparse_table(shape: tuple[int, ...], seed: int | np.random.Generator = 1) -> Array:
    """Draw a table, a tenth of its cells occupied and one of them large."""
    rng = np.random.default_rng(seed)
    table = np.where(rng.random(shape) < 0.1, rng.integers(0, 50, shape), 0).astype(float)
    table.flat[0] = 10_000
    return table


def sample(workload: Workload, runs: int = 1, seed: int = 1) -> Measurements:
    """Measure a sparse table."""
    rng = np.random.default_rng(seed)
    table = sparse_table(workload.shape, rng)
    return measure(table, workload, PureDP(EPSILON), runs=runs, rng=rng)


def osqp_nnls(m: Measurements) -> list[Array]:
    """Solve nonnegative least squares by OSQP through cvxpy, the problem rebuilt for each run."""
    a, b, root = stacked(m)
    found = []
    for run in range(m.runs):
        x = cp.Variable(a.shape[1], nonneg=True)
        problem = cp.Problem(cp.Minimize(cp.sum_squares(cp.multiply(root, a @ x - b[run]))))
        problem.solve(solver=cp.OSQP, eps_abs=1e-6, eps_rel=1e-6, max_iter=20_000)
        found.append(np.full(a.shape[1], np.nan) if x.value is None else np.asarray(x.value))
    return found


def others() -> dict[str, Baseline]:
    """Return the other solvers that can be asked here, for nonnegative least squares."""
    known: dict[str, Baseline] = {"cvxpy + Clarabel, rebuilt": cvxpy_nnls, "OSQP": osqp_nnls}
    if importlib.util.find_spec("piqp") is not None:
        known["piqp"] = piqp_nnls
    return known


def loss(m: Measurements, cells: Array) -> float:
    """Return the sum of squared residuals of one run, each over its variance."""
    a, b, root = stacked(m)
    return float((np.square(root * (a @ np.maximum(cells, 0.0) - b[0]))).sum())


def _peak() -> float:
    """Return this process's peak memory in MB; `resource` would count its parent's before it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _in_its_own_process(call: Callable[[Any], Any], given: Any) -> tuple[float, float, Any]:
    """Return the seconds of a call, the megabytes by which its process grows, and its result."""
    with one_thread():
        # From here on the peak is that of the call: imports may have needed more for a moment.
        Path("/proc/self/clear_refs").write_text("5")
        before = _peak()
        start = time.process_time()
        found = call(given)
        return time.process_time() - start, _peak() - before, found


def alone(call: Callable[[Any], Any], given: Any) -> tuple[float, float, Any]:
    """Return a call's seconds, megabytes and result, from a process of its own (Linux only)."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_in_its_own_process, call, given).result()


def identify(m: Measurements, case: str, method: str, solver: str) -> dict[str, object]:
    queries = sum(q.size for q in m.workload.query_sets)
    line = {"case": case, "cells": m.workload.cells, "queries": queries}
    return line | {"method": method, "solver": solver}


def _proved(m: Measurements, found: Fit) -> dict[str, object]:
    proof: dict[str, object] = {
        "certificate": found.certificate.worst,
        "conic": found.certificate.conic_calls,
    }
    return proof | ({"loss": loss(m, found.cells[0])} if found.method == "nnls" else {})


def workloads(
    cases: Iterable[str] = tuple(CASES), compare: bool = True, memory: bool = True, repeats: int = 3
) -> pd.DataFrame:
    """Time a fit on workloads that overlap.

    Returns
    -------
    DataFrame
        One line a case, method and solver: ``seconds`` on one core; our certificate and how often
        the conic solver was asked; for nonnegative least squares the ``loss`` reached (the sum of
        squared residuals over their variances, which all solvers minimise), and ``megabytes``, by
        how much a process of its own grew.
    """
    lines = []
    with one_thread():
        for case in cases:
            m = sample(CASES[case]())
            for method in METHODS:
                seconds = least_seconds(lambda f=method, m=m: fit(m, f), repeats)
                line = identify(m, case, method, "ours") | {"seconds": seconds}
                line |= _proved(m, fit(m, method))
                if memory and method == "nnls":
                    line["megabytes"] = alone(partial(fit, method="nnls"), m)[1]
                lines.append(line)
            for solver, baseline in others().items() if compare else ():
                line = identify(m, case, "nnls", solver)
                seconds, megabytes, cells = alone(baseline, m)
                line |= {"loss": loss(m, cells[0]), "seconds": seconds}
                lines.append(line | ({"megabytes": megabytes} if memory else {}))
    return pd.DataFrame(lines)


def ratios(frame: pd.DataFrame) -> pd.Series:
    """Return our seconds over those of nonnegative least squares of the reference."""
    ours = frame[frame["solver"] == "ours"].set_index(["case", "method"])["seconds"]
    return (ours / ours[(REFERENCE, "nnls")]).rename("ratio")


def sizes(cases: Iterable[str] = tuple(SIZES)) -> pd.DataFrame:
    """Time one fit of the largest tables, each in a process of its own.

    Returns
    -------
    DataFrame
        One line a case and method: ``seconds``, those ``allowed``, the certificate, how often the
        conic solver was asked, and the ``megabytes`` by which the process grew.
    """
    lines = []
    for case in cases:
        make, methods, allowed = SIZES[case]
        m = sample(make())
        for method in methods:
            seconds, grown, found = alone(partial(fit, method=method), m)
            line = identify(m, case, method, "ours") | _proved(m, found)
            lines.append(line | {"seconds": seconds, "allowed": allowed, "megabytes": grown})
    return pd.DataFrame(lines)
