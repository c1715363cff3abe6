"""Figures that every chapter on an algorithm shares: a small list, a real table, the balance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..page.style import COLOURS, METHODS, drawn, panels
from ..studies.anatomy import Balance
from ..studies.cases import LABELS as LABELS
from .labels import spread_labels
from .marks import note

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def ink(method: str) -> str:
    """Return a method's colour, dark enough for letters on white (a contrast of 4.5).

    Examples
    --------
    >>> ink("sequential") == METHODS["sequential"].colour, ink("maxfit") == METHODS["maxfit"].colour
    (True, False)
    """
    rgb = np.array(to_rgb(METHODS[method].colour))
    while True:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        if 1.05 / (float(linear @ (0.2126, 0.7152, 0.0722)) + 0.05) >= 4.5:
            red, green, blue = (float(c) for c in rgb)
            return str(to_hex((red, green, blue)))
        rgb = rgb * 0.97


def _column_names(ax: Axes, entries: Sequence[tuple[float, str, str]]) -> None:
    """Write names to the left of the axes' first column, apart from each other."""
    low, high = ax.get_ylim()
    placed = spread_labels([y for y, _, _ in entries], 0.085 * (high - low))
    for (_, text, colour), y in zip(entries, placed, strict=True):
        ax.annotate(
            text,
            (-0.42, y),
            ha="right",
            va="center",
            color=colour,
            fontsize=11,
            annotation_clip=False,
        )


@drawn
def small_list(
    truth: Array, noisy: tuple[float, Array], fitted: tuple[float, Array], method: str
) -> Figure:
    """Draw a short list and its sum: what is true, what was measured, what was fitted.

    Parameters
    ----------
    truth
        The true cells, in counts.
    noisy, fitted
        The sum and the cells, in counts.
    method
        Whose fit it is.
    """
    figure, (ax,) = panels(height=3.9)
    style = METHODS[method]
    true = np.r_[truth.sum(), truth]
    measured, fit = np.r_[noisy[0], noisy[1]], np.r_[fitted[0], fitted[1]]
    x = np.arange(true.size) + np.where(np.arange(true.size) > 0, 0.35, 0.0)
    ax.bar(x, true, width=0.75, color=COLOURS["light"], zorder=1)
    ax.axhline(0, color=COLOURS["black"], linewidth=1.2, zorder=2)
    for place, a, b in zip(x, measured, fit, strict=True):
        ax.annotate(
            "",
            (place + 0.16, b),
            (place - 0.16, a),
            arrowprops={"arrowstyle": "-", "color": style.colour, "linewidth": 1.5, "shrinkA": 3},
        )
    ax.plot(
        x - 0.16, measured, "x", color=COLOURS["black"], markersize=8, markeredgewidth=2, zorder=4
    )
    ax.plot(
        x + 0.16,
        fit,
        style.marker,
        color=style.colour,
        markersize=8,
        markeredgecolor="white",
        zorder=5,
        clip_on=False,
    )
    ax.set_xticks(x, ["sum", *(str(i) for i in range(1, true.size))])
    ax.set_xlim(-1.9, x[-1] + 0.6)
    ax.set_xlabel("query: the sum, and the cells by number")
    ax.set_ylabel("records")
    ax.grid(axis="x", visible=False)
    ax.margins(y=0.1)
    _column_names(
        ax,
        [
            (measured[0], "noisy ×", COLOURS["black"]),
            (fit[0], "fitted", ink(method)),
            (true[0] / 2, "true", COLOURS["grey"]),
        ],
    )
    return figure


@drawn
def response(noisy: Array, fitted: Array, empty: Mask, unit: float, method: str) -> Figure:
    """Draw what becomes of each cell of a real table in one run: fitted against noisy.

    Parameters
    ----------
    noisy, fitted
        Cells of one run, shape (cells,), in counts.
    empty
        Which cells are really empty.
    unit
        Standard deviation of the noise, in counts: the axes are linear up to three of it, then
        logarithmic.
    method
        Whose fit it is.
    """
    figure, (ax,) = panels(height=4.3)
    style = METHODS[method]
    low = min(float(noisy.min()), float(fitted.min()), -unit)
    high = max(float(noisy.max()), float(fitted.max()), unit)
    line = np.r_[np.linspace(1.2 * low, 3 * unit, 60), np.geomspace(3 * unit, 1.3 * high, 60)]
    ax.plot(line, line, color=COLOURS["grey"], linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
    ax.plot(
        noisy[empty],
        fitted[empty],
        "o",
        markerfacecolor="none",
        markeredgecolor=COLOURS["grey"],
        markersize=5,
        zorder=2,
    )
    ax.plot(
        noisy[~empty],
        fitted[~empty],
        style.marker,
        color=style.colour,
        markeredgecolor="white",
        markersize=8.5,
        zorder=3,
    )
    for axis in ("x", "y"):
        getattr(ax, f"set_{axis}scale")("symlog", linthresh=3 * unit, linscale=1.4)
    ticks = _ticks(low, high, unit)
    ax.set_xticks(ticks, [f"{t:,g}".replace("-", "−") for t in ticks])
    ax.set_yticks(ticks, [f"{t:,g}".replace("-", "−") for t in ticks])
    ax.minorticks_off()
    ax.set_xlim(1.2 * low, 1.4 * high)
    ax.set_ylim(1.2 * low if fitted.min() < 0 else -0.5 * unit, 1.4 * high)
    ax.axhline(0, color=COLOURS["black"], linewidth=1)
    ax.axvline(0, ymax=0.76, color=COLOURS["black"], linewidth=1)
    ax.set_xlabel("noisy answer, records")
    ax.set_ylabel("fitted cell, records")
    notes = [("○ really empty", COLOURS["grey"]), ("dashed: left as it was", COLOURS["grey"])]
    if (~empty).any():
        notes.insert(0, ("filled: cells with records", ink(method)))
    for row, (text, colour) in enumerate(notes):
        ax.annotate(
            text,
            (0.02, 0.95 - 0.075 * row),
            xycoords="axes fraction",
            color=colour,
            fontsize=11,
            path_effects=[patheffects.withStroke(linewidth=3, foreground="white")],
        )
    return figure


def _ticks(low: float, high: float, unit: float) -> list[float]:
    """Return a few round places for an axis that is linear near zero and logarithmic far out."""
    step = float(10 ** np.floor(np.log10(3 * unit)))
    near = next(s * step for s in (1, 2, 5, 10) if s * step >= 1.5 * unit)
    far = [10.0**k for k in range(-2, 9) if 4.5 * unit < 10.0**k <= 1.4 * high]
    below = [-f for f in (near, 10 * near) if -f >= 1.2 * low]
    return [*sorted(below), 0.0, near, *far]


_PARTS = (
    ("clipped_empty", "clipping adds\nin empty cells"),
    ("clipped_full", "clipping adds\nin other cells"),
    ("taken_empty", "then the fit changes\nempty cells by"),
    ("taken_full", "and the other\ncells by"),
    ("total", "error of the sum"),
)


@drawn
def balance_bars(balance: Balance, method: str) -> Figure:
    """Draw where a fitted sum leaves the true one: four steps and their total, in records.

    Parameters
    ----------
    balance
        From `anatomy.balance`.
    method
        Whose fit it is.
    """
    figure, (ax,) = panels(height=3.9)
    at = 0.0
    top = [getattr(balance, name).value for name, _ in _PARTS]
    reach = np.cumsum(top[:4])
    span = max(float(np.max(reach)), 0.0) - min(float(np.min(reach)), 0.0) or 1.0
    for i, (name, _) in enumerate(_PARTS):
        part = getattr(balance, name)
        value, error = part.value, part.error
        start = 0.0 if name == "total" else at
        colour = METHODS[method].colour if name == "total" else COLOURS["light"]
        ax.barh(
            i,
            value,
            left=start,
            height=0.62,
            color=colour,
            edgecolor=COLOURS["black"],
            hatch="" if value >= 0 else "///",
            xerr=2 * error if np.isfinite(error) else None,
            error_kw={"capsize": 3, "elinewidth": 1.3},
            zorder=3,
        )
        edge = max(start, start + value) + (2 * error if np.isfinite(error) else 0.0)
        note(
            ax,
            f"{value:+,.1f}".replace("-", "−"),
            (edge, i),
            (6, 0),
            va="center",
            fontweight="bold" if name == "total" else "normal",
        )
        if name != "total":
            at += value
            ax.plot([at, at], [i, i + 1], color=COLOURS["grey"], linewidth=1, zorder=2)
    ax.set_yticks(range(len(_PARTS)), [label for _, label in _PARTS])
    ax.invert_yaxis()
    ax.axvline(0, color=COLOURS["black"], linewidth=1.2)
    low, high = min(float(np.min(reach)), 0.0), max(float(np.max(reach)), 0.0)
    ax.set_xlim(low - 0.06 * span, high + 0.24 * span)
    ax.set_xlabel("records, mean over the runs (± 2 standard errors)")
    ax.grid(axis="y", visible=False)
    return figure
