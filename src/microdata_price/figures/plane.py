"""Figures of the plane of C and D: bounds, mechanisms, and from when on microdata lose."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from ..theory.operating_points import Operating
from .labels import name_ends, name_line, spread_labels
from .style import COLOURS, drawn, panels

Array = NDArray[np.float64]

BOUND_STYLES = {
    "first_moment": ("first moments", "blue", "-"),
    "packing_empty": ("packing, empty base", "green", (0, (5, 1.5, 1, 1.5))),
    "optimised": ("packing, best constants", "pink", (0, (3, 1, 1, 1, 1, 1))),
    "printed": ("as printed", "black", (0, (1, 1))),
}
"""Each bound's name, colour and dash, the sharpest first."""

_RIM = [patheffects.withStroke(linewidth=3, foreground="white")]


def _log_x(ax: Axes, low: float, high: float, ticks: int = 7) -> None:
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.xaxis.set_major_locator(LogLocator(numticks=ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())


def _note(ax: Axes, x: float, y: float, text: str, colour: str, shift: tuple[float, float]) -> None:
    ax.annotate(
        text,
        (x, y),
        xytext=shift,
        textcoords="offset points",
        ha="left" if shift[0] > 0 else "right" if shift[0] < 0 else "center",
        va="center",
        color=COLOURS[colour],
        fontsize=10.5,
        path_effects=_RIM,
        annotation_clip=False,
        zorder=8,
    )


@drawn
def plane(
    sum_errors: Array,
    curves: dict[str, Array],
    clipping: Operating,
    known: Operating,
    certified: Operating,
    paths: Sequence[Operating],
) -> Figure:
    """Draw the plane: what is impossible, and where mechanisms are, in units of signed errors.

    Parameters are the D of all curves, each bound's C, and M, M' (worst known, certified) and
    further families of mechanisms, everything divided by the root error of a signed answer.
    """
    figure, (ax,) = panels(1, height=5.3)
    low, high = float(sum_errors[0]), float(sum_errors[-1])
    _log_x(ax, low, high)
    top = 1.3 * max(
        [float(certified.C[0]), 1.3]
        + [float(c.max()) for c in curves.values()]
        + [float(p.C.max()) for p in paths]
    )
    low_c = min(0.12, 0.5 * float(clipping.C[0]))
    ax.set_yscale("log")
    ax.set_ylim(low_c, top)
    ax.yaxis.set_major_locator(
        FixedLocator([1e-4, 1e-3, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100])
    )
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.yaxis.set_minor_locator(NullLocator())
    best = np.max(list(curves.values()), axis=0)
    edge = np.maximum(best, low_c)
    ax.fill_between(sum_errors, low_c, edge, color=COLOURS["blue"], alpha=0.12, lw=0)
    ax.fill_between(
        sum_errors, low_c, edge, facecolor="none", edgecolor=COLOURS["sky"], hatch="///", lw=0
    )
    shown = [n for n in BOUND_STYLES if n in curves and float(curves[n].max()) > 0]
    start = [math.log(max(float(curves[n][0]), low_c) / low_c) for n in shown]
    places = spread_labels([s / math.log(top / low_c) + 0.02 for s in start], 0.052, low=0.03)
    for name, place in zip(shown, places, strict=True):
        text, colour, dash = BOUND_STYLES[name]
        ax.plot(
            sum_errors,
            np.maximum(curves[name], 1e-9),
            color=COLOURS[colour],
            ls=dash,
            lw=2.6 if name == shown[0] else 1.6,
        )
        ax.annotate(
            text,
            (0.0, place),
            xycoords="axes fraction",
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=COLOURS[colour],
            fontsize=10,
            path_effects=_RIM,
            zorder=7,
        )
    for path in paths:
        sure = path.status == "certified"
        colour = "red" if sure else "orange"
        if path.C.size > 1:
            ax.plot(path.D, path.C, color=COLOURS[colour], lw=1.4, ls="--" if sure else "-")
            at = path.C.size - 1 if sure else path.C.size // 2
            if not sure:
                ax.plot(path.D, path.C, color=COLOURS[colour], marker=".", ls="none", ms=8)
            _note(ax, path.D[at], path.C[at], path.name, colour, (9, 10 if sure else 9))
        else:
            ax.plot(path.D, path.C, color=COLOURS[colour], marker="v", ls="none", mfc="white")
            _note(ax, path.D[0], path.C[0], path.name, colour, (9, -9))
    x, y, sure_y = float(known.D[0]), float(known.C[0]), float(certified.C[0])
    ax.plot([x, x], [y, sure_y], color=COLOURS["red"], lw=1.2, ls=":")
    ax.plot(x, sure_y, marker="v", ls="none", color=COLOURS["red"], mfc="white", zorder=6)
    ax.plot(x, y, marker="D", ls="none", color=COLOURS["orange"], mec="white", ms=9, zorder=6)
    _note(ax, x, y, f"{known.name}, worst known", "orange", (9, 9))
    _note(ax, x, sure_y, f"{certified.name}, certified", "red", (9, 8))
    x, y = float(clipping.D[0]), float(clipping.C[0])
    ax.plot(x, y, marker="s", ls="none", color=COLOURS["black"], mec="white", ms=9, zorder=6)
    _note(ax, x, y, clipping.name, "black", (0, -14))
    ax.plot(1, 1, marker="*", ms=16, ls="none", color=COLOURS["red"], mec="white", zorder=6)
    _note(ax, 1, 1, "signed answers", "red", (10, 0))
    ax.set_xlabel("root error of the sum $D$, in signed errors")
    ax.set_ylabel("root error of a cell $C$, in signed errors")
    return figure


@drawn
def planes(
    sum_errors: Array,
    curves: Sequence[tuple[str, Array]],
    clippings: Sequence[Operating],
    knowns: Sequence[Operating],
) -> Figure:
    """Draw the best bound and the two basic mechanisms for several d, in units of signed errors.

    Parameters are the D of all curves, each d's name and bound on C, and M and M' for each d.
    """
    colours = ("blue", "orange", "green", "pink", "black", "grey")
    dashes = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1)), "--", "-.")
    markers = ("o", "s", "^", "D", "v", "P")
    figure, (ax,) = panels(1, height=4.8)
    _log_x(ax, float(sum_errors[0]), float(sum_errors[-1]))
    top = 1.12 * max([float(c.max()) for _, c in curves] + [float(k.C[0]) for k in knowns] + [1.3])
    ax.set_ylim(0, top)
    for i, (name, curve) in enumerate(curves):
        colour = COLOURS[colours[i % 6]]
        line = np.where(curve > 0, curve, np.nan)
        ax.plot(sum_errors, line, color=colour, ls=dashes[i % 6])
        ax.fill_between(sum_errors, curve, color=colour, alpha=0.06, lw=0)
        for place in (clippings[i], knowns[i]):
            ax.plot(
                place.D, place.C, marker=markers[i % 6], ls="none", color=colour, mec="white", ms=9
            )
        _note(ax, float(knowns[i].D[0]), float(knowns[i].C[0]), name, colours[i % 6], (9, 5))
    ax.plot(1, 1, marker="*", ms=16, ls="none", color=COLOURS["red"], mec="white", zorder=6)
    ax.set_xlabel("root error of the sum $D$, in signed errors")
    ax.set_ylabel("root error of a cell $C$, in signed errors")
    return figure


@drawn
def price_against_d(
    ds: Array, panels_of: Sequence[tuple[str, Array, Array, Array, Array, Array]]
) -> Figure:
    """Draw what cells pay for a sum as good as a signed answer's, against d.

    Parameters are the d of the curves and for each panel a title, the lower bound and the
    certified bound at these d, the d at which M' was computed, and its worst known and certified C.
    """
    figure, axes = panels(len(panels_of), height=4.0, sharey=True)
    for ax, (title, lower, upper, at, known, _) in zip(axes, panels_of, strict=True):
        _log_x(ax, float(ds[0]), float(ds[-1]), ticks=4)
        ax.set_title(title)
        ax.fill_between(ds, lower, color=COLOURS["blue"], alpha=0.10, lw=0)
        ax.fill_between(ds, lower, facecolor="none", edgecolor=COLOURS["light"], hatch="///", lw=0)
        ax.plot(ds, lower, color=COLOURS["blue"])
        ax.plot(ds, upper, color=COLOURS["red"], ls="--")
        ax.plot(at, known, color=COLOURS["orange"], marker="D", lw=1.4)
        ax.axhline(1, color=COLOURS["grey"], lw=1)
        ax.set_xlabel("cells $d$")
    axes[0].set_ylim(0, None)
    title, lower, upper, at, known, _ = panels_of[0]
    name_line(axes[0], ds, upper, "certified", COLOURS["red"], at=0.6, shift=(-6, 8))
    name_line(axes[0], at, known, "$M'$", COLOURS["orange"], at=0.7, shift=(-4, 10))
    name_line(axes[0], ds, lower, "impossible", COLOURS["blue"], at=0.85, shift=(0, -34))
    name_line(axes[0], ds, np.ones(ds.shape), "signed", COLOURS["grey"], at=1.0, shift=(-4, -8))
    axes[0].set_ylabel("$C$ at $D$ = signed, in signed errors")
    return figure


@drawn
def crossings(rows: Sequence[tuple[str, str, float, float]], largest: float) -> Figure:
    """Draw from which d on each bound says something (open) and excludes signed errors (filled).

    Parameters are for each row the kind of privacy, the bound's name in `BOUND_STYLES`, and the two
    d (infinite for never), and the largest d drawn; what lies beyond ends in an arrow.
    """
    figure, (ax,) = panels(1, height=5.0)
    _log_x(ax, 1.5, largest, ticks=6)
    kinds = list(dict.fromkeys(r[0] for r in rows))
    heights, labels = [], []
    for i, (kind, name, says, exceeds) in enumerate(rows):
        y = -i - 0.9 * kinds.index(kind)
        text, colour, _ = BOUND_STYLES[name]
        heights.append(y)
        labels.append(text)
        if name == rows[0][1]:
            ax.text(1.6, y + 0.85, kind, fontweight="bold", va="center", fontsize=11)
        start, end = min(says, largest), min(exceeds, largest)
        ax.plot([start, end], [y, y], color=COLOURS[colour], lw=2)
        if exceeds < largest:
            ax.plot([end, largest], [y, y], color=COLOURS[colour], lw=7, alpha=0.3)
            ax.plot(end, y, marker="o", color=COLOURS[colour], ls="none", ms=8)
        else:
            ax.plot(largest, y, marker=">", color=COLOURS[colour], ls="none", clip_on=False)
        if says < largest:
            ax.plot(start, y, marker="o", color=COLOURS[colour], mfc="white", ls="none", ms=8)
    ax.set_yticks(heights, labels)
    ax.set_ylim(min(heights) - 0.7, 1.4)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("cells $d$")
    return figure


@drawn
def balanced(ds: Array, curves: Sequence[tuple[str, Array]], ylabel: str) -> Figure:
    """Draw how large the larger of C and D must be, against d, for named bounds.

    Parameters are the d, each curve's name in `BOUND_STYLES` and values, and the vertical label.
    """
    figure, (ax,) = panels(1, height=3.8)
    _log_x(ax, float(ds[0]), float(ds[-1]))
    ends = []
    for name, curve in curves:
        text, colour, dash = BOUND_STYLES[name]
        ax.plot(ds, curve, color=COLOURS[colour], ls=dash)
        ends.append((float(ds[-1]), float(curve[-1]), text, COLOURS[colour]))
    ax.axhline(1, color=COLOURS["grey"], lw=1)
    ends.append((float(ds[-1]), 1.0, "signed answers", COLOURS["grey"]))
    ax.set_ylim(0, 1.1 * max([1.0] + [float(c.max()) for _, c in curves]))
    ax.set_xlabel("cells $d$")
    ax.set_ylabel(ylabel)
    name_ends(ax, ends)
    return figure
