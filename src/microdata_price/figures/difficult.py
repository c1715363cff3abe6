"""Figures of the difficult table: one cell with few records among many empty ones."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.ticker import NullLocator

from .chart import chart
from .marks import closed, note
from .style import COLOURS, METHODS, drawn, panels

_DOTS = 3000  # the most cells that are drawn one by one
_DASHED = (0, (5, 1.5))


def bin_edges(values, bins=48):
    """Return edges of equal bins that hold every value; zero is the middle of a bin."""
    low, high = min(v.min() for v in values), max(v.max() for v in values)
    width = max(high - low, 1.0) / bins
    first, last = math.floor(low / width) - 1, math.ceil(high / width) + 1
    return (np.arange(first, last + 2) - 0.5) * width


def _histogram(ax, values, edges, truth, method, exact=None):
    """Draw shares of runs in percent; exact zeros get a hatched bar, with their chance if known."""
    colour = COLOURS["grey"] if METHODS[method].signed else METHODS[method].colour
    zero, share = values == 0, 100 / values.size
    heights, _ = np.histogram(values[~zero], edges)
    ax.stairs(heights * share, edges, fill=True, color=colour, alpha=0.85)
    if zero.any():
        width, height = edges[1] - edges[0], zero.sum() * share
        ax.bar(0, height, 1.6 * width, facecolor="white", edgecolor=colour, hatch="////")
        if height > 5:
            room = -edges[0] > 0.27 * (edges[-1] - edges[0])
            ax.annotate(
                f"exactly 0:\n{height:.0f} % of\nruns"
                if exact is None
                else f"exactly 0:\n{exact:.0f} %",
                (-1.2 * width if room else 1.5 * width, 0.97 * ax.get_ylim()[1]),
                ha="right" if room else "left",
                va="top",
                fontsize=11,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
                zorder=4,
            )
    ax.axvline(truth, color=COLOURS["black"], linewidth=1.6)
    ax.plot(values.mean(), 0, "^", markersize=10, color=COLOURS["red"], clip_on=False, zorder=5)


def _tallest(groups):
    """Return a height in percent above every bar but those of exact zeros."""
    bars = [np.histogram(v[v != 0], e)[0].max() * 100 / v.size for g, e in groups for v in g]
    return 1.3 * float(max(bars))


@drawn
def front(kept, nnls, truth, emptied):
    """Draw the full cell where the sum is kept (left) and the total of NNLS (right)."""
    figure, axes = panels(2, height=2.9)
    shown = (("The group, sum kept", kept, kept.cell), ("The total, NNLS", nnls, nnls.total))
    for ax, (title, way, values) in zip(axes, shown, strict=True):
        edges = bin_edges([values, np.array([truth])])
        # Here the bar of exact zeros is whole: it is the finding.
        ax.set_ylim(0, max(_tallest([([values], edges)]), 120 * float(np.mean(values == 0))))
        _histogram(ax, values, edges, truth, way.method, emptied)
        note(ax, "truth", (truth, ax.get_ylim()[1]), (4, -3), va="top")
        ax.set_title(title)
        ax.set_xlabel("published (▲ mean)")
    axes[0].set_ylabel("% of releases")
    return figure


@drawn
def histograms(rows, truth):
    """Draw the answers to the full cell (left) and to the sum (right), one row per way."""
    figure, axes = panels(2, len(rows), height=2.0 * len(rows) + 0.7, sharex="col", sharey="all")
    columns = ([r.cell for r in rows], [r.total for r in rows])
    edges = [bin_edges(column) for column in columns]
    axes[0].set_ylim(0, _tallest(list(zip(columns, edges, strict=True))))
    for i, row in enumerate(rows):
        left, right = axes[2 * i], axes[2 * i + 1]
        _histogram(left, row.cell, edges[0], truth, row.method)
        _histogram(right, row.total, edges[1], truth, row.method)
        left.set_title(f"{row.label}: the full cell")
        right.set_title("the sum")
        left.set_ylabel("% of runs")
    note(axes[0], "truth", (truth, axes[0].get_ylim()[1]), (4, -3), va="top")
    axes[-2].set_xlabel("answer, records")
    axes[-1].set_xlabel("answer, records (▲ mean)")
    return figure


@drawn
def one_draw(answers, threshold, truth):
    """Draw one run's noisy cells, the full one first, by size, and the level that fits the sum."""
    x = "cells, from the largest noisy answer to the smallest (log scale)"
    figure, ax = chart(3.4, x=x, y="noisy answer, records", log="x")
    order = np.argsort(-answers)
    rank = np.arange(1, answers.size + 1)
    full = int(np.flatnonzero(order == 0)[0])
    seen = rank  # of very many cells those that a logarithmic axis can tell apart
    if rank.size > _DOTS:
        seen = np.unique(np.geomspace(1, rank.size, _DOTS).round().astype(int))
    ax.plot(seen, answers[order[seen - 1]], ".", color=COLOURS["grey"], markersize=4)
    blue, red = COLOURS["blue"], COLOURS["red"]
    ax.plot(rank[full], answers[0], "D", color=blue, markersize=9)
    said = f"the full cell\n({truth:g} records)"
    look = {"ha": "right", "va": "top", "color": blue, "fontweight": "bold"}
    note(ax, said, (rank[full], answers[0]), (-8, -10), **look)
    ax.axhline(0, color=COLOURS["black"], linewidth=1.2)
    ax.axhline(threshold, color=red, linewidth=1.8, linestyle=_DASHED)
    note(ax, "level: all below becomes 0", (rank[-1], threshold), (0, 5), ha="right", color=red)
    return figure


_MARKS = {  # marker, colour, size, place of the name in points, its side
    "signed answers": ("*", COLOURS["red"], 17, (6, -19), "left"),
    "clip": ("s", COLOURS["black"], 10, (0, 9), "center"),
    "mapped clip": ("s", COLOURS["black"], 10, (-10, -4), "right"),
    "NNLS": ("o", METHODS["nnls"].colour, 10, (11, -4), "left"),
    "keep the sum": ("D", METHODS["sequential"].colour, 10, (-9, 7), "left"),
}


@drawn
def plane(sum_errors, edge, marks):
    """Draw the plane in signed errors: the region closed to microdata, and marks (name, D, C)."""
    low = 0.4 * min(C for _, _, C in marks)
    figure, ax = chart(
        3.6,
        x="error of the total $D$, in signed errors",
        y="error of the worst count $C$",
        log="xy",
        xlim=sum_errors,
        ylim=(low, 3.2 * max(1.0, float(edge.max()), *(C for _, _, C in marks))),
    )
    closed(ax, sum_errors, low, np.maximum(edge, low))
    shown = np.where(edge > low, edge, np.nan)
    ax.plot(sum_errors, shown, color=COLOURS["blue"], linewidth=2.8)
    boxed = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    for name, D, C in marks:
        marker, colour, size, place, side = _MARKS[name]
        ax.plot(D, C, marker, color=colour, markersize=size, zorder=6)
        look = {"color": colour, "fontweight": "bold", "bbox": boxed, "zorder": 5}
        note(ax, name, (D, C), place, ha=side, **look)
    ax.yaxis.set_minor_locator(NullLocator())
    return figure
