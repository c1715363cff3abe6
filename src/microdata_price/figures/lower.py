"""Figures of the lower bounds: curves, slopes, ceilings, information."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import NDArray

from ..page.style import COLOURS, drawn, panels
from ..theory.proofs.fano_walk import InformationCurve
from .labels import Name, along, name_ends, name_line, place_names
from .marks import note
from .plane import log_x

Array = NDArray[np.float64]

SERIES = (
    ("blue", "o", "-"),
    ("orange", "s", (0, (5, 1.5))),
    ("green", "^", (0, (5, 1.5, 1, 1.5))),
    ("pink", "D", (0, (1, 1))),
    ("black", "v", (0, (3, 1, 1, 1, 1, 1))),
)
"""Colour, marker and dash of the first, second, ... line of a figure."""


@drawn
def point_curves(
    sum_errors: Array,
    curves: Sequence[tuple[str, Array]],
    points: Sequence[tuple[str, float, float]],
    signed: tuple[float, float],
) -> Figure:
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
        ax.fill_between(sum_errors, curve, color=COLOURS[colour], alpha=0.06, lw=0)
        shown = np.where(curve > 0, curve, np.nan)
        # Where other curves leave no room beside it, its mechanism's point is named instead.
        beside = along(sum_errors, shown, 0.05)
        names.append(Name(name, COLOURS[colour], beside + [p[1:] for p in points[i : i + 1]]))
    ax.plot(*signed, marker="*", ms=15, ls="none", color=COLOURS["red"], mec="white", zorder=5)
    for (name, x, y), (colour, marker, _) in zip(points, SERIES, strict=False):
        if sum_errors[0] <= x <= sum_errors[-1]:
            ax.plot(x, y, marker=marker, ls="none", color=COLOURS[colour], mec="white", ms=9)
            names.append(Name(name, COLOURS[colour], [(x, y)] if name else []))
    ax.set_ylim(0, 1.14 * top)
    ax.set_xlabel("root error of the sum $D$, in records")
    ax.set_ylabel("root error of a cell $C$, in records")
    place_names(ax, names)
    return figure


@drawn
def slopes(
    ds: Array,
    left: Sequence[tuple[str, Array]],
    right: Sequence[tuple[str, Array]],
    labels: tuple[str, str],
    reference: tuple[str, Array] | None = None,
    right_names: bool = True,
) -> Figure:
    """Draw how lower bounds grow with d: scaled C left, scaled D on log-log axes right.

    Parameters are the numbers of cells, named curves for either panel, the axes' labels, and a
    named reference line for the right panel, and whether the right panel repeats the names.
    """
    figure, axes = panels(2, height=3.9)
    for ax, curves in zip(axes, (left, right), strict=True):
        log_x(ax, float(ds[0]), float(ds[-1]), ticks=3)
        for (_, curve), (colour, _, dash) in zip(curves, SERIES, strict=False):
            ax.plot(ds, np.where(curve > 0, curve, np.nan), color=COLOURS[colour], ls=dash)
        ax.set_xlabel("cells $d$")
    axes[0].set_ylim(0, 1.1 * max([float(c.max()) for _, c in left] + [1e-9]))
    axes[1].set_yscale("log")
    axes[1].yaxis.set_major_locator(LogLocator(numticks=7))
    axes[1].yaxis.set_minor_locator(NullLocator())
    if reference is not None:
        axes[1].plot(ds, reference[1], color=COLOURS["grey"], lw=1)
        top = max([float(c.max()) for _, c in right] + [1e-300])
        inside = np.where(reference[1] < top, reference[1], np.nan)
        name_line(axes[1], ds, inside, reference[0], COLOURS["grey"], at=0.95, shift=(-6, 0))
    seen = [c[c > 0] for _, c in right if (c > 0).any()]
    if seen:
        axes[1].set_ylim(
            0.5 * min(float(c.min()) for c in seen), 3 * max(float(c.max()) for c in seen)
        )
    for ax, curves, label in zip(axes, (left, right), labels, strict=True):
        ax.set_ylabel(label)
        ends = []
        for (name, curve), (colour, _, _) in zip(curves, SERIES, strict=False):
            if (curve > 0).any():
                ends.append((float(ds[-1]), float(curve[-1]), name, COLOURS[colour]))
        if right_names or ax is axes[0]:
            name_ends(ax, [(x, max(y, 1e-300), n, c) for x, y, n, c in ends], gap=0.085, size=11)
    return figure


@drawn
def noise_tails(counts: Array, pure: Array, truncated: Array, blind: float, bound: int) -> Figure:
    """Draw how likely an empty cell shows at least so many records, with and without truncation.

    Parameters are the counts, the two probabilities, the level delta/epsilon below which group
    privacy says nothing, and the truncated noise's bound in records.
    """
    figure, (ax,) = panels(1, height=3.7)
    shown = truncated > 0
    ax.step(counts, pure, where="post", color=COLOURS["black"], ls=(0, (1, 1)))
    ax.step(counts[shown], truncated[shown], where="post", color=COLOURS["blue"])
    ax.axhline(blind, color=COLOURS["red"], ls=(0, (4, 2)))
    ax.axvline(bound, color=COLOURS["blue"], lw=1)
    ax.set_yscale("log")
    ax.set_xlim(float(counts[0]), float(counts[-1]))
    low = min(blind, float(pure[pure > 0].min())) / 5
    ax.set_ylim(low, max(2.0, 5 * blind))
    ax.set_xlabel("at least so many records")
    ax.set_ylabel("chance, at an empty cell")
    note(
        ax,
        "bound $B$",
        (bound, 1),
        (-5, -10),
        xycoords=("data", "axes fraction"),
        ha="right",
        color=COLOURS["blue"],
    )
    flat = np.full(counts.shape, blind)
    cut = np.where(shown | (pure <= low), np.nan, pure)
    place_names(
        ax,
        [
            Name(r"$\delta/\epsilon$", COLOURS["red"], along(counts, flat, 0.05)),
            Name("not truncated", COLOURS["black"], along(counts, cut, 0.7)),
        ],
    )
    return figure


@drawn
def ceilings(ds: Array, curves: Sequence[tuple[str, Array, float]], ylabel: str) -> Figure:
    """Draw bounds on C against d with the ceiling that each tends to, in records.

    Parameters are the numbers of cells, each curve's name, values and ceiling (infinite for none),
    and the vertical axis's label.
    """
    figure, (ax,) = panels(1, height=4.0)
    log_x(ax, float(ds[0]), float(ds[-1]))
    ends = []
    for (name, curve, ceiling), (colour, _, dash) in zip(curves, SERIES, strict=False):
        ax.plot(ds, curve, color=COLOURS[colour], ls=dash)
        if np.isfinite(ceiling):
            ax.axhline(ceiling, color=COLOURS[colour], lw=0.8)
        ends.append((float(ds[-1]), float(curve[-1]), name, COLOURS[colour]))
    ax.set_ylim(0, 1.12 * max([float(c.max()) for _, c, _ in curves] + [1e-9]))
    ax.set_xlabel("cells $d$")
    ax.set_ylabel(ylabel)
    name_ends(ax, ends, gap=0.075)
    return figure


@drawn
def information(curve: InformationCurve, rho: float, d: int) -> Figure:
    """Draw what an output tells about the place of m records, in nats, under its bounds."""
    figure, (ax,) = panels(1, height=4.1)
    full = float(np.log(d - 1)) if d > 2 else 0.0
    x = np.linspace(0, float(curve.m[-1]), 200)
    top = 1.3 * max(full, float(curve.information.max()), 1.0)
    names = [
        Name(
            r"$\ln(d-1)$: place known", COLOURS["green"],
            along(x, np.full(x.shape, full), 0.9),
        ),
        Name("information", COLOURS["blue"], along(curve.m, curve.information, 0.75)),
    ]  # fmt: skip
    for factor, colour, dash, text in (
        (4, "black", (0, (1, 1)), r"$\rho(2m)^2$"),
        (1, "orange", (0, (5, 1.5)), r"$\rho m^2$"),
    ):
        y = factor * rho * x**2
        ax.plot(x, y, color=COLOURS[colour], ls=dash)
        inside = np.where(y < 0.97 * top, y, np.nan)
        names.append(Name(text, COLOURS[colour], along(x, inside, 1.0)))
    ax.axhline(full, color=COLOURS["green"], ls=(0, (5, 1.5, 1, 1.5)))
    ax.errorbar(
        curve.m,
        curve.information,
        yerr=2 * curve.error,
        color=COLOURS["blue"],
        marker="o",
        ls="-",
        lw=1,
    )
    ax.set_xlim(0, float(curve.m[-1]) * 1.02)
    ax.set_ylim(0, top)
    ax.set_xlabel("records moved, $m$")
    ax.set_ylabel("nats")
    place_names(ax, names)
    return figure
