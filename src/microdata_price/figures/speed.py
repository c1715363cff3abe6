"""Figures of how long fits take."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ..page.style import COLOURS, METHODS, drawn, panels


@drawn
def per_fit(frame: pd.DataFrame) -> Figure:
    """Draw milliseconds a fit: ours and other solvers', one row each, log scale.

    Parameters
    ----------
    frame
        Columns method, solver, milliseconds.
    """
    figure, (ax,) = panels(height=0.42 * len(frame) + 1.1)
    names = []
    rows = zip(frame["method"], frame["solver"], frame["milliseconds"].to_numpy(), strict=True)
    for place, (method, solver, milliseconds) in enumerate(rows):
        own = solver == "ours"
        style = METHODS[str(method)]
        ax.barh(
            place,
            float(milliseconds),
            color=style.colour if own else COLOURS["light"],
            edgecolor=COLOURS["black"] if own else COLOURS["grey"],
            hatch="//" if own else None,
        )
        ax.annotate(
            f"{milliseconds:.2g}",
            (float(milliseconds), place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
        )
        names.append(f"{style.label}: {solver}")
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlim(right=3 * float(frame["milliseconds"].max()))
    ax.set_xlabel("milliseconds a fit, one core (log scale)")
    ax.grid(axis="y", visible=False)
    return figure


@drawn
def scaling(frame: pd.DataFrame) -> Figure:
    """Draw seconds a fit against the length of a list, with sorting beside it, log-log.

    Parameters
    ----------
    frame
        Columns cells, method, seconds, sort_seconds.
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
