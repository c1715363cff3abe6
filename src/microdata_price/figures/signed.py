"""Signed answers: errors that do not grow, and cells below zero."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import MaxNLocator, NullLocator

from .chart import chart
from .style import COLOURS, drawn, panels

DRAWN = 400  # of very many cells those around the fullest are drawn


@drawn
def flat_errors(ds, left, right, exact, titles):
    """Draw sampled squared errors of sum and cells against d, with two standard errors."""
    figure, axes = panels(2, height=3.4)
    for ax, found, level, title in zip(axes, (left, right), exact, titles, strict=True):
        ax.axhline(level, color=COLOURS["black"])
        for what, colour, marker, aside in (
            ("total", "blue", "D", 1.12),
            ("cell", "orange", "o", 0.89),
        ):
            value = [getattr(e, what) for e in found]
            bars = [2 * getattr(e, f"{what}_se") for e in found]
            x = np.array(ds) * aside
            ax.errorbar(x, value, yerr=bars, color=COLOURS[colour], marker=marker, ls="none")
        ax.set_xscale("log")
        ax.set_xticks(ds, [f"{n:,}" for n in ds])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set(xlim=(min(ds) / 2, max(ds) * 2), ylim=(0, 1.5 * level), title=title)
        ax.set_xlabel("cells $d$")
    axes[0].set_ylabel("squared error")
    names = (
        ("◆ the sum", 0.3, "blue"),
        ("● each cell", 0.18, "orange"),
        ("— exact", 0.06, "black"),
    )
    for text, height, colour in names:
        axes[0].annotate(text, (0.08, height), xycoords="axes fraction", color=COLOURS[colour])
    return figure


@drawn
def noisy_cells(truth, answers):
    """Draw one draw of noisy cells, in counts, with those below zero hatched, and true counts."""
    figure, ax = chart(3.4, x="cell", y="noisy answer, in records")
    cell = np.arange(1, truth.size + 1)
    first = int(np.clip(truth.argmax() - DRAWN // 2, 0, max(truth.size - DRAWN, 0)))
    seen = slice(first, first + DRAWN)
    cell, truth, answers = cell[seen], truth[seen], answers[seen]
    for chosen, colour, hatch in ((answers >= 0, "blue", ""), (answers < 0, "red", "////")):
        style = {"color": COLOURS[colour], "hatch": hatch, "edgecolor": "white", "lw": 0}
        ax.bar(cell[chosen], answers[chosen], width=0.8, **style)
    ax.axhline(0, color=COLOURS["black"], lw=1)
    full = truth > 0
    top = max(float(answers.max()), float(truth.max()))
    ax.plot(cell[full], truth[full], marker="_", ms=14, mew=2.5, ls="none", color=COLOURS["black"])
    for i in np.flatnonzero(full)[:1]:
        ax.plot([cell[i]] * 2, [truth[i], 1.08 * top], color=COLOURS["black"], lw=0.8)
        ha = "left" if i < truth.size / 2 else "right"
        ax.text(cell[i], 1.1 * top, "true count; all others are 0", ha=ha)
    low = 1.25 * min(float(answers.min()), -0.1 * top)
    ax.set(xlim=(cell[0] - 0.8, cell[-1] + 0.8), ylim=(low, 1.3 * top))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure
