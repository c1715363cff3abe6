"""Figures of the difficult table."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .style import COLOURS, drawn, panels

Array = NDArray[np.float64]


@drawn
def histograms(cell: Array, total: Array, truth: float) -> Figure:
    """Draw histograms of answers to the one full cell and to the sum, in counts."""
    figure, axes = panels(2, height=3.2, sharey=True)
    for ax, values, title in zip(axes, (cell, total), ("the cell", "the sum"), strict=True):
        ax.hist(values, bins=40, color=COLOURS["blue"])
        ax.axvline(truth, color=COLOURS["black"])
        ax.set_title(title)
        ax.set_xlabel("answer, in records")
    axes[0].set_ylabel("runs")
    return figure
