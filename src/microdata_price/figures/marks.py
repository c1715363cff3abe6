"""Marks that many figures share."""

from __future__ import annotations

from .style import COLOURS


def note(ax, text, at, away, **kwargs):
    """Write a text some points to the right of and above a place of the axes."""
    return ax.annotate(text, at, xytext=away, textcoords="offset points", **kwargs)


def name_rows(ax, names, **look):
    """Name rows that are drawn at 0, 1, and so on, the first on top."""
    ax.set_yticks(range(len(names)), names, **look)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)


def closed(ax, x, low, high, *, alpha=0.12, edge="sky"):
    """Tint and hatch where no nonnegative mechanism can be."""
    ax.fill_between(x, low, high, color=COLOURS["blue"], alpha=alpha, lw=0)
    ax.fill_between(x, low, high, facecolor="none", edgecolor=COLOURS[edge], hatch="///", lw=0)
