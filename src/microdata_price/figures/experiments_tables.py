"""One picture an experiment: what its tables say, at a glance."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator

from ..page.style import COLOURS, WIDE, drawn
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
        ax.tick_params(axis="y", labelsize=9.5)
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
        fontsize=10.5,
    )
    return figure
