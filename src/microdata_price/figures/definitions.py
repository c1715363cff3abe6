"""Figures of the definitions: output distributions, divergences, conversions, Equation 1."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from ..page.style import COLOURS, drawn, panels
from ..studies.definitions import SHOWN
from ..theory.laws.outputs import ErrorProfile
from ..theory.laws.pairs import Conversions, OrderCurves, OutputPair
from .labels import Name, along, name_ends, place_names
from .marks import note

Array = NDArray[np.float64]


@drawn
def losses(left: OutputPair, right: OutputPair, titles: tuple[str, str], bound: float) -> Figure:
    """Draw two pairs of output densities with their privacy losses below.

    Parameters are the pair under pure DP and the one under zCDP, their titles, and epsilon in nats.
    """
    figure, axes = panels(2, 2, height=4.9, sharex="col", height_ratios=(1.15, 1))
    for ax, below, pair, title in zip(axes[:2], axes[2:], (left, right), titles, strict=True):
        for y, colour, dash in ((pair.first, "blue", "-"), (pair.second, "red", (0, (4, 2)))):
            ax.plot(pair.x, y, color=COLOURS[colour], ls=dash)
            ax.fill_between(pair.x, y, color=COLOURS[colour], alpha=0.12, lw=0)
        ax.set_title(title)
        ax.set_ylim(0, 1.2 * max(pair.first.max(), pair.second.max()))
        ax.set_yticks([])
        below.plot(pair.x, pair.loss, color=COLOURS["black"])
        below.axhline(0, color=COLOURS["grey"], lw=0.8)
        below.set_xlabel("noisy count")
    for text, side, colour in (("true count", 0.01, "blue"), ("one more", 0.99, "red")):
        axes[0].annotate(
            text,
            (side, 0.98),
            xycoords="axes fraction",
            ha="left" if side < 0.5 else "right",
            va="top",
            color=COLOURS[colour],
        )
    axes[0].set_ylabel("density")
    axes[2].set_ylabel("privacy loss, nats")
    for sign in (1, -1):
        axes[2].axhline(sign * bound, color=COLOURS["green"], ls=(0, (5, 2)))
        note(
            axes[2],
            f"${'+' if sign > 0 else '-'}\\epsilon$",
            (1, sign * bound),
            (-4, -9 * sign),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="center",
            color=COLOURS["green"],
        )
    axes[2].set_ylim(-1.25 * bound, 1.25 * bound)
    return figure


@drawn
def orders(curves: OrderCurves) -> Figure:
    """Draw Renyi divergences in nats against their order, under the bounds of pure DP."""
    figure, (ax,) = panels(1, height=3.9)
    x, top = curves.orders, curves.epsilon
    ax.axhline(top, color=COLOURS["green"], ls=(0, (5, 2)))
    ax.plot(x, curves.line, color=COLOURS["black"], ls=(0, (1, 1)))
    ax.plot(x, curves.worst, color=COLOURS["red"])
    ax.plot(x, curves.laplace, color=COLOURS["blue"], ls=(0, (5, 1.5, 1, 1.5)))
    ax.set_ylim(0, 1.3 * top)
    ax.set_xlim(1, x[-1])
    ax.set_xlabel(r"order $\alpha$")
    ax.set_ylabel(r"divergence $D_\alpha$, nats")
    inside = np.where(curves.line <= 1.22 * top, curves.line, np.nan)
    flat = np.full(x.shape, top)
    names = (
        (r"$\epsilon$, the largest loss", "green", along(x, flat, 0.9)),
        (r"$\alpha\epsilon^2/2$", "black", along(x, inside, 1.0)),
        ("randomised response", "red", along(x, curves.worst, 0.8)),
        ("Laplace", "blue", along(x, curves.laplace, 0.5)),
    )
    place_names(ax, [Name(text, COLOURS[colour], at) for text, colour, at in names])
    return figure


@drawn
def converted(curves: Conversions, delta: float) -> Figure:
    """Draw the epsilons that go with each delta under zCDP, and mark one delta."""
    figure, (ax,) = panels(1, height=3.9)
    lines = (
        (curves.simple, "simple", "black", (0, (1, 1))),
        (curves.best, "sharper", "orange", (0, (5, 1.5))),
        (curves.exact, "Gaussian,\nexact", "blue", "-"),
    )
    for y, _, colour, dash in lines:
        ax.plot(curves.deltas, y, color=COLOURS[colour], ls=dash)
    ax.axvline(delta, color=COLOURS["grey"], lw=1)
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.xaxis.set_major_locator(LogLocator(numticks=6))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(0)
    ax.set_xlim(curves.deltas.max(), curves.deltas.min())
    note(
        ax,
        r"$\delta$",
        (delta, 1),
        (4, -4),
        xycoords=("data", "axes fraction"),
        va="top",
        color=COLOURS["grey"],
    )
    ax.set_xlabel(r"$\delta$ (smaller to the right)")
    ax.set_ylabel(r"$\epsilon$")
    last = curves.deltas.argmin()
    name_ends(
        ax,
        [(curves.deltas[last], y[last], text, COLOURS[colour]) for y, text, colour, _ in lines],
        gap=0.1,
    )
    return figure


@drawn
def profiles(spread: ErrorProfile, one_bad: Array, exact: tuple[float, float]) -> Figure:
    """Draw the squared error of every query for two error profiles, in squared counts.

    Parameters are the sampled profile with equal errors, the other profile's errors, and the exact
    per-query and simultaneous error of the first. Of very many queries the first are drawn.
    """
    figure, axes = panels(2, height=3.5, sharey=True)
    per_query, simultaneous = exact
    query = np.arange(1, min(spread.per_query.size, SHOWN) + 1)
    bars = ((spread.per_query, "blue", "noise everywhere"), (one_bad, "red", "one query bad"))
    for ax, (values, colour, title) in zip(axes, bars, strict=True):
        ax.vlines(
            query, 0, values[: query.size], color=COLOURS[colour], lw=max(0.6, 110 / query.size)
        )
        ax.axhline(simultaneous, color=COLOURS["black"], ls=(0, (5, 2)))
        ax.set_title(title)
        ax.set_xlabel("query")
        ax.set_ylim(0, 1.22 * simultaneous)
        ax.set_xlim(0.25, query.size + 0.75)
        note(
            ax,
            "simultaneous error",
            (0.98, simultaneous),
            (0, 4),
            xycoords=("axes fraction", "data"),
            ha="right",
        )
    axes[0].axhline(per_query, color=COLOURS["orange"], ls=(0, (1, 1)))
    axes[0].set_ylabel("expected squared error")
    return figure
