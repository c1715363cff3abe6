"""The lesson's sentences and numbers, each recomputed in another way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from sentences import EPSILONS, cases, check_texts, numbers, says, texts

from microdata_price.studies.lesson import Findings, study

ROLLS = np.array([r - w for r in range(1, 7) for w in range(1, 7)], dtype=float)


@pytest.mark.parametrize(
    "choice", cases(epsilon=EPSILONS, d=(1000, 2, 10_000), students=(24, 1, 300)), ids=str
)
def test_every_sentence_and_number_is_true(choice: dict[str, float]) -> None:
    found = study(**choice)
    check_texts(texts(found).values())
    eps, d, n = found.epsilon, found.d, found.students
    b = 2 / eps
    value = {k: numbers(v)[0] for k, v in found.values.items() if k != "star_said"}

    def close(name: str, truth: float, rel: float = 6e-3) -> bool:
        return math.isclose(value[name], truth, rel_tol=rel)

    for name, most in (("odds", math.inf), ("odds_percent", 100.0)):  # "no more than" them
        truth = min(most, math.exp(eps))
        assert truth * (1 - 1e-12) <= value[name] <= 1.01 * truth
    assert close("scale", b)
    variance = quad(lambda z: 2 * z * z * math.exp(-z / b) / (2 * b), 0, 60 * b)[0]
    assert close("signed", math.sqrt(variance))
    bias = quad(lambda z: z * math.exp(-z / b) / (2 * b), 0, 60 * b)[0]
    assert close("one_bias", bias)
    assert close("all_biases", d * bias)
    # The level acts on noises above zero: drawn here anew, and found by halving an interval.
    rng, held = np.random.default_rng(11), math.ceil(math.log(d) / eps)
    levels = []
    for _ in range(300):
        cells = rng.laplace(scale=b, size=d)
        cells[0] += held
        total = max(0.0, held + rng.laplace(scale=b))
        low, high = -100 * b, float(cells.max())
        for _ in range(50):
            mid = (low + high) / 2
            low, high = (mid, high) if np.maximum(cells - mid, 0).sum() > total else (low, mid)
        levels.append(high)
    spread = math.hypot(found.mean_level.error, np.std(levels, ddof=1) / math.sqrt(len(levels)))
    assert abs(found.mean_level.value - np.mean(levels)) < 5 * spread
    assert found.values["mean_level"] == str(found.mean_level)
    upwards = b * sum((1 - 0.5**i) / i for i in range(1, d + 1))
    assert says(found.largest_said.text, upwards)
    assert value["held"] == math.ceil(math.log(d) / eps)
    assert close("one_roll", float(np.maximum(ROLLS, 0).mean()))
    assert close("rolls_clipped", n * float(np.maximum(ROLLS, 0).mean()))
    assert close("rolls_signed", math.sqrt(n * float((ROLLS**2).mean())), rel=0.06)
    assert value["steps"] == 2 * value["moved"]
    assert value["others"] == d - 1
    assert 0 <= value["room"] <= d - 1
    # What bounds forbid, no mechanism has.
    assert value["must"] <= value["keep_cell"] <= value["keep_most"]
    assert value["must_sum"] <= value["clip_sum"] * 1.01
    assert says(found.opening, d * bias)
    assert ("out of reach" in found.star_said) == (numbers(found.star_said)[0] > 1)
    assert found.draw.kept == int((found.draw.cells > found.draw.level).sum())
    assert ("goes under" in found.level.text) == (found.draw.cells[0] <= found.draw.level)


def test_neighbouring_densities_are_within_the_factor_everywhere_and_reach_it() -> None:
    x, first, second = study(0.5).densities
    ratio = np.maximum(first / second, second / first)
    assert ratio.max() == pytest.approx(math.exp(0.5))
    assert np.trapezoid(first, x) > 0.95


def test_the_sum_of_clipped_cells_grows_like_their_number() -> None:
    d, clipped, signed = study(0.5).growth
    assert np.ptp(signed) == 0
    slope = np.diff(np.log(clipped)) / np.diff(np.log(d))
    assert np.all(slope < 1 + 1e-9)
    assert slope[-1] == pytest.approx(1, abs=1e-4)
    rng = np.random.default_rng(2)
    simulated = np.maximum(rng.laplace(scale=4.0, size=(20_000, 10)), 0).sum(axis=1)
    assert clipped[0] == pytest.approx(math.sqrt(float(np.mean(simulated**2))), rel=0.02)


def test_the_plane_has_no_mark_in_the_closed_region_but_the_star() -> None:
    found: Findings = study()
    for total, cell in found.marks:
        bound = np.interp(math.log(total), np.log(found.plane.sum_errors), found.edge)
        assert cell >= bound
    assert np.interp(0.0, np.log(found.plane.sum_errors), found.edge) > 1
