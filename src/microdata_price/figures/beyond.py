"""The figure of solvers on workloads beyond two-way tables."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ..page.style import drawn, panels
from .speed import end_bars, solver_bar


@drawn
def solvers(frame: pd.DataFrame) -> Figure:
    """Draw seconds a fit, one bar a solver, in groups of one workload each, on a log scale.

    `frame`: columns case, solver, seconds; our own rows have the solver "ours".
    """
    cases = list(dict.fromkeys(frame["case"]))
    figure, (ax,) = panels(height=0.34 * (len(frame) + 1.4 * len(cases)) + 0.9)
    names, places, place = [], [], 0.0
    for case in cases:
        ax.annotate(
            str(case),
            (0, place),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontweight="bold",
        )
        place += 1
        part = frame[frame["case"] == case]
        for solver, seconds in zip(part["solver"], part["seconds"].astype(float), strict=True):
            solver_bar(ax, place, seconds, "nnls", str(solver))
            names.append(str(solver))
            places.append(place)
            place += 1
        place += 0.4
    end_bars(ax, places, names, 4 * float(frame["seconds"].max()))
    ax.set_xlabel("seconds a fit by NNLS, one core (log scale)")
    return figure
