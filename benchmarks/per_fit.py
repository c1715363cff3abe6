"""Milliseconds a fit of a 9 x 24 table: the four methods here and with other solvers."""

from __future__ import annotations

import importlib.util

import numpy as np
import pandas as pd

from microdata_price.fitting.methods import fit
from microdata_price.model.benchmark import data_set
from microdata_price.model.measurement import Measurements, measure
from microdata_price.model.privacy import PureDP

from .baselines import NNLS, PLAIN, REBUILT, Baseline
from .timing import least_seconds, one_thread


def per_fit(
    name: str = "PUMA0101301",
    epsilon: float = 0.5,
    runs: int = 1000,
    baseline_runs: int = 10,
    repeats: int = 3,
    seed: int = 1,
) -> pd.DataFrame:
    """Time a fit with its certificate, and what others take without one.

    Returns
    -------
    DataFrame
        One line a method and solver: milliseconds a fit on one core, ``ratio`` (cvxpy with
        Clarabel rebuilt for each run from one sparse matrix, over this solver), and
        ``difference``, the largest between this solver's cells and ours on the first runs, in
        counts.
    """
    data = data_set(name)
    rng = np.random.default_rng(seed)
    m = measure(data.table, data.workload, PureDP(epsilon), runs=runs, rng=rng)
    few = m.select(slice(0, baseline_runs))
    lines = []
    with one_thread():
        for method, rebuilt in REBUILT.items():
            ours = least_seconds(lambda method=method: fit(m, method), repeats) / runs
            expected = fit(few, method).cells
            seconds, apart = _time(rebuilt, few, expected, repeats)
            base = seconds
            lines += [
                (method, "ours", ours, base / ours, 0.0),
                (method, "cvxpy + Clarabel, rebuilt", base, 1.0, apart),
            ]
            if method in PLAIN:
                seconds, apart = _time(PLAIN[method], few, expected, repeats)
                lines.append(
                    (method, "cvxpy + Clarabel, set by set", seconds, base / seconds, apart)
                )
            if method == "nnls":
                for solver, baseline in NNLS.items():
                    if solver.startswith("piqp") and importlib.util.find_spec("piqp") is None:
                        continue
                    seconds, apart = _time(baseline, few, expected, repeats)
                    lines.append((method, solver, seconds, base / seconds, apart))
    names = ["method", "solver", "milliseconds", "ratio", "difference"]
    frame = pd.DataFrame(lines, columns=names)
    return frame.assign(milliseconds=frame["milliseconds"] * 1e3)


def _time(
    baseline: Baseline, m: Measurements, expected: np.ndarray, repeats: int
) -> tuple[float, float]:
    """Return seconds a fit, and the largest difference from the expected cells (NaN: failed)."""
    seconds = least_seconds(lambda: baseline(m), repeats) / m.runs
    differences = np.abs(np.array(baseline(m)) - expected)
    return seconds, float(differences.max())
