"""The explorer in a browser: its settings, its moves, and its numbers beside the package's."""

import re
from typing import Any

import pytest

from explorer_data import package_bounds
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from microdata_price.theory.upper.operating_points import mapped
from microdata_price.theory.upper.upper_bounds import exact_clipping

KEPT = 3e-5
"""Numbers on the page are rounded to one part in 40,000."""
ALL = "#view=plane&hide=none"
"""The plane with every layer shown."""
GO = """async hash => {
    const read = new Promise(done => addEventListener("hashchange", () => setTimeout(done),
        { once: true }));
    if (location.hash === hash) { dispatchEvent(new Event("hashchange")); }
    else { location.hash = hash; }
    await read;
}"""


def go(page, setting):
    """Give the page another address, as a link does, and wait until it has followed."""
    page.evaluate(GO, setting)


def act(page, steps):
    """Take steps, one a line: a verb, where, and what: `sees #told = left`, `click #next`, ..."""
    for step in map(str.strip, steps.strip().splitlines()):
        verb, _, rest = step.partition(" ")
        where, _, what = rest.partition(" =")
        what = what.strip()
        if verb == "sees":
            assert re.search(what, page.inner_text(where)), (step, page.inner_text(where))
        elif verb == "hides":
            assert page.is_hidden(where), step
        elif verb == "state":
            script = "([key, value]) => String(explorerState().state[key]) === value"
            page.wait_for_function(script, arg=[where, what])
        elif verb == "press":
            page.keyboard.press(where)
        elif verb == "fill":
            page.fill(where, what.replace("/", "\n"))
        else:
            getattr(page, verb)(where)


def now(page):
    state: dict[str, Any] = page.evaluate("() => explorerState()")
    return state


def check_numbers(page):
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
