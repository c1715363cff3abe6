"""The explorer's story, a table of one's own and what its pictures claim, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from explorer_page import now, opened
from playwright.sync_api import Browser, Page

from explorer_data import package_bounds
from microdata_price.base.numbers import at_least
from microdata_price.fitting import fit
from microdata_price.model.measurement import Measurements
from microdata_price.model.noise import Laplace
from microdata_price.model.privacy import PureDP
from microdata_price.model.workload import Workload
from microdata_price.theory.upper.projection import project

ALL_BOUNDS = "channel,first_moment,packing_empty,printed"


def digits(text: str) -> set[str]:
    return set(re.findall(r"−?\d[\d,.]*\d|\d", text))


def test_the_story_opens_first_and_hands_over_to_the_sliders(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "") as page:
        assert now(page)["state"]["view"] == "story"
        for step in range(1, 6):
            assert page.inner_text("#story-title").startswith(f"{step}. ")
            assert page.is_visible("#story-svg")
            if step < 5:
                page.click("#story-next")
        page.keyboard.press("Enter")
        assert now(page)["state"]["view"] == "plane"
        assert page.evaluate("() => document.activeElement.id") == "d"


def test_a_count_pays_in_the_story_and_text_and_caption_agree(
    chromium: Browser, site: Path
) -> None:
    with opened(chromium, site, "") as page:
        s = page.evaluate("() => Explorer.storyValues(explorerState().state.level)")
        assert s["draw"] in (7, 25, 37)
        off = {k: abs(s[k][0] - s["truth"][0]) for k in ("clipped", "kept")}
        assert off["kept"] > off["clipped"] + 1
        assert abs(s["keptTotal"] - s["total"]) < abs(s["clippedTotal"] - s["total"])
        for step, total in enumerate(("noisyTotal", "clippedTotal", "keptTotal", "keptTotal"), 1):
            wanted = page.evaluate("x => Explorer.count(x)", s[total])
            assert f"Total published: {wanted}," in page.inner_text("#story-caption")
            if step < 4:
                assert wanted in digits(page.inner_text("#story-text"))
            else:
                assert "A count pays for it" in page.inner_text("#story-text")
            page.click("#story-next")


def test_the_last_step_explains_its_four_marks(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "#view=story&step=5") as page:
        said = page.locator("#story-marks li").all_inner_texts()
        names = ["Signed answers", "Clip", "Keep the sum", "The limit"]
        assert [text.split(".")[0] for text in said] == names
        assert page.locator("#story-svg path.mechanism").count() == 4
        drawn = page.locator("#story-svg text.label").all_text_contents()
        assert drawn == [name.lower() for name in names]
        guarantee = PureDP(0.5)
        bound = package_bounds(guarantee, 10_000, sum_error=guarantee.signed_error)
        assert at_least(max(bound[k] for k in ("channel", "first_moment"))) in digits(said[3])


def test_on_a_phone_the_picture_stands_above_the_text(chromium: Browser, site: Path) -> None:
    for step in range(1, 6):
        with opened(chromium, site, f"#view=story&step={step}", width=390) as page:
            picture = page.locator("#story-svg").bounding_box()
            text = page.locator("#story-text").bounding_box()
            assert picture
            assert text
            assert 0 < picture["y"] < picture["y"] + picture["height"] < text["y"]
            assert text["y"] + 60 < 844, "the text begins on the first screen"


def test_the_storys_numbers_are_the_packages(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "") as page:
        for draw in range(1, 41):
            s = page.evaluate("d => Explorer.storyValues(explorerState().state.level, d)", draw)
            noisy, total = np.array(s["noisy"]), s["noisyTotal"]
            kept = project(noisy[None], np.array([max(total, 0.0)]))
            np.testing.assert_allclose(s["kept"], kept[0], rtol=0, atol=1e-9)
            assert s["clippedTotal"] == pytest.approx(np.maximum(noisy, 0).sum(), abs=1e-9)


def test_a_preset_says_that_it_leaves_the_story(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "") as page:
        page.click("a[data-setting] >> nth=0")
        page.wait_for_function("() => explorerState().state.view === 'plane'")
        assert "left the story" in page.inner_text("#told")


def test_fits_in_the_page_are_the_packages_on_a_thousand_tables(
    chromium: Browser, site: Path
) -> None:
    """Lists and two-way tables up to 6 x 8; the package's fits carry certificates."""
    rng = np.random.default_rng(2021)
    given, wanted = [], []
    for _ in range(1000):
        rows, columns = int(rng.integers(1, 7)), int(rng.integers(2, 9))
        truth = rng.integers(0, 30, (rows, columns)) * (rng.random((rows, columns)) < rng.random())
        shape = (rows, columns) if rows > 1 else (columns,)
        workload = Workload.table(shape)
        true = workload.answers(truth.reshape(1, *shape).astype(float))
        answers = tuple(a + rng.laplace(0, 8, a.shape) for a in true)
        m = Measurements(workload, answers, tuple(Laplace(8.0) for _ in answers))
        wanted.append({k: fit(m, k).cells[0] for k in ("ols", "nnls", "sequential")})
        first = {"sum": float(answers[0][0, 0]), "cells": answers[-1][0].tolist()}
        if rows > 1:
            first |= {"rows": answers[1][0].tolist(), "columns": answers[2][0].tolist()}
        given.append([rows, columns, first])
    with opened(chromium, site, "#view=own") as page:
        got = page.evaluate("all => all.map(x => Explorer.fitOwn(x[0], x[1], x[2]))", given)
    for mine, package in zip(got, wanted, strict=True):
        for method, cells in package.items():
            # The package's certificate is 1e-7 of the table; the page stops at 1e-11 of it.
            scale = max(1.0, float(np.abs(cells).max()))
            np.testing.assert_allclose(mine[method], cells, rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "Type counts"),
        ("1 2\n3", "different numbers of counts"),
        ("1 -2", "is not a count"),
        ("1.5 2", "is not a count"),
        ("1,5 2", "“1,5” is not a count"),
        ("1;5", "“1;5” is not a count"),
        ("3", "from 2 counts"),
        ("\n".join(["1 2"] * 7), "from 2 counts"),
    ],
)
def test_a_table_that_cannot_be_read_is_explained(
    chromium: Browser, site: Path, typed: str, says: str
) -> None:
    with opened(chromium, site, "#view=own") as page:
        assert "true total" in page.inner_text("#own-headline")
        page.fill("#own-text", typed)
        assert page.inner_text("#own-headline") == ""
        assert says in page.inner_text("#own-error")
        assert page.is_hidden("#own-panels")
        page.fill("#own-text", "4 5 6")
        assert page.is_hidden("#own-error")
        assert page.locator("#own-panels section").count() == 5


def test_a_million_in_a_cell_is_written_in_full(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "#view=own&counts=1000000.0.7/0.0.3") as page:
        assert page.input_value("#own-text") == "1000000 0 7\n0 0 3"
        assert "1,000,010" in page.inner_text("#own-headline")
        panels = page.locator("#own-panels section").all_inner_texts()
        assert len(panels) == 5
        for text in panels:
            assert "10⁶" not in text
            assert re.search(r"\b(1,000,0|999,9)\d\d\b", text)
        for text in panels[2:]:
            mean, most = re.findall(r"off by ([\d.,]+) on average, ([\d.,]+) at worst", text)[0]
            assert float(mean.replace(",", "")) <= float(most.replace(",", ""))


def test_a_table_of_ones_own_can_be_sent(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "#view=own") as page:
        page.evaluate(
            """() => { window.copied = [];
            const writeText = text => { window.copied.push(text); return Promise.resolve(); };
            Object.defineProperty(navigator, "clipboard", { value: { writeText } }) }"""
        )
        page.fill("#own-text", "4 5\n 6  0 ")
        page.click("#copy")
        link = page.evaluate("() => copied[0]")
        assert "counts" not in page.url
    with opened(chromium, site, "#" + link.split("#")[1]) as page:
        assert page.input_value("#own-text") == "4 5\n6 0"
        assert page.is_hidden("#message")
    with opened(chromium, site, "#view=own&counts=4.x") as page:
        assert "is not a count" in page.inner_text("#message")


def label_and_shade(page: Page) -> tuple[bool, bool]:
    """Whether the claim is written, and whether all of it stands where a bound drawn proves it."""
    written, inside = page.evaluate(
        """() => {
        const label = document.querySelector("#plane .region-label");
        if (!label) { return [false, true]; }
        const region = document.querySelector("#plane path.region"), svg = region.ownerSVGElement;
        const point = (x, y) => Object.assign(svg.createSVGPoint(), { x, y });
        const box = label.getBBox();
        const corners = [[0, 0.15], [1, 0.15], [0, 0.9], [1, 0.9]];
        return [true, corners.every(([u, v]) =>
            region.isPointInFill(point(box.x + u * box.width, box.y + v * box.height)))];
    }"""
    )
    return bool(written), bool(inside)


def test_the_plane_claims_only_what_is_proved(chromium: Browser, site: Path) -> None:
    seen = set()
    for width in (390, 1280):
        with opened(chromium, site, width=width) as page:
            for privacy in ("pure", "approximate", "zcdp"):
                for d in (2, 10, 100, 10_000, 1_000_000):
                    for hidden in ("none", "channel,first_moment", ALL_BOUNDS):
                        page.evaluate(
                            "hash => { location.hash = hash }",
                            f"#privacy={privacy}&d={d}&hide={hidden}",
                        )
                        page.wait_for_function(
                            """([privacy, d, hidden]) => {
                                const s = explorerState().state;
                                return s.privacy === privacy && s.d === d
                                    && (s.hide.join() || "none") === hidden }""",
                            arg=[privacy, d, hidden],
                        )
                        written, inside = label_and_shade(page)
                        assert inside, (width, privacy, d, hidden)
                        seen.add((written, hidden == ALL_BOUNDS))
    # It is written somewhere, and never where no bound is drawn.
    assert (True, False) in seen
    assert (True, True) not in seen


def test_the_link_is_copied_and_the_picture_saved(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, accept_downloads=True) as page:
        page.evaluate(
            """() => { window.copied = [];
            const writeText = text => { window.copied.push(text); return Promise.resolve(); };
            Object.defineProperty(navigator, "clipboard", { value: { writeText } }) }"""
        )
        page.click("#copy")
        assert page.evaluate("() => copied[0] === location.href && copied[0].includes('d=')")
        with page.expect_download() as download:
            page.click("#save")
        text = Path(download.value.path()).read_text(encoding="utf-8")
        assert text.startswith("<svg")
        assert "signed answers" in text


def test_marks_tell_their_values_to_the_keyboard(chromium: Browser, site: Path) -> None:
    with opened(chromium, site) as page:
        marks = page.locator("#plane .mechanism[tabindex]")
        assert marks.count() >= 3
        for i in range(marks.count()):
            marks.nth(i).focus()
            said = marks.nth(i).get_attribute("aria-label") or ""
            assert said in page.inner_text("#readout")
            assert "C = " in said
            assert "D = " in said


def test_an_address_just_given_is_not_overwritten_by_the_setting_before(
    chromium: Browser, site: Path
) -> None:
    with opened(chromium, site) as page:
        page.evaluate(
            """() => {
                const late = [], usual = window.setTimeout;
                window.setTimeout = job => { late.push(job); return 0; };
                document.getElementById("d").dispatchEvent(new Event("input"));
                location.hash = "#privacy=zcdp&d=100";
                late.forEach(job => { job(); });
                window.setTimeout = usual;
            }"""
        )
        page.wait_for_function("() => explorerState().state.d === 100")
        assert page.evaluate("() => explorerState().state.privacy") == "zcdp"
