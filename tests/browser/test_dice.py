"""The page that counts a class's throws, with the keyboard, on a phone, and against the package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from test_site import Watched

from microdata_price.chapters.dice import clipped_sum_law, signed_sum_law

THROWS = [3, -2, 0, 1, 5, -4, 2, -1]


def watched(chromium: Browser, site: Path, width: int, theme: str, place: str) -> Watched:
    context = chromium.new_context(
        viewport={"width": width, "height": 844}, color_scheme=theme, reduced_motion="reduce"
    )
    page = Watched(context.new_page())
    page.page.goto((site / "dice" / "index.html").as_uri() + place)
    return page


@pytest.fixture
def page(chromium: Browser, site: Path) -> Iterator[Page]:
    found = watched(chromium, site, 1280, "light", "")
    yield found.page
    assert found.problems == []
    assert [u for u in found.requests if not u.startswith(("file:", "data:"))] == []
    found.page.context.close()


def sums(page: Page) -> tuple[str, str]:
    return page.inner_text("#signed"), page.inner_text("#clipped")


def test_throws_are_counted_one_by_one_with_the_keys_on_the_page(page: Page) -> None:
    for value in THROWS:
        page.get_by_role("button", name=str(value).replace("-", "−"), exact=True).click()
    assert sums(page) == (str(sum(THROWS)), str(sum(max(0, v) for v in THROWS)))
    bars = page.eval_on_selector_all(
        "#throws-picture rect[data-value]",
        "all => all.map(r => [Number(r.dataset.value), Number(r.dataset.count)])",
    )
    assert dict(bars) == {v: THROWS.count(v) for v in THROWS}
    assert page.locator("#throws-picture .below").count() == sum(v < 0 for v in {*THROWS})


def test_the_keyboard_alone_plays_two_rounds_and_keeps_the_total(page: Page) -> None:
    page.focus("#throws")
    page.keyboard.type("3 -2, 0 1")
    page.keyboard.press("Enter")
    page.keyboard.type("5 −4 2 -1")
    page.keyboard.press("Enter")
    assert sums(page) == ("4", "11")
    page.focus("#next")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "throws"
    page.keyboard.type("1 1")
    page.keyboard.press("Enter")
    assert page.inner_text("#rounds").split("\n") == [
        "1\t8\t4\t11\tsigned",
        "2\t2\t2\t2\tboth alike",
        "all\t10\t6\t13\tsigned",
    ]
    page.focus("#level-button")
    page.keyboard.press("Enter")
    page.fill("#total", "1")
    page.focus("#level")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#level-said") == (
        "At a level of 0.5 the class has 1; announced is 1. Stop."
    )
    page.check("#full")
    assert "The street with three people called out 4 and ends with 3.5." in page.inner_text(
        "#level-said"
    )


@pytest.mark.parametrize("typed", ["7", "2.5", "x", "3 -6"])
def test_what_is_no_throw_is_refused_whole(page: Page, typed: str) -> None:
    page.fill("#throws", typed)
    page.keyboard.press("Enter")
    assert page.inner_text("#told").startswith("Not a throw: ")
    assert sums(page) == ("–", "–")
    assert page.input_value("#throws") == typed


def test_undo_goes_back_over_the_rounds(page: Page) -> None:
    page.fill("#throws", "3 -2")
    page.keyboard.press("Enter")
    page.click("#next")
    page.click("#undo")
    assert sums(page) == ("1", "3")
    page.click("#undo")
    assert sums(page) == ("3", "3")
    page.click("#undo")
    assert page.is_disabled("#undo")


def test_the_address_keeps_the_throws(chromium: Browser, site: Path, page: Page) -> None:
    page.fill("#throws", "3 -2")
    page.keyboard.press("Enter")
    page.click("#next")
    page.fill("#throws", "-5")
    page.keyboard.press("Enter")
    again = watched(chromium, site, 1280, "light", "#" + page.url.partition("#")[2])
    assert again.page.inner_text("#rounds") == page.inner_text("#rounds")
    again.page.context.close()


def test_a_class_without_dice_is_rolled_for(page: Page) -> None:
    page.click("#roll")
    counted = page.eval_on_selector_all(
        "#throws-picture rect[data-count]", "all => all.map(r => Number(r.dataset.count))"
    )
    assert sum(counted) == page.evaluate("DICE.students")


@pytest.mark.parametrize("students", [1, 2, 7, 24, 61])
def test_the_chances_are_the_packages(page: Page, students: int) -> None:
    for kind, law in (("signed", signed_sum_law), ("clipped", clipped_sum_law)):
        shown = page.evaluate(f"DICE_LAW('{kind}', {students})")
        assert np.allclose(shown, law(students), rtol=0, atol=1e-12)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_a_phone_and_everyone_can_use_it(chromium: Browser, site: Path, theme: str) -> None:
    found = watched(chromium, site, 390, theme, "#3,-2,0,1;5,-4,2,2")
    page = found.page
    page.click("#level-button")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    small = page.eval_on_selector_all(
        "#keys button", "all => all.filter(b => b.getBoundingClientRect().height < 44).length"
    )
    assert small == 0
    text = page.eval_on_selector_all(
        "svg text", "all => Math.min(...all.map(t => t.getBoundingClientRect().height))"
    )
    assert text >= 9
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        bad = Axe().run(page, options={"preload": False}).response["violations"]
        assert [f"{v['id']}: {v['nodes'][0]['html']}" for v in bad] == []
    assert found.problems == []
    page.context.close()
