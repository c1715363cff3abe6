"""The explorer in a browser, watched, and its numbers beside the package's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from explorer_data import package_bounds
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from microdata_price.theory.upper.operating_points import mapped
from microdata_price.theory.upper.upper_bounds import exact_clipping

KEPT = 3e-5
"""Numbers on the page are rounded to one part in 40,000."""


ALL = "#view=plane&hide=none"
"""The plane with every layer shown."""


@contextmanager
def opened(
    chromium: Browser,
    site: Path,
    setting: str = ALL,
    *,
    theme: str = "light",
    width: int = 1280,
    **options: Any,
) -> Iterator[Page]:
    context = chromium.new_context(
        viewport={"width": width, "height": 844}, color_scheme=theme, **options
    )
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda m: problems.append(m.text) if m.type != "log" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "request",
        lambda r: None if r.url.startswith(("file:", "data:")) else problems.append(r.url),
    )
    try:
        page.goto((site / "explorer" / "index.html").as_uri() + setting)
        page.wait_for_load_state("load")
        yield page
        assert not problems, problems
    finally:
        context.close()


def now(page: Page) -> dict[str, Any]:
    state: dict[str, Any] = page.evaluate("() => explorerState()")
    return state


def check_numbers(page: Page) -> dict[str, Any]:
    """Compare what the page shows with what the package says; return the page's values."""
    v: dict[str, Any] = now(page)["values"]
    guarantee: Guarantee
    if v["privacy"] == "zcdp":
        guarantee = ConcentratedDP(v["rho"])
    elif v["privacy"] == "approximate":
        guarantee = ApproximateDP(v["epsilon"], v["delta"])
    else:
        guarantee = PureDP(v["epsilon"])
    unit = guarantee.signed_error
    assert v["unit"] == pytest.approx(unit, rel=1e-12)
    given_sum = package_bounds(guarantee, v["d"], sum_error=v["sum"])
    given_point = package_bounds(guarantee, v["d"], point_error=unit)
    assert len(v["bounds"]) == (3 if v["privacy"] == "approximate" else 4)
    for b in v["bounds"]:
        assert b["C"] == pytest.approx(given_sum[b["key"]], rel=KEPT, abs=0)
        assert b["D"] == pytest.approx(given_point[b["key"]], rel=KEPT, abs=0)
    basis = guarantee.basis
    exact = exact_clipping(basis, v["d"])
    first = next(m for m in v["mechanisms"] if m["key"] == "counts_first")
    assert first["C"] == pytest.approx(float(exact.C), rel=KEPT)
    assert first["D"] == pytest.approx(float(exact.D), rel=KEPT)
    place = mapped(basis, v["d"])
    marks = [m for m in v["mechanisms"] if m["key"] == "mapped"]
    assert len(marks) == (place is not None)
    for mark in marks:
        assert place
        assert mark["C"] == pytest.approx(float(place.C[0]), rel=KEPT)
        assert mark["D"] == pytest.approx(float(place.D[0]), rel=KEPT)
    shown = page.inner_text("#card-sum strong")
    best = max(b["C"] for b in v["bounds"])
    assert shown == (
        f"C ≥ {page.evaluate('x => Explorer.atLeast(x)', best)}" if best else "no bound"
    )
    return v
