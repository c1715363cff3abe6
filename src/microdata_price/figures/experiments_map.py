"""Maps of which tables pay, and the comparison with mbi."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator

from ..page.style import COLOURS, METHODS, drawn, panels
from .experiments_price import shades
from .price import plain_log


@drawn
def price_maps(
    table: pd.DataFrame, value: str, framed: Sequence[tuple[int, int]], limit: float
) -> Figure:
    """Draw prices over empty cells and the size of the others, a map a method.

    Parameters
    ----------
    table
        From `experiments_map.price_map`.
    value
        ``"sum"`` or ``"worst"``.
    framed
        Places (empty cells, size) to frame.
    limit
        Prices above it are written in bold with a mark.
    """
    methods = list(dict.fromkeys(table["method"]))
    figure, axes = panels(2, 2, height=6.6, sharex=True, sharey=True)
    norm = LogNorm(0.4, max(4.0, float(table[value].max())), clip=True)
    for ax, method in zip(axes, methods, strict=True):
        own = table[table["method"] == method]
        wide = own.pivot(index="size", columns="empty", values=value).sort_index()
        ax.pcolormesh(wide.to_numpy(), cmap=shades(), norm=norm, edgecolors="white", linewidth=0.8)
        for (i, j), price in np.ndenumerate(wide.to_numpy()):
            dear = price > limit
            ax.text(
                j + 0.5,
                i + 0.5,
                f"{price:.1f}{'▲' if dear else ''}",
                ha="center",
                va="center",
                fontsize=8.5,
                fontweight="bold" if dear else "normal",
                color="white" if norm(price) > 0.5 else "black",
            )
        for empty, size in framed:
            j, i = wide.columns.get_loc(empty), wide.index.get_loc(size)
            ax.add_patch(
                Rectangle((j, i), 1, 1, fill=False, edgecolor=COLOURS["red"], linewidth=2.2)
            )
        ax.set_xticks(np.arange(wide.shape[1]) + 0.5, [str(c) for c in wide.columns], fontsize=10)
        ax.set_yticks(np.arange(wide.shape[0]) + 0.5, [str(c) for c in wide.index], fontsize=10)
        ax.set_title(METHODS[method].label)
        ax.set_frame_on(False)
        ax.tick_params(length=0)
        ax.grid(visible=False)
    for ax in axes[2:]:
        ax.set_xlabel("empty cells of 100", fontsize=11)
    for ax in axes[::2]:
        ax.set_ylabel("size of the others, records", fontsize=11)
    bar = figure.colorbar(ScalarMappable(norm, shades()), ax=axes, location="bottom", aspect=40)
    bar.ax.xaxis.set_major_locator(FixedLocator([0.5, 1, 2, 4, 8]))
    plain_log(bar.ax, "x")
    bar.set_label("squared error over OLS's (log colour scale)")
    return figure


@drawn
def against_mbi(rows: pd.DataFrame, titles: dict[str, str]) -> Figure:
    """Draw other methods' total errors over mbi's on the same noise, a panel a query set.

    Parameters
    ----------
    rows
        Rows with ``dataset``, ``query_set``, ``method``, ``ratio`` and ``ratio_error``.
    titles
        Query sets in order, with what they are called.
    """
    figure, axes = panels(2, 2, height=7.6, sharey=True)
    order = list(dict.fromkeys(rows["dataset"]))
    methods = [m for m in METHODS if rows["method"].eq(m).any() and m != "maxfit"]
    for ax, (query_set, title) in zip(axes, titles.items(), strict=True):
        for k, method in enumerate(methods):
            own = rows[rows["query_set"].eq(query_set) & rows["method"].eq(method)]
            own = own.set_index("dataset").loc[order]
            bar = np.minimum(2 * own["ratio_error"], 0.9 * own["ratio"])
            ax.errorbar(
                own["ratio"],
                np.arange(len(order)) + 0.2 * (k - (len(methods) - 1) / 2),
                xerr=[bar, 2 * own["ratio_error"]],
                fmt=METHODS[method].marker,
                color=METHODS[method].colour,
                markersize=4.6,
                markeredgecolor=COLOURS["black"],
                markeredgewidth=0.35,
                elinewidth=0.8,
                capsize=0,
                label=METHODS[method].label,
            )
        ax.axvline(1, color=COLOURS["black"], linewidth=1.3)
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(FixedLocator([0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]))
        plain_log(ax, "x")
        ax.minorticks_off()
        ax.set_title(title)
        ax.grid(axis="y", visible=False)
        for y in range(0, len(order), 2):
            ax.axhspan(y - 0.5, y + 0.5, color="#f2f2f2", zorder=0)
    axes[0].set_yticks(np.arange(len(order)), order)
    for ax in axes[::2]:
        ax.tick_params(axis="y", labelsize=9.5)
    axes[0].set_ylim(len(order) - 0.5, -0.5)
    for ax in axes[2:]:
        ax.set_xlabel("squared error over mbi's")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, columnspacing=1.0)
    return figure
