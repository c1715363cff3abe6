"""Every page of the built site, opened from a folder in a real browser."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit
from xml.etree import ElementTree

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from browser_pages import PAGES, ROOT
from bs4 import BeautifulSoup
from PIL import Image
from playwright.sync_api import Browser, Page, TimeoutError

from microdata_price.book import notebook

LOCAL = ("file:", "data:", "blob:")


class Watched:
    """A page that remembers what went wrong on it and what it asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("requestfailed", lambda r: self.problems.append(f"failed: {r.url}"))

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console {message.type}: {message.text}")

    def open(self, url: str) -> None:
        self.page.goto(url)
        if url.endswith("/index.html"):  # It leads to the first page at once.
            self.page.wait_for_url("**/intro.html")
        self.page.wait_for_load_state("load")
        self.page.evaluate("() => window.MathJax?.startup?.promise ?? null")


@contextmanager
def opened(
    chromium: Browser, url: str, *, theme: str = "light", width: int = 1280
) -> Iterator[Watched]:
    context = chromium.new_context(
        viewport={"width": width, "height": 844}, color_scheme=theme, reduced_motion="reduce"
    )
    try:
        watched = Watched(context.new_page())
        watched.open(url)
        yield watched
    finally:
        context.close()


def address(site: Path, page: str) -> str:
    return (site / f"{page}.html").as_uri()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_and_stays_on_the_machine(chromium: Browser, site: Path, page: str) -> None:
    with opened(chromium, address(site, page)) as watched:
        assert watched.problems == []
        assert [u for u in watched.requests if not u.startswith(LOCAL)] == []
        images = watched.page.evaluate(
            """async () => Promise.all([...document.images].map(async image => {
                image.loading = "eager";
                await image.decode().catch(() => null);
                return [image.src, image.naturalWidth, image.alt.trim(), image.role]
            }))"""
        )
        for source, width, alt, role in images:
            assert width > 0, f"{source} did not load"
            assert alt or role == "presentation", f"{source} has no alternative text"
        formulas = watched.page.evaluate(
            """() => [...document.querySelectorAll(".math")].map(node => [
                node.querySelector("mjx-container") !== null,
                node.querySelector("mjx-container math") !== null,
                node.querySelector("mjx-merror, [data-mml-node=merror]") === null,
                node.textContent.slice(0, 80)])"""
        )
        for *facts, text in formulas:
            assert facts == [True, True, True], f"the formula {text!r} is not rendered"


def violations(page: Page) -> list[str]:
    """What axe finds; a heading that is one formula has no text for it, but has MathML."""
    # A page whose width changes moves for some frames; its wide parts are measured after that.
    page.evaluate(
        """async () => {
            await document.fonts.ready;
            for (let before = "", still = 0; still < 12; ) {
                await new Promise(requestAnimationFrame);
                const parts = [...document.querySelectorAll("main, table, .wide-figure")];
                const now = parts.map(node => node.parentElement.clientWidth).join();
                still = now === before ? still + 1 : 0;
                before = now;
            }
        }"""
    )
    return [
        f"{found['id']}: {node['html'][:160]} | {node.get('failureSummary', '')[:300]}"
        for found in Axe().run(page).response["violations"]
        for node in found["nodes"]
        if found["id"] != "empty-table-header"
        or not page.evaluate(
            "selector => document.querySelector(selector).querySelector('math')?.textContent ?? ''",
            node["target"][0],
        )
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_accessible_and_fits_a_phone(
    chromium: Browser, site: Path, page: str, theme: str
) -> None:
    with opened(chromium, address(site, page), theme=theme, width=390) as watched:
        for details in watched.page.query_selector_all("details:not([open]) > summary"):
            details.evaluate("node => { node.parentElement.open = true }")
        wide = watched.page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= 390, f"{page} is {wide} pixels wide"
        assert watched.page.evaluate("() => document.documentElement.dataset.theme") == theme
        found = violations(watched.page)
        watched.page.set_viewport_size({"width": 1280, "height": 900})
        found += violations(watched.page)
    assert found == []


@cache
def anchors(path: Path) -> frozenset[str]:
    soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    return frozenset(str(node["id"]) for node in soup.find_all(id=True))


def all_pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_built_page_is_in_the_table_of_contents(site: Path) -> None:
    extra = {"index", "search", "genindex"}
    built = {p.relative_to(site).with_suffix("").as_posix() for p in all_pages(site)}
    outside = {
        name for name in built if name.startswith(("explorer/", "slides/", "dice/", "students/"))
    }
    moved = yaml.safe_load((ROOT / "book" / "_redirects.yml").read_text(encoding="utf-8"))
    assert built - extra - outside - {*moved} == set(PAGES) - {"search"}


def test_no_link_and_no_anchor_is_broken(site: Path) -> None:
    broken = []
    checked = 0
    for path in all_pages(site):
        soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        targets = [(tag, tag.get("href")) for tag in soup.find_all(["a", "link"], href=True)]
        targets += [(tag, tag.get("src")) for tag in soup.find_all(src=True)]
        for _, target in targets:
            parts = urlsplit(str(target))
            if parts.scheme in ("http", "https", "mailto", "data"):
                continue
            plain, fragment = urldefrag(str(target))
            file = (path.parent / unquote(urlsplit(plain).path)).resolve() if plain else path
            checked += 1
            if not file.is_file():
                broken.append(f"{path.relative_to(site)}: {target}")
            elif "=" in fragment and file.parts[-2:] == ("explorer", "index.html"):
                # Its addresses hold settings; test_explorer_moves.py opens them.
                continue
            elif fragment and file.suffix == ".html" and unquote(fragment) not in anchors(file):
                broken.append(f"{path.relative_to(site)}: {target} (no such place)")
    assert broken == []
    assert checked > 20 * len(all_pages(site))


def results(chromium: Browser, site: Path, query: str) -> list[str]:
    with opened(chromium, f"{address(site, 'search')}?q={query}") as watched:
        watched.page.wait_for_function(
            """() => /found|did not match/i.test(
                document.querySelector("#search-results")?.innerText ?? "")""",
            timeout=15_000,
        )
        assert watched.problems == []
        links = watched.page.query_selector_all("#search-results ul.search li a")
        return [str(link.get_attribute("href")) for link in links]


def test_search_finds_words_and_nothing_where_there_is_nothing(
    chromium: Browser, site: Path
) -> None:
    assert any("difficult_table" in link for link in results(chromium, site, "difficult+table"))
    assert results(chromium, site, "zzyzzyva") == []


def boxes() -> list[tuple[str, str, str]]:
    """Number, title and page of every theorem box of the book that has a number of the paper."""
    found = []
    head = re.compile(r"\*\*((?:Theorem|Lemma|Remark|Definition) [\d.]+\d?) \((.+?)\)\.\*\*")
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in notebook.read(path).cells:
            match = head.match(cell.source)
            if match and notebook.role(cell) in notebook.BOXES:
                found.append((match[1], match[2], path.stem))
    return found


def test_search_finds_theorems_by_name_and_by_number(chromium: Browser, site: Path) -> None:
    assert boxes()
    for number, title, page in boxes()[:: max(1, len(boxes()) // 12)]:
        words = re.sub(r"\(.*|[$\\].*|[^\w\s-]", " ", title).split()[:4]
        for query in ("+".join(number.split()), "+".join(words)):
            assert any(page in link for link in results(chromium, site, query)), (query, page)


def test_the_first_page_is_light(chromium: Browser, site: Path) -> None:
    with opened(chromium, (site / "index.html").as_uri()) as watched:
        files = {Path(unquote(urlsplit(u).path)) for u in watched.requests if u.startswith("file:")}
    sizes = {
        p.relative_to(site).as_posix(): len(gzip.compress(p.read_bytes()))
        for p in files
        if p.is_file() and "mathjax" not in p.parts
    }
    assert sum(sizes.values()) < 500_000, json.dumps(sizes, indent=1)


def test_the_theme_can_be_switched_and_is_remembered(chromium: Browser, site: Path) -> None:
    with opened(chromium, address(site, PAGES[0])) as watched:
        before = watched.page.evaluate("() => document.documentElement.dataset.theme")
        for _ in range(3):
            watched.page.click("button.theme-switch-button:visible")
            if watched.page.evaluate("() => document.documentElement.dataset.theme") != before:
                break
        after = watched.page.evaluate("() => document.documentElement.dataset.theme")
        assert after != before
        watched.open(address(site, PAGES[1]))
        assert watched.page.evaluate("() => document.documentElement.dataset.theme") == after
        assert watched.problems == []


def test_figures_follow_the_theme_of_the_page_not_of_the_machine(
    chromium: Browser, site: Path
) -> None:
    page = "notebooks/difficult_table"
    for theme, machine, paper in (
        ("dark", "light", (18, 18, 18)),
        ("light", "dark", (255, 255, 255)),
    ):
        with opened(chromium, address(site, page), theme=machine) as watched:
            watched.page.evaluate("t => { document.documentElement.dataset.theme = t }", theme)
            shot = watched.page.locator("img.computed-figure").first.screenshot()
        with Image.open(io.BytesIO(shot)) as image:
            assert image.convert("RGB").getpixel((3, 3)) == paper


def text_sizes(picture: Path) -> list[float]:
    """Return the sizes of a picture's letters, in shares of its width."""
    tree = ElementTree.parse(picture).getroot()
    width = float(tree.attrib["viewBox"].split()[2])
    return [size / width for size in _sizes(tree, 1.0, False)]


def _sizes(node: ElementTree.Element, scale: float, inside: bool) -> Iterator[float]:
    inside = inside or (node.get("id") or "").startswith(("text_", "cell-text"))
    found = re.search(r"scale\(([\d.]+)", node.get("transform") or "")
    scale *= float(found.group(1)) if found and inside else 1.0
    if inside and node.tag.endswith("}use"):
        yield 100 * scale
    for child in node:
        yield from _sizes(child, scale, inside)


@pytest.mark.parametrize("page", PAGES)
def test_no_letter_on_a_phone_is_below_nine_pixels(
    chromium: Browser, site: Path, page: str
) -> None:
    with opened(chromium, address(site, page), width=390) as watched:
        small = watched.page.evaluate(
            """() => {
                const found = new Set(), walk = document.createTreeWalker(document.body, 4);
                while (walk.nextNode()) {
                    const node = walk.currentNode, parent = node.parentElement;
                    // Formulas are drawn; what stands beside them is for screen readers.
                    if (!node.data.trim() || !parent.checkVisibility() ||
                        parent.closest("mjx-container, script, style")) { continue; }
                    const size = parseFloat(getComputedStyle(parent).fontSize);
                    const said = node.data.trim().slice(0, 40);
                    if (size > 0 && size < 9) { found.add(`${size}: ${said}`); }
                }
                return [...found] }"""
        )
        assert small == []
        # A picture behind a switch has no width until it is chosen.
        watched.page.add_style_tag(content=".sd-tab-content { display: block !important; }")
        pictures = watched.page.evaluate(
            """() => Promise.all([...document.querySelectorAll("img.computed-figure")].map(
                async image => { await image.decode();
                    return [image.getAttribute("src"), image.getBoundingClientRect().width] }))"""
        )
    for source, width in pictures:
        sizes = [share * width for share in text_sizes((site / page).parent / source)]
        assert sizes
        assert min(sizes) > 8.99, (source, width, min(sizes))


@pytest.mark.parametrize("page", PAGES)
def test_what_is_cut_on_a_phone_scrolls_by_keyboard_and_says_so(
    chromium: Browser, site: Path, page: str
) -> None:
    with opened(chromium, address(site, page), width=390) as watched:
        watched.page.evaluate(
            "() => document.querySelectorAll('details').forEach(d => { d.open = true })"
        )
        look = """() => [...document.querySelectorAll(
            ".pst-scrollable-table-container, .wide-figure, mjx-container[display=true]")]
            .map(node => [node.scrollWidth > node.clientWidth + 1, node.tabIndex === 0,
                getComputedStyle(node, "::before").content.includes("scroll sideways"),
                node.getBoundingClientRect().right <= window.innerWidth
                    && node.getBoundingClientRect().left >= 0,
                node.outerHTML.slice(0, 80)])"""
        # The page tells it a moment after its layout has changed.
        with suppress(TimeoutError):
            watched.page.wait_for_function(
                f"() => ({look})().every(([wide, reached, told, within]) =>"
                " reached === wide && told === wide && within)",
                timeout=5_000,
            )
        found = watched.page.evaluate(look)
    for wide, reached, told, within, what in found:
        assert (reached, told, within) == (wide, wide, True), what


def test_code_is_in_the_keyboards_reach_as_soon_as_it_is_unfolded(
    chromium: Browser, site: Path
) -> None:
    # The theme asks once, when the page is loaded. If it asked too early, the answer stays wrong.
    with opened(chromium, address(site, "notebooks/benchmark"), width=390) as watched:
        watched.page.wait_for_timeout(600)  # the theme's own delay after the last change
        cut = watched.page.evaluate(
            """async () => {
                const folded = [...document.querySelectorAll("details:not([open]) pre")];
                folded.forEach(node => { node.tabIndex = -1; });
                document.querySelectorAll("details").forEach(d => { d.open = true });
                for (let frame = 0; frame < 3; frame += 1) {
                    await new Promise(requestAnimationFrame);
                }
                return folded.filter(node => node.scrollWidth > node.clientWidth)
                    .map(node => node.tabIndex);
            }"""
        )
    assert cut
    assert set(cut) == {0}


def test_what_the_theme_says_later_of_a_tables_width_does_not_stay(
    chromium: Browser, site: Path
) -> None:
    with opened(chromium, address(site, "notebooks/how_large"), width=390) as watched:
        settled = """() => [...document.querySelectorAll(".pst-scrollable-table-container")]
            .every(node => (node.scrollWidth > node.clientWidth + 1) === (node.tabIndex === 0))"""
        watched.page.wait_for_function(settled)
        # Each answer of the theme's, at a moment of its own choice.
        for answer in (0, -1):
            watched.page.evaluate(
                """answer => document.querySelectorAll(".pst-scrollable-table-container")
                    .forEach(node => { node.tabIndex = answer })""",
                answer,
            )
            watched.page.wait_for_function(settled, timeout=5_000)


def test_formulas_are_no_tab_stops(chromium: Browser, site: Path) -> None:
    with opened(chromium, address(site, "notebooks/why_someone_pays")) as watched:
        assert watched.page.locator("mjx-container").count() > 50
        assert watched.page.locator("mjx-container[tabindex]:not(.scrolls)").count() == 0


def test_titles_tell_pages_apart_and_chapters_are_numbered(site: Path) -> None:
    titles = {}
    for page in PAGES:
        soup = BeautifulSoup((site / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
        title = soup.find("title")
        assert title is not None
        titles[page] = title.get_text()
    assert len(set(titles.values())) == len(titles), sorted(titles.values())
    numbers = [re.match(r"(\d+)\. ", title) for title in titles.values()]
    found = [int(number[1]) for number in numbers if number]
    assert found == list(range(1, len(found) + 1))
    assert len(found) == 11


def test_every_page_is_described(site: Path) -> None:
    said = {}
    for page in PAGES:
        if page == "search":
            continue
        soup = BeautifulSoup((site / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
        described = soup.find("meta", attrs={"name": "description"})
        image = soup.find("meta", attrs={"property": "og:image"})
        assert described is not None, page
        assert image is not None, page
        said[page] = str(described["content"])
        assert (site / f"{page}.html").parent.joinpath(str(image["content"])).is_file()
        footer = soup.find(class_="extra_footer")
        assert footer is not None
        assert re.match(r"\s*Version \d+\.\d+", footer.get_text())
    assert len(set(said.values())) == len(said)
    assert [page for page, text in said.items() if len(text) < 20 or "\\" in text] == []


def test_search_finds_the_chapter_first(chromium: Browser, site: Path) -> None:
    for page in PAGES:
        if not page.startswith("notebooks/"):
            continue
        soup = BeautifulSoup((site / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
        title = str(soup.find("title").get_text()).split(" — ")[0]  # type: ignore[union-attr]
        words = re.sub(r"^\d+\. |[^\w\s-]", " ", title.replace("’s", "")).split()
        first = results(chromium, site, "+".join(words))[0]
        assert Path(urlsplit(first).path).stem == Path(page).stem, (title, first)
    for query in ("differential+privacy", "certificate", "zCDP", "microdata"):
        assert "notebooks/" in results(chromium, site, query)[0], query
    for query, page in (
        ("theorem+3", "why_someone_pays"),
        ("theorem+3.2", "why_someone_pays"),
        ("paper+lemma+2", "what_can_be_reached"),
        ("remark+2", "plane"),
        ("algorithm+1", "five_methods"),
        ("table+1", "scorecard"),
    ):
        assert page in results(chromium, site, query)[0], query
    for query in ("topdown", "redistricting"):
        assert results(chromium, site, query), query


def test_a_link_shows_what_it_leads_to(chromium: Browser, site: Path) -> None:
    with opened(chromium, address(site, "notebooks/why_someone_pays")) as watched:
        page = watched.page
        link = page.locator(".bd-article p a.internal[href*='privacy_and_errors.html#']").first
        link.hover()
        shown = page.locator(".popover.preview")
        shown.wait_for()
        assert "Definition" in shown.inner_text()
        assert shown.locator("mjx-container").count()
        # It stays while it is read, and goes when told.
        shown.hover()
        page.wait_for_timeout(500)
        assert shown.count() == 1
        page.keyboard.press("Escape")
        assert shown.count() == 0
        page.mouse.move(0, 0)
        page.keyboard.press("Tab")
        link.focus()
        shown.wait_for()
        assert link.get_attribute("aria-describedby") == shown.get_attribute("id")
        assert violations(page) == []
        page.keyboard.press("Tab")
        shown.wait_for(state="detached")
        assert link.get_attribute("aria-describedby") is None


def test_every_chapter_offers_its_notebook_with_its_results(site: Path) -> None:
    for page in PAGES:
        if not page.startswith("notebooks/"):
            continue
        soup = BeautifulSoup((site / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
        foot = soup.find(class_="page-foot")
        assert foot is not None, page
        link = foot.find("a", href=re.compile(r"\.ipynb$"))
        copy = notebook.read((site / page).parent / unquote(str(link["href"])))
        code = [c for c in copy.cells if c.cell_type == "code"]
        assert sum(bool(c.outputs) for c in code) > len(code) / 3, page


def test_old_addresses_lead_on(site: Path) -> None:
    moved = yaml.safe_load((ROOT / "book" / "_redirects.yml").read_text(encoding="utf-8"))
    assert len(moved) > 30
    for old, new in moved.items():
        text = (site / f"{old}.html").read_text(encoding="utf-8")
        target = re.search(r'url=([^"]+)"', text)
        assert target is not None
        file = (site / old).parent / target[1].partition("#")[0]
        assert file.is_file(), (old, new)


def test_a_moved_page_leads_on_by_itself_and_can_be_used(chromium: Browser, site: Path) -> None:
    moved = yaml.safe_load((ROOT / "book" / "_redirects.yml").read_text(encoding="utf-8"))
    old, new = next((o, n) for o, n in moved.items() if n.startswith("notebooks/"))
    context = chromium.new_context()
    page = context.new_page()
    page.goto(address(site, old))
    page.wait_for_url(f"**/{new}.html")
    text = (site / f"{old}.html").read_text(encoding="utf-8")
    page.set_content(text.replace('http-equiv="refresh"', 'name="stayed"'))
    assert violations(page) == []
    context.close()


def solution_lines() -> list[str]:
    """Telling lines of the solutions: long enough to be nowhere else by chance."""
    lines = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in notebook.read(path).cells:
            if "solution" in notebook.tags(cell):
                for line in cell.source.splitlines():
                    plain = re.split(r"[$`{*_\"'\\<>&]", line.strip())[0].strip()
                    if len(plain) > 40 and not line.startswith((":", "#")):
                        lines.append(plain[:60])
    return lines


def text_of(path: Path) -> str:
    raw = path.read_text(encoding="utf-8", errors="replace")
    return BeautifulSoup(raw, "html.parser").get_text() if path.suffix == ".html" else raw


def test_the_students_edition_has_no_solution_anywhere(site: Path, students: Path) -> None:
    lines = solution_lines()
    assert lines
    full = "\n".join(text_of(p) for p in all_pages(site))
    assert sum(line in full for line in lines) > len(lines) / 2
    for path in sorted(students.rglob("*")):
        if path.suffix in (".html", ".ipynb", ".md", ".txt", ".js") and "mathjax" not in path.parts:
            text = text_of(path)
            assert [line for line in lines if line in text] == [], path
            if path.suffix == ".html":
                soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
                assert soup.select(".solution, .tag_solution") == [], path
                assert soup.find("summary", string=re.compile("Solution")) is None, path
    titles = json.dumps((students / "searchindex.js").read_text(encoding="utf-8"))
    assert "sol-" not in titles
    assert "Solution to" not in titles
    assert "Solution of" not in titles


def test_a_switch_shows_one_picture_and_a_link_chooses_it(chromium: Browser, site: Path) -> None:
    kinds = ("pure", "approximate", "zcdp")
    with opened(chromium, address(site, "notebooks/plane") + "#plane-zcdp") as watched:

        def shown() -> list[bool]:
            return [watched.page.locator(f"#plane-{kind}").is_visible() for kind in kinds]

        assert shown() == [False, False, True]
        watched.page.locator(".sd-tab-set > input").nth(2).focus()
        watched.page.keyboard.press("ArrowLeft")
        assert shown() == [False, True, False]
        watched.page.emulate_media(media="print")
        assert shown() == [True, True, True]


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("notebooks/")])
def test_no_picture_is_taller_than_a_sheet(chromium: Browser, site: Path, page: str) -> None:
    with opened(chromium, address(site, page), width=700) as watched:  # A4 without its margins
        watched.page.emulate_media(media="print")
        heights = watched.page.evaluate(
            """() => Promise.all([...document.querySelectorAll("img.computed-figure")].map(
                async image => { image.loading = "eager"; await image.decode();
                    return [image.getAttribute("src"), image.getBoundingClientRect().height] }))"""
        )
    for source, height in heights:
        assert height < 880, (source, height)  # 23 of 29.7 cm: margins and a caption remain


def test_no_line_begins_with_the_mark_after_a_formula(chromium: Browser, site: Path) -> None:
    apart = []
    for page in ("notebooks/five_methods", "notebooks/benchmark", "notebooks/why_someone_pays"):
        with opened(chromium, address(site, page), width=390) as watched:
            # The middle of a mark and of its formula are less than a line apart.
            apart += watched.page.evaluate(
                """() => [...document.querySelectorAll(".bd-article p > .together")]
                    .filter(node => node.lastChild.nodeType === Node.TEXT_NODE)
                    .map(node => {
                        const range = document.createRange();
                        range.selectNode(node.lastChild);
                        const mark = range.getBoundingClientRect();
                        const formula = node.firstElementChild.getBoundingClientRect();
                        return Math.abs(mark.top + mark.bottom - formula.top - formula.bottom) / 2;
                    })"""
            )
    assert len(apart) > 5
    assert max(apart) < 20
