"""The benchmark's real tables in one picture."""

from __future__ import annotations

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm

from .scales import record_shades
from .style import drawn, panels

_TOP = 20_000  # records at the end of the scale
_EMPTY = 0.1  # stands for 0, below the end of the scale


def with_edges(table):
    """Put a table's marginals and total beyond a gap of one cell at its right and lower edges.

    >>> with_edges(np.array([[1.0, 2.0], [3.0, 4.0]]))[-1]
    array([ 4.,  6., nan, 10.])
    """
    rows, columns = table.shape
    whole = np.full((rows + 2, columns + 2), np.nan)
    whole[:rows, :columns] = table
    whole[:rows, -1] = table.sum(axis=1)
    whole[-1, :columns] = table.sum(axis=0)
    whole[-1, -1] = table.sum()
    return whole


@drawn
def all_people(tables):
    """Draw tables of race by origin, by name, as small multiples without labels of their cells."""
    rows = -(-len(tables) // 5)
    figure, axes = panels(5, rows, height=2.1 * rows + 0.9)
    scale = {"cmap": record_shades(), "norm": LogNorm(1, _TOP)}
    for ax in axes:
        ax.set_axis_off()
    for ax, (name, table) in zip(axes, tables.items(), strict=False):
        values = with_edges(table.T)
        shown = np.ma.masked_invalid(np.where(values == 0, _EMPTY, values))
        ax.pcolormesh(shown, edgecolors="#c9c9c9", linewidth=0.35, **scale)
        ax.invert_yaxis()
        ax.set_title(name.removeprefix("PUMA"), fontsize=11.5)
    bar = figure.colorbar(
        ScalarMappable(**scale), ax=axes, location="bottom", aspect=40, extend="min"
    )
    bar.set_ticks([1, 10, 100, 1000, 10000], labels=["1", "10", "100", "1,000", "10,000"])
    bar.set_label("records (log colour scale; white: none)")
    bar.minorticks_off()
    return figure
