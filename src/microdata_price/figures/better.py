"""Figures of the chapter on methods better than the paper's."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..model.benchmark import FAMILIES
from ..page.style import COLOURS, METHODS, drawn, panels
from .marks import note

Array = NDArray[np.float64]

_SETS = (
    ("marginal1", "rows", "D", "blue"),
    ("marginal2", "columns", "^", "orange"),
    ("identity", "cells", "o", "red"),
)


@drawn
def ratios(own: pd.DataFrame) -> Figure:
    """Draw errors over the best of the paper's four: totals, and largest ones.

    Parameters
    ----------
    own
        From `studies.better.ratios`.
    """
    figure, axes = panels(2, height=5.4, sharey=True)
    keys = (
        own[["family", "privacy", "level"]]
        .drop_duplicates()
        .sort_values(["family", "privacy", "level"], ascending=[True, True, False])
    )
    rows = {tuple(k): place for place, k in enumerate(keys.itertuples(index=False, name=None))}
    for ax, metric, title in zip(axes, ("total", "max"), ("total", "largest"), strict=True):
        part = own[own["metric"].eq(metric)]
        for query_set, label, marker, colour in _SETS:
            some = part[part["query_set"].eq(query_set)]
            place = [
                rows[k] for k in zip(some["family"], some["privacy"], some["level"], strict=True)
            ]
            ax.scatter(
                some["ratio"], place, marker=marker, color=COLOURS[colour], s=26, label=label
            )
        ax.axvline(1, color=COLOURS["black"], linewidth=1)
        ax.set_title(title)
        ax.set_xlabel("times the best of four")
    axes[0].set_yticks(
        list(rows.values()),
        [f"{FAMILIES[f].label}, {'ε' if p == 'pure' else 'ρ'} = {v:g}" for f, p, v in rows],
        fontsize=11,
    )
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@drawn
def parts(names: tuple[str, ...], cells: Array) -> Figure:
    """Draw the total error of the cells of each part and of the mean, in noise variances.

    Parameters
    ----------
    names
        The parts, then the mean.
    cells
        Their errors.
    """
    figure, (ax,) = panels(height=2.8)
    place = np.arange(len(names))
    colours = [COLOURS["grey"]] * (len(names) - 1) + [METHODS["consensus"].colour]
    ax.barh(place, cells, color=colours, height=0.62)
    mean = float(cells[:-1].mean())
    ax.axvline(mean, color=COLOURS["black"], linewidth=1.2, linestyle=(0, (4, 2)))
    note(ax, "mean of these", (mean, len(names) - 1), (5, 0), va="center", fontsize=11)
    ax.set_yticks(place, list(names))
    ax.invert_yaxis()
    ax.set_xlabel("total squared error of the cells, in variances of the noise")
    ax.grid(axis="y", visible=False)
    return figure
