"""The algorithms in detail: a list of eight, single cells, stages, cutoffs, open cases, proofs."""

from functools import cached_property

import numpy as np
import pandas as pd
from scipy import optimize

from ..base.numbers import Mean, format_number
from ..errors.known import ols_variances
from ..fitting import (
    METHODS,
    Rules,
    fit,
    fit_max,
    fit_nnls,
    fit_reweighted,
    fit_sequential,
    max_distance,
    reweighting,
    sequential_stages,
)
from ..fitting.reweighted import CONFIDENCE
from ..model.measurement import Measurements, noise_for
from ..model.noise import max_quantile
from ..model.workload import Workload
from ..theory.upper.exact_errors import clipped_sum
from ..theory.upper.projection import threshold
from . import cases
from .cases import LABELS, SAME, Methods, bench_case, percent, reordered, set_errors, short_case

SHOWN = ("ols", "nnls", "sequential", "reweighted")
COUNTS = (10, 30, 100, 300, 1000, 3000, 10_000)  # empty cells beside one large cell
LARGE = 1000.0  # in standard deviations
PLACES = (-20.0, -12.0, -8.0, -5.0, -3.0, 0.0, 3.0, 5.0, 8.0, 12.0, 20.0)  # one cell's noise
PLACED_RUNS = 100
VARIANTS = {
    "as here": Rules(),
    "draws: rank of the cutoff": Rules(draws="cutoff"),
    "downweight at least 0.1": Rules(least_downweight=0.1),
    "median in noises, not records": Rules(unit="noise"),
}


def balanced_level(noise, empty, full):
    """Solve ``empty E (z - g)+ = (full + 1) g``: the mean level of NNLS on a list, about."""
    top = empty * float(noise.excess(0.0).first) / (full + 1)
    return float(optimize.brentq(
        lambda g: empty * float(noise.excess(g).first) - (full + 1) * g, 0.0, top
    ))  # fmt: skip


class Findings(Methods):
    # A list of eight cells.

    @cached_property
    def short(self):
        return short_case(self.guarantee, seed=self.seed)

    @cached_property
    def small(self):
        """By method: the sum, then the cells."""
        fits = {name: fit(self.short.measurements, name).cells[0] for name in SHOWN}
        return {name: np.r_[x.sum(), x] for name, x in fits.items()}

    @property
    def small_noisy(self):
        return np.concatenate([a[0] for a in self.short.measurements.answers])

    @property
    def small_truth(self):
        return np.r_[self.short.truth.sum(), self.short.truth]

    @property
    def levels(self):
        """What OLS, NNLS and sequential fitting take off each cell that stays above 0."""
        noisy, cells = self.small_noisy, self.small_noisy[1:]
        of_sum = {name: self.small[name][0] - noisy[0] for name in ("ols", "nnls")}
        return of_sum | {"sequential": float(threshold(cells, max(noisy[0], 0.0)))}

    @property
    def zeros(self):
        return {name: int((x[1:] == 0).sum()) for name, x in self.small.items()}

    @property
    def moved(self):
        """Farthest that reweighted fitting moves cells of the list: low ones, others."""
        low = reweighting(self.short.measurements)[-1].low[0]
        far = np.abs(self.small["reweighted"] - self.small_noisy)[1:]
        return {n: float(far[k].max(initial=0)) for n, k in (("low", low), ("others", ~low))}

    # Cells of one run.

    @property
    def one_run(self):
        return {name: self.cells[name][0] for name in SHOWN}

    @property
    def zero_cells(self):
        """In the first run: cells fitted to 0, and those of them that hold records."""
        return {name: (int((x == 0).sum()), int(((x == 0) & self.full).sum()))
                for name, x in self.one_run.items()}  # fmt: skip

    # Least squares.

    @property
    def each(self):
        """Exact squared error of every OLS answer where each marginal is asked."""
        m = self.case.measurements
        return float(ols_variances(m.workload, m.variances)[0][0])

    @cached_property
    def growth(self):
        """Bias of the sum by clipping (exact), by NNLS, and as predicted, on longer lists."""
        noise = noise_for(Workload.table(2), self.guarantee)[0]
        rng = np.random.default_rng(self.seed)
        large, measured = LARGE * noise.std, []
        for n in COUNTS:
            runs = min(400, 400_000 // n)
            cells = noise.sample(rng, (runs, n + 1)) + np.r_[large, np.zeros(n)]
            totals = large + noise.sample(rng, runs)
            measured.append(Mean.of(threshold(cells, totals, weight=1.0)))
        clipped = np.array(COUNTS) * float(noise.excess(0.0).first)
        predicted = np.array([balanced_level(noise, n, 1) for n in COUNTS])
        return np.array(COUNTS, dtype=float), clipped, measured, predicted, noise.std

    # Max fitting.

    @cached_property
    def distance(self):
        return max_distance(self.case.measurements)

    @property
    def forced(self):
        """Share of runs in which the most negative answer sets the distance, in per cent."""
        lowest = np.concatenate(self.case.measurements.answers, axis=1).min(axis=1)
        least = np.maximum(-lowest, 0) / self.noise.std
        return 100 * float(np.isclose(self.distance.value, least, rtol=1e-9, atol=1e-9).mean())

    @cached_property
    def one_cell(self):
        """By place of one cell's noise: root errors of the sum by NNLS and max, mean distance."""
        empty = np.flatnonzero(self.empty)
        cell = empty[empty.size // 2] if empty.size else int(self.case.truth.argmin())
        part = self.case.measurements.select(slice(0, PLACED_RUNS))
        rows = []
        for place in PLACES:
            answers = [a.copy() for a in part.answers]
            answers[-1][:, cell] = self.case.truth[cell] + place * self.noise.std
            m = Measurements(part.workload, tuple(answers), part.noise)
            sums = [f(m).cells.sum(axis=1) - self.case.truth.sum() for f in (fit_nnls, fit_max)]
            rows.append([*(cases.root_mean(e**2) for e in sums), Mean.of(max_distance(m).value)])
        return np.array(PLACES), *zip(*rows, strict=True)

    # Sequential fitting.

    @cached_property
    def stages(self):
        return sequential_stages(self.case.measurements)

    @cached_property
    def true_answers(self):
        return self.case.workload.answers(self.case.table)

    @property
    def stage_parts(self):
        """The first run's stages but the sum: name, noisy, fitted and true answers."""
        answers = self.case.measurements.answers
        return [(LABELS[s.queries.name], answers[i][0], s.answers[0], self.true_answers[i])
                for i, s in enumerate(self.stages) if i > 0]  # fmt: skip

    @property
    def stage_table(self):
        m = self.case.measurements
        return pd.DataFrame({
            "stage": LABELS[s.queries.name],
            "queries": s.queries.size,
            "noisy answers below 0": percent(float((m.answers[i] < 0).mean())),
            "fitted to 0": percent(float((s.answers == 0).mean())),
            "squared error": str(Mean.of(((s.answers - self.true_answers[i]) ** 2).sum(axis=1))),
            "noise before": s.queries.size * m.variances[i],
        } for i, s in enumerate(self.stages))  # fmt: skip

    @property
    def pinned(self):
        """Share of the cells, in per cent, in a row or column that is fitted to 0."""
        zero = np.zeros((self.runs, *self.case.table.shape), dtype=bool)
        for s in self.stages[1:-1]:
            zero |= s.queries.spread((s.answers == 0).astype(float)).reshape(zero.shape) > 0
        return 100 * float(zero.mean())

    @cached_property
    def by_order(self):
        """Errors under each order of priority: the paper's, cells before marginals, cells first."""
        names = self.case.workload.names
        sides = [n for n in names if n.startswith("marginal")]
        orders = [[*names], ["sum", "identity", *sides], ["identity", "sum", *sides]]
        fits = {tuple(o): fit_sequential(reordered(self.case.measurements, o)) for o in orders}
        return {o: set_errors(self.case, [f])["error"].droplevel(0) for o, f in fits.items()}

    @property
    def orders(self):
        return pd.DataFrame(
            {"order": ", ".join(LABELS[n] for n in order)}
            | {LABELS[n]: str(errors[n]) for n in self.case.workload.names}
            for order, errors in self.by_order.items()
        )

    @property
    def clipped_sum(self):
        return float(clipped_sum(self.noise, self.case.truth))

    # Reweighted fitting.

    @cached_property
    def steps(self):
        return reweighting(self.case.measurements)

    @property
    def several(self):
        return [w for w in self.steps if w.low.shape[1] > 1]

    @property
    def cutoff(self):
        """The cells of one run, what so many noises rarely reach, the cutoff."""
        answers = self.case.noisy[0]
        level = max_quantile(self.noise, np.arange(1.0, answers.size + 1), 1 - CONFIDENCE)
        return answers, level, float(self.steps[-1].cutoff[0]), self.empty, self.noise.std

    @property
    def low(self):
        """Low cells of the first run, and those of them that hold records."""
        low = self.steps[-1].low[0]
        return int(low.sum()), int((low & self.full).sum())

    @cached_property
    def steps_table(self):
        rows = []
        for w in self.several:
            n, down, cut = int(w.low_count[0]), float(w.downweight[0]), float(w.cutoff[0])
            row = {"query set": LABELS[w.name], "cutoff": cut if np.isfinite(cut) else np.nan,
                   "low": n, "queries": w.low.shape[1]}  # fmt: skip
            if n:
                row |= {"downweight": down, "weight of a low one": 1 / (2 * down**2),
                        "sum of the low ones": float(w.low_sum[0]),
                        "weight of that sum": 1 / (2 * n)}  # fmt: skip
            rows.append(row)
        return pd.DataFrame(rows)

    @cached_property
    def lows(self):
        """Over all runs: mean low cells, those that hold records, the median of 2 w^2 (if any)."""
        w = self.steps[-1]
        missed = (w.low & self.full).sum(axis=1)
        down = w.downweight[w.low_count > 0] if w.low_count.any() else w.downweight
        return Mean.of(w.low_count), Mean.of(missed), float(np.median(2 * down**2))

    @property
    def open_table(self):
        return pd.DataFrame(
            {"query set": LABELS[w.name]} | {name: percent(float(share.mean())) for name, share in {
                "no answer stands out": np.isinf(w.cutoff), "every answer does": w.low_count == 0,
                "one low answer": w.low_count == 1,
                "median at most one record": (w.low_count > 0) & (w.downweight == 1.0)}.items()}
            for w in self.several
        )  # fmt: skip

    @cached_property
    def quiet(self):
        """The same table where the noise is a twentieth."""
        finer = self.guarantee.scaled(20**self.guarantee.norm)
        return finer, bench_case(self.dataset, finer, runs=self.runs, seed=self.seed)

    @cached_property
    def variants(self):
        """Errors under each reading of the paper, on the same noise."""
        rows = []
        for place, case in (("this level", self.case), ("little noise", self.quiet[1])):
            base = None
            for label, rules in VARIANTS.items():
                x = fit_reweighted(case.measurements, rules=rules).cells
                squares = ((x - case.truth) ** 2).sum(axis=1)
                base = base or (x, squares)
                change = Mean.of(squares - base[1])
                changed = np.abs(x - base[0]).max(axis=1) > SAME * case.noise.std
                rows.append({
                    "noise": place,
                    "rule": label,
                    "runs changed": percent(float(changed.mean())),
                    "sum": str(Mean.of((x.sum(axis=1) - case.truth.sum()) ** 2)),
                    "cells": str(Mean.of(squares)),
                    "cells, change": "–" if label == "as here" else str(change),
                    "in %": format_number(100 * change.value / base[1].mean(), 2),
                })  # fmt: skip
        return pd.DataFrame(rows)

    # Certificates.

    @property
    def certificates(self):
        return pd.DataFrame({
            "method": METHODS[name].label,
            "violated constraint": abs(float(f.certificate.primal.max())),
            "violated gradient": float(f.certificate.dual.max()),
            "duality gap": float(f.certificate.gap.max()),
        } for name, f in self.fits.items())  # fmt: skip
