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

    `text`: what is written; `at`: the place; `away`: how far to the right and up, in points;
    `kwargs`: passed to ``Axes.annotate``.
    """
    return ax.annotate(text, at, xytext=away, textcoords="offset points", **kwargs)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Name rows that are drawn at 0, 1, and so on, the first on top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
