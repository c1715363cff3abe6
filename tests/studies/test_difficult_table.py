from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate
from sentences import EPSILONS, cases, check_texts, numbers, says, texts

from microdata_price.base.numbers import Mean
from microdata_price.exceptions import InputError
from microdata_price.figures import difficult
from microdata_price.studies.difficult_table import Findings, one_run, study

RUNS = 400
CASES = cases(epsilon=EPSILONS, d=(1000, 2, 3, 100_000), times=(1.0, 4.0))


@functools.cache
def at(epsilon: float, d: int, times: float) -> Findings:
    return study(epsilon, d, 60 if d > 10_000 else RUNS, seed=1, times=times)


def by_bisection(cells: NDArray[np.float64], total: float, stiffness: float) -> float:
    """The level t with sum(max(0, cells - t)) = total + stiffness t, found by halving."""
    low = -3.0 * (np.abs(cells).max() + abs(total))
    high = -low
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(cells - middle, 0).sum() > total + stiffness * middle:
            low = middle
        else:
            high = middle
    return high


def simulated(given: dict[str, Any], runs: int) -> dict[str, Mean]:
    """The same quantities from other noise, by bisection."""
    d, q = given["d"], given["times"] * math.ceil(math.log(given["d"]) / given["epsilon"])
    rng = np.random.default_rng(77)
    rows = []
    for _ in range(runs):
        cells = rng.laplace(scale=2 / given["epsilon"], size=d)
        total = q + rng.laplace(scale=2 / given["epsilon"])
        cells[0] += q
        nnls = by_bisection(cells, total, 1.0)
        last = by_bisection(cells, max(total, 0.0), 0.0)
        rows.append((total + nnls - q, cells[0] <= last + 1e-9, max(cells[0] - last, 0) - q, last))
    sums, empty, cell, level = np.array(rows, dtype=float).T
    return {
        "sum": Mean.of(sums),
        "emptied": Mean.of(100 * empty),
        "cell": Mean.of(cell),
        "level": Mean.of(level),
    }


def agree(a: Mean, b: Mean) -> bool:
    return abs(a.value - b.value) <= 5 * math.hypot(a.error, b.error) + 0.02 * abs(b.value) + 1e-9


@pytest.mark.parametrize("given", CASES, ids=str)
def test_every_sentence_is_whole(given: dict[str, Any]) -> None:
    found = at(**given)
    check_texts(texts(found).values())
    assert found.worst_certificate < 1e-7


@pytest.mark.parametrize("given", CASES, ids=str)
def test_the_verdicts_are_true_of_other_noise(given: dict[str, Any]) -> None:
    found, other = at(**given), simulated(given, 60 if given["d"] > 10_000 else 300)
    assert agree(found.sum_bias, other["sum"])
    assert agree(found.emptied, other["emptied"])
    assert agree(found.cell_bias, other["cell"])
    if ("inflates" in found.nnls_verdict) != (other["sum"].value > 4 * other["sum"].error):
        assert abs(found.sum_bias.value) < 6 * found.sum_bias.error, "only where it is close"
    if "empties" in found.sequential_verdict:
        assert other["emptied"].value > 35
    else:
        assert other["emptied"].value < 65
    assert says(found.nnls_verdict, found.sum_bias.value, rel=0.05)


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_of_noise_and_level_is_computed_otherwise(given: dict[str, Any]) -> None:
    found = at(**given)
    b = 2 / given["epsilon"]
    positive, _ = integrate.quad(lambda x: x * math.exp(-x / b) / (2 * b), 0, 60 * b)
    assert found.one_bias == pytest.approx(positive)
    assert says(found.bias_said, positive * (given["d"] - 1))
    assert numbers(found.noise_said)[:3] == pytest.approx([given["epsilon"], b, 2 * b * b], 6e-3)
    rng = np.random.default_rng(5)
    empty = np.maximum(rng.laplace(scale=b, size=(400, min(given["d"], 2000) - 1)), 0)
    if given["d"] <= 2000:
        full = np.maximum(found.q + rng.laplace(scale=b, size=400), 0) - found.q
        errors = Mean.of((full + empty.sum(axis=1)) ** 2)
        assert abs(found.clipped_root**2 - errors.value) < 5 * errors.error
    level = simulated(given, 40)["level"]
    words = {"more than": (1, math.inf), "a large part": (0.5, 1), "not much": (-math.inf, 0.5)}
    low, high = next(v for k, v in words.items() if k in found.level_said)
    assert low * found.q - 6 * level.error <= level.value <= high * found.q + 6 * level.error


def test_the_exact_errors_in_the_table_are_those_of_the_runs() -> None:
    table = study(0.5, 50, 4000, seed=3).errors
    known = table[table["exactly"].notna()]
    assert len(known) == 3
    for _, row in known.iterrows():
        value, se = numbers(row["squared error"])
        assert abs(value - row["exactly"]) < 5 * se


@pytest.mark.parametrize(
    ("cells", "level", "words"),
    [
        ([5.0, -1.0, 2.0, 3.0], 2.5, ["0 empty cells have", "2 of 4 cells stay"]),
        ([1.0, -1.0, 2.0], 1.5, ["One empty cell has", "One cell stays"]),
        ([0.0, 1.0, 2.0], 9.0, ["2 empty cells have", "0 of 3 cells stay"]),
    ],
)
def test_one_run_is_counted(cells: list[float], level: float, words: list[str]) -> None:
    said = one_run(np.array(cells), level)
    check_texts([said.text, said.alt])
    assert all(w in said.text for w in words)


def test_runs_in_portions_are_as_many_as_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microdata_price.studies.difficult_table._AT_ONCE", 100)
    found = study(0.5, 30, 20, seed=1)
    assert found.signed.cell.size == found.nnls.total.size == 20
    with pytest.raises(InputError, match="2 or more"):
        study(runs=1)


def test_of_very_many_cells_only_those_are_drawn_that_can_be_told_apart() -> None:
    for d in (2, 3000, 200_000):
        cells = np.random.default_rng(1).laplace(scale=4.0, size=d)
        (ax,) = difficult.one_draw(cells, 30.0, 14.0).axes
        dots = ax.lines[0].get_xdata()
        assert dots[0] == 1
        assert dots[-1] == d
        assert len(dots) == d or len(dots) <= 3000
        assert np.array_equal(ax.lines[0].get_ydata(), -np.sort(-cells)[dots - 1])
