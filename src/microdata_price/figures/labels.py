"""Names written beside lines, so that figures need no legends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox
from numpy.typing import ArrayLike, NDArray

from ..page.style import tick_text


def name_line(
    ax: Axes,
    x: ArrayLike,
    y: ArrayLike,
    text: str,
    colour: str,
    *,
    at: float = 1.0,
    shift: tuple[float, float] = (0.0, 6.0),
    ha: str = "right",
    size: float = 11,
) -> None:
    """Write a line's name beside it, on a white rim that keeps it legible over other lines.

    `x`, `y`: the line's points; `text`, `colour`: the name, in the line's colour; `at`: where along
    the line's finite points: 0 is the first, 1 the last; `shift`: how far from that point, in
    typographic points to the right and up; `ha`: which side of the text is put there; `size`: of
    the letters, in points.
    """
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    seen = np.flatnonzero(np.isfinite(xs) & np.isfinite(ys))
    if seen.size == 0:
        return
    i = seen[round(at * (seen.size - 1))]
    ax.annotate(
        text,
        (xs[i], ys[i]),
        xytext=shift,
        textcoords="offset points",
        ha=ha,
        va="center",
        color=colour,
        fontsize=size,
        path_effects=[patheffects.withStroke(linewidth=3, foreground="white")],
        annotation_clip=False,
    )


def spread_labels(positions: Sequence[float], gap: float, low: float = -math.inf) -> list[float]:
    """Move label positions apart until neighbours are ``gap`` from each other, and none below low.

    Examples
    --------
    >>> spread_labels([0.0, 0.1, 5.0], 1.0)
    [-0.45, 0.55, 5.0]
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    groups: list[tuple[float, list[int]]] = []
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


def name_ends(
    ax: Axes,
    ends: Sequence[tuple[float, float, str, str]],
    *,
    gap: float = 0.075,
    size: float = 11,
) -> None:
    """Write names at the right end of lines, outside the axes, none over another.

    Call it when the axes have their final limits and scales.

    `ax`: the axes; room to the right is made by the layout; `ends`: for each line the last x, the
    last y, the name and the colour; `gap`: the least distance between names, as a share of the
    axes' height; `size`: of the letters, in points.
    """
    to_share = (ax.transData + ax.transAxes.inverted()).transform
    heights = [min(max(float(to_share((x, y))[1]), 0.0), 1.0) for x, y, _, _ in ends]
    places = spread_labels(heights, gap, low=0.03)
    for (_, _, text, colour), height in zip(ends, places, strict=True):
        ax.annotate(
            text,
            (1.0, height),
            xycoords="axes fraction",
            xytext=(5, 0),
            textcoords="offset points",
            ha="left",
            va="center",
            color=colour,
            fontsize=size,
            annotation_clip=False,
        )


class Name(NamedTuple):
    """A name to be written beside one of several points."""

    text: str
    colour: str
    points: Sequence[tuple[float, float]]
    """In data, the best first."""


def along(x: ArrayLike, y: ArrayLike, start: float = 0.5) -> list[tuple[float, float]]:
    """Return points of a curve at which its name may be, the nearest to one place first.

    `x`, `y`: the curve; what is not finite is left out; `start`: where along it the name is best: 0
    is the left end, 1 the right one.

    Examples
    --------
    >>> along([1, 2, 3], [5, np.nan, 7], start=1)
    [(3.0, 7.0), (1.0, 5.0)]
    """
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    seen = np.flatnonzero(np.isfinite(xs) & np.isfinite(ys))
    if not seen.size:
        return []
    at = seen[np.unique(np.linspace(0, seen.size - 1, 25).astype(int))]
    best = start * (at.size - 1)
    order = sorted(range(at.size), key=lambda k: abs(k - best))
    return [(float(xs[at[k]]), float(ys[at[k]])) for k in order]


# Horizontal and vertical place beside a point, the best first: right, above, left, below.
_SIDES = (
    *((1, 0), (1, 1), (1, -1), (0, 1), (-1, 1), (-1, 0), (0, -1), (-1, -1)),
    *((2, 0), (0, 2), (-2, 0), (0, -2), (1, 4), (1, -4), (-1, 4), (-1, -4)),
)


def place_names(ax: Axes, names: Sequence[Name], *, size: float = 10.5) -> None:
    """Write names beside points, each where it covers least of names, marks and lines.

    Names come in the order of importance. Call it when everything else is drawn and the axes have
    their final limits and scales.

    `ax`: the axes, in a figure with a layout; `names`: what to write, and where it may be; those
    with no points are left out; `size`: of the letters, in points.
    """
    figure = ax.get_figure(root=True)
    if figure is None:
        raise TypeError("the axes are in no figure")
    renderer: RendererAgg = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    marks, lines = _drawn_points(ax)
    room, taken = ax.get_window_extent(renderer).padded(-4), list[Bbox]()
    for name in filter(lambda n: n.points, names):
        text = ax.text(
            *(*name.points[0], name.text),
            fontsize=size,
            color=name.colour,
            va="center",
            zorder=8,
            path_effects=[patheffects.withStroke(linewidth=3, foreground="white")],
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


def _cover(
    box: Bbox,
    room: Bbox,
    taken: Sequence[Bbox],
    marks: NDArray[np.float64],
    lines: NDArray[np.float64],
) -> float:
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


def _drawn_points(ax: Axes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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


def size_label(d: float) -> str:
    """Write a number of cells as a label.

    Examples
    --------
    >>> size_label(10**6), size_label(216)
    ('$d$ = 1e6', '$d$ = 216')
    """
    return f"$d$ = {tick_text(d)}"
