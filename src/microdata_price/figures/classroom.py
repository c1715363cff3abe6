"""Figures of the classroom activity."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..page.style import COLOURS, drawn, panels
from .marks import note

Array = NDArray[np.float64]


@drawn
def class_sums(signed: Array, first: int, clipped: Array) -> Figure:
    """Draw the laws of the class's two sums: signed rolls, and rolls clipped at zero.

    `signed`: probabilities of the signed sum, from ``first`` upwards; `first`: the least signed
    sum; `clipped`: probabilities of the clipped sum, from 0 upwards.
    """
    figure, (ax,) = panels(height=3.8)
    at = first + np.arange(signed.size)
    seen = signed > 1e-4
    seen_clipped = clipped > 1e-4
    ax.bar(at[seen], 100 * signed[seen], color=COLOURS["light"], edgecolor=COLOURS["grey"])
    ax.bar(
        np.flatnonzero(seen_clipped),
        100 * clipped[seen_clipped],
        color=COLOURS["orange"],
        alpha=0.8,
        edgecolor=COLOURS["black"],
        hatch="//",
        linewidth=0.4,
    )
    ax.axvline(0, color=COLOURS["black"], linewidth=1.6)
    top = 100 * max(float(signed.max()), float(clipped.max()))
    mean = float(clipped @ np.arange(clipped.size))
    ax.set_ylim(0, 1.2 * top)
    note(ax, "signed", (0, 100 * float(signed.max())), (-7, 6), ha="right", color=COLOURS["grey"])
    ax.annotate("clipped at zero", (mean, 1.06 * top), ha="center", color=COLOURS["red"])
    ax.set_xlabel("the class's sum (the truth is 0)")
    ax.set_ylabel("chance, %")
    return figure
