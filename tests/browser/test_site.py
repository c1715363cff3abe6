"""Every page of the built site, opened from a folder in a real browser."""

import gzip
import io
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit
from xml.etree import ElementTree

import pytest
import yaml
from browser_pages import CHAPTERS, PAGES, ROOT, accessible, address, opened, violations
from bs4 import BeautifulSoup
from PIL import Image
from playwright.sync_api import TimeoutError

from microdata_price.book import notebook

LOOK = """async () => {
    const faults = [], pictures = [];
    for (const image of document.images) {
        image.loading = "eager";
        await image.decode().catch(() => null);
        if (!image.naturalWidth) { faults.push(`${image.src} did not load`); }
        if (!image.alt.trim() && image.role !== "presentation") {
            faults.push(`${image.src} has no alternative text`);
        }
    }
    for (const node of document.querySelectorAll(".math")) {
        if (!node.querySelector("mjx-container math")
            || node.querySelector("mjx-merror, [data-mml-node=merror]")) {
            faults.push(`the formula ${node.textContent.slice(0, 80)} is not rendered`);
        }
    }
    for (const node of document.querySelectorAll("mjx-container[tabindex]:not(.scrolls)")) {
        faults.push(`a formula is a tab stop: ${node.textContent.slice(0, 80)}`);
    }
    for (const { firstElementChild, lastChild } of document.querySelectorAll("p > .together")) {
        if (lastChild.nodeType !== Node.TEXT_NODE) { continue; }
        const range = document.createRange();
        range.selectNode(lastChild);
        // The middle of a mark and of the formula before it are less than a line apart.
        const mark = range.getBoundingClientRect();
        const formula = firstElementChild.getBoundingClientRect();
        if (Math.abs(mark.top + mark.bottom - formula.top - formula.bottom) > 40) {
            faults.push(`a line begins with the mark ${lastChild.data}`);
        }
    }
    const walk = document.createTreeWalker(document.body, 4);
    while (walk.nextNode()) {
        const node = walk.currentNode, parent = node.parentElement;
        // Formulas are drawn; what stands beside them is for screen readers.
        if (!node.data.trim() || !parent.checkVisibility() ||
            parent.closest("mjx-container, script, style")) { continue; }
        const size = parseFloat(getComputedStyle(parent).fontSize);
        if (size > 0 && size < 9) { faults.push(`${size}: ${node.data.trim().slice(0, 40)}`); }
    }
    // A picture behind a switch has no width until it is chosen.
    const all = document.head.appendChild(document.createElement("style"));
    all.textContent = ".sd-tab-content { display: block !important; }";
    for (const image of document.querySelectorAll("img.computed-figure")) {
        pictures.push([image.getAttribute("src"), image.getBoundingClientRect().width]);
    }
    all.remove();
    document.querySelectorAll("details").forEach(node => { node.open = true });
    return { faults, pictures };
}"""
# What is cut and does not say so, or is out of the keyboard's reach.
CUT = """() => [...document.querySelectorAll(
    ".pst-scrollable-table-container, .wide-figure, mjx-container[display=true]")]
    .filter(node => {
        const wide = node.scrollWidth > node.clientWidth + 1, box = node.getBoundingClientRect();
        const told = getComputedStyle(node, "::before").content.includes("scroll sideways");
        return (node.tabIndex === 0) !== wide || told !== wide
            || box.right > window.innerWidth || box.left < 0;
    }).map(node => node.outerHTML.slice(0, 80))"""
HEIGHTS = """() => [...document.querySelectorAll("img.computed-figure")]
    .map(image => image.getBoundingClientRect().height)"""


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_on_a_phone_at_a_desk_and_on_paper(chromium, site, page):
    with opened(chromium, address(site, page), width=390) as tab:
        look = tab.evaluate(LOOK)
        assert look["faults"] == []
        for source, width in look["pictures"]:
            # At its own width a picture's smallest letters have nine pixels.
            own = ElementTree.parse((site / page).parent / source).getroot().attrib["width"]
            assert width > 0.999 * float(own), source
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= 390
        # The page tells it a moment after its layout has changed.
        with suppress(TimeoutError):
            tab.wait_for_function(f"() => ({CUT})().length === 0", timeout=5_000)
        assert tab.evaluate(CUT) == []
        assert accessible(tab) == []
        tab.set_viewport_size({"width": 700, "height": 844})  # A4 without its margins
        tab.emulate_media(media="print")
        # 23 of 29.7 cm: margins and a caption remain.
        assert max(tab.evaluate(HEIGHTS), default=0) < 880


@cache
def soup(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(path):
    return {str(node["id"]) for node in soup(path).find_all(id=True)}


MOVED = yaml.safe_load((ROOT / "book" / "_redirects.yml").read_text("utf-8"))


def test_every_built_page_is_in_the_contents_and_old_addresses_lead_on(chromium, site):
    built = {p.relative_to(site).with_suffix("").as_posix() for p in site.rglob("*.html")}
    built = {n for n in built if not n.startswith(("explorer/", "slides/", "dice/", "students/"))}
    assert built - {"index", "genindex", *MOVED} == set(PAGES)
    assert len(MOVED) > 30
    for old in MOVED:
        text = (site / f"{old}.html").read_text(encoding="utf-8")
        target = re.search(r'url=([^"#]+)', text)
        assert target, old
        assert ((site / old).parent / target[1]).is_file(), old
    # A browser that does not follow has a page that can be used.
    with opened(chromium, "about:blank") as page:
        page.set_content(text.replace('http-equiv="refresh"', 'name="stayed"'))
        assert violations(page) == []


def test_no_link_and_no_anchor_is_broken(site):
    broken, checked, pages = [], 0, [*site.rglob("*.html")]
    for path in pages:
        for tag in soup(path).select("a[href], link[href], [src]"):
            target = str(tag.get("href", tag.get("src")))
            if urlsplit(target).scheme in ("http", "https", "mailto", "data"):
                continue
            plain, fragment = urldefrag(target)
            file = (path.parent / unquote(urlsplit(plain).path)).resolve() if plain else path
            checked += 1
            # The explorer's addresses hold settings; test_explorer_moves.py opens them.
            setting = "=" in fragment and file.parts[-2:] == ("explorer", "index.html")
            place = fragment and file.suffix == ".html" and not setting
            if not file.is_file() or (place and unquote(fragment) not in anchors(file)):
                broken.append(f"{path.relative_to(site)}: {target}")
    assert broken == []
    assert checked > 20 * len(pages)


def title(site, page):
    return soup(site / f"{page}.html").find("title").get_text()


def test_pages_are_titled_numbered_described_and_offer_their_notebooks(site):
    titles = [title(site, page) for page in PAGES]
    assert len({*titles}) == len(titles)
    numbers = [re.match(r"(\d+)\. ", title) for title in titles]
    assert [int(number[1]) for number in numbers if number] == list(range(1, 12))
    said = set()
    for page in [p for p in PAGES if p != "search"]:
        whole = soup(site / f"{page}.html")
        described = whole.find("meta", attrs={"name": "description"})["content"]
        assert len(described) >= 20, page
        assert "\\" not in described, page
        said.add(described)
        image = whole.find("meta", attrs={"property": "og:image"})["content"]
        assert ((site / page).parent / image).is_file(), page
        assert re.match(r"\s*Version \d+\.\d+", whole.find(class_="extra_footer").get_text()), page
    assert len(said) == len(PAGES) - 1
    for page in CHAPTERS:
        foot = soup(site / f"{page}.html").find(class_="page-foot")
        link = foot.find("a", href=re.compile(r"\.ipynb$"))
        copy = notebook.read((site / page).parent / unquote(link["href"]))
        code = [c for c in copy.cells if c.cell_type == "code"]
        assert sum(bool(c.outputs) for c in code) > len(code) / 3, page


# Pages, and queries by which they are found first.
FIRST = {
    "notebooks/": ("differential privacy", "certificate", "zCDP", "microdata"),
    "privacy_and_errors": ("theorem 1",),
    "why_someone_pays": ("theorem 3", "theorem 3.2"),
    "what_can_be_reached": ("theorem 4", "lemma 2", "paper lemma 2"),
    "five_methods": ("algorithm 1",),
    "scorecard": ("table 1",),
    "benchmark": ("topdown",),
}


def test_search_finds_chapters_first_and_nothing_where_there_is_nothing(chromium, site):
    first = {query: page for page, queries in FIRST.items() for query in queries}
    for page in CHAPTERS:
        plain = title(site, page).split(" — ")[0].replace("’s", "")
        first[re.sub(r"^\d+\. |[^\w\s-]", " ", plain)] = page
    with opened(chromium, address(site, "search")) as tab:
        for query, page in {**first, "zzyzzyva": None}.items():
            tab.goto(f"{address(site, 'search')}?q={'+'.join(query.split())}")
            told = "document.querySelector('#search-results')?.innerText ?? ''"
            tab.wait_for_function(f"() => /found|did not match/i.test({told})")
            found = tab.query_selector_all("#search-results ul.search li a")
            assert page in found[0].get_attribute("href") if page else found == [], query


def test_the_first_page_and_the_explorer_are_light_and_the_first_leads_on(chromium, site):
    with opened(chromium, "about:blank") as tab:
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(unquote(urlsplit(request.url).path)))
        tab.goto((site / "index.html").as_uri())
        tab.wait_for_url("**/intro.html")
        tab.wait_for_load_state("load")
    files = {Path(u) for u in asked if Path(u).is_file() and "mathjax" not in Path(u).parts}
    sizes = {p.relative_to(site).as_posix(): len(gzip.compress(p.read_bytes())) for p in files}
    assert 0 < sum(sizes.values()) < 500_000, sizes
    files = [p for p in (site / "explorer").rglob("*") if p.is_file()]
    assert 0 < sum(len(gzip.compress(p.read_bytes())) for p in files) < 1_000_000


def test_the_theme_is_the_readers_choice_and_figures_follow_it(chromium, site):
    theme = "() => document.documentElement.dataset.theme"
    with opened(chromium, address(site, "explorer/index")) as tab:
        tab.click("#theme")
        assert tab.evaluate(theme) == "dark"
        tab.click("a.home")
        # The first page of the site sends its visitors on to the book's.
        tab.wait_for_url("**/intro.html")
        assert tab.evaluate(theme) == "dark"
        seen = []
        for _ in range(3):
            tab.click("button.theme-switch-button:visible")
            seen.append(tab.evaluate(theme))
        tab.goto(address(site, PAGES[1]))
        assert {*seen} == {"light", "dark"}
        assert tab.evaluate(theme) == seen[-1] == "dark"
    for machine, chosen, paper in (("light", "dark", (18,) * 3), ("dark", "light", (255,) * 3)):
        with opened(chromium, address(site, "notebooks/difficult_table"), theme=machine) as tab:
            tab.evaluate("t => { document.documentElement.dataset.theme = t }", chosen)
            shot = tab.locator("img.computed-figure").first.screenshot()
        with Image.open(io.BytesIO(shot)) as image:
            assert image.convert("RGB").getpixel((3, 3)) == paper


def test_code_is_in_the_keyboards_reach_as_soon_as_it_is_unfolded(chromium, site):
    # The theme asks once, when the page is loaded. If it asked too early, the answer stays wrong.
    unfolded = """async () => {
        const folded = [...document.querySelectorAll("details:not([open]) pre")];
        folded.forEach(node => { node.tabIndex = -1; node.closest("details").open = true });
        for (let frame = 0; frame < 3; frame += 1) {
            await new Promise(requestAnimationFrame);
        }
        return folded.filter(node => node.scrollWidth > node.clientWidth)
            .map(node => node.tabIndex);
    }"""
    with opened(chromium, address(site, "notebooks/benchmark"), width=390) as tab:
        tab.wait_for_timeout(600)  # the theme's own delay after the last change
        cut = tab.evaluate(unfolded)
    assert set(cut) == {0}


def test_what_the_theme_says_later_of_a_tables_width_does_not_stay(chromium, site):
    with opened(chromium, address(site, "notebooks/how_large"), width=390) as tab:
        tables = '[...document.querySelectorAll(".pst-scrollable-table-container")]'
        for answer in ("", 0, -1):  # each answer of the theme's, at a moment of its own choice
            if answer != "":
                tab.evaluate(f"() => {tables}.forEach(node => {{ node.tabIndex = {answer} }})")
            wide = "node.scrollWidth > node.clientWidth + 1"
            tab.wait_for_function(f"() => {tables}.every(node => ({wide}) === !node.tabIndex)")


def test_a_link_shows_what_it_leads_to(chromium, site):
    with opened(chromium, address(site, "notebooks/why_someone_pays")) as page:
        assert page.locator("p > .together").count() > 5  # which the walk over all pages looks at
        link = page.locator(".bd-article p a.internal[href*='privacy_and_errors.html#']").first
        link.hover()
        shown = page.locator(".popover.preview")
        shown.wait_for()
        assert "Definition" in shown.inner_text()
        assert shown.locator("mjx-container").count()
        # It stays while it is read, and goes when told.
        shown.hover()
        page.wait_for_timeout(300)
        assert shown.count() == 1
        page.keyboard.press("Escape")
        assert shown.count() == 0
        page.mouse.move(0, 0)
        page.keyboard.press("Tab")
        link.focus()
        shown.wait_for()
        assert link.get_attribute("aria-describedby") == shown.get_attribute("id")
        assert violations(page, ".popover.preview") == []
        page.keyboard.press("Tab")
        shown.wait_for(state="detached")
        assert link.get_attribute("aria-describedby") is None


def test_the_students_edition_has_no_solution_anywhere(site, students):
    def text_of(path):
        return soup(path).get_text() if path.suffix == ".html" else path.read_text("utf-8")

    # Stretches of plain text, long enough to be nowhere else by chance.
    told = {
        part.strip()[:60]
        for path in site.rglob("*.html")
        for node in soup(path).select("details.solution p")
        for string in node.strings
        for part in re.split(r"[\n\\\"'’“”]", string)
        if len(part.strip()) > 40
    }
    own = "".join(text_of(path) for path in site.rglob("*.ipynb"))
    assert sum(part in own for part in told) > max(30, len(told) / 2)
    for path in sorted(students.rglob("*")):
        if path.suffix in (".html", ".ipynb", ".md", ".txt", ".js") and "mathjax" not in path.parts:
            text = text_of(path)
            assert [part for part in told | {"with solutions"} if part in text] == [], path
            if path.suffix == ".html":
                assert soup(path).select(".solution, .tag_solution") == [], path
                assert soup(path).find("summary", string=re.compile("Solution")) is None, path
    assert not re.search("sol-|Solution (to|of)", (students / "searchindex.js").read_text("utf-8"))


def test_a_switch_shows_one_picture_and_a_link_chooses_it(chromium, site):
    kinds = ("pure", "approximate", "zcdp")
    with opened(chromium, address(site, "notebooks/plane") + "#plane-zcdp") as tab:

        def shown():
            return [tab.locator(f"#plane-{kind}").is_visible() for kind in kinds]

        assert shown() == [False, False, True]
        tab.locator(".sd-tab-set > input").nth(2).press("ArrowLeft")
        assert shown() == [False, True, False]
        tab.emulate_media(media="print")
        assert shown() == [True, True, True]
