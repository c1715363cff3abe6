"""What the browser tests go through, and a page that is watched while it is open."""

from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe

from microdata_price.book.plan import toc_entries

ROOT = Path(__file__).parents[2]
PAGES = [*toc_entries(ROOT), "search"]
CHAPTERS = [page for page in PAGES if page.startswith("notebooks/")]
FLAGS = (
    "no-sandbox disable-gpu disable-quic no-first-run disable-background-networking"
    " disable-component-update disable-sync"
)
FAULTS = ("error", "warning")
# A page whose width changes moves for some frames; its wide parts are measured after that.
STILL = """async () => {
    await document.fonts.ready;
    for (let before = "", still = 0; still < 12; ) {
        await new Promise(requestAnimationFrame);
        const parts = [...document.querySelectorAll("main, table, .wide-figure")];
        const now = parts.map(node => node.parentElement.clientWidth).join();
        still = now === before ? still + 1 : 0;
        before = now;
    }
}"""
FORMULA = "s => document.querySelector(s).querySelector('math')?.textContent ?? ''"


def address(site, page):
    return (site / f"{page}.html").as_uri()


@contextmanager
def opened(chromium, url, *, theme="light", width=1280, **options):
    """Open a page; whatever goes wrong on it, or is asked of a network, fails the test."""
    context = chromium.new_context(
        viewport={"width": width, "height": 844},
        color_scheme=theme,
        reduced_motion="reduce",
        **options,
    )
    page, problems = context.new_page(), list[str]()
    page.on("console", lambda m: problems.append(m.text) if m.type in FAULTS else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("requestfailed", lambda r: problems.append(f"failed: {r.url}"))
    local = ("file:", "data:", "blob:")
    page.on("request", lambda r: None if r.url.startswith(local) else problems.append(r.url))
    try:
        page.goto(url)
        page.evaluate("() => window.MathJax?.startup?.promise ?? null")
        yield page
        assert problems == []
    finally:
        context.close()


def violations(page, within=None):
    """What axe finds; a heading that is one formula has no text for it, but has MathML."""
    page.evaluate(STILL)
    # Preloading style sheets is what axe does, and from a folder it may not.
    options: dict[str, Any] = {"preload": False, "resultTypes": ["violations"]}
    found = Axe().run(page, context=within, options=options)
    return [
        f"{fault['id']}: {node['html'][:160]} | {node.get('failureSummary', '')[:300]}"
        for fault in found.response["violations"]
        for node in fault["nodes"]
        if fault["id"] != "empty-table-header" or not page.evaluate(FORMULA, node["target"][0])
    ]


def accessible(page):
    """What axe finds in both themes, on a phone and at a desk."""
    found = []
    for theme, width in product(("light", "dark"), (390, 1280)):
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(
            "t => [t, undefined].includes(document.documentElement.dataset.theme)", arg=theme
        )
        page.set_viewport_size({"width": width, "height": 844})
        found += [f"{theme}, {width}: {fault}" for fault in violations(page)]
    return found
