"""Finished pages: descriptions, cards, previews."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from PIL import Image

from microdata_price.book.finish import description, finish, mended
from microdata_price.book.previews import preview

PAGE = """<!DOCTYPE html><html><head><title>{title} &#8212; The book</title></head><body>
<article class="bd-article"><h1>{title}<a class="headerlink" href="#a">#</a></h1>
<p><em>This page is a notebook.</em></p>
<p>At <span class="math">\\(\\epsilon = 0.5\\)</span> the total is "wrong" by much more than anyone
would guess beforehand.</p>{more}</article></body></html>"""
BOX = """<div class="proof theorem admonition" id="thm">\
<p class="admonition-title">T</p><p>x</p></div>"""
LINK = '<p><a class="reference internal" href="../b.html#thm">T</a></p>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "_static").mkdir()
    (tmp_path / "n").mkdir()
    pages = {"b": ("The book", BOX), "n/a": ("A chapter", LINK)}
    for name, (title, more) in pages.items():
        text = PAGE.format(title=title, more=more)
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    return tmp_path


def meta(path: Path) -> dict[str, str]:
    page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    tags = page.find_all("meta", content=True)
    return {str(t.get("name") or t.get("property")): str(t["content"]) for t in tags}


@pytest.mark.parametrize(
    ("address", "picture"),
    [
        ("", "../_images/cards/n-a.png"),
        ("https://example.org/b/", "https://example.org/b/_images/cards/n-a.png"),
    ],
)
def test_a_page_has_a_description_and_a_picture(site: Path, address: str, picture: str) -> None:
    finish(site, "The book", address)
    told = meta(site / "n" / "a.html")
    assert told["description"].startswith('At ε = 0.5 the total is "wrong" by')
    assert told["og:image"] == picture
    with Image.open(site / "_images" / "cards" / "n-a.png") as card:
        assert card.size == (1200, 630)


def test_the_same_pages_give_the_same_files(site: Path) -> None:
    sources = {p: p.read_bytes() for p in site.rglob("*.html")}
    finish(site, "The book", "")
    first = {p: p.read_bytes() for p in site.rglob("*") if p.is_file()}
    for path, content in sources.items():
        path.write_bytes(content)
    finish(site, "The book", "")
    assert {p: p.read_bytes() for p in site.rglob("*") if p.is_file()} == first


def test_what_a_link_leads_to_is_kept_for_its_preview(site: Path) -> None:
    finish(site, "The book", "")
    text = (site / "_static" / "previews.js").read_text(encoding="utf-8")
    kept = json.loads(text.removeprefix("window.bookPreviews = ").rstrip(";\n"))
    assert kept == {"b.html#thm": '<p class="admonition-title">T</p><p>x</p>'}


def test_a_preview_has_no_names_and_no_links_of_its_own() -> None:
    text = '<div class="admonition" id="a"><p id="b">x <a href="#c">y</a></p></div>'
    node = BeautifulSoup(text, "html.parser").div
    assert node is not None
    assert preview(node) == "<p>x y</p>"


def test_no_preview_of_a_heading_or_a_name_of_the_package() -> None:
    for text in ('<h2 id="a">x</h2>', '<dl class="py"><dt id="a">x</dt><dd>y</dd></dl>'):
        node = BeautifulSoup(text, "html.parser").find(id="a")
        assert node is not None
        assert preview(node) == ""  # type: ignore[arg-type]


def test_a_long_description_ends_between_words() -> None:
    text = f"<article class='bd-article'><p>{'word ' * 90}</p></article>"
    said = description(BeautifulSoup(text, "html.parser"))
    assert said.endswith("word…")
    assert len(said) <= 200


def test_bars_of_code_are_read_as_they_are_seen() -> None:
    assert mended('<summary aria-label="Toggle hidden content">') == "<summary>"
