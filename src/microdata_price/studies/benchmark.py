"""What the chapter on the benchmark says: the tables, how sparse they are, what noise hides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base.numbers import format_number
from ..exceptions import unknown_name
from ..model.benchmark import data_set, data_sets, labels, names
from ..model.measurement import noise_for
from ..model.noise import Laplace
from ..model.privacy import ConcentratedDP, PureDP
from ..page.output import Caption
from .experiments import percentile_of, sparsity, state

Array = NDArray[np.float64]

SIZES = (1, 16, 32, 50)
"""Sizes of the synthetic cells, in records."""
_NOISES = 100


@dataclass(frozen=True, eq=False)
class Findings:
    """The tables and the levels.

    Parameters
    ----------
    guarantees
        The levels of the experiments.
    chosen
        The real table that is drawn large.
    """

    guarantees: tuple[PureDP | ConcentratedDP, ...]
    chosen: str
    square: str = "SplitStairs-2d"

    @cached_property
    def about(self) -> pd.DataFrame:
        """One row a table: how many records, how many empty cells, rows and columns."""
        return sparsity()

    def _of(self, family: str) -> pd.DataFrame:
        return self.about[self.about["family"] == family].sort_values("share", ascending=False)

    def tables(self, family: str) -> dict[str, Array]:
        """Return the counts of a family's tables by name."""
        return {d.name: d.table for d in data_sets(family)}

    @property
    def by_sparsity(self) -> pd.DataFrame:
        """The synthetic lists and the real tables, each in order of sparsity."""
        return pd.concat([self._of("1d"), self._of("pums")])

    @property
    def opening(self) -> str:
        """What was found."""
        real, lists = self._of("pums"), self._of("1d")
        fuller = int((lists["share"] < real["share"].min()).sum())
        return (
            f"**Real tables are sparse.** From {format_number(100 * real['share'].min(), 2)} % to "
            f"{format_number(100 * real['share'].max(), 2)} % of their cells are empty. Every real "
            f"table is sparser than {fuller} of the {len(lists)} synthetic lists; the exception "
            f"is {', '.join(lists['dataset'].iloc[: len(lists) - fuller])}."
        )

    @property
    def empty_picture(self) -> Caption:
        """What is said about the picture of empty cells."""
        real, lists = self._of("pums")["share"], self._of("1d")["share"]
        return Caption(
            "Empty cells of the synthetic lists and of the real tables. The "
            f"{len(self.about)} tables of the benchmark range from full to nearly empty.",
            alt="Bars of the share of empty cells. The hatched bars of synthetic lists run from "
            f"{100 * lists.min():.0f} to {100 * lists.max():.0f} percent; the plain bars of real "
            f"tables all lie between {100 * real.min():.0f} and {100 * real.max():.0f} percent.",
        )

    @property
    def lists_picture(self) -> Caption:
        """What is said about the picture of the lists."""
        lists = self._of("1d")
        return Caption(
            f"The lists. Empty cells are {lists['empty'].min()} to {lists['empty'].max()} of 100; "
            f"{int((lists['empty'] == 0).sum())} of the {len(lists)} lists have none.",
            alt="Strips of 100 cells, shaded by the logarithm of their counts. In each the first "
            "cell is darkest. The other cells are white in Level00, equally light in Level01, "
            "darker in Level16 and Level32; they darken from left to right in Stair; the first "
            "half is white in Step16 and Step50, the second half in SplitStairs.",
        )

    @property
    def squares_picture(self) -> Caption:
        """What is said about the picture of the square tables."""
        square = self._of("2d")
        hollow = square[square["empty_rows"] + square["empty_columns"] > 0]
        told = ", ".join(
            f"{d} ({r} rows, {c} columns)"
            for d, r, c in zip(
                hollow["dataset"], hollow["empty_rows"], hollow["empty_columns"], strict=True
            )
        )
        return Caption(
            "The same counts as tables, with row sums at the right, column sums below and the "
            f"total in the corner. Tables with empty sums at an edge: {told}.",
            alt="Tables of ten by ten cells with row sums at the right edge, column sums at the "
            "lower edge and the total in the corner. The upper left cell is darkest in each. The "
            "shapes of the lists appear column by column: in the step tables the left half is "
            "white.",
        )

    @property
    def square_picture(self) -> Caption:
        """What is said about the square table that is drawn large."""
        table = self.tables("2d")[self.square]
        total = format_number(table.sum())
        sums = f"{int((table.sum(axis=1) == 0).sum())} rows and "
        sums += f"{int((table.sum(axis=0) == 0).sum())} columns"
        return Caption(
            f"{self.square} with its counts: {int((table == 0).sum())} of {table.size} cells are "
            f"empty, {sums} have nobody. The total is {total} records.",
            alt=f"The table {self.square}, ten by ten cells with their counts written in, row sums "
            f"at the right, column sums below, and the total of {total} in the corner; "
            f"{int((table == 0).sum())} cells are white, which means empty.",
        )

    @property
    def claimed(self) -> float:
        """The percentile of 16 under the noise that the paper names."""
        return percentile_of(Laplace(1 / 0.25), _NOISES, 16)

    @property
    def claim_said(self) -> str:
        """Whether the paper's percentile is right."""
        verdict = (
            "close to what the paper says"
            if abs(self.claimed - 40) < 1
            else "not what the paper says"
        )
        return (
            f"It is {format_number(self.claimed)} %, {verdict}. In the experiments each answer of "
            "a list gets noise of scale $2/\\epsilon$, because one record moves a cell and the "
            "sum. So the paper's example is what happens on a list at $\\epsilon = 0.5$."
        )

    @cached_property
    def percentiles(self) -> pd.DataFrame:
        """At each level, the noise and where the sizes lie in the largest of 100 noises."""
        rows = []
        for guarantee in self.guarantees:
            noise = noise_for(data_set("Level16-1d").workload, guarantee)[0]
            at = {f"size {s}": percentile_of(noise, _NOISES, s) for s in SIZES}
            rows.append({"level": guarantee.math, "sd of the noise": noise.std, **at})
        return pd.DataFrame(rows)

    @property
    def curves(self) -> list[tuple[str, Array, Array]]:
        """What the figure draws: a curve a level."""
        x = np.geomspace(0.5, 2000, 400)
        curves = []
        for guarantee in self.guarantees:
            noise = noise_for(data_set("Level16-1d").workload, guarantee)[0]
            at = np.array([percentile_of(noise, _NOISES, v) for v in x])
            curves.append((guarantee.plain, x, at))
        return curves

    @property
    def percentiles_picture(self) -> Caption:
        """What is said about the picture of the largest noise."""
        at = self.percentiles["size 16"]
        return Caption(
            "Where the sizes of the synthetic cells lie in the distribution of the largest of 100 "
            "noises, at the levels of these experiments on lists. The horizontal line is the "
            f"percentile that the paper names, computed: {format_number(self.claimed)}.",
            alt="One rising curve a privacy level: the percentile of the largest of 100 noises "
            "against its size on a logarithmic axis, with vertical lines at 1, 16, 32 and 50 "
            f"records. At 16 records the curves lie between {at.min():.0f} and {at.max():.0f} "
            "percent.",
        )

    @property
    def hidden_said(self) -> str:
        """At which levels a cell of 16 drowns."""
        at = self.percentiles["size 16"]
        seen = self.percentiles.loc[at > 50, "level"]
        start = (
            f"Over the {len(at)} levels of this page the percentile at which 16 lies ranges "
            f"from {at.min():.1f} to {at.max():.1f} %. "
        )
        if seen.empty:
            return start + (
                "At every level the largest of 100 noises is more often above 16 than below, so a "
                "single cell of 16 drowns."
            )
        if len(seen) == len(at):
            return start + (
                "At every level the largest of 100 noises is more often below 16 than above."
            )
        return start + (
            f"At {', '.join(seen)} the largest of 100 noises is more often below 16 than above, so "
            "a noisy answer well above 16 is a sign of a full cell. Elsewhere a cell of 16 drowns."
        )

    @property
    def sizes(self) -> pd.DataFrame:
        """The same percentiles for the page."""
        shown = {f"size {s}": [f"{v:.1f}" for v in self.percentiles[f"size {s}"]] for s in SIZES}
        return self.percentiles.assign(**shown)

    @property
    def sizes_caption(self) -> str:
        """What is said about them."""
        return (
            "Noise on each answer of a list, and the percentile of the largest of 100 such noises "
            "at which the sizes of the synthetic cells lie, in %."
        )

    @property
    def people_picture(self) -> Caption:
        """What is said about the picture of all real tables."""
        real = self._of("pums")
        return Caption(
            f"The {len(real)} real tables, 24 origins down and nine races across, with all origins "
            "and all races at the edges. From "
            f"{real['empty'].min()} to {real['empty'].max()} of 216 cells are empty.",
            alt=f"Small multiples: {len(real)} tables shaded by the logarithm of their counts. In "
            f"each a few cells are dark and {real['empty'].min()} to {real['empty'].max()} of 216 "
            "are white. Most have a dark upper row or two and single dark cells below.",
        )

    @property
    def shown(self) -> dict[str, Array]:
        """The real table that is drawn large."""
        return {self.chosen: data_set(self.chosen).table}

    @property
    def shown_picture(self) -> Caption:
        """What is said about it."""
        table = data_set(self.chosen).table
        race, origin = np.unravel_index(int(table.argmax()), table.shape)
        most = (labels("race", "short_label")[race], labels("origin", "short_label")[origin])
        share = format_number(100 * float(table.max() / table.sum()), 2)
        empty = int((table == 0).sum())
        return Caption(
            f"{self.chosen} ({state(self.chosen)}): most often {most[0]}, {most[1]}, {share} % of "
            f"{format_number(float(table.sum()))} records. {empty} of {table.size} cells are "
            "empty.",
            alt=f"The table of {self.chosen}, 24 origins down and nine races across, shaded by the "
            f"logarithm of its counts; {empty} of {table.size} cells are white. Sums over races "
            "stand at the right edge, sums over origins at the lower edge.",
        )

    @property
    def sparse_said(self) -> str:
        """How sparse the real tables are."""
        real = self._of("pums")
        few = 100 * real["small"] / (real["cells"] - real["empty"])
        synthetic = self.about[self.about["family"] != "pums"]["records"]
        return (
            f"The fullest table is {real['dataset'].iloc[-1]}, the sparsest "
            f"{real['dataset'].iloc[0]}. Of the cells that are not empty, a median of "
            f"{format_number(few.median(), 2)} % have fewer than ten records. The real tables have "
            f"from {format_number(real['records'].min())} to "
            f"{format_number(real['records'].max())} records, each of the synthetic ones "
            f"{format_number(synthetic.min())} or more."
        )

    @property
    def real_table(self) -> pd.DataFrame:
        """The real tables in order of sparsity."""
        real = self._of("pums")
        return pd.DataFrame(
            {
                "table": real["dataset"],
                "state": [state(d) for d in real["dataset"]],
                "records": real["records"],
                "empty cells": real["empty"],
                "cells of 1 to 9": real["small"],
                "empty races of 9": real["empty_rows"],
                "empty origins of 24": real["empty_columns"],
                "largest cell, %": (100 * real["largest"]).round(0).astype(int),
            }
        )

    @property
    def real_caption(self) -> str:
        """What is said about them."""
        return (
            "The real tables in order of sparsity: records (a sample, not the population), cells "
            "without and with few records, empty sums of both marginals, the largest cell's share "
            "of the records."
        )


def study(
    epsilons: Sequence[float] = (1.0, 0.5, 0.1),
    rhos: Sequence[float] = (0.5, 0.125, 0.005),
    shown: str = "PUMA0101301",
    square: str = "SplitStairs-2d",
) -> Findings:
    """Describe the benchmark's tables and what noise hides in them (ours).

    Parameters
    ----------
    epsilons, rhos
        Levels of the experiments.
    shown
        The real table that is drawn large.
    square
        The square table that is drawn large.

    Raises
    ------
    InputError
        A level out of range, or no such table.

    Examples
    --------
    >>> round(study().claimed, 1)
    39.9
    """
    real = names("pums")
    if shown not in real:
        raise unknown_name("real table", shown, real)
    if square not in names("2d"):
        raise unknown_name("square table", square, names("2d"))
    levels: list[PureDP | ConcentratedDP] = [PureDP(e) for e in epsilons]
    levels += [ConcentratedDP(r) for r in rhos]
    return Findings(tuple(levels), shown, square)
