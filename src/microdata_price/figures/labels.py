"""Names written beside lines, so that figures need no legends."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from matplotlib import patheffects
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from .marks import note
from .style import tick_text

RIM = [patheffects.withStroke(linewidth=3, foreground="white")]
"""Keeps letters legible over lines."""


def _points(x, y):
    """Return the finite points of a line."""
    points = np.column_stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])
    return points[np.isfinite(points).all(axis=1)]


def name_line(ax, x, y, text, colour, *, at=1.0, shift=(0.0, 6.0), ha="right"):
    """Write a line's name, shifted by points, beside its first (0) to last (1) finite point."""
    points = _points(x, y)
    if not points.size:
        return
    look = {"va": "center", "fontsize": 11, "path_effects": RIM, "annotation_clip": False}
    place = points[round(at * (len(points) - 1))]
    note(ax, text, tuple(place), shift, ha=ha, color=colour, **look)


def spread_labels(positions, gap, low=-math.inf):
    """Move label positions apart until neighbours are ``gap`` from each other, and none below low.

    >>> spread_labels([0.0, 0.1, 5.0], 1.0)
    [-0.45, 0.55, 5.0]
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    groups = []
    for i in order:
        groups.append((positions[i], [i]))
        while len(groups) > 1:
            (a, left), (b, right) = groups[-2:]
            if b - a >= gap * (len(left) + len(right)) / 2:
                break
            centre = (a * len(left) + b * len(right)) / (len(left) + len(right))
            groups[-2:] = [(centre, left + right)]
    placed = [0.0] * len(positions)
    for centre, members in groups:
        for rank, i in enumerate(members):
            placed[i] = centre + (rank - (len(members) - 1) / 2) * gap
    least = low
    for i in order:
        placed[i] = round(max(placed[i], least), 12)
        least = placed[i] + gap
    return placed


def name_ends(ax, ends, *, gap=0.075):
    """Write names at the right end of lines, outside the axes, none over another.

    Call it when the axes have their final limits and scales. The ends are for each line the last x,
    the last y, the name and the colour; the gap is a share of the axes' height.
    """
    to_share = (ax.transData + ax.transAxes.inverted()).transform
    heights = [min(max(float(to_share((x, y))[1]), 0.0), 1.0) for x, y, _, _ in ends]
    look = {"xycoords": "axes fraction", "ha": "left", "va": "center", "annotation_clip": False}
    for (_, _, text, colour), height in zip(ends, spread_labels(heights, gap, 0.03), strict=True):
        note(ax, text, (1.0, height), (5, 0), color=colour, fontsize=11, **look)


class Name(NamedTuple):
    """A name to be written beside one of several points, in data, the best first."""

    text: str
    colour: str
    points: list


def along(x, y, start=0.5):
    """Return points of a curve at which its name may be, the nearest to one place first.

    The name is best at a share `start` of the way from the left end to the right one.

    >>> along([1, 2, 3], [5, np.nan, 7], start=1)
    [(3.0, 7.0), (1.0, 5.0)]
    """
    points = _points(x, y)
    if not points.size:
        return []
    at = np.unique(np.linspace(0, len(points) - 1, 25).astype(int))
    best = start * (at.size - 1)
    order = sorted(range(at.size), key=lambda k: abs(k - best))
    return [tuple(points[at[k]].tolist()) for k in order]


# Horizontal and vertical place beside a point, the best first: right, above, left, below.
_SIDES = (
    *((1, 0), (1, 1), (1, -1), (0, 1), (-1, 1), (-1, 0), (0, -1), (-1, -1)),
    *((2, 0), (0, 2), (-2, 0), (0, -2), (1, 4), (1, -4), (-1, 4), (-1, -4)),
)


def place_names(ax, names, *, size=10.5):
    """Write names beside points, each where it covers least of names, marks and lines.

    Names come in the order of importance; those with no points are left out. Call it when
    everything else is drawn and the axes have their final limits and scales.
    """
    figure = ax.get_figure(root=True)
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    marks, lines = _drawn_points(ax)
    room, taken = ax.get_window_extent(renderer).padded(-4), []
    for name in filter(lambda n: n.points, names):
        text = ax.text(
            *(*name.points[0], name.text),
            fontsize=size,
            color=name.colour,
            va="center",
            zorder=8,
            path_effects=RIM,
        )
        extent = text.get_window_extent(renderer)
        best = (math.inf, 0.0, 0.0, Bbox.null())
        pixel = figure.dpi / 72
        for rank, point in enumerate(name.points):
            x0, y0 = ax.transData.transform(point)
            for turn, (right, up) in enumerate(_SIDES):
                gap = pixel * (8 if right * up == 0 else 5) * max(abs(right), abs(up), 1)
                x = x0 + np.sign(right) * gap - (1 - np.sign(right)) * extent.width / 2
                y = y0 + np.sign(up) * (gap + extent.height / 2)
                box = Bbox.from_bounds(x, y - extent.height / 2, extent.width, extent.height)
                reach = 40 * (abs(up) > 2)  # so far from its point only to clear other names
                cost = 0.5 * rank + 0.5 * turn + reach
                cost += _cover(box.padded(pixel), room, taken, marks, lines)
                if cost < best[0]:
                    best = (cost, x, y, box)
        x, y = ax.transData.inverted().transform(best[1:3])
        text.set_position((float(x), float(y)))
        text.set_in_layout(False)
        taken.append(best[3].padded(2 * pixel))


def _cover(box, room, taken, marks, lines):
    """Return how much a box covers; a name or the rim weighs more than a mark, that than a line."""
    inside = Bbox.intersection(box, room)
    outside = 1 - (inside.width * inside.height / (box.width * box.height) if inside else 0)
    others = sum(1 for other in taken if box.overlaps(other))
    near = box.padded(4)
    # A line through a letter costs more than a place somewhat further along the curve.
    crossed = box.padded(2).count_contains(lines)
    return (
        1000 * (outside > 0)
        + 400 * outside
        + 1000 * others
        + 60 * near.count_contains(marks)
        + 20 * (crossed > 0)
        + 2.0 * crossed
    )


def _drawn_points(ax):
    """Return the pixels of all marks, and of all lines at steps of two."""
    marks, lines = [np.empty((0, 2))], [np.empty((0, 2))]
    for line in ax.get_lines():
        if not isinstance(line, Line2D):
            continue
        # A line across all of the axes counts one way in their share.
        at = line.get_transform().transform(np.column_stack(line.get_data()).astype(float))
        at = at[np.isfinite(at).all(axis=1)]
        if line.get_marker() not in ("None", "none", "", None):
            marks.append(at)
        if line.get_linestyle() != "None" and len(at) > 1:
            along = np.r_[0, np.cumsum(np.hypot(*np.diff(at, axis=0).T))]
            steps = np.arange(0, along[-1], 2.0)
            lines.append(np.column_stack([np.interp(steps, along, at[:, k]) for k in (0, 1)]))
    return np.concatenate(marks), np.concatenate(lines)


def size_label(d):
    """Write a number of cells as a label.

    Examples
    --------
    >>> size_label(10**6), size_label(216)
    ('$d$ = 1e6', '$d$ = 216')
    """
    return f"$d$ = {tick_text(d)}"
