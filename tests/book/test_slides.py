"""Slides: one a section, notes apart, pictures copied, and nothing a deck cannot show."""

import re
from pathlib import Path

import pytest

from microdata_price.book.slides import deck, read_slides, stage_slides
from microdata_price.exceptions import BuildError

ROOT = Path(__file__).parents[2]
PICTURE = '```{image} ../images/a.svg\n:alt: "A curve that rises."\n:class: computed-figure\n```\n'
NOTE = ":::{admonition} Say\nHello *class*.\n:::\n"


def staged(folder, text):
    (folder / "teach").mkdir(parents=True)
    (folder / "images").mkdir()
    (folder / "teach" / "slides.md").write_text(text)
    (folder / "images" / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    return folder


def test_each_section_is_a_slide_with_its_notes_apart():
    first, second = read_slides(f"# T\n\nx\n\n{NOTE}\n## U\n\n{PICTURE}\n$$ a < b $$\n")
    assert first.body.startswith("<h1>T</h1>")
    assert "Hello" not in first.body
    assert "<em>class</em>" in first.notes
    assert '<img src="images/a.svg" alt="A curve that rises."' in second.body
    assert "\\[a &lt; b\\]" in second.body
    assert second.notes == ""


def test_the_way_to_the_deck_is_not_in_the_deck():
    (slide,) = read_slides('# T\n\n<a href="../slides/index.html">Open</a> (keys)\nmore.\n\nx\n')
    assert slide.body.strip() == "<h1>T</h1>\n<p>x</p>"


def test_links_lead_from_the_deck_to_the_pages():
    (slide,) = read_slides("# T\n\n[a](../notebooks/dice.ipynb) [b](lessons.md)\n")
    assert 'href="../notebooks/dice.html"' in slide.body
    assert 'href="../teach/lessons.html"' in slide.body


@pytest.mark.parametrize("text", [":::{note}\nx\n:::\n", "{ref}`x`", "```{figure} x.svg\n```\n"])
def test_what_a_deck_cannot_show_is_refused(text):
    with pytest.raises(BuildError, match="slides may hold only"):
        read_slides(f"# T\n\n{text}")


def test_a_picture_that_nobody_drew_is_refused(tmp_path):
    book = staged(tmp_path / "b", f"# T\n\n{PICTURE.replace('a.svg', 'none.svg')}")
    with pytest.raises(BuildError, match=r"none\.svg, which no notebook drew"):
        stage_slides(book, tmp_path / "site", "T")


def test_the_deck_carries_all_that_it_needs(tmp_path):
    book = staged(tmp_path / "b", f"# T\n\n## U\n\n{PICTURE}")
    assert stage_slides(book, tmp_path / "site", "T")
    folder = tmp_path / "site" / "slides"
    text = (folder / "index.html").read_text()
    for name in ("reset.css", "reveal.css", "reveal.js", "notes.js", "images/a.svg"):
        assert (folder / name).is_file()
        assert f'"{name}"' in text
    assert "http" not in text.replace("http-equiv", "")


def test_a_book_without_slides_has_no_deck(tmp_path):
    (tmp_path / "b").mkdir()
    assert not stage_slides(tmp_path / "b", tmp_path / "site", "T")
    assert not (tmp_path / "site").exists()


def test_titles_are_escaped():
    assert "<title>a &lt; b: slides</title>" in deck([], "a < b")


def test_the_books_own_slides_can_be_read():
    text = (ROOT / "book" / "teach" / "slides.md").read_text(encoding="utf-8")
    slides = read_slides(re.sub(r"\{glue:text\}`[^`]+`", "7", text))
    assert len(slides) >= 10
    assert all(s.notes for s in slides)
