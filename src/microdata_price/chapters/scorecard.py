"""The scorecard: 240 published values beside ours, dropped runs, the maximum of noisy means."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..base.numbers import Mean, format_number, mean_and_error
from ..fitting import CONTROL, METHODS, fit, paper_methods
from ..grid.run import evaluate
from ..grid.spec import PAPER_RUNS, GridSpec
from ..model.benchmark import data_set
from ..model.measurement import measure, noise_for
from ..model.privacy import PureDP
from . import first_order
from .experiments import MICRO
from .grids import RUNS_ALONE, grid_part
from .published import EPSILON, LIMIT, PRINTED, REPRODUCIBLE, published_spec, published_tables
from .published import scorecard as score

PUBLISHED_ALONE = 400  # runs where no grid at the published level is at hand: seconds
EXPERIMENTS = (
    ("Level00-2d", "sequential", 1),
    ("Level00-2d", "maxfit", 5),
    ("PUMA1304600", "sequential", 5),
)  # data set, method, one in how many runs
MOST_RUNS = 100  # more imitated runs teach no more, and each takes a tenth of a second
REPEATED = (30, 100, 300, 1000)  # numbers of runs of an experiment, the last the paper's


def written(card, query_set, metric):
    """Lay out our values beside the published ones: a row a data set, a column a method."""
    rows = card[(card["query_set"] == query_set) & (card["metric"] == metric)]
    text = [
        f"{r.value:,.0f}\u00a0±\u00a0{r.standard_error:,.0f} "
        + (f"**({r.published:,.0f})**" if abs(r.z) >= LIMIT else f"({r.published:,.0f})")
        for r in rows.itertuples()
    ]
    wide = rows.assign(shown=text).pivot(index="dataset", columns="method", values="shown")
    labels = {m: METHODS[m].label for m in paper_methods()}
    return wide[paper_methods()].rename(columns=labels).rename_axis("data set").reset_index()


class Values:
    """The numbers that the paper's Section 5 speaks of, from printed or from our values."""

    def __init__(self, card, column):
        self.card, self.column = card, column
        base = "exact" if column == "value" else column
        wide = card.pivot(index=["query_set", "metric", "dataset"], columns="method")
        self.errors, self.ratios = {}, {}
        for key in PRINTED:
            self.errors[key] = wide[column].loc[key]
            self.ratios[key] = self.errors[key].div(wide[base].loc[key][CONTROL], axis=0)
        self.sum, self.cells, self.worst = self.ratios.values()

    def _span(self, values):
        ends = np.asarray(values, dtype=float)
        return f"{ends.min():.2f} to {ends.max():.2f}"

    def four_to_five(self, method):
        """Rows in which a method's squared error of the sum is 4 to 5 times OLS's."""
        return int(self.sum[method].between(4, 5).sum())

    def span(self, *methods):
        return self._span(self.sum[list(methods)])

    @property
    def over_noise(self):
        """OLS's error of the sum over the variance of the noisy answer."""
        errors = self.errors["sum", "total"][CONTROL]
        if self.column == "value":
            own = self.card[self.card["method"].eq(CONTROL) & self.card["query_set"].eq("sum")]
            errors = own.set_index("dataset")["exact"]
        level = PureDP(EPSILON)
        noise = [noise_for(data_set(d).workload, level)[0].variance for d in errors.index]
        return self._span(errors / noise)

    @property
    def lower_worst(self):
        return int((self.worst["nnls"] < self.worst["reweighted"]).sum())

    @property
    def better_sum(self):
        return int((self.sum["reweighted"] < self.sum["nnls"]).sum())

    @property
    def totals(self):
        return self._span(self.cells["reweighted"] / self.cells["nnls"])

    @property
    def alike(self):
        """Sequential over reweighted fitting: the sum, the cells' total, the worst cell."""
        return [self._span(r["sequential"] / r["reweighted"]) for r in self.ratios.values()]

    @property
    def largest(self):
        """By method: the largest of all three ratios."""
        return pd.concat(self.ratios).max().to_dict()


class Trial(NamedTuple):
    """Exact fits, and a first-order solver's, of the same noisy answers: errors of the sum."""

    label: str
    method: str
    error: np.ndarray
    imitated: np.ndarray
    kept: np.ndarray

    @property
    def count(self):
        return f"{int(self.kept.sum())} of {self.kept.size}"


@dataclass
class Findings:
    """The published values stay at their own level; the other experiments are at epsilon."""

    epsilon: float = 0.5
    runs: int = 100
    repeats: int = 24
    seed: int = 1
    published_dir: str = ""
    grid_dir: str = ""

    def __post_init__(self):
        self.level, self.runs = PureDP(self.epsilon), min(self.runs, MOST_RUNS)
        self.card = score(grid_part(self.published_dir, published_spec(PUBLISHED_ALONE)).errors)
        spec = GridSpec.choose(epsilon=[self.epsilon], runs=RUNS_ALONE)
        self.grid = grid_part(self.grid_dir, spec).errors

    @property
    def worst_certificate(self):
        card, grid = (e["worst_certificate"].max() for e in (self.card, self.grid))
        return max(card, grid, self._dropped[1])

    # Value by value.

    @cached_property
    def published_runs(self):
        return int(self.card["runs"].iloc[0])

    @cached_property
    def far(self):
        return self.card[self.card["z"].abs() >= LIMIT]

    @cached_property
    def far_methods(self):
        counts = self.far["method"].value_counts()
        return ", ".join(f"{METHODS[m].label} ({counts[m]})" for m in METHODS if m in counts.index)

    @cached_property
    def agree(self):
        return len(self.card) - len(self.far)

    @cached_property
    def reach(self):
        """The largest distance of methods that lost no run, and of those that did."""
        kept = self.card["method"].isin(REPRODUCIBLE)
        return [float(self.card.loc[rows, "z"].abs().max()) for rows in (kept, ~kept)]

    @cached_property
    def failed(self):
        return int(self.card["failures"].sum())

    @cached_property
    def far_table(self):
        rows = self.far.assign(size=self.far["z"].abs()).sort_values("size", ascending=False)
        if rows.empty:
            return pd.DataFrame({"data set": ["none"], "method": ["–"], "value": ["–"]})
        return pd.DataFrame(
            {
                "data set": rows["dataset"],
                "method": [METHODS[m].label for m in rows["method"]],
                "value": [
                    PRINTED[key] for key in zip(rows["query_set"], rows["metric"], strict=True)
                ],
                "published": [format_number(p, 4) for p in rows["published"]],
                "ours": list(map(str, map(Mean, rows["value"], rows["standard_error"]))),
                "z": rows["z"],
            }
        )

    @cached_property
    def theirs(self):
        return Values(self.card, "published")

    @cached_property
    def ours(self):
        return Values(self.card, "value")

    @cached_property
    def relative(self):
        """Standard errors in percent of their values: the ends, and the share from 2 to 6."""
        r = 100 * self.card["standard_error"] / self.card["value"]
        return r.min(), r.max(), 100 * r.between(2, 6).mean()

    @cached_property
    def optimistic(self):
        """Printed values of max and sequential fitting below the exact one or ours, and all."""
        rows = self.card[self.card["method"].isin(["maxfit", "sequential"])]
        return int((rows["published"] < rows["exact"].fillna(rows["value"])).sum()), len(rows)

    # Sequential fitting's sum.

    @cached_property
    def sums(self):
        return self.card[self.card["method"].eq("sequential") & self.card["query_set"].eq("sum")]

    @staticmethod
    def printed_error(variance):
        """Standard error of a mean of the paper's runs of squares of such Laplace noise."""
        return variance * (5 / PAPER_RUNS) ** 0.5

    @cached_property
    def sums_far(self):
        """Own standard errors from the exact value, ours and theirs at most; a count; theirs."""
        s = self.sums
        known = self.printed_error(s["exact"])
        theirs = (s["published"] - s["exact"]).abs() / known
        ours = (s["value"] - s["exact"]).abs() / s["standard_error"]
        return float(ours.max()), float(theirs.max()), int((theirs > 2).sum()), float(known.iloc[0])

    @cached_property
    def ols_sums(self):
        return self.card[self.card["method"].eq(CONTROL) & self.card["query_set"].eq("sum")]

    # Dropped runs.

    @cached_property
    def _dropped(self):
        worst, trials, measured = 0.0, [], {}
        for name, method, every in EXPERIMENTS:
            data = data_set(name)
            if name not in measured:
                rng = np.random.default_rng(self.seed)
                measured[name] = measure(
                    data.table, data.workload, self.level, runs=self.runs, rng=rng
                )
            count = -(-self.runs // every)
            exact = fit(measured[name], method)
            found = first_order.imitate(measured[name], method, count)
            errors = (t.cells.sum(axis=1)[:count] - data.table.sum() for t in (exact, found))
            worst = max(worst, exact.certificate.worst)
            label = f"{METHODS[method].title} on {name}"
            trials.append(Trial(label, method, *errors, found.solved))
        return trials, worst

    @property
    def trials(self):
        return self._dropped[0]

    @cached_property
    def dropped_table(self):
        def mean(values):
            return str(Mean.of(values)) if values.size > 1 else "–"

        return pd.DataFrame(
            {
                "experiment": t.label,
                "kept": t.count,
                "squared error, all": mean(t.error**2),
                "kept runs": mean(t.error[t.kept] ** 2),
                "imitation, kept runs": mean(t.imitated[t.kept] ** 2),
                "error, kept runs": mean(t.error[t.kept]),
                "dropped runs": mean(t.error[~t.kept]),
            }
            for t in self.trials
        )

    @cached_property
    def groups(self):
        """The mean error of the sum where the imitation keeps a run, and where it drops it."""
        t = self.trials[0]
        both = [t.error[k] for k in (t.kept, ~t.kept)]
        return [str(Mean.of(e)) for e in both] if min(e.size for e in both) > 1 else []

    @cached_property
    def apart(self):
        """How far the sums of kept runs are from the exact ones at most, in records."""
        far = [np.abs(t.imitated - t.error)[t.kept].max(initial=0) for t in self.trials]
        return float(max(far))

    @cached_property
    def noise(self):
        """The noise on each answer of a two-way table."""
        return noise_for(data_set("Level00-2d").workload, self.level)[0]

    # The maximum of noisy means.

    data = "PUMA0101301"

    @cached_property
    def maxima(self):
        """The reported maximum over OLS's cells against the number of runs, plain and split."""
        rng, rows = np.random.default_rng(self.seed), []
        data, means = data_set(self.data), mean_and_error
        for count in REPEATED:
            own = []
            for _ in range(self.repeats):
                errors = evaluate(data, self.level, (CONTROL,), runs=count, rng=rng).errors
                own.append(errors.query("query_set == 'identity' and metric == 'max'").iloc[0])
            found = np.array([[e["value"], e["max_split"]] for e in own], dtype=float)
            (plain, split), (plain_error, split_error) = means(
                float(self.repeats), found.sum(axis=0), (found**2).sum(axis=0)
            )
            rows.append([count, plain, plain_error, split, split_error, float(own[0]["exact"])])
        names = ["runs", "plain", "plain_error", "split", "split_error", "exact"]
        return pd.DataFrame(rows, columns=names)

    @cached_property
    def exact(self):
        return float(self.maxima["exact"].iloc[-1])

    @cached_property
    def last(self):
        """The largest number of runs: both estimates, the excess of the plain one in percent."""
        row = self.maxima.iloc[-1]
        plain, split = (Mean(row[name], row[f"{name}_error"]) for name in ("plain", "split"))
        over = Mean(plain.value - self.exact, plain.error).times(100 / self.exact)
        return {"runs": REPEATED[-1], "plain": plain, "split": split, "over": over}

    @cached_property
    def printed(self):
        """The paper's value for OLS on this table; None at another level."""
        t = published_tables()
        own = t["method"].eq(CONTROL) & t["metric"].eq("max") & t["dataset"].eq(self.data)
        return float(t.loc[own, "squared_error"].iloc[0]) if self.epsilon == EPSILON else None

    @cached_property
    def excess(self):
        """Mean excess of plain maxima over a grid, in percent: above split; OLS's above exact."""
        rows = self.grid.query("metric == 'max' and query_set == 'identity'")
        above = (100 * (rows["value"] / rows["max_split"] - 1)).round(9)  # equal but for rounding
        means = {method: Mean.of(own) for method, own in above.groupby(rows["method"])}
        ols = rows[rows["method"] == CONTROL]
        plain = Mean.of(100 * (ols["value"] / ols["exact"] - 1))
        others = max((means[m] for m in MICRO), key=lambda mean: mean.value)
        return {"ols": means[CONTROL], "others": others, "plain": plain}
