"""The comparison with the published tables."""

from __future__ import annotations

import numpy as np

from ..fitting import paper_methods
from .chart import chart
from .marks import note
from .style import COLOURS, METHODS, drawn


@drawn
def z_scores(card, limit, kinds):
    """Draw the 240 z scores, one row per method and kind of value, in standard errors.

    `card`: rows with ``method``, ``query_set``, ``metric`` and ``z``; `limit`: beyond this a value
    is called a mismatch; `kinds`: names of the kinds of value, by query set and metric.
    """
    figure, ax = chart(6.2, x="published minus ours, in standard errors of the difference", y="")
    places, names = [], []
    widest = max(limit, float(card["z"].abs().max())) * 1.08
    ax.axvspan(-limit, limit, color="#eef3f7", zorder=0)
    ax.axvline(0, color=COLOURS["black"], linewidth=1)
    for k, method in enumerate(paper_methods()):
        style = METHODS[method]
        for (query_set, metric), label in kinds.items():
            own = card["method"].eq(method) & card["query_set"].eq(query_set)
            z = card.loc[own & card["metric"].eq(metric), "z"]
            places.append(len(places) + 0.5 * k)
            names.append(f"{style.label}: {label}")
            y = places[-1] + np.linspace(-0.25, 0.25, len(z))
            ink = np.where(z.abs() >= limit, COLOURS["red"], style.colour)
            look = {"s": 30, "edgecolor": "white", "linewidth": 0.4, "zorder": 3}
            ax.scatter(z, y, marker=style.marker, facecolor=ink, **look)
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.set_xlim(-widest, widest)
    ax.grid(axis="y", visible=False)
    return figure


@drawn
def sequential_sum(rows):
    """Draw sequential fitting's error of the sum: published, ours with two standard errors, exact.

    `rows`: one a data set, with ``dataset``, ``published``, ``value``, ``standard_error``,
    ``exact``.
    """
    figure, ax = chart(5.2, x="expected squared error of the sum, squared counts", y="")
    y = np.arange(len(rows))
    exact = float(rows["exact"].iloc[0])
    style, bars = METHODS["sequential"], 2 * rows["standard_error"]
    ax.axvline(exact, color=COLOURS["black"], linewidth=1.4)
    note(ax, "exact", (exact, -0.9), (4, 0), va="center")
    looks = {"fmt": style.marker, "color": style.colour, "markersize": 5}
    ax.errorbar(rows["value"], y, xerr=bars, label="ours, ± 2 standard errors", **looks)
    looks = {"marker": "X", "s": 60, "color": COLOURS["red"], "zorder": 4}
    ax.scatter(rows["published"], y, label="published", **looks)
    ax.set_yticks(y, list(rows["dataset"]))
    ax.set_ylim(len(rows) - 0.4, -1.5)
    ax.legend(loc="upper center", bbox_to_anchor=(0.4, -0.12), ncols=2)
    return figure
