"""Figures of the signed mechanisms: errors that do not grow, and cells below zero."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import NDArray

from ..page.style import COLOURS, drawn, panels
from ..studies.signed_answers import DRAWN
from ..theory.laws.signed import SampledErrors

Array = NDArray[np.float64]


@drawn
def flat_errors(
    ds: list[int],
    left: list[SampledErrors],
    right: list[SampledErrors],
    exact: tuple[float, float],
    titles: tuple[str, str],
) -> Figure:
    """Draw sampled squared errors of sum and cells against d, in squared counts, two mechanisms.

    Parameters are the numbers of cells, the sampled errors of each mechanism at each, the exact
    error of each, and their titles. Bars are two standard errors.
    """
    figure, axes = panels(2, height=3.4)
    for ax, found, level, title in zip(axes, (left, right), exact, titles, strict=True):
        ax.axhline(level, color=COLOURS["black"])
        shown = (
            ("blue", "D", 1.12, [e.total for e in found], [e.total_se for e in found]),
            ("orange", "o", 0.89, [e.cell for e in found], [e.cell_se for e in found]),
        )
        for colour, marker, aside, value, error in shown:
            ax.errorbar(
                np.array(ds) * aside,
                value,
                yerr=2 * np.array(error),
                color=COLOURS[colour],
                marker=marker,
                ls="none",
            )
        ax.set_xscale("log")
        ax.set_xticks(ds, [f"{n:,}" for n in ds])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xlim(min(ds) / 2, max(ds) * 2)
        ax.set_ylim(0, 1.5 * level)
        ax.set_title(title)
        ax.set_xlabel("cells $d$")
    axes[0].set_ylabel("squared error")
    for text, height, colour in (("◆ the sum", 0.3, "blue"), ("● each cell", 0.18, "orange")):
        axes[0].annotate(text, (0.08, height), xycoords="axes fraction", color=COLOURS[colour])
    axes[0].annotate("— exact", (0.08, 0.06), xycoords="axes fraction", color=COLOURS["black"])
    return figure


@drawn
def noisy_cells(truth: Array, answers: Array) -> Figure:
    """Draw one draw of noisy cells, in counts, with those below zero hatched, and true counts."""
    figure, (ax,) = panels(1, height=3.4)
    cell = np.arange(1, truth.size + 1)
    # Of very many cells those around the fullest are drawn.
    first = int(np.clip(truth.argmax() - DRAWN // 2, 0, max(truth.size - DRAWN, 0)))
    seen = slice(first, first + DRAWN)
    cell, truth, answers = cell[seen], truth[seen], answers[seen]
    below = answers < 0
    for chosen, colour, hatch in ((~below, "blue", ""), (below, "red", "////")):
        ax.bar(
            cell[chosen],
            answers[chosen],
            width=0.8,
            color=COLOURS[colour],
            hatch=hatch,
            edgecolor="white",
            lw=0,
        )
    ax.axhline(0, color=COLOURS["black"], lw=1)
    full = truth > 0
    top = max(float(answers.max()), float(truth.max()))
    ax.plot(cell[full], truth[full], marker="_", ms=14, mew=2.5, ls="none", color=COLOURS["black"])
    for i in np.flatnonzero(full)[:1]:
        ax.plot([cell[i]] * 2, [truth[i], 1.08 * top], color=COLOURS["black"], lw=0.8)
        ax.text(
            cell[i],
            1.1 * top,
            "true count; all others are 0",
            ha="left" if i < truth.size / 2 else "right",
        )
    ax.set_xlim(cell[0] - 0.8, cell[-1] + 0.8)
    ax.set_ylim(1.25 * min(float(answers.min()), -0.1 * top), 1.3 * top)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("cell")
    ax.set_ylabel("noisy answer, in records")
    return figure
