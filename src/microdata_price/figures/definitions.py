"""Output densities at two neighbouring counts, and their privacy losses."""

from __future__ import annotations

from .marks import note
from .style import COLOURS, drawn, panels


@drawn
def losses(left, right, titles, bound):
    """Draw two pairs of output densities, and below them their privacy losses in nats."""
    figure, axes = panels(2, 2, height=4.9, sharex="col", height_ratios=(1.15, 1))
    for ax, below, pair, title in zip(axes[:2], axes[2:], (left, right), titles, strict=True):
        for y, colour, dash in ((pair.first, "blue", "-"), (pair.second, "red", (0, (4, 2)))):
            ax.plot(pair.x, y, color=COLOURS[colour], ls=dash)
            ax.fill_between(pair.x, y, color=COLOURS[colour], alpha=0.12, lw=0)
        ax.set(title=title, ylim=(0, 1.2 * max(pair.first.max(), pair.second.max())), yticks=[])
        below.plot(pair.x, pair.loss, color=COLOURS["black"])
        below.axhline(0, color=COLOURS["grey"], lw=0.8)
        below.set_xlabel("noisy count")
    for text, side, ha, colour in (
        ("true count", 0.01, "left", "blue"),
        ("one more", 0.99, "right", "red"),
    ):
        where = {"xycoords": "axes fraction", "ha": ha, "va": "top"}
        axes[0].annotate(text, (side, 0.98), color=COLOURS[colour], **where)
    axes[0].set_ylabel("density")
    axes[2].set(ylabel="privacy loss, nats", ylim=(-1.25 * bound, 1.25 * bound))
    for sign, text in ((1, r"$+\epsilon$"), (-1, r"$-\epsilon$")):
        axes[2].axhline(sign * bound, color=COLOURS["green"], ls=(0, (5, 2)))
        where = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "center"}
        at, away = (1, sign * bound), (-4, -9 * sign)
        note(axes[2], text, at, away, color=COLOURS["green"], **where)
    return figure
