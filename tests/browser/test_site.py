"""Every page of the built site, opened from a folder in a real browser."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_pages import PAGES, ROOT
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page

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
    outside = {name for name in built if name.startswith(("explorer/", "slides/"))}
    assert built - extra - outside == set(PAGES) - {"search"}


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
            elif "=" in fragment and file == (site / "explorer" / "index.html").resolve():
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


def test_figures_stand_on_a_light_panel_in_the_dark_theme(chromium: Browser, site: Path) -> None:
    with opened(chromium, address(site, "notebooks/difficult_table"), theme="dark") as watched:
        looks = watched.page.evaluate(
            """() => [...document.querySelectorAll("img.computed-figure")].map(image => {
                const style = getComputedStyle(image);
                return [style.backgroundColor, style.filter] })"""
        )
    assert looks
    assert {tuple(look) for look in looks} == {("rgb(255, 255, 255)", "none")}


def test_every_figure_leads_to_its_code_and_its_notebook(site: Path) -> None:
    count = 0
    for path in all_pages(site):
        soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for figure in soup.find_all("figure"):
            if figure.find("img", class_="computed-figure") is None:
                continue
            links = [str(a["href"]) for a in figure.find_all("a", href=True)]
            assert any("figure_code.html#code-" in link for link in links), path
            assert any(link.endswith(".ipynb") for link in links), path
            count += 1
    assert count


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
