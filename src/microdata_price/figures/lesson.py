"""Pictures of the lesson: few marks, large type, as wide as a slide."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import NDArray

from ..page.style import COLOURS, WIDE, drawn, panels
from .marks import note

Array = NDArray[np.float64]

HEIGHT = 2.75
"""Inches; with the common width, the shape of what a slide has left under its title."""


def wide(figure: Figure) -> Figure:
    """Give a figure the shape of a slide; its type stays as large.

    Examples
    --------
    >>> [float(side) for side in wide(panels(1)[0]).get_size_inches()]
    [5.8, 2.75]
    """
    figure.set_size_inches(WIDE, HEIGHT)
    return figure


def _plain(value: float, _: object = None) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _log_counts(ax: Axes, which: str) -> None:
    """Write a logarithmic axis in few plain numbers, powers of ten."""
    axis = getattr(ax, f"{which}axis")
    getattr(ax, f"set_{which}scale")("log")
    axis.set_major_locator(LogLocator(numticks=5))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(_plain))


@drawn
def neighbours(x: Array, first: Array, second: Array, counts: tuple[int, int]) -> Figure:
    """Draw the densities of a noisy count on two neighbouring tables.

    Parameters
    ----------
    x
        Noisy counts.
    first, second
        Densities at each.
    counts
        The true counts.
    """
    figure, (ax,) = panels(height=HEIGHT)
    for y, colour, dash, count, side in (
        (first, "blue", "-", counts[0], "right"),
        (second, "red", (0, (5, 1.5)), counts[1], "left"),
    ):
        ax.plot(x, y, color=COLOURS[colour], linestyle=dash, linewidth=2.6)
        note(
            ax,
            f"true count {count}",
            (count, float(y.max())),
            (-12 if side == "right" else 12, -8),
            ha=side,
            color=COLOURS[colour],
            fontweight="bold",
        )
    ax.axvspan(float(x[0]), 0, color=COLOURS["light"], alpha=0.5, lw=0)
    ax.set_xlim(float(x[0]), float(x[-1]))
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    ax.set_xlabel("published count (grey: below zero)")
    ax.set_ylabel("how likely")
    return figure


def _line(
    ax: Axes, x: Array, y: Array, colour: str, words: str, at: int, place: tuple[float, float]
) -> None:
    """Draw a line, whole if it is the first and else dashed, with its name beside a point."""
    first = not ax.lines
    dash = "-" if first else (0, (5, 1.5))
    ax.plot(x, y, color=COLOURS[colour], linestyle=dash, linewidth=2.8)
    side = "right" if first else "left"
    note(ax, words, (x[at], y[at]), place, ha=side, color=COLOURS[colour], fontweight="bold")


@drawn
def growth(d: Array, clipped: Array, signed: Array) -> Figure:
    """Draw the root error of the sum against the number of empty cells, clipped and signed."""
    figure, (ax,) = panels(height=0.88 * HEIGHT)  # a slide has a question above it
    _line(ax, d, clipped, "orange", "clipped at zero", d.size // 2, (-10, 4))
    _line(ax, d, signed, "grey", "signed: measured by itself", d.size // 2, (-30, 7))
    _log_counts(ax, "x")
    _log_counts(ax, "y")
    ax.set_xlabel("number of empty cells d")
    ax.set_ylabel("error of the sum,\nrecords")
    return figure


@drawn
def level(cells: Array, gamma: float) -> Figure:
    """Draw noisy cells, the full one first, with the level that fits their sum.

    Parameters
    ----------
    cells
        Noisy answers, in counts.
    gamma
        What is taken off each.
    """
    figure, (ax,) = panels(height=HEIGHT)
    place = np.arange(1, cells.size + 1)
    kept = cells > gamma
    ax.bar(place, cells, color=COLOURS["light"], edgecolor=COLOURS["grey"])
    ax.bar(
        place[kept],
        cells[kept] - gamma,
        bottom=gamma,
        color=COLOURS["blue"],
        edgecolor=COLOURS["black"],
        hatch="//",
    )
    ax.axhline(0, color=COLOURS["black"], linewidth=1)
    ax.axhline(gamma, color=COLOURS["red"], linewidth=2.4, linestyle=(0, (5, 1.5)))
    note(
        ax,
        "the level",
        (1, gamma),
        (4, 0),
        xycoords=("axes fraction", "data"),
        va="center",
        color=COLOURS["red"],
        fontweight="bold",
        annotation_clip=False,
    )
    ax.set_xlim(0.3, cells.size + 0.7)
    ax.set_xticks([1, *range(5, cells.size + 1, 5)])
    ax.set_xlabel("street (number 1 is the full one)")
    ax.set_ylabel("noisy count")
    ax.grid(axis="x", visible=False)
    return figure


@drawn
def largest(d: Array, noise: Array, held: Array) -> Figure:
    """Draw the expected largest of d noises upwards, and what the full cell holds, against d."""
    figure, (ax,) = panels(height=HEIGHT)
    _line(ax, d, noise, "red", "largest of d noises upwards", 2 * d.size // 3, (-8, 6))
    _line(ax, d, held, "blue", "records of the full cell", 2 * d.size // 3, (-30, -22))
    _log_counts(ax, "x")
    ax.set_ylim(0, 1.12 * float(noise.max()))
    ax.set_xlabel("number of cells d")
    ax.set_ylabel("records")
    return figure


@drawn
def plane(
    sum_errors: Array,
    edge: Array,
    clipping: tuple[float, float],
    keeping: tuple[float, float],
) -> Figure:
    """Draw the plane with three marks, everything in signed errors.

    Parameters
    ----------
    sum_errors, edge
        Errors of the sum, and the cell's error that the sharpest bound forces at each; 0 where it
        says nothing.
    clipping, keeping
        Errors of the sum and of a cell: clipped cells, and cells that keep the sum.
    """
    figure, (ax,) = panels(height=HEIGHT)
    tops = [keeping[1], clipping[1], float(edge.max()), 1.0]
    low, high = 0.4 * min(clipping[1], keeping[1], 1.0), 3.2 * max(tops)
    shut = np.maximum(edge, low)
    ax.fill_between(sum_errors, low, shut, color=COLOURS["blue"], alpha=0.12, lw=0)
    ax.fill_between(
        sum_errors, low, shut, facecolor="none", edgecolor=COLOURS["sky"], hatch="///", lw=0
    )
    ax.plot(sum_errors, np.where(edge > low, edge, np.nan), color=COLOURS["blue"], linewidth=2.8)
    marks = (
        (1.0, 1.0, "*", "red", "signed answers", (4, -20), "left", 17),
        (*keeping, "D", "orange", "keep the sum", (10, 2), "left", 10),
        (*clipping, "s", "black", "clip", (-10, 4), "right", 10),
    )
    for x, y, marker, colour, words, place, side, size in marks:
        ax.plot([x], [y], marker, color=COLOURS[colour], markersize=size, zorder=5)
        note(
            ax,
            words,
            (x, y),
            place,
            ha=side,
            color=COLOURS[colour],
            fontweight="bold",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
            zorder=6,
        )
    _log_counts(ax, "x")
    _log_counts(ax, "y")
    ax.set_xlim(float(sum_errors[0]), float(sum_errors[-1]))
    ax.set_ylim(low, high)
    ax.set_xlabel("error of the sum $D$, in signed errors")
    ax.set_ylabel("error of a cell $C$")
    return figure
