"""The style that every figure shares."""

from __future__ import annotations

import functools
from collections.abc import Callable
from io import BytesIO
from typing import Any, ParamSpec

import matplotlib as mpl
import seaborn as sns
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogFormatterSciNotation

from ..base.colours import COLOURS
from ..fitting import METHODS

__all__ = ["COLOURS", "METHODS", "WIDE", "drawn", "panels", "render", "tick_text"]

P = ParamSpec("P")

WIDE = 5.8
"""Width of a figure in inches; a page shows it up to 700 pixels wide and a phone 350."""

# Text is large against the width, so that a figure shrunk to a phone can still be read.
_RC: Any = {
    "figure.figsize": (WIDE, 4.0),
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.06,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 12,
    "axes.titlesize": 12.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.edgecolor": "#4d4d4d",
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.8,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "legend.fontsize": 11,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "lines.markersize": 6.5,
    "errorbar.capsize": 3,
    "mathtext.fontset": "dejavusans",
    "image.cmap": "cividis",
    "axes.prop_cycle": cycler(
        color=[COLOURS[c] for c in ("blue", "orange", "green", "pink", "black", "sky", "red")]
    ),
    # Shapes instead of text, and fixed identifiers: one picture is the same file every time.
    "svg.fonttype": "path",
    "svg.hashsalt": "microdata-price",
}


def drawn(function: Callable[P, Figure]) -> Callable[P, Figure]:
    """Mark a function of computed results as one that draws a figure in the common style."""

    @functools.wraps(function)
    def draw(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with sns.axes_style("white"), mpl.rc_context(_RC):
            figure = function(*args, **kwargs)
            _make_legible(figure)
        figure.set_label("drawn")
        return figure

    return draw


def tick_text(value: float) -> str:
    """Write a tick's number without small raised digits, which a phone could not show.

    Examples
    --------
    >>> [tick_text(v) for v in (0.001, 0.5, 20000.0, 1e6, 2e-5)]
    ['0.001', '0.5', '20,000', '1e6', '2e-5']
    """
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:,.10g}"
    mantissa, exponent = f"{value:.3e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


class _PlainLog(LogFormatterSciNotation):
    """Labels the ticks that matplotlib would, in plain numbers."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return tick_text(x) if super().__call__(x, pos) else ""


def _make_legible(figure: Figure) -> None:
    """Write logarithmic ticks plainly; mark letters on a scale's colours, which keep theirs."""
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if type(axis.get_major_formatter()) is LogFormatterSciNotation:
                axis.set_major_formatter(_PlainLog())
            if type(axis.get_minor_formatter()) is LogFormatterSciNotation:
                axis.set_minor_formatter(_PlainLog(labelOnlyBase=False))
        if any(isinstance(part, QuadMesh) for part in ax.collections) or ax.images:
            for text in ax.texts:
                if type(text) is Text:  # an annotation stands beside the colours
                    text.set_gid("cell-text")
        if ax.get_label() == "<colorbar>":
            for end in ax.patches:
                end.set_gid("scale-end")


def panels(
    columns: int = 1, rows: int = 1, *, height: float = 4.0, **kwargs: Any
) -> tuple[Figure, list[Axes]]:
    """Make a figure of a page's width with a grid of axes, row by row.

    Its height is in inches; the rest goes to ``Figure.subplots``, for example ``sharey=True``. It
    is not kept by pyplot, so nothing has to close it.

    Examples
    --------
    >>> len(panels(2)[1])
    2
    """
    figure = Figure(figsize=(WIDE, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **kwargs)
    return figure, list(axes.ravel())


def render(figure: Figure) -> str:
    """Return a figure as an SVG document, the same text for the same figure."""
    buffer = BytesIO()
    with mpl.rc_context(_RC):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue().decode()
