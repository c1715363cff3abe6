"""Figures of the classroom activity."""

from __future__ import annotations

import numpy as np

from .marks import note
from .style import COLOURS, drawn, panels


@drawn
def class_sums(signed, first, clipped):
    """Draw the laws of the class's sums: of signed rolls, from `first` on, and of clipped ones."""
    figure, (ax,) = panels(height=3.8)
    at = first + np.arange(signed.size)
    seen = signed > 1e-4
    seen_clipped = clipped > 1e-4
    ax.bar(at[seen], 100 * signed[seen], color=COLOURS["light"], edgecolor=COLOURS["grey"])
    look = {"color": COLOURS["orange"], "edgecolor": COLOURS["black"], "hatch": "//"}
    shares = 100 * clipped[seen_clipped]
    ax.bar(np.flatnonzero(seen_clipped), shares, alpha=0.8, linewidth=0.4, **look)
    ax.axvline(0, color=COLOURS["black"], linewidth=1.6)
    top = 100 * max(float(signed.max()), float(clipped.max()))
    mean = float(clipped @ np.arange(clipped.size))
    ax.set_ylim(0, 1.2 * top)
    note(ax, "signed", (0, 100 * float(signed.max())), (-7, 6), ha="right", color=COLOURS["grey"])
    ax.annotate("clipped at zero", (mean, 1.06 * top), ha="center", color=COLOURS["red"])
    ax.set(xlabel="the class's sum (the truth is 0)", ylabel="chance, %")
    return figure
