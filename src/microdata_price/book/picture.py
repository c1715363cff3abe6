"""A figure as the site shows it: drawn for the light and the dark theme, wide enough to be read.

One file serves both themes: browsers answer its question for the preferred colour scheme by the
``color-scheme`` of the page that shows it. Whatever does not understand the style sheet shows the
picture as it was drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from ..base.colours import on_dark

SMALLEST = 9.0
"""No letter of a page has fewer pixels, on a phone either."""

_COLOUR = re.compile(r"\b(fill|stroke): (#[0-9a-f]{6})")
_SCALE = re.compile(r"scale\(([\d.]+)")
_HEAD = re.compile(r"<svg\b[^>]*>")
_KEPT = ("QuadMesh", "PolyQuadMesh", "scale-end", "cell-text")
"""Beginnings of names of parts that keep their colours: those of a scale, and letters on them."""


def for_the_site(svg: str) -> str:
    """Return a figure's SVG for both themes, its own width such that no letter is too small.

    The site shows it as wide as its place, and scrolls it where its own width is larger.
    """
    tree = ElementTree.fromstring(svg)
    sizes = [float(part) for part in tree.attrib["viewBox"].split()[2:]]
    width = SMALLEST * sizes[0] / smallest_text(tree)
    height = width * sizes[1] / sizes[0]
    head = _HEAD.search(svg)
    assert head is not None
    opening = re.sub(r'\bheight="[^"]*"', f'height="{height:.1f}"', head.group())
    opening = re.sub(r'\bwidth="[^"]*"', f'width="{width:.1f}"', opening)
    return f"{svg[: head.start()]}{opening}{dark_style(tree)}{svg[head.end() :]}"


def smallest_text(tree: ElementTree.Element) -> float:
    """Return the size of the smallest letters, in the units of the picture; of 9 without any."""
    return min(_text_sizes(tree, 1.0, False), default=SMALLEST)


def _text_sizes(node: ElementTree.Element, scale: float, inside: bool) -> Iterator[float]:
    """Yield the sizes of letters: paths of a font with 100 units, scaled, in groups for texts."""
    inside = inside or (node.get("id") or "").startswith(("text_", "cell-text"))
    found = _SCALE.search(node.get("transform") or "")
    scale *= float(found.group(1)) if found and inside else 1.0
    if inside and node.tag.endswith("}use"):
        yield 100 * scale
    for child in node:
        yield from _text_sizes(child, scale, inside)


def dark_style(tree: ElementTree.Element) -> str:
    """Return the style sheet of the dark theme: each colour's counterpart."""
    pairs = sorted({pair for style in _styles(tree) for pair in _COLOUR.findall(style)})
    kept = ", ".join(f'[id^="{name}"] *' for name in _KEPT)
    dots = ", ".join(f'[id^="{name}"] ~ [id^="PathCollection"] *' for name in _KEPT[:2])
    rules = [
        f'[style*="{what}: {colour}"]:not({kept}, {dots}){{{what}:{on_dark(colour)} !important}}'
        for what, colour in pairs
    ]
    text = f"svg{{fill:{on_dark('#000000')}}}{''.join(rules)}"
    return f"\n<style>@media (prefers-color-scheme: dark) {{{text}}}</style>"


def _styles(node: ElementTree.Element) -> Iterator[str]:
    if not (node.get("id") or "").startswith(_KEPT):
        yield node.get("style") or ""
        for child in node:
            yield from _styles(child)
