"""The price of microdata on the benchmark: maps, its bias, its dependence on sparsity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import seaborn as sns
from matplotlib.patches import Rectangle

from ..fitting import microdata_methods
from ..model.benchmark import FAMILIES
from .marks import name_rows
from .scales import price_bar, price_norm, price_shades
from .style import COLOURS, METHODS, drawn, panels


class Heat(NamedTuple):
    """Prices of one query set, a row a table and a column a method; breaks begin a new family."""

    title: str
    rows: list[str]
    values: np.ndarray
    breaks: list[int]


@drawn
def glance_map(parts, limit):
    """Draw one price a table and method: a panel a query set (`Heat`), a row a table.

    A missing price stays white; one above the limit carries a dot.
    """
    parts = [Heat(*part) for part in parts]
    methods = microdata_methods()[: parts[0].values.shape[1]]
    rows = parts[0].rows
    figure, axes = panels(len(parts), height=0.19 * len(rows) + 2.2, sharey=True)
    for ax, part in zip(axes, parts, strict=True):
        shown = np.ma.masked_invalid(part.values)
        # Unlike a mesh, this draws no edges about missing cells.
        ax.pcolor(shown, cmap=price_shades(), norm=price_norm(), edgecolor="white", linewidth=0.6)
        dear = np.argwhere(part.values > limit)
        ax.scatter(dear[:, 1] + 0.5, dear[:, 0] + 0.5, s=9, color="white", linewidth=0)
        for place in part.breaks:
            ax.axhline(place, color="white", linewidth=4)
        names = [METHODS[m].label for m in methods]
        ax.set_xticks(np.arange(len(methods)) + 0.5, names, rotation=90, fontsize=11)
        ax.set_title(part.title)
        ax.grid(visible=False)
        ax.tick_params(length=0)
        ax.set_frame_on(False)
    axes[0].set_yticks(np.arange(len(rows)) + 0.5, list(rows), fontsize=11)
    axes[0].set_ylim(len(rows), 0)
    price_bar(figure, axes, f"price: root error over OLS's (dot: beyond {limit:g})", pad=0.02)
    return figure


@drawn
def bias_shares(parts, titles):
    """Draw the share of squared bias in the error: a panel a query set, a row a method.

    `parts`: rows with ``query_set``, ``method``, ``family`` and ``share``, one a table and level;
    `titles`: query sets in order, with their names for readers.
    """
    there = [q for q in titles if parts["query_set"].eq(q).any()]
    figure, axes = panels(2, -(-len(there) // 2), height=6.0, sharex=True, sharey=True)
    methods = microdata_methods(parts["method"])
    for ax, query_set in zip(axes, there, strict=False):
        for place, method in enumerate(methods):
            own = parts[parts["query_set"].eq(query_set) & parts["method"].eq(method)]
            for k, family in enumerate(FAMILIES.values()):
                group = own[own["family"] == family.name].sort_values("share")
                spread = np.linspace(-0.1, 0.1, len(group)) if len(group) > 1 else np.zeros(1)
                y = place + 0.25 * (k - 1) + spread[: len(group)]
                look = {"marker": family.marker, "color": METHODS[method].colour, "s": 13}
                edge = {"edgecolor": COLOURS["black"], "linewidth": 0.25}
                ax.scatter(100 * group["share"], y, **look, **edge)
            middle = 100 * float(own["share"].median())
            ax.plot([middle] * 2, [place - 0.42, place + 0.42], color=COLOURS["black"])
        ax.set_title(titles[query_set])
        ax.grid(axis="y", visible=False)
    name_rows(axes[0], [METHODS[m].label for m in methods])
    axes[0].set_xlim(-3, 103)
    for ax in axes[len(there) :]:
        ax.set_axis_off()
    key = ", ".join(f"{family.sign}: {family.label}" for family in FAMILIES.values())
    figure.supxlabel(f"squared bias, % of the error ({key})", fontsize=11)
    return figure


@drawn
def against_sparsity(prices, level):
    """Draw the price of the sum against the share of empty cells, a panel a method.

    `prices`: rows with ``family``, ``method``, ``share``, ``price`` and ``price_error``; `level`:
    the privacy level, in words.
    """
    methods = microdata_methods(prices["method"])
    rows = -(-len(methods) // 2)
    figure, axes = panels(2, rows, height=2.7 * rows, sharex=True, sharey=True)
    for ax in axes[len(methods) :]:
        ax.set_axis_off()
    for ax, method in zip(axes, methods, strict=False):
        for family in FAMILIES.values():
            own = prices[prices["method"].eq(method) & prices["family"].eq(family.name)]
            look = {"fmt": family.marker, "color": METHODS[method].colour, "label": family.label}
            edge = {"markeredgecolor": COLOURS["black"], "markeredgewidth": 0.4}
            bars = np.nan_to_num(2 * own["price_error"].to_numpy())
            look |= {"yerr": bars, "elinewidth": 0.8, "capsize": 0, **edge}
            ax.errorbar(100 * own["share"], own["price"], **look)
        ax.axhline(1, color=COLOURS["black"], linewidth=1.2)
        ax.set_title(METHODS[method].label)
    axes[0].set_ylim(bottom=0)
    figure.supxlabel(f"empty cells, % ({level})", fontsize=12)
    figure.supylabel("sum's root error over OLS's", fontsize=12)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure


@drawn
def price_maps(table, value, framed, limit):
    """Draw prices over empty cells and the size of the others, a map a method.

    `table`: rows with ``method``, ``empty``, ``size`` and prices, in the column `value`; `framed`:
    places (empty cells, size) to frame; `limit`: prices above it carry a mark.
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
        look = {"cmap": price_shades(), "norm": price_norm(), "linewidths": 0.8, "cbar": False}
        sns.heatmap(wide, ax=ax, annot=texts, fmt="", annot_kws={"fontsize": 10}, **look)
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
