from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from sentences import DELTAS, EPSILONS, cases, check_texts, numbers, says, texts

from microdata_price.model.privacy import ApproximateDP
from microdata_price.studies.lower_approximate import Findings, study
from microdata_price.theory.lower.lower_bounds import point_error_bound, sum_error_bound
from microdata_price.theory.upper.truncated_sampling import sampled_truncated
from microdata_price.theory.upper.truncation import smallest_bound

CASES = [
    *cases(epsilon=EPSILONS, delta=DELTAS, d=(1000, 2, 3, 100_000), lam=(8.0, 0.5, 200.0)),
    {"epsilon": 0.05, "delta": 0.3, "d": 100, "lam": 8.0},
    {"epsilon": 10.0, "delta": 1e-3, "d": 100, "lam": 8.0},
]


@functools.cache
def at(**given: Any) -> Findings:
    return study(**given)


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_of_the_ceiling(given: dict[str, Any]) -> None:
    found, epsilon, delta = at(**given), given["epsilon"], given["delta"]
    check_texts(texts(found).values())
    # As d grows the bracket tends to delta/epsilon; k to 0, or to what keeps m = 1/2.
    end = math.log(epsilon / (4 * delta)) / (4 * epsilon)
    end = end if end > 0.25 else 0.0
    assert found.ceiling == pytest.approx(end, rel=1e-6)
    for value, curve in zip(found.ceilings[1:], found.curves[1:], strict=True):
        assert (curve <= value * (1 + 1e-9) + 1e-12).all()
        assert (np.diff(curve) >= -1e-9 * value).all()
    assert ("asks nothing" in found.opening) == (end == 0)
    if end > 0:
        assert says(found.opening, end)
        assert says(found.rise_said, end)
        assert says(found.picture.text, end)
        bound = functools.partial(
            point_error_bound, "printed", ApproximateDP(epsilon, delta),
            sum_error=math.sqrt(given["lam"]) / epsilon,
        )  # fmt: skip
        said = numbers(found.near_said)[1]
        assert bound(round(said * 1.06)) >= 0.95 * end >= bound(max(2, round(said * 0.94)))
    assert np.isinf(found.ceilings[0])
    assert found.curves[0][-1] > found.curves[0][70] > found.ceiling or found.ceiling > 0


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_of_the_noise_and_the_proof(given: dict[str, Any]) -> None:
    found, epsilon, delta, d = at(**given), given["epsilon"], given["delta"], given["d"]
    B = found.noise.bound
    r = math.exp(-epsilon)
    law = (1 - r) / (1 + r) * r ** abs(np.arange(-B, B + 1.0))
    law[0] = law[-1] = r**B / (1 + r)
    least = np.maximum(np.append(law, 0) - math.exp(epsilon) * np.append(0, law), 0).sum()
    assert least <= delta * (1 + 1e-9)
    assert says(found.tails.text, law[-1], 0.06)
    assert says(found.tails.text, delta / epsilon, 0.06)
    assert says(found.bound_said, B) or "one record" in found.bound_said
    assert says(found.bound_said, max(math.log(epsilon / delta), 0) / epsilon)
    C = math.sqrt(law @ np.arange(-B, B + 1.0) ** 2)
    m = math.ceil(2 * C + 1 / epsilon)
    assert numbers(found.bar_said)[0] == m
    assert ("does not reach" in found.reach_said) == (math.ceil(m - 2 * C - 1e-9) > B)
    promise = math.exp(-2 * m * epsilon) * found.odds.own
    promise -= delta * -math.expm1(-2 * m * epsilon) / math.expm1(epsilon)
    assert ("still promises" in found.group_said) == (promise > 0)
    if promise > 0:
        said = numbers(found.group_said)
        assert said[0] <= promise * (1 + 1e-9) <= said[0] * 1.1 + 1e-12
        assert promise <= found.odds.base
    lost = dict(found.slack.lost)
    assert min(lost.values()) >= 0
    assert lost["two terms"] <= math.log(2) + 1e-12
    assert says(found.bar.text, max(lost.values()))
    assert ("asks nothing" in found.bar.text) == (found.slack.asked <= 0)
    assert len(found.frame) == len(found.steps) == 11
    K = (4 * C + 2 * found.packing.D + found.packing.k) / found.packing.k
    assert found.turn == pytest.approx(1 + K * epsilon / delta)
    assert d < 3 or (found.frame["slack"] >= 0).all()


@pytest.mark.parametrize("given", CASES[:7], ids=str)
def test_what_is_said_of_what_is_reached(given: dict[str, Any]) -> None:
    found, epsilon, delta = at(**given), given["epsilon"], given["delta"]
    table = found.bracket
    assert (table["lower bound, best of ours"] <= table["upper bound"]).all()
    assert (table["lower bound, printed"] <= table["lower bound, best of ours"] + 1e-9).all()
    upper = table["upper bound"].to_numpy()
    assert says(found.growth_said, upper[4])
    assert says(found.growth_said, upper[5])
    B = smallest_bound(epsilon, delta)
    assert found.bound == B
    said = numbers(found.growth_said)[-1]
    assert upper[5] <= said
    assert said >= B
    # The mechanism itself, on the worst table known, is within its guarantee.
    from microdata_price.model.noise_discrete import TruncatedDoubleGeometric

    value, error = sampled_truncated(TruncatedDoubleGeometric(epsilon / 2, B), 10**6, runs=500)
    assert value - 5 * error <= upper[4]


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_of_the_sum(given: dict[str, Any]) -> None:
    found, epsilon = at(**given), given["epsilon"]
    g, C = ApproximateDP(epsilon, given["delta"]), math.sqrt(given["lam"]) / 4 / epsilon
    first, last = (float(sum_error_bound("printed", g, d, C)) for d in (1e14, 1e15))
    assert ("says nothing" in found.slope_said) == (last == 0 or math.isnan(found.slope))
    assert ("pays in proportion" in found.opening) == (found.ceiling > 0 and last > 0)
    if first > 0:
        assert found.slope == pytest.approx(math.log10(last / first), abs=0.02)
        assert found.slope == pytest.approx(1, abs=0.05)
