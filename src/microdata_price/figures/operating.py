"""Figures of what known mechanisms pay: the plane of C and D, and the weight of the sum."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import NDArray

from ..page.style import COLOURS, drawn, panels, tick_text
from ..theory.lower.lower_bounds import sharpest_first
from ..theory.upper.operating_points import Operating
from .labels import Name, place_names
from .plane import inside, log_x, mark

Array = NDArray[np.float64]

LEAST = 1e-3
"""The least error drawn, in signed errors; a mark below it stands at the axis, with an arrow."""


def _ticks(ax: Axes) -> None:
    """Put ticks at 1, 2 and 5 times the powers of ten, or at these alone if the axis is long."""
    low, high = (math.log10(v) for v in ax.get_ylim())
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high - low < 2.8 else (1.0,)))
    if high - low < 5:
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.yaxis.set_minor_locator(NullLocator())


def _place(place: Operating, i: int = 0) -> tuple[float, float]:
    return float(place.D[i]), float(place.C[i])


def _along(x: Array, y: Array, low: float) -> list[tuple[float, float]]:
    """Return points of a curve at which its name may be, from the left."""
    seen = np.flatnonzero(y > low)
    if not seen.size:
        return []
    at = seen[np.linspace(0, seen.size - 1, 25).astype(int)]
    return [(float(x[i]), float(y[i])) for i in at]


@drawn
def plane(
    sum_errors: Array,
    curves: dict[str, Array],
    clipping: Operating,
    known: Operating,
    certified: Operating,
    weighted: Operating,
    turned: Operating,
    truncated: Operating | None = None,
) -> Figure:
    """Draw the plane: what is impossible, and where mechanisms are, in units of signed errors.

    Everything is divided by the root error of a signed answer.

    Parameters
    ----------
    sum_errors
        The D of all curves; the first and the last are the picture's ends.
    curves
        Each bound's C, by its name in `BOUNDS`.
    clipping, known, certified
        M, and M' on the worst tables known and as certified for all.
    weighted
        The worst known of the family with a weight of the sum, from 0 to infinity.
    turned, truncated
        Certified for all tables: M' with a knob (the sum's share of the budget, or noise of two
        rates), and with bounded noise.
    """
    figure, (ax,) = panels(1, height=5.3)
    log_x(ax, float(sum_errors[0]), float(sum_errors[-1]))
    places = [certified, weighted, turned, *([truncated] if truncated else [])]
    tops = [1.0, *(float(p.C.max()) for p in places), *(float(c.max()) for c in curves.values())]
    low = max(LEAST, min(0.12, 0.5 * float(clipping.C[0])))
    ax.set_yscale("log")
    # A share of the axis, so that names fit above on long axes too.
    ax.set_ylim(low, max(tops) * (max(tops) / low) ** 0.09)
    _ticks(ax)
    names = _bounds(ax, sum_errors, curves, low)

    orange, red = COLOURS["orange"], COLOURS["red"]
    ax.plot(weighted.D, weighted.C, color=orange, lw=1.4, marker=".", ms=8)
    ax.plot(turned.D, turned.C, color=red, lw=1.4, ls="--")
    x, y = _place(known)
    ax.plot([x, x], [y, float(certified.C[0])], color=red, lw=1.2, ls=":")
    mark(ax, *_place(certified), "v", "red", hollow=True)
    mark(ax, *_place(weighted), "s", "orange", hollow=True)
    mark(ax, x, y, "D", "orange")
    mark(ax, *_place(clipping), "s", "black")
    mark(ax, 1, 1, "*", "red")
    first = [
        Name("signed\nanswers", red, [(1.0, 1.0)]),
        Name(clipping.name, COLOURS["black"], [inside(ax, *_place(clipping))]),
        Name(f"{known.name}, worst known", orange, [(x, y)]),
        Name(f"{certified.name}, certified", red, [_place(certified)]),
        Name("weight 0", orange, [_place(weighted)]),
    ]
    if truncated is not None and np.allclose(_place(truncated), _place(certified), 0.03):
        first[3] = Name(f"{certified.name} and {truncated.name}, certified", red, first[3].points)
    elif truncated is not None:
        mark(ax, *_place(truncated), "v", "red", hollow=True)
        first.append(Name(truncated.name, red, [inside(ax, *_place(truncated))]))
    middle = [_place(weighted, i) for i in range(weighted.C.size // 2, weighted.C.size - 1)]
    first.append(Name(weighted.name, orange, middle))
    first.append(
        Name(
            turned.name,
            red,
            [_place(turned, i * (turned.C.size - 1) // 8) for i in range(8, -1, -1)],
        )
    )
    ax.set_xlabel("root error of the sum $D$, in signed errors")
    ax.set_ylabel("root error of a cell $C$, in signed errors")
    place_names(ax, first + names)
    return figure


def _bounds(ax: Axes, x: Array, curves: dict[str, Array], low: float) -> list[Name]:
    """Draw the bounds and what they exclude, and return their names."""
    edge = np.maximum(np.max(list(curves.values()), axis=0), low)
    ax.fill_between(x, low, edge, color=COLOURS["blue"], alpha=0.12, lw=0)
    ax.fill_between(x, low, edge, facecolor="none", edgecolor=COLOURS["sky"], hatch="///", lw=0)
    shown = [b for b in sharpest_first(curves) if float(curves[b.name].max()) > low]
    names = []
    for bound in shown:
        curve = curves[bound.name]
        ax.plot(
            x,
            np.where(curve > 0, curve, np.nan),
            color=bound.colour,
            ls=bound.dash,
            lw=2.6 if bound is shown[0] else 1.6,
        )
        names.append(Name(bound.label, bound.colour, _along(x, curve, low)))
    return names


@drawn
def weights(families: Sequence[tuple[str, Operating, Operating]]) -> Figure:
    """Draw both errors against the weight of the sum, in units of signed errors.

    Parameters are for each kind of privacy its name, and the family as worst known and as
    certified, from weight 0 (drawn at the left margin) to infinity (at the right).
    """
    figure, axes = panels(2, height=4.2)
    finite = families[0][1].knob[1:-1]
    low, high = 0.1 * float(finite[0]), 40 * float(finite[-1])
    for ax, what in zip(axes, ("C", "D"), strict=True):
        log_x(ax, low, high, ticks=4)
        ax.set_yscale("log")
        ax.axhline(1, color=COLOURS["grey"], lw=1)
        names, tops = [], [1.0]
        for (name, known, sure), colour in zip(families, ("orange", "blue"), strict=True):
            for place, marker, dash in ((known, "o", "-"), (sure, "", "--")):
                x, y = np.clip(place.knob, low, high), getattr(place, what)
                ax.plot(x, y, dash, color=COLOURS[colour], marker=marker, ms=5, lw=1.6)
                tops.append(float(y.max()))
                # The two kinds are told apart at the left, the two lines of each at the right.
                word = name if place is known else f"{name}, certified"
                if what == "D":
                    word = "worst known" if place is known else "certified"
                if what == "C" or name == families[0][0]:
                    ends = _along(x, y, 0.0)
                    names.append(Name(word, COLOURS[colour], ends[::-1] if what == "C" else ends))
        ax.set_ylim(None, 1.6 * max(tops))
        _ticks(ax)
        decades = [t for t in ax.get_xticks() if 5 * low < t < high / 5]
        words = ["0", *(tick_text(t) for t in decades), r"$\infty$"]
        ax.set_xticks([low, *decades, high], words)
        ax.set_title(f"${what}$, in signed errors")
        ax.set_xlabel("weight of the sum")
        place_names(ax, names)
    return figure
