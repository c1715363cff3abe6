from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from sentences import DELTAS, EPSILONS, RHOS, cases, check_texts, numbers, says, texts

from microdata_price.base.numbers import rounded_down
from microdata_price.studies.misprints import Findings, study
from microdata_price.studies.scorecard import published_tables

CASES = cases(epsilon=EPSILONS, rho=RHOS, delta=DELTAS)


@functools.cache
def found_at(epsilon: float, rho: float, delta: float) -> Findings:
    return study(epsilon, rho, delta)


def clipped_sum_error(epsilon: float, d: int) -> float:
    """By summing over the law of the noise, for empty cells and for full ones."""
    z = np.arange(-3000, 3001)
    law = np.tanh(epsilon / 2) * np.exp(-epsilon * abs(z))
    kept = np.maximum(z, 0)
    mean, square = float(law @ kept), float(law @ kept**2)
    return max(d * (square - mean**2) + (d * mean) ** 2, d * float(law @ z**2)) ** 0.5


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_depends_on_the_levels(given: dict[str, Any]) -> None:
    found, epsilon, delta = found_at(**given), given["epsilon"], given["delta"]
    check_texts(texts(found).values())
    assert says(found.noise_said, 1 / epsilon)
    assert ("not with" in found.noise_said) == (epsilon < 1)
    assert "not private at all" in found.lifted_said
    named = {a.mechanism: a for a in found.audits}
    assert sum(not a.holds for a in found.audits) == numbers(found.picture.text)[3]
    assert ("a step too early" in found.picture.text) == any("a smaller" in n for n in named)
    assert len(found.audit_table) == len(found.drawn) == len(found.audits)
    D = clipped_sum_error(epsilon, 10_000)
    assert says(found.square_said, D)
    assert says(found.square_said, 1e8 / epsilon**2)
    m = max(1, math.ceil(3 / epsilon))
    # What m steps add up to, over e^(m epsilon): delta e^((j - m) epsilon) for each j below m.
    assert says(found.loose_said, delta * sum(math.exp((j - m) * epsilon) for j in range(m)))
    assert says(found.loose_said, delta / epsilon)
    assert says(found.sum_error_said, 8 / epsilon**2)
    assert numbers(found.sum_error_said)[0] == pytest.approx(8 / epsilon**2, rel=1e-2)
    printed, least = numbers(found.bound_said)
    assert printed == math.ceil(2 / epsilon * math.log(4 / delta) + 1)
    r = math.exp(-epsilon / 2)
    normal = (1 - r) / (1 + r - 2 * r ** (least + 1))
    points = np.arange(-least, least + 1)
    law = normal * r ** abs(points)
    beyond = np.maximum(np.append(law, 0) - np.exp(epsilon / 2) * np.append(0, law), 0).sum()
    assert beyond <= delta / 2 * (1 + 1e-6)
    assert least <= printed


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_what_first_moments_say_with_few_records(epsilon: float) -> None:
    found = found_at(epsilon, 0.125, 1e-6)
    for d, row in zip((1e3, 1e6, 1e9), found.difficult.to_dict("records"), strict=True):
        most = math.ceil(math.log(d) / epsilon)
        m = np.arange(most + 1)
        by_hand = (m - np.exp(epsilon * m) * math.sqrt(8) / epsilon / d).max()
        assert row["records in the cell"] == most
        assert row["first moments"] == rounded_down(max(by_hand, 0))
        assert row["free constants"] <= row["first moments"]


def test_what_is_the_same_at_every_level() -> None:
    found = found_at(0.5, 0.125, 1e-6)
    s, p = found.small_k, math.exp(-10)
    C, D = math.sqrt(2 * p) / (1 - p), clipped_sum_error(10.0, 10_000)
    assert says(found.small_k_said, C)
    assert says(found.small_k_said, D)
    left = 20 * (2 * C + 0.01)
    right = math.log(0.01 * 9999 / (16 * C + 8 * D + 0.04))
    assert left < right
    assert (s.left, s.right) == pytest.approx((left, right), rel=1e-6)
    assert says(found.small_k_said, left)
    assert says(found.small_k_said, right)
    half = math.log(0.5 * 9999 / (16 * C + 8 * D + 2))
    assert half <= 20 * (2 * C + 0.5)

    s = found.bits
    near = 2 * math.exp(-50)  # nearly all the noise that is not zero: two points beside it
    assert pytest.approx(math.sqrt(near), rel=1e-3) == s.C
    assert s.left == pytest.approx(50 * (4 * s.C + 2 * s.k) ** 2)
    bits = math.log2(1e9 - 1) / 4 - math.log2((4 * s.C + 2 * s.D + s.k) / s.k) - 1
    assert s.right == pytest.approx(bits)
    assert s.left < s.right

    small, large = numbers(found.uniform_said)[-4], numbers(found.uniform_said)[-2]
    assert small == pytest.approx((clipped_sum_error(0.1, 10**6) * 0.1 / 1e6) ** 2, rel=0.05)
    assert large == pytest.approx((clipped_sum_error(10.0, 10**6) * 10 / 1e6) ** 2, rel=0.05)
    largest, _ = integrate.quad(lambda t: 1 - (2 * stats.norm.cdf(t) - 1) ** 1000, 0, 40, limit=200)
    assert says(found.lemma1_said, largest, 1e-3)
    assert numbers(found.lemma1_said)[-1] > largest
    assert says(found.stair_said, 10_000 + sum(range(2, 101)))
    # Half of the time all hundred Laplace noises of scale 8 are below it.
    assert (
        pytest.approx(stats.laplace.cdf(numbers(found.median_said)[-1] / 8) ** 100, abs=3e-3) == 0.5
    )


def test_what_the_tables_print() -> None:
    found = found_at(0.5, 0.125, 1e-6)
    printed = published_tables()
    wide = printed[printed["query_set"] == "sum"].pivot(
        index="dataset", columns="method", values="squared_error"
    )
    ratio = wide.div(wide["ols"], axis=0)
    counts = [int(ratio[m].between(4, 5).sum()) for m in ("nnls", "maxfit")]
    assert numbers(found.typical_said) == [len(wide), counts[0], 4, 5, counts[1]]
    assert says(found.sequential_said, wide["sequential"].min(), 1e-3)
    assert says(found.sequential_said, wide["sequential"].max(), 1e-3)
    assert says(found.sequential_said, 2 * (4 / 0.5) ** 2, 1e-9)
    assert says(found.maximum_said, 128 * 216 / 250, 1e-9)
    deviation, runs, error = numbers(found.errors_said)
    assert deviation == pytest.approx(error * math.sqrt(runs), rel=0.06)
    # The OLS sum is a mean of many noises, so nearly normal: its square varies by sqrt(2) of it.
    assert deviation == pytest.approx(math.sqrt(2) * 128 * 100 / 121, rel=0.4)
