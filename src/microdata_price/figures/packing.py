"""Figures of the packing: its tables, and the room that an output has for its sets."""

from __future__ import annotations

from .marks import note
from .style import COLOURS, drawn, panels


@drawn
def room(packings, titles):
    """Draw how much of the sum, in records, is left for cells that each need k.

    One bar a packing: what the first cell takes at the least, then one block of k after the other
    up to the largest allowed sum.
    """
    figure, axes = panels(1, len(packings), height=1.75 * len(packings))
    for ax, p, title in zip(axes, packings, titles, strict=True):
        first, top = max(p.first_range[0], 0.0), p.sum_range[1]
        ax.barh(0, first, height=0.8, color=COLOURS["light"], edgecolor=COLOURS["grey"])
        blocks = min(int((top - first) / p.k * (1 + 1e-12)), p.d - 1)
        style = {"height": 0.8, "edgecolor": "white"}
        if blocks <= 60:
            for j in range(blocks):
                colour = COLOURS["blue" if j % 2 else "sky"]
                ax.barh(0, p.k, left=first + j * p.k, color=colour, **style)
        else:
            ax.barh(0, blocks * p.k, left=first, color=COLOURS["sky"], hatch="|||", **style)
        ax.axvline(top, color=COLOURS["red"], ls=(0, (4, 2)))
        where = {"xycoords": ("data", "axes fraction"), "ha": "right", "va": "top"}
        note(ax, "largest sum", (top, 1), (-4, -2), color=COLOURS["red"], **where)
        ax.set_title(title, pad=8)
        ax.set(yticks=[], ylim=(-0.55, 1.05), xlim=(0, 1.04 * top))
        ax.spines["left"].set_visible(False)
        ax.grid(axis="y", visible=False)
    axes[-1].set_xlabel("records")
    return figure
