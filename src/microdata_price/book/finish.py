"""A Sphinx extension that finishes a site: no network needed, pages that everyone can read."""

from __future__ import annotations

import html
import json
import re
import shutil
import textwrap
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote, urldefrag

from bs4 import BeautifulSoup, Tag

from ..figures.picture import draw_card
from .slides import write_deck

_MATH = r'<span class="math notranslate nohighlight">[^<]*</span>'
_MENDED = [
    (re.compile(pattern, re.S), mended)
    for pattern, mended in (
        # Icons come from the font that the styles load; the script with all of them is large.
        (r"<script[^>]*fontawesome\.js[^>]*></script>", ""),
        # What the theme gets wrong for screen readers. A table's empty corner is no heading; the
        # words that are seen are the words that are read.
        (r'<div (?=id="pst-primary-sidebar")', '<div role="region" aria-label="Contents" '),
        (r'role="doc-biblioentry"', 'role="listitem"'),
        (r'<summary aria-label="Toggle hidden content">', "<summary>"),
        (r"<th([^>]*)>\s*(?:<p>\s*</p>)?\s*</th>", r"<td\1></td>"),
        (r'<(i|span) (class="[^"]*\bfa-)', r'<\1 aria-hidden="true" \2'),
        # A figure that is wider than its place scrolls there, without its caption.
        (r'<img\b[^>]*class="computed-figure[^>]*>', r'<div class="wide-figure">\g<0></div>'),
        # A browser may break a line on either side of a formula, also before a full stop.
        (rf"(?<!\()\(+{_MATH}[.,;:!?)]*|{_MATH}[.,;:!?)]+", r'<span class="together">\g<0></span>'),
        # The front page is called as the site is.
        (r"<title>([^<]*) &#8212; \1</title>", r"<title>\1</title>"),
    )
]
_CARD = "_images/card.png"
_GREEK = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "gamma": "γ", "lambda": "λ", "ln": "ln"}
_LONGEST = 2500  # characters; a longer box has no preview: it is read on its own page

# What the site uses of MathJax: the one bundle that the configuration names, with all of TeX.
# It draws with paths, so it needs no font file, and adds MathML for screen readers.
_MATHJAX = "static/mathjax/tex-svg-full.js"
_LEFTOVERS = ("webpack-macros.html", "sbt-webpack-macros.html", "scripts/fontawesome.js")
# A page opened from a folder may not read other pages, so search shows titles without excerpts.
_SEARCH = 'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'


def finish(site: Path, title: str, address: str) -> None:
    """Mend every page of a built site, describe it and write what its links show."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        for pattern, mended in _MENDED:
            text = pattern.sub(mended, text)
        if 'class="bd-article"' in text:
            name = path.relative_to(site).as_posix()
            pages[name] = BeautifulSoup(text, "html.parser")
            tags = _tags(pages[name], name, title, address)
            text = text.replace("</title>", f"</title>\n{tags}", 1)
        path.write_text(text, encoding="utf-8")
    found = json.dumps(previews(pages), ensure_ascii=False, indent=0)
    (site / "_static/previews.js").write_text(f"window.bookPreviews = {found};\n", encoding="utf-8")
    draw_card(site / _CARD, title)


def _tags(page: BeautifulSoup, name: str, title: str, address: str) -> str:
    """Return a page's description and the address of the site's picture, for links to it."""
    called = _words(page.select_one(".bd-article h1") or page)
    said = description(page) or called
    home = f"{address.rstrip('/')}/" if address else "../" * name.count("/")
    tags = {
        'name="description"': said,
        'property="og:type"': "website",
        'property="og:site_name"': title,
        'property="og:title"': called,
        'property="og:description"': said,
        'property="og:image"': home + _CARD,
        'property="og:image:alt"': title,
        'name="twitter:card"': "summary_large_image",
    }
    if address:
        tags['property="og:url"'] = home + name
    return "\n".join(f'<meta {key} content="{html.escape(tags[key])}" />' for key in tags)


def description(page: BeautifulSoup) -> str:
    """Return what a page is about: its first paragraphs that say something, shortened."""
    said = ""
    for paragraph in page.select(".bd-article p:not(figure *, table *, details *, .admonition *)"):
        # A line in italics is about the page's making.
        note = len(paragraph.contents) == 1 and paragraph.find("em", recursive=False)
        if len(said) < 60 and not note:
            said = f"{said} {_words(paragraph)}".strip()
    return textwrap.shorten(said, 200, placeholder="…")


def _words(node: Tag) -> str:
    """Return an element's text on one line, its formulas in plain letters."""
    text = re.sub(r"\\([a-zA-Z]+)", lambda m: _GREEK.get(m[1], ""), node.get_text())
    return re.sub(r"\s+", " ", re.sub(r"\\[()\[\],;! ]|[{}$]|#$", "", text)).strip()


def previews(pages: Mapping[str, BeautifulSoup]) -> dict[str, str]:
    """Return what the pages show beside links: terms, boxes and equations, by their address."""
    links = [a for p in pages.values() for a in p.select(".bd-article a.internal[href*='#']")]
    linked = {urldefrag(str(link["href"])).fragment for link in links}
    found = {}
    for path, page in pages.items():
        for node in page.select(".bd-article [id]"):
            shown = preview(node) if quote(str(node["id"])) in linked else ""
            if 0 < len(shown) <= _LONGEST:
                found[f"{path}#{quote(str(node['id']))}"] = shown
    return found


def preview(node: Tag) -> str:
    """Return what is shown of a place: a term's meaning, a box, an equation; nothing of others."""
    after = node.find_next_sibling()
    if node.name == "span" and not node.get_text(strip=True) and isinstance(after, Tag):
        node = after  # an anchor that stands before its box or equation
    classes = {*node.get_attribute_list("class")}
    if node.name == "dt" and isinstance(after, Tag):
        return f"<p><strong>{_plain(node)}</strong></p>{_plain(after)}"
    if "admonition" in classes:
        return _plain(node)
    equation = {"math", "math-wrapper"} & classes
    return f'<div class="{" ".join(node["class"])}">{_plain(node)}</div>' if equation else ""


def _plain(node: Tag) -> str:
    """Return what an element holds without links and names, which would stand there twice."""
    copy = BeautifulSoup(node.decode_contents(), "html.parser")
    for link in copy.select("a"):
        link.decompose() if "headerlink" in link.get_attribute_list("class") else link.unwrap()
    for named in copy.select("[id]"):
        del named["id"]
    return copy.decode().strip()


def _finish(app: Any, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for name in _LEFTOVERS:
        (static / name).unlink(missing_ok=True)
    (static / "mathjax").mkdir(exist_ok=True)
    shutil.copy2(str(files("sphinx-mathjax-offline") / _MATHJAX), static / "mathjax")
    finish(static.parent, app.config.html_title, app.config.html_baseurl)
    reveal = Path(str(files("sphinx_revealjs") / "_static" / "revealjs"))
    write_deck(static.parent, Path(app.srcdir) / "slides", reveal)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_js_file(None, body=_SEARCH, priority=250)
    app.connect("build-finished", _finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
