"""Figures of the chapter on a better method: ratios, an oracle beside them, and parts."""

from __future__ import annotations

import numpy as np

from ..model.benchmark import FAMILIES
from .chart import chart
from .marks import name_rows, note
from .style import COLOURS, METHODS, drawn, panels

SETS = (
    ("marginal1", "rows", "D", "blue"),
    ("marginal2", "columns", "^", "orange"),
    ("identity", "cells", "o", "red"),
)


def experiment_names(keys):
    """Name experiments given as family, privacy and level."""
    sign = {"pure": "ε", "zcdp": "ρ"}
    return [f"{FAMILIES[f].label}, {sign[p]} = {level:g}" for f, p, level in keys]


@drawn
def ratios(own):
    """Draw errors over the best of the paper's four: totals, and largest ones."""
    figure, axes = panels(2, height=5.4, sharey=True)
    by = ["family", "privacy", "level"]
    keys = own[by].drop_duplicates().sort_values(by, ascending=[True, True, False])
    rows = {k: i for i, k in enumerate(keys.itertuples(index=False, name=None))}
    for ax, metric, title in zip(axes, ("total", "max"), ("total", "largest"), strict=True):
        part = own[own["metric"].eq(metric)]
        for query_set, label, marker, colour in SETS:
            some = part[part["query_set"].eq(query_set)]
            place = [rows[k] for k in some[by].itertuples(index=False, name=None)]
            ax.errorbar(some["ratio"], place, xerr=2 * some["error"], fmt=marker, markersize=5,
                        color=COLOURS[colour], linewidth=1, label=label)  # fmt: skip
        ax.axvline(1, color=COLOURS["black"], linewidth=1)
        ax.set(title=title, xlabel="times the best of four")
    name_rows(axes[0], experiment_names(rows))
    axes[0].tick_params(axis="y", labelsize=11)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@drawn
def oracle(cells):
    """Draw totals of the cells over the best of the paper's four: consensus fit and oracle."""
    figure, ax = chart(5.0, x="squared error of the cells, times the best of four", y="")
    keys = sorted(cells.index, key=lambda k: (list(FAMILIES).index(k[2]), k[0], -k[1]))
    style = METHODS["consensus"]
    for i, key in enumerate(keys):
        own = cells.loc[key]
        ax.plot([own["consensus"], own["oracle"]], [i, i], color=COLOURS["light"], zorder=1)
        ax.plot(own["consensus"], i, style.marker, color=style.colour, markersize=8)
        ax.plot(own["oracle"], i, "*", color=COLOURS["black"], markersize=10)
    ax.axvline(1, color=COLOURS["black"], linewidth=1)
    name_rows(ax, experiment_names([(f, p, level) for p, level, f in keys]))
    ax.tick_params(axis="y", labelsize=11)
    first = cells.loc[keys[0]]
    note(ax, "consensus", (first["consensus"], 0), (0, 7), ha="center", color=style.colour)
    note(ax, "oracle", (first["oracle"], 0), (0, 7), ha="center")
    ax.set_ylim(len(keys) - 0.5, -1.2)
    return figure


@drawn
def parts(names, cells, average):
    """Draw the total error of the cells of each part and of the mean, in noise variances."""
    figure, ax = chart(2.8, x="total squared error of the cells, in variances of the noise", y="")
    place = np.arange(len(names))
    colours = [COLOURS["grey"]] * (len(names) - 1) + [METHODS["consensus"].colour]
    ax.barh(place, cells, color=colours, height=0.62)
    ax.axvline(average, color=COLOURS["black"], linewidth=1.2, linestyle=(0, (4, 2)))
    note(ax, "weighted mean of these", (average, len(names) - 1), (5, 0), va="center", fontsize=11)
    name_rows(ax, names)
    return figure
