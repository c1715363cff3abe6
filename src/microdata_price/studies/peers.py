"""The paper's tables through mbi: ``python -m microdata_price.studies.peers`` (ours).

The book keeps the results. mbi is the successor of private-pgm: graphical models fitted to noisy
marginals. It is an optional extra, because it brings JAX along; ``make peers`` installs it apart
and remakes ``data/peers.csv``.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.data import data_path
from ..base.files import write_whole
from ..base.numbers import mean_and_error
from ..errors.estimates import Estimate, largest
from ..errors.sums import answer_errors
from ..exceptions import InputError
from ..fitting import CONTROL, Fit, fit, paper_methods
from ..fitting.fit import finish, held, weighted_terms
from ..model.benchmark import data_set
from ..model.measurement import Measurements, measure
from ..model.privacy import PureDP
from ..model.queryset import QuerySet
from ..optimize import Problem, solve
from .scorecard import EPSILON, published_tables

Array = NDArray[np.float64]

FILE = "peers.csv"
RUNS = 100
ITERATIONS = 1000
"""The iterations of mirror descent, mbi's default."""

SEED = 2024
FIXED = "fixed-total"
"""The name of our exact solution of the problem that mbi's iterations approach."""


def fit_fixed_total(m: Measurements) -> Fit:
    """Fit by nonnegative least squares with the sum held at its OLS estimate (ours).

    It is what mbi solves on a single clique: its total is the minimum-variance estimate from all
    answers, at least 1, and is held while the cells are fitted.

    Parameters
    ----------
    m
        Noisy answers, a batch of runs, in counts; the workload begins with the sum query.

    Raises
    ------
    InputError
        A workload that does not begin with the sum query.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> from microdata_price.model.workload import Workload
    >>> m = Measurements(Workload.table(2), ([[9.0]], [[8.0, -4.0]]), (Laplace(8), Laplace(8)))
    >>> fit_fixed_total(m).cells.round(9)
    array([[7.33333333, 0.        ]])
    """
    if m.workload.query_sets[0].size != 1:
        raise InputError("the first query set must be the sum query, whose fitted value is held")
    total = np.maximum(fit(m, CONTROL).answers()[0], 1.0)
    terms = (held(m.workload.query_sets[0], total), *weighted_terms(m)[1:])
    solution, certificate = solve(Problem(terms))
    return finish(FIXED, m, solution.x, certificate)


def fit_estimated_total(m: Measurements) -> Fit:
    """Fit by nonnegative least squares with the total held at mbi's estimate of it (ours).

    mbi estimates the total from each marginal by itself, weights these by one over their variance,
    and takes at least 1. On a workload without the sum query this is the problem that it solves.

    Parameters
    ----------
    m
        Noisy answers, a batch of runs, in counts; every query set counts each cell once.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> from microdata_price.model.queryset import QuerySet
    >>> from microdata_price.model.workload import Workload
    >>> rows = Workload((QuerySet.marginal((2, 2), (0,)),))
    >>> fit_estimated_total(Measurements(rows, ([[8.0, -4.0]],), (Laplace(8),))).cells.round(9)
    array([[2., 2., 0., 0.]])
    """
    sums = np.array([a.sum(axis=1) for a in m.answers])
    sizes = np.array([q.size for q in m.workload.query_sets])
    weights = 1 / (sizes * np.array(m.variances))
    total = np.maximum(weights @ sums / weights.sum(), 1.0)[:, None]
    terms = (held(QuerySet.sum_query(m.workload.shape), total), *weighted_terms(m))
    solution, certificate = solve(Problem(terms))
    return finish(FIXED, m, solution.x, certificate)


def objective(m: Measurements, cells: Array) -> Array:
    """Return the weighted squared distance of fitted answers from the noisy ones, by run.

    Examples
    --------
    >>> from microdata_price.model.noise import Laplace
    >>> from microdata_price.model.workload import Workload
    >>> m = Measurements(Workload.table(2), ([[9.0]], [[8.0, -4.0]]), (Laplace(1), Laplace(1)))
    >>> objective(m, np.array([[8.0, 0.0]]))
    array([8.5])
    """
    fitted = m.workload.answers(cells.reshape(-1, *m.workload.shape))
    parts = [
        ((a - b) ** 2).sum(axis=1) / n.variance
        for a, b, n in zip(m.answers, fitted, m.noise, strict=True)
    ]
    return np.asarray(sum(parts), dtype=float)


def fit_mbi(m: Measurements, iterations: int = ITERATIONS) -> Array:
    """Fit every run by mbi's mirror descent with its default settings; needs the extra ``peers``.

    Parameters
    ----------
    m
        Noisy answers to marginals of a table, a batch of runs, in counts.
    iterations
        Steps of mirror descent.

    Returns
    -------
    ndarray
        Fitted cells, shape (runs, cells), in counts.

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
            row: dict[str, Any] = {
                "method": method,
                "query_set": name,
                "metric": "total",
                "runs": int(runs),
            }
            paired = {"minus_mbi": float(apart), "minus_mbi_error": float(apart_error)}
            rows.append({**row, "value": float(value), "standard_error": float(error), **paired})
            if name == "sum":
                continue
            each = mean_and_error(runs, squares.sum(axis=0), (squares**2).sum(axis=0))
            worst = largest(Estimate(*each))
            row.update(metric="max", value=float(worst.value), standard_error=float(worst.error))
            rows.append(row)
    return rows


def compare_one(name: str, runs: int, seed: int) -> pd.DataFrame:
    """Fit one table by mbi, by its exact problem, and by the five methods, on the same noise.

    Parameters
    ----------
    name
        A data set of the benchmark.
    runs
        How many runs.
    seed
        Of the noise.
    """
    data = data_set(name)
    rng = np.random.default_rng([seed, *name.encode()])
    m = measure(data.table, data.workload, PureDP(EPSILON), runs=runs, rng=rng)
    exact = fit_fixed_total(m)
    cells = {"mbi": fit_mbi(m), FIXED: exact.cells, **{k: fit(m, k).cells for k in paper_methods()}}
    errors = {k: answer_errors(c, data.table, data.workload) for k, c in cells.items()}
    frame = pd.DataFrame(_rows(errors, data.workload.names))
    frame.insert(0, "dataset", name)
    # How far mbi's iterations are from the optimum of their own problem.
    gap = objective(m, cells["mbi"]) / objective(m, exact.cells) - 1
    frame["excess_objective"] = np.where(frame["method"] == "mbi", float(gap.max()), np.nan)
    return frame


def load_peers() -> pd.DataFrame:
    """Return the kept comparison; see ``data/README.md`` for its columns.

    Examples
    --------
    >>> sorted(load_peers()["method"].unique())[:3]
    ['fixed-total', 'maxfit', 'mbi']
    """
    return pd.read_csv(data_path(FILE))


def main(runs: int = RUNS) -> None:
    """Remake the kept comparison, and its checksum."""
    from importlib.metadata import version

    frames = []
    for name in dict.fromkeys(published_tables()["dataset"]):
        frames.append(compare_one(str(name), runs, SEED))
        print(f"{name}: done", file=sys.stderr)
    table = pd.concat(frames, ignore_index=True)
    table["mbi_version"] = version("mbi")
    folder = data_path("published_tables.csv").parent
    write_whole(
        folder / FILE, table.to_csv(index=False, float_format="%.7g", quoting=csv.QUOTE_MINIMAL)
    )
    write_checksums(folder)


def write_checksums(folder: Path) -> None:
    """Write the checksums of a folder's data files, in the form that ``sha256sum`` reads."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.glob("*.csv"))
    ]
    write_whole(folder / "SHA256SUMS", "".join(lines))


if __name__ == "__main__":
    main(*(int(text) for text in sys.argv[1:]))
