"""What a link to a term, a theorem or an equation shows beside it, from the finished pages."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urldefrag

from bs4 import BeautifulSoup, Tag

FILE = "previews.js"
_LONGEST = 2500
"""A box that is longer is read on its own page."""


def write_previews(site: Path, pages: Mapping[str, BeautifulSoup]) -> None:
    """Write the script that holds the preview of every place that some page links to."""
    found = {}
    for target in sorted({t for path, page in pages.items() for t in _targets(path, page)}):
        name, place = urldefrag(target)
        node = pages[name].find(id=unquote(place)) if name in pages else None
        shown = preview(node) if isinstance(node, Tag) else ""
        if shown:
            found[target] = shown
    text = json.dumps(found, ensure_ascii=False, indent=0)
    (site / "_static" / FILE).write_text(f"window.bookPreviews = {text};\n", encoding="utf-8")


def _targets(path: str, page: BeautifulSoup) -> Iterator[str]:
    for link in page.select(".bd-article a.internal[href*='#']"):
        file, place = urldefrag(str(link["href"]))
        whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
        if place:
            yield f"{whole}#{place}"


def preview(node: Tag) -> str:
    """Return what is shown of a place: a term's meaning, a box, an equation; nothing of others.

    Examples
    --------
    >>> page = BeautifulSoup('<dl><dt id="t">D</dt><dd><p>An error.</p></dd></dl>', "html.parser")
    >>> preview(page.dt)
    '<p><strong>D</strong></p><p>An error.</p>'
    """
    node = _box(node)
    classes = node.get_attribute_list("class")
    if node.name == "dt" and node.find_parent("dl", class_="py") is None:
        meaning = node.find_next_sibling("dd")
        parts = [f"<p><strong>{_inside(node)}</strong></p>", _inside(meaning) if meaning else ""]
    elif "admonition" in classes or {"math", "math-wrapper"} & {*classes}:
        parts = [_inside(node) if "admonition" in classes else str(_plain(node))]
    else:
        return ""
    text = "".join(parts).strip()
    return text if len(text) <= _LONGEST else ""


def _box(node: Tag) -> Tag:
    """Return the box or equation that an anchor stands before, or the node itself."""
    if node.name == "span" and not node.get_text(strip=True):
        after = node.find_next_sibling()
        return after if isinstance(after, Tag) else node
    return node


def _inside(node: Tag) -> str:
    return _plain(node).decode_contents().strip()


def _plain(node: Tag) -> Tag:
    """Return a copy without links and names, which would stand on the page twice."""
    copy = BeautifulSoup(str(node), "html.parser").contents[0]
    assert isinstance(copy, Tag)
    for link in copy.select("a"):
        if "headerlink" in link.get_attribute_list("class"):
            link.decompose()
        else:
            link.unwrap()
    for named in [copy, *copy.select("[id]")]:
        named.attrs.pop("id", None)
    return copy
