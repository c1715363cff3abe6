"""The slides in a real browser: whole, large enough for the last row, and accessible."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser
from test_site import Watched

WIDTH, HEIGHT = 1280, 720
LEAST = 24
"""Pixels of type on a slide 720 high: a thirtieth of its height, which the last row can read."""

LOOK = """() => {
  const slide = Reveal.getCurrentSlide();
  const scale = Reveal.getScale();
  const box = slide.getBoundingClientRect();
  const out = [], small = [];
  const seen = [...slide.querySelectorAll("h1, h2, p, li, img, mjx-container")]
    .filter(n => !n.closest(".notes"));
  for (const node of seen) {
    const b = node.getBoundingClientRect();
    if (b.right > box.right + 2 || b.bottom > box.bottom + 2 || b.top < box.top - 2)
      out.push(node.outerHTML.slice(0, 90));
    if (node.localName !== "img" && parseFloat(getComputedStyle(node).fontSize) < LEAST)
      small.push(node.outerHTML.slice(0, 90));
  }
  const image = slide.querySelector("img");
  let share = null;
  if (image) {
    const b = image.getBoundingClientRect();
    const ratio = image.naturalWidth / image.naturalHeight;
    share = Math.min(b.width, b.height * ratio) / box.width;
  }
  return { out, small, share, scale,
    fragments: slide.querySelectorAll(".fragment").length,
    shown: slide.querySelectorAll(".fragment.visible").length };
}""".replace("LEAST", str(LEAST))


@pytest.fixture(scope="module")
def deck(chromium: Browser, site: Path) -> Iterator[Watched]:
    context = chromium.new_context(
        viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce"
    )
    watched = Watched(context.new_page())
    watched.page.goto((site / "slides" / "index.html").as_uri())
    watched.page.wait_for_function("() => window.Reveal?.isReady()")
    watched.page.evaluate("() => window.MathJax?.startup?.promise")
    yield watched
    context.close()


def test_every_slide_is_whole_large_and_accessible(deck: Watched) -> None:
    page, faults = deck.page, []
    total = page.evaluate("Reveal.getTotalSlides()")
    assert total >= 15
    pictures = 0
    for number in range(total):
        page.evaluate(f"Reveal.slide({number}, 0, 99)")
        look = page.evaluate(LOOK)
        title = page.evaluate("Reveal.getCurrentSlide().querySelector('h1, h2').textContent")
        faults += [f"{title}: outside: {n}" for n in look["out"]]
        faults += [f"{title}: too small: {n}" for n in look["small"]]
        assert look["shown"] == look["fragments"]
        if look["share"] is not None:
            pictures += 1
            if look["share"] < 0.7:
                faults.append(f"{title}: its picture fills {look['share']:.2f} of the width")
        faults += [
            f"{title}: {v['id']}: {v['nodes'][0]['html'][:120]}"
            for v in Axe().run(page, options={"preload": False}).response["violations"]
        ]
    assert faults == []
    assert pictures >= 6
    assert deck.problems == []
    assert [u for u in deck.requests if not u.startswith(("file:", "data:", "blob:"))] == []


def test_answers_wait_for_a_key_press(deck: Watched) -> None:
    page = deck.page
    asked = page.evaluate(
        "() => Reveal.getSlides().findIndex(s => s.querySelector('.ask') && "
        "s.querySelector('.fragment'))"
    )
    page.evaluate(f"Reveal.slide({asked}, 0, -1)")
    assert page.evaluate(LOOK)["shown"] == 0
    page.keyboard.press("ArrowRight")
    assert page.evaluate(LOOK)["shown"] == 1
    assert page.evaluate("Reveal.getIndices().h") == asked


def test_the_speaker_has_notes_and_a_clock_of_forty_minutes(deck: Watched) -> None:
    timings = deck.page.evaluate("() => Reveal.getSlides().map(s => Number(s.dataset.timing))")
    assert sum(timings) == 40 * 60
    notes = deck.page.evaluate("() => Reveal.getSlides().map(s => Reveal.getSlideNotes(s))")
    assert all(note.strip() for note in notes)
