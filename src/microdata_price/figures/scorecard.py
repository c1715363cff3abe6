"""Figures of the comparison with the published tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..fitting import paper_methods
from ..page.style import COLOURS, METHODS, drawn, panels
from .marks import note

_ROWS = (
    ("sum", "total", "sum"),
    ("identity", "total", "cells, total"),
    ("identity", "max", "worst cell"),
)


@drawn
def z_scores(card: pd.DataFrame, limit: float) -> Figure:
    """Draw the 240 z scores, one row a method and kind of value, in standard errors.

    Parameters
    ----------
    card
        From `scorecard.scorecard`.
    limit
        Beyond this a value is called a mismatch.
    """
    figure, (ax,) = panels(height=6.2)
    place, ticks, names = 0.0, [], []
    widest = max(limit, float(card["z"].abs().max())) * 1.08
    ax.axvspan(-limit, limit, color="#eef3f7", zorder=0)
    ax.axvline(0, color=COLOURS["black"], linewidth=1)
    for method in paper_methods():
        style = METHODS[method]
        for query_set, metric, label in _ROWS:
            rows = card[
                (card["method"] == method)
                & (card["query_set"] == query_set)
                & (card["metric"] == metric)
            ]
            spread = np.linspace(-0.25, 0.25, len(rows))
            far = rows["z"].abs() >= limit
            ax.scatter(
                rows["z"],
                place + spread,
                s=30,
                marker=style.marker,
                facecolor=np.where(far, COLOURS["red"], style.colour),
                edgecolor="white",
                linewidth=0.4,
                zorder=3,
            )
            ticks.append(place)
            names.append(f"{style.label}: {label}")
            place += 1
        place += 0.5
    ax.set_yticks(ticks, names)
    ax.invert_yaxis()
    ax.set_xlim(-widest, widest)
    ax.set_xlabel("published minus ours, in standard errors of the difference")
    ax.grid(axis="y", visible=False)
    return figure


@drawn
def sequential_sum(card: pd.DataFrame) -> Figure:
    """Draw sequential fitting's error of the sum: published, ours with two standard errors, exact.

    Parameters
    ----------
    card
        From `scorecard.scorecard`.
    """
    rows = card[(card["method"] == "sequential") & (card["query_set"] == "sum")]
    figure, (ax,) = panels(height=5.2)
    y = np.arange(len(rows))
    exact = float(rows["exact"].iloc[0])
    ax.axvline(exact, color=COLOURS["black"], linewidth=1.4)
    note(ax, "exact", (exact, -0.9), (4, 0), va="center")
    ax.errorbar(
        rows["value"],
        y,
        xerr=2 * rows["standard_error"],
        fmt=METHODS["sequential"].marker,
        color=METHODS["sequential"].colour,
        markersize=5,
        label="ours, ± 2 standard errors",
    )
    ax.scatter(
        rows["published"],
        y,
        marker="X",
        s=60,
        color=COLOURS["red"],
        zorder=4,
        label="published",
    )
    ax.set_yticks(y, list(rows["dataset"]))
    ax.set_ylim(len(rows) - 0.4, -1.5)
    ax.set_xlabel("expected squared error of the sum, squared counts")
    ax.legend(loc="upper center", bbox_to_anchor=(0.4, -0.12), ncols=2)
    return figure
