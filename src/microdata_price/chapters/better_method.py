"""A better method: the consensus fit beside the paper's four, an oracle, and mbi."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pandas as pd

from ..base.data import data_path
from ..base.numbers import Mean
from ..errors.sums import answer_errors
from ..fitting import (
    CONTROL,
    METHODS,
    RECOMMENDED,
    consensus_parts,
    fit,
    microdata_methods,
    paper_methods,
)
from ..fitting.fit import finish, held, weighted_terms
from ..grid.run import evaluate
from ..grid.spec import GridSpec
from ..grid.tables import sharpest
from ..model.benchmark import FAMILIES, DataSet, data_set, names
from ..model.measurement import measure, noise_for
from ..model.noise import Laplace
from ..model.privacy import PureDP, level_of
from ..model.workload import Workload
from ..optimize import Problem, solve
from .cases import written
from .experiments import QUERY_NAMES, experiments, levels
from .grids import grid_part

FOUR = microdata_methods(paper_methods())
CHOSEN_ON = frozenset(names()[0::2])  # every second table: the weights
KINDS = ("level", "step", "ramp", "zipf", "negative binomial", "product")
PARTS_TABLE, EPSILON = "PUMA2401004", 0.5
FRESH_EPSILONS = (1.0, 0.5, 0.1)
PEERS = {"runs": 100, "seed": 2024}
CLEAR = 2.0  # standard errors
EXPERIMENT = ["privacy", "level", "family"]
COLUMN = [*EXPERIMENT, "query_set", "metric"]


def drawn(kind, shape, rng):
    """Draw a table of one of six kinds; the first three have one cell of 10,000."""
    cells = int(np.prod(shape))
    place = np.arange(cells)
    if kind == "level":
        x = np.full(cells, np.floor(np.exp(rng.uniform(0, np.log(60)))))
    elif kind == "step":
        x = np.where(place < rng.uniform(0.2, 0.8) * cells, 0.0, float(rng.integers(3, 80)))
    elif kind == "ramp":
        empty = rng.uniform(0, 0.6)
        rise = (place / cells - empty) / (1 - empty)
        x = np.rint(np.maximum(rise, 0) * rng.uniform(5, 150))
    elif kind == "zipf":
        share = (place + 1.0) ** -rng.uniform(0.7, 1.6)
        records = np.exp(rng.uniform(np.log(300), np.log(20_000)))
        x = np.rint(records * share / share.sum())[rng.permutation(cells)]
    elif kind == "negative binomial":
        mean, k = np.exp(rng.uniform(0, np.log(60))), rng.uniform(0.1, 1.5)
        x = rng.poisson(rng.gamma(k, mean / k, cells)).astype(float)
    else:
        expected = np.array(np.exp(rng.uniform(np.log(500), np.log(30_000))))
        for n in shape:
            expected = np.multiply.outer(expected, rng.dirichlet(np.full(n, 0.5)))
        x = rng.poisson(expected * rng.gamma(1, 1, shape)).astype(float).ravel()
    if kind in ("level", "step", "ramp"):
        x[0] = 10_000.0
    return x.reshape(shape)


@cache
def fresh(runs, seed):
    """Errors on fresh lists and tables, five of each kind, at three levels."""
    made = []
    for shape in ((100,), (9, 24)):
        for k, kind in enumerate(KINDS):
            for j in range(5):
                rng = np.random.default_rng([seed, k, j, len(shape)])
                table, sides = drawn(kind, shape, rng), f"{len(shape)}d"
                data = DataSet(f"{kind} {sides} {j}", sides, table, Workload.table(shape))
                made += [evaluate(data, PureDP(e), (*FOUR, RECOMMENDED), runs=runs, rng=rng).errors
                         for e in FRESH_EPSILONS]  # fmt: skip
    return pd.concat(made, ignore_index=True)


def wide(errors, keys):
    """Mean errors and their standard errors by method, one row a key."""
    value, error = sharpest(errors)
    squared = errors.assign(value=value, squared=error**2).groupby([*keys, "method"], sort=False)
    mean = squared["value"].mean().unstack("method")
    return mean, (squared["squared"].sum() ** 0.5 / squared.size()).unstack("method")


def ratios(errors, method, keys=COLUMN):
    """Errors, averaged over tables, over the smallest such average of the paper's four.

    The standard error counts numerator and denominator as independent. They share their noise, so
    it is rather too large.
    """
    mean, error = wide(errors, keys)
    best = mean[list(FOUR)].idxmin(axis=1)
    at = (np.arange(len(mean)), mean.columns.get_indexer(best))
    low, low_error = mean.to_numpy()[at], error.to_numpy()[at]
    ratio = mean[method] / low
    spread = ratio * np.hypot(error[method] / mean[method], low_error / low)
    return pd.DataFrame({"ratio": ratio, "error": spread, "best": best}).reset_index()


def totals(found):
    return found[found["metric"].eq("total") & found["query_set"].ne("sum")]


def largest(found):
    return found[found["metric"].eq("max")]


def ends(found):
    """Write the least and the largest ratio with their standard errors."""
    pairs = found.sort_values("ratio", kind="stable")[["ratio", "error"]].to_numpy()
    return written(*pairs[0]), written(*pairs[-1])


def oracle(data, guarantee):
    """Total squared error of the cells by the posterior mean under the true histogram of counts.

    Each cell's mean is taken from its own noisy answer alone; by quadrature.
    """
    noise = noise_for(data.workload, guarantee)[-1]
    counts, how_many = np.unique(data.table, return_counts=True)
    if isinstance(noise, Laplace):
        z, w = np.polynomial.laguerre.laggauss(60)
        z, w = noise.scale * np.r_[-z, z], np.r_[w, w] / 2
    else:
        z, w = np.polynomial.hermite_e.hermegauss(120)
        z, w = noise.std * z, w / w.sum()
    error = 0.0
    for count, n in zip(counts, how_many, strict=True):
        share = how_many * noise.pdf(count + z[:, None] - counts)
        error += n * float(w @ (share @ counts / share.sum(axis=1) - count) ** 2)
    return error


def held_total(m):
    """Fit by NNLS with the sum held at its OLS estimate, 1 or more: what mbi's iterations solve."""
    total = np.maximum(fit(m, CONTROL).answers()[0], 1.0)
    terms = (held(m.workload.query_sets[0], total), *weighted_terms(m)[1:])
    solution, certificate = solve(Problem(terms))
    return finish("fixed-total", m, solution.x, certificate)


@cache
def beside_mbi():
    """Totals of the consensus fit and of mbi on the same noise, by table and query set.

    The file has mbi less its exact problem, paired; the rest of the difference is paired here.
    """
    kept = pd.read_csv(data_path("peers.csv"))
    kept = kept[kept["metric"].eq("total")].set_index(["dataset", "query_set", "method"])
    rows = []
    for name in kept.index.unique("dataset"):
        data, rng = data_set(name), np.random.default_rng([PEERS["seed"], *name.encode()])
        m = measure(data.table, data.workload, PureDP(EPSILON), runs=PEERS["runs"], rng=rng)
        pair = (fit(m, RECOMMENDED).cells, held_total(m).cells)
        errors = [answer_errors(x, data.table, data.workload) for x in pair]
        for query_set, a, b in zip(data.workload.names, *errors, strict=True):
            apart = Mean.of((a**2 - b**2).sum(axis=1))
            mbi = kept.loc[(name, query_set, "mbi"), "value"]
            exact = kept.loc[(name, query_set, "fixed-total")]
            rows.append((name, query_set, mbi, apart.value + exact["minus_mbi"],
                         apart.error + exact["minus_mbi_error"]))  # fmt: skip
    return pd.DataFrame(rows, columns=["dataset", "query_set", "mbi", "apart", "error"])


@dataclass
class Findings:
    better_dir: str = ""
    epsilons: tuple = (1.0, 0.5, 0.1)
    rhos: tuple = (0.5, 0.125, 0.005)
    runs: int = 20
    seed: int = 2021

    @cached_property
    def errors(self):
        spec = GridSpec.choose(epsilon=self.epsilons, rho=self.rhos, methods=tuple(METHODS),
                               runs=self.runs, seed=self.seed)  # fmt: skip
        return grid_part(self.better_dir, spec).errors

    @property
    def made(self):
        return int(self.errors["runs"].min())

    @property
    def worst_certificate(self):
        return float(self.errors["worst_certificate"].max())

    @cached_property
    def own(self):
        return ratios(self.errors, RECOMMENDED)

    def summary(self, found):
        """Number, number at or below 1, mean, and the largest with its place."""
        top = found.loc[found["ratio"].idxmax()]
        level = level_of(str(top["privacy"]), float(top["level"])).math
        place = f"{QUERY_NAMES[top['query_set']]} of {FAMILIES[top['family']].title.lower()}"
        # Ratios share their noise: of their mean at most the mean of their errors is known.
        return {"all": len(found), "beaten": int((found["ratio"] <= 1).sum()),
                "mean": written(found["ratio"].mean(), found["error"].mean()),
                "worst": written(top["ratio"], top["error"]),
                "where": f"{place} at {level}"}  # fmt: skip

    @cached_property
    def of_totals(self):
        return self.summary(totals(self.own))

    @cached_property
    def of_largest(self):
        return self.summary(largest(self.own))

    @cached_property
    def of_sum(self):
        return self.summary(self.own[self.own["query_set"].eq("sum")])

    @cached_property
    def steadiest(self):
        """Of the four the method whose largest ratio of a total is least, and that ratio."""
        found = {m: totals(ratios(self.errors, m)) for m in FOUR}
        method = min(found, key=lambda m: found[m]["ratio"].max())
        return METHODS[method].title, ends(found[method])[1]

    def _rows(self, found, columns):
        at = found.set_index(COLUMN)
        for e in experiments(self.errors):
            row = {"level": e.guarantee.math, "tables": FAMILIES[e.family].label}
            for name, query_set, metric in columns:
                key = (*e, query_set, metric)
                cell = at.loc[key] if key in at.index else None
                row[name] = "–" if cell is None else written(cell["ratio"], cell["error"])
            yield row

    @property
    def total_table(self):
        columns = [(name, q, "total") for q, name in QUERY_NAMES.items()]
        return pd.DataFrame(self._rows(self.own, columns))

    @property
    def largest_table(self):
        columns = [(name, q, "max") for q, name in QUERY_NAMES.items() if q != "sum"]
        return pd.DataFrame(self._rows(self.own, columns))

    # Where it is worse, and tables that chose no weights.

    @cached_property
    def singles(self):
        """Totals, the sum's too, over the best of the four on that very table, largest first."""
        found = ratios(self.errors, RECOMMENDED, ["dataset", *COLUMN]).query("metric == 'total'")
        return found.sort_values("ratio", ascending=False, kind="stable")

    @property
    def of_singles(self):
        top = self.singles.iloc[0]
        level = level_of(top["privacy"], float(top["level"])).math
        place = f"{QUERY_NAMES[top['query_set']]} of {top['dataset']} at {level}"
        return {"all": len(self.singles), "above": int((self.singles["ratio"] > 1.1).sum()),
                "worst": written(top["ratio"], top["error"]), "where": place,
                "best": METHODS[top["best"]].title}  # fmt: skip

    @property
    def singles_table(self):
        return pd.DataFrame({
            "level": level_of(row["privacy"], float(row["level"])).math,
            "table": row["dataset"],
            "query set": QUERY_NAMES[row["query_set"]],
            "best of four": METHODS[row["best"]].label,
            "ratio": written(row["ratio"], row["error"]),
        } for _, row in self.singles.head(10).iterrows())  # fmt: skip

    @cached_property
    def split_stairs(self):
        """Range of the largest cell's error on lists SplitStairs, over the best of the four."""
        own = self.errors[self.errors["dataset"].eq("SplitStairs-1d")]
        return ends(largest(ratios(own, RECOMMENDED)))

    @cached_property
    def plain_mean(self):
        """Range of the same error by a plain mean of the parts, over that of the weighted one."""
        data, found = data_set("SplitStairs-1d"), []
        for kind, level in levels(self.errors):
            rng = np.random.default_rng(self.seed)
            m = measure(data.table, data.workload, level_of(kind, level), runs=200, rng=rng)
            parts = consensus_parts(m)
            means = (np.mean([p.cells for p in parts], axis=0), fit(m, RECOMMENDED).cells)
            errors = [(x - data.table) ** 2 for x in means]
            plain, own = (e[:, e.mean(axis=0).argmax()] for e in errors)
            ratio = plain.mean() / own.mean()
            found.append((ratio, Mean.of(plain - ratio * own).error / own.mean()))
        return ends(pd.DataFrame(found, columns=["ratio", "error"]))

    @cached_property
    def unseen(self):
        own = self.errors[~self.errors["dataset"].isin(CHOSEN_ON)]
        found = ratios(own, RECOMMENDED)
        return self.summary(totals(found)), self.summary(largest(found))

    @cached_property
    def fresh(self):
        """Worst totals and largest errors on fresh tables: of all kinds, of one kind, of one table.

        Each with its standard error and its place.
        """
        errors = fresh(max(10 * self.runs, 2), self.seed)
        kind, found = errors["dataset"].str.rsplit(n=2).str[0], {}
        for name, of in {"all": "", "kind": kind, "table": errors["dataset"]}.items():
            each = ratios(errors.assign(of=of), RECOMMENDED, ["of", *COLUMN])
            for metric, part in (("total", totals(each)), ("largest", largest(each))):
                top = part.loc[part["ratio"].idxmax()]
                sides = "lists" if top["family"] == "1d" else "tables"
                found[f"{metric}_{name}"] = {
                    "ratio": written(top["ratio"], top["error"]),
                    "where": f"{QUERY_NAMES[top['query_set']]} of {sides} at "
                             + level_of("pure", float(top["level"])).math,
                    "kind": str(top["of"]).split(f" {top['family']}")[0],
                }  # fmt: skip
        return found

    @cached_property
    def sequential_range(self):
        """Range of the totals of sequential fitting of least-squares answers."""
        return ends(totals(ratios(self.errors, "sequential_ols")))

    # The oracle.

    @cached_property
    def of_cells(self):
        """Totals of the cells over the best of the four: methods, the oracle; their error, %."""
        own = self.errors.query("query_set == 'identity' and metric == 'total'")
        mean, error = wide(own, EXPERIMENT)
        # Both sides of a ratio may err, each by this share at most.
        share = (error / mean)[[*FOUR, RECOMMENDED]].to_numpy().max()
        best = mean[list(FOUR)].min(axis=1)
        mean["oracle"] = [
            np.mean([oracle(data_set(n), level_of(kind, float(level))) for n in
                     own.loc[own["family"].eq(family), "dataset"].unique()])
            for kind, level, family in mean.index
        ]  # fmt: skip
        kept = [*FOUR, RECOMMENDED, "oracle"]
        return mean[kept].div(best, axis=0), float(100 * np.sqrt(2) * share)

    @property
    def cells_table(self):
        label = {m: METHODS[m].label for m in (*FOUR, RECOMMENDED)}
        rows = []
        for e in experiments(self.errors):
            own = self.of_cells[0].loc[tuple(e)]
            rows.append({"tables": f"{FAMILIES[e.family].label}, {e.guarantee.math}"}
                        | {label.get(m, m): f"{v:.2f}" for m, v in own.items()})  # fmt: skip
        return pd.DataFrame(rows)

    @property
    def by_family(self):
        """Consensus fit and oracle, means over the levels."""
        means = self.of_cells[0].groupby("family")[[RECOMMENDED, "oracle"]].mean()
        return {family: tuple(map(float, row)) for family, row in means.iterrows()}

    # Its parts, and mbi.

    @cached_property
    def parts(self):
        """Cells' total error and mean weight of each part, then of the mean; their distance."""
        data, rng = data_set(PARTS_TABLE), np.random.default_rng(self.seed)
        m = measure(data.table, data.workload, PureDP(EPSILON), runs=max(self.runs, 2), rng=rng)
        found, unit = consensus_parts(m), m.variances[-1]
        mean = sum(p.weight[:, None] * p.cells for p in found)
        off = [((x - data.table.ravel()) ** 2).sum(axis=1) / unit
               for x in (*(p.cells for p in found), mean)]  # fmt: skip
        weights = np.array([p.weight for p in found])
        apart = sum(p.weight * ((p.cells - mean) ** 2).sum(axis=1) / unit for p in found)
        return {"names": (*(p.name for p in found), "consensus"),
                "cells": [Mean.of(e) for e in off],
                "weights": weights.mean(axis=1), "apart": Mean.of(apart),
                "average": Mean.of((weights * off[:-1]).sum(axis=0))}  # fmt: skip

    @property
    def mbi_table(self):
        rows = []
        for query_set, name in QUERY_NAMES.items():
            own = beside_mbi()
            own = own[own["query_set"].eq(query_set)]
            whole = own["mbi"].sum()
            spread = float(np.sqrt((own["error"] ** 2).sum()) / whole)
            clear = own["apart"].abs() > CLEAR * own["error"] + 1e-6 * own["mbi"]
            rows.append({
                "query set": name,
                "total error over mbi's": written(1 + own["apart"].sum() / whole, spread),
                "clearly smaller": int((clear & (own["apart"] < 0)).sum()),
                "clearly larger": int((clear & (own["apart"] > 0)).sum()),
            })  # fmt: skip
        return pd.DataFrame(rows)
