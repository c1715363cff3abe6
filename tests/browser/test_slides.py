"""The slides in a real browser: whole, large enough for the last row, and accessible."""

import pytest
from browser_pages import address, opened, violations

LOOK = """() => {
  // 24 pixels of type on a slide 720 high, a thirtieth of its height, can the last row read.
  const least = 24, slide = Reveal.getCurrentSlide(), box = slide.getBoundingClientRect();
  const faults = [];
  const seen = [...slide.querySelectorAll("h1, h2, p, li, img, mjx-container")]
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
    assert pictures >= 6
    assert answers >= 6
