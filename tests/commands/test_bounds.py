"""The command ``microdata-price bounds``: its contract, its numbers and its refusals."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from click.testing import CliRunner

from command_line import refused, run
from microdata_price.commands.bounds import CHANNEL, bounds_command
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.lower.lower_bounds import BOUNDS, lower_bounds
from microdata_price.theory.lower.single_cells import single_cell_bounds
from microdata_price.theory.upper.reached import MECHANISMS, reached
from microdata_price.theory.upper.upper_bounds import exact_clipping

GOOD = [
    (["--privacy", "pure", "--epsilon", "0.5"], PureDP(0.5)),
    (["--privacy", "approximate", "--epsilon", "1", "--delta", "1e-6"], ApproximateDP(1, 1e-6)),
    (["--privacy", "zcdp", "--rho", "0.125"], ConcentratedDP(0.125)),
]


@pytest.mark.parametrize(("options", "guarantee"), GOOD, ids=["pure", "approximate", "zcdp"])
@pytest.mark.parametrize("given", ["sum_error", "point_error"])
def test_json_holds_the_packages_numbers(
    options: list[str],
    guarantee: PureDP | ApproximateDP | ConcentratedDP,
    given: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    flag = "--" + given.replace("_", "-")
    arguments = [*options, "--points", "1000000", flag, "5.5", "--json"]
    code, out, err = run(capsys, "bounds", *arguments)
    assert (code, err) == (0, "")
    document = json.loads(out)
    expected = lower_bounds(guarantee, 10**6, **{given: 5.5})
    for name in BOUNDS:
        assert document[name] == expected.values[name]
    assert document["branches"] == expected.branches
    known = reached(guarantee, 10**6, **{given: 5.5})
    assert document["reached"] == known.values
    cells, note = single_cell_bounds(guarantee, 10**6, **{given: 5.5})
    assert {name: document[name] for name in CHANNEL} == cells
    notes = [*expected.notes, *([note] if note else []), *known.notes.values()]
    assert document["notes"] == notes
    assert document["points"] == 10**6
    assert document[given] == 5.5
    assert document["bounds"] == ("point_error" if given == "sum_error" else "sum_error")
    for level in ("epsilon", "rho", "delta"):
        assert document[level] == getattr(guarantee, level, None)
    assert all(isinstance(v, float) for v in document["branches"].values())


def test_the_table_says_what_the_numbers_mean(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--privacy", "pure", "--epsilon", "0.5", "--points", "100", "--sum-error", "6"]
    code, out, err = run(capsys, "bounds", *options)
    assert (code, err) == (0, "")
    assert "Where the sum error is at most 6, the point error is at least" in out
    for name in BOUNDS:
        assert name in out
    assert "printed says nothing" in out
    for name, value in reached(PureDP(0.5), 100, sum_error=6).values.items():
        assert f"{'-' if value is None else format(value, '.6g')}  {MECHANISMS[name]}" in out
    assert all(name in out and meaning in out for name, meaning in CHANNEL.items())


def told(words: str) -> dict[str, Any]:
    return json.loads(CliRunner().invoke(bounds_command, [*words.split(), "--json"]).stdout)


@pytest.mark.parametrize(
    ("words", "low", "high"),
    [
        ("--privacy pure --epsilon 0.5 --point-error 2.7991777682143604", 640, 655),
        ("--privacy pure --epsilon 0.5 --sum-error 5.656854249492381", 10.0, 18.5),
        ("--privacy zcdp --rho 0.125 --point-error 2.001", 365, 720),
    ],
)
def test_both_sides_are_close_at_a_thousand_cells(words: str, low: float, high: float) -> None:
    document = told(f"{words} --points 1000")
    reached = [v for v in document["reached"].values() if v is not None]
    assert low <= document["channel_whole"]
    assert document["channel"] <= document["channel_whole"]
    assert min(reached) <= high
    if "sum-error" in words:
        assert document["channel"] >= low
        assert document["reached"]["split_budget"] <= 19.8


@pytest.mark.parametrize("epsilon", ["300", "800", "1400", "1e5"])
def test_a_square_too_small_to_write_is_no_error_of_0(epsilon: str) -> None:
    document = told(f"--privacy pure --epsilon {epsilon} --points 1000 --point-error 1")
    lower = [document[name] for name in (*BOUNDS, *CHANNEL)]
    assert document["reached"]["clipping"] >= max(lower)
    assert document["reached"]["clipping"] > 0


@pytest.mark.parametrize("points", ["2", "1000000000000", "1e12"])
@pytest.mark.parametrize("level", ["1e-6", "1e3"])
@pytest.mark.parametrize(
    "kind", ["pure --epsilon", "approximate --delta 1e-12 --epsilon", "zcdp --rho"]
)
def test_extremes_are_answered_with_finite_numbers(points: str, level: str, kind: str) -> None:
    document = told(f"--privacy {kind} {level} --points {points} --point-error 1")
    known = [v for v in document["reached"].values() if v is not None]
    assert all(math.isfinite(v) and v >= 0 for v in [*(document[n] for n in BOUNDS), *known])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--privacy renyi", "'pure', 'approximate', 'zcdp'"),
        ("--points 9", "Choose from: pure, approximate, zcdp"),
        ("--privacy pure --points 9 --sum-error 1", "needs --epsilon and no other"),
        ("--privacy pure --epsilon 1 --rho 1 --points 9 --sum-error 1", "and no other level"),
        ("--privacy approximate --epsilon 1 --points 9 --sum-error 1", "--epsilon and --delta"),
        ("--privacy pure --epsilon nan --points 9 --sum-error 1", "epsilon is nan"),
        ("--privacy zcdp --rho -1 --points 9 --sum-error 1", "rho is -1"),
        ("--privacy approximate --epsilon 1 --delta 1 --points 9 --sum-error 1", "delta is 1"),
        ("--privacy pure --epsilon 1 --points 1 --sum-error 1", "2 or more"),
        ("--privacy pure --epsilon 1 --points 2.5 --sum-error 1", "whole number"),
        ("--privacy pure --epsilon 1 --points 1e301 --sum-error 1", "at most 1e+250"),
        ("--privacy pure --epsilon 1 --points 9 --sum-error 1e-16", "between 1e-15 and 1e+30"),
        ("--privacy pure --epsilon 1e-31 --points 9 --sum-error 1", "at least 1e-30"),
        ("--privacy pure --points 9 extra", "unexpected extra argument"),
        ("--privacy pure --epsilon 1 --points 9", "either the sum error"),
        ("--privacy pure --epsilon 1 --points 9 --sum-error 1 --point-error 1", "either"),
        ("--privacy pure --epsilon 1 --points 9 --point-error nan", "point error is nan"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(
    arguments: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    err = refused(capsys, "bounds", *arguments.split())
    assert words.lower() in err.lower()
    assert err.count("\n") == 1


@pytest.mark.parametrize("level", [300.0, 700.0, 744.0, 800.0, 1e4])
@pytest.mark.parametrize("basis", [PureDP, ConcentratedDP])
def test_an_upper_bound_is_never_zero(basis, level):
    """Clipping's errors are above 0 at every level, even where their squares are below doubles."""
    found = exact_clipping(basis(level), 1000)
    assert float(found.C) >= math.sqrt(2) * math.exp(-level / 2) * (1 - 1e-12)
    assert float(found.D) >= float(found.C) > 0
