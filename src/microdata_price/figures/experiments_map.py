"""A map of the lists that pay, and the comparison with mbi."""

from __future__ import annotations

import numpy as np
import seaborn as sns
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator

from ..fitting import microdata_methods
from ..page.style import COLOURS, METHODS, drawn, panels
from .price import method_dots, plain_log
from .scales import price_bar, price_norm, price_shades


@drawn
def price_maps(table, value, framed, limit):
    """Draw prices over empty cells and the size of the others, a map a method.

    Parameters
    ----------
    table
        Rows with ``method``, ``empty``, ``size`` and prices, in the column `value`.
    framed
        Places (empty cells, size) to frame.
    limit
        Prices above it carry a mark.
    """
    methods = microdata_methods(table["method"])
    lines = -(-len(methods) // 2)
    figure, axes = panels(2, lines, height=3.1 * lines + 0.4, sharex=True, sharey=True)
    for ax, method in zip(axes, methods, strict=False):
        own = table[table["method"] == method]
        wide = own.pivot(index="size", columns="empty", values=value).sort_index(ascending=False)
        texts = wide.map(lambda price: f"{price:.1f}{'▲' if price > limit else ''}")
        columns = list(map(int, wide.columns))
        sizes = list(map(int, wide.index))
        sns.heatmap(
            wide,
            ax=ax,
            cmap=price_shades(),
            norm=price_norm(),
            annot=texts,
            fmt="",
            annot_kws={"fontsize": 10},
            linewidths=0.8,
            cbar=False,
        )
        for empty, size in framed:
            place = (columns.index(empty), sizes.index(size))
            frame = Rectangle(place, 1, 1, fill=False, edgecolor=COLOURS["red"], linewidth=2.2)
            ax.add_patch(frame)
        ax.set_title(METHODS[method].label)
        ax.tick_params(length=0, labelsize=11, rotation=0)
        ax.set(xlabel="", ylabel="")
    for ax in axes[len(methods) :]:
        ax.set_axis_off()
    for ax in axes[-2:]:
        ax.set_xlabel("empty cells of 100", fontsize=11)
    figure.supylabel("size of the others, records", fontsize=11)
    price_bar(figure, axes, "price: root error over OLS's")
    return figure


@drawn
def against_mbi(rows, titles):
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
    rows = rows[rows["method"] != "maxfit"]
    for ax, (query_set, title) in zip(axes, titles.items(), strict=True):
        own = rows[rows["query_set"].eq(query_set)]
        method_dots(ax, own, "dataset", order, ("ratio", "ratio_error"))
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
        ax.tick_params(axis="y", labelsize=11)
    axes[0].set_ylim(len(order) - 0.5, -0.5)
    for ax in axes[2:]:
        ax.set_xlabel("squared error over mbi's")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, columnspacing=1.0)
    return figure
