"""Figures of the maximum of noisy means and of runs that were dropped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..page.style import COLOURS, METHODS, drawn, panels
from ..studies.dropped_runs import Trial
from .marks import note

Array = NDArray[np.float64]


@drawn
def against_runs(table: pd.DataFrame, published: float | None = None) -> Figure:
    """Draw the mean reported maximum against the number of runs, plain and split.

    Parameters
    ----------
    table
        From `maxima.maximum_against_runs`.
    published
        A printed value to mark at 1,000 runs, if it belongs to the same level.
    """
    figure, (ax,) = panels(height=4.2)
    for column, colour, marker, label, side in (
        ("plain", COLOURS["orange"], "o", "largest of the means", 1),
        ("split", COLOURS["blue"], "D", "chosen on one half, estimated on the other", -1),
    ):
        ax.errorbar(
            table["runs"],
            table[column],
            yerr=2 * table[f"{column}_error"],
            color=colour,
            marker=marker,
        )
        note(
            ax,
            label,
            (table["runs"].iloc[0], table[column].iloc[0]),
            (10, 4 * side),
            color=colour,
            va="bottom" if side > 0 else "top",
        )
    exact = float(table["exact"].iloc[0])
    if np.isfinite(exact):
        ax.axhline(exact, color=COLOURS["black"], linewidth=1.4)
        note(ax, "exact", (float(table["runs"].iloc[-1]), exact), (0, -4), ha="right", va="top")
    if published is not None:
        ax.scatter([1000], [published], marker="X", s=80, color=COLOURS["red"], zorder=5)
        note(ax, "published", (1000, published), (8, 4), color=COLOURS["red"])
    ax.set_xscale("log")
    ax.set_xlabel("runs (log scale)")
    ax.set_ylabel("worst cell's squared error")
    ax.margins(x=0.08, y=0.12)
    return figure


@drawn
def excess(rows: pd.DataFrame) -> Figure:
    """Draw, for each method, how far the plain maximum lies above the split one, in percent.

    Parameters
    ----------
    rows
        A grid's errors with metric ``"max"`` of one query set.
    """
    figure, (ax,) = panels(height=3.8)
    shift = np.linspace(-0.28, 0.28, max(int(rows.groupby("method").size().max()), 1))
    methods = [m for m in METHODS.values() if rows["method"].eq(m.name).any()]
    for place, style in enumerate(methods):
        own = rows[rows["method"] == style.name].sort_values("value")
        percent = 100 * (own["value"] / own["max_split"] - 1)
        ax.scatter(
            percent, place + shift[: len(own)], s=24, marker=style.marker, color=style.colour
        )
        ax.plot([percent.median()] * 2, [place - 0.36, place + 0.36], color=COLOURS["black"])
    ax.set_yticks(range(len(methods)), [s.label for s in methods])
    ax.invert_yaxis()
    ax.axvline(0, color=COLOURS["grey"], linewidth=1)
    ax.set_xlabel("plain maximum above the split one, % (line: median)")
    ax.grid(axis="y", visible=False)
    return figure


@drawn
def kept_and_dropped(rows: Sequence[Trial], spread: float) -> Figure:
    """Draw every run's exact error of the sum, those kept above those dropped.

    Parameters
    ----------
    rows
        The experiments.
    spread
        Standard deviation of the noise on the sum, marked either way, in counts.
    """
    figure, axes = panels(1, len(rows), height=1.55 * len(rows) + 0.9, sharex=True)
    for ax, row in zip(axes, rows, strict=True):
        jitter = np.linspace(-0.3, 0.3, row.error.size)[
            np.argsort(np.argsort(row.error * 7919 % 1))
        ]
        ax.axvspan(-spread, spread, color="#eef3f7", zorder=0)
        ax.axvline(0, color=COLOURS["black"], linewidth=1)
        style = METHODS[row.method]
        ax.scatter(
            row.error[row.kept],
            1 + jitter[row.kept],
            s=16,
            marker=style.marker,
            color=style.colour,
        )
        ax.scatter(row.error[~row.kept], jitter[~row.kept], s=18, marker="x", color=COLOURS["grey"])
        ax.set_yticks(
            [1, 0], [f"kept ({int(row.kept.sum())})", f"dropped ({int((~row.kept).sum())})"]
        )
        ax.set_ylim(-0.5, 1.5)
        ax.set_title(row.label)
        ax.grid(axis="y", visible=False)
    axes[-1].set_xlabel("exact fit's error of the sum, records (band: ± 1 noise)")
    return figure
