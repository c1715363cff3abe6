"""What is handed out fits on one sheet; a chosen prediction shows what happens."""

import io

import pytest
from browser_pages import accessible, address, opened
from pypdf import PdfReader

MARGIN = {"top": "1.5cm", "bottom": "1.5cm", "left": "1.8cm", "right": "1.8cm"}


@pytest.mark.parametrize(
    ("page", "first", "last"),
    [
        ("teach/take_home", "Setting. A table has", "Nor that the mean over the cells"),
        ("teach/lesson", "Before. A red and a white die", "by at least"),
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
    choice.focus()
    page.keyboard.press("Space")
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
