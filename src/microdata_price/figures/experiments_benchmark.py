"""Pictures of the benchmark's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..page.style import COLOURS, WIDE, drawn, panels
from .marks import note
from .scales import record_shades

Array = NDArray[np.float64]

_TOP = 20_000  # records at the end of the scale
_EMPTY = 0.1  # stands for 0, below the end of the scale


def with_edges(table: Array) -> Array:
    """Put a table's marginals and total beyond a gap of one cell at its right and lower edges.

    Examples
    --------
    >>> with_edges(np.array([[1.0, 2.0], [3.0, 4.0]]))[-1]
    array([ 4.,  6., nan, 10.])
    """
    rows, columns = table.shape
    whole = np.full((rows + 2, columns + 2), np.nan)
    whole[:rows, :columns] = table
    whole[:rows, -1] = table.sum(axis=1)
    whole[-1, :columns] = table.sum(axis=0)
    whole[-1, -1] = table.sum()
    return whole


def _mesh(ax: Axes, values: Array) -> None:
    shown = np.ma.masked_invalid(np.where(values == 0, _EMPTY, values))
    ax.pcolormesh(
        shown, cmap=record_shades(), norm=LogNorm(1, _TOP), edgecolors="#c9c9c9", linewidth=0.35
    )
    ax.invert_yaxis()
    ax.grid(visible=False)
    ax.set_frame_on(False)
    ax.tick_params(length=0)


def _bar(figure: Figure, axes: Sequence[Axes]) -> None:
    bar = figure.colorbar(
        ScalarMappable(LogNorm(1, _TOP), record_shades()),
        ax=list(axes),
        location="bottom",
        aspect=40,
        extend="min",
    )
    bar.set_ticks([1, 10, 100, 1000, 10000], labels=["1", "10", "100", "1,000", "10,000"])
    bar.set_label("records (log colour scale; white: none)")
    bar.minorticks_off()


@drawn
def lists(tables: Mapping[str, Array]) -> Figure:
    """Draw lists as strips of cells, one below the other.

    Parameters
    ----------
    tables
        Counts of shape (cells,), by name.
    """
    figure, axes = panels(1, len(tables), height=0.62 * len(tables) + 1.1, sharex=True)
    for ax, (name, cells) in zip(axes, tables.items(), strict=True):
        _mesh(ax, cells[None, :])
        ax.set_yticks([])
        ax.set_title(name, fontsize=11.5, pad=2)
        ax.set_xticks([0.5, 24.5, 49.5, 74.5, 99.5], ["1", "25", "50", "75", "100"])
    axes[-1].set_xlabel("cell")
    _bar(figure, axes)
    return figure


def _multiples(tables: Mapping[str, Array], across: int, height: float, letters: float) -> Figure:
    """Draw tables with their marginals, some across, each of a height in inches."""
    rows = -(-len(tables) // across)
    figure = Figure(figsize=(WIDE, height * rows + 0.9), layout="constrained")
    axes = list(figure.subplots(rows, across, squeeze=False).ravel())
    for ax, (name, table) in zip(axes, tables.items(), strict=False):
        _mesh(ax, with_edges(table))
        ax.set_title(name, fontsize=letters)
        ax.set_xticks([])
        ax.set_yticks([])
    for ax in axes[len(tables) :]:
        ax.set_axis_off()
    _bar(figure, axes)
    return figure


@drawn
def squares(tables: Mapping[str, Array]) -> Figure:
    """Draw square tables with their marginals at the edges, as small multiples.

    Parameters
    ----------
    tables
        Counts of shape (rows, columns), by name.
    """
    figure = _multiples(tables, min(4, len(tables)), 1.65, 11)
    for ax in figure.axes[: len(tables)]:
        ax.set_aspect("equal")
    return figure


@drawn
def square(name: str, table: Array) -> Figure:
    """Draw one square table large, with the count of each cell.

    Parameters
    ----------
    name
        What it is called.
    table
        Counts of shape (rows, columns).
    """
    figure, (ax,) = panels(height=5.6)
    whole = with_edges(table)
    _mesh(ax, whole)
    for (row, column), count in np.ndenumerate(whole):
        if np.isfinite(count):
            ink = "white" if count >= 100 else COLOURS["black"]
            words = f"{count:.0f}" if count < 10_000 else f"{count / 1000:.3g}k"
            place = (column + 0.5, row + 0.5)
            ax.annotate(
                words,
                place,
                ha="center",
                va="center",
                fontsize=10.5,
                color=ink,
                gid=f"cell-text-{row}-{column}",
            )
    ax.set_title(name)
    rows, columns = table.shape
    ax.set_xticks([columns / 2, columns + 1.5], ["columns", "row sum"], fontsize=11)
    ax.set_yticks([rows / 2, rows + 1.5], ["rows", "sum"], fontsize=11)
    _bar(figure, [ax])
    return figure


@drawn
def people(tables: Mapping[str, Array], races: Sequence[str], origins: Sequence[str]) -> Figure:
    """Draw one table of race by origin, turned so that both have readable labels.

    Parameters
    ----------
    tables
        Its counts, shape (races, origins), by its name.
    races, origins
        Short labels.
    """
    ((name, table),) = tables.items()
    figure, (ax,) = panels(height=8.2)
    places = (np.arange(len(races)) + 0.5, np.arange(len(origins)) + 0.5)
    _mesh(ax, with_edges(table.T))
    ax.set_title(name)
    ax.set_xticks([*places[0], len(races) + 1.5], [*races, "all races"], rotation=90)
    ax.set_yticks([*places[1], len(origins) + 1.5], [*origins, "all origins"])
    _bar(figure, [ax])
    return figure


@drawn
def all_people(tables: Mapping[str, Array]) -> Figure:
    """Draw tables of race by origin as small multiples, without labels of their cells.

    Parameters
    ----------
    tables
        Counts of shape (races, origins), by name.
    """
    return _multiples({name: table.T for name, table in tables.items()}, 3, 2.6, 13)


@drawn
def empty_cells(about: pd.DataFrame) -> Figure:
    """Draw the share of empty cells of each table, as bars in order of size.

    Parameters
    ----------
    about
        Rows with ``dataset``, ``records`` and ``share``, already in order.
    """
    figure, (ax,) = panels(height=0.27 * len(about) + 1.1)
    place = np.arange(len(about))
    real = about["family"].eq("pums").to_numpy()
    share = 100 * about["share"].to_numpy()
    ax.barh(place[real], share[real], color=COLOURS["blue"], height=0.72)
    ax.barh(
        place[~real],
        share[~real],
        color=COLOURS["orange"],
        hatch="////",
        edgecolor="white",
        height=0.72,
    )
    for y, (value, records) in enumerate(zip(share, about["records"], strict=True)):
        inside = value >= 60
        note(
            ax,
            f"{value:.0f} %, {records:,} records",
            (0 if inside else value, y),
            (4, 0),
            va="center",
            ha="left",
            fontsize=11,
            color="white" if inside and real[y] else "black",
            bbox={"fc": "white", "ec": "none", "pad": 1} if inside and not real[y] else None,
        )
    ax.set_yticks(place, list(about["dataset"]), fontsize=11)
    ax.invert_yaxis()
    ax.set_xlim(0, 100)
    ax.set_xlabel("empty cells, % (hatched: synthetic)")
    ax.grid(axis="y", visible=False)
    return figure


@drawn
def largest_noise(
    curves: Sequence[tuple[str, Array, Array]], sizes: Sequence[float], highlight: float
) -> Figure:
    """Draw the distribution of the largest of many noises, with the sizes of synthetic cells.

    Parameters
    ----------
    curves
        For each noise its label, sizes in records and the percentile at which they lie.
    sizes
        Cell sizes to mark, in records.
    highlight
        The percentile that the paper names.
    """
    figure, (ax,) = panels(height=4.3)
    dashes = ("-", "--", "-.", ":")
    names = ("blue", "orange", "green", "pink", "black", "red", "sky")
    for k, (label, x, y) in enumerate(curves):
        style = dashes[k % len(dashes)]
        ax.plot(x, y, linestyle=style, color=COLOURS[names[k % len(names)]], label=label)
    for size in sizes:
        ax.axvline(size, color=COLOURS["grey"], linewidth=1)
        note(ax, f"{size:g}", (size, 100), (0, 3), ha="center", fontsize=11)
    ax.axhline(highlight, color=COLOURS["grey"], linewidth=1, linestyle=":")
    ax.set_xscale("log")
    ax.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
    ax.set_ylim(0, 100)
    ax.set_xlim(min(sizes) * 0.8, max(float(x.max()) for _, x, _ in curves))
    ax.set_xlabel("records (log scale; lines: sizes of the synthetic cells)")
    ax.set_ylabel("percentile of the largest noise")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
