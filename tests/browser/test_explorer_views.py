"""The explorer's second view, its manners and its weight, in a real browser."""

from __future__ import annotations

import gzip
import statistics
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from explorer_page import now, opened
from playwright.sync_api import Browser

from microdata_price.base.numbers import at_least, at_most, format_number
from microdata_price.explorer.draws import TABLES, draws_of
from microdata_price.fitting import METHODS, fit
from microdata_price.model.privacy import PureDP


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "setting",
    [
        "",
        "#view=story&step=5",
        "#view=plane&hide=none",
        "#privacy=approximate&d=2&sum=1000",
        "#view=draws&draw=7",
        "#view=own",
        "#view=own&counts=1000000.0.7/0.0.3",
    ],
)
def test_it_is_accessible_and_fits_a_phone(
    chromium: Browser, site: Path, setting: str, theme: str
) -> None:
    for width in (390, 1280):
        with opened(chromium, site, setting, theme=theme, width=width) as page:
            assert page.evaluate("() => document.documentElement.dataset.theme") == theme
            page.evaluate("() => document.querySelectorAll('details').forEach(d => d.open = true)")
            assert page.evaluate("() => document.documentElement.scrollWidth") <= width
            found = [
                (v["id"], node["html"][:120], node.get("failureSummary", "")[:200])
                # Preloading style sheets is what axe does, and from a folder it may not.
                for v in Axe().run(page, options={"preload": False}).response["violations"]
                for node in v["nodes"]
            ]
            assert found == []


def test_letters_in_the_drawing_are_legible(chromium: Browser, site: Path) -> None:
    # Automatic checks pass over letters in drawings, so contrast is computed here.
    script = """() => {
        const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
            .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b };
        const paper = light(getComputedStyle(document.body).backgroundColor);
        return [...document.querySelectorAll("svg text")].map(t => {
            const ink = light(getComputedStyle(t).fill);
            return [t.textContent, (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)] })
    }"""
    for theme in ("light", "dark"):
        for setting in ("#privacy=approximate&hide=none", "#view=draws", "#view=story&step=4"):
            with opened(chromium, site, setting, theme=theme) as page:
                contrasts = page.evaluate(script)
            assert contrasts
            assert [c for c in contrasts if c[1] < 4.5] == []


def test_draws_are_those_of_the_package(chromium: Browser, site: Path) -> None:
    table, guarantee = TABLES[1], PureDP(0.5)
    measured = draws_of(table, guarantee, 40, "shown")
    fits = {m: fit(measured, m).cells for m in METHODS}
    with opened(chromium, site, "#view=draws&table=stairs&level=epsilon-0.5&draw=1") as page:
        for press, draw in (("#next", 2), ("#next", 3), ("#previous", 2), ("", 2)):
            if press:
                page.click(press)
            v = now(page)["draw"]
            assert v["draw"] == draw
            assert np.allclose(v["noisy"]["cells"], measured.answers[3][draw - 1], atol=0.0051)
            assert np.allclose(v["noisy"]["sum"], measured.answers[0][draw - 1, 0], atol=0.0051)
            for m in v["methods"]:
                want = fits[m["key"]][: int(draw)]
                assert np.allclose(m["fit"]["cells"], want[-1], atol=0.0051)
                errors = want.sum(axis=1) - table.counts.sum()
                assert np.allclose(m["errors"], errors, atol=0.13)
                assert m["bias"] == pytest.approx(errors.mean(), abs=0.13)
        cells = page.locator(".panel.nnls tbody tr:first-child td").all_inner_texts()
        shown = [float(c.replace(",", "").replace("−", "-")) for c in cells[:6]]
        assert np.allclose(shown, fits["nnls"][1][:6], atol=0.51)
        page.focus("#draw")
        page.keyboard.press("End")
        assert now(page)["state"]["draw"] == 40
        page.click("#next")
        assert now(page)["state"]["draw"] == 1


def test_play_and_pause(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "#view=draws") as page:
        page.click("#play")
        assert page.get_attribute("#play", "aria-pressed") == "true"
        page.wait_for_function("() => explorerState().state.draw >= 3")
        page.click("#play")
        stopped = now(page)["state"]["draw"]
        page.wait_for_timeout(1300)
        assert now(page)["state"]["draw"] == stopped
        assert page.get_attribute("#play", "aria-pressed") == "false"


def test_the_readout_is_spoken_once_the_hand_rests(chromium: Browser, site: Path) -> None:
    with opened(chromium, site) as page:
        page.wait_for_function("() => document.getElementById('live').textContent !== ''")
        page.evaluate(
            """() => { window.spoken = [];
                new MutationObserver(() => window.spoken.push(1))
                    .observe(document.getElementById("live"), { childList: true }) }"""
        )
        page.focus("#d")
        for _ in range(8):
            page.keyboard.press("ArrowRight")
        page.wait_for_function(
            """() => document.getElementById("live").textContent.includes(
                document.querySelector("#card-sum strong").innerText)"""
        )
        assert 1 <= page.evaluate("() => window.spoken.length") <= 3
        live = page.inner_text("#live")
        assert page.inner_text("#card-sum strong") in live
        assert page.get_attribute("#d", "aria-valuetext") == page.inner_text("#d-out")


def test_the_table_holds_what_is_drawn(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "#d=1000000") as page:
        page.click("#table-details summary")
        text = page.inner_text("#values")
        v = now(page)["values"]
        for b in v["bounds"]:
            assert page.evaluate("x => Explorer.atLeast(x)", b["C"]) in text
        for m in v["mechanisms"]:
            value = m["C"][0] if isinstance(m["C"], list) else m["C"]
            assert page.evaluate("x => Explorer.number(x)", value) in text


def test_a_move_is_quick(chromium: Browser, site: Path) -> None:
    script = """name => {
        // The least of three rounds: what other programs take of the machine is not the page's.
        const input = document.getElementById(name), times = Array(40).fill(Infinity);
        for (let i = 0; i < 3 * times.length; i += 1) {
            const place = i % times.length;
            input.value = place % (Number(input.max) + 1);
            const began = performance.now();
            input.dispatchEvent(new Event("input", { bubbles: true }));
            document.body.getBoundingClientRect();
            times[place] = Math.min(times[place], performance.now() - began);
        }
        return times }"""
    with opened(chromium, site) as page:
        page.wait_for_timeout(500)
        for name in ("epsilon", "d", "sum"):
            assert statistics.median(page.evaluate(script, name)) < 50
    with opened(chromium, site, "#view=draws") as page:
        assert statistics.median(page.evaluate(script, "draw")) < 50


def test_it_is_light(site: Path) -> None:
    sizes = {
        p.name: len(gzip.compress(p.read_bytes()))
        for p in (site / "explorer").rglob("*")
        if p.is_file()
    }
    assert sum(sizes.values()) < 1_000_000, sizes


def test_without_scripts_there_is_a_picture_with_its_explanation(
    chromium: Browser, site: Path
) -> None:
    for theme in ("light", "dark"):
        with opened(chromium, site, theme=theme, width=390, java_script_enabled=False) as page:
            image = page.locator("#static img")
            assert image.is_visible()
            assert len(image.get_attribute("alt") or "") > 200
            assert page.locator("#static figcaption").is_visible()
            assert page.locator("noscript").first.is_visible()
            assert page.locator("#app").is_hidden()
            box = image.bounding_box()
            assert box
            assert box["width"] > 300
            assert box["x"] + box["width"] <= 390


def test_numbers_are_written_as_in_the_book(chromium: Browser, site: Path) -> None:
    rng = np.random.default_rng(3)
    numbers = [float(x) for x in 10 ** rng.uniform(-7, 12, 300)]
    numbers += [0.0, 7.0, 10_000.0, 999_999.0, 0.5, 2.5, 99.95, 0.00012345, -3.25, 1e6, 12.0]
    writers = {"number": format_number, "atLeast": at_least, "atMost": at_most}
    with opened(chromium, site) as page:
        for name, write in writers.items():
            given = [x for x in numbers if x >= 0 or name == "number"]
            written = page.evaluate(f"xs => xs.map(x => Explorer.{name}(x))", given)
            assert written == [write(x) for x in given]


def test_the_theme_is_the_books(chromium: Browser, site: Path) -> None:
    context = chromium.new_context(color_scheme="light")
    page = context.new_page()
    page.goto((site / "explorer" / "index.html").as_uri())
    page.click("#theme")
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    page.click("a.home")
    # The first page of the site sends its visitors on to the book's.
    page.wait_for_url("**/intro.html")
    page.wait_for_load_state("load")
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    context.close()
