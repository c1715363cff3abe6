"""Figures of the five methods on one table: errors, maps, sums, and where the records go."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LogNorm, to_hex, to_rgb

from .chart import chart
from .marks import name_rows, note
from .price import plain_log
from .scales import record_shades
from .style import COLOURS, METHODS, drawn, panels


def ink(method):
    """Return a method's colour, dark enough for letters on white (a contrast of 4.5)."""
    rgb = np.array(to_rgb(METHODS[method].colour))
    while True:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        if 1.05 / (float(linear @ (0.2126, 0.7152, 0.0722)) + 0.05) >= 4.5:
            return to_hex(rgb)
        rgb = rgb * 0.97


@drawn
def errors_by_set(ratios):
    """Draw squared errors over OLS's: name of a query set, method, ratio; sets in turn."""
    sets = len({name for name, *_ in ratios})
    figure, ax = chart(1.4 * sets + 0.9, x="squared error over OLS's (± 2 standard errors)", y="")
    place, before, ticks = 0.0, ratios[0][0], []
    for name, method, ratio in ratios:
        if name != before:
            ax.axhline(place - 0.25, color=COLOURS["light"], linewidth=1)
            place, before = place + 0.5, name
        style = METHODS[method]
        ax.errorbar(ratio.value, place, xerr=2 * ratio.error, fmt=style.marker,
                    color=style.colour, markersize=8)  # fmt: skip
        ticks.append((place, f"{name}: {style.label}"))
        place += 1
    ax.axvline(1, color=COLOURS["black"], linewidth=1.6)
    ax.set_xscale("log")
    plain_log(ax, "x")
    ax.set_yticks(*zip(*ticks, strict=True))
    ax.set_ylim(place - 0.1, -0.8)
    note(ax, "as OLS", (1, -0.75), (4, 0), va="top", fontsize=11)
    ax.grid(axis="y", visible=False)
    return figure


@drawn
def sum_errors(errors):
    """Draw each method's errors of the sum, in counts: middle half, middle 95 %, and mean."""
    figure, ax = chart(3.6, x="fitted sum minus true sum, records (△ mean)", y="")
    for i, (method, values) in enumerate(errors):
        colour = METHODS[method].colour
        low, q1, q3, high = np.quantile(values, [0.025, 0.25, 0.75, 0.975])
        ax.plot([low, high], [i, i], color=colour, linewidth=1.8)
        ax.barh(i, q3 - q1, left=q1, height=0.5, color=colour, alpha=0.85, zorder=3)
        ax.plot(values.mean(), i, "^", color="white", markeredgecolor=COLOURS["black"],
                markersize=10, zorder=5)  # fmt: skip
    ax.axvline(0, color=COLOURS["black"], linewidth=1.4)
    name_rows(ax, [METHODS[m].label for m, _ in errors])
    return figure


@drawn
def table_maps(tables, rows, columns):
    """Draw maps of titled tables, two beside each other; a list is folded into rows of ten."""
    height = (len(tables) + 1) // 2
    figure, axes = panels(2, height, height=1.75 * height + 0.5)
    norm = LogNorm(1.0, max(10.0, *(float(t.max()) for _, t in tables)), clip=True)
    for ax, (title, given) in zip(axes, tables, strict=False):
        table = given if given.ndim == 2 else given.reshape(-1, 10 if given.size % 10 == 0 else 1)
        shown = np.ma.masked_where(table <= 0, table)
        image = ax.pcolormesh(shown, cmap=record_shades(), norm=norm, edgecolor="white",
                              linewidth=0.3)  # fmt: skip
        y, x = np.nonzero(table < 0)
        ax.plot(x + 0.5, y + 0.5, "_", color=COLOURS["red"], markersize=4, markeredgewidth=1.4)
        ax.set_title(title, fontsize=11.5)
        ax.invert_yaxis()
        ax.set(xticks=[], yticks=[])
        ax.grid(visible=False)
        for side in ax.spines.values():
            side.set(visible=True, color=COLOURS["grey"])
    axes[0].set_ylabel(f"{rows} ↓" if rows else "", fontsize=11)
    axes[0].set_xlabel(f"{columns} →", fontsize=11, labelpad=2)
    bar = figure.colorbar(image, ax=axes, orientation="horizontal", fraction=0.05, pad=0.02,
                          aspect=40)  # fmt: skip
    plain_log(bar.ax, "x")
    bar.set_label("records (1 or less: palest; blank: none; dash: negative)")
    return figure


PARTS = ("clipping adds\nin empty cells", "clipping adds\nin other cells",
         "then the fit changes\nempty cells by", "and the other\ncells by",
         "error of the sum")  # fmt: skip


@drawn
def balance_bars(balance, method):
    """Draw where a fitted sum leaves the true one: four steps and their total, in records."""
    figure, ax = chart(3.9, x="records, mean over the runs (± 2 standard errors)", y="")
    reach = np.r_[0.0, np.cumsum([p.value for p in balance[:4]])]
    low, high = float(reach.min()), float(reach.max())
    span = high - low or 1.0
    for i, part in enumerate(balance):
        last = i == 4
        start, error = (0.0 if last else reach[i]), np.nan_to_num(2 * part.error)
        ax.barh(i, part.value, left=start, height=0.62, zorder=3, edgecolor=COLOURS["black"],
                color=METHODS[method].colour if last else COLOURS["light"],
                hatch="" if part.value >= 0 else "///", xerr=error,
                error_kw={"capsize": 3, "elinewidth": 1.3})  # fmt: skip
        note(ax, f"{part.value:+,.1f}".replace("-", "−"),
             (max(start, start + part.value) + error, i), (6, 0), va="center",
             fontweight="bold" if last else "normal")  # fmt: skip
        if not last:
            ax.plot([reach[i + 1]] * 2, [i, i + 1], color=COLOURS["grey"], linewidth=1, zorder=2)
    name_rows(ax, PARTS)
    ax.axvline(0, color=COLOURS["black"], linewidth=1.2)
    ax.set_xlim(low - 0.06 * span, high + 0.24 * span)
    return figure
