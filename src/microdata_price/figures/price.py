"""Figures of the price of microdata on one table."""

from __future__ import annotations

import io
import warnings

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ..fitting import microdata_methods
from .marks import name_rows, note
from .style import COLOURS, METHODS, drawn, panels


def plain_log(ax, axis):
    """Write the ticks of a logarithmic axis as plain numbers."""
    own = getattr(ax, f"{axis}axis")
    own.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    own.set_minor_formatter(NullFormatter())


def method_dots(ax, rows, key, order, what, *, bars=2.0, size=4.6):
    """Draw a mark for each method in each row, beside each other, with its standard error.

    `ax`: the axes, for a logarithmic scale: bars are held above zero; `rows`: values, with a column
    ``method``; `key`, `order`: the column that names the row, and the names from the top; `what`:
    the columns of the value and of its standard error; `bars`: how many standard errors a bar is
    long, either way; `size`: of the marks, in points.
    """
    methods = microdata_methods(rows["method"])
    for k, method in enumerate(methods):
        style = METHODS[method]
        own = rows[rows["method"] == method].set_index(key).reindex(order)
        value, error = (own[name].to_numpy(dtype=float) for name in what)
        bar = np.nan_to_num(bars * error)
        y = np.arange(len(order)) + 0.76 / len(methods) * (k - (len(methods) - 1) / 2)
        look = {"fmt": style.marker, "color": style.colour, "label": style.label}
        edge = {"markeredgecolor": COLOURS["black"], "markeredgewidth": 0.08 * size}
        look |= {"markersize": size, "elinewidth": 0.8, "capsize": 0, **edge}
        ax.errorbar(value, y, xerr=[np.minimum(bar, 0.9 * value), bar], **look)


@drawn
def prices(totals, title=""):
    """Draw each method's root error over that of signed answers, one row per query set.

    `totals`: rows with ``method``, ``query_set``, ``price`` and ``price_error``; ratios without
    unit; `title`: words above the picture.
    """
    shown = totals[totals["method"].isin(microdata_methods())]
    sets = list(dict.fromkeys(shown["query_set"]))
    figure, (ax,) = panels(height=1.4 + 0.85 * len(sets))
    method_dots(ax, shown, "query_set", sets, ("price", "price_error"), bars=4.0, size=6.5)
    ax.axvline(1.0, color=COLOURS["black"], linewidth=1.4)
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    fine = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if high < 6 * low else (1.0, 3.0)
    ax.xaxis.set_major_locator(LogLocator(subs=fine))
    plain_log(ax, "x")
    name_rows(ax, sets, parse_math=False)  # names of a reader's columns: a $ is a $
    ax.set_xlabel("root error over that of signed answers (1 = no price)")
    ax.set_title(title)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@drawn
def bias_and_variance(totals, title=""):
    """Draw each method's squared bias and variance, over the squared error of signed answers.

    The line at 1 is that of signed answers, all of it variance.

    `totals`: rows with ``method``, ``query_set``, ``squared_bias``, ``variance`` and ``ols``, in
    squared counts; `title`: words above the picture.
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
        ax.set_title(name, parse_math=False)
    axes[-1].set_xlabel("share of signed squared error: squared bias (hatched), variance (plain)")
    figure.suptitle(title)
    return figure


@drawn
def errors_by_count(queries, title=""):
    """Draw the root error of every query against its true count, a panel a method.

    `queries`: rows with ``method``, ``truth`` (counts), ``squared_error`` and ``ols`` (squared
    counts); `title`: words above the picture.
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
        look = {"marker": style.marker, "color": style.colour, "s": 28}
        edge = {"edgecolor": COLOURS["black"], "linewidth": 0.5}
        ax.scatter(own["truth"], np.sqrt(own["squared_error"]), **look, **edge)
        ax.axhline(signed, color=COLOURS["black"], linewidth=1.2)
        ax.set_xscale("symlog", linthresh=1)
        ax.set_xlim(-0.4, 2 * float(queries["truth"].max()) + 1)
        ax.set_ylim(0, 1.08 * tallest)
        plain_log(ax, "x")
        ax.set_title(style.label)
    where = {"xycoords": ("axes fraction", "data"), "va": "bottom"}
    note(axes[0], "signed answers", (0.02, signed), (0, 4), **where)
    for ax in axes[len(methods) :]:
        ax.set_axis_off()
    figure.supxlabel("true count, records", fontsize=12)
    figure.supylabel("root error, records", fontsize=12)
    figure.suptitle(title, parse_math=False)
    return figure


def png(figure):
    """Return a picture's file as bytes; letters that the font lacks are drawn as boxes."""
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure.savefig(out, format="png", dpi=160, bbox_inches="tight")
    return out.getvalue()
