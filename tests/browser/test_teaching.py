"""What is handed out fits on one sheet; a chosen prediction shows what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from test_site import address, opened

MARGIN = {"top": "1.5cm", "bottom": "1.5cm", "left": "1.8cm", "right": "1.8cm"}


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("page", ["handout", "notes", "dice_sheet"])
def test_what_is_handed_out_prints_on_one_page(
    chromium: Browser, site: Path, page: str, paper: str
) -> None:
    with opened(chromium, address(site, f"teach/{page}")) as watched:
        printed = watched.page.pdf(format=paper, margin=MARGIN)
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", printed)) == 1


def choose(page: Page, name: str, letter: str) -> str:
    box = page.locator(f"#{name}")
    choice = box.locator(".predictions label", has_text=f"({letter})").locator("input")
    choice.focus()
    page.keyboard.press("Space")
    assert choice.is_checked()
    return box.locator(".predicted").inner_text()


def test_a_chosen_prediction_shows_what_happens(chromium: Browser, site: Path) -> None:
    with opened(chromium, address(site, "notebooks/two_lemmas"), width=390) as watched:
        page = watched.page
        answer = page.locator("#lemmas-ex-1 ~ details.solution").first
        assert answer.get_attribute("open") is None
        assert choose(page, "lemmas-ex-1", "a") == "You predict (a). Below is what happens."
        assert answer.get_attribute("open") is not None
        assert "squared" in answer.inner_text()
        others = page.locator("details.solution[open]").count()
        assert others == 1
        assert watched.problems == []


def test_students_choose_too_and_then_run(chromium: Browser, students: Path) -> None:
    with opened(chromium, address(students, "notebooks/two_lemmas")) as watched:
        said = choose(watched.page, "lemmas-ex-1", "b")
        assert said == "You predict (b). Now run the notebook: its link is at the top of this page."


def test_every_exercise_that_can_be_predicted_has_its_choices(
    chromium: Browser, site: Path
) -> None:
    with opened(chromium, address(site, "teach/exercises")) as watched:
        rows = watched.page.locator("tbody tr", has_text="yes")
        links = [r.locator("td:nth-child(2) a").get_attribute("href") for r in rows.all()]
    assert len(links) >= 13
    for page in sorted({str(link).partition("#")[0] for link in links}):
        with opened(chromium, (site / "teach" / page).resolve().as_uri()) as watched:
            for place in [str(k).partition("#")[2] for k in links if str(k).startswith(page)]:
                box = watched.page.locator(f"#{place}")
                assert box.locator(".predictions input").count() == 3, place
                assert watched.page.locator(f"#{place} ~ details.solution").count() >= 1, place
