"""Names written beside lines, so that figures need no legends."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from numpy.typing import ArrayLike


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

    Parameters
    ----------
    ax
        The axes.
    x, y
        The line's points.
    text, colour
        The name, in the line's colour.
    at
        Where along the line's finite points: 0 is the first, 1 the last.
    shift
        How far from that point, in typographic points to the right and up.
    ha
        Which side of the text is put there.
    size
        Of the letters, in points.
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

    Parameters
    ----------
    ax
        The axes; room to the right is made by the layout.
    ends
        For each line the last x, the last y, the name and the colour.
    gap
        The least distance between names, as a share of the axes' height.
    size
        Of the letters, in points.
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


def size_label(d: float) -> str:
    """Write a number of cells as a label: a power of ten as such from a thousand on.

    Examples
    --------
    >>> size_label(10**6), size_label(216)
    ('$d = 10^{6}$', '$d = 216$')
    """
    exponent = round(math.log10(d))
    if exponent >= 3 and math.isclose(10.0**exponent, d):
        return f"$d = 10^{{{exponent}}}$"
    return f"$d = {d:,.0f}$".replace(",", "{,}")
