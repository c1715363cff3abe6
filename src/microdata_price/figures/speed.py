"""Figures of how long fits take."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..page.style import COLOURS, METHODS, drawn, panels
from .marks import note


def solver_bar(ax: Axes, place: float, time: float, method: str, solver: str) -> None:
    """Draw a solver's time as a bar with its number; ours has the method's colour."""
    own = solver == "ours"
    ax.barh(
        place,
        time,
        color=METHODS[method].colour if own else COLOURS["light"],
        edgecolor=COLOURS["black"] if own else COLOURS["grey"],
        hatch="//" if own else None,
    )
    note(ax, f"{time:.2g}", (time, place), (4, 0), va="center")


def end_bars(ax: Axes, places: Sequence[float], names: Sequence[str], most: float) -> None:
    """Name the bars, the first at the top, on a logarithmic axis of times up to the most."""
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlim(right=most)
    ax.grid(axis="y", visible=False)


@drawn
def per_fit(frame: pd.DataFrame) -> Figure:
    """Draw milliseconds a fit: ours and other solvers', one row each, log scale.

    `frame`: columns method, solver, milliseconds.
    """
    figure, (ax,) = panels(height=0.42 * len(frame) + 1.1)
    names = []
    rows = zip(frame["method"], frame["solver"], frame["milliseconds"].to_numpy(), strict=True)
    for place, (method, solver, milliseconds) in enumerate(rows):
        solver_bar(ax, place, float(milliseconds), str(method), str(solver))
        names.append(f"{METHODS[str(method)].label}: {solver}")
    end_bars(ax, range(len(names)), names, 3 * float(frame["milliseconds"].max()))
    ax.set_xlabel("milliseconds a fit, one core (log scale)")
    return figure


@drawn
def scaling(frame: pd.DataFrame) -> Figure:
    """Draw seconds a fit against the length of a list, with sorting beside it, log-log.

    `frame`: columns cells, method, seconds, sort_seconds.
    """
    figure, (ax,) = panels(height=4.2)
    for method, part in frame.groupby("method", sort=False):
        style = METHODS[str(method)]
        ax.plot(
            part["cells"],
            part["seconds"],
            color=style.colour,
            linestyle=style.dash,
            marker=style.marker,
            label=style.label,
        )
    sort = frame.drop_duplicates("cells")
    ax.plot(sort["cells"], sort["sort_seconds"], color=COLOURS["grey"], label="sorting alone")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("cells of the list (log scale)")
    ax.set_ylabel("seconds, one core (log scale)")
    ax.legend(loc="best")
    return figure
