"""The benchmark and the price: its tables, prices over the whole grid, a map of lists."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..base.numbers import format_number
from ..errors.estimates import root_ratio
from ..exceptions import InputError
from ..fitting import METHODS, paper_methods
from ..grid.run import evaluate
from ..grid.spec import GridSpec
from ..model.benchmark import LARGE, DataSet, data_set, data_sets, names, synthetic
from ..model.measurement import noise_for
from ..model.privacy import PureDP, level_of
from ..model.workload import Workload
from ..theory.upper.fitted_errors import lone_cell_sum_error
from . import experiments as ex
from .cases import written
from .experiments import DEAR, LABELS, MICRO, QUERY_NAMES
from .grids import RUNS_ALONE, grid_part

# The map's axes; the benchmark's lists of one size lie on them.
CELLS = 100
SIZES = (1, 4, 8, 16, 32, 50, 100, 200)
EMPTIES = (0, 10, 25, 49, 75, 90, 99)
REDRAWN = 50  # tables of prices, for the standard error of a rank correlation


def two_part_list(empty, size, cells=CELLS):
    """Make a list of one large cell, some empty cells, and all others of one size."""
    table = np.full(cells, float(size))
    table[0], table[1 : empty + 1] = LARGE, 0
    return DataSet(f"{empty} empty, others {size}", "own", table, Workload.table(cells))


def alone(noise, cells=CELLS):
    """NNLS's exact price of the sum where one cell is huge and all others are empty.

    >>> round(alone(noise_for(Workload.table(CELLS), PureDP(0.5))[0]), 3)
    1.911
    """
    ols = noise.variance * cells / (cells + 1)
    return math.sqrt(lone_cell_sum_error(noise, noise, cells, 1.0) / ols)


def price_map(guarantee, empties, sizes, runs, seed, cells=CELLS):
    """Estimate the price of the sum and of the worst cell, a row a list and method.

    The worst cell's is the split estimate, which does not overshoot. Where all but the large cell
    are empty the size does not matter, and all sizes share one estimate; NNLS's sum is exact there.
    """
    noise = noise_for(Workload.table(cells), guarantee)[0]
    known, rows = {}, []
    for empty in empties:
        for size in sizes:
            key = (empty, size if empty < cells - 1 else sizes[0])
            if key not in known:
                rng = np.random.default_rng([seed, *key])
                known[key] = evaluate(two_part_list(*key, cells), guarantee, runs=runs, rng=rng)
            found = ex.priced(known[key].errors)
            total = ex.of_micro(found, "sum").set_index("method")
            worst = ex.of_micro(found, "identity", "max").set_index("method")
            table = total[["price", "price_error"]].set_axis(["sum", "sum_error"], axis=1)
            split = root_ratio(worst["max_split"], worst["se_split"], worst["ols"])
            table["worst"], table["worst_error"] = split
            table["certificate"] = total["worst_certificate"]
            if empty == cells - 1 and 50 * noise.std < LARGE:
                table.loc["nnls", ["sum", "sum_error"]] = alone(noise, cells), 0.0
            rows.append(table.reset_index().assign(empty=empty, size=size))
    return pd.concat(rows, ignore_index=True)


def landmarks():
    """Place the benchmark's lists of one size on the map: name, empty cells, size."""
    places = {}
    for name in names("1d"):
        others = synthetic(name.removesuffix("-1d"))[1:]
        full = np.unique(others[others > 0])
        if full.size <= 1:
            size = int(full[0]) if full.size else SIZES[0]
            places[name.removesuffix("-1d")] = (int((others == 0).sum()), size)
    return places


@dataclass
class Findings:
    """A grid's prices and tables, and the map at one level of pure DP."""

    grid_dir: str = ""
    epsilon: float = 0.5
    runs: int = 500
    seed: int = 1

    def __post_init__(self):
        if self.runs < 4:
            raise InputError(f"runs is {self.runs}; standard errors need 4 or more")
        self.level = PureDP(self.epsilon)
        grid = grid_part(self.grid_dir, GridSpec.choose(epsilon=[self.epsilon], runs=RUNS_ALONE))
        self.prices = ex.priced(grid.errors[grid.errors["method"].isin(paper_methods())])
        self.queries = grid.queries[grid.queries["method"].isin(MICRO)]
        self.levels = ex.levels(self.prices)

    @property
    def worst_certificate(self):
        return max(self.prices["worst_certificate"].max(), self.map["certificate"].max())

    # Prices over the grid.

    @cached_property
    def matrices(self):
        return {q: ex.price_matrix(self.prices, q) for q in QUERY_NAMES}

    @cached_property
    def dear(self):
        """By query set: how many table, level and method go beyond, and of how many."""
        return {
            q: (int((m.to_numpy() > DEAR).sum()), int(m.size)) for q, m in self.matrices.items()
        }

    @cached_property
    def real(self):
        """Median prices over the real tables: of the sum and of the cells, by method."""
        real = self.prices[self.prices["family"].eq("pums")]
        return {
            q: ex.of_micro(real, q).groupby("method")["price"].median().to_dict()
            for q in QUERY_NAMES
        }

    @cached_property
    def glance(self):
        """Median prices over the levels for the map: title, tables, prices, starts of families."""
        tables = self.matrices["sum"].index
        kinds = [t[:4] == "PUMA" or t[-2:] for t in tables]
        breaks = [i for i in range(1, len(tables)) if kinds[i] != kinds[i - 1]]
        short = [t.removeprefix("PUMA") for t in tables]
        found = []
        for q, m in self.matrices.items():
            medians = m.T.groupby(level=0, sort=False).median().T.reindex(tables)
            found.append((QUERY_NAMES[q], short, medians.to_numpy(), breaks))
        return found

    @cached_property
    def medians(self):
        rows = []
        for q, name in QUERY_NAMES.items():
            for metric, what in (("total", ", total"), ("max", ", worst")):
                own = ex.of_micro(self.prices, q, metric)
                if own.empty:
                    continue
                prices = own.groupby("method")["price"]
                row = {"query set": name if q == "sum" else name + what}
                row |= {
                    LABELS[m]: f"{prices.median()[m]:.2f} ({prices.max()[m]:.2f})" for m in MICRO
                }
                rows.append(row)
        return pd.DataFrame(rows)

    @cached_property
    def extremes(self):
        """The highest and the lowest price of a total."""
        own = self.prices[self.prices["method"].isin(MICRO) & self.prices["metric"].eq("total")]
        ends = own.sort_values("price").iloc[[-1, 0]]
        return [
            {
                "price": written(row.price, row.price_error),
                "method": METHODS[row.method].title,
                "of": QUERY_NAMES[row.query_set],
                "dataset": row.dataset,
                "level": level_of(row.privacy, row.level).math,
            }
            for row in ends.itertuples()
        ]

    # Bias, noise, sparsity.

    @cached_property
    def shares(self):
        return ex.bias_shares(self.queries)

    @cached_property
    def bias(self):
        """Median shares of squared bias in percent, by query set and method."""
        table = 100 * self.shares.groupby(["query_set", "method"])["share"].median()
        return {q: table[q].to_dict() for q in QUERY_NAMES}

    @cached_property
    def upward(self):
        """Percent of table and level with NNLS's sum upward on average; by two standard errors."""
        own = self.queries[self.queries["query_set"].eq("sum") & self.queries["method"].eq("nnls")]
        error = np.sqrt(own["variance"] / (own["runs"] - 1))
        return [100 * float((own["bias"] > k * error).mean()) for k in (0, 2)]

    @cached_property
    def privacy(self):
        return self.levels[0][0]

    @cached_property
    def kind(self):
        return {"pure": "pure DP", "zcdp": "zCDP"}[self.privacy]

    @cached_property
    def level00(self):
        """The price of the sum on Level00-1d under NNLS at the levels of one kind of privacy."""
        own = ex.of_micro(self.prices, "sum")
        own = own[own["dataset"].eq("Level00-1d") & own["method"].eq("nnls")]
        own = own[own["privacy"].eq(self.privacy)]
        listed = ", ".join(map(format_number, own["price"]))
        noise = noise_for(Workload.table(CELLS), self.focus)[0]
        return {"prices": listed, "error": own["price_error"].max(), "exact": alone(noise)}

    @cached_property
    def focus(self):
        """The middle level of the first kind of privacy."""
        own = [level for kind, level in self.levels if kind == self.privacy]
        return level_of(self.privacy, own[len(own) // 2])

    @cached_property
    def _sparse(self):
        about = ex.sparsity()[["dataset", "share"]]
        return ex.of_micro(self.prices, "sum").merge(about, on="dataset", validate="many_to_one")

    @cached_property
    def chosen(self):
        """Prices of the sum at that level, with each table's share of empty cells."""
        s = self._sparse
        return s[s["privacy"].eq(self.focus.kind) & s["level"].eq(self.focus.level)]

    @cached_property
    def ends(self):
        """NNLS's median price without empty cells, and with more than three quarters empty."""
        own = self.chosen[self.chosen["method"] == "nnls"]
        share, price = own["share"], own["price"]
        return [price[share == 0].median(), price[share > 0.75].median()]

    @cached_property
    def ranks(self):
        """Spearman's rank correlation of sparsity and price, the median over the levels.

        Its standard error is its spread where prices are drawn anew, each by its own.
        """
        columns, rng = ["method", "privacy", "level"], np.random.default_rng(self.seed)
        wide = self._sparse.pivot(index=["share", "dataset"], columns=columns)
        price, error = wide["price"], wide["price_error"].fillna(0.0)
        share = wide.index.to_frame()["share"].rank()

        def medians(prices):
            # Where all prices are one, as sequential fitting's can be, nothing correlates.
            return prices.round(9).rank().corrwith(share).fillna(0.0).groupby("method").median()

        drawn = [medians(price + error * rng.standard_normal(price.shape)) for _ in range(REDRAWN)]
        spread = pd.DataFrame(drawn).std()
        return {m: written(value, spread[m]) for m, value in medians(price).items()}

    # The tables.

    @cached_property
    def tables(self):
        return {d.name: d.table for d in data_sets("pums")}

    @cached_property
    def about(self):
        return ex.sparsity(data_sets("pums"))

    @cached_property
    def sparse(self):
        """In percent: the least and the largest share of empty cells; few records, the median."""
        few = 100 * (self.about["small"] / self.about["filled"]).median()
        share = 100 * self.about["share"]
        return {"low": share.min(), "high": share.max(), "few": few}

    @cached_property
    def fuller(self):
        """How many of the synthetic lists are fuller than every real table."""
        lists = ex.sparsity(data_sets("1d"))
        return int((lists["share"] < self.about["share"].min()).sum()), len(lists)

    @cached_property
    def hidden(self):
        """The percentile of 16 records among the largest of 100 noises on a list's cells."""
        noise = noise_for(data_set("Level16-1d").workload, self.level)[0]
        return ex.percentile_of(noise, CELLS, 16)

    @cached_property
    def real_table(self):
        return pd.DataFrame(
            {
                "table": self.about["dataset"],
                "state": self.about["dataset"].map(ex.state),
                "records": self.about["records"],
                "empty cells": self.about["empty"],
                "cells of 1 to 9": self.about["small"],
                "empty races of 9": self.about["empty_rows"],
                "empty origins of 24": self.about["empty_columns"],
                "largest cell, %": (100 * self.about["largest"]).round(0).astype(int),
            }
        )

    # The map of lists.

    @cached_property
    def map(self):
        return price_map(self.level, EMPTIES, SIZES, runs=self.runs, seed=self.seed)

    @cached_property
    def std(self):
        return noise_for(Workload.table(CELLS), self.level)[0].std

    @cached_property
    def places(self):
        return list(dict.fromkeys(landmarks().values()))

    def at(self, method, empty, size):
        t = self.map
        own = (t["method"] == method) & (t["empty"] == empty) & (t["size"] == size)
        return t[own].iloc[0].to_dict()

    def all_but_one_empty(self, cells, runs):
        """Prices by method where one cell is full; those of the map where it has them."""
        known, level, seed = cells == CELLS, self.level, self.seed
        own = self.map if known else price_map(level, [cells - 1], SIZES[:1], runs, seed, cells)
        return own[own["empty"].eq(cells - 1) & own["size"].eq(SIZES[0])].set_index("method")

    @cached_property
    def corners(self):
        """NNLS's price of the sum: all but one empty, none empty and large or small."""
        places = ((EMPTIES[-1], SIZES[0]), (0, SIZES[-1]), (0, SIZES[0]))
        rows = [self.at("nnls", *place) for place in places]
        return [written(row["sum"], row["sum_error"]) for row in rows]

    @cached_property
    def tops(self):
        """By method: the highest price of the sum and of the worst cell on the map."""
        return self.map.groupby("method")[["sum", "worst"]].max().to_dict("index")

    @cached_property
    def hardest(self):
        """The place of the highest price of the worst cell."""
        top = self.map.sort_values("worst").iloc[-1]
        method, price = METHODS[top["method"]].title, written(top["worst"], top["worst_error"])
        return {"method": method, "empty": int(top["empty"]), "price": price}

    @cached_property
    def landmarks_table(self):
        rows = []
        for name, (empty, size) in landmarks().items():
            own = {m: self.at(m, empty, size) for m in MICRO}
            place = f"{empty} empty" + (f", others {size}" if empty < CELLS - 1 else "")
            row = {"list": name, "place": place}
            row |= {
                LABELS[m]: f"{format_number(r['sum'])} / {format_number(r['worst'])}"
                for m, r in own.items()
            }
            rows.append((max(max(r["sum"], r["worst"]) for r in own.values()), row))
        return pd.DataFrame([row for _, row in sorted(rows, key=lambda r: -r[0])])
