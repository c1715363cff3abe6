"""What is handed out fits on one sheet; a chosen prediction shows what happens."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from pypdf import PdfReader
from test_site import address, opened, violations

MARGIN = {"top": "1.5cm", "bottom": "1.5cm", "left": "1.8cm", "right": "1.8cm"}


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize(
    ("page", "first", "last"),
    [
        ("teach/take_home", "Setting. A table has", "Nor that the mean over the cells"),
        ("teach/lesson", "Before. A red and a white die", "by at least"),
        ("dice/sheet", "Nobody lives in your street", "In one sentence"),
    ],
)
def test_what_is_handed_out_prints_on_one_page(
    chromium: Browser, site: Path, page: str, first: str, last: str, paper: str
) -> None:
    with opened(chromium, address(site, page)) as watched:
        printed = PdfReader(io.BytesIO(watched.page.pdf(format=paper, margin=MARGIN)))
    texts = [" ".join(sheet.extract_text().split()) for sheet in printed.pages]
    (sheet,) = [text for text in texts if first in text]
    assert last in sheet.partition(first)[2]
    assert page != "dice/sheet" or len(texts) == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_sheet_is_accessible_and_fits_a_phone(
    chromium: Browser, site: Path, theme: str
) -> None:
    with opened(chromium, address(site, "dice/sheet"), theme=theme, width=390) as watched:
        assert watched.page.evaluate("() => document.documentElement.scrollWidth") <= 390
        assert violations(watched.page) == []


def choose(page: Page, name: str, letter: str) -> str:
    box = page.locator(f"#{name}")
    choice = box.locator(".predictions label", has_text=f"({letter})").locator("input")
    choice.focus()
    page.keyboard.press("Space")
    assert choice.is_checked()
    return box.locator(".predicted").inner_text()


def test_a_chosen_prediction_shows_what_happens(chromium: Browser, site: Path) -> None:
    with opened(chromium, address(site, "notebooks/what_can_be_reached"), width=390) as watched:
        page = watched.page
        answer = page.locator("#clipping-ex-1 ~ details.solution").first
        assert answer.get_attribute("open") is None
        assert choose(page, "clipping-ex-1", "a") == "You predict (a). Below is what happens."
        assert answer.get_attribute("open") is not None
        assert "squared" in answer.inner_text()
        others = page.locator("details.solution[open]").count()
        assert others == 1
        assert watched.problems == []


def test_students_choose_too_and_then_run(chromium: Browser, students: Path) -> None:
    with opened(chromium, address(students, "notebooks/what_can_be_reached")) as watched:
        said = choose(watched.page, "clipping-ex-1", "b")
        assert (
            said == "You predict (b). Now run the notebook: its link is at the foot of this page."
        )


def test_every_exercise_that_can_be_predicted_has_its_choices(
    chromium: Browser, site: Path
) -> None:
    with opened(chromium, address(site, "teach/take_home")) as watched:
        rows = watched.page.locator("tbody tr", has_text="yes")
        links = [r.locator("td:nth-child(2) a").get_attribute("href") for r in rows.all()]
    assert len(links) >= 8
    for page in sorted({str(link).partition("#")[0] for link in links}):
        with opened(chromium, (site / "teach" / page).resolve().as_uri()) as watched:
            for place in [str(k).partition("#")[2] for k in links if str(k).startswith(page)]:
                box = watched.page.locator(f"#{place}")
                assert box.locator(".predictions input").count() == 3, place
                assert watched.page.locator(f"#{place} ~ details.solution").count() >= 1, place
