"""Figures of the difficult table: one cell with few records among many empty ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..page.style import COLOURS, METHODS, drawn, panels
from ..studies.difficult_table import Answers
from .marks import note

Array = NDArray[np.float64]

_DOTS = 3000
"""The most cells that are drawn one by one."""


def bin_edges(values: Sequence[Array], bins: int = 48) -> Array:
    """Return edges of equal bins that hold every value; zero is the middle of a bin.

    Examples
    --------
    >>> edges = bin_edges([np.array([-3.0, 40.0])])
    >>> bool(edges[0] < -3 and edges[-1] > 40)
    True
    """
    low = min(float(v.min()) for v in values)
    high = max(float(v.max()) for v in values)
    width = max(high - low, 1.0) / bins
    first, last = math.floor(low / width) - 1, math.ceil(high / width) + 1
    return np.asarray((np.arange(first, last + 2) - 0.5) * width)


def _histogram(ax: Axes, values: Array, edges: Array, truth: float, colour: str) -> None:
    """Draw shares of runs in percent; exact zeros get a hatched bar of their own."""
    zero = values == 0
    share = 100 / values.size
    heights, _ = np.histogram(values[~zero], edges)
    ax.stairs(heights * share, edges, fill=True, color=colour, alpha=0.85)
    if zero.any():
        width = edges[1] - edges[0]
        height = zero.sum() * share
        ax.bar(0, height, 1.6 * width, facecolor="white", edgecolor=colour, hatch="////")
        if height > 5:
            room = -edges[0] > 0.27 * (edges[-1] - edges[0])
            ax.annotate(
                f"exactly 0:\n{height:.0f} % of\nruns",
                (-1.2 * width if room else 1.5 * width, 0.97 * ax.get_ylim()[1]),
                ha="right" if room else "left",
                va="top",
                fontsize=11,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
                zorder=4,
            )
    ax.axvline(truth, color=COLOURS["black"], linewidth=1.6)
    mean = float(values.mean())
    ax.plot([mean], [0], marker="^", markersize=10, color=COLOURS["red"], clip_on=False, zorder=5)


@drawn
def histograms(rows: Sequence[Answers], truth: float) -> Figure:
    """Draw the answers to the full cell (left) and to the sum (right), one row a way to answer.

    Parameters
    ----------
    rows
        Ways to answer, for the same noise.
    truth
        The true count of the cell, which is also the true sum.
    """
    figure, axes = panels(2, len(rows), height=2.0 * len(rows) + 0.7, sharex="col", sharey="all")
    columns = ([r.cell for r in rows], [r.total for r in rows])
    edges = [bin_edges(column) for column in columns]
    tallest = 0.0
    for column, edge in zip(columns, edges, strict=True):
        for values in column:
            counted = np.histogram(values[values != 0], edge)[0].max() * 100 / values.size
            tallest = max(tallest, float(counted))
    axes[0].set_ylim(0, 1.3 * tallest)
    for i, row in enumerate(rows):
        left, right = axes[2 * i], axes[2 * i + 1]
        colour = COLOURS["grey"] if METHODS[row.method].signed else METHODS[row.method].colour
        _histogram(left, row.cell, edges[0], truth, colour)
        _histogram(right, row.total, edges[1], truth, colour)
        left.set_title(f"{row.label}: the full cell")
        right.set_title("the sum")
        left.set_ylabel("% of runs")
    note(axes[0], "truth", (truth, axes[0].get_ylim()[1]), (4, -3), va="top")
    axes[-2].set_xlabel("answer, records")
    axes[-1].set_xlabel("answer, records (▲ mean)")
    return figure


@drawn
def one_draw(answers: Array, threshold: float, truth: float) -> Figure:
    """Draw one run's noisy cells in order of size, with the threshold that fits their sum.

    Parameters
    ----------
    answers
        Noisy cells, the full one first, shape (cells,), in counts.
    threshold
        What is taken off every cell before clipping at zero, in counts.
    truth
        The true count of the full cell.
    """
    figure, (ax,) = panels(height=3.4)
    order = np.argsort(-answers)
    rank = np.arange(1, answers.size + 1)
    full = int(np.flatnonzero(order == 0)[0])
    seen = rank  # of very many cells those that a logarithmic axis can tell apart
    if rank.size > _DOTS:
        seen = np.unique(np.geomspace(1, rank.size, _DOTS).round().astype(int))
    ax.plot(seen, answers[order[seen - 1]], ".", color=COLOURS["grey"], markersize=4)
    ax.plot(rank[full], answers[0], "D", color=COLOURS["blue"], markersize=9)
    note(
        ax,
        f"the full cell\n({truth:g} records)",
        (rank[full], answers[0]),
        (-8, -10),
        ha="right",
        va="top",
        color=COLOURS["blue"],
        fontweight="bold",
    )
    ax.axhline(0, color=COLOURS["black"], linewidth=1.2)
    ax.axhline(threshold, color=COLOURS["red"], linewidth=1.8, linestyle=(0, (5, 1.5)))
    note(
        ax,
        "threshold: all below becomes 0",
        (rank[-1], threshold),
        (0, 5),
        ha="right",
        color=COLOURS["red"],
    )
    ax.set_xscale("log")
    ax.set_xlabel("cells, from the largest noisy answer to the smallest (log scale)")
    ax.set_ylabel("noisy answer, records")
    return figure
