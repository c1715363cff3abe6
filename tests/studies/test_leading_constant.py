from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from sentences import EPSILONS, cases, check_texts, numbers, says, texts

from microdata_price.exceptions import InputError
from microdata_price.model.privacy import PureDP
from microdata_price.studies.leading_constant import SIZES, Findings, asymptotics, study
from microdata_price.theory.lower.moment_bounds import moment_point_error

CASES = cases(epsilon=EPSILONS, d=(1000, 2, 3, 100_000))


@functools.cache
def at(epsilon: float, d: int) -> Findings:
    return study(epsilon, d, 12 if d > 10_000 else 300)


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_of_asymmetric_noise(given: dict[str, Any]) -> None:
    found, epsilon = at(**given), given["epsilon"]
    check_texts(texts(found).values())
    assert says(found.audit_said, epsilon)
    cell, total = found.pair.cell, found.pair.total
    assert cell.right + total.right == pytest.approx(epsilon, rel=1e-9)
    assert cell.left + total.left == pytest.approx(epsilon, rel=1e-9)
    assert says(found.rates_said, cell.right / epsilon, rel=0.05)
    # The opening's numbers, by another integral: steps of a fine grid for the largest noise.
    uneven, even, both, _ = found.columns[0]
    t = np.linspace(0, 120, 400_001)
    largest = math.sqrt(np.trapezoid(2 * t * -np.expm1(1000 * np.log1p(-np.exp(-t / 2) / 2)), t))
    side = math.sqrt(4)
    want = largest + side + math.hypot(side, (side + math.sqrt(1000 * 8)) / 1000)
    assert even == pytest.approx(want, rel=1e-6)
    assert uneven < even < both
    assert [n for n in numbers(found.opening) if n > 10] == pytest.approx(
        [uneven, even, both], rel=1e-3
    )
    g = PureDP(epsilon)
    d = np.array([float(n) for n in SIZES])
    bound = epsilon * moment_point_error(g, d, np.full(4, g.signed_error)).value
    assert [c[3] for c in found.columns] == pytest.approx(bound)
    assert (bound <= [c[0] for c in found.columns]).all()


@pytest.mark.parametrize("given", CASES[:6], ids=str)
def test_simulated_errors_are_near_exact_and_below_certified_ones(given: dict[str, Any]) -> None:
    found = at(**given)
    for run in found.simulated:
        if run.mechanism == "symmetric":
            assert abs(run.cell.value - run.exact**2) < 6 * run.cell.error
        else:
            assert run.cell.value - 6 * run.cell.error < found.pair.C(found.d) ** 2
        assert run.total.value - 6 * run.total.error < 8 / found.epsilon**2
    by = {(r.mechanism, r.table): r.cell for r in found.simulated}
    even, uneven = by["symmetric", "one huge count"], by["asymmetric", "one huge count"]
    if "better there too" in found.simulated_said:
        assert uneven.value < even.value
    if "worse there" in found.simulated_said:
        assert uneven.value > even.value


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_what_is_said_of_the_limits(epsilon: float) -> None:
    found = asymptotics(epsilon, 500.0)
    check_texts(texts(found).values())
    assert "exactly what is allowed" in found.audit_said
    assert says(found.limits_caption.text, 1 / (1 - 1 / math.sqrt(7)), rel=1e-3)
    for name, y in found.curves:
        assert (np.diff(y) <= 1e-12).all(), name
    freezing = found.curves[0][1]
    assert (freezing[found.lambdas >= 5] == 1).all()
    assert (freezing[found.lambdas < 5] > 1).all()
    first, last = (y for _, y in (found.thresholds[0], found.thresholds[-1]))
    assert abs(last - found.limit).max() < abs(first - found.limit).max()
    x, chance = found.reports
    assert (np.diff(chance) >= -1e-9).all()
    assert (x >= 0).all()
    threshold, sure = found.at_trillion
    assert ("less than" in found.practice_said) == (threshold < sure)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="runs"):
        study(runs=1)
