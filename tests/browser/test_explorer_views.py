"""What the explorer's views show, its manners and its weight, in a real browser."""

import io
import re

import numpy as np
import pytest
from browser_pages import accessible, address, opened
from explorer_page import ALL, act, go, granted, now
from PIL import Image

from explorer_data import package_bounds
from microdata_price.base.numbers import at_least, at_most, format_number
from microdata_price.chapters.explorer.draws import TABLES, draws_of
from microdata_price.fitting import METHODS, fit
from microdata_price.model.privacy import ApproximateDP, PureDP
from microdata_price.theory.upper.projection import project
from random_measurements import measured

MILLION = "#view=own&counts=1000000.0.7/0.0.3"
# Automatic checks pass over letters in drawings, so their contrast is computed here.
CONTRASTS = """() => {
    const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
        .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b };
    const paper = light(getComputedStyle(document.body).backgroundColor);
    return [...document.querySelectorAll("svg text")].filter(t => t.checkVisibility()).map(t => {
        const ink = light(getComputedStyle(t).fill);
        return [t.textContent, (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)] });
}"""
SEEN = ["#view=story&step=4", "#view=story&step=5", "#privacy=approximate&hide=none"]
SEEN += ["#privacy=approximate&d=2&sum=1000", "#view=draws&draw=7", MILLION]


@pytest.mark.parametrize("setting", SEEN)
def test_it_is_accessible_and_fits_a_phone(phone, setting):
    phone.set_viewport_size({"width": 390, "height": 844})
    go(phone, setting)
    phone.evaluate("() => document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert phone.evaluate("() => document.documentElement.scrollWidth") <= 390
    if "story" in setting:  # its picture stands above its text, which begins on the first screen
        picture = phone.locator("#story-svg").bounding_box()
        text = phone.locator("#story-text").bounding_box()
        assert 0 < picture["y"] < picture["y"] + picture["height"] < text["y"] < 784
    assert accessible(phone) == []
    for theme in ("dark", "light"):
        phone.emulate_media(color_scheme=theme)
        contrasts = phone.evaluate(CONTRASTS)
        assert contrasts or "own" in setting
        assert [c for c in contrasts if c[1] < 4.5] == []


def digits(text):
    return set(re.findall(r"−?\d[\d,.]*\d|\d", text))


def test_a_count_pays_in_the_story_and_text_and_caption_agree(desk):
    go(desk, "")
    s = desk.evaluate("() => Explorer.storyValues(explorerState().state.level)")
    for step, total in enumerate(("noisyTotal", "clippedTotal", "keptTotal", "keptTotal"), 1):
        wanted = desk.evaluate("x => Explorer.count(x)", s[total])
        assert f"Total published: {wanted}," in desk.inner_text("#story-caption")
        text = desk.inner_text("#story-text")
        assert wanted in digits(text) if step < 4 else "A count pays for it" in text
        act(desk, f"sees #story-title = ^{step}\nclick #story-next")
    said = desk.locator("#story-marks li").all_inner_texts()
    names = ["Signed answers", "Clip", "Keep the sum", "The limit"]
    assert [text.split(".")[0] for text in said] == names
    drawn = desk.locator("#story-svg text.label").all_text_contents()
    assert drawn == [name.lower() for name in names]
    bound = package_bounds(PureDP(0.5), 10_000, sum_error=PureDP(0.5).signed_error)
    assert granted(said[3]) == 1
    assert at_least(max(bound[k] for k in ("channel", "first_moment"))) in digits(said[3])
    act(desk, "sees #story-title = ^5\npress Enter\nstate view = plane")
    # Its numbers are the package's.
    values = "n => [...Array(n)].map((_, i) => Explorer.storyValues('epsilon-0.5', i + 1))"
    for s in desk.evaluate(values, 40):
        noisy, total = np.array(s["noisy"]), s["noisyTotal"]
        kept = project(noisy[None], np.array([max(total, 0.0)]))
        np.testing.assert_allclose(s["kept"], kept[0], rtol=0, atol=1e-9)
        assert s["clippedTotal"] == pytest.approx(np.maximum(noisy, 0).sum(), abs=1e-9)


def test_fits_in_the_page_are_the_packages_on_many_tables(desk):
    rng = np.random.default_rng(2021)
    given, wanted = [], []
    for seed in range(300):
        rows, columns = int(rng.integers(1, 7)), int(rng.integers(2, 9))
        truth = rng.integers(0, 30, (rows, columns)) * (rng.random((rows, columns)) < rng.random())
        m = measured(truth if rows > 1 else truth[0], runs=1, seed=seed)
        wanted.append({k: fit(m, k).cells[0] for k in ("ols", "nnls", "sequential")})
        answers = [a[0].tolist() for a in m.answers]
        names = ("sum", "rows", "columns", "cells") if rows > 1 else ("sum", "cells")
        first = dict(zip(names, [answers[0][0], *answers[1:]], strict=True))
        given.append([rows, columns, first])
    got = desk.evaluate("all => all.map(x => Explorer.fitOwn(x[0], x[1], x[2]))", given)
    for mine, package in zip(got, wanted, strict=True):
        for method, cells in package.items():
            # The package's certificate is 1e-7 of the table; the page stops at 1e-11 of it.
            scale = max(1.0, float(np.abs(cells).max()))
            np.testing.assert_allclose(mine[method], cells, rtol=0, atol=1e-6 * scale)


def test_a_million_in_a_cell_is_written_in_full(desk):
    go(desk, MILLION)
    assert desk.input_value("#own-text") == "1000000 0 7\n0 0 3"
    assert "1,000,010" in desk.inner_text("#own-headline")
    panels = desk.locator("#own-panels section").all_inner_texts()
    assert len(panels) == 5
    for text in panels:
        assert "10⁶" not in text
        assert re.search(r"\b(1,000,0|999,9)\d\d\b", text)
    for text in panels[2:]:
        mean, most = re.findall(r"off by ([\d.,]+) on average, ([\d.,]+) at worst", text)[0]
        assert float(mean.replace(",", "")) <= float(most.replace(",", ""))


def test_draws_are_those_of_the_package(desk):
    table, guarantee = TABLES[1], PureDP(0.5)
    m = draws_of(table, guarantee, 40, "shown")
    fits = {method: fit(m, method).cells for method in METHODS}
    go(desk, "#view=draws&table=stairs&level=epsilon-0.5&draw=3")
    desk.click("#previous")
    v = now(desk)["draw"]
    assert np.allclose(v["noisy"]["cells"], m.answers[3][1], atol=0.0051)
    assert np.allclose(v["noisy"]["sum"], m.answers[0][1, 0], atol=0.0051)
    for method in v["methods"]:
        want = fits[method["key"]][:2]
        assert np.allclose(method["fit"]["cells"], want[-1], atol=0.0051)
        bias = (want.sum(axis=1) - table.counts.sum()).mean()
        assert method["bias"] == pytest.approx(bias, abs=0.13)
    cells = desk.locator("#panels .panel.nnls tbody tr:first-child td").all_inner_texts()
    shown = [float(c.replace(",", "").replace("−", "-")) for c in cells[:6]]
    assert np.allclose(shown, fits["nnls"][1][:6], atol=0.51)


def test_the_plane_is_told_to_screen_readers_keyboards_and_as_a_table(desk):
    go(desk, f"{ALL}&d=1000000")
    heard = """() => document.getElementById("live").textContent.includes(
        document.querySelector("#card-sum strong").innerText)"""
    desk.wait_for_function(heard)
    watch = """() => { window.spoken = [];
        new MutationObserver(() => window.spoken.push(1))
            .observe(document.getElementById("live"), { childList: true }) }"""
    desk.evaluate(watch)
    act(desk, "focus #d" + 8 * "\npress ArrowLeft")
    desk.wait_for_function(heard)
    assert 1 <= desk.evaluate("() => window.spoken.length") <= 3  # once the hand rests
    assert desk.get_attribute("#d", "aria-valuetext") == desk.inner_text("#d-out")
    marks = desk.locator("#plane .mechanism[tabindex]")
    assert marks.count() >= 3
    for i in range(marks.count()):
        marks.nth(i).focus()
        said = marks.nth(i).get_attribute("aria-label") or ""
        assert said in desk.inner_text("#readout")
        assert re.search("C = .*D = |D = .*C = ", said)
    text = desk.text_content("#values") or ""
    for m in now(desk)["values"]["mechanisms"]:
        write = at_most if m["sure"] == "certified" else format_number
        assert all(write(float(np.ravel(m[what])[0])) in text for what in "CD")


def test_what_is_said_beside_the_pointer_is_proved(desk):
    go(desk, f"{ALL}&privacy=approximate&epsilon=3&delta=0.000001&d=1000000&sum=1")
    said, box = 0, desk.locator("#plane").bounding_box()
    for share in np.linspace(0.1, 0.95, 60):
        place = {"x": share * box["width"], "y": 0.8 * box["height"]}
        desk.locator("#plane").hover(position=place, force=True)
        if found := re.match(r"At D = ([\d.,]+): C is at least (\S+)", desk.inner_text("#readout")):
            at, least = (float(x.replace(",", "")) for x in found.groups())
            bounds = package_bounds(ApproximateDP(3.0, 1e-6), 10**6, sum_error=at)
            assert least <= max(bounds.values()) * (1 + 1e-9)
            said += 1
    assert said > 20


@pytest.mark.parametrize(("theme", "paper"), [("light", 255), ("dark", 18)])
def test_without_scripts_there_is_a_picture_with_its_explanation_in_both_themes(
    chromium, site, theme, paper
):
    url = address(site, "explorer/index")
    with opened(chromium, url, theme=theme, width=390, java_script_enabled=False) as page:
        picture = page.locator("#static img")
        assert len(picture.get_attribute("alt") or "") > 200
        for what in ("#static figcaption", "noscript >> nth=0"):
            assert page.locator(what).is_visible()
        assert page.locator("#app").is_hidden()
        box = picture.bounding_box()
        assert 300 < box["width"] <= 390 - box["x"]
        for shot in (picture.screenshot(), page.screenshot()):
            with Image.open(io.BytesIO(shot)) as image:
                assert abs(np.array(image.convert("RGB").getpixel((3, 3))) - paper).max() <= 5


def test_numbers_are_written_as_in_the_book(desk):
    numbers = [float(x) for x in 10 ** np.random.default_rng(3).uniform(-7, 12, 300)]
    numbers += [0.0, 7.0, 10_000.0, 999_999.0, 0.5, 2.5, 99.95, 0.00012345, -3.25, 1e6, 12.0]
    writers = {"number": format_number, "atLeast": at_least, "atMost": at_most}
    for name, write in writers.items():
        given = [x for x in numbers if x >= 0 or name == "number"]
        written = desk.evaluate(f"xs => xs.map(x => Explorer.{name}(x))", given)
        assert written == [write(x) for x in given]
