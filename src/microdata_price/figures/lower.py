"""Figures of the lower bounds: regions, curves, ceilings, information."""

from __future__ import annotations

import numpy as np

from .chart import chart
from .labels import Name, along, name_ends, place_names
from .plane import log_x
from .style import COLOURS, drawn, panels

SERIES = (
    ("blue", "o", "-"),
    ("orange", "s", (0, (5, 1.5))),
    ("green", "^", (0, (5, 1.5, 1, 1.5))),
    ("pink", "D", (0, (1, 1))),
    ("black", "v", (0, (3, 1, 1, 1, 1, 1))),
)
"""Colour, marker and dash of the first, second, ... line of a figure."""

_D, _C = "root error of the sum $D$, in records", "root error of a cell $C$, in records"


def _hatch(ax, x, y):
    """Hatch below a curve, where no nonnegative mechanism can be."""
    ax.fill_between(x, y, facecolor="none", edgecolor=COLOURS["light"], hatch="///", lw=0, zorder=0)


@drawn
def region(sum_errors, bound, signed, others):
    """Hatch where one lower bound on C allows no nonnegative mechanism, in records.

    `signed` is the error of signed answers in both coordinates; `others` are name, D and C.
    """
    figure, (ax,) = panels(1, height=4.4)
    log_x(ax, float(sum_errors[0]), float(sum_errors[-1]))
    ax.plot(sum_errors, np.where(bound > 0, bound, np.nan), color=COLOURS["blue"])
    _hatch(ax, sum_errors, bound)
    top = 1.15 * max(float(bound.max()), signed, *(C for _, _, C in others))
    ax.set(xlabel=_D, ylabel=_C, ylim=(0, top))
    ax.plot(
        signed, signed, marker="*", ms=15, ls="none", color=COLOURS["red"], mec="white", zorder=5
    )
    names = [Name("signed answers", COLOURS["red"], [(signed, signed)])]
    for (name, D, C), (_, marker, _) in zip(others, SERIES[1:], strict=False):
        ax.plot(D, C, marker=marker, ms=9, ls="none", color=COLOURS["black"], mec="white", zorder=5)
        names.append(Name(name, COLOURS["black"], [(D, C)]))
    if bound[0] > 0:
        inside = [(float(sum_errors[8]), float(bound[8]) * share) for share in (0.25, 0.4, 0.1)]
        names.append(Name("no mechanism", COLOURS["blue"], inside))
    place_names(ax, names)
    return figure


@drawn
def point_curves(sum_errors, curves, points, signed):
    """Draw lower bounds on C against D, in records, with mechanisms as points.

    Parameters are the D of all curves, each curve's name and values, each mechanism's name, D and
    C, and the D and C of signed answers. Below its curve no nonnegative mechanism can be.
    """
    figure, (ax,) = panels(1, height=4.8)
    log_x(ax, float(sum_errors[0]), float(sum_errors[-1]))
    top = max([float(c.max()) for _, c in curves] + [signed[1]] + [p[2] for p in points])
    names = [Name("signed\nanswers", COLOURS["red"], [signed])]
    for i, ((name, curve), (colour, _, dash)) in enumerate(zip(curves, SERIES, strict=False)):
        ax.plot(sum_errors, curve, color=COLOURS[colour], ls=dash)
        _hatch(ax, sum_errors, curve)
        shown = np.where(curve > 0, curve, np.nan)
        # Where other curves leave no room beside it, its mechanism's point is named instead.
        beside = along(sum_errors, shown, 0.05)
        names.append(Name(name, COLOURS[colour], beside + [p[1:] for p in points[i : i + 1]]))
    ax.plot(*signed, marker="*", ms=15, ls="none", color=COLOURS["red"], mec="white", zorder=5)
    for (name, x, y), (colour, marker, _) in zip(points, SERIES, strict=False):
        if sum_errors[0] <= x <= sum_errors[-1]:
            ax.plot(x, y, marker=marker, ls="none", color=COLOURS[colour], mec="white", ms=9)
            names.append(Name(name, COLOURS[colour], [(x, y)] if name else []))
    ax.set(xlabel=_D, ylabel=_C, ylim=(0, 1.14 * top))
    place_names(ax, names)
    return figure


@drawn
def ceilings(ds, curves, ylabel, hatched=1):
    """Draw bounds on C against d, in records: name, values and ceiling (or infinity) of each."""
    figure, (ax,) = panels(1, height=4.0)
    log_x(ax, float(ds[0]), float(ds[-1]))
    ends = []
    for (name, curve, ceiling), (colour, _, dash) in zip(curves, SERIES, strict=False):
        ax.plot(ds, curve, color=COLOURS[colour], ls=dash)
        if np.isfinite(ceiling):
            ax.axhline(ceiling, color=COLOURS[colour], lw=0.8)
        ends.append((float(ds[-1]), float(curve[-1]), name, COLOURS[colour]))
    _hatch(ax, ds, curves[hatched][1])
    ax.set_ylim(0, 1.12 * max([float(c.max()) for _, c, _ in curves] + [1e-9]))
    ax.set(xlabel="cells $d$", ylabel=ylabel)
    name_ends(ax, ends)
    return figure


@drawn
def information(curve, rho, d):
    """Draw what an output tells about the place of m records, in nats, under its bounds."""
    figure, ax = chart(4.1, x="records moved, $m$", y="nats")
    full = float(np.log(d - 1)) if d > 2 else 0.0
    x = np.linspace(0, float(curve.m[-1]), 200)
    top = 1.3 * max(full, float(curve.information.max()), 1.0)
    flat = along(x, np.full(x.shape, full), 0.9)
    names = [
        Name(r"$\ln(d-1)$: place known", COLOURS["green"], flat),
        Name("information", COLOURS["blue"], along(curve.m, curve.information, 0.75)),
    ]
    for factor, colour, dash, text in (
        (4, "black", (0, (1, 1)), r"$\rho(2m)^2$"),
        (1, "orange", (0, (5, 1.5)), r"$\rho m^2$"),
    ):
        y = factor * rho * x**2
        ax.plot(x, y, color=COLOURS[colour], ls=dash)
        inside = np.where(y < 0.97 * top, y, np.nan)
        names.append(Name(text, COLOURS[colour], along(x, inside, 1.0)))
    ax.axhline(full, color=COLOURS["green"], ls=(0, (5, 1.5, 1, 1.5)))
    style = {"color": COLOURS["blue"], "marker": "o", "lw": 1}
    ax.errorbar(curve.m, curve.information, yerr=2 * curve.error, **style)
    ax.set(xlim=(0, float(curve.m[-1]) * 1.02), ylim=(0, top))
    place_names(ax, names)
    return figure
