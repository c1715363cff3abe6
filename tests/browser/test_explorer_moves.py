"""The explorer's controls and address in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from bs4 import BeautifulSoup
from explorer_page import KEPT, check_numbers, now, opened
from playwright.sync_api import Browser, Page

from explorer_data import package_bounds
from microdata_price.explorer.bounds import EPSILONS, POINTS, RHOS, SUMS
from microdata_price.model.privacy import PureDP


def test_the_keyboard_moves_every_slider_to_the_packages_numbers(
    chromium: Browser, site: Path
) -> None:
    with opened(chromium, site) as page:
        start = check_numbers(page)
        for slider, name, stops, key in (
            ("#epsilon", "epsilon", EPSILONS, "ArrowRight"),
            ("#d", "d", POINTS, "ArrowLeft"),
            ("#sum", "sum", SUMS, "ArrowUp"),
        ):
            at = stops.index(now(page)["state"][name])
            page.focus(slider)
            page.keyboard.press(key)
            moved = now(page)["state"][name]
            assert moved == stops[at + (-1 if key == "ArrowLeft" else 1)]
            check_numbers(page)
            page.keyboard.press("Home")
            assert now(page)["state"][name] == stops[0]
            check_numbers(page)
            page.keyboard.press("End")
            assert now(page)["state"][name] == stops[-1]
            check_numbers(page)
        assert check_numbers(page)["d"] != start["d"]
        outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"


def test_the_keyboard_switches_the_kind_of_privacy(chromium: Browser, site: Path) -> None:
    with opened(chromium, site) as page:
        page.focus("input[name=privacy]:checked")
        for privacy in ("approximate", "zcdp", "pure"):
            page.keyboard.press("ArrowRight")
            assert check_numbers(page)["privacy"] == privacy
            assert page.is_visible("#delta") == (privacy == "approximate")
            assert page.is_visible("#rho") == (privacy == "zcdp")
            assert page.is_visible("#epsilon") == (privacy != "zcdp")


def test_the_mouse_drags_sliders_and_the_plane(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "#privacy=zcdp&hide=none") as page:
        box = page.locator("#rho").bounding_box()
        assert box
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] / 2)
        page.mouse.down()
        seen = set()
        for share in np.linspace(0.5, 0.95, 6):
            page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)
            seen.add(now(page)["state"]["rho"])
        page.mouse.up()
        assert len(seen) >= 4
        assert seen <= set(RHOS)
        check_numbers(page)
        before = now(page)["state"]["sum"]
        plane = page.locator("#plane").bounding_box()
        assert plane
        page.mouse.move(plane["x"] + plane["width"] * 0.4, plane["y"] + plane["height"] * 0.5)
        page.mouse.down()
        page.mouse.move(plane["x"] + plane["width"] * 0.7, plane["y"] + plane["height"] * 0.5)
        page.mouse.up()
        assert now(page)["state"]["sum"] > before
        check_numbers(page)


def test_a_finger_moves_sliders_and_the_plane(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, width=390, has_touch=True, is_mobile=True) as page:
        for selector, name, stops in (("#epsilon", "epsilon", EPSILONS), ("#d", "d", POINTS)):
            slider = page.locator(selector)
            slider.scroll_into_view_if_needed()
            box = slider.bounding_box()
            assert box
            page.touchscreen.tap(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2)
            moved = now(page)["state"][name]
            assert moved in stops
            assert stops.index(moved) >= 0.8 * (len(stops) - 1)
            check_numbers(page)
        plane = page.locator("#plane")
        plane.scroll_into_view_if_needed()
        box = plane.bounding_box()
        assert box
        page.touchscreen.tap(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2)
        assert now(page)["state"]["sum"] > 1
        check_numbers(page)
        page.tap("input[value=draws]")
        page.tap("#next")
        assert now(page)["state"]["draw"] == 2


def test_curves_follow_the_sliders(chromium: Browser, site: Path) -> None:
    with opened(chromium, site) as page:

        def drawn() -> list[str]:
            paths: list[str] = page.evaluate(
                """() => [...document.querySelectorAll("#plane path.bound")]
                    .map(path => path.getAttribute("d"))"""
            )
            return paths

        before = drawn()
        assert len(before) == 4
        page.focus("#d")
        page.keyboard.press("PageUp")
        assert all(a != b for a, b in zip(before, drawn(), strict=True))
        # The nodes that are drawn are numbers of the package, in both directions.
        v = now(page)["values"]
        for b in v["bounds"]:
            for D, C in b["nodes"][:: max(1, len(b["nodes"]) // 5)]:
                up = package_bounds(PureDP(0.5), v["d"], sum_error=D)[b["key"]]
                across = package_bounds(PureDP(0.5), v["d"], point_error=C)[b["key"]]
                off = [abs(C / up - 1) if up else 1, abs(D / across - 1) if across else 1]
                assert min(off) < 2 * KEPT


def test_the_address_carries_the_setting(chromium: Browser, site: Path) -> None:
    with opened(chromium, site) as page:
        page.check("input[value=approximate]", force=True)
        page.focus("#delta")
        page.keyboard.press("ArrowLeft")
        page.focus("#epsilon")
        page.keyboard.press("End")
        page.uncheck("#layers input[value=printed]")
        page.wait_for_function("() => location.hash.includes('hide=printed')")
        state = now(page)["state"]
        page.reload()
        assert now(page)["state"] == state
        assert state["privacy"] == "approximate"
        assert state["hide"] == ["printed"]
        assert page.locator("#plane path.bound.printed").count() == 0
        url = page.url
    with opened(chromium, site, "#" + url.split("#")[1]) as page:
        assert now(page)["state"] == state
        page.evaluate("() => { location.hash = '#view=draws&table=large&draw=3' }")
        page.wait_for_function("() => explorerState().state.view === 'draws'")
        assert page.is_visible("#panels")
        page.go_back()
        page.wait_for_function("() => explorerState().state.view === 'plane'")
        assert now(page)["state"] == state


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("#view=story&step=6", "whole number from 1 to 5"),
        ("#epsilon=0.37", "nearest, 0.3"),
        ("#d=abc", "must be a positive number"),
        ("#epsilon=-1", "must be a positive number"),
        ("#privacy=none", "it can be pure, approximate, zcdp"),
        ("#view=draws&draw=0", "whole number from 1 to"),
        ("#view=draws&draw=%E0%A4%A", "whole number from 1 to"),
        ("#colour=red", "means nothing here"),
    ],
)
def test_a_wrong_address_is_explained_and_harmless(
    chromium: Browser, site: Path, setting: str, says: str
) -> None:
    with opened(chromium, site, setting) as page:
        assert says in page.inner_text("#message")
        at = now(page)["state"]["view"]
        check_numbers(page) if at == "plane" else now(page)
        page.click({"draws": "#next", "story": "#story-next", "plane": "#reset"}[at])
        assert page.is_hidden("#message")


def check_setting(page: Page, want: str) -> None:
    """Check that the page shows the setting of a link, without a complaint."""
    assert page.is_hidden("#message"), want
    state = now(page)["state"]
    pairs = re.findall(r"(\w+)=([^&]+)", want)
    assert pairs, want
    for key, value in pairs:
        got = state[key]
        if isinstance(got, list):
            assert ",".join(got) == value
        else:
            assert str(got) == value or float(got) == float(value)


def test_its_links_for_teachers_lead_to_settings(chromium: Browser, site: Path) -> None:
    with opened(chromium, site) as page:
        links = page.locator("a[data-setting]")
        assert links.count() >= 5
        for i in range(links.count()):
            want = links.nth(i).get_attribute("data-setting") or ""
            links.nth(i).click()
            for _ in range(100):  # The page follows its address a moment later.
                try:
                    check_setting(page, want)
                    break
                except (AssertionError, ValueError):
                    page.wait_for_timeout(50)
            check_setting(page, want)


def test_the_books_links_to_settings_lead_there(chromium: Browser, site: Path) -> None:
    explorer = (site / "explorer" / "index.html").resolve()
    settings: set[str] = set()
    for path in site.rglob("*.html"):
        soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for link in soup.find_all("a", href=True):
            parts = urlsplit(str(link["href"]))
            file = (path.parent / unquote(parts.path)).resolve()
            if file == explorer and "=" in parts.fragment:
                settings.add(parts.fragment)
    assert len(settings) >= 4
    for setting in settings:
        with opened(chromium, site, f"#{setting}") as page:
            check_setting(page, setting)
