"""The picture that stands for a page where someone links to it."""

from __future__ import annotations

import io
import textwrap
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from ..base.colours import COLOURS

FOLDER = "_images/cards"
_INCHES = (12.0, 6.3)
"""The form that previews have, 1,200 by 630 pixels."""


def draw_card(site: Path, page: str, title: str, book: str) -> str:
    """Draw a page's card into a site and return its path there."""
    figure = Figure(figsize=_INCHES, dpi=100, facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set(xlim=(0, 12), ylim=(0, 6.3))
    axes.axhspan(0, 0.35, color=COLOURS["blue"])
    lines = "\n".join(textwrap.wrap(title, 26)[:4])
    axes.text(0.7, 5.4, lines, size=44, weight="bold", va="top", color=COLOURS["black"],
              parse_math=False, linespacing=1.25)  # fmt: skip
    axes.text(0.7, 0.9, book, size=26, va="bottom", color=COLOURS["grey"], parse_math=False)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    path = site / FOLDER / f"{Path(page).with_suffix('').as_posix().replace('/', '-')}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Sixteen colours are enough for letters, and a fifth of the bytes.
    Image.open(drawn).convert("RGB").quantize(16).save(path, optimize=True)
    return path.relative_to(site).as_posix()
