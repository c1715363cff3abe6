"""The explorer in a browser: its settings, its moves, and its numbers beside the package's."""

import re
from itertools import product

import numpy as np
import pytest
from chapter_texts import numbers

from explorer_data import package_bounds
from microdata_price.model.privacy import guarantee_of
from microdata_price.theory.upper.operating_points import mapped
from microdata_price.theory.upper.upper_bounds import exact_clipping

KNOWN = {"counts_first": exact_clipping, "mapped": mapped}
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


def granted(text):
    """Return the error that a sentence grants, in signed errors."""
    found = re.search("(?:D ≤|at most) (.*?×) (?:the )?signed|no more than signed answers do", text)
    return numbers(found[1])[0] if found[1] else 1.0


def check_numbers(page):
    """Compare numbers and sentences with what the package says; return the page's values."""
    v = now(page)["values"]
    guarantee = guarantee_of(v["privacy"], epsilon=v["epsilon"], rho=v["rho"], delta=v["delta"])
    unit, count = guarantee.signed_error, 3 if v["privacy"] == "approximate" else 4
    rows = page.locator("#values tbody tr").all_text_contents()[: 2 * count]
    of_sums = [page.inner_text("#card-sum"), page.inner_text("#price-caption"), *rows[::2]]
    of_counts = [page.inner_text("#card-counts"), *rows[1::2]]
    (D,), (C,) = ({unit * granted(text) for text in said} for said in (of_sums, of_counts))
    assert [v["sum"], v["unit"], C] == pytest.approx([D, unit, unit], rel=1e-12)
    proved = {"C": package_bounds(guarantee, v["d"], sum_error=D)}
    proved["D"] = package_bounds(guarantee, v["d"], point_error=C)
    for row, (b, what) in zip(rows, product(v["bounds"], "CD"), strict=True):
        best = proved[what][b["key"]]
        assert (1 - 2 * KEPT) * best <= b[what] <= (1 + 1e-9) * best
        assert 0.99 * best <= numbers(row.split("at least")[1])[0] <= (1 + 1e-9) * best
    marks = {m["key"]: m for m in v["mechanisms"]}
    for (key, known), what in product(KNOWN.items(), "CD"):
        want = np.ravel(getattr(known(guarantee.basis, v["d"]), what, 0))[0]  # or there is none
        assert marks.get(key, {what: 0})[what] == pytest.approx(float(want), rel=KEPT)
    best = max(b["C"] for b in v["bounds"])
    least = f"C ≥ {page.evaluate('x => Explorer.atLeast(x)', best)}" if best else "no bound"
    assert page.inner_text("#card-sum strong") == least
    return v
