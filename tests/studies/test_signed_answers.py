from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from sentences import EPSILONS, RHOS, cases, check_texts, numbers, says, texts

from microdata_price.base.numbers import Mean
from microdata_price.figures.signed import noisy_cells
from microdata_price.studies.signed_answers import Findings, one_draw, sensitivities, study

CASES = cases(epsilon=EPSILONS, rho=RHOS, ds=((10, 100, 1000), (2,), (100_000,)))


@functools.cache
def at(epsilon: float, rho: float, ds: tuple[int, ...]) -> Findings:
    return study(epsilon, rho, ds, runs=200, seed=4)


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_of_the_errors(given: dict[str, Any]) -> None:
    found, epsilon, rho = at(**given), given["epsilon"], given["rho"]
    check_texts(texts(found).values())
    rng = np.random.default_rng(9)
    squares = Mean.of(rng.laplace(scale=2 / epsilon, size=20_000) ** 2)
    assert abs(found.exact[0] - squares.value) < 5 * squares.error
    squares = Mean.of(rng.normal(scale=math.sqrt(1 / rho), size=20_000) ** 2)
    assert abs(found.exact[1] - squares.value) < 5 * squares.error
    assert max(map(abs, found.distances)) < 5
    assert numbers(found.flat_said)[2] == len(found.distances) == 4 * len(given["ds"])
    assert all(says(found.flat_said, v) for v in (*found.exact, max(map(abs, found.distances)))[:2])
    assert says(found.opening, 8 / epsilon**2)


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_of_the_losses(given: dict[str, Any]) -> None:
    found, epsilon, rho = at(**given), given["epsilon"], given["rho"]
    laplace, gauss = found.losses
    assert np.abs(laplace).max() <= epsilon * (1 + 1e-9)
    assert Mean.of(laplace).value <= epsilon**2 / 2 + 5 * Mean.of(laplace).error
    assert abs(Mean.of(gauss).value - rho) < 5 * Mean.of(gauss).error
    # Both noises are below the gap of one, or both above it.
    exact = 100 * (0.25 + math.exp(-epsilon) / 4)
    assert abs(found.at_top.value - exact) < 5 * found.at_top.error


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_of_clipping_and_least_squares(given: dict[str, Any]) -> None:
    found, epsilon = at(**given), given["epsilon"]
    rows = found.consistency
    d = np.array(given["ds"])
    for column in ("least squares, sum", "least squares, cell"):
        np.testing.assert_allclose(rows[column], 8 / epsilon**2 * d / (d + 1))
    gain, last = 1 / epsilon, max(given["ds"])
    assert says(found.clipping_said, last * gain)
    larger = last * gain / (math.sqrt(8) / epsilon)
    assert ("still within" in found.clipping_said) == (larger <= 1)
    if larger > 1:
        assert says(found.clipping_said, larger, 0.06)


def test_three_tables_reach_the_sensitivity() -> None:
    frame, caption = sensitivities()
    check_texts([caption])
    np.testing.assert_allclose(frame["farthest, $L_1$"], 2.0)
    np.testing.assert_allclose(frame["farthest, $L_2$"], math.sqrt(2))
    assert list(frame["neighbours"]) == [3, 5, 6 - 1]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("larger", [0, 1, 3])
def test_one_draw_is_counted(epsilon: float, larger: int) -> None:
    table = np.array([5.0, 0, 0, 0, 0, 0])
    answers = np.array([2.0, *([9.0] * larger), *([-1.0] * (5 - larger))])
    draw = one_draw(table, answers, epsilon)
    check_texts([draw.said, draw.picture.text, draw.picture.alt])
    chances = [math.exp(-5 * epsilon / 2) / 2, *[0.5] * 5]
    spread = math.sqrt(sum(p * (1 - p) for p in chances))
    assert numbers(draw.said)[:3] == pytest.approx([5 - larger, sum(chances), spread], rel=0.05)
    words = {0: "the largest answer of all", 1: "one empty cell has", 3: "3 empty cells have"}
    assert words[larger] in draw.said


def test_of_very_many_cells_those_around_the_full_one_are_drawn() -> None:
    for d in (1, 60, 1_000_000):
        table = np.zeros(d)
        table[d // 3] = 28
        answers = table + np.random.default_rng(1).laplace(scale=4.0, size=d)
        (ax,) = noisy_cells(table, answers).axes
        bars = {round(b.get_x() + b.get_width() / 2): b.get_height() for b in ax.patches}
        assert len(bars) == min(d, 400)
        assert all(answers[cell - 1] == height for cell, height in bars.items())
        assert d // 3 + 1 in bars
        caption = one_draw(table, answers, 0.5)
        check_texts([caption.picture.text, caption.said])
        assert ("are drawn, around" in caption.picture.text) == (d > 400)
