"""The maximum of noisy means, and runs that were dropped."""

from __future__ import annotations

import numpy as np

from .chart import chart
from .marks import note
from .style import COLOURS, METHODS, drawn, panels


@drawn
def against_runs(table, published=None):
    """Draw the mean reported maximum against the number of runs, plain and split.

    `table`: rows with ``runs``, ``plain``, ``split``, their standard errors and ``exact``;
    `published`: a printed value to mark at 1,000 runs, if it belongs to the same level.
    """
    figure, ax = chart(4.2, x="runs (log scale)", y="worst cell's squared error")
    for column, colour, marker, label, side in (
        ("plain", COLOURS["orange"], "o", "largest of the means", 1),
        ("split", COLOURS["blue"], "D", "chosen on one half, estimated on the other", -4),
    ):
        x, y = table["runs"], table[column]
        ax.errorbar(x, y, yerr=2 * table[f"{column}_error"], color=colour, marker=marker)
        va = "bottom" if side > 0 else "top"
        note(ax, label, (x.iloc[0], y.iloc[0]), (10, 4 * side), color=colour, va=va)
    exact = float(table["exact"].iloc[0])
    ax.axhline(exact, color=COLOURS["black"], linewidth=1.4)
    note(ax, "exact", (float(table["runs"].iloc[-1]), exact), (8, 7), va="center")
    if published is not None:
        ax.scatter([1000], [published], marker="X", s=80, color=COLOURS["red"], zorder=5)
        note(ax, "published", (1000, published), (8, 4), color=COLOURS["red"])
    ax.set_xscale("log")
    ax.margins(x=0.08, y=0.12)
    return figure


@drawn
def kept_and_dropped(trials, spread):
    """Draw every run's exact error of the sum, those kept above those dropped.

    `trials`: experiments with ``label``, ``method``, ``error`` (counts) and ``kept``, one value a
    run; `spread`: standard deviation of the noise on the sum, marked either way, in counts.
    """
    figure, axes = panels(1, len(trials), height=1.55 * len(trials) + 0.9, sharex=True)
    for ax, trial in zip(axes, trials, strict=True):
        kept, error = trial.kept, trial.error
        order = np.argsort(np.argsort(error * 7919 % 1))
        jitter = np.linspace(-0.3, 0.3, error.size)[order]
        ax.axvspan(-spread, spread, color="#eef3f7", zorder=0)
        ax.axvline(0, color=COLOURS["black"], linewidth=1)
        style = METHODS[trial.method]
        ax.scatter(error[kept], 1 + jitter[kept], s=16, marker=style.marker, color=style.colour)
        ax.scatter(error[~kept], jitter[~kept], s=18, marker="x", color=COLOURS["grey"])
        ax.set_yticks([1, 0], [f"kept ({kept.sum()})", f"dropped ({(~kept).sum()})"])
        ax.set_ylim(-0.5, 1.5)
        ax.set_title(trial.label)
        ax.grid(axis="y", visible=False)
    axes[-1].set_xlabel("exact fit's error of the sum, records (band: ± 1 noise)")
    return figure
