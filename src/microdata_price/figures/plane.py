"""Figures of the plane of C and D: bounds, mechanisms, and at how many cells microdata lose."""

from __future__ import annotations

from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from ..theory.lower.lower_bounds import BOUNDS
from .labels import Name, place_names
from .marks import closed, note
from .style import COLOURS, drawn, panels


def log_x(ax, low, high, ticks=7):
    """Make the horizontal axis logarithmic, from low to high, with few ticks at powers of ten.

    Over less than two of them there are ticks at 2 and 5 times these as well.
    """
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.xaxis.set_major_locator(LogLocator(numticks=ticks))
    if high < 100 * low:
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())


def inside(ax, x, y):
    """Return a point, moved to the axes' left or lower end if it lies beyond."""
    return max(x, float(ax.get_xlim()[0])), max(y, float(ax.get_ylim()[0]))


def mark(ax, x, y, marker, colour, *, hollow=False):
    """Draw a mark; one beyond the axes' left or lower end stands there, with an arrow."""
    ink, place = COLOURS[colour], inside(ax, x, y)
    face, edge = ("white", ink) if hollow else (ink, "white")
    size = {"*": 16, "v": 7}.get(marker, 9)
    look = {"ls": "none", "color": ink, "mfc": face, "mec": edge, "ms": size}
    ax.plot(*place, marker=marker, clip_on=False, zorder=6, **look)
    arrow = {"arrowstyle": "<-", "color": ink, "lw": 1.6}
    for beyond, shift in ((x < place[0], (-16, 0)), (y < place[1], (0, -16))):
        if beyond:
            note(ax, "", place, shift, arrowprops=arrow, annotation_clip=False)


@drawn
def price_against_d(panels_of):
    """Draw what cells pay for a sum as good as a signed answer's, against d.

    Parameters are for each panel a title, the d, the lower bound, the certified bound and the
    error of keeping the sum on its worst table, in signed errors.
    """
    figure, axes = panels(len(panels_of), height=4.0, sharey=True)
    for ax, (title, ds, low, high, own) in zip(axes, panels_of, strict=True):
        log_x(ax, float(ds[0]), float(ds[-1]), ticks=4)
        ax.set_title(title)
        closed(ax, ds, low, 0, alpha=0.10, edge="light")
        names = [Name("signed", COLOURS["grey"], [(float(x), 1.0) for x in ds[::-5]])]
        for curve, colour, dash, word in (
            (low, "blue", "-", "impossible below"),
            (own, "orange", "-", "keep the sum"),
            (high, "red", "--", "certified"),
        ):
            ax.plot(ds, curve, color=COLOURS[colour], ls=dash)
            at = range(ds.size // 2, ds.size, 3)
            points = [(float(ds[i]), float(curve[i])) for i in at]
            if curve.max() > 0:
                names.append(Name(word, COLOURS[colour], points))
        ax.axhline(1, color=COLOURS["grey"], lw=1)
        ax.set_xlabel("cells $d$")
        ax.set_ylim(0, None)
        if ax is axes[0]:
            ax.set_ylabel("$C$ at $D$ = signed, in signed errors")
            place_names(ax, names, size=11)
    return figure


@drawn
def crossings(rows, largest):
    """Draw from which d on each bound says something (open) and excludes signed errors (filled).

    Parameters are for each row the kind of privacy, the bound's name in `BOUNDS`, and the two
    d (infinite for never), and the largest d drawn; what lies beyond ends in an arrow.
    """
    figure, (ax,) = panels(1, height=5.0)
    log_x(ax, 1.5, largest, ticks=6)
    kinds = list(dict.fromkeys(r[0] for r in rows))
    heights, labels = [], []
    for i, (kind, name, says, exceeds) in enumerate(rows):
        y = -i - 0.9 * kinds.index(kind)
        colour = BOUNDS[name].colour
        heights.append(y)
        labels.append(BOUNDS[name].label)
        if name == rows[0][1]:
            ax.text(1.6, y + 0.85, kind, fontweight="bold", va="center", fontsize=11)
        start, end = min(says, largest), min(exceeds, largest)
        ax.plot([start, end], [y, y], color=colour, lw=2)
        if exceeds < largest:
            ax.plot([end, largest], [y, y], color=colour, lw=7, alpha=0.3)
            ax.plot(end, y, marker="o", color=colour, ls="none", ms=8)
        else:
            ax.plot(largest, y, marker=">", color=colour, ls="none", clip_on=False)
        if says < largest:
            ax.plot(start, y, marker="o", color=colour, mfc="white", ls="none", ms=8)
    ax.set_yticks(heights, labels)
    ax.set_ylim(min(heights) - 0.7, 1.4)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("cells $d$")
    return figure
