"""Figures of the packing: its tables, and the room that an output has for its sets."""

from __future__ import annotations

from matplotlib.patches import Rectangle

from ..page.style import COLOURS, drawn, panels
from .marks import note


@drawn
def packing_tables(packing, rows=6, columns=7):
    """Draw the first few tables of a packing as rows of cells with their counts, in records."""
    rows, columns = min(rows, packing.d), min(columns, packing.d)
    figure, (ax,) = panels(1, height=0.9 + 0.48 * rows)
    middle = {"ha": "center", "va": "center"}
    for r in range(rows):
        table = packing.table(r + 1)
        for c in range(columns):
            count = int(table[c])
            fill = COLOURS["blue" if c == 0 else "red"] if count else "white"
            ink, weight = ("white", "bold") if count else (COLOURS["grey"], "normal")
            box = Rectangle((c + 0.04, -r - 0.96), 0.92, 0.92, fc=fill, ec=COLOURS["light"])
            ax.add_patch(box)
            ax.text(c + 0.5, -r - 0.5, f"{count:,}", color=ink, fontweight=weight, **middle)
        ax.text(-0.15, -r - 0.5, rf"$\mathcal{{D}}_{{{r + 1}}}$", ha="right", va="center")
        if columns < packing.d:
            ax.text(columns + 0.3, -r - 0.5, "…", **middle)
    for c in range(columns):
        ax.text(c + 0.5, 0.12, f"{c + 1}", ha="center", va="bottom", color=COLOURS["grey"])
    ax.text(-0.15, 0.12, "cell", ha="right", va="bottom", color=COLOURS["grey"])
    if rows < packing.d:
        ax.text(columns / 2, -rows - 0.25, "⋮", **middle)
    ax.set(xlim=(-0.8, columns + 0.6), ylim=(-rows - 0.5, 0.6))
    ax.axis("off")
    return figure


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
