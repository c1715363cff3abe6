"""Marks that many figures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.text import Annotation


def note(
    ax: Axes, text: str, at: tuple[Any, Any], away: tuple[float, float], **kwargs: Any
) -> Annotation:
    """Write a text some points away from a place of the axes.

    Parameters
    ----------
    ax
        The axes.
    text
        What is written.
    at
        The place.
    away
        How far to the right and up, in points.
    **kwargs
        Passed to ``Axes.annotate``.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> note(Figure().subplots(), "here", (1, 2), (4, 0)).xy
    (1, 2)
    """
    return ax.annotate(text, at, xytext=away, textcoords="offset points", **kwargs)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Name rows that are drawn at 0, 1, and so on, the first on top.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> name_rows(ax, ["one", "two"])
    >>> ax.get_ylim() == (1.5, -0.5)
    True
    """
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
