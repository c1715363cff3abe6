"""Figures of the sharper bounds: compared, closing the zCDP gap, to leading constant, checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, LogLocator, NullLocator
from numpy.typing import NDArray

from ..base.colours import Dash
from ..page.style import COLOURS, drawn, panels
from ..theory.lower.lower_bounds import BOUNDS
from .labels import Name, along, name_ends, place_names

Array = NDArray[np.float64]


@drawn
def bounds_compared(
    sum_errors: Array,
    curves: dict[str, Array],
    reached: tuple[Array, Array],
    signed: tuple[float, float],
    clipping: tuple[float, float],
) -> Figure:
    """Draw all lower bounds on C against D, in records, what is reached, and signed answers.

    Parameters are the D of the curves, each bound's C by its name in `BOUNDS`, D and C of
    mechanisms with a split budget, and D and C of signed answers and of the clipping mechanism.
    """
    figure, (ax,) = panels(1, height=4.8)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(float(sum_errors[0]), float(sum_errors[-1]))
    ax.xaxis.set_major_locator(LogLocator(numticks=7))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_locator(NullLocator())
    best = np.max(list(curves.values()), axis=0)
    low = 0.25 * min(signed[1], clipping[1])
    ax.fill_between(sum_errors, low, np.maximum(best, low), color=COLOURS["blue"], alpha=0.08, lw=0)
    names = [
        Name("signed", COLOURS["red"], [signed]),
        Name("clipping", COLOURS["black"], [clipping]),
    ]
    for name, curve in curves.items():
        bound = BOUNDS[name]
        shown = np.where(curve > low, curve, np.nan)
        ax.plot(sum_errors, shown, color=bound.colour, ls=bound.dash)
        names.append(Name(bound.label, bound.colour, along(sum_errors, shown, 0.0)))
    inside = (reached[0] >= sum_errors[0]) & (reached[0] <= sum_errors[-1])
    ax.plot(reached[0][inside], reached[1][inside], color=COLOURS["red"], lw=2.5)
    top = 4 * max(float(reached[1].min()), signed[1], float(best.max()))
    ax.set_ylim(low, top)
    shown = np.where(inside & (reached[1] < 0.6 * top), reached[1], np.nan)
    names.append(Name("reached", COLOURS["red"], along(reached[0], shown, 0.25)))
    ax.plot(*signed, marker="*", ms=15, ls="none", color=COLOURS["red"], mec="white", zorder=5)
    ax.plot(*clipping, marker="s", ms=8, ls="none", color=COLOURS["black"], mec="white", zorder=5)
    ax.set_xlabel("root error of the sum $D$, in records")
    ax.set_ylabel("root error of a cell $C$, in records")
    place_names(ax, names)
    return figure


@drawn
def sum_growth(ds: Array, curves: Sequence[tuple[str, Array, str, Dash]], ylabel: str) -> Figure:
    """Draw how D grows with d on log-log axes: name, values, colour and dash of each curve."""
    figure, (ax,) = panels(1, height=4.2)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(float(ds[0]), float(ds[-1]))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(numticks=7))
        axis.set_minor_locator(NullLocator())
    ends = []
    for name, curve, colour, dash in curves:
        shown = np.where(curve > 0, curve, np.nan)
        ax.plot(ds, shown, color=colour, ls=dash)
        if curve[-1] > 0:
            ends.append((float(ds[-1]), float(curve[-1]), name, colour))
    seen = np.concatenate([c[c > 0] for _, c, _, _ in curves] + [np.ones(1)])
    ax.set_ylim(float(seen.min()) / 3, float(seen.max()) * 3)
    ax.set_xlabel("cells $d$")
    ax.set_ylabel(ylabel)
    name_ends(ax, ends, gap=0.1, size=11)
    return figure


@drawn
def leading(
    ds: Array,
    panels_data: Sequence[tuple[str, Array, Array]],
    tight: tuple[str, str],
) -> Figure:
    """Draw lower and upper bounds on C over their common leading term against d, two panels.

    Parameters are the numbers of cells, for each panel its title, lower and upper ratio, and the
    names of the two curves.
    """
    figure, axes = panels(2, height=3.7, sharey=True)
    logs = np.log10(ds)
    for ax, (title, lower, upper) in zip(axes, panels_data, strict=True):
        ax.fill_between(logs, lower, upper, color=COLOURS["sky"], alpha=0.18, lw=0)
        ax.plot(logs, lower, color=COLOURS["blue"])
        ax.plot(logs, upper, color=COLOURS["red"], ls=(0, (5, 1.5)))
        ax.axhline(1, color=COLOURS["black"], lw=0.9)
        ax.set_xscale("log")
        ax.set_xlim(float(logs[0]), float(logs[-1]))
        places = [v for v in (2, 10, 50, 250) if logs[0] <= v <= logs[-1]]
        ax.xaxis.set_major_locator(FixedLocator(places))
        ax.xaxis.set_major_formatter(FixedFormatter([f"1e{v}" for v in places]))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_title(title)
        ax.set_xlabel("cells $d$")
    axes[0].set_ylim(0, 3.2)
    axes[0].set_ylabel("$C$ over its leading term")
    _, lower, upper = panels_data[0]
    inside = np.where(upper < 3, upper, np.nan)
    place_names(
        axes[0],
        [
            Name(tight[0], COLOURS["blue"], along(logs, lower, 0.7)),
            Name(tight[1], COLOURS["red"], along(logs, inside, 0.35)),
        ],
    )
    return figure


@drawn
def channels(
    errors: Array, moment: Array, program: Array, weights: Array, known: tuple[float, float]
) -> Figure:
    """Draw the least mean of an empty cell, in records, against its root error C.

    Parameters are the errors, the first-moment bound, the program's value, what the program proves
    for any weights, and the C and mean of the clipping mechanism.
    """
    figure, axes = panels(2, height=3.8, width_ratios=(1.5, 1))
    ax, ratio = axes
    for y, colour, dash, marker in (
        (program, "red", "-", "^"),
        (weights, "orange", (0, (1, 1)), ""),
        (moment, "blue", "-", "o"),
    ):
        ax.plot(errors, y, color=COLOURS[colour], ls=dash, marker=marker)
    ax.plot(*known, marker="s", ms=9, ls="none", color=COLOURS["black"], mec="white")
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(numticks=6))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("root error $C$, in records")
    ax.set_ylabel("mean of an empty cell")
    place_names(
        ax,
        [
            Name("clipping", COLOURS["black"], [known]),
            Name("program", COLOURS["red"], along(errors, program, 0.4)),
            Name("first\nmoments", COLOURS["blue"], along(errors, moment, 0.5)),
        ],
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        more = np.where(moment > 0, program / moment, np.nan)
    ratio.plot(errors, more, color=COLOURS["red"], marker="^")
    ratio.axhline(1, color=COLOURS["blue"], ls=(0, (5, 1.5)))
    ratio.set_ylim(0, 1.15 * max(2.0, float(np.nanmax(more)) if np.isfinite(more).any() else 2.0))
    ratio.set_title("program over first moments", fontsize=11)
    ratio.set_xlabel("$C$")
    return figure
