"""Figures of the upper bounds: largest noises, thresholds, clipping, truncated noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..page.style import COLOURS, drawn, panels
from ..studies.two_lemmas import DRAWN
from .marks import note

Array = NDArray[np.float64]

_INKS = ("blue", "orange", "green", "pink", "black", "sky")
_DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2)), (0, (3, 1)))


class Curve(NamedTuple):
    """One labelled line.

    Parameters
    ----------
    label
        What is written beside its end.
    y
        Its values at the common x.
    """

    label: str
    y: Array


def _lines(ax: Axes, x: Array, curves: Sequence[Curve]) -> None:
    """Draw curves told apart by colour and dash, each named near its end."""
    for i, curve in enumerate(curves):
        colour = COLOURS[_INKS[i % len(_INKS)]]
        ax.plot(x, curve.y, color=colour, linestyle=_DASHES[i % len(_DASHES)], label=curve.label)
    ax.legend(loc="best", handlelength=2.6)


@drawn
def largest_noise(d: Array, laplace: Sequence[Curve], gaussian: Sequence[Curve]) -> Figure:
    """Draw the expected largest absolute noise against d, in scales; Laplace left, Gaussian right.

    Parameters
    ----------
    d
        Numbers of draws.
    laplace, gaussian
        Exact values and bounds, in scales and in standard deviations.
    """
    figure, axes = panels(2, height=3.8)
    names = ("Laplace: scales", "Gaussian: std. deviations")
    for ax, curves, name in zip(axes, (laplace, gaussian), names, strict=True):
        _lines(ax, d, curves)
        ax.set_xscale("log")
        ax.set_title(name)
        ax.set_xlabel("number of draws d")
        ax.set_ylim(bottom=0)
    return figure


@drawn
def split_point(gamma: Array, bound: Array, exact: float, best: float) -> Figure:
    """Draw Lemma 1's bound before its split point is chosen.

    Parameters
    ----------
    gamma
        Split points, in scales.
    bound
        The bound at each, in scales.
    exact
        The exact expectation.
    best
        The split point that the lemma takes.
    """
    figure, (ax,) = panels(height=3.6)
    ax.plot(gamma, bound, color=COLOURS["blue"])
    ax.axhline(exact, color=COLOURS["black"], linestyle=(0, (5, 1.5)))
    note(ax, "exact", (gamma[-1], exact), (0, -4), ha="right", va="top")
    low = float(np.interp(best, gamma, bound))
    ax.plot([best], [low], "D", color=COLOURS["orange"], markersize=9)
    # Below the dashed line, where no curve runs.
    note(ax, "the lemma's choice", (best, low), (0, -28), ha="center", color=COLOURS["red"])
    ax.set_ylim(0, min(float(bound.max()), 3.2 * low) * 1.05)
    ax.set_xlabel("split point, in scales")
    ax.set_ylabel("bound on E max |z|, in scales")
    return figure


@drawn
def water_level(answers: Array, gamma: float, grid: Array, total: Array, target: float) -> Figure:
    """Draw noisy cells with the threshold that fits their sum, and the sum against the threshold.

    Parameters
    ----------
    answers
        Noisy cells, in counts.
    gamma
        The threshold.
    grid
        Thresholds at which the sum of what lies above is given.
    total
        That sum.
    target
        The noisy sum to be met.
    """
    figure, (left, right) = panels(2, height=3.6)
    ordered = answers.size > DRAWN
    if ordered:
        answers = -np.sort(-answers)[:DRAWN]
    place = np.arange(1, answers.size + 1)
    kept = answers > gamma
    left.bar(place, answers, color=COLOURS["light"], edgecolor=COLOURS["grey"])
    left.bar(
        place[kept],
        answers[kept] - gamma,
        bottom=gamma,
        color=COLOURS["blue"],
        edgecolor=COLOURS["black"],
        hatch="//",
    )
    left.axhline(gamma, color=COLOURS["red"], linestyle=(0, (5, 1.5)))
    left.axhline(0, color=COLOURS["black"], linewidth=1)
    left.set_title("what stays (hatched)")
    left.set_xlabel("cell, from the largest answer on" if ordered else "cell")
    left.set_ylabel("noisy answer, records")
    right.plot(grid, total, color=COLOURS["blue"])
    right.plot([gamma, gamma, grid.min()], [0, target, target], color=COLOURS["red"], linestyle=":")
    right.plot([gamma], [target], "D", color=COLOURS["orange"], markersize=8)
    right.set_title("sum above the level")
    right.set_xlabel("threshold, records")
    right.set_ylim(bottom=0)
    return figure


@drawn
def clipping(counts: Array, bias: Array, error: Array, variance: float) -> Figure:
    """Draw bias and squared error of one clipped cell against its true count.

    Parameters
    ----------
    counts
        True counts.
    bias
        In counts.
    error
        Expected squared error, in squared counts.
    variance
        The noise's variance, which bounds the error.
    """
    figure, (left, right) = panels(2, height=3.6)
    left.plot(counts, bias, "o-", color=COLOURS["orange"], markersize=4)
    left.set_title("bias, records")
    left.set_xlabel("true count")
    left.set_ylim(bottom=0)
    right.plot(counts, error, "D-", color=COLOURS["blue"], markersize=4)
    right.axhline(variance, color=COLOURS["black"], linestyle=(0, (5, 1.5)))
    note(right, "variance of the noise", (counts[-1], variance), (0, 5), ha="right")
    right.set_title("squared error")
    right.set_xlabel("true count")
    right.set_ylim(0, 1.15 * variance)
    return figure


@drawn
def curves_in_d(d: Array, curves: Sequence[Curve], ylabel: str, *, log: bool = True) -> Figure:
    """Draw curves against the number of cells.

    Parameters
    ----------
    d
        Numbers of cells (log scale).
    curves
        The curves.
    ylabel
        What they measure, with its unit.
    log
        Whether the other axis is logarithmic too.
    """
    figure, (ax,) = panels(height=4.4)
    _lines(ax, d, curves)
    ax.set_xscale("log")
    if log:
        ax.set_yscale("log")
    ax.set_xlabel("number of cells d (log scale)")
    ax.set_ylabel(ylabel)
    return figure


@drawn
def levels(gamma: Sequence[Array], labels: Sequence[str], low: float, high: float) -> Figure:
    """Draw histograms of the threshold with the mean ends of its bracket.

    Parameters
    ----------
    gamma
        Thresholds run by run, one array a table, in counts.
    labels
        What each table is.
    low, high
        Mean ends of the proof's bracket.
    """
    figure, axes = panels(1, len(gamma), height=1.7 * len(gamma) + 0.8, sharex=True)
    edges = np.linspace(
        min(low, *(g.min() for g in gamma)), max(high, *(g.max() for g in gamma)), 70
    )
    for ax, values, label in zip(axes, gamma, labels, strict=True):
        share = 100 * np.histogram(values, edges)[0] / values.size
        ax.stairs(share, edges, fill=True, color=COLOURS["blue"])
        for end in (low, high):
            ax.axvline(end, color=COLOURS["red"], linestyle=(0, (5, 1.5)))
        ax.axvline(0, color=COLOURS["black"], linewidth=1)
        ax.set_title(label)
        ax.set_ylabel("% of runs")
    axes[-1].set_xlabel("threshold, records (dashed: mean ends of the bracket)")
    return figure


@drawn
def noise_law(support: Array, full: Array, cut: Array, bound: int) -> Figure:
    """Draw the probabilities of a double geometric noise and of the truncated one, log scale.

    Parameters
    ----------
    support
        Whole numbers.
    full, cut
        Probabilities of either noise; zero outside the truncated one's support.
    bound
        The truncated noise's largest value.
    """
    figure, (ax,) = panels(height=3.8)
    ax.plot(support, full, color=COLOURS["grey"], label="double geometric")
    inside = cut > 0
    ax.plot(
        support[inside], cut[inside], "o", color=COLOURS["blue"], markersize=4, label="truncated"
    )
    for end in (-bound, bound):
        ax.axvline(end, color=COLOURS["red"], linestyle=(0, (5, 1.5)), linewidth=1.4)
    ax.set_yscale("log")
    ax.set_xlabel("noise, records (dashed: plus and minus B)")
    ax.set_ylabel("probability (log scale)")
    ax.legend(loc="lower center")
    return figure


@drawn
def audits(found: Sequence[tuple[str, float, bool]]) -> Figure:
    """Draw each mechanism's exact privacy loss over what it claims.

    Parameters are for each mechanism its name, the ratio (infinite for an arrow at the right edge)
    and whether the claim holds.
    """
    figure, (ax,) = panels(1, height=0.66 * len(found) + 0.9)
    finite = [ratio for _, ratio, _ in found if np.isfinite(ratio)]
    low, high = min([*finite, 0.5]) / 1.6, 4 * max([*finite, 1.0])
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    for i, (name, ratio, holds) in enumerate(found):
        # Each row is a name, and under it, clear of it, its mark and the line of a kept claim.
        ax.vlines(1, -i - 0.25, -i + 0.12, color=COLOURS["black"], lw=1.2)
        colour = COLOURS["blue" if holds else "red"]
        ax.plot([low, min(ratio, high)], [-i, -i], color=COLOURS["light"], lw=1, zorder=0)
        marker = "o" if holds else "X"
        ax.plot(
            min(ratio, high),
            -i,
            marker=marker if np.isfinite(ratio) else ">",
            color=colour,
            ms=9,
            ls="none",
            clip_on=False,
        )
        note(ax, name, (low, -i), (4, 15), va="center", fontsize=11)
    ax.set_ylim(0.6 - len(found), 0.9)
    ax.set_yticks([])
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("exact loss over the claim")
    return figure
