"""Figures of the algorithms in detail: a list of eight, single cells, stages, cutoffs."""

from __future__ import annotations

import numpy as np

from .algorithms import ink
from .chart import chart
from .labels import RIM, name_ends, name_line
from .marks import note
from .price import plain_log
from .style import COLOURS, METHODS, drawn, panels


def _ticks(low, high, unit, linear):
    """Return round places for an axis that is linear up to `linear`, then logarithmic."""
    step = float(10 ** np.floor(np.log10(3 * unit)))
    near = next(s * step for s in (1, 2, 5, 10) if s * step >= 1.5 * unit)
    far = [10.0**k for k in range(-2, 9) if 1.5 * linear < 10.0**k <= high]
    return [t for t in (-10 * near, -near, 0.0, near) if t >= low] + [t for t in far if t > near]


def _plain_symlog(ax, axis, low, high, unit, linear, **kwargs):
    getattr(ax, f"set_{axis}scale")("symlog", linthresh=linear, **kwargs)
    ticks = _ticks(low, high, unit, linear)
    getattr(ax, f"set_{axis}ticks")(ticks, [f"{t:,g}".replace("-", "−") for t in ticks])
    ax.minorticks_off()


@drawn
def small_lists(truth, noisy, fitted):
    """Draw a short list and its sum (first): what is true, measured, and fitted by each method."""
    rows = (len(fitted) + 1) // 2
    figure, axes = panels(2, rows, height=2.7 * rows, sharex=True, sharey=True)
    x = np.arange(truth.size) + np.where(np.arange(truth.size) > 0, 0.35, 0.0)
    for ax, (method, fit) in zip(axes, fitted.items(), strict=False):
        style = METHODS[method]
        ax.bar(x, truth, width=0.75, color=COLOURS["light"], zorder=1)
        ax.axhline(0, color=COLOURS["black"], linewidth=1.2, zorder=2)
        ax.plot([x - 0.16, x + 0.16], [noisy, fit], color=style.colour, linewidth=1.5, zorder=3)
        ax.plot(x - 0.16, noisy, "x", color=COLOURS["black"], markersize=6, markeredgewidth=1.7,
                zorder=4)  # fmt: skip
        ax.plot(x + 0.16, fit, style.marker, color=style.colour, markersize=6.5,
                markeredgecolor="white", zorder=5)  # fmt: skip
        ax.set_xticks(x, ["sum", *(str(i) for i in range(1, truth.size))])
        ax.set_title(style.label)
        ax.grid(axis="x", visible=False)
        ax.margins(y=0.1)
    for row, text in enumerate(("bar: true", "× noisy", "filled: fitted")):
        note(axes[0], text, (4.2, truth[0]), (0, -4 - 15 * row), fontsize=11, va="top")
    for ax in axes[::2]:
        ax.set_ylabel("records")
    return figure


@drawn
def responses(noisy, fitted, empty, unit):
    """Draw what becomes of each cell in one run, by method: fitted against noisy, in counts."""
    rows = (len(fitted) + 1) // 2
    figure, axes = panels(2, rows, height=3.2 * rows, sharex=True, sharey=True)
    low = min(float(noisy.min()), *(float(f.min()) for f in fitted.values()), -unit)
    high = 1.4 * max(float(noisy.max()), *(float(f.max()) for f in fitted.values()), unit)
    line = np.r_[np.linspace(1.2 * low, 3 * unit, 60), np.geomspace(3 * unit, high, 60)]
    for ax, (method, fit) in zip(axes, fitted.items(), strict=False):
        style = METHODS[method]
        ax.plot(line, line, color=COLOURS["grey"], linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
        ax.plot(noisy[empty], fit[empty], "o", markerfacecolor="none", markersize=4,
                markeredgecolor=COLOURS["grey"], zorder=2)  # fmt: skip
        ax.plot(noisy[~empty], fit[~empty], style.marker, color=style.colour, markersize=7,
                markeredgecolor="white", zorder=3)  # fmt: skip
        for axis in "xy":
            _plain_symlog(ax, axis, 1.2 * low, high, unit, 3 * unit, linscale=1.4)
        ax.set(xlim=(1.2 * low, high), ylim=(1.2 * low, high))
        ax.axhline(0, color=COLOURS["black"], linewidth=1)
        ax.set_title(style.label)
    for row, text in enumerate(("filled: holds records", "○ really empty", "dashed: unchanged")):
        axes[0].annotate(text, (0.03, 0.94 - 0.1 * row), xycoords="axes fraction", fontsize=10.5,
                         va="top", path_effects=RIM)  # fmt: skip
    for ax in axes[::2]:
        ax.set_ylabel("fitted, records")
    for ax in axes[-2:]:
        ax.set_xlabel("noisy, records")
    return figure


@drawn
def growth(cells, clipped, measured, predicted, signed):
    """Draw how far the sum comes out too large against the number of empty cells, in counts."""
    figure, ax = chart(4.2, x="number of empty cells", y="mean error of the sum, records")
    style = METHODS["nnls"]
    values, errors = np.array([(m.value, m.error) for m in measured]).T
    ax.plot(cells, clipped, color=COLOURS["red"], marker="v")
    ax.plot(cells, predicted, color=style.colour, linestyle=style.dash)
    ax.errorbar(cells, values, yerr=2 * errors, fmt=style.marker, color=style.colour, zorder=4)
    ax.axhline(signed, color=COLOURS["black"], linewidth=1.4)
    for axis in "xy":
        getattr(ax, f"set_{axis}scale")("log")
        plain_log(ax, axis)
    ends = [(clipped[-1], "clipping\nalone (exact)", COLOURS["red"]),
            (values[-1], "NNLS", ink("nnls")),
            (signed, "standard\ndeviation of\nthe noise", COLOURS["black"])]  # fmt: skip
    name_ends(ax, [(cells[-1], *end) for end in ends], gap=0.17)
    return figure


@drawn
def extreme_cell(place, nnls, maxfit, distance):
    """Draw what one cell's noise, in deviations, does to the sum and to max fitting's distance."""
    figure, (left, right) = panels(2, height=3.9)
    nnls, maxfit, distance = np.array([[m.value for m in c] for c in (nnls, maxfit, distance)])
    curves = {"nnls": nnls, "maxfit": maxfit}
    for method, values in curves.items():
        style = METHODS[method]
        left.plot(place, values, color=style.colour, linestyle=style.dash, marker=style.marker)
        above = values[-1] >= max(c[-1] for c in curves.values())
        name_line(left, place, values, style.label, ink(method), shift=(-4, 12 if above else -40))
    style = METHODS["maxfit"]
    right.plot(place, distance, color=style.colour, linestyle=style.dash, marker=style.marker)
    left.set(title="error of the sum", ylabel="root mean square, records",
             ylim=(0, 1.12 * max(float(v.max()) for v in curves.values())))  # fmt: skip
    right.set(title="distance of max fitting", ylabel="standard deviations",
              ylim=(0, 1.12 * float(distance.max())))  # fmt: skip
    for ax in (left, right):
        ax.axvline(0, color=COLOURS["black"], linewidth=1)
        ax.set_xlabel("noise of one cell, sd")
    return figure


@drawn
def stages(parts):
    """Draw stages of sequential fitting in one run: name, noisy, fitted and true answers."""
    figure, axes = panels(1, len(parts), height=2.5 * len(parts) + 0.4)
    style = METHODS["sequential"]
    for ax, (name, noisy, fitted, true) in zip(axes, parts, strict=True):
        order = np.argsort(-noisy)[:30]
        x = np.arange(order.size)
        ax.bar(x, true[order], width=0.8, color=COLOURS["light"], zorder=1)
        ax.plot(x, noisy[order], "x", color=COLOURS["black"], markeredgewidth=1.8, zorder=3)
        ax.plot(x, fitted[order], style.marker, color=style.colour, markersize=6,
                markeredgecolor="white", zorder=4)  # fmt: skip
        rest = noisy.size - order.size
        ax.set_title(f"{name}{f' ({order.size} largest of {noisy.size})' if rest else ''}")
        # The largest few would hide what happens near zero.
        spread = float(np.abs(noisy - fitted).max())
        top = max(float(np.sort(true)[::-1][min(2, true.size - 1)]), 2 * spread)
        ax.set_ylim(1.15 * min(float(noisy[order].min()), -0.1 * spread), 1.25 * top)
        ax.axhline(0, color=COLOURS["black"], linewidth=1)
        ax.set(xticks=[], ylabel="records")
        ax.grid(axis="x", visible=False)
    for row, (text, colour) in enumerate((("× noisy", COLOURS["black"]), ("◆ fitted", style.colour),
                                          ("bar: true", COLOURS["grey"]))):  # fmt: skip
        axes[0].annotate(text, (0.98, 0.85 - 0.15 * row), xycoords="axes fraction", ha="right",
                         color=colour)  # fmt: skip
    axes[-1].set_xlabel("queries, by their noisy answers (tall ones leave the picture)")
    return figure


@drawn
def cutoff(answers, level, cut, empty, unit):
    """Draw one run's sorted answers, and what the largest of so many noises rarely reaches."""
    figure, ax = chart(4.0, x="rank of the noisy answer, from the least (○ really zero)",
                       y="noisy answer, records")  # fmt: skip
    style, order = METHODS["reweighted"], np.argsort(answers)
    rank, a, none = np.arange(1, answers.size + 1), answers[order], empty[order]
    ax.plot(rank[none], a[none], "o", markerfacecolor="none", markeredgecolor=COLOURS["grey"],
            markersize=5)  # fmt: skip
    ax.plot(rank[~none], a[~none], style.marker, color=style.colour, markeredgecolor="white",
            markersize=9)  # fmt: skip
    ax.plot(rank, level, color=COLOURS["black"], linewidth=1.6, linestyle=(0, (5, 1.5)))
    high = 1.3 * max(float(a[-1]), 2.2 * float(level[-1]), 2.2 * unit)
    bottom = min(float(a[0]), 0.0) - 0.3 * unit
    _plain_symlog(ax, "y", bottom, high, unit, max(float(level[-1]), 3 * unit), linscale=2.5)
    ax.set(xlim=(0.5, answers.size + 0.9), ylim=(bottom, high))
    ax.axhline(0, color=COLOURS["black"], linewidth=1)
    name_line(ax, rank, level, "rarely reached by so many noises", COLOURS["black"], at=0.62,
              shift=(0, 12))  # fmt: skip
    low = int((answers < cut).sum())
    many = low > answers.size / 4
    ax.axvspan(0.5, low + 0.5, color="#f3eef2", zorder=0)
    note(ax, f"{low} low", (low + 0.5 if many else 0.5, high), (-5 if many else 5, -4),
         ha="right" if many else "left", va="top", color=ink("reweighted"), fontweight="bold",
         path_effects=RIM)  # fmt: skip
    return figure
