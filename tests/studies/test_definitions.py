from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from sentences import DELTAS, EPSILONS, RHOS, cases, check_texts, numbers, says, texts

from microdata_price.figures import definitions as figures
from microdata_price.studies.definitions import profiles, study

CASES = cases(epsilon=EPSILONS, rho=RHOS, delta=DELTAS, count=(10, 0, 10**6))


def gaussian_epsilon(rho: float, delta: float) -> float:
    """The epsilon of Gaussian noise at delta, from the mass beyond the threshold of the loss."""
    mu = math.sqrt(2 * rho)

    def excess(e: float) -> float:
        a = stats.norm.sf(e / mu - mu / 2)
        return float(a - math.exp(e + stats.norm.logsf(e / mu + mu / 2)) - delta)

    return 0.0 if excess(0.0) <= 0 else float(optimize.brentq(excess, 0.0, 2000.0))


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_of_one_count(given: dict[str, Any]) -> None:
    found = study(**given)
    epsilon, rho, delta = given["epsilon"], given["rho"], given["delta"]
    check_texts(texts(found).values())
    assert np.abs(found.laplace.loss).max() <= epsilon * (1 + 1e-9)
    assert ("already more" in found.losses_said) == (np.abs(found.gaussian.loss).max() > epsilon)
    x = (np.arange(20_000) + 0.5) / 20_000  # between the count and the next
    chance = (epsilon / 2 * np.exp(-epsilon * x)).mean()
    assert says(found.losses_said, chance, 0.06)
    assert (np.abs(epsilon * (np.abs(x - 1) - x)) < epsilon).all(), "inside, less is spent"
    simple, best, exact = found.conversions
    assert simple == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1 / delta)))
    alpha = 1 + np.geomspace(1e-4, 1e6, 400_001)
    tail = alpha * np.log1p(-1 / alpha) - np.log(alpha - 1) - math.log(delta)
    assert best == pytest.approx(max(0.0, (alpha * rho + tail / (alpha - 1)).min()), rel=1e-4)
    assert exact == pytest.approx(gaussian_epsilon(rho, delta), rel=1e-4, abs=1e-6)
    assert exact <= best * (1 + 1e-9)
    assert best <= simple * (1 + 1e-9)
    for text in (found.conversion_said, found.conversion.text, found.opening):
        said = numbers(text)
        assert any(simple <= n <= 1.01 * simple for n in said)
        assert any(best <= n <= 1.01 * best for n in said)
        assert any(0.99 * exact <= n <= exact for n in said)
    assert math.exp(epsilon) <= numbers(found.opening)[1] <= 1.01 * math.exp(epsilon)
    for ratio in found.events["ratio, Laplace"]:
        assert ratio <= math.exp(epsilon) * (1 + 1e-9)
    assert (found.events.iloc[1:, 3].abs() <= 1e-9 * found.events.iloc[1:, 2]).all()


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_what_is_said_of_orders(epsilon: float) -> None:
    found = study(epsilon, 0.125, 1e-6, 10)
    order, laplace, worst, line = found.order_values
    value, _ = integrate.quad(
        lambda x: epsilon / 2 * math.exp(-epsilon * abs(x) + (order - 1) * epsilon
                                         * (abs(x - 1) - abs(x))),
        -60 / epsilon, 60 / epsilon + 1, points=[0, 1], limit=400,
    )  # fmt: skip
    assert laplace == pytest.approx(math.log(value) / (order - 1), rel=1e-6)
    cosh = math.cosh((order - 0.5) * epsilon) / math.cosh(epsilon / 2)
    assert worst == pytest.approx(math.log(cosh) / (order - 1))
    assert line == pytest.approx(order * epsilon**2 / 2)
    assert laplace <= worst <= line * (1 + 1e-9)
    assert numbers(found.orders_said)[1:] == pytest.approx([laplace, worst, line], rel=6e-3)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("count", [0, 10, 1000])
def test_what_is_said_of_composition_and_postprocessing(epsilon: float, count: int) -> None:
    found = study(epsilon, 0.125, 1e-6, count)
    np.testing.assert_allclose(
        found.composition["largest loss"], [epsilon, 2 * epsilon, 3 * epsilon]
    )
    assert (found.composition.iloc[:, 3] <= found.composition.iloc[:, 4] * (1 + 1e-9)).all()
    distances = found.postprocessing.iloc[:, 1:].to_numpy()
    assert (distances <= distances[0] * (1 + 1e-9) + 1e-12).all()
    assert (distances[-1] == 0).all()
    all_kept = (distances[1:4, 0] > (1 - 1e-9) * distances[0, 0]).all()
    assert ("All three keep" in found.postprocessing_said) == all_kept
    p = math.exp(-epsilon)
    at_count = (1 - p) / (1 + p)
    clerk = math.log((0.99 * at_count + 0.01) / (0.99 * at_count * p))
    assert found.clerk_epsilon == pytest.approx(clerk)
    assert clerk > epsilon
    assert says(found.clerk_said, clerk)


@pytest.mark.parametrize("given", cases(epsilon=EPSILONS, d=(20, 2, 1000)), ids=str)
def test_what_is_said_of_the_two_criteria(given: dict[str, Any]) -> None:
    epsilon, d = given["epsilon"], given["d"]
    found = profiles(epsilon, d, runs=500, seed=3)
    check_texts(texts(found).values())
    harmonic = sum(1 / i for i in range(1, d + 1))
    square = (harmonic**2 + sum(1 / i**2 for i in range(1, d + 1))) / epsilon**2
    assert found.exact == pytest.approx((2 / epsilon**2, square))
    assert found.exact[0] <= found.exact[1] <= d * found.exact[0]
    assert says(found.said, square)
    assert says(found.said, square * epsilon**2 / 2, 0.06)
    assert says(found.said, 2 * d / epsilon**2)
    assert found.one_bad.sum() == found.one_bad.max() == pytest.approx(square)


def test_a_table_of_three_cells_has_five_neighbours() -> None:
    frame = study(0.5, 0.125, 1e-6, 10).neighbours
    assert sorted(frame["total"]) == [3, 3, 5, 5, 5]
    assert frame["what happened"].str.contains("less").sum() == 2


def test_very_many_queries_are_sampled_less_often_and_not_all_drawn() -> None:
    many = profiles(0.5, 10**6, runs=4000, seed=1)
    assert many.runs < 100
    assert f"{many.runs} runs, for the first 200 of 1,000,000 queries" in many.picture.text
    assert "first" not in profiles(0.5, 20, runs=50, seed=1).picture.text
    for ax in figures.profiles(many.sampled, many.one_bad, many.exact).axes:
        assert len(ax.collections[0].get_segments()) == 200
