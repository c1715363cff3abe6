"""Figures of the price of microdata over the whole grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

from ..fitting import microdata_methods
from ..model.benchmark import FAMILIES
from ..page.style import COLOURS, METHODS, WIDE, drawn, panels
from .marks import note
from .price import plain_log
from .scales import price_bar, price_norm, price_shades

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Heat:
    """Prices of one query set.

    Parameters
    ----------
    title
        The query set.
    rows
        Names of the tables.
    values
        Prices of shape (tables, methods x levels), the levels of one method beside each other.
    breaks
        Rows before which a new family begins.
    """

    title: str
    rows: Sequence[str]
    values: Array
    breaks: Sequence[int]


@drawn
def heat_map(parts: Sequence[Heat], levels: Sequence[str], limit: float) -> Figure:
    """Draw all prices as one map: a row a table, a column a method and level.

    Parameters
    ----------
    parts
        One a query set.
    levels
        Names of the levels, in the order of the columns of each method.
    limit
        Prices above it carry a dot.
    """
    # The columns are in the order of methods, every level of one beside the other.
    methods = microdata_methods()[: parts[0].values.shape[1] // len(levels)]
    heights = [len(part.rows) for part in parts]
    figure = Figure(figsize=(WIDE, 0.165 * sum(heights) + 3.0), layout="constrained")
    axes = list(figure.subplots(len(parts), 1, height_ratios=heights, squeeze=False).ravel())
    for ax, part in zip(axes, parts, strict=True):
        ax.pcolormesh(part.values, cmap=price_shades(), norm=price_norm())
        dear = np.argwhere(part.values > limit)
        ax.scatter(dear[:, 1] + 0.5, dear[:, 0] + 0.5, s=4, color="white", linewidth=0)
        for place in part.breaks:
            ax.axhline(place, color="white", linewidth=2)
        for k in range(1, len(methods)):
            ax.axvline(k * len(levels), color="white", linewidth=3)
        ax.set_yticks(np.arange(len(part.rows)) + 0.5, list(part.rows), fontsize=11)
        ax.set_ylim(len(part.rows), 0)
        ax.set_xticks([])
        ax.set_title(part.title, pad=17)
        ax.grid(visible=False)
        ax.tick_params(length=0)
        ax.set_frame_on(False)
        for k, method in enumerate(methods):
            note(
                ax,
                METHODS[method].label,
                ((k + 0.5) / len(methods), 1),
                (0, 4),
                xycoords="axes fraction",
                ha="center",
                fontsize=11,
            )
    places = np.arange(len(methods) * len(levels)) + 0.5
    axes[-1].set_xticks(places, list(levels) * len(methods), rotation=90, fontsize=11)
    price_bar(figure, axes, f"squared error over OLS's (dot: beyond {limit:g})", pad=0.01)
    return figure


@drawn
def glance_map(parts: Sequence[Heat], limit: float) -> Figure:
    """Draw one price a table and method: a panel a query set, side by side, a row a table.

    Parameters
    ----------
    parts
        One a query set, all with the same tables; a missing price stays white.
    limit
        Prices above it carry a dot.
    """
    methods = microdata_methods()[: parts[0].values.shape[1]]
    rows = parts[0].rows
    figure = Figure(figsize=(WIDE, 0.19 * len(rows) + 2.2), layout="constrained")
    axes = list(figure.subplots(1, len(parts), squeeze=False, sharey=True).ravel())
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
    price_bar(figure, axes, f"squared error over OLS's (dot: beyond {limit:g})", pad=0.02)
    return figure


@drawn
def bias_shares(parts: pd.DataFrame, titles: dict[str, str]) -> Figure:
    """Draw the share of squared bias in the error: a panel a query set, a row a method.

    Parameters
    ----------
    parts
        Rows with ``query_set``, ``method``, ``family`` and ``share``, one a table and level.
    titles
        Query sets in order, with what they are called.
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
                ax.scatter(
                    100 * group["share"],
                    place + 0.25 * (k - 1) + spread[: len(group)],
                    s=13,
                    marker=family.marker,
                    color=METHODS[method].colour,
                    edgecolor=COLOURS["black"],
                    linewidth=0.25,
                )
            middle = 100 * float(own["share"].median())
            ax.plot([middle] * 2, [place - 0.42, place + 0.42], color=COLOURS["black"])
        ax.set_title(titles[query_set])
        ax.grid(axis="y", visible=False)
    axes[0].set_yticks(range(len(methods)), [METHODS[m].label for m in methods])
    axes[0].set_ylim(len(methods) - 0.5, -0.5)
    axes[0].set_xlim(-3, 103)
    for ax in axes[len(there) :]:
        ax.set_axis_off()
    key = ", ".join(f"{family.sign}: {family.label}" for family in FAMILIES.values())
    figure.supxlabel(f"squared bias, % of the error ({key})", fontsize=11)
    return figure


@drawn
def against_noise(medians: pd.DataFrame) -> Figure:
    """Draw the median price of each family's tables against the noise.

    Parameters
    ----------
    medians
        Rows with ``family``, ``kind`` (``"sum"`` or ``"worst"``), ``method``, ``privacy``,
        ``noise`` (standard deviation, records) and ``median``.
    """
    there = [f for f in FAMILIES if medians["family"].eq(f).any()]
    figure, axes = panels(2, len(there), height=2.55 * len(there) + 0.9, sharex=True)
    methods = microdata_methods(medians["method"])
    first = medians["privacy"].iloc[0]
    for row, family in enumerate(there):
        for column, kind in enumerate(("sum", "worst")):
            ax = axes[2 * row + column]
            chosen = medians[medians["family"].eq(family) & medians["kind"].eq(kind)]
            for method in methods:
                style = METHODS[method]
                for privacy, filled in (("pure", True), ("zcdp", False)):
                    own = chosen[chosen["method"].eq(method) & chosen["privacy"].eq(privacy)]
                    own = own.sort_values("noise")
                    ax.plot(
                        own["noise"],
                        own["median"],
                        linestyle=style.dash,
                        linewidth=1.4,
                        color=style.colour,
                        marker=style.marker,
                        markersize=5.5,
                        markerfacecolor=style.colour if filled else "white",
                        label=style.label if privacy == first else None,
                    )
            ax.axhline(1, color=COLOURS["black"], linewidth=1.2)
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.yaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 0.7, 1, 1.4, 2, 3, 5, 10]))
            ax.xaxis.set_major_locator(FixedLocator([1, 3, 10, 30, 100, 300]))
            plain_log(ax, "x")
            plain_log(ax, "y")
            ax.minorticks_off()
            what = "sum" if kind == "sum" else "worst cell"
            ax.set_title(f"{FAMILIES[family].label}: {what}", fontsize=11.5)
    figure.supxlabel(
        "standard deviation of the noise, records (filled: pure; hollow: zCDP)", fontsize=11
    )
    figure.supylabel("squared error over OLS's", fontsize=12)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper center", ncols=4, columnspacing=1.0, handlelength=1.6
    )
    return figure


@drawn
def against_sparsity(prices: pd.DataFrame, level: str) -> Figure:
    """Draw the price of the sum against the share of empty cells, a panel a method.

    Parameters
    ----------
    prices
        Rows with ``family``, ``method``, ``share``, ``price`` and ``price_error``.
    level
        The privacy level, in words.
    """
    methods = microdata_methods(prices["method"])
    rows = -(-len(methods) // 2)
    figure, axes = panels(2, rows, height=2.7 * rows, sharex=True, sharey=True)
    for ax in axes[len(methods) :]:
        ax.set_axis_off()
    for ax, method in zip(axes, methods, strict=False):
        style = METHODS[method]
        for family in FAMILIES.values():
            own = prices[prices["method"].eq(method) & prices["family"].eq(family.name)]
            ax.errorbar(
                100 * own["share"],
                own["price"],
                yerr=np.nan_to_num(2 * own["price_error"].to_numpy()),
                fmt=family.marker,
                color=style.colour,
                markeredgecolor=COLOURS["black"],
                markeredgewidth=0.4,
                elinewidth=0.8,
                capsize=0,
                label=family.label,
            )
        ax.axhline(1, color=COLOURS["black"], linewidth=1.2)
        ax.axhline(2, color=COLOURS["black"], linewidth=1, linestyle=(0, (4, 2)))
        ax.set_title(style.label)
    axes[0].set_ylim(bottom=0)
    figure.supxlabel(f"empty cells, % ({level})", fontsize=12)
    figure.supylabel("sum's squared error over OLS's", fontsize=12)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure
