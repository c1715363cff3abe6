"""The picture of the C-D plane that the explorer shows where its sliders cannot run."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..figures.labels import name_line
from ..page.style import COLOURS, drawn, panels
from ..theory.lower.lower_bounds import BOUNDS
from .values import Shown

_MECHANISM = COLOURS["red"]
_PATHS: dict[str, tuple[str, Any, float]] = {
    "split": ("#8a6d00", (0, (1, 1.5)), 0.35),
    "asymmetric": ("#6b3fa0", (0, (6, 2)), 0.15),
}
"""Colour, dash and the name's place along the path; other paths are drawn as mechanisms are."""
_SHIFTS = {"sum_first": (7, -15), "signed": (0, -15), "counts_first": (0, -15)}
"""Where a point's name goes, clear of the paths and curves that lead away from it."""


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
        about = BOUNDS[bound.key]
        # Opaque and of one shade, so that the regions look like the one region that they make.
        ax.fill_between(D, low, np.maximum(C, low), color="#e9f1f8", lw=0, zorder=0)
        ax.plot(D, C, color=about.colour, linestyle=about.dash, lw=1.8)
        seen = (0.4 * unit < D) & (low * 1.3 < C)
        if seen.any():
            at = 0.18 if bound.key == "first_moment" else 0.0
            name_line(
                ax, D[seen], C[seen], bound.title, about.colour, at=at, shift=(2, 8), ha="left"
            )
    for m in shown.mechanisms:
        if m.C.size > 1:
            colour, style, at = _PATHS.get(m.key, (_MECHANISM, "-", 0.5))
            ax.plot(m.D, m.C, color=colour, lw=1.6, linestyle=style)
            name_line(ax, m.D, m.C, m.title, colour, at=at, shift=(6, 7), ha="left")
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
        shift = _SHIFTS.get(m.key, (9, 0))
        name_line(ax, m.D, m.C, m.title, colour, shift=shift, ha="left" if shift[0] else "center")
    ax.set(xscale="log", yscale="log", xlim=(0.25 * unit, right), ylim=(low, top))
    ax.set(xlabel="error of the sum, D (counts)", ylabel="error of a count, C (counts)")
    ax.set_title(title)
    return figure
