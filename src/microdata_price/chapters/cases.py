"""One table, its noisy answers and the five methods' fits: the base of chapters on methods."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..base.numbers import Mean, format_number
from ..errors.estimates import root_ratio, total_errors
from ..errors.known import known_errors
from ..errors.sums import answer_errors, sum_errors
from ..exceptions import InputError
from ..fitting import CONTROL, METHODS, fit, microdata_methods, paper_methods
from ..model.benchmark import data_set
from ..model.measurement import Measurements, measure
from ..model.privacy import ConcentratedDP, level_of
from ..model.workload import Workload
from ..theory.upper.exact_errors import clipped

LABELS = {"sum": "sum", "marginal1": "rows", "marginal2": "columns", "identity": "cells"}
MANY = 30  # runs, at least, to tell how often something happens
SAME = 1e-6  # tables that differ by no more, in standard deviations, are the same
SHORT_LIST = (40.0, 12.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def percent(share):
    return f"{format_number(100 * share)} %"


def written(value, error):
    """Write a value with its standard error; without one where rounding is all of it."""
    return format_number(value, se=error if error > 1e-5 * abs(value) else None)


def root_mean(squares):
    """Return the root of a mean over runs with its standard error."""
    square = Mean.of(squares)
    return Mean(*map(float, root_ratio(square.value, square.error, 1.0)))


@dataclass(frozen=True, eq=False)
class Case:
    """A true table and noisy answers to its workload, of which the last are the cells."""

    table: np.ndarray
    measurements: Measurements

    def __post_init__(self):
        m = self.measurements
        given = {"workload": m.workload, "truth": self.table.ravel(), "noise": m.noise[0],
                 "noisy": m.answers[-1], "empty": self.table.ravel() == 0}  # fmt: skip
        for name, value in given.items():
            object.__setattr__(self, name, value)


def bench_case(name, guarantee, *, runs, seed):
    """Measure a table of the benchmark; standard errors need 2 runs or more."""
    if runs < 2:
        raise InputError(f"runs is {runs}; standard errors need 2 runs or more")
    data = data_set(name)
    rng = np.random.default_rng(seed)
    return Case(data.table, measure(data.table, data.workload, guarantee, runs=runs, rng=rng))


def short_case(guarantee, *, seed):
    """Measure the list of eight cells once."""
    table, rng = np.array(SHORT_LIST), np.random.default_rng(seed)
    return Case(table, measure(table, Workload.table(table.size), guarantee, runs=1, rng=rng))


def reordered(m, order):
    """Return the same noisy answers with another priority among the query sets."""
    places = [m.workload.names.index(name) for name in order]
    sets, answers, noise = (
        tuple(values[i] for i in places) for values in (m.workload.query_sets, m.answers, m.noise)
    )
    return Measurements(Workload(sets), answers, noise)


def set_errors(case, fits):
    """Total squared error of each query set by each fit, and over the exact one of OLS.

    OLS on the same noise is the control variate. A fit that differs from it in few runs may do so
    in others: then the plain standard error holds.
    """
    workload, noise = case.workload, case.measurements.noise
    truth, signed = workload.answers(case.table), fit(case.measurements, CONTROL).cells
    control = answer_errors(signed, case.table, workload)
    ols = np.array([e.sum() for e in known_errors(CONTROL, workload, noise, truth)])
    rows = []
    for f in fits:
        known = known_errors(f.method, workload, noise, truth)
        errors = answer_errors(f.cells, case.table, workload)
        plain, sharp = total_errors(sum_errors(errors, control), sum_errors(control), ols)
        fine = (sharp.value >= 0) & np.isfinite(sharp.error) & (f.method != CONTROL)
        many = (np.abs(f.cells - signed).max(axis=1) > SAME * case.noise.std).sum() >= MANY
        value = np.where(fine, sharp.value, plain.value).tolist()
        error = np.where(fine & many, sharp.error, plain.error).tolist()
        for k, name in enumerate(workload.names):
            total, exact = Mean(value[k], error[k]), float(known[k].sum())
            ratio = total.times(1 / ols[k]) if np.isnan(exact) else Mean(exact / ols[k], 0.0)
            rows.append({"method": f.method, "query set": name, "error": total, "exact": exact,
                         "ratio": ratio, "bias": Mean.of(errors[k].sum(axis=1))})  # fmt: skip
    return pd.DataFrame(rows).set_index(["method", "query set"])


def balance(case, cells):
    """Mean records that clipping adds to empty and other cells, that the fit then adds, and all."""
    lifted = np.maximum(case.noisy, 0.0)
    steps = (lifted - case.truth, cells - lifted)
    parts = [Mean.of(s[:, k].sum(axis=1)) for s in steps for k in (case.empty, ~case.empty)]
    return [*parts, Mean.of((cells - case.truth).sum(axis=1))]


def worst_cells(case, cells, count=5):
    """The cells with the largest mean squared error, worst first."""
    errors = cells - case.truth
    worst = np.argsort(-(errors**2).mean(axis=0), kind="stable")[:count]
    return pd.DataFrame(
        {"truth": case.truth[i], "bias": Mean.of(errors[:, i]), "error": Mean.of(errors[:, i] ** 2),
         "zero": float((cells[:, i] == 0).mean())}
        for i in worst
    )  # fmt: skip


@dataclass
class Methods:
    """The paper's five methods on one table of the benchmark, measured many times."""

    dataset: str = "PUMA1304600"
    privacy: str = "pure"
    epsilon: float = 0.5
    rho: float = 0.125
    runs: int = 1000
    seed: int = 1

    def __post_init__(self):
        level = self.rho if self.privacy == ConcentratedDP.kind else self.epsilon
        self.guarantee = level_of(self.privacy, level)
        self.level = self.guarantee.describe(math=True)
        self.case = bench_case(self.dataset, self.guarantee, runs=self.runs, seed=self.seed)
        self.noise, self.empty = self.case.noise, self.case.empty
        self.full = ~self.empty
        self.micro = microdata_methods(paper_methods())

    @cached_property
    def fits(self):
        return {name: fit(self.case.measurements, name) for name in paper_methods()}

    @cached_property
    def cells(self):
        return {name: f.cells for name, f in self.fits.items()}

    @cached_property
    def worst_certificate(self):
        return max(f.certificate.worst for f in self.fits.values())

    @cached_property
    def errors(self):
        return set_errors(self.case, self.fits.values())

    def ratio(self, method, query_set="sum"):
        """Total squared error over the exact one of OLS, with the error 0 where it is exact."""
        return self.errors.loc[(method, query_set), "ratio"]

    def over_ols(self, method, query_set="sum"):
        ratio = self.ratio(method, query_set)
        return written(ratio.value, ratio.error)

    def bias(self, method):
        return self.errors.loc[(method, "sum"), "bias"]

    @property
    def same(self):
        """Share of runs in which max fitting returns the table of NNLS, in per cent."""
        apart = np.abs(self.cells["maxfit"] - self.cells["nnls"]).max(axis=1)
        return 100 * float((apart <= SAME * self.noise.std).mean())

    @cached_property
    def balances(self):
        return {name: balance(self.case, x) for name, x in self.cells.items()}

    def worst(self, method):
        return worst_cells(self.case, self.cells[method])

    @cached_property
    def lifted(self):
        """Exact mean records that clipping adds to all empty cells, and to the others."""
        bias = clipped(self.noise, self.case.truth).bias
        return float(bias[self.empty].sum()), float(bias[self.full].sum())

    @cached_property
    def sum_exact(self):
        """Exact squared error of a noisy sum cut at zero."""
        return float(clipped(self.noise, float(self.case.truth.sum())).squared_error)

    def label(self, method):
        return METHODS[method].label
