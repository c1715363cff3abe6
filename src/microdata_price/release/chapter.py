"""What the chapter on one's own table says: the table, its price, and one release (ours)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import at_most, format_number
from ..exceptions import CertificateError
from ..fitting import METHODS, microdata_methods
from ..model.privacy import PureDP
from ..model.workload import Workload
from ..page.output import Caption
from ..tables.invented import own_table
from ..tables.schema import Schema
from ..tables.workload_text import parse_workload
from .budget import add_up
from .files import Release
from .folder import entry_of, load_measured
from .price import Price, price_table

Array = NDArray[np.float64]

LOWEST, HIGHEST = 0.01, 4.0
"""Beyond these levels a release would have little but noise, or next to none."""
SURE = 4
"""Standard errors by which a price must be off 1 to be called one."""
ALIKE = 1e-6
"""Prices, and their standard errors, are told apart by more than this; less is rounding."""
NOTICED = 0.01
"""A smaller relative change of a price is called none."""


def _count(number: float, noun: str) -> str:
    return f"{format_number(number)} {noun}{'' if number == 1 else 's'}"


def _are(number: float) -> str:
    return "is" if number == 1 else "are"


def _times(row: pd.Series) -> str:
    if row["price_error"] < ALIKE * row["price"]:
        return format_number(row["price"])
    return format_number(row["price"], se=row["price_error"])


@dataclass(frozen=True, eq=False)
class Findings:
    """A table and its price.

    Parameters
    ----------
    invented
        Whether it is the invented table.
    schema
        Columns and values.
    truth
        True counts, shaped as the schema.
    workload
        What is asked, the most important first.
    priced
        From `price_table`.
    """

    invented: bool
    schema: Schema
    truth: Array
    workload: Workload
    priced: Price

    @property
    def totals(self) -> pd.DataFrame:
        """Each method's total error on each query set."""
        return self.priced.totals[self.priced.totals["metric"] == "total"]

    @property
    def _made(self) -> pd.DataFrame:
        return self.totals[self.totals["method"].isin(microdata_methods())]

    def _extreme(self, largest: bool) -> pd.Series:
        return self._made.sort_values("price").iloc[-1 if largest else 0]

    @property
    def _level(self) -> str:
        """The level, in mathematics."""
        return self.priced.guarantee.math

    @property
    def secrecy(self) -> str:
        """Whose table it is."""
        if self.invented:
            return "The table is invented: nobody in it exists."
        return "**This page is confidential.** It was computed from your true table, unprotected."

    @property
    def opening(self) -> str:
        """What was found."""
        dear = self._extreme(True)
        who = f"{METHODS[dear['method']].label} on the query set {dear['query_set']}"
        top = self._made["price"] + SURE * self._made["price_error"]
        if (self._made["price"] - SURE * self._made["price_error"] > 1 + ALIKE).any():
            said = (
                "**The highest price of microdata on a query set here is "
                f"{_times(dear)}.** It is that of {who}, in total squared error, where signed "
                "answers have 1."
            )
        elif (top <= 1 + ALIKE).all():
            said = (
                "**On this table microdata are free.** No method has more error in total than "
                f"signed answers on any query set; the highest ratio is {_times(dear)} ({who})."
            )
        else:
            said = (
                "**Whether microdata cost anything here is not settled by "
                f"{_count(self.priced.runs, 'run')}.** The highest estimate of total squared error "
                f"over that of signed answers is {_times(dear)} ({who}), and no price is above 1 "
                "by more than four standard errors."
            )
        return f"{said} {self.secrecy}"

    @property
    def prices_picture(self) -> Caption:
        """What is said about the picture of the prices."""
        dear, cheap = self._extreme(True), self._extreme(False)
        ends = [
            f"{format_number(row['price'], 2)} ({METHODS[row['method']].label}, {row['query_set']})"
            for row in (cheap, dear)
        ]
        return Caption(
            f"Expected squared error of microdata over that of signed answers at {self._level}, "
            f"from {_count(self.priced.runs, 'run')}, with four standard errors. It goes from "
            f"{ends[0]} to {ends[1]}.",
            alt="One row for each query set, one mark for each method, on a logarithmic axis of "
            f"error over that of signed answers, with a line at 1. The lowest is {ends[0]}, the "
            f"highest {ends[1]}.",
        )

    @property
    def empty(self) -> int:
        """How many cells are empty."""
        return int((self.truth == 0).sum())

    @property
    def counts_picture(self) -> Caption:
        """What is said about the map of the counts."""
        shape = " by ".join(
            f"{n} ({c})" for n, c in zip(self.truth.shape, self.schema.columns, strict=True)
        )
        said = (
            f"{_count(self.truth.sum(), 'record')} in {_count(self.truth.size, 'cell')}, "
            f"of which {format_number(self.empty)} {_are(self.empty)} empty"
        )
        return Caption(
            f"The table: {said}. Its shape is {shape}. Yellow is few, "
            "blue is many, and blank is none.",
            alt=f"A map of counts, {self.schema.columns[0]} downwards: {said}. Empty is blank.",
        )

    @property
    def verdict(self) -> str:
        """How many pairs of method and query set pay, and what to use for the first."""
        made = self._made
        over = int((made["price"] - SURE * made["price_error"] > 1 + ALIKE).sum())
        under = int((made["price"] + SURE * made["price_error"] < 1 - ALIKE).sum())
        first = self.workload.names[0]
        own = made[made["query_set"] == first].sort_values("price").iloc[0]
        return (
            f"A price above 1 is paid, one below 1 is a gain. There are {len(made)} pairs of a "
            f"method and a query set. Beyond four standard errors, {over} of them pay and {under} "
            f"gain. What was asked first is {first}; there the lowest price is "
            f"{_times(own)}, that of {METHODS[own['method']].label}."
        )

    @property
    def parts_picture(self) -> Caption:
        """What is said about bias and variance."""
        made = self._made
        share = made["squared_bias"] / made["squared_error"]
        row = made.iloc[int(np.argmax(share.to_numpy()))]
        where = f"{METHODS[row['method']].label}, {row['query_set']}"
        return Caption(
            "Where the errors come from. The largest share of squared bias in an error is "
            f"{format_number(100 * float(share.max()), 2)} % ({where}). Signed answers have no "
            "bias.",
            alt="For every query set a group of bars, one for each method, divided into squared "
            "bias and variance, with a line at the error of signed answers. Bias is the largest "
            f"share for {where}.",
        )

    @property
    def finest(self) -> pd.DataFrame:
        """Every query of the largest query set, by method."""
        sizes = [q.size for q in self.workload.query_sets]
        name = self.workload.names[int(np.argmax(sizes))]
        return self.priced.queries[self.priced.queries["query_set"] == name]

    @property
    def finest_picture(self) -> Caption:
        """What is said about them."""
        drawn = self.finest[self.finest["method"].isin(microdata_methods())]
        above = int((drawn["price"] > 1).sum())
        said = f"{format_number(above)} of {_count(len(drawn), 'point')} {_lie(above)} above it."
        return Caption(
            f"Who pays: every query of {drawn['query_set'].iloc[0]} by its true count. The line is "
            f"the error of signed answers; {said}",
            alt="A panel for each method: the root error of every query against its true count, "
            f"with a line at the error of signed answers. {said}",
        )

    @property
    def worst_table(self) -> pd.DataFrame:
        """The three dearest queries of each method."""
        worst = self.priced.worst(3)
        return pd.DataFrame(
            {
                "method": [METHODS[m].label for m in worst["method"]],
                "query": worst["query"],
                "true count": worst["truth"],
                "bias": worst["bias"],
                "root error": np.sqrt(worst["squared_error"]),
                "signed answers": np.sqrt(worst["ols"]),
                "price": [_times(row) for _, row in worst.iterrows()],
            }
        )

    @property
    def worst_caption(self) -> str:
        """What is said about them."""
        worst = self.priced.worst(3)
        known = (worst["price_error"] < ALIKE * worst["price"]).any()
        exact = ", and one without is exact" if known else ""
        return (
            "The three dearest queries of each method. Bias and root errors are in records; a "
            f"price carries its standard error{exact}. They are the largest of many estimates, so "
            "they tend to be a little too large."
        )

    @property
    def release_level(self) -> float:
        """The level of the release that the chapter makes, within reason."""
        return float(np.clip(self.priced.guarantee.level, LOWEST, HIGHEST))

    @property
    def level_said(self) -> str:
        """Which level that is, and whether it is the one asked for."""
        used = format_number(self.release_level)
        if self.release_level == self.priced.guarantee.level:
            return f"The release below is made at $\\epsilon = {used}$."
        why = "drown the table" if self.release_level == LOWEST else "hide next to nothing"
        return (
            f"The release below is made at $\\epsilon = {used}$ and not at {self._level}, where "
            f"the noise would {why}."
        )


def _lie(number: int) -> str:
    return "lies" if number == 1 else "lie"


def study(
    table: str = "",
    schema: str = "",
    workload: str = "sum, marginals, identity",
    epsilon: float = 0.5,
    runs: int = 1000,
    seed: int = 7,
) -> Findings:
    """Price a table: simulated on the true counts, so as confidential as they are.

    Parameters
    ----------
    table, schema
        As for `own_table`; empty for the invented table.
    workload
        What is asked, the most important first.
    epsilon
        Pure differential privacy of all answers together.
    runs, seed
        Of the simulation.

    Raises
    ------
    InputError
        A table, schema, workload or level that is none.

    Examples
    --------
    >>> study(runs=4).invented
    True
    """
    columns, truth = own_table(table, schema)
    asked = parse_workload(workload, columns)
    priced = price_table(truth, columns, asked, PureDP(epsilon), runs=runs, seed=seed)
    return Findings(not table, columns, truth, asked, priced)


@dataclass(frozen=True, eq=False)
class OneRelease:
    """A release of a table that is no secret, beside the truth.

    Parameters
    ----------
    truth
        True counts.
    release
        What was made of them.
    """

    truth: Array
    release: Release

    @property
    def noisy(self) -> NDArray[np.int64]:
        """The noisy cells."""
        return self.release.measured.answers[-1]

    @property
    def whole(self) -> NDArray[np.int64]:
        """The released whole records of each cell."""
        if self.release.whole is None:
            raise CertificateError(f"the method {self.release.method!r} makes no microdata")
        return self.release.whole

    @property
    def picture(self) -> Caption:
        """What is said about the picture of one release."""
        below = int((self.noisy < 0).sum())
        return Caption(
            f"What comes out of one release. Of {format_number(self.noisy.size)} noisy cells "
            f"{format_number(below)} {_are(below)} negative; of the microdata none is. Such a "
            "picture may be shown for an invented table only.",
            alt="Two panels against the true count of each cell. Left: noisy answers around the "
            f"diagonal, {format_number(below)} of them below zero. Right: the released whole "
            "records, none of them negative.",
        )

    @property
    def said(self) -> str:
        """What became of empty cells and of the total."""
        lost = int(((self.truth > 0) & (self.whole == 0)).sum())
        born = int(((self.truth == 0) & (self.whole > 0)).sum())
        total = int(self.release.measured.answers[0].ravel()[0])
        return (
            f"Of the cells that hold records {format_number(lost)} came out empty; of the empty "
            f"ones {format_number(born)} came out with records. The true total is "
            f"{format_number(self.truth.sum())}, its noisy answer {format_number(total)}, and the "
            f"number of records released {format_number(self.whole.sum())}."
        )

    @property
    def rounding_said(self) -> str:
        """How far rounding moved the answers."""
        moved = max(self.release.moved().values(), default=0.0)
        return f"In this release rounding moved every answer by at most {at_most(moved, 2)}."


def together_said(folders: Sequence[Path]) -> str:
    """Say what several folders guarantee together, and how many of them count."""
    together = add_up([entry_of(f, load_measured(f)[0]) for f in folders])
    return (
        f"Of these {len(folders)} folders {len(together.entries)} count. Together they satisfy "
        f"{together.total.math}."
    )


def trend_said(base: float, budget: float, people: float) -> str:
    """Say how the price of the sum under NNLS moves with more budget, and with more people."""
    if abs(budget / base - 1) < NOTICED:
        word = "hardly changes"
    else:
        word = "falls" if budget < base else "rises"
    return (
        f"On the invented table the price {word}: it is {format_number(base)} at first, "
        f"{format_number(budget)} with four times the $\\epsilon$, and {format_number(people)} "
        "with four times the people. The last two agree, since for Laplace noise and NNLS only "
        "the product of $\\epsilon$ and the counts matters."
    )
