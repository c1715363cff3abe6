"""What the chapter on the price says: prices over a whole grid, their parts and their trends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import Mean, format_number
from ..fitting import METHODS, paper_methods
from ..grid.spec import GridSpec
from ..model.benchmark import FAMILIES
from ..model.privacy import level_of
from ..page.output import Caption
from . import prices as parts
from .experiments import BEYOND, QUERY_NAMES, levels, priced
from .grids import RUNS_ALONE, grid_part

Array = NDArray[np.float64]
KINDS = {"pure": "pure differential privacy", "zcdp": "zCDP"}


def _listed(values: pd.Series, digits: int = 3, unit: str = "") -> str:
    return ", ".join(
        f"{METHODS[m].label} {format_number(float(values[m]), digits)}{unit}" for m in parts.MICRO
    )


@dataclass(frozen=True, eq=False)
class Findings:
    """A grid's prices.

    Parameters
    ----------
    prices
        From `prices.sharpened`.
    queries
        A grid's errors of single queries.
    """

    prices: pd.DataFrame
    queries: pd.DataFrame

    @property
    def worst_certificate(self) -> float:
        """Of the grid's fits."""
        return float(self.prices["worst_certificate"].max())

    @property
    def query_names(self) -> dict[str, str]:
        """The query sets in their order, by what they count."""
        return {q: QUERY_NAMES[q] for q in parts.query_sets(self.prices)}

    @property
    def level_names(self) -> list[str]:
        """The grid's levels in words."""
        return [level_of(*pair).plain for pair in levels(self.prices)]

    @cached_property
    def matrices(self) -> dict[str, pd.DataFrame]:
        """By query set: prices, a row a table, a column a method and level."""
        return {q: parts.price_matrix(self.prices, q) for q in self.query_names}

    def _medians(self, query_set: str) -> pd.Series:
        matrix = self.matrices[query_set]
        return pd.Series({m: float(np.median(matrix[m].to_numpy())) for m in parts.MICRO})

    def _beyond(self, query_set: str) -> tuple[int, int]:
        values = self.matrices[query_set].to_numpy()
        return int((values > BEYOND).sum()), int(values.size)

    @property
    def opening(self) -> str:
        """What was found."""
        dear, count = self._beyond("sum")
        cells, _ = self._beyond("identity")
        return (
            f"**In {dear} of {count} experiments the sum costs more than {BEYOND:g} times the "
            f"error of OLS. The total of the cells costs that much in {cells}.** Here an "
            "experiment is a table, a level of privacy and one of the four methods that make "
            "microdata."
        )

    @cached_property
    def typical(self) -> dict[str, pd.DataFrame]:
        """By query set: median prices over the levels, a row a table, a column a method."""
        return {q: m.T.groupby(level=0, sort=False).median().T for q, m in self.matrices.items()}

    @property
    def glance_picture(self) -> Caption:
        """What is said about the map of median prices."""
        told = ", ".join(
            f"{int((m.to_numpy() > BEYOND).sum())} of {m.size} on the {self.query_names[q]}"
            for q, m in self.typical.items()
        )
        over, what = "the median over the levels of privacy", "medians"
        if len(self.level_names) == 1:
            over, what = f"at {self.level_names[0]}", "prices"
        return Caption(
            "Blue is cheaper than OLS, red is dearer: total squared error over that of OLS, "
            f"{over}. Within each family the sparsest tables are on top. Lists have no rows or "
            f"columns. Dots mark {what} beyond {BEYOND:g}: {told}.",
            alt="Four maps side by side, for the sum, the rows, the columns and the cells: tables "
            "down, four methods across, blue where the price is below 1, red where it is above. "
            f"{what.capitalize()} beyond {BEYOND:g}: {told}.",
        )

    @property
    def map_picture(self) -> Caption:
        """What is said about the map of all prices."""
        told = ", ".join(
            "{} of {} on the {}".format(*self._beyond(q), name)
            for q, name in self.query_names.items()
        )
        many = len(self.level_names)
        return Caption(
            "Total squared error over that of OLS, for every table, method and level. Within each "
            f"family the sparsest tables are on top. Dots mark prices beyond {BEYOND:g}: {told}.",
            alt="Four maps, one above the other, for the sum, the rows, the columns and the cells: "
            f"tables down, the four methods with {many} level{'s' * (many != 1)} each across, "
            f"shaded by the price. Prices beyond {BEYOND:g}: {told}.",
        )

    @property
    def medians_said(self) -> str:
        """The median prices of the sum and of the cells."""
        on_sum, on_cells = self._medians("sum"), self._medians("identity")
        pairs = len(self.matrices["sum"]) * len(self.level_names)
        return (
            f"Over the {pairs} pairs of table and level the median prices of the sum are: "
            f"{_listed(on_sum)}. Those of the cells (total over all of them) are: "
            f"{_listed(on_cells)}."
        )

    @property
    def beyond_said(self) -> str:
        """How often each query set is dear."""
        told = ", ".join(
            "{} {} of {}".format(name, *self._beyond(q)) for q, name in self.query_names.items()
        )
        return f"Prices beyond {BEYOND:g} times OLS, by query set: {told}."

    @property
    def extremes_said(self) -> str:
        """The highest and the lowest price."""
        own = self.prices[
            self.prices["method"].isin(parts.MICRO) & self.prices["metric"].eq("total")
        ].sort_values("price")

        def told(row: pd.Series) -> str:
            return (
                f"{format_number(row['price'])} ({METHODS[row['method']].label}, the "
                f"{QUERY_NAMES[row['query_set']]} of {row['dataset']} at "
                f"{level_of(row['privacy'], row['level']).math})"
            )

        return f"The highest price is {told(own.iloc[-1])}, the lowest {told(own.iloc[0])}."

    @cached_property
    def shares(self) -> pd.DataFrame:
        """The share of squared bias in each total error."""
        shares = parts.bias_shares(self.queries)
        return shares[shares["method"].isin(parts.MICRO)]

    def _share(self, query_set: str) -> pd.Series:
        own = self.shares[self.shares["query_set"] == query_set]
        return 100 * own.groupby("method")["share"].median()

    @property
    def bias_picture(self) -> Caption:
        """What is said about the picture of those shares."""
        on_sum = self._share("sum")
        return Caption(
            "The share of squared bias in the total error; lines are medians. On the sum it is "
            f"{format_number(on_sum['nnls'], 2)} % for NNLS and "
            f"{format_number(on_sum['sequential'], 2)} % for sequential fitting.",
            alt="Four panels of dots, one a query set, with a row for each of four methods: the "
            "share of squared bias in the error of every table and level. On the sum the medians "
            f"are, in percent: {_listed(on_sum, 2)}.",
        )

    @property
    def bias_said(self) -> str:
        """How much of the error is bias, and in which direction."""
        on_sum = self._share("sum")
        most = str(on_sum.idxmax())
        own = self.queries[self.queries["query_set"].eq("sum") & self.queries["method"].eq(most)]
        upward = 100 * float((own["bias"] > 0).mean())
        said = (
            "The median share of squared bias in the error of the sum is: "
            f"{_listed(on_sum, 2, ' %')}. In that of the cells it is: "
            f"{_listed(self._share('identity'), 2, ' %')}. "
        )
        if min(on_sum["nnls"], on_sum["maxfit"]) > 50:
            said += (
                "What NNLS and max fitting pay on the sum is mostly bias: every empty cell keeps a "
                "little of its noise, and the sum adds it all up. "
            )
        else:
            said += (
                "On the sum, bias is a smaller part of the error of NNLS or max fitting than "
                "variance, in the median. "
            )
        return said + (
            f"For {METHODS[most].label} the mean error of the sum is upward in "
            f"{format_number(upward)} % of the pairs of table and level."
        )

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Median prices by family, method and level."""
        table = parts.medians(self.prices)
        return table[table["method"].isin(parts.MICRO)]

    @property
    def privacy(self) -> str:
        """The kind of privacy that the trends are told of: pure where there is some."""
        return "pure" if self.summary["privacy"].eq("pure").any() else "zcdp"

    @property
    def _trend(self) -> pd.DataFrame:
        s = self.summary
        return s[s["kind"].eq("sum") & s["privacy"].eq(self.privacy) & s["method"].eq("nnls")]

    @property
    def noise_picture(self) -> Caption:
        """What is said about the picture against the noise."""
        low, high = (format_number(f(self._trend["median"])) for f in (min, max))
        return Caption(
            "Price against the noise on each answer: medians over the tables of a family. The "
            f"median price of the sum under NNLS lies between {low} and {high} under "
            f"{KINDS[self.privacy]}.",
            alt="Three rows of two panels, one row a family of tables: the median price of the sum "
            "on the left and of the worst cell on the right against the standard deviation of the "
            f"noise, one line a method. The medians of NNLS on the sum lie between {low} and "
            f"{high}.",
        )

    @property
    def trend_said(self) -> str:
        """How the price of NNLS moves with the noise."""
        steps = {
            str(f): g.sort_values("noise")["median"].to_numpy()
            for f, g in self._trend.groupby("family", sort=False)
        }
        if max(len(v) for v in steps.values()) == 1:
            return (
                f"There is one level of {KINDS[self.privacy]} here, so there is no trend to show; "
                "the figure has one group of points for it."
            )
        told = "; ".join(
            f"{format_number(v[0])} to {format_number(v[-1])} ({FAMILIES[f].title.lower()})"
            for f, v in steps.items()
        )
        return (
            f"Under {KINDS[self.privacy]}, from the least noise to the most, the median price of "
            f"the sum under NNLS goes from {told}."
        )

    @property
    def level00_said(self) -> str:
        """Whether the price of Level00 is one number, as the remark has it."""
        p = self.prices
        own = p[
            p["dataset"].eq("Level00-1d")
            & p["query_set"].eq("sum")
            & p["method"].eq("nnls")
            & p["privacy"].eq(self.privacy)
        ]
        listed = ", ".join(
            str(Mean(float(v), float(e)))
            for v, e in zip(own["price"], own["price_error"], strict=True)
        )
        start = (
            f"At the levels of {KINDS[self.privacy]} the price of the sum on Level00-1d under NNLS "
            f"is {listed}."
        )
        if len(own) == 1:
            return f"{start} With one level there is nothing to compare."
        apart = float(own["price"].max() - own["price"].min())
        if apart <= 4 * float(np.sqrt((own["price_error"] ** 2).sum())):
            return f"{start} The differences are within the noise of the simulation."
        return f"{start} The values are further apart than the noise of the simulation explains."

    @cached_property
    def _sparse(self) -> pd.DataFrame:
        table = parts.with_sparsity(self.prices)
        return table[table["method"].isin(parts.MICRO)]

    @property
    def _focus(self) -> float:
        own = [level for kind, level in levels(self.prices) if kind == self.privacy]
        return own[len(own) // 2]

    @property
    def focus(self) -> str:
        """The level of the picture, in words."""
        return level_of(self.privacy, self._focus).plain

    @property
    def chosen(self) -> pd.DataFrame:
        """The prices of the sum at that level, with each table's share of empty cells."""
        s = self._sparse
        return s[s["privacy"].eq(self.privacy) & s["level"].eq(self._focus)]

    def _ends(self) -> tuple[float, float]:
        own = self.chosen[self.chosen["method"] == "nnls"]
        full, empty = own[own["share"] == 0], own[own["share"] > 0.75]
        return float(full["price"].median()), float(empty["price"].median())

    @property
    def sparsity_picture(self) -> Caption:
        """What is said about the picture against sparsity."""
        low, high = (format_number(v) for v in self._ends())
        return Caption(
            "The price of the sum against the share of empty cells at "
            f"{level_of(self.privacy, self._focus).math} (bars: two standard errors; dashed: twice "
            f"OLS). The median price under NNLS is {low} where no cell is empty and {high} where "
            "more than three quarters are.",
            alt="Four panels, one a method: the price of the sum against the share of empty cells "
            f"for the tables. The median of NNLS is {low} for tables without empty cells and "
            f"{high} for those with more than three quarters empty.",
        )

    @property
    def ranks_said(self) -> str:
        """How far sparsity explains the price."""
        ranks = parts.rank_correlations(self._sparse).groupby("method")["correlation"].median()
        said = (
            "Spearman's rank correlation of sparsity and price over all tables, in the median over "
            f"the levels, is: {_listed(ranks, 2)}. "
        )
        clipping = min(ranks["nnls"], ranks["maxfit"])
        if clipping > 0.4 and max(ranks["sequential"], ranks["reweighted"]) < clipping:
            return said + (
                "So sparsity is what NNLS and max fitting pay for; sequential and reweighted "
                "fitting do not pay for it with the sum."
            )
        return said + "At these levels the share of empty cells alone does not explain the price."


def glance(found: Findings) -> list[tuple[str, list[str], Array, list[int]]]:
    """Lay the median prices out for the map at a glance, every query set with all tables.

    Parameters
    ----------
    found
        The findings.
    """
    tables = found.typical["sum"].index
    return _laid({q: m.reindex(tables) for q, m in found.typical.items()})


def heat(found: Findings) -> list[tuple[str, list[str], Array, list[int]]]:
    """Lay the prices out for the map: title, tables, prices and where a new family begins.

    Parameters
    ----------
    found
        The findings.
    """
    return _laid(found.matrices)


def _laid(matrices: dict[str, pd.DataFrame]) -> list[tuple[str, list[str], Array, list[int]]]:
    laid = []
    for query_set, matrix in matrices.items():
        tables = [str(t) for t in matrix.index]
        kinds = [("PUMA", "") if t.startswith("PUMA") else ("", t[-2:]) for t in tables]
        ends = [i for i in range(1, len(tables)) if kinds[i] != kinds[i - 1]]
        short = [t.removeprefix("PUMA") for t in tables]
        laid.append((QUERY_NAMES[query_set], short, matrix.to_numpy(), ends))
    return laid


def study(folder: str = "", epsilon: float = 0.5) -> Findings:
    """Compute the prices of a finished grid, or of a small one at one level (ours).

    Parameters
    ----------
    folder
        A finished grid, or ``""``.
    epsilon
        The level of the part that is computed where there is no folder.

    Raises
    ------
    InputError
        A folder that is no finished grid, or a level out of range.

    Examples
    --------
    >>> study(epsilon=1.0).level_names
    ['ε = 1']
    """
    grid = grid_part(folder, GridSpec.choose(epsilon=[epsilon], runs=RUNS_ALONE))
    errors = grid.errors[grid.errors["method"].isin(paper_methods())]
    return Findings(parts.sharpened(priced(errors)), grid.queries)
