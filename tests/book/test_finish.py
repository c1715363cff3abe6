"""Finished pages: mended, with descriptions, cards and previews, the same each time."""

import json
import re

import pytest
from bs4 import BeautifulSoup
from PIL import Image

from microdata_price.book.finish import finish, preview

FORMULA = '<span class="math notranslate nohighlight">\\(x\\)</span>'
PAGE = """<!DOCTYPE html><html><head><title>{title} &#8212; The book</title></head><body>
<article class="bd-article"><h1>{title}<a class="headerlink" href="#a">#</a></h1>
<p><em>This page is a notebook.</em></p>
<p>At <span class="math">\\(\\epsilon = 0.5\\)</span> the total is "wrong" by much more than anyone
would guess beforehand.{words}</p>{more}</article></body></html>"""
BOX = '<div class="admonition" id="thm"><p class="admonition-title">T</p><p>x</p></div>'
LINKS = (
    '<p><a class="reference internal" href="../b.html#thm">T</a> '
    '<a class="internal" href="#here">x</a></p><h2 id="here">No preview of this</h2>'
    f'<summary aria-label="Toggle hidden content"></summary><table><th></th></table>{FORMULA}).'
)


def files(site):
    return {p: p.read_bytes() for p in site.rglob("*") if p.is_file()}


@pytest.mark.parametrize("address", ["", "https://example.org/b/"])
def test_pages_are_finished_in_the_same_way_each_time(tmp_path, address):
    (tmp_path / "_static").mkdir()
    (tmp_path / "n").mkdir()
    for name, title, more in (("b", "The book", BOX), ("n/a", "A chapter", LINKS)):
        text = PAGE.format(title=title, words=" word" * 90, more=more)
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    sources = files(tmp_path)
    finish(tmp_path, "The book", address)
    first = files(tmp_path)
    for path, content in sources.items():
        path.write_bytes(content)
    finish(tmp_path, "The book", address)
    assert files(tmp_path) == first
    page = BeautifulSoup((tmp_path / "n" / "a.html").read_text(encoding="utf-8"), "html.parser")
    told = {t.get("name") or t.get("property"): t["content"] for t in page.select("meta")}
    assert re.fullmatch('At ε = 0.5 the total is "wrong" by .{115,160}word…', told["description"])
    assert told["og:image"] == f"{address or '../'}_images/card.png"
    with Image.open(tmp_path / "_images" / "card.png") as card:
        assert card.size == (1200, 630)
    assert (page.select_one("summary").attrs, len(page.select("table td"))) == ({}, 1)
    assert page.select_one(".together").get_text() == "\\(x\\))."
    assert "<title>The book</title>" in (tmp_path / "b.html").read_text(encoding="utf-8")
    script = (tmp_path / "_static" / "previews.js").read_text(encoding="utf-8")
    kept = json.loads(script.removeprefix("window.bookPreviews = ").rstrip(";\n"))
    assert kept == {"b.html#thm": '<p class="admonition-title">T</p><p>x</p>'}


@pytest.mark.parametrize(
    ("shown", "kept"),
    [
        ('<div class="admonition" id="a"><p id="b">x <a href="#c">y</a></p></div>', "<p>x y</p>"),
        ('<span id="a"></span><div class="math" id="b">z</div>', '<div class="math">z</div>'),
        ('<dl><dt id="a">D</dt><dd><p>E</p></dd></dl>', "<p><strong>D</strong></p><p>E</p>"),
        ('<h2 id="a">x</h2><p>y</p>', ""),
    ],
)
def test_a_preview_has_no_names_and_no_links_of_its_own(shown, kept):
    assert preview(BeautifulSoup(shown, "html.parser").find(id="a")) == kept
