"""Pictures of the lesson: few marks, large type, as wide as a slide."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from .marks import closed, note
from .style import COLOURS, WIDE, drawn, panels

HEIGHT = 2.75  # inches: with the common width, what a slide has left under its title
DASH = (0, (5, 1.5))


def wide(figure):
    """Give a figure the shape of a slide; its type stays as large."""
    figure.set_size_inches(WIDE, HEIGHT)
    return figure


def _log_counts(ax, which):
    """Write a logarithmic axis in few plain numbers, powers of ten."""
    axis = getattr(ax, f"{which}axis")
    getattr(ax, f"set_{which}scale")("log")
    axis.set_major_locator(LogLocator(numticks=5))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}" if v >= 1 else f"{v:g}"))


def _bold(ax, words, at, away, colour, **more):
    note(ax, words, at, away, color=COLOURS[colour], fontweight="bold", **more)


@drawn
def neighbours(x, first, second, counts):
    """Draw the densities of a noisy count on two neighbouring tables."""
    figure, (ax,) = panels(height=HEIGHT)
    for y, colour, dash, count, side in (
        (first, "blue", "-", counts[0], "right"),
        (second, "red", DASH, counts[1], "left"),
    ):
        ax.plot(x, y, color=COLOURS[colour], linestyle=dash, linewidth=2.6)
        away = (-12 if side == "right" else 12, -8)
        _bold(ax, f"true count {count}", (count, float(y.max())), away, colour, ha=side)
    ax.axvspan(float(x[0]), 0, color=COLOURS["light"], alpha=0.5, lw=0)
    ax.set(xlabel="published count (grey: below zero)", ylabel="how likely", yticks=[])
    ax.set_xlim(float(x[0]), float(x[-1]))
    ax.set_ylim(bottom=0)
    return figure


def _line(ax, x, y, colour, words, at, away):
    """Draw a line, whole if it is the first and else dashed, with its name beside a point."""
    first = not ax.lines
    ax.plot(x, y, color=COLOURS[colour], linestyle="-" if first else DASH, linewidth=2.8)
    _bold(ax, words, (x[at], y[at]), away, colour, ha="right" if first else "left")


@drawn
def growth(d, clipped, signed):
    """Draw the root error of the sum against the number of empty cells, clipped and signed."""
    figure, (ax,) = panels(height=0.88 * HEIGHT)  # a slide has a question above it
    _line(ax, d, clipped, "orange", "clipped at zero", d.size // 2, (-10, 4))
    _line(ax, d, signed, "grey", "signed: measured by itself", d.size // 2, (-30, 7))
    _log_counts(ax, "x")
    _log_counts(ax, "y")
    ax.set(xlabel="number of empty cells d", ylabel="error of the sum,\nrecords")
    return figure


@drawn
def level(cells, level):
    """Draw noisy cells, the full one first, with the level that keeps their sum."""
    figure, (ax,) = panels(height=HEIGHT)
    place = np.arange(1, cells.size + 1)
    kept = cells > level
    ax.bar(place, cells, color=COLOURS["light"], edgecolor=COLOURS["grey"])
    look = {"color": COLOURS["blue"], "edgecolor": COLOURS["black"], "hatch": "//"}
    ax.bar(place[kept], cells[kept] - level, bottom=level, **look)
    ax.axhline(0, color=COLOURS["black"], linewidth=1)
    ax.axhline(level, color=COLOURS["red"], linewidth=2.4, linestyle=DASH)
    beside = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
    _bold(ax, "the level", (1, level), (4, 0), "red", **beside)
    ax.set(xlabel="street (number 1 is the full one)", ylabel="noisy count")
    ax.set_xlim(0.3, cells.size + 0.7)
    ax.set_xticks([1, *range(5, cells.size + 1, 5)])
    ax.grid(axis="x", visible=False)
    return figure


@drawn
def largest(d, noise, held, at, level):
    """Draw the largest of d noises upwards and the full cell's records, and the level at one d."""
    figure, (ax,) = panels(height=HEIGHT)
    _line(ax, d, noise, "red", "largest of d noises upwards", 2 * d.size // 3, (-8, 6))
    _line(ax, d, held, "blue", "records of the full cell", 2 * d.size // 3, (-30, -22))
    ax.plot([at], [level], "D", color=COLOURS["orange"], markersize=10, zorder=5)
    _bold(ax, "the level", (at, level), (9, 1), "orange")
    _log_counts(ax, "x")
    ax.set(xlabel="number of cells d", ylabel="records")
    ax.set_ylim(0, 1.12 * max(float(noise.max()), float(held.max())))
    return figure


@drawn
def hidden(m, demanded, signed):
    """Draw what the proof demands of a cell's error, against the people that move in."""
    figure, (ax,) = panels(height=HEIGHT)
    best = int(np.argmax(demanded))
    ax.plot(m, demanded, "o-", color=COLOURS["blue"], linewidth=2.4)
    ax.plot([m[best]], [demanded[best]], "o", color=COLOURS["red"], markersize=12, zorder=5)
    ax.axhline(signed, color=COLOURS["grey"], linestyle=DASH, linewidth=2)
    under = (0.83 * float(m[best]), signed)
    _bold(ax, "a signed answer's error", under, (0, -17), "grey", ha="center")
    top = max(float(demanded[best]), signed)
    words = f"best: m = {m[best]:,}"
    _bold(ax, words, (m[best], demanded[best]), (-10, 8), "red", ha="right")
    ax.set(xlabel="people m who move into cell i", ylabel="the proof: C is at least")
    ax.set_ylim(0, 1.35 * top)
    ax.set_xlim(-0.3, float(m[-1]))
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    return figure


@drawn
def plane(sum_errors, edge, clipping, keeping):
    """Draw the plane with three marks and the closed region, everything in signed errors."""
    figure, (ax,) = panels(height=HEIGHT)
    tops = [keeping[1], clipping[1], float(edge.max()), 1.0]
    low, high = 0.4 * min(clipping[1], keeping[1], 1.0), 3.2 * max(tops)
    shut = np.maximum(edge, low)
    closed(ax, sum_errors, low, shut)
    ax.plot(sum_errors, np.where(edge > low, edge, np.nan), color=COLOURS["blue"], linewidth=2.8)
    for x, y, marker, colour, words, away, side, size in (
        (1.0, 1.0, "*", "red", "signed answers", (4, -20), "left", 17),
        (*keeping, "D", "orange", "keep the sum", (10, 2), "left", 10),
        (*clipping, "s", "black", "clip", (-10, 4), "right", 10),
    ):
        ax.plot([x], [y], marker, color=COLOURS[colour], markersize=size, zorder=5)
        white = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        _bold(ax, words, (x, y), away, colour, ha=side, bbox=white, zorder=6)
    _log_counts(ax, "x")
    _log_counts(ax, "y")
    ax.set(xlabel="error of the sum $D$, in signed errors", ylabel="error of a cell $C$")
    ax.set_xlim(float(sum_errors[0]), float(sum_errors[-1]))
    ax.set_ylim(low, high)
    return figure
