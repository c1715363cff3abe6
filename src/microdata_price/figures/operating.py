"""Figures of what known mechanisms pay: the plane of C and D, and the weight of the sum."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from ..theory.lower.lower_bounds import BOUNDS
from .labels import Name, place_names
from .marks import closed
from .plane import inside, log_x, mark
from .style import COLOURS, drawn, panels

LEAST = 1e-3
"""The least error drawn, in signed errors; a mark below it stands at the axis, with an arrow."""


EDGES = {
    "channel": ("impossible for weights", COLOURS["blue"], "-"),
    "channel_whole": ("for whole numbers", COLOURS["blue"], (0, (4, 2))),
    **{name: (b.label, b.colour, b.dash) for name, b in BOUNDS.items() if name != "first_moment"},
    "first_moment": ("first moments", COLOURS["green"], (0, (5, 1.5, 1, 1.5))),
}
"""Bounds by name: label, colour and dashes."""
STYLES = {"exact": ("s", "black"), "family": ("D", "orange"), "certified": ("v", "red")}


def _ticks(ax):
    """Put ticks at 1, 2 and 5 times the powers of ten, or at these alone if the axis is long."""
    low, high = (math.log10(v) for v in ax.get_ylim())
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high - low < 2.8 else (1.0,)))
    if high - low < 5:
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.yaxis.set_minor_locator(NullLocator())


def _place(place, i=0):
    return float(place.D[i]), float(place.C[i])


def _along(x, y, low):
    """Return points of a curve at which its name may be, from the left."""
    seen = np.flatnonzero(y > low)
    if not seen.size:
        return []
    at = seen[np.linspace(0, seen.size - 1, 25).astype(int)]
    return [(float(x[i]), float(y[i])) for i in at]


@drawn
def plane(sum_errors, curves, marks, turned):
    """Draw the plane: what is impossible, and where mechanisms are, in units of signed errors.

    Curves are each bound's C at the D in `sum_errors`, by its name in `EDGES`, the sharpest first.
    Marks are filled where they are exact, hollow triangles where they are certified; `turned` is
    certified for all tables, along a knob.
    """
    figure, (ax,) = panels(1, height=5.3)
    log_x(ax, float(sum_errors[0]), float(sum_errors[-1]))
    tops = [1.0, *(float(p.C.max()) for p in [*marks, turned]), *(c.max() for c in curves.values())]
    low = max(LEAST, min(0.12, *(0.5 * float(p.C[0]) for p in marks)))
    ax.set_yscale("log")
    # A share of the axis, so that names fit above on long axes too.
    ax.set_ylim(low, max(tops) * (max(tops) / low) ** 0.09)
    _ticks(ax)
    names = _bounds(ax, sum_errors, curves, low)
    red = COLOURS["red"]
    ax.plot(turned.D, turned.C, color=red, lw=1.4, ls="--")
    mark(ax, 1, 1, "*", "red")
    first = [Name("signed\nanswers", red, [(1.0, 1.0)])]
    for place in marks:
        shape, colour = STYLES[place.status] if place.D[0] < 1.001 else ("s", "black")
        mark(ax, *_place(place), shape, colour, hollow=place.status == "certified")
        certified = place.status == "certified"
        close = any(m.name == place.name and 0 < abs(m.C[0] / place.C[0] - 1) < 0.1 for m in marks)
        if certified and close:
            continue  # one name serves both marks
        word = ", computed\nand certified" if close else ", certified" if certified else ""
        near = [inside(ax, *_place(place))]
        first.append(Name(place.name + word, COLOURS[colour], near))
    along = [_place(turned, i * (turned.C.size - 1) // 8) for i in range(8, -1, -1)]
    first.append(Name(turned.name, red, along))
    ax.set_xlabel("root error of the sum $D$, in signed errors")
    ax.set_ylabel("root error of a cell $C$, in signed errors")
    place_names(ax, first + names)
    return figure


def _bounds(ax, x, curves, low):
    """Draw the bounds and what they exclude, and return their names."""
    closed(ax, x, low, np.maximum(curves["channel"], low))
    names = []
    for i, (name, curve) in enumerate(curves.items()):
        label, colour, dash = EDGES[name]
        if float(curve.max()) <= low:
            continue
        shown = np.where(curve > 0, curve, np.nan)
        ax.plot(x, shown, color=colour, ls=dash, lw=1.6 if i else 2.6)
        names.append(Name(label, colour, _along(x, curve, low)))
    return names
