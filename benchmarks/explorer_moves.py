"""What a move of a slider takes in the explorer's page: the median, in a real browser."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd

_MOVES = """([name, moves]) => {
    const input = document.getElementById(name), times = [];
    const low = Number(input.min), steps = Number(input.max) - low + 1;
    for (let i = 0; i < moves; i += 1) {
        input.value = low + i % steps;
        const began = performance.now();
        input.dispatchEvent(new Event("input", { bubbles: true }));
        document.body.getBoundingClientRect();
        times.push(performance.now() - began);
    }
    return times }"""
_SLIDERS = {
    "#view=plane&hide=none": ("epsilon", "delta", "d", "sum"),
    "#view=plane&privacy=zcdp&hide=none": ("rho",),
    "#view=draws": ("draw",),
}


def explorer_moves(page: Path, moves: int = 200) -> pd.DataFrame:
    """Move every slider of a built explorer; the update and the layout are timed, not the paint.

    Parameters
    ----------
    page
        ``explorer/index.html`` of a built site.
    moves
        How often each slider is moved.
    """
    from playwright.sync_api import sync_playwright

    rows = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for setting, sliders in _SLIDERS.items():
            for slider in sliders:
                tab = browser.new_page(viewport={"width": 1280, "height": 844})
                tab.goto(page.resolve().as_uri() + setting)
                tab.wait_for_load_state("load")
                tab.wait_for_timeout(500)
                took = pd.Series(tab.evaluate(_MOVES, [slider, moves]))
                rows.append((slider, took.median(), took.quantile(0.95), took.min()))
                tab.close()
        browser.close()
    return pd.DataFrame(rows, columns=["slider", "median_ms", "most_ms", "least_ms"])
