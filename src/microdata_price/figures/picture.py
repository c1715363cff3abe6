"""A figure as the site shows it: drawn for the light and the dark theme, wide enough to be read.

One file serves both themes: browsers answer its question for the preferred colour scheme by the
``color-scheme`` of the page that shows it. Whatever does not understand the style sheet shows the
picture as it was drawn.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from matplotlib.figure import Figure

from ..base.colours import COLOURS, on_dark

SMALLEST = 9.0
"""No letter of a page has fewer pixels, on a phone either."""

_COLOUR = re.compile(r"\b(fill|stroke): (#[0-9a-f]{6})")
_SCALE = re.compile(r"scale\(([\d.]+)")
_KEPT = ("QuadMesh", "PolyQuadMesh", "scale-end", "cell-text")
"""Beginnings of names of parts that keep their colours: those of a scale, and letters on them."""


def for_the_site(svg: str) -> str:
    """Return a figure's SVG for both themes, its own width such that no letter is too small.

    The site shows it as wide as its place, and scrolls it where its own width is larger.
    """
    tree = ElementTree.fromstring(svg)
    _, _, width, height = map(float, tree.attrib["viewBox"].split())
    larger = SMALLEST / min(_sizes(tree, 1.0, False), default=SMALLEST)
    begin, opening, rest = re.split(r"(<svg\b[^>]*>)", svg, maxsplit=1)
    for name, size in (("width", width), ("height", height)):
        opening = re.sub(rf'\b{name}="[^"]*"', f'{name}="{size * larger:.1f}"', opening)
    return f"{begin}{opening}{_dark_style(tree)}{rest}"


def _sizes(node: ElementTree.Element, scale: float, inside: bool) -> Iterator[float]:
    """Yield the sizes of letters: paths of a font with 100 units, scaled, in groups for texts."""
    inside = inside or (node.get("id") or "").startswith(("text_", "cell-text"))
    found = _SCALE.search(node.get("transform") or "")
    scale *= float(found[1]) if found and inside else 1.0
    if inside and node.tag.endswith("}use"):
        yield 100 * scale
    for child in node:
        yield from _sizes(child, scale, inside)


def _dark_style(tree: ElementTree.Element) -> str:
    """Return the style sheet of the dark theme: each colour's counterpart."""
    pairs = sorted({pair for style in _styles(tree) for pair in _COLOUR.findall(style)})
    kept = ", ".join(
        [f'[id^="{name}"] *' for name in _KEPT]
        + [f'[id^="{name}"] ~ [id^="PathCollection"] *' for name in _KEPT[:2]]
    )
    rules = "".join(
        f'[style*="{what}: {colour}"]:not({kept}){{{what}:{on_dark(colour)} !important}}'
        for what, colour in pairs
    )
    text = f"svg{{fill:{on_dark('#000000')}}}{rules}"
    return f"\n<style>@media (prefers-color-scheme: dark) {{{text}}}</style>"


def _styles(node: ElementTree.Element) -> Iterator[str]:
    if not (node.get("id") or "").startswith(_KEPT):
        yield node.get("style") or ""
        for child in node:
            yield from _styles(child)


def draw_card(path: Path, title: str) -> None:
    """Draw the picture that stands for the site elsewhere, in the form that is used there."""
    figure = Figure(figsize=(12.0, 6.3), dpi=100, facecolor="white")
    figure.add_axes((0, 0, 1, 0.08), facecolor=COLOURS["blue"], xticks=[], yticks=[])
    text = figure.text(0.06, 0.86, textwrap.fill(title, 26), size=44, weight="bold", va="top")
    text.set_parse_math(False)  # a name may have dollars
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})
