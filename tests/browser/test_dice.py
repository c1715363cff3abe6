"""The page that counts a class's throws, with the keyboard, on a phone, and against the package."""

import numpy as np
import pytest
from browser_pages import accessible, address, opened

from microdata_price.chapters.dice import clipped_sum_law, signed_sum_law

BARS = "all => all.map(r => [Number(r.dataset.value), Number(r.dataset.count)])"
THROWS = [3, -2, 0, 1, 5, -4, 2, -1]


@pytest.fixture
def page(chromium, site):
    with opened(chromium, address(site, "dice/index")) as page:
        yield page


def sums(page):
    return page.inner_text("#signed"), page.inner_text("#clipped")


def bars(page):
    return dict(page.eval_on_selector_all("#throws-picture rect[data-value]", BARS))


def throw(page, text):
    page.locator("#throws").press_sequentially(text)
    page.press("#throws", "Enter")


def test_the_keyboard_alone_plays_two_rounds_and_the_address_keeps_them(chromium, site, page):
    throw(page, "3 -2, 0 1")
    throw(page, "5 −4 2 -1")
    assert sums(page) == ("4", "11")
    page.press("#next", "Enter")
    assert page.evaluate("document.activeElement.id") == "throws"
    throw(page, "1 1")
    rounds = page.inner_text("#rounds")
    told = ["1\t8\t4\t11\tsigned", "2\t2\t2\t2\tboth alike", "all\t10\t6\t13\tsigned"]
    assert rounds.split("\n") == told
    page.press("#level-button", "Enter")
    page.fill("#total", "1")
    page.press("#level", "ArrowRight")
    said = page.inner_text("#level-said")
    assert said == "At a level of 0.5 the class has 1; announced is 1. Stop."
    page.check("#full")
    assert "three people called out 4 and ends with 3.5." in page.inner_text("#level-said")
    url = address(site, "dice/index") + "#" + page.url.partition("#")[2]
    with opened(chromium, url) as again:
        assert again.inner_text("#rounds") == rounds


def test_what_is_no_throw_is_refused_whole_and_undo_goes_back_over_the_rounds(page):
    for typed in ("7", "2.5", "x", "3 -6"):
        page.fill("#throws", typed)
        page.keyboard.press("Enter")
        assert page.inner_text("#told").startswith("Not a throw: ")
        assert sums(page) == ("–", "–")
        assert page.input_value("#throws") == typed
    page.fill("#throws", "")
    throw(page, "3 -2")
    page.click("#next")
    for left in (("1", "3"), ("3", "3")):
        page.click("#undo")
        assert sums(page) == left
    page.click("#undo")
    assert page.is_disabled("#undo")
    page.evaluate("() => { location.hash = '3,%' }")  # a link that was cut
    page.reload()
    assert (sums(page), "damaged" in page.inner_text("#told")) == (("3", "3"), True)


def test_the_chances_are_the_packages_and_a_class_without_dice_is_rolled_for(page):
    for students in (1, 2, 7, 24, 61):
        for kind, law in (("signed", signed_sum_law), ("clipped", clipped_sum_law)):
            shown = page.evaluate(f"DICE_LAW('{kind}', {students})")
            np.testing.assert_allclose(shown, law(students), rtol=0, atol=1e-12)
    page.click("#roll")
    assert sum(bars(page).values()) == page.evaluate("DICE.students")


def test_throws_are_counted_with_the_keys_on_a_phone_and_everyone_can_use_it(chromium, site):
    with opened(chromium, address(site, "dice/index"), width=390) as page:
        for value in THROWS:
            page.get_by_role("button", name=str(value).replace("-", "−"), exact=True).click()
        assert sums(page) == (str(sum(THROWS)), str(sum(max(0, v) for v in THROWS)))
        assert bars(page) == {v: THROWS.count(v) for v in THROWS}
        assert page.locator("#throws-picture .below").count() == sum(v < 0 for v in {*THROWS})
        page.click("#next")
        throw(page, "5 -4 2 2")
        page.click("#level-button")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        heights = "all => Math.min(...all.map(node => node.getBoundingClientRect().height))"
        assert page.eval_on_selector_all("#keys button", heights) >= 44
        assert page.eval_on_selector_all("svg text", heights) >= 9
        assert accessible(page) == []
