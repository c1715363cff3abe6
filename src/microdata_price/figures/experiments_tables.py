"""The complete results at a glance: all experiments in one picture, and one picture of each."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator

from ..fitting import microdata_methods
from ..model.benchmark import FAMILIES
from ..model.privacy import level_of
from ..page.style import COLOURS, METHODS, WIDE, drawn
from ..studies.experiments import levels
from .price import method_dots, plain_log

_PANELS = (
    ("sum", "total", "sum"),
    ("marginal1", "total", "rows, total"),
    ("marginal2", "total", "columns, total"),
    ("identity", "total", "cells, total"),
    ("identity", "max", "worst cell"),
)


def _dots(ax: Axes, own: pd.DataFrame, order: list[str]) -> None:
    method_dots(ax, own, "dataset", order, ("price", "price_error"))
    ax.axvline(1, color=COLOURS["black"], linewidth=1.3)
    ax.axvline(2, color=COLOURS["black"], linewidth=1, linestyle=(0, (4, 2)))
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    ax.set_xlim(min(low, 0.8), max(high, 2.4))
    low, high = ax.get_xlim()
    if high / low < 60:
        ax.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]))
    else:
        ax.xaxis.set_major_locator(LogLocator())
    plain_log(ax, "x")
    ax.minorticks_off()
    ax.grid(axis="y", visible=False)
    for y in range(0, len(order), 2):
        ax.axhspan(y - 0.5, y + 0.5, color="#f2f2f2", zorder=0)


def _spread(ax: Axes, own: pd.DataFrame, methods: tuple[str, ...]) -> None:
    for place, method in enumerate(methods):
        style = METHODS[method]
        for up, (query_set, metric) in ((-0.2, ("sum", "total")), (0.2, ("identity", "max"))):
            mine = own["method"].eq(method) & own["query_set"].eq(query_set)
            price = own.loc[mine & own["metric"].eq(metric), "price"].to_numpy()
            if not price.size:
                continue
            ax.plot([price.min(), price.max()], [place + up] * 2, color=style.colour, linewidth=1.4)
            ax.plot(
                np.median(price),
                place + up,
                style.marker,
                color=style.colour,
                markerfacecolor=style.colour if query_set == "sum" else "white",
                markersize=5.5,
            )


@drawn
def overview(found: pd.DataFrame) -> Figure:
    """Draw every experiment small: a row a privacy level, a column a family of data sets.

    Parameters
    ----------
    found
        From `experiments.priced`.
    """
    methods = microdata_methods(dict.fromkeys(found["method"]))
    families = [f for f in FAMILIES if found["family"].eq(f).any()]
    pairs = levels(found)
    rows, columns = len(pairs), len(families)
    figure = Figure(figsize=(WIDE, 0.9 + 1.2 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for line, (privacy, level) in zip(axes, pairs, strict=True):
        for ax, family in zip(line, families, strict=True):
            same = found["privacy"].eq(privacy) & found["level"].eq(level)
            ax.axvline(1, color=COLOURS["black"], linewidth=1.2)
            ax.axvline(2, color=COLOURS["black"], linewidth=0.9, linestyle=(0, (4, 2)))
            _spread(ax, found[same & found["family"].eq(family)], methods)
            ax.grid(axis="y", visible=False)
        line[0].set_ylabel(level_of(privacy, level).plain, fontsize=11.5)
    for ax, family in zip(axes[0], families, strict=True):
        ax.set_title(FAMILIES[family].label, fontsize=12)
    first = axes[0][0]
    first.set_xscale("log")
    low, high = first.get_xlim()
    ticks = [1, 4, 16] if high / low < 60 else [1, 100, 10_000]
    first.xaxis.set_major_locator(FixedLocator([*(1 / t for t in ticks[:0:-1]), *ticks]))
    plain_log(first, "x")
    first.minorticks_off()
    first.set_yticks(np.arange(len(methods)), [METHODS[m].label for m in methods])
    first.set_ylim(len(methods) - 0.5, -0.5)
    figure.supxlabel("squared error over OLS's: 1 solid, 2 dashed", fontsize=11.5)
    return figure


@drawn
def at_a_glance(rows: pd.DataFrame) -> Figure:
    """Draw the prices of an experiment: a panel a kind of value, a row a data set.

    Parameters
    ----------
    rows
        One experiment's rows of `experiments.priced`; bars are two standard errors.
    """
    order = list(dict.fromkeys(rows["dataset"]))
    shown = [
        (title, rows[rows["query_set"].eq(q) & rows["metric"].eq(m)])
        for q, m, title in _PANELS
        if (rows["query_set"].eq(q) & rows["metric"].eq(m)).any()
    ]
    lines = -(-(len(shown) + 1) // 2)
    height = lines * (0.235 * len(order) + 0.75) + 0.3
    figure = Figure(figsize=(WIDE, height), layout="constrained")
    axes = list(figure.subplots(lines, 2, squeeze=False, sharey=True).ravel())
    for ax, (title, own) in zip(axes, shown, strict=False):
        _dots(ax, own, order)
        ax.set_title(title)
    axes[0].set_yticks(np.arange(len(order)), order)
    for ax in axes[::2]:
        ax.tick_params(axis="y", labelsize=11)
    axes[0].set_ylim(len(order) - 0.5, -0.5)
    handles, names = axes[0].get_legend_handles_labels()
    spare = axes[len(shown) :]
    for ax in spare:
        ax.set_axis_off()
    spare[-1].legend(handles, names, loc="upper center", title="squared error over OLS's")
    spare[-1].text(
        0.5,
        0.02,
        "solid line: OLS, exactly\ndashed line: twice OLS",
        transform=spare[-1].transAxes,
        ha="center",
        va="bottom",
        fontsize=11,
    )
    return figure
