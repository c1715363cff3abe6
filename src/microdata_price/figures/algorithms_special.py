"""Figures that belong to one method each: what it is about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import patheffects
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..page.style import COLOURS, METHODS, drawn, panels
from .algorithms import ink
from .labels import name_ends, name_line
from .marks import note
from .price import plain_log

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@drawn
def growth(
    cells: Array, clipped: Array, measured: tuple[Array, Array], predicted: Array, signed: float
) -> Figure:
    """Draw how far the sum comes out too large against the number of empty cells.

    Parameters
    ----------
    cells
        How many cells are empty.
    clipped
        The exact bias of clipping alone, in counts.
    measured
        NNLS's bias and its standard error, in counts.
    predicted
        From `anatomy.balanced_threshold`.
    signed
        The standard deviation of the noise on the sum.
    """
    figure, (ax,) = panels(height=4.2)
    style = METHODS["nnls"]
    ax.plot(cells, clipped, color=COLOURS["red"], marker="v")
    ax.plot(cells, predicted, color=style.colour, linestyle=style.dash)
    ax.errorbar(
        cells, measured[0], yerr=2 * measured[1], fmt=style.marker, color=style.colour, zorder=4
    )
    ax.axhline(signed, color=COLOURS["black"], linewidth=1.4)
    ax.set_xscale("log")
    ax.set_yscale("log")
    plain_log(ax, "x")
    plain_log(ax, "y")
    ax.set_xlabel("number of empty cells")
    ax.set_ylabel("mean error of the sum, records")
    name_ends(
        ax,
        [
            (cells[-1], clipped[-1], "clipping\nalone (exact)", COLOURS["red"]),
            (cells[-1], measured[0][-1], "NNLS", ink("nnls")),
            (cells[-1], signed, "standard\ndeviation of\nthe noise", COLOURS["black"]),
        ],
        gap=0.17,
    )
    return figure


@drawn
def extreme_cell(place: Array, roots: Sequence[tuple[str, Array]], distance: Array) -> Figure:
    """Draw what one cell's noise does to the sum and to max fitting's distance.

    Parameters
    ----------
    place
        That cell's noise, in standard deviations.
    roots
        Methods, each with the root of its mean squared error of the sum, in counts.
    distance
        Max fitting's mean distance, in standard deviations.
    """
    figure, (left, right) = panels(2, height=3.9)
    ends = []
    for method, values in roots:
        style = METHODS[method]
        left.plot(place, values, color=style.colour, linestyle=style.dash, marker=style.marker)
        ends.append((method, values))
    left.set_ylim(0, 1.12 * max(float(v.max()) for _, v in roots))
    left.set_title("error of the sum")
    left.set_ylabel("root mean square, records")
    for method, values in ends:
        other = [v for m, v in ends if m != method]
        above = not other or values[-1] >= other[0][-1]
        name_line(
            left,
            place,
            values,
            METHODS[method].label,
            ink(method),
            shift=(-4, 12 if above else -40),
        )
    style = METHODS["maxfit"]
    right.plot(place, distance, color=style.colour, linestyle=style.dash, marker=style.marker)
    right.set_ylim(0, 1.12 * float(distance.max()))
    right.set_title("distance of max fitting")
    right.set_ylabel("standard deviations")
    for ax in (left, right):
        ax.axvline(0, color=COLOURS["black"], linewidth=1)
        ax.set_xlabel("noise of one cell, sd")
    return figure


@drawn
def stages(parts: Sequence[tuple[str, Array, Array, Array]]) -> Figure:
    """Draw the stages of sequential fitting in one run: noisy, fitted and true answers.

    Parameters
    ----------
    parts
        For each stage but the sum its name and its noisy, fitted and true answers, in counts.
    """
    figure, axes = panels(1, len(parts), height=2.5 * len(parts) + 0.4)
    style = METHODS["sequential"]
    for ax, (name, noisy, fitted, true) in zip(axes, parts, strict=True):
        order = np.argsort(-noisy)[:30]
        x = np.arange(order.size)
        ax.bar(x, true[order], width=0.8, color=COLOURS["light"], zorder=1)
        ax.plot(x, noisy[order], "x", color=COLOURS["black"], markeredgewidth=1.8, zorder=3)
        ax.plot(
            x,
            fitted[order],
            style.marker,
            color=style.colour,
            markersize=6,
            markeredgecolor="white",
            zorder=4,
        )
        rest = noisy.size - order.size
        ax.set_title(f"{name}{f' ({order.size} largest of {noisy.size})' if rest else ''}")
        # The largest few would hide what happens near zero.
        spread = float(np.abs(noisy - fitted).max())
        top = float(np.sort(true)[::-1][min(2, true.size - 1)])
        ax.set_ylim(
            1.15 * min(float(noisy[order].min()), -0.1 * spread), 1.25 * max(top, 2 * spread)
        )
        ax.axhline(0, color=COLOURS["black"], linewidth=1)
        ax.set_xticks([])
        ax.set_ylabel("records")
        ax.grid(axis="x", visible=False)
    axes[0].annotate(
        "× noisy", (0.98, 0.85), xycoords="axes fraction", ha="right", color=COLOURS["black"]
    )
    axes[0].annotate(
        "◆ fitted", (0.98, 0.70), xycoords="axes fraction", ha="right", color=style.colour
    )
    axes[0].annotate(
        "bar: true", (0.98, 0.55), xycoords="axes fraction", ha="right", color=COLOURS["grey"]
    )
    axes[-1].set_xlabel("queries, by their noisy answers (tall ones leave the picture)")
    return figure


@drawn
def cutoff(answers: Array, level: Array, cut: float, empty: Mask, unit: float) -> Figure:
    """Draw one run's sorted noisy answers and what the largest of so many noises rarely reaches.

    Parameters
    ----------
    answers
        Noisy answers of one query set, shape (queries,), in counts.
    level
        For each rank j the value that the largest of j fresh draws reaches in 1 of 100 cases.
    cut
        The cutoff; infinite if no answer stands out.
    empty
        Which of the queries really are 0.
    unit
        Standard deviation of the noise.
    """
    figure, (ax,) = panels(height=4.0)
    style = METHODS["reweighted"]
    order = np.argsort(answers)
    rank = np.arange(1, answers.size + 1)
    a, none = answers[order], empty[order]
    ax.plot(
        rank[none],
        a[none],
        "o",
        markerfacecolor="none",
        markeredgecolor=COLOURS["grey"],
        markersize=5,
    )
    ax.plot(
        rank[~none],
        a[~none],
        style.marker,
        color=style.colour,
        markeredgecolor="white",
        markersize=9,
    )
    ax.plot(rank, level, color=COLOURS["black"], linewidth=1.6, linestyle=(0, (5, 1.5)))
    top = 2.2 * max(float(level[-1]), unit)
    ax.set_yscale("symlog", linthresh=max(float(level[-1]), 3 * unit), linscale=2.5)
    high = max(float(a[-1]), top)
    bottom = min(float(a[0]), 0.0) - 0.3 * unit
    ax.set_ylim(bottom, 1.3 * high)
    step = float(10 ** np.floor(np.log10(3 * unit)))
    near = next(s * step for s in (1, 2, 5, 10) if s * step >= 1.5 * unit)
    ticks = [t for t in (-2 * near, -near, 0.0, near, 2 * near) if t >= bottom]
    ticks += [10.0**k for k in range(-2, 9) if 1.2 * level[-1] < 10.0**k <= 1.3 * high]
    ticks = [t for i, t in enumerate(ticks) if i == 0 or t > ticks[i - 1]]
    ax.set_yticks(ticks, [f"{t:,g}".replace("-", "−") for t in ticks])
    ax.minorticks_off()
    ax.axhline(0, color=COLOURS["black"], linewidth=1)
    name_line(
        ax,
        rank,
        level,
        "rarely reached by so many noises",
        COLOURS["black"],
        at=0.62,
        shift=(0, 12),
    )
    low = int((answers < cut).sum())
    ax.axvspan(0.5, low + 0.5, color="#f3eef2", zorder=0)
    note(
        ax,
        f"{low} low",
        (low + 0.5 if low > answers.size / 4 else 0.5, 1.3 * high),
        (-5 if low > answers.size / 4 else 5, -4),
        ha="right" if low > answers.size / 4 else "left",
        va="top",
        color=ink("reweighted"),
        fontweight="bold",
        path_effects=[patheffects.withStroke(linewidth=3, foreground="white")],
    )
    ax.set_xlim(0.5, answers.size + 0.9)
    ax.set_xlabel("rank of the noisy answer, from the least (○ really zero)")
    ax.set_ylabel("noisy answer, records")
    return figure
