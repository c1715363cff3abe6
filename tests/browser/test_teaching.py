"""Slides are whole and large, hand-outs fit on one sheet, a prediction shows what happens."""

import io

import pytest
from browser_pages import accessible, address, opened, violations
from pypdf import PdfReader

MARGIN = {"top": "1.5cm", "bottom": "1.5cm", "left": "1.8cm", "right": "1.8cm"}
LOOK = """() => {
  // 24 pixels of type on a slide 720 high, a thirtieth of its height, can the last row read.
  const least = 24, slide = Reveal.getCurrentSlide(), box = slide.getBoundingClientRect();
  const faults = [], seen = [...slide.querySelectorAll("h1, h2, p, li, img, mjx-container")]
    .filter(n => !n.closest(".notes"));
  for (const node of seen) {
    const b = node.getBoundingClientRect(), said = node.outerHTML.slice(0, 90);
    if (b.right > box.right + 2 || b.bottom > box.bottom + 2 || b.top < box.top - 2)
      faults.push(`outside: ${said}`);
    if (node.localName !== "img" && parseFloat(getComputedStyle(node).fontSize) < least)
      faults.push(`too small: ${said}`);
  }
  const image = slide.querySelector("img");
  if (image) {
    const b = image.getBoundingClientRect(), ratio = image.naturalWidth / image.naturalHeight;
    const share = Math.min(b.width, b.height * ratio) / box.width;
    if (share < 0.7) faults.push(`its picture fills ${share} of the width`);
  }
  return { faults, image: Boolean(image), title: slide.querySelector("h1, h2").textContent,
    fragments: slide.querySelectorAll(".fragment").length,
    shown: slide.querySelectorAll(".fragment.visible").length };
}"""


@pytest.fixture(scope="module")
def deck(chromium, site):
    with opened(chromium, address(site, "slides/index")) as page:
        page.set_viewport_size({"width": 1280, "height": 720})
        page.wait_for_function("() => window.Reveal?.isReady()")
        yield page


def test_every_slide_is_whole_large_and_accessible_and_answers_wait(deck):
    faults, pictures, answers = [], 0, 0
    total = deck.evaluate("Reveal.getTotalSlides()")
    assert total >= 15
    for number in range(total):
        deck.evaluate(f"Reveal.slide({number}, 0, -1)")
        assert deck.evaluate(LOOK)["shown"] == 0
        deck.evaluate(f"Reveal.slide({number}, 0, 99)")
        look = deck.evaluate(LOOK)
        assert look["shown"] == look["fragments"]
        answers += look["fragments"]
        pictures += look["image"]
        found = look["faults"] + violations(deck, ".slides .present" if number else None)
        faults += [f"{look['title']}: {fault}" for fault in found]
    assert faults == []
    assert min(pictures, answers) >= 6


@pytest.mark.parametrize(
    ("page", "first", "last"),
    [
        ("teach/take_home", "Setting. A table has", "Nor that the mean over the cells"),
        ("teach/lesson", "Before. A red and a white die", "they demand"),
        ("dice/sheet", "Nobody lives in your street", "In one sentence"),
    ],
)
def test_what_is_handed_out_prints_on_one_page(chromium, site, page, first, last):
    with opened(chromium, address(site, page), width=390) as tab:
        if page == "dice/sheet":
            assert tab.evaluate("() => document.documentElement.scrollWidth") <= 390
            assert accessible(tab) == []
        for paper in ("A4", "Letter"):
            printed = PdfReader(io.BytesIO(tab.pdf(format=paper, margin=MARGIN)))
            texts = [" ".join(sheet.extract_text().split()) for sheet in printed.pages]
            (sheet,) = [text for text in texts if first in text]
            assert last in sheet.partition(first)[2], paper
            assert page != "dice/sheet" or len(texts) == 1


def choose(page, name, letter):
    box = page.locator(f"#{name}")
    choice = box.locator(".predictions label", has_text=f"({letter})").locator("input")
    choice.press("Space")
    assert choice.is_checked()
    return box.locator(".predicted").inner_text()


def test_a_chosen_prediction_shows_what_happens(chromium, site, students):
    page = "notebooks/what_can_be_reached"
    with opened(chromium, address(site, page), width=390) as tab:
        answer = tab.locator("#clipping-ex-1 ~ details.solution").first
        assert answer.get_attribute("open") is None
        assert choose(tab, "clipping-ex-1", "a") == "You predict (a). Below is what happens."
        assert answer.get_attribute("open") is not None
        assert "squared" in answer.inner_text()
        assert tab.locator("details.solution[open]").count() == 1
    with opened(chromium, address(students, page)) as tab:
        said = choose(tab, "clipping-ex-1", "b")
        assert said.startswith("You predict (b). Now run the notebook: its link")
