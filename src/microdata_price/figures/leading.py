"""Figures of the leading constant: limits, noise of two rates, frozen counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator
from numpy.typing import NDArray

from ..page.style import COLOURS, drawn, panels
from .labels import Name, along, name_ends, name_line, place_names
from .marks import note

Array = NDArray[np.float64]

_DASHES = ("-", (0, (6, 1.5)), "--", (0, (1, 1)))


@drawn
def limits(lambdas: Array, curves: Sequence[tuple[str, Array]], marked: float) -> Figure:
    """Draw the leading constant against lambda: what is reached, what is impossible, what is open.

    Parameters are the lambdas, each mechanism's name and limit from the best on, and the lambda
    that is marked.
    """
    figure, (ax,) = panels(1, height=4.2)
    ax.set_xscale("log")
    ax.set_xlim(float(lambdas[0]), float(lambdas[-1]))
    ax.set_ylim(0, 4)
    ax.fill_between(lambdas, 0, 1, color=COLOURS["blue"], alpha=0.12, lw=0)
    ax.fill_between(lambdas, 0, 1, facecolor="none", edgecolor=COLOURS["sky"], hatch="///", lw=0)
    best = curves[0][1]
    ax.fill_between(lambdas, 1, best, color=COLOURS["orange"], alpha=0.25, lw=0)
    ax.plot(lambdas, np.ones(lambdas.shape), color=COLOURS["blue"], lw=2.6)
    for (_, y), colour, dash in zip(curves, ("black", "pink", "red"), _DASHES, strict=False):
        ax.plot(lambdas, y, color=COLOURS[colour], ls=dash)
    ax.axvline(marked, color=COLOURS["grey"], lw=1, ls=":")
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    ax.text(9, 0.45, "no mechanism", color=COLOURS["blue"], bbox=white)
    ax.text(2.6, 1.12, "open", color=COLOURS["black"])
    ax.text(marked * 1.03, 3.75, "signed answers'", color=COLOURS["grey"], fontsize=11)
    looks = zip(curves, ("black", "pink", "red"), (0.8, 0.22, 0.4), strict=True)
    names = [
        Name(name, COLOURS[colour], along(lambdas, np.where(y < 3.8, y, np.nan), at))
        for (name, y), colour, at in looks
    ]
    places = [t for t in (2, 3, 5, 8, 20, 50) if lambdas[0] <= t <= lambdas[-1]]
    ax.xaxis.set_major_locator(FixedLocator(places))
    ax.xaxis.set_major_formatter(FixedFormatter([str(t) for t in places]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel(r"$\lambda = (\epsilon D)^2$, the sum's squared error over $1/\epsilon^2$")
    ax.set_ylabel(r"$\epsilon\,C / \ln d$, for $d \to \infty$")
    place_names(ax, names)
    return figure


@drawn
def sides(split: tuple[float, float], uneven: tuple[float, float, float, float]) -> Figure:
    """Draw what one record costs, by the sides on which the cell's and the sum's noise lie.

    Parameters are shares of epsilon: the cell's and the sum's rate of a split budget; and with
    noise of two rates the cell's right and left, the sum's right and left.
    """
    figure, axes = panels(2, height=3.2, sharey=True)
    up, down, star_up, star_down = uneven
    kinds = (
        ("one rate each", split[0], split[0], split[1], split[1]),
        ("two rates each", up, down, star_up, star_down),
    )
    names = ["both above", "both below", "cell above,\nsum below", "cell below,\nsum above"]
    for ax, (title, r, s, sr, ss) in zip(axes, kinds, strict=True):
        cells, sums = np.array([r, -s, r, -s]), np.array([sr, -ss, -ss, sr])
        y = np.arange(4)[::-1]
        ax.barh(y + 0.2, cells, 0.36, color=COLOURS["orange"], label="cell")
        ax.barh(y - 0.2, sums, 0.36, color=COLOURS["sky"], hatch="//", edgecolor="white")
        ax.plot(cells + sums, y, "D", color=COLOURS["black"], ms=7, clip_on=False)
        for edge in (-1, 1):
            ax.axvline(edge, color=COLOURS["red"], lw=1.4, ls="--")
        ax.axvline(0, color=COLOURS["black"], lw=0.8)
        ax.set_xlim(-1.12, 1.12)
        ax.set_title(title)
        ax.set_xlabel(r"change, in $\epsilon$")
        ax.set_yticks(y, names)
        ax.grid(visible=False, axis="y")
    axes[0].text(0.06, 2.12, "cell", color=COLOURS["orange"], fontsize=11)
    axes[0].text(0.06, 1.7, "sum", color=COLOURS["blue"], fontsize=11)
    return figure


@drawn
def certified(ds: Array, curves: Sequence[tuple[str, Array]], lower: Array) -> Figure:
    """Draw what is certified at a signed answer's sum against d, in units of 1/epsilon.

    Parameters are the numbers of cells, each mechanism's name and values, and the lower bound.
    """
    figure, (ax,) = panels(1, height=4.0)
    ax.set_xscale("log")
    ax.set_xlim(float(ds[0]), float(ds[-1]))
    ax.fill_between(ds, 0, lower, color=COLOURS["blue"], alpha=0.12, lw=0)
    ax.fill_between(ds, 0, lower, facecolor="none", edgecolor=COLOURS["sky"], hatch="///", lw=0)
    ends = [(float(ds[-1]), float(lower[-1]), "no mechanism", COLOURS["blue"])]
    for (name, y), colour, dash in zip(curves, ("pink", "red", "grey"), _DASHES[1:], strict=True):
        ax.plot(ds, y, color=COLOURS[colour], ls=dash)
        ends.append((float(ds[-1]), float(y[-1]), name, COLOURS[colour]))
    ax.plot(ds, lower, color=COLOURS["blue"], lw=2.6)
    ax.set_ylim(0, 1.05 * max(float(y.max()) for _, y in curves))
    ax.set_xlabel("cells $d$")
    ax.set_ylabel(r"$\epsilon\,C$")
    name_ends(ax, ends, size=11, gap=0.09)
    return figure


@drawn
def reports(counts: Array, chances: Array, frozen: float, threshold: float) -> Figure:
    """Draw the logarithm of the chance of a report against a cell's count, both as shares.

    Parameters are counts over ``ln(d)/e``, logarithms of the chance over ``ln d``, the count below
    which counts are frozen and the threshold, in the same unit.
    """
    figure, (ax,) = panels(1, height=3.4)
    ax.axvspan(0, frozen, color=COLOURS["sky"], alpha=0.2, lw=0)
    ax.plot(counts, chances, color=COLOURS["black"])
    ax.axvline(threshold, color=COLOURS["red"], ls="--", lw=1.4)
    low = float(chances.min())
    ax.text(frozen / 2, 0.1, "frozen: a report says $G$", ha="center", color=COLOURS["blue"])
    ax.text(threshold * 1.01, low * 0.97, "threshold", color=COLOURS["red"], fontsize=11)
    ax.set_xlim(0, float(counts[-1]))
    ax.set_ylim(1.08 * low, 0.25)
    ax.set_xlabel(r"records of the cell, in $\ln(d)/\tau$")
    ax.set_ylabel(r"$\ln$ chance of a report, in $\ln d$")
    return figure


@drawn
def thresholds(kappas: Array, curves: Sequence[tuple[str, Array]], limit: Array) -> Figure:
    """Draw the threshold over its leading term against how many cells hold records.

    Parameters are kappa, each number of cells' name and values, and the limit.
    """
    figure, (ax,) = panels(1, height=3.8)
    looks = zip(("red", "orange", "green"), _DASHES[1:], (0.18, 0.18, 0.5), strict=True)
    for (name, y), (colour, dash, at) in zip(curves, looks, strict=True):
        ax.plot(kappas, y, color=COLOURS[colour], ls=dash)
        name_line(ax, kappas, y, name, COLOURS[colour], at=at, shift=(4, 6), ha="left", size=11)
    ax.plot(kappas, limit, color=COLOURS["black"], lw=2.6)
    name_line(ax, kappas, limit, "limit", COLOURS["black"], at=0.75, shift=(4, 8), ha="left")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.15 * max(float(y.max()) for _, y in curves))
    ax.set_xlabel(r"$\kappa$: $d^\kappa$ cells hold records")
    ax.set_ylabel(r"threshold over $\ln(d)/\tau$")
    return figure


@drawn
def factors(names: Sequence[str], values: Array) -> Figure:
    """Draw how far apart the two sides of each open question are, as a factor."""
    figure, (ax,) = panels(1, height=0.5 + 0.5 * len(names))
    y = np.arange(len(names))[::-1]
    ax.hlines(y, 1, values, color=COLOURS["orange"], lw=9, alpha=0.55)
    ax.plot(np.ones(len(names)), y, "|", color=COLOURS["blue"], ms=16, mew=3)
    ax.plot(values, y, "o", color=COLOURS["red"], ms=8)
    for x, place in zip(values, y, strict=True):
        note(ax, f"{x:.3g}", (x, place), (9, 0), va="center")
    ax.set_yticks(y, names)
    ax.set_xlim(0.9, 1.15 * float(np.max(values)))
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("upper end over lower end")
    return figure
