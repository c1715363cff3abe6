from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from sentences import DELTAS, EPSILONS, cases, check_texts, numbers, says, texts

from microdata_price.exceptions import InputError
from microdata_price.model.noise import Laplace
from microdata_price.model.privacy import ApproximateDP
from microdata_price.studies.lower_approximate import best_of_ours
from microdata_price.studies.upper_truncated import Findings, study
from microdata_price.theory.upper.extremes import extremes
from microdata_price.theory.upper.upper_bounds import certified_truncated

DS = (10, 1000, 100_000, 10_000_000, 1_000_000_000, 1_000_000_000_000)
DE = (1e-2, 1e-4, 1e-6, 1e-9, 1e-12)
CASES = [
    *cases(epsilon=EPSILONS, delta=DELTAS, ds=(DS, (2,), (3, 100, 10**15)), deltas=(DE, (0.3,))),
    {"epsilon": 0.05, "delta": 0.3, "ds": DS, "deltas": DE},
]


@functools.cache
def at(**given: Any) -> Findings:
    return study(**given, runs=400, seed=6)


def law(epsilon: float, B: int) -> np.ndarray:
    r = math.exp(-epsilon / 2)
    p = (1 - r) / (1 + r) * r ** abs(np.arange(-B, B + 1.0))
    p[0] = p[-1] = r**B / (1 + r)
    return p


def exact_delta(epsilon: float, B: int) -> float:
    here, other = np.append(law(epsilon, B), 0), np.append(0, law(epsilon, B))
    return float(np.maximum(here - math.exp(epsilon / 2) * other, 0).sum())


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_of_the_noise(given: dict[str, Any]) -> None:
    found, epsilon, delta = at(**given), given["epsilon"], given["delta"]
    check_texts(texts(found).values())
    B = found.noise.bound
    assert exact_delta(epsilon, B) <= delta / 2 * (1 + 1e-3)
    assert B == 1 or exact_delta(epsilon, B - 1) > delta / 2
    assert says(found.law.text, B)
    assert says(found.law.text, law(epsilon, B)[0], 0.06)
    assert says(found.bounds_said, exact_delta(epsilon, B), 0.06)
    table = found.bounds
    joint, printed = table["smallest for both answers together"], table["the paper's B"]
    assert (joint <= table["smallest B"]).all()
    assert (table["smallest B"] <= printed).all()
    for d, b in zip(given["deltas"], printed, strict=True):
        assert b == math.ceil(2 / epsilon * math.log(4 / d) + 1)
    assert (table["exact δ at the smallest"] <= np.array(given["deltas"]) * (1 + 1e-9)).all()
    gap = printed - joint
    if gap.max() > 0:
        assert says(found.bounds_said, gap.max())
        assert says(found.bounds_said, gap.min())
    else:
        assert "as short as can be" in found.bounds_said
    # Both answers together, added up over pairs of values.
    if B < 80:
        b = int(joint.iloc[0])
        p = law(epsilon, b)
        here, other = np.append(p, 0), np.append(0, p)
        pair = np.outer(here, here) - math.exp(epsilon) * np.outer(other, other)
        assert np.maximum(pair, 0).sum() <= given["deltas"][0] * (1 + 1e-9)


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_to_be_certain(given: dict[str, Any]) -> None:
    found, epsilon, delta = at(**given), given["epsilon"], given["delta"]
    B, p = found.noise.bound, law(epsilon, found.noise.bound)
    sd = math.sqrt(p @ np.arange(-B, B + 1.0) ** 2)
    r = math.exp(-epsilon / 2)

    def certain(reach: int, sd: float, d: float) -> float:
        k = np.arange(reach, dtype=float)
        beyond = -np.expm1(d * np.log1p(-2 * r ** (k + 1) / (1 + r)))
        return 2 * sd + math.sqrt(((2 * k + 1) * beyond).sum())

    cap = numbers(found.opening)[1]
    assert found.cap == pytest.approx(2 * sd + B)
    assert found.cap <= cap <= found.cap * 1.02
    assert (found.certified <= cap).all()
    whole = math.sqrt(2 * r) / (1 - r)
    first = None
    for d, value, free in zip(found.cells, found.certified, found.free(found.cells), strict=True):
        assert value == pytest.approx(certain(B, sd, d), rel=1e-6)
        untruncated = certain(math.ceil(150 / epsilon) + B, whole, d)
        laplace = Laplace(2 / epsilon)
        pure = 2 * laplace.std + math.sqrt(float(extremes(laplace, np.array(d)).square))
        assert free == pytest.approx(min(untruncated, pure), rel=1e-6)
        if first is None and value < 0.98 * free:
            first = d
    assert says(found.last_said, found.certified[-1])
    assert says(found.last_said, found.free(found.cells)[-1])
    assert ("no more than 2 %" in found.wins_said) == (first is None)
    if first is not None:
        assert numbers(found.wins_said)[0] == first
    assert says(found.buys_said, math.sqrt(p @ (abs(np.arange(-B, B + 1.0)) + 2 * B) ** 2))
    assert (found.lower <= found.certified).all()
    if epsilon / delta > 10:
        assert says(found.sets_price_said, epsilon / delta, 0.06)
        assert says(found.sets_price_said, 1 / delta, 0.06)
        level = ApproximateDP(epsilon, delta)
        low = best_of_ours(level, np.array([max(2, round(epsilon / delta)), 1e40]))
        high = certified_truncated(epsilon, delta, np.array([max(2, round(1 / delta)), 1e40])).C
        share = float(low[0] / low[1]) if low[1] else 0.0
        assert f"bound has {100 * share:.0f} %" in found.sets_price_said
        if "Beyond that $" in found.sets_price_said:
            assert share > 0.8
            assert high[0] / high[1] > 0.8


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_of_the_large_cell(given: dict[str, Any]) -> None:
    found, epsilon = at(**given), given["epsilon"]
    for mean, certified in zip(found.simulated, found.certified, strict=True):
        assert mean.value - 5 * mean.error <= certified
    B = found.noise.bound
    reached = found.simulated[-1].value > 0.9 * B
    assert ("creeps up towards" in found.creep_said) == reached
    assert says(found.creep_said, B)
    if reached:
        assert says(found.creep_said, found.simulated[-1].value)
    # The mechanism itself, cell by cell, at the least number of cells.
    d, rng, r = int(min(found.cells[0], 1000)), np.random.default_rng(2), math.exp(-epsilon / 2)
    if d != found.cells[0]:
        return
    runs = 1500
    z = np.clip(rng.geometric(1 - r, (runs, d)) - rng.geometric(1 - r, (runs, d)), -B, B)
    star = np.clip(rng.geometric(1 - r, runs) - rng.geometric(1 - r, runs), -B, B)
    low, high = np.full(runs, -3.0 * B * d), np.full(runs, 3.0 * B * d)
    for _ in range(80):
        level = (low + high) / 2
        more = z[:, 0] - level + np.maximum(z[:, 1:] - level[:, None], 0).sum(axis=1) > star
        low, high = np.where(more, level, low), np.where(more, high, level)
    square = (z[:, 0] - high) ** 2
    root = math.sqrt(square.mean())
    error = math.hypot(square.std() / math.sqrt(runs) / (2 * root), found.simulated[0].error)
    assert abs(root - found.simulated[0].value) <= 5 * error


@pytest.mark.parametrize("wrong", [{"runs": 1}, {"ds": []}, {"deltas": []}])
def test_bad_input_is_said(wrong: dict[str, Any]) -> None:
    good = {"epsilon": 0.5, "delta": 1e-6, "ds": [10], "deltas": [1e-6], "runs": 10, "seed": 1}
    with pytest.raises(InputError):
        study(**{**good, **wrong})
