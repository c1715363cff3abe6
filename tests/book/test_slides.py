"""Slides: one a section, notes apart, pictures copied, and nothing a deck cannot show."""

import re
from pathlib import Path

import pytest

from microdata_price.book.quote import Found, quote
from microdata_price.book.slides import deck, read_slides, stage_slides
from microdata_price.chapters.lesson import Lesson
from microdata_price.exceptions import BuildError

ROOT = Path(__file__).parents[2]
PICTURE = '```{image} ../images/a.svg\n:alt: "A curve that rises."\n:class: computed-figure\n```\n'
NOTE = ":::{dropdown} Say, minutes 0 to 2\n:class-container: fold\nHello *class*.\n:::\n"


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
    (slide,) = read_slides("# T\n\n[a](../notebooks/dice.ipynb) [b](lesson.md)\n")
    assert 'href="../notebooks/dice.html"' in slide.body
    assert 'href="../teach/lesson.html"' in slide.body


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


def lesson_values():
    return Lesson().values | {f"{name}.alt": "A picture." for name in PICTURES}


PICTURES = [
    "lesson-dice", "lesson-neighbours", "lesson-growth", "lesson-level", "lesson-largest",
    "lesson-hidden", "lesson-plane",
]  # fmt: skip


REAL = {"nnls_total": "1.9", "reweighted_total": "0.99"}


def own_slides():
    text = (ROOT / "book" / "teach" / "slides.md").read_text(encoding="utf-8")
    return quote(
        text,
        "teach/slides",
        Found(
            quoted={
                "lesson": lesson_values(),
                "benchmark": {"nnls_total": "1.9", "reweighted_total": "0.99"},
            }
        ),
    )


def test_a_question_is_framed_and_says_how_long_to_think():
    (slide,) = read_slides("# T\n\n:::{admonition} Ask (30 seconds)\nWhat is $x$?\n:::\n\ny\n")
    assert '<div class="ask">\n<p>What is <span class="math inline">' in slide.body
    assert '<p class="pause">Think: 30 seconds</p>' in slide.body
    assert "<p>y</p>" in slide.body
    assert "BLOCK" not in slide.body


def test_what_is_revealed_waits_for_a_key_press():
    text = "# T\n\n:::{div} fragment\n$$ a $$\n:::\n\n:::{div} steps\n- b\n- c\n:::\n"
    (slide,) = read_slides(text)
    assert slide.body.count('class="fragment"') == 3
    assert slide.body.count('<li class="fragment">') == 2


def test_a_revealed_part_may_hold_a_picture_and_a_question():
    inner = f"{PICTURE}\n:::{{admonition}} Ask (1 minute)\nq\n:::\n"
    (slide,) = read_slides(f"# T\n\n::::{{div}} fragment\n{inner}::::\n")
    assert slide.body.count("<img ") == slide.body.count('class="ask"') == 1
    assert "BLOCK" not in slide.body


def test_the_speakers_clock_goes_on_from_slide_to_slide():
    second = NOTE.replace("0 to 2", "2 to 5")
    first, last = read_slides(f"# T\n\n{NOTE}\n## U\n\n{second}")
    assert (first.start, first.end, last.start, last.end) == (0, 2, 2, 5)
    assert 'data-timing="180"' in last.section()
    assert "Minutes 2 to 5." in last.section()
    with pytest.raises(BuildError, match="slide 'U' is for minutes 3 to 5; the slide before ends"):
        read_slides(f"# T\n\n{NOTE}\n## U\n\n{NOTE.replace('0 to 2', '3 to 5')}")


def test_the_books_own_slides_can_be_read_and_leave_ten_of_fifty_minutes():
    slides = read_slides(own_slides())
    assert all(s.notes and s.end > s.start for s in slides)
    assert slides[-1].end == 40
    assert sum("fragment" in s.body for s in slides) >= 8
    assert sum('class="ask"' in s.body for s in slides) >= 4
    assert [re.search(r"images/([\w-]+)\.svg", s.body)[1] for s in slides if "<img" in s.body] == (
        PICTURES
    )


def test_no_slide_is_a_wall_of_text():
    for slide in read_slides(own_slides()):
        words = re.sub(r"<[^>]*>|\\[(\[].*?\\[)\]]", " ", slide.body, flags=re.DOTALL).split()
        assert len(words) <= 70, slide.title
