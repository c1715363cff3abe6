"""The picture of the C-D plane that the explorer shows where its sliders cannot run."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ..explorer_values import Shown
from .labels import name_line
from .style import COLOURS, drawn, panels

_BOUNDS = {
    "first_moment": (COLOURS["blue"], "-", 2.6),
    "packing_empty": (COLOURS["green"], "-", 1.8),
    "printed": (COLOURS["grey"], (0, (5, 3)), 1.8),
}
_MECHANISM = COLOURS["red"]


@drawn
def static_picture(shown: Shown, title: str) -> Figure:
    """Draw the C-D plane at one setting: bounds, the region they exclude, mechanisms.

    Parameters
    ----------
    shown
        The numbers, in counts.
    title
        Says which setting.
    """
    figure, (ax,) = panels(1, height=4.4)
    unit = shown.signed
    points = [m for m in shown.mechanisms if m.C.size == 1]
    right = 3 * max(float(m.D.max()) for m in shown.mechanisms)
    top = 1.4 * max(float(m.upper or m.C.max()) for m in shown.mechanisms)
    low = 0.22 * unit
    for bound in shown.bounds:
        D, C = bound.curve
        if D.size < 2:
            continue
        colour, dash, width = _BOUNDS[bound.key]
        ax.fill_between(D, low, np.maximum(C, low), color=COLOURS["blue"], alpha=0.07, lw=0)
        ax.plot(D, C, color=colour, linestyle=dash, lw=width)
        seen = (0.4 * unit < D) & (low * 1.3 < C)
        if seen.any():
            name_line(ax, D[seen], C[seen], bound.title, colour, at=0.0, shift=(2, 7), ha="left")
    for m in shown.mechanisms:
        if m.C.size > 1:
            ax.plot(m.D, m.C, color=_MECHANISM, lw=1.6, linestyle=(0, (1, 1.5)))
            name_line(ax, m.D, m.C, m.title, _MECHANISM, at=0.5, shift=(5, 7), ha="left")
    for m in points:
        hollow = m.key == "signed"
        ax.plot(
            m.D,
            m.C,
            marker="o",
            markersize=8,
            markerfacecolor="white" if hollow else _MECHANISM,
            markeredgecolor=COLOURS["black"] if hollow else _MECHANISM,
            markeredgewidth=1.8,
        )
        if m.upper is not None:
            ax.plot([m.D[0]] * 2, [m.C[0], m.upper], color=_MECHANISM, lw=1.2, marker="_")
        colour = COLOURS["black"] if hollow else _MECHANISM
        name_line(ax, m.D, m.C, m.title, colour, shift=(9, 0), ha="left")
    ax.set(xscale="log", yscale="log", xlim=(0.3 * unit, right), ylim=(low, top))
    ax.set(xlabel="error of the sum, D (counts)", ylabel="error of a count, C (counts)")
    ax.set_title(title)
    return figure
