"""The explorer in a browser: its settings, its moves, and its numbers beside the package's."""

import re

import numpy as np
import pytest

from explorer_data import package_bounds
from microdata_price.model.privacy import guarantee_of
from microdata_price.theory.upper.operating_points import mapped
from microdata_price.theory.upper.upper_bounds import exact_clipping

KEPT = 3e-5  # numbers on the page are rounded to one part in 40,000
ALL = "#view=plane&hide=none"  # the plane with every layer shown
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
    return page.evaluate("() => explorerState()")


def check_numbers(page):
    """Compare what the page shows with what the package says; return the page's values."""
    v = now(page)["values"]
    guarantee = guarantee_of(v["privacy"], epsilon=v["epsilon"], rho=v["rho"], delta=v["delta"])
    unit = guarantee.signed_error
    assert v["unit"] == pytest.approx(unit, rel=1e-12)
    given_sum = package_bounds(guarantee, v["d"], sum_error=v["sum"])
    given_point = package_bounds(guarantee, v["d"], point_error=unit)
    assert len(v["bounds"]) == (3 if v["privacy"] == "approximate" else 4)
    for b in v["bounds"]:
        for found, proved in ((b["C"], given_sum[b["key"]]), (b["D"], given_point[b["key"]])):
            assert (1 - 2 * KEPT) * proved <= found <= (1 + 1e-9) * proved
    marks, place = {m["key"]: m for m in v["mechanisms"]}, mapped(guarantee.basis, v["d"])
    assert ("mapped" in marks) == (place is not None)
    for key, own in (("counts_first", exact_clipping(guarantee.basis, v["d"])), ("mapped", place)):
        if own is not None:
            assert marks[key]["C"] == pytest.approx(float(np.ravel(own.C)[0]), rel=KEPT)
            assert marks[key]["D"] == pytest.approx(float(np.ravel(own.D)[0]), rel=KEPT)
    best = max(b["C"] for b in v["bounds"])
    least = f"C ≥ {page.evaluate('x => Explorer.atLeast(x)', best)}" if best else "no bound"
    assert page.inner_text("#card-sum strong") == least
    return v
