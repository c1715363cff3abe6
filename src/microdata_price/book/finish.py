"""What is done to the finished pages of a site: mended, described, with previews."""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path

from bs4 import BeautifulSoup, Tag

from .cards import draw_card
from .previews import write_previews

# What the theme gets wrong for screen readers.
_MENDED = (
    (
        '<div id="pst-primary-sidebar"',
        '<div role="region" aria-label="Contents" id="pst-primary-sidebar"',
    ),
    ('role="doc-biblioentry"', 'role="listitem"'),
    # The words that are seen are the words that are read.
    ('<summary aria-label="Toggle hidden content">', "<summary>"),
)
_THEBE = re.compile(r'<script type="text/x-thebe-config">.*?</script>', re.DOTALL)
# The icons come from the font that the theme's styles load anyway; the script with every icon
# there is would be the largest file of a page.
_ICONS = re.compile(r"<script[^>]*fontawesome\.js[^>]*></script>")
_ICON = re.compile(r'<(i|span) (class="[^"]*\bfa-)')
# A table's empty corner is no heading.
_EMPTY_HEADING = re.compile(r"<th([^>]*)>\s*(?:<p>\s*</p>)?\s*</th>")
# A figure that is wider than its place scrolls there, without its caption.
_FIGURE = re.compile(r'<img\b[^>]*class="computed-figure[^>]*>')
# A browser may break a line on either side of a formula, also before a full stop.
_TOUCHED = re.compile(r'(\(*)(<span class="math notranslate nohighlight">[^<]*</span>)([.,;:!?)]*)')
# The front page is called as the site is.
_TITLE = re.compile(r"<title>(.*?) &#8212; \1</title>", re.DOTALL)
_SHORT, _LONG = 60, 200
_GREEK = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "gamma": "γ", "lambda": "λ", "ln": "ln"}


def finish(site: Path, title: str, address: str) -> None:
    """Mend every page of a built site, describe it and write what its links show."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        text = mended(path.read_text(encoding="utf-8"))
        if 'class="bd-article"' in text:
            pages[name] = BeautifulSoup(text, "html.parser")
            text = _described(text, pages[name], site, name, title, address)
        path.write_text(text, encoding="utf-8")
    write_previews(site, pages)


def mended(text: str) -> str:
    """Return a page as everyone can read it.

    Examples
    --------
    >>> mended("<title>A &#8212; A</title><th></th>")
    '<title>A</title><td></td>'
    >>> mended('<span class="math notranslate nohighlight">x</span>).')
    '<span class="together"><span class="math notranslate nohighlight">x</span>).</span>'
    """
    text = _ICONS.sub("", _THEBE.sub("", text))
    text = _EMPTY_HEADING.sub(r"<td\1></td>", text)
    text = _ICON.sub(r'<\1 aria-hidden="true" \2', text)
    text = _FIGURE.sub(r'<div class="wide-figure">\g<0></div>', text)
    text = _TOUCHED.sub(_together, text)
    text = _TITLE.sub(r"<title>\1</title>", text)
    for wrong, right in _MENDED:
        text = text.replace(wrong, right)
    return text


def _together(found: re.Match[str]) -> str:
    """Keep a formula on the line of the marks that touch it."""
    touched = found[1] or found[3]
    return f'<span class="together">{found[0]}</span>' if touched else found[0]


def _described(
    text: str, page: BeautifulSoup, site: Path, name: str, title: str, address: str
) -> str:
    """Return a page with its description and its picture for those who link to it."""
    heading = page.select_one(".bd-article h1")
    if heading is None:
        return text
    called = _words(heading)
    said = description(page) or called
    card = draw_card(site, name, called, "" if called == title else title)
    here = posixpath.dirname(name)
    picture = f"{address.rstrip('/')}/{card}" if address else posixpath.relpath(card, here or ".")
    tags = [
        ("name", "description", said),
        ("property", "og:type", "website"),
        ("property", "og:site_name", title),
        ("property", "og:title", called),
        ("property", "og:description", said),
        ("property", "og:image", picture),
        ("property", "og:image:alt", called),
        ("name", "twitter:card", "summary_large_image"),
    ]
    if address:
        tags.append(("property", "og:url", f"{address.rstrip('/')}/{name}"))
    lines = [f'<meta {kind}="{key}" content="{html.escape(value)}" />' for kind, key, value in tags]
    return text.replace("</title>", "</title>\n    " + "\n    ".join(lines), 1)


def description(page: BeautifulSoup) -> str:
    """Return what a page is about: its first paragraphs that say something, shortened.

    Examples
    --------
    >>> text = "<article class='bd-article'><p><em>A note.</em></p><p>The total is wrong.</p>"
    >>> description(BeautifulSoup(text, "html.parser"))
    'The total is wrong.'
    """
    said = ""
    for paragraph in page.select(".bd-article p"):
        whole = paragraph.find("em", recursive=False)
        words = _words(paragraph)
        # A line in italics is about the page's making; boxes and captions come too early.
        boxed = paragraph.find_parent(["figure", "table", "details", "aside"])
        note = isinstance(whole, Tag) and len(list(paragraph.children)) == 1
        if boxed or note or not words or "admonition-title" in (paragraph.get("class") or ""):
            continue
        said = f"{said} {words}".strip()
        if len(said) >= _SHORT:
            break
    if len(said) <= _LONG:
        return said
    return said[: _LONG - 1].rsplit(" ", 1)[0].rstrip(",;:.") + "…"


def _words(node: Tag) -> str:
    """Return an element's text on one line, its formulas in plain letters."""
    text = "".join(piece for piece in node.strings if getattr(piece.parent, "name", "") != "script")
    text = re.sub(r"\\([a-zA-Z]+)", lambda m: _GREEK.get(m.group(1), ""), text)
    return re.sub(r"\s+", " ", re.sub(r"\\[()\[\],;! ]|[{}$]|#$", "", text)).strip()
