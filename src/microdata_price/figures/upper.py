"""Figures of the upper bounds: curves in d, the level, clipping, audits."""

from __future__ import annotations

import numpy as np

from .chart import chart
from .marks import note
from .style import COLOURS, drawn, panels

DRAWN = 400  # of very many cells the largest are drawn
_INKS = ("blue", "orange", "green", "pink", "black", "sky")
_DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2)), (0, (3, 1)))


def _lines(ax, x, curves):
    """Draw pairs of name and values, told apart by colour and dash."""
    for (name, y), ink, dash in zip(curves, _INKS, _DASHES, strict=False):
        ax.plot(x, y, color=COLOURS[ink], ls=dash, label=name)
    ax.legend(loc="best", handlelength=2.6)


@drawn
def curves_in_d(d, curves, ylabel, *, log=True):
    """Draw curves, each a name and values, against the number of cells."""
    figure, ax = chart(4.4, x="cells $d$", y=ylabel, log="xy" if log else "x")
    _lines(ax, d, curves)
    return figure


@drawn
def two_growths(d, left, right, titles):
    """Draw a sum's errors (logarithmic) and a cell's against the number of cells, signed errors."""
    figure, axes = panels(2, height=4.1)
    kinds = ("log", "linear")
    for ax, curves, title, kind in zip(axes, (left, right), titles, kinds, strict=True):
        _lines(ax, d, curves)
        ax.set(xscale="log", yscale=kind, xlabel="cells $d$", title=title)
    axes[0].set_ylabel("in signed errors")
    return figure


@drawn
def water_level(answers, gamma, grid, total, target):
    """Draw noisy cells with the level that fits their sum, and the sum against the level."""
    figure, (left, right) = panels(2, height=3.6)
    ordered = answers.size > DRAWN
    if ordered:
        answers = -np.sort(-answers)[:DRAWN]
    place, kept = np.arange(1, answers.size + 1), answers > gamma
    left.bar(place, answers, color=COLOURS["light"], edgecolor=COLOURS["grey"])
    style = {"color": COLOURS["blue"], "edgecolor": COLOURS["black"], "hatch": "//"}
    left.bar(place[kept], answers[kept] - gamma, bottom=gamma, **style)
    left.axhline(gamma, color=COLOURS["red"], ls=(0, (5, 1.5)))
    left.axhline(0, color=COLOURS["black"], lw=1)
    left.set(title="what stays (hatched)", ylabel="noisy answer, records")
    left.set_xlabel("cell, from the largest answer on" if ordered else "cell")
    right.plot(grid, total, color=COLOURS["blue"])
    right.plot([gamma, gamma, grid.min()], [0, target, target], color=COLOURS["red"], ls=":")
    right.plot([gamma], [target], "D", color=COLOURS["orange"], ms=8)
    right.set(title="sum above the level", xlabel="level, records")
    right.set_ylim(bottom=0)
    return figure


@drawn
def clipping(counts, bias, error, variance):
    """Draw bias and squared error of one clipped cell against its true count."""
    figure, (left, right) = panels(2, height=3.6)
    left.plot(counts, bias, "o-", color=COLOURS["orange"], ms=4)
    left.set(title="bias, records", xlabel="true count")
    left.set_ylim(bottom=0)
    right.plot(counts, error, "D-", color=COLOURS["blue"], ms=4)
    right.axhline(variance, color=COLOURS["black"], ls=(0, (5, 1.5)))
    note(right, "variance of the noise", (counts[-1], variance), (0, 5), ha="right")
    right.set(title="squared error", xlabel="true count", ylim=(0, 1.15 * variance))
    return figure


@drawn
def audits(found):
    """Draw each mechanism's exact privacy loss over its claim: name, ratio, whether it holds.

    An infinite ratio is an arrow at the right edge.
    """
    figure, (ax,) = panels(1, height=0.66 * len(found) + 0.9)
    finite = [ratio for _, ratio, _ in found if np.isfinite(ratio)]
    low, high = min([*finite, 0.5]) / 1.6, 4 * max([*finite, 1.0])
    ax.set(xscale="log", xlim=(low, high), xlabel="exact loss over the claim")
    for i, (name, ratio, holds) in enumerate(found):
        # Each row is a name, and under it, clear of it, its mark and the line of a kept claim.
        ax.vlines(1, -i - 0.25, -i + 0.12, color=COLOURS["black"], lw=1.2)
        end = min(ratio, high)
        ax.plot([low, end], [-i, -i], color=COLOURS["light"], lw=1, zorder=0)
        marker = ("o" if holds else "X") if np.isfinite(ratio) else ">"
        style = {"color": COLOURS["blue" if holds else "red"], "ms": 9, "ls": "none"}
        ax.plot(end, -i, marker=marker, clip_on=False, **style)
        note(ax, name, (low, -i), (4, 15), va="center", fontsize=11)
    ax.set(ylim=(0.6 - len(found), 0.9), yticks=[])
    ax.grid(visible=False, axis="y")
    return figure
