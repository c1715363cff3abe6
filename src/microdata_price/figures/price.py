"""Figures of the price of microdata on one table."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ..fitting import microdata_methods
from ..page.style import COLOURS, METHODS, drawn, panels


def plain_log(ax: Axes, axis: str) -> None:
    """Write the ticks of a logarithmic axis as plain numbers."""
    own = getattr(ax, f"{axis}axis")
    own.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    own.set_minor_formatter(NullFormatter())


@drawn
def prices(totals: pd.DataFrame, title: str = "") -> Figure:
    """Draw each method's total error over that of signed answers, one row a query set.

    Parameters
    ----------
    totals
        Rows with ``method``, ``query_set``, ``price`` and ``price_error``; ratios without unit.
    title
        Words above the picture.
    """
    shown = totals[totals["method"].isin(microdata_methods())]
    sets = list(dict.fromkeys(shown["query_set"]))
    methods = microdata_methods(shown["method"])
    figure, (ax,) = panels(height=1.4 + 0.85 * len(sets))
    for k, method in enumerate(methods):
        style = METHODS[method]
        own = shown[shown["method"] == method].set_index("query_set").loc[sets]
        place = np.arange(len(sets)) + 0.17 * (k - (len(methods) - 1) / 2)
        price = own["price"].to_numpy(dtype=float)
        ax.errorbar(
            price,
            place,
            # Four standard errors, held above zero for the logarithm.
            xerr=np.minimum(4 * own["price_error"].to_numpy(dtype=float), 0.99 * price),
            fmt=style.marker,
            color=style.colour,
            markeredgecolor=COLOURS["black"],
            markeredgewidth=0.6,
            label=style.label,
        )
    ax.axvline(1.0, color=COLOURS["black"], linewidth=1.4)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    plain_log(ax, "x")
    ax.set_yticks(np.arange(len(sets)), sets)
    ax.set_ylim(len(sets) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("expected squared error over that of signed answers (1 = no price)")
    ax.set_title(title)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@drawn
def bias_and_variance(totals: pd.DataFrame, title: str = "") -> Figure:
    """Draw each method's squared bias and variance, over the error of signed answers.

    The line at 1 is the error of signed answers, all of it variance.

    Parameters
    ----------
    totals
        Rows with ``method``, ``query_set``, ``squared_bias``, ``variance`` and ``ols``, in squared
        counts.
    title
        Words above the picture.
    """
    sets = list(dict.fromkeys(totals["query_set"]))
    methods = microdata_methods(totals["method"])
    figure, axes = panels(1, len(sets), height=0.9 + (0.55 + 0.27 * len(methods)) * len(sets))
    for ax, name in zip(axes, sets, strict=True):
        own = totals[totals["query_set"] == name].set_index("method").loc[list(methods)]
        place = np.arange(len(methods))
        bias = (own["squared_bias"] / own["ols"]).to_numpy()
        spread = (own["variance"] / own["ols"]).to_numpy()
        ax.barh(place, bias, color=COLOURS["orange"], hatch="////", edgecolor="white", height=0.7)
        ax.barh(place, spread, left=bias, color=COLOURS["blue"], height=0.7)
        ax.axvline(1.0, color=COLOURS["black"], linewidth=1.2)
        ax.set_yticks(place, [METHODS[m].label for m in methods])
        ax.invert_yaxis()
        ax.grid(axis="y", visible=False)
        ax.set_title(name)
    axes[-1].set_xlabel("share of signed answers' error: squared bias (hatched), variance (plain)")
    figure.suptitle(title)
    return figure


@drawn
def errors_by_count(queries: pd.DataFrame, title: str = "") -> Figure:
    """Draw the root error of every query against its true count, a panel a method.

    Parameters
    ----------
    queries
        Rows with ``method``, ``truth`` (counts), ``squared_error`` and ``ols`` (squared counts).
    title
        Words above the picture.
    """
    methods = microdata_methods(queries["method"])
    rows = -(-len(methods) // 2)
    columns = min(2, len(methods))
    figure, axes = panels(columns, rows, height=0.8 + 2.4 * rows, sharex=True, sharey=True)
    signed = float(np.sqrt(queries["ols"].max()))
    tallest = max(signed, float(np.sqrt(queries["squared_error"].max())))
    for ax, method in zip(axes, methods, strict=False):
        style = METHODS[method]
        own = queries[queries["method"] == method]
        ax.scatter(
            own["truth"],
            np.sqrt(own["squared_error"]),
            marker=style.marker,
            color=style.colour,
            edgecolor=COLOURS["black"],
            linewidth=0.5,
            s=28,
        )
        ax.axhline(signed, color=COLOURS["black"], linewidth=1.2)
        ax.set_xscale("symlog", linthresh=1)
        ax.set_xlim(-0.4, 2 * float(queries["truth"].max()) + 1)
        ax.set_ylim(0, 1.08 * tallest)
        plain_log(ax, "x")
        ax.set_title(style.label)
    axes[0].annotate(
        "signed answers",
        (0.02, signed),
        xycoords=("axes fraction", "data"),
        xytext=(0, -4),
        textcoords="offset points",
        va="top",
    )
    for ax in axes[len(methods) :]:
        ax.set_axis_off()
    figure.supxlabel("true count, records", fontsize=12)
    figure.supylabel("root error, records", fontsize=12)
    figure.suptitle(title)
    return figure
