"""A proof's slack as one bar, shared out among its steps."""

from __future__ import annotations

from ..base.numbers import format_number
from .marks import note
from .style import COLOURS, drawn, panels

_FILLS = (
    ("blue", ""),
    ("orange", "//"),
    ("green", ".."),
    ("pink", "\\\\"),
    ("sky", "xx"),
    ("red", "--"),
)


@drawn
def slack_bar(slack, allowed, asked="what the theorem asks"):
    """Draw one bar up to what privacy allows, cut where each step of a proof loses.

    Below the bar each piece stands in a row of its own, at its place, with its name and size.
    """
    rows = len(slack.lost) + 2
    figure, (ax,) = panels(1, height=0.9 + 0.42 * rows)
    fills = [("light", ""), *(_FILLS[i % len(_FILLS)] for i in range(len(slack.lost)))]
    pieces = [(asked, slack.asked), *slack.lost]
    low, high = min(slack.asked, 0.0), max(slack.allowed, slack.asked, 1e-9)
    start = 0.0
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    for row, ((_, value), (colour, hatch)) in enumerate(zip(pieces, fills, strict=True), 1):
        # A sampled loss may be a little below zero.
        size = value if row == 1 else max(value, 0.0)
        style = {"fc": COLOURS[colour], "ec": "white" if hatch else COLOURS["grey"], "lw": 0.6}
        for place, height in ((0, 0.86), (row, 0.6)):
            ax.barh(place, size, left=start, height=height, hatch=hatch, **style)
        end = max(start + size, start)
        note(ax, _size(value, row == 1), (end, row), (5, 0), va="center", fontsize=11, bbox=box)
        start += size
    ax.axvline(0, color=COLOURS["black"], lw=1)
    whole = {"va": "center", "fontsize": 11, "fontweight": "bold"}
    note(ax, format_number(slack.allowed, 3), (high, 0), (5, 0), **whole)
    ax.set_yticks(range(rows), [allowed, *(name for name, _ in pieces)])
    span = high - low
    ax.set(ylim=(rows - 0.4, -0.6), xlim=(low - 0.02 * span, high + 0.16 * span))
    ax.set_xlabel(slack.unit)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)
    return figure


def _size(value, asked):
    if asked and value <= 0:
        return f"nothing ({format_number(value, 2)})"
    return "under 0.01" if 0 < value < 0.01 else format_number(value, 2)
