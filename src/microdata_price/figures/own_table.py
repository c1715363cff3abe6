"""Figures of a reader's own table: its counts, and what a release makes of them."""

from __future__ import annotations

import itertools

import numpy as np
from matplotlib.colors import LogNorm

from .price import plain_log
from .scales import record_shades
from .style import COLOURS, drawn, panels

_MOST_LABELS = 30
_MOST_NUMBERS = 160


@drawn
def counts(table, schema):
    """Draw counts, shaped as their schema, as a map: the first column downwards, 0 blank."""
    full = np.zeros(schema.sides)
    full[... if schema.possible is None else schema.possible] = table
    flat = full.reshape(schema.sides[0], -1)
    rows, columns = flat.shape
    figure, (ax,) = panels(height=min(1.9 + 0.32 * rows, 8.0))
    shown = np.ma.masked_equal(flat, 0)
    top = max(float(flat.max()), 2.0)
    look = {"aspect": "auto", "cmap": record_shades(), "interpolation": "none"}
    ax.imshow(shown, norm=LogNorm(1, top), **look)
    ax.grid(visible=False)
    if flat.size <= _MOST_NUMBERS:
        for (i, j), count in np.ndenumerate(flat):
            if count > 0:
                ink = "white" if np.log(count) > 0.5 * np.log(top) else COLOURS["black"]
                look = {"ha": "center", "va": "center", "fontsize": 10.5, "color": ink}
                ax.text(j, i, f"{count:.0f}", **look)
    across, plain = ", ".join(schema.columns[1:]), {"parse_math": False}  # a $ is a $
    names = [" ".join(values) for values in itertools.product(*schema.values[1:])]
    if rows <= _MOST_LABELS:
        ax.set_yticks(range(rows), schema.values[0], **plain)
    if across and columns <= _MOST_LABELS:
        look = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(range(columns), names, **look, **plain)
    ax.set_ylabel(schema.columns[0], **plain)
    ax.set_xlabel(across, **plain)
    if not across:
        ax.set_xticks([])
    return figure


def _against(ax, truth, found, marker, colour):
    low, high = -0.4, 2 * max(float(truth.max()), float(found.max()), 1.0)
    ax.plot([0, high], [0, high], color=COLOURS["black"], linewidth=1.2)
    look = {"marker": marker, "color": colour, "edgecolor": COLOURS["black"], "linewidth": 0.5}
    ax.scatter(truth, found, s=30, **look)
    for axis in "xy":
        getattr(ax, f"set_{axis}scale")("symlog", linthresh=1)
        plain_log(ax, axis)
    ax.set(xlim=(low, high), xlabel="true count, records")


@drawn
def released(truth, noisy, whole):
    """Draw noisy cells (left) and released whole records (right) against known true counts."""
    figure, (left, right) = panels(2, height=3.6, sharey=True)
    exact, given, made = (np.asarray(v, dtype=float).ravel() for v in (truth, noisy, whole))
    _against(left, exact, given, "s", COLOURS["grey"])
    _against(right, exact, made, "o", COLOURS["orange"])
    left.axhspan(min(float(given.min()) * 1.5, -1.0), 0, color=COLOURS["light"], zorder=0)
    left.set_ylim(min(float(given.min()) * 1.5, -1.0))
    left.annotate("negative", (0.97, 0.03), xycoords="axes fraction", ha="right", va="bottom")
    left.set_ylabel("published, records")
    left.set_title("noisy answers")
    right.set_title("microdata")
    return figure
