"""The command ``microdata-price bounds``: its contract and its numbers."""

import json
import math

import pytest

from command_line import run
from microdata_price.base.numbers import rounded_down, rounded_up
from microdata_price.commands.bounds import CHANNEL
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.lower.lower_bounds import BOUNDS, lower_bounds
from microdata_price.theory.lower.single_cells import single_cell_bounds
from microdata_price.theory.upper.reached import MECHANISMS, reached

KINDS = [
    ("--privacy pure --epsilon 0.5", PureDP(0.5)),
    ("--privacy approximate --epsilon 1 --delta 1e-6", ApproximateDP(1, 1e-6)),
    ("--privacy zcdp --rho 0.125", ConcentratedDP(0.125)),
]


def told(capsys, words):
    code, out, err = run(capsys, "bounds", *words.split(), "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


@pytest.mark.parametrize(("words", "guarantee"), KINDS)
@pytest.mark.parametrize(("given", "other"), [("sum", "point"), ("point", "sum")])
def test_json_holds_the_packages_numbers(words, guarantee, given, other, capsys):
    document = told(capsys, f"{words} --points 10000 --{given}-error 5.5")
    errors = {f"{given}_error": 5.5}
    expected = lower_bounds(guarantee, 10**4, **errors)
    known = reached(guarantee, 10**4, **errors)
    cells, note = single_cell_bounds(guarantee, 10**4, **errors)
    assert {name: document[name] for name in (*BOUNDS, *CHANNEL)} == expected.values | cells
    assert (document["branches"], document["reached"]) == (expected.branches, known.values)
    assert ("0.6006 to 1" in str(document["notes"])) == (guarantee.kind == "zcdp")
    assert document["notes"] == [*expected.notes, *([note] if note else []), *known.notes.values()]
    assert (document["points"], document[f"{given}_error"]) == (10**4, 5.5)
    assert (document["bounds"], document[f"{other}_error"]) == (f"{other}_error", None)
    assert all(document[k] == getattr(guarantee, k, None) for k in ("epsilon", "rho", "delta"))
    assert all(isinstance(v, float) for v in document["branches"].values())


def test_the_table_says_what_the_numbers_mean(capsys):
    words = "bounds --privacy {} --points 100 --sum-error {}"
    code, out, err = run(capsys, *words.format("pure --epsilon 0.5", 6).split())
    assert (code, err) == (0, "")
    assert "Where the sum error is at most 6, the point error is at least" in out
    assert "printed says nothing" in out
    for name, value in reached(PureDP(0.5), 100, sum_error=6).values.items():
        shown = "-" if value is None else f"{rounded_up(value, 6):.6g}"
        assert f"{shown}  {MECHANISMS[name]}" in out
    for name, value in lower_bounds(PureDP(0.5), 100, sum_error=6).values.items():
        assert f"{rounded_down(value, 6):.6g}  {BOUNDS[name].meaning}" in out
    assert all(name in out and meaning in out for name, meaning in CHANNEL.items())
    vague = words.format("approximate --epsilon 1 --delta 0.1", 1e9)
    assert "is at most 1000000000, no bound says anything:" in run(capsys, *vague.split())[1]
    for given, d in ((2**53 + 1, 2**53 + 1), ("1e24", 10**24)):  # which no double is
        asked = words.format("pure --epsilon 1", 9).replace("100", str(given))
        assert f", d = {d} point" in run(capsys, *asked.split())[1]
    # A bound that says nothing beside one that does has a note.
    document = told(capsys, "--privacy pure --epsilon 0.5 --points 1e6 --sum-error 5.656854")
    assert document["channel_whole"] > 0
    assert document["channel"] > 0 or any("channel says" in n for n in document["notes"])
    # Under zCDP first moments can prove more than the program, as its label says.
    zcdp = told(capsys, "--privacy zcdp --rho 0.0171809 --points 8572556 --sum-error 1348.41")
    assert 0 < zcdp["channel"] < zcdp["first_moment"]
    assert "under zCDP not the most" in out
    assert "No known" in run(capsys, *words.format("pure --epsilon 0.5", 1e-6).split())[1]


@pytest.mark.parametrize(
    ("words", "low", "high"),
    [
        ("--privacy pure --epsilon 0.5 --point-error 2.7991777682143604", 640, 655),
        ("--privacy pure --epsilon 0.5 --sum-error 5.656854249492381", 10.0, 18.5),
        ("--privacy zcdp --rho 0.125 --point-error 2.001", 365, 720),
    ],
)
def test_both_sides_are_close_at_a_thousand_cells(words, low, high, capsys):
    document = told(capsys, f"{words} --points 1000")
    assert document["channel_whole"] >= max(low, document["channel"])
    assert min(v for v in document["reached"].values() if v is not None) <= high
    if "sum-error" in words:
        assert document["channel"] >= low
        assert document["reached"]["split_budget"] <= 19.8


@pytest.mark.parametrize("points", ["2", "1e12"])
@pytest.mark.parametrize("level", ["1e-6", "300", "1400", "1e5"])
@pytest.mark.parametrize(
    "kind", ["pure --epsilon", "approximate --delta 1e-12 --epsilon", "zcdp --rho"]
)
def test_extremes_are_answered_and_no_square_is_too_small_to_write(points, level, kind, capsys):
    document = told(capsys, f"--privacy {kind} {level} --points {points} --point-error 1")
    lower = [document[name] for name in (*BOUNDS, *CHANNEL)]
    upper = [v for v in document["reached"].values() if v is not None]
    assert all(math.isfinite(v) and v >= 0 for v in [*lower, *upper])
    assert all(v >= max(lower) and v > 0 for v in upper)
    said = " ".join(document["notes"]).replace(",", "").split()
    assert {name for name in (*BOUNDS, *CHANNEL) if document[name] == 0} <= {*said}
    assert document["first_moment"] > 0 or "stands" not in said
