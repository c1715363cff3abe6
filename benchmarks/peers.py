"""The paper's tables through mbi: ``python -m benchmarks.peers`` remakes ``data/peers.csv``.

mbi is the successor of private-pgm: graphical models fitted to noisy marginals. It is an optional
extra, because it brings JAX along; ``make peers`` installs it apart.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from microdata_price.base.data import data_path
from microdata_price.base.files import write_whole
from microdata_price.base.numbers import mean_and_error
from microdata_price.chapters.better_method import EPSILON, PEERS, held_total
from microdata_price.errors.estimates import Estimate, largest
from microdata_price.errors.sums import answer_errors
from microdata_price.exceptions import InputError
from microdata_price.fitting import Fit, fit, paper_methods
from microdata_price.fitting.fit import finish, held, weighted_terms
from microdata_price.model.benchmark import data_set
from microdata_price.model.measurement import Measurements, measure
from microdata_price.model.privacy import PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import Problem, solve

from .baselines import Array

FILE, FIXED = "peers.csv", "fixed-total"
ITERATIONS = 1000  # of mirror descent, mbi's default


def fit_estimated_total(m: Measurements) -> Fit:
    """Fit by nonnegative least squares with the total held at mbi's estimate of it.

    mbi estimates the total from each marginal by itself, weighs these by one over their variance,
    and takes at least 1. On a workload without the sum query this is the problem that it solves.
    """
    sums = np.array([a.sum(axis=1) for a in m.answers])
    sizes = np.array([q.size for q in m.workload.query_sets])
    weights = 1 / (sizes * np.array(m.variances))
    total = np.maximum(weights @ sums / weights.sum(), 1.0)[:, None]
    terms = (held(QuerySet.sum_query(m.workload.shape), total), *weighted_terms(m))
    solution, certificate = solve(Problem(terms))
    return finish(FIXED, m, solution.x, certificate)


def objective(m: Measurements, cells: Array) -> Array:
    """Return the weighted squared distance of fitted answers from the noisy ones, by run."""
    fitted = m.workload.answers(cells.reshape(-1, *m.workload.shape))
    sets = zip(m.answers, fitted, m.variances, strict=True)
    return np.asarray(sum(((a - b) ** 2).sum(axis=1) / v for a, b, v in sets), dtype=float)


def fit_mbi(m: Measurements, iterations: int = ITERATIONS) -> Array:
    """Fit every run by mbi's mirror descent with its default settings.

    Raises
    ------
    InputError
        mbi is not installed, or a query set is no marginal.
    """
    try:
        import jax
        from mbi import Domain, LinearMeasurement
        from mbi.estimation import MirrorDescent
    except ImportError:
        raise InputError("mbi is not installed; run: make peers") from None
    # In mbi's default of single precision, sums of thousands of records lose their last digits.
    jax.config.update("jax_enable_x64", True)
    axes = [f"axis{a}" for a in range(len(m.workload.shape))]
    cliques = []
    for q in m.workload.query_sets:
        if q.axes is None:
            raise InputError(f"query set {q.name!r} is no marginal, which is all that mbi is asked")
        cliques.append(tuple(axes[a] for a in q.axes))
    domain = Domain(tuple(axes), m.workload.shape)
    estimator: Any = MirrorDescent()
    cells = np.empty((m.runs, m.workload.cells))
    for run in range(m.runs):
        asked = [
            LinearMeasurement(a[run], c, stddev=n.std)
            for a, c, n in zip(m.answers, cliques, m.noise, strict=True)
        ]
        model = estimator.estimate(domain, asked, iters=iterations)
        cells[run] = np.asarray(model.project(tuple(axes)).datavector())
    return cells


def _rows(errors: dict[str, tuple[Array, ...]], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Estimate totals, maxima and the totals' differences from mbi's, on the same noise."""
    rows = []
    for method, own in errors.items():
        for k, name in enumerate(names):
            squares = own[k] ** 2
            total = squares.sum(axis=1)
            runs = float(total.size)
            difference = total - (errors["mbi"][k] ** 2).sum(axis=1)
            value, error = mean_and_error(runs, total.sum(), (total**2).sum())
            apart, apart_error = mean_and_error(runs, difference.sum(), (difference**2).sum())
            row: dict[str, Any] = {"method": method, "query_set": name, "metric": "total"}
            row |= {"runs": int(runs), "value": float(value), "standard_error": float(error)}
            rows.append(row | {"minus_mbi": float(apart), "minus_mbi_error": float(apart_error)})
            if name != "sum":
                each = mean_and_error(runs, squares.sum(axis=0), (squares**2).sum(axis=0))
                worst = largest(Estimate(*each))
                found = {"value": float(worst.value), "standard_error": float(worst.error)}
                rows.append(row | {"metric": "max"} | found)
    return rows


def compare_one(name: str, runs: int) -> pd.DataFrame:
    """Fit one table by mbi, by its exact problem, and by the five methods, on the same noise."""
    data, rng = data_set(name), np.random.default_rng([PEERS["seed"], *name.encode()])
    m = measure(data.table, data.workload, PureDP(EPSILON), runs=runs, rng=rng)
    exact = held_total(m).cells
    cells = {"mbi": fit_mbi(m), FIXED: exact, **{k: fit(m, k).cells for k in paper_methods()}}
    errors = {k: answer_errors(c, data.table, data.workload) for k, c in cells.items()}
    frame = pd.DataFrame(_rows(errors, data.workload.names))
    frame.insert(0, "dataset", name)
    # How far mbi's iterations are from the optimum of their own problem.
    gap = objective(m, cells["mbi"]) / objective(m, exact) - 1
    frame["excess_objective"] = np.where(frame["method"] == "mbi", float(gap.max()), np.nan)
    return frame


def write_checksums(folder: Path) -> None:
    """Write the checksums of a folder's data files, in the form that ``sha256sum`` reads."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.glob("*.csv"))
    ]
    write_whole(folder / "SHA256SUMS", "".join(lines))


def main(runs: int = PEERS["runs"]) -> None:
    """Remake the kept comparison, and its checksum."""
    from importlib.metadata import version

    published = data_path("published_tables.csv")
    frames = []
    for name in pd.read_csv(published)["dataset"].unique():
        frames.append(compare_one(str(name), runs))
        print(f"{name}: done", file=sys.stderr)
    table = pd.concat(frames, ignore_index=True)
    table["mbi_version"] = version("mbi")
    text = table.to_csv(index=False, float_format="%.7g", quoting=csv.QUOTE_MINIMAL)
    write_whole(published.parent / FILE, text)
    write_checksums(published.parent)


if __name__ == "__main__":
    main(*(int(text) for text in sys.argv[1:]))
