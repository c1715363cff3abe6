"""Which tables pay: the map of lists, and where the benchmark's lie on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from ..base.numbers import Mean, at_most, format_number
from ..fitting import METHODS, microdata_methods
from ..model.measurement import noise_for
from ..model.privacy import PureDP
from ..model.workload import Workload
from ..page.output import Caption
from .experiments import BEYOND
from .price_map import CELLS, EMPTIES, SIZES, landmarks, price_map


@dataclass(frozen=True, eq=False)
class Findings:
    """The map at one level.

    Parameters
    ----------
    epsilon
        Pure differential privacy of all answers together.
    runs
        Runs of each list.
    std
        Standard deviation of the noise on each answer, in counts.
    table
        From `price_map.price_map`.
    """

    epsilon: float
    runs: int
    std: float
    table: pd.DataFrame

    @property
    def worst_certificate(self) -> float:
        """Of all fits of the map."""
        return float(self.table["certificate"].max())

    @property
    def methods(self) -> list[str]:
        """The paper's methods that make microdata."""
        return [m for m in microdata_methods() if self.table["method"].eq(m).any()]

    @cached_property
    def framed(self) -> dict[str, tuple[int, int]]:
        """The benchmark's lists of one size, by name: empty cells and size."""
        known = landmarks()
        return {
            name: (int(empty), int(size) or SIZES[0])
            for name, empty, size in known.itertuples(index=False)
        }

    @property
    def places(self) -> list[tuple[int, int]]:
        """Their places, each once."""
        return list(dict.fromkeys(self.framed.values()))

    def at(self, method: str, empty: int, size: int) -> dict[str, Any]:
        """Return one place's row."""
        t = self.table
        own = t[(t["method"] == method) & (t["empty"] == empty) & (t["size"] == size)]
        return {str(k): v for k, v in own.iloc[0].items()}

    def _top(self, kind: str, method: str = "") -> pd.Series:
        own = self.table[self.table["method"] == method] if method else self.table
        return own.sort_values(kind).iloc[-1]

    def _count(self, column: str, low: float, high: float) -> str:
        inside = self.table[self.table[column].between(low, high)]
        counts = inside.groupby("method").size()
        return ", ".join(f"{METHODS[m].label} in {int(counts.get(m, 0))}" for m in self.methods)

    @property
    def opening(self) -> str:
        """What was found."""
        nnls = [self.at("nnls", EMPTIES[-1], SIZES[0])["sum"], self.at("nnls", 0, SIZES[-1])["sum"]]
        return (
            f"**NNLS pays on empty lists.** At $\\epsilon = {format_number(self.epsilon)}$ its sum "
            f"costs {format_number(nnls[0], 3)} times the error of OLS where all but one cell are "
            f"empty. It costs {format_number(nnls[1], 3)} times where no cell is empty and all "
            f"others have {SIZES[-1]} records."
        )

    def _maxima(self, kind: str) -> str:
        return ", ".join(
            f"{METHODS[m].label} {format_number(float(self._top(kind, m)[kind]), 3)}"
            for m in self.methods
        )

    @property
    def sum_picture(self) -> Caption:
        """What is said about the map of the sum."""
        top = self._top("sum")
        told = ", ".join(
            f"{name} ({empty} empty" + (f", others {size})" if empty < CELLS - 1 else ")")
            for name, (empty, size) in self.framed.items()
        )
        return Caption(
            f"The price of the sum at $\\epsilon = {format_number(self.epsilon)}$. The noise has a "
            f"standard deviation of {format_number(self.std)} records; ▲ marks prices beyond "
            f"{BEYOND:g}. The highest is {format_number(float(top['sum']), 3)} "
            f"({METHODS[str(top['method'])].label}, {int(top['empty'])} empty cells). Framed are "
            f"the benchmark's {told}.",
            alt="A map for each method of the price of the sum: the number of empty cells across, "
            f"the size of the other cells upwards. The highest prices are: {self._maxima('sum')}.",
        )

    @property
    def worst_picture(self) -> Caption:
        """What is said about the map of the worst cell."""
        top = self._top("worst")
        return Caption(
            "The price of the worst cell. It is a split estimate, which does not overshoot on "
            "average; the largest standard error is "
            f"{at_most(float(self.table['worst_error'].max()), 2)}. The highest price is "
            f"{format_number(float(top['worst']), 3)} "
            f"({METHODS[str(top['method'])].label}).",
            alt="The same maps for the worst cell. The highest prices are: "
            f"{self._maxima('worst')}.",
        )

    @property
    def sum_said(self) -> str:
        """In how many places the sum is dear, and in how many it is free."""
        places = len(self.table) // len(self.methods)
        return (
            f"The noise on each answer has a standard deviation of {format_number(self.std)} "
            f"records, and each place has {self.runs:,} runs. Of {places} places the sum is beyond "
            f"{BEYOND:g} times OLS for {self._count('sum', BEYOND + 1e-12, 1e300)}. It is within a "
            f"tenth of OLS for {self._count('sum', 0.9, 1.1)}."
        )

    @property
    def nnls_said(self) -> str:
        """How the price of NNLS depends on the others' size."""
        small = float(self.at("nnls", 0, SIZES[0])["sum"])
        if small > 1.15:
            return (
                f"Empty cells are not the whole story. A list of cells of {SIZES[0]}, none of them "
                f"empty, costs {format_number(small)}: cells far below the noise raise "
                "the price too."
            )
        return (
            f"A list of the smallest cells, none of them empty, costs {format_number(small)} at "
            "this level, which is nearly nothing."
        )

    @property
    def worst_said(self) -> str:
        """Where a single cell is hit hardest."""
        top = self._top("worst")
        where = f"{METHODS[str(top['method'])].label} with {int(top['empty'])} empty cells"
        if top["empty"] < CELLS - 1:
            where += f" and others of {int(top['size'])}"
        price = Mean(float(top["worst"]), float(top["worst_error"]))
        said = (
            f"The worst cell is beyond {BEYOND:g} times OLS for "
            f"{self._count('worst', BEYOND + 1e-12, 1e300)} places. The highest price, {price}, is "
            f"that of {where}."
        )
        if top["method"] == "sequential" and top["empty"] == CELLS - 1:
            said += (
                " There the one large cell has to give back what the sum must not gain from the "
                "noise that stays on the empty cells."
            )
        return said

    @property
    def safest_said(self) -> str:
        """Which method never does badly here."""
        peak = {
            m: max(float(self._top("sum", m)["sum"]), float(self._top("worst", m)["worst"]))
            for m in self.methods
        }
        safest = min(peak, key=lambda m: peak[m])
        listed = ", ".join(f"{METHODS[m].label} {format_number(v, 3)}" for m, v in peak.items())
        said = f"The highest price of either kind is: {listed}."
        if peak[safest] < BEYOND:
            return (
                f"{said} Over this map {METHODS[safest].label} never does badly. These are lists "
                "of one size of cell; the benchmark's stairs and real tables are harder on it."
            )
        return f"{said} No method stays below {BEYOND:g} times OLS everywhere on this map."

    @cached_property
    def _ordered(self) -> pd.DataFrame:
        rows = []
        for name, (empty, size) in self.framed.items():
            own = {m: self.at(m, empty, size) for m in self.methods}
            cells = {METHODS[m].label: f"{r['sum']:.2f} / {r['worst']:.2f}" for m, r in own.items()}
            top = max(max(r["sum"], r["worst"]) for r in own.values())
            place = f"{empty} empty" + (f", others {size}" if empty < CELLS - 1 else "")
            rows.append({"list": name, "place": place, **cells, "top": top})
        return pd.DataFrame(rows).sort_values("top", ascending=False)

    @property
    def landmarks_table(self) -> pd.DataFrame:
        """The benchmark's lists of one size, the hardest first."""
        return self._ordered.drop(columns="top")

    @property
    def landmarks_caption(self) -> str:
        """What is said about them."""
        return (
            "The benchmark's lists of one size of cell, the hardest first: price of the sum / "
            "price of the worst cell."
        )

    @property
    def order_said(self) -> str:
        """Which list is the hardest, and whether the paper's words agree."""
        top = self._ordered.set_index("list")["top"]
        said = (
            f"By its highest price over methods and both kinds of query, {top.index[0]} is the "
            f"hardest of these and {top.index[-1]} the easiest. "
        )
        if top["Step16"] - top["Step50"] > 2 * float(self.table["sum_error"].max()):
            return said + (
                "That agrees with the paper, which calls Step16 of medium difficulty and Step50 "
                "easy."
            )
        return said + (
            "The map does not separate Step16 from Step50, which the paper calls of medium "
            "difficulty and easy."
        )


def study(epsilon: float = 0.5, runs: int = 1000, seed: int = 5) -> Findings:
    """Estimate the prices of the map's lists (ours).

    Parameters
    ----------
    epsilon
        Pure differential privacy of all answers together.
    runs
        Runs of each list, 4 or more.
    seed
        Of the noise.

    Raises
    ------
    InputError
        A level out of range, or too few runs.

    Examples
    --------
    >>> study(runs=4).table["method"].nunique()
    4
    """
    guarantee = PureDP(epsilon)
    std = noise_for(Workload.table(CELLS), guarantee)[0].std
    return Findings(epsilon, runs, std, price_map(guarantee, EMPTIES, SIZES, runs=runs, seed=seed))
