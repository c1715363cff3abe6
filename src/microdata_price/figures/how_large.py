"""Figures of the exact constants: the gap at d cells, the leading constant, two noises."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from .chart import chart
from .labels import Name, along, name_ends, place_names
from .marks import closed
from .style import COLOURS, drawn


@drawn
def gap(sizes, curves, marks):
    """Draw the least C against d: below a curve nothing, and two mechanisms' guarantees."""
    lower, kept, uneven = curves
    figure, ax = chart(
        4.2,
        x="cells $d$",
        y="$C$, in signed errors",
        log="x",
        xlim=sizes,
        ylim=(0, 1.05 * float(np.max(curves))),
    )
    closed(ax, sizes, 0, lower)
    ax.fill_between(sizes, lower, uneven, color=COLOURS["orange"], alpha=0.2, lw=0)
    ax.plot(sizes, kept, color=COLOURS["red"], ls="--")
    ax.plot(sizes, uneven, color=COLOURS["black"])
    ax.plot(sizes, lower, color=COLOURS["blue"], lw=2.2)
    ax.plot(*marks, "o", color=COLOURS["blue"], ms=6)
    ends = zip(
        (kept, uneven, lower),
        ("keep the sum", "asymmetric\nnoise", "no mechanism"),
        ("red", "black", "blue"),
        strict=True,
    )
    name_ends(ax, [(sizes[-1], y[-1], name, COLOURS[c]) for y, name, c in ends], gap=0.11)
    return figure


@drawn
def constants(lambdas, curves, wall, marked):
    """Draw the leading constant against lambda, the wall on its left, and what noise reaches."""
    figure, ax = chart(
        4.2,
        x=r"$\lambda = (\epsilon D)^2$, the sum's squared error over $1/\epsilon^2$",
        y=r"$\epsilon\,C / \ln d$, for $d \to \infty$",
        log="x",
        xlim=(0.85 * wall, lambdas[-1]),
        ylim=(0, 4),
    )
    exact, noise, split = curves
    closed(ax, lambdas, 0, np.minimum(exact, 4))
    ax.axvspan(0.85 * wall, wall, facecolor="none", edgecolor=COLOURS["sky"], hatch="///", lw=0)
    ax.axvspan(0.85 * wall, wall, color=COLOURS["blue"], alpha=0.12, lw=0)
    ax.axvline(wall, color=COLOURS["blue"], lw=1.2)
    ax.axvline(marked, color=COLOURS["grey"], lw=1, ls=":")
    looks = (
        ("the constant", exact, "blue", "-", 0.75),
        ("asymmetric noise", noise, "black", "--", 0.45),
        ("split budget", split, "red", (0, (6, 1.5)), 0.5),
    )
    names = []
    for name, y, colour, dash, at in looks:
        width = 2.6 if name == "the constant" else 1.5
        seen = np.where(y < 4.5, y, np.nan)
        ax.plot(lambdas, seen, color=COLOURS[colour], ls=dash, lw=width)
        seen = np.where(y < 3.8, y, np.nan)
        names.append(Name(name, COLOURS[colour], along(lambdas, seen, at)))
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    ax.text(9, 0.45, "no mechanism", color=COLOURS["blue"], bbox=white)
    ax.text(wall * 1.02, 0.12, r"$\lambda_0$", color=COLOURS["blue"], bbox=white)
    ax.text(marked * 1.04, 3.7, "signed answers'", color=COLOURS["grey"], fontsize=11)
    places = [t for t in (1, 2, 3, 5, 8, 20, 50) if 0.85 * wall <= t <= lambdas[-1]]
    ax.xaxis.set_major_locator(FixedLocator(places))
    ax.xaxis.set_major_formatter(FixedFormatter([str(t) for t in places]))
    ax.xaxis.set_minor_locator(NullLocator())
    place_names(ax, names)
    return figure


@drawn
def noises(x, cell, total, gaussian):
    """Draw the slopes of minus the log densities of two noises beside a Gaussian's."""
    figure, ax = chart(
        3.8, x="noise, in records", y="slope of $-\\ln$ density", xlim=x, ylim=(0, 9)
    )
    ends = []
    for y, name, colour, dash in (
        (cell, "cells: core\nand flanks", "orange", "-"),
        (total, "sum: exponential\ntails", "blue", "--"),
        (gaussian, "Gaussian of\nthe whole budget", "grey", ":"),
    ):
        ax.plot(x, y, color=COLOURS[colour], ls=dash)
        ends.append((x[-1], y[-1], name, COLOURS[colour]))
    name_ends(ax, ends, gap=0.14)
    return figure


@drawn
def budget(orders, curves):
    """Draw the share of the budget that pairs of noises use against the Renyi order."""
    figure, ax = chart(
        3.6, x="Rényi order", y="share of the budget used", log="x", xlim=orders, ylim=(0, 1.1)
    )
    ax.axhline(1, color=COLOURS["red"], ls="--", lw=1.4)
    ends = []
    for (name, y), colour, dash in zip(
        curves, ("orange", "blue", "black"), ("-", "--", ":"), strict=True
    ):
        ax.plot(orders, y, color=COLOURS[colour], ls=dash)
        ends.append((orders[-1], y[-1], name, COLOURS[colour]))
    name_ends(ax, ends, gap=0.12)
    return figure
