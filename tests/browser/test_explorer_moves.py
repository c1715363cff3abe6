"""The explorer's controls and address in a real browser."""

import re
from html import unescape
from itertools import product
from pathlib import Path

import pytest
from browser_pages import PAGES
from explorer_page import ALL, act, check_numbers, go, now

from microdata_price.chapters.explorer.bounds import EPSILONS, POINTS, RHOS, SUMS

ALL_BOUNDS = "channel,first_moment,packing_empty,printed"
CLIPBOARD = """() => { window.copied = [];
    const writeText = text => { window.copied.push(text); return Promise.resolve(); };
    Object.defineProperty(navigator, "clipboard", { value: { writeText }, configurable: true }) }"""
OWN = "#view=own"
ABOUT, NOISY = "section h3:text('What is drawn')", "sees #own-panels .noisy tbody ="
PRESET = """
    click a[data-setting] >> nth=0
    state view = plane
    sees #told = left the story
"""
PLAY = """
    click #play
    sees #play[aria-pressed=true] = Pause
    state draw = 2
    click #play
    sees #play[aria-pressed=false] = Play
    state draw = 2
    focus #draw
    press End
    state draw = 40
    click #next
    state draw = 1
"""
PRIVACY = """
    focus input[name=privacy]:checked
    press ArrowRight
    state privacy = approximate
    sees #delta-row = Slack
    press ArrowRight
    state privacy = zcdp
    hides #delta-row
    hides #epsilon-row
    sees #rho-row = ρ
    press ArrowRight
    state privacy = pure
    hides #rho-row
"""


@pytest.mark.parametrize(
    ("setting", "steps"),
    [
        *(("", PRESET), ("#view=draws", PLAY), (ALL, PRIVACY)),
        # What the plane draws is explained beside it, and nowhere else.
        *((ALL, f"sees {ABOUT} = drawn"), ("#view=draws&draw=7", f"hides {ABOUT}")),
        # Of a list the counts and the sum are asked, and no other noisy total is shown.
        ("#view=own&counts=7.0.3", rf"{NOISY} ^row 1(\s+\S+){{3}}\s+column total\s+\S+$"),
        ("#view=own&counts=7/0/3", rf"{NOISY} ^(row \d\s+\S+\s+){{3}}column total\s+\S+$"),
        (
            "#view=own&counts=7.0/0.3",
            rf"{NOISY} ^(\w+ \w+(\s+\S+){{3}}\s*)+$",
        ),
    ],
)
def test_each_action_has_its_effect(desk, setting, steps):
    go(desk, setting)
    act(desk, steps)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        *(("", "Type counts"), ("1 2/3", "different numbers of counts"), ("3", "from 2 counts")),
        *(("1 -2", "“-2” is not"), ("1,5 2", "“1,5” is not"), (7 * "1 2/", "from 2 counts")),
    ],
)
def test_what_is_no_table_is_refused_and_nothing_stays_beside_it(desk, typed, says):
    go(desk, OWN)
    steps = f"""
        fill #own-text = 1 2 3
        sees #own-headline = true total is 6
        fill #own-text = {typed}
        sees #own-headline = ^$
        sees #own-error = {says}
        hides #own-panels
        fill #own-text = 4 5 6
        hides #own-error
        sees #own-headline = true total is 15
    """
    act(desk, steps)


WRONG = {"epsilon=0.37": "nearest, 0.3", "epsilon=-1": "must be a positive number"}
WRONG |= {"privacy=none": "it can be pure, approximate, zcdp", "colour=red": "means nothing here"}
WRONG |= {f"hide={x}": f"hide is “{x}”; it can be none" for x in ("no", "printed,x")}
WRONG |= dict.fromkeys(("privacy=zcdp&epsilon=1", "epsilon=1&privacy=zcdp"), "epsilon is given")


@pytest.mark.parametrize(
    ("setting", "says", "after"),
    [
        ("#view=story&step=6", "whole number from 1 to 5", "#story-next"),
        ("#view=draws&draw=0", "whole number from 1 to", "#next"),
        ("#view=draws&draw=%E0%A4%A", "whole number from 1 to", "#next"),
        ("#view=own&counts=4.x", "is not a count", "#own-draw"),
        *((f"#{setting}", says, "#reset") for setting, says in WRONG.items()),
    ],
)
def test_a_wrong_address_is_explained_and_harmless(desk, setting, says, after):
    go(desk, setting)
    act(desk, f"sees #message = {says}\nclick {after}\nhides #message")


def test_keys_move_every_slider_to_the_packages_numbers(desk):
    def drawn():
        return [n.get_attribute("d") for n in desk.query_selector_all("#plane path.bound")]

    go(desk, ALL)
    for slider, stops in (("epsilon", EPSILONS), ("d", POINTS), ("sum", SUMS)):
        before, at = drawn(), stops.index(now(desk)["state"][slider])
        assert len(before) == 4
        down = slider == "d"
        moved = ("ArrowLeft", stops[at - 1]) if down else ("ArrowUp", stops[at + 1])
        for press, stop in (moved, ("Home", stops[0]), ("End", stops[-1])):
            desk.press(f"#{slider}", press)
            assert now(desk)["state"][slider] == stop
        check_numbers(desk)
        assert not down or not {*before} & {*drawn()}  # curves follow
    assert desk.evaluate("() => getComputedStyle(document.activeElement).outlineStyle") != "none"
    for privacy, at in product(("approximate", "zcdp"), ("", "d=10&sum=0.7", "sum=3&epsilon=0.03")):
        go(desk, f"{ALL}&privacy={privacy}&{at}")
        assert check_numbers(desk)["privacy"] == privacy


def test_mouse_and_finger_move_sliders_and_the_plane(desk, phone):
    go(desk, "#privacy=zcdp&hide=none")
    moves = ("#rho", "rho", (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)), ("#plane", "sum", (0.4, 0.7))
    for selector, name, shares in moves:
        seen, box = [now(desk)["state"][name]], desk.locator(selector).bounding_box()
        for share in shares:
            desk.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)
            desk.mouse.down()
            seen.append(now(desk)["state"][name])
        desk.mouse.up()
        assert seen[-1] > seen[0]
        if name == "rho":
            assert len({*seen} & {*RHOS}) == len({*seen}) >= 4
        check_numbers(desk)
    go(phone, ALL)
    for selector, name, share in (("#epsilon", "epsilon", 0.9), ("#plane", "sum", 0.6)):
        place = phone.locator(selector)
        place.scroll_into_view_if_needed()
        before, box = now(phone)["state"][name], place.bounding_box()
        phone.touchscreen.tap(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)
        assert now(phone)["state"][name] > before
        check_numbers(phone)
    act(phone, "tap input[value=draws]\ntap #next\nstate draw = 2")


def test_the_address_carries_the_setting(desk):
    go(desk, ALL)
    desk.check("input[value=approximate]", force=True)
    act(desk, "focus #delta\npress ArrowLeft\nfocus #epsilon\npress End")
    desk.uncheck("#layers input[value=printed]")
    desk.wait_for_function("() => location.hash.includes('hide=printed')")
    state = now(desk)["state"]
    desk.reload()
    assert now(desk)["state"] == state
    assert (state["privacy"], state["hide"]) == ("approximate", ["printed"])
    assert desk.locator("#plane path.bound.printed").count() == 0
    go(desk, "#view=draws&table=large&draw=3")
    act(desk, "state view = draws\nsees #panels = True table")
    desk.go_back()
    act(desk, "state view = plane")
    assert now(desk)["state"] == state
    # An address just given is not overwritten by the setting before.
    given_late = """() => {
        const late = [], usual = window.setTimeout;
        window.setTimeout = job => { late.push(job); return 0; };
        document.getElementById("d").dispatchEvent(new Event("input"));
        location.hash = "#privacy=zcdp&d=100";
        late.forEach(job => { job(); });
        window.setTimeout = usual;
    }"""
    desk.evaluate(given_late)
    act(desk, "state d = 100\nstate privacy = zcdp")


def test_links_are_copied_a_table_of_ones_own_too_and_the_picture_is_saved(desk):
    desk.evaluate(CLIPBOARD)
    go(desk, ALL)
    desk.click("#copy")
    assert desk.evaluate("() => copied.pop() === location.href && location.href.includes('d=')")
    with desk.expect_download() as download:
        desk.click("#save")
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "signed answers" in text
    go(desk, OWN)
    act(desk, "fill #own-text = 4 5/ 6  0 \nclick #copy")
    assert "counts" not in desk.url
    go(desk, "#" + desk.evaluate("() => copied.pop()").split("#")[1])
    assert desk.input_value("#own-text") == "4 5\n6 0"
    assert desk.is_hidden("#message")


def test_links_of_the_page_and_of_the_book_lead_to_settings(desk, site):
    settings = {*desk.eval_on_selector_all("a[data-setting]", "x => x.map(a => a.dataset.setting)")}
    for page in (*PAGES, "slides/index"):
        text = (site / f"{page}.html").read_text("utf-8")
        found = re.findall(r'explorer/index\.html#([^"]*=[^"]*)"', text)
        settings |= {unescape(setting) for setting in found}
    assert len(settings) >= 9
    for setting in settings:
        go(desk, f"#{setting}")
        assert desk.is_hidden("#message"), setting
        for key, value in re.findall(r"(\w+)=([^&]+)", setting):
            got = now(desk)["state"][key]
            told = ",".join(got) if isinstance(got, list) else str(got)
            assert told == value or float(told) == float(value)


LABEL = """() => {
    // Whether the claim is written, and whether all of it stands where a bound drawn proves it.
    const label = document.querySelector("#plane .region-label");
    if (!label) { return [false, true]; }
    const region = document.querySelector("#plane path.region"), svg = region.ownerSVGElement;
    const point = (x, y) => Object.assign(svg.createSVGPoint(), { x, y });
    const box = label.getBBox();
    const corners = [[0, 0.15], [1, 0.15], [0, 0.9], [1, 0.9]];
    return [true, corners.every(([u, v]) =>
        region.isPointInFill(point(box.x + u * box.width, box.y + v * box.height)))];
}"""


def test_the_plane_claims_only_what_is_proved(desk, phone):
    seen, hides = set(), ("none", "channel,first_moment", ALL_BOUNDS)
    settings = product((desk, phone), ("pure", "approximate", "zcdp"), (2, 100, 10_000), hides)
    for page, privacy, d, hidden in settings:
        go(page, f"#privacy={privacy}&d={d}&hide={hidden}")
        written, inside = page.evaluate(LABEL)
        assert inside, (privacy, d, hidden)
        seen.add((written, hidden == ALL_BOUNDS))
    # It is written somewhere, and never where no bound is drawn.
    assert (True, False) in seen
    assert (True, True) not in seen
