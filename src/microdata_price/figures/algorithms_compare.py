"""Figures that set errors beside each other: measured and exact, method and method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..fitting import microdata_methods
from ..page.style import COLOURS, METHODS, drawn, panels
from ..studies.cases import LABELS
from .marks import name_rows, note
from .price import plain_log
from .scales import record_shades

Array = NDArray[np.float64]


@drawn
def exact_and_measured(frame: pd.DataFrame) -> Figure:
    """Draw OLS's measured error of each query set over the exact one, without a unit.

    Parameters
    ----------
    frame
        From `anatomy.set_errors`, for OLS.
    """
    figure, (ax,) = panels(height=2.7)
    y = np.arange(len(frame))
    ratio, error = frame["error"] / frame["exact"], frame["standard error"] / frame["exact"]
    ax.axvline(1, color=COLOURS["black"], linewidth=1.4)
    ax.errorbar(ratio, y, xerr=2 * error, fmt="s", color=COLOURS["blue"], markersize=7)
    name_rows(ax, [LABELS.get(q, q) for q in frame["query set"]])
    ax.set_xlabel("measured over exact squared error (± 2 standard errors)")
    return figure


@drawn
def sum_errors(errors: Sequence[tuple[str, Array]]) -> Figure:
    """Draw each method's errors of the sum over the runs: middle half, middle 95 %, and mean.

    Parameters
    ----------
    errors
        Methods, each with the fitted sum minus the true one, in counts, shape (runs,).
    """
    figure, (ax,) = panels(height=3.6)
    for i, (method, values) in enumerate(errors):
        style = METHODS[method]
        low, q1, q3, high = np.quantile(values, [0.025, 0.25, 0.75, 0.975])
        ax.plot([low, high], [i, i], color=style.colour, linewidth=1.8)
        ax.barh(i, q3 - q1, left=q1, height=0.5, color=style.colour, alpha=0.85, zorder=3)
        ax.plot(
            [values.mean()],
            [i],
            "^",
            color="white",
            markeredgecolor=COLOURS["black"],
            markersize=10,
            zorder=5,
        )
    ax.axvline(0, color=COLOURS["black"], linewidth=1.4)
    ax.set_yticks(range(len(errors)), [METHODS[m].label for m, _ in errors])
    ax.set_ylim(len(errors) - 0.4, -0.6)
    ax.set_xlabel("fitted sum minus true sum, records (△ mean)")
    ax.grid(axis="y", visible=False)
    return figure


@drawn
def errors_by_set(frame: pd.DataFrame) -> Figure:
    """Draw each method's error of each query set over OLS's, on a logarithmic axis.

    Parameters
    ----------
    frame
        From `anatomy.set_errors`, for several methods.
    """
    sets = list(dict.fromkeys(frame["query set"]))
    methods = microdata_methods(frame["method"])
    figure, (ax,) = panels(height=1.4 * len(sets) + 0.9)
    ticks, names, place = [], [], 0.0
    for name in sets:
        for method in methods:
            row = frame[(frame["query set"] == name) & (frame["method"] == method)].iloc[0]
            style = METHODS[method]
            ax.errorbar(
                row["ratio"],
                place,
                xerr=2 * row["ratio error"],
                fmt=style.marker,
                color=style.colour,
                markersize=8,
            )
            ticks.append(place)
            names.append(f"{LABELS.get(name, name)}: {style.label}")
            place += 1
        ax.axhline(place - 0.25, color=COLOURS["light"], linewidth=1)
        place += 0.5
    ax.axvline(1, color=COLOURS["black"], linewidth=1.6)
    ax.set_xscale("log")
    plain_log(ax, "x")
    ax.set_yticks(ticks, names)
    ax.set_ylim(place - 0.6, -0.8)
    note(ax, "as OLS", (1, -0.75), (4, 0), va="top", fontsize=11)
    ax.set_xlabel("squared error over OLS's (± 2 standard errors)")
    ax.grid(axis="y", visible=False)
    return figure


@drawn
def table_maps(tables: Sequence[tuple[str, Array]], rows: str, columns: str) -> Figure:
    """Draw small maps of tables under each other, two beside each other, on one colour scale.

    Parameters
    ----------
    tables
        A title and a table of counts for each; a list is folded into rows of ten.
    rows, columns
        What the two axes are.
    """
    count = len(tables)
    figure, axes = panels(2, (count + 1) // 2, height=1.75 * ((count + 1) // 2) + 0.5)
    most = max(float(t.max()) for _, t in tables)
    norm = LogNorm(1.0, max(most, 10.0), clip=True)
    image = None
    for ax, (title, given) in zip(axes, tables, strict=False):
        table = given if given.ndim == 2 else given.reshape(-1, 10 if given.size % 10 == 0 else 1)
        shown = np.ma.masked_where(table <= 0, table)
        image = ax.pcolormesh(
            shown, cmap=record_shades(), norm=norm, edgecolor="white", linewidth=0.3
        )
        y, x = np.nonzero(table < 0)
        ax.plot(x + 0.5, y + 0.5, "_", color=COLOURS["red"], markersize=4, markeredgewidth=1.4)
        ax.set_title(title, fontsize=11.5)
        ax.invert_yaxis()
        ax.set_xticks([])
        ax.set_yticks([])
        ax.grid(visible=False)
        for side in ax.spines.values():
            side.set_visible(True)
            side.set_color(COLOURS["grey"])
    for ax in axes[count:]:
        ax.set_visible(False)
    axes[0].set_ylabel(f"{rows} ↓" if rows else "", fontsize=11)
    axes[0].set_xlabel(f"{columns} →", fontsize=11, labelpad=2)
    if image is not None:
        bar = figure.colorbar(
            image, ax=axes, orientation="horizontal", fraction=0.05, pad=0.02, aspect=40
        )
        plain_log(bar.ax, "x")
        bar.set_label("records (1 or less: palest; blank: none; dash: negative)")
    return figure
