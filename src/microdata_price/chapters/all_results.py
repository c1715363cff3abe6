"""All results: prices of the 18 experiments in one table, and every value as a file."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from ..fitting import METHODS, paper_methods
from ..grid.spec import GridSpec
from ..model.benchmark import FAMILIES
from ..model.privacy import level_of
from . import experiments as ex
from .cases import written
from .experiments import DEAR, LABELS, MICRO, QUERY_NAMES
from .grids import RUNS_ALONE, grid_part

NBSP = "\u00a0"

# Columns of the file; exact and ols are computed without simulation.
COLUMNS = (
    *("dataset", "family", "privacy", "level", "method", "query_set", "metric", "value"),
    *("standard_error", "exact", "ols", "price", "price_error", "estimate_cv", "se_cv"),
    *("max_split", "se_split", "runs"),
)


@dataclass
class Findings:
    """A finished grid, or a small one at one level of each kind."""

    grid_dir: str = ""
    epsilon: float = 0.5
    rho: float = 0.125

    def __post_init__(self):
        spec = GridSpec.choose(epsilon=[self.epsilon], rho=[self.rho], runs=RUNS_ALONE)
        errors = grid_part(self.grid_dir, spec).errors
        self.prices = ex.priced(errors[errors["method"].isin(paper_methods())])
        self.levels = ex.levels(self.prices)
        self.experiments = ex.experiments(self.prices)

    @property
    def worst_certificate(self):
        return self.prices["worst_certificate"].max()

    @property
    def runs(self):
        return int(self.prices["runs"].min())

    @property
    def failed(self):
        return int(self.prices["failures"].sum())

    @cached_property
    def csv(self):
        """Every value with six digits, a row a value."""
        text = self.prices[list(COLUMNS)]
        return text.to_csv(index=False, float_format="%.6g", lineterminator="\n")

    @cached_property
    def table(self):
        """A row an experiment, query set and error; the median price and the largest, by method."""
        rows = []
        for experiment in self.experiments:
            own = experiment.rows(self.prices)
            label = FAMILIES[experiment.family].label.removesuffix(", real")
            where = (label.replace(" ", NBSP), experiment.guarantee.plain.replace(" ", NBSP))
            for q, name in QUERY_NAMES.items():
                for metric, error in (("total", ", total"), ("max", ", worst")):
                    price = ex.of_micro(own, q, metric).groupby("method")["price"]
                    if not len(price):
                        continue
                    median, largest = price.median(), price.max()
                    kind = name if q == "sum" else name + error
                    texts = (f"{median[m]:.2f}{NBSP}({largest[m]:.2f})" for m in MICRO)
                    rows.append([*where, kind.replace(" ", NBSP), *texts])
        return pd.DataFrame(rows, columns=["tables", "level", "error of", *LABELS.values()])

    @cached_property
    def pairs(self):
        """Pairs of data set and level."""
        return len(ex.of_micro(self.prices, "sum")) // len(MICRO)

    def least(self, method):
        """In how many pairs a method's sum errs less than all others', by two standard errors."""
        own = ex.of_micro(self.prices, "sum").fillna({"price_error": 0})
        wide = own.pivot(index=["dataset", "privacy", "level"], columns="method")
        price, error = wide["price"], wide["price_error"] ** 2
        less = price.rsub(price[method], axis=0) < -2 * error.add(error[method], axis=0) ** 0.5
        return int(less.drop(columns=method).all(axis=1).sum())

    def dear(self, method, query_set, metric):
        """In how many pairs a method's price is above the mark."""
        own = ex.of_micro(self.prices, query_set, metric)
        return int((own.loc[own["method"].eq(method), "price"] > DEAR).sum())

    @cached_property
    def largest(self):
        """The largest price of the sum and of the worst cell."""
        own = [ex.of_micro(self.prices, "sum"), ex.of_micro(self.prices, "identity", "max")]
        row = pd.concat(own).sort_values("price").iloc[-1]
        return {
            "price": row["price"],
            "told": written(row["price"], row["price_error"]),
            "method": METHODS[row["method"]].title,
            "dataset": row["dataset"],
            "of": {"sum": "sum", "identity": "worst cell"}[row["query_set"]],
            "level": level_of(row["privacy"], row["level"]).math,
        }

    @cached_property
    def relative(self):
        """Nine in ten standard errors lie between these percent of their value."""
        r = 100 * (self.prices["standard_error"] / self.prices["value"]).dropna()
        return float(r.quantile(0.05)), float(r.quantile(0.95))
