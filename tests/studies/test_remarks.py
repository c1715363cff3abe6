from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from sentences import DELTAS, EPSILONS, RHOS, cases, check_texts, numbers, says, texts

from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.studies.remarks import Findings, study
from microdata_price.theory.lower.lower_bounds import BOUNDS, point_error_bound

LEVELS = cases(epsilon=EPSILONS, rho=RHOS, delta=(*DELTAS, 0.5))
CASES = cases(epsilon=EPSILONS, d=(1000, 2, 10**12))


@functools.cache
def found_at(epsilon: float, rho: float = 0.125, delta: float = 1e-6, d: int = 1000) -> Findings:
    return study(epsilon, rho, delta, d)


def first_moments(epsilon: float, d: float, D: float, most: float = math.inf) -> float:
    m = np.arange(min(math.ceil(2 * math.log(d) / epsilon) + 2, most + 1))
    return max(0.0, float((m - np.exp(epsilon * m) * D / d).max()))


@pytest.mark.parametrize("given", LEVELS, ids=str)
def test_from_which_d_on_each_bound_speaks(given: dict[str, Any]) -> None:
    found = found_at(**given)
    check_texts([found.opening, found.zcdp_said, found.first_caption, found.crossings.text])
    guarantees = {
        "pure DP": PureDP(given["epsilon"]),
        "approximate DP": ApproximateDP(given["epsilon"], given["delta"]),
        "zCDP": ConcentratedDP(given["rho"]),
    }
    assert len(found.firsts) == 3 * len(BOUNDS)
    for first in found.firsts:
        g = guarantees[first.kind]
        assert first.speaks <= first.excludes
        for d, level in ((first.speaks, 0.0), (first.excludes, g.signed_error)):
            below = d * 0.9998 - 1 if math.isfinite(d) else 1e300
            if math.isfinite(d):
                assert point_error_bound(first.name, g, d, g.signed_error) > level
            if below >= 2:
                low = point_error_bound(first.name, g, math.floor(below), g.signed_error)
                assert low <= level
    for text, kind in ((found.opening, "pure DP"), (found.zcdp_said, "zCDP")):
        of_kind = [f for f in found.firsts if f.kind == kind]
        for d in (min(f.excludes for f in of_kind), found.excludes(kind, "printed")):
            assert says(text, d) if math.isfinite(d) else "at no number of cells" in text
    least = min(f.excludes for f in found.firsts if f.kind == "approximate DP")
    assert ("none of the four ever does" in found.zcdp_said) == math.isinf(least)


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_of_the_page_s_number_of_cells(given: dict[str, Any]) -> None:
    found, epsilon, d = found_at(**given), given["epsilon"], given["d"]
    check_texts(texts(found).values())
    signed = math.sqrt(8) / epsilon
    surely = first_moments(epsilon, d, signed) > signed
    assert ("are excluded under pure DP" in found.own_d_said) == surely
    m = np.arange(1, math.ceil(2 * math.log(d) / epsilon) + 3)
    both = float((m / (1 + np.exp(epsilon * m) / d)).max())
    said = numbers(found.both_said)
    assert said[1] <= both * (1 + 1e-9)
    assert says(found.both_said, both, 0.01)
    assert said[2] == pytest.approx(both / signed, rel=0.06)
    for name, curve in found.balanced[1]:
        assert (np.diff(curve) >= -1e-9).all()
        if name in ("first_moment", "printed"):
            assert any(v <= curve[-1] * (1 + 1e-12) and v > 0.85 * curve[-1]
                       for v in numbers(found.balanced_picture.text))  # fmt: skip
    n = found.sizes[-1]
    full = max(round(math.log(n) / epsilon), 1)
    bound = first_moments(epsilon, n, signed, full)
    assert says(found.difficult_said, full)
    assert says(found.difficult_said, bound, 0.02)
    assert (found.difficult["bound on $C$"] <= found.difficult.iloc[:, 4] * (1 + 1e-9)).all()
    for row, size in zip(found.difficult.to_dict("records"), found.sizes, strict=True):
        # The printed inequality at any C and D with 2C + k = m: weakest as both tend to zero.
        left, right = numbers(row["printed, sides"])
        assert left <= 2 * epsilon * row["$m$"] * (1 + 1e-9)
        assert left >= right >= math.log((size - 1) / 4) - 1e-9
    whole = np.arange(math.ceil(math.log(n) / epsilon) + 2)
    scarce = whole**2 * np.maximum(1 - np.exp(epsilon * whole) * 10 / n, 0)
    assert says(found.sparse_said, math.sqrt(scarce.max()), 0.01)
    assert ("more than a signed" in found.sparse_said) == bool(math.sqrt(scarce.max()) > signed)


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_the_proposition_says(given: dict[str, Any]) -> None:
    found, epsilon, d = found_at(**given), given["epsilon"], given["d"]
    m = max(round(math.log(d) / epsilon), 1)
    assert says(found.same_table_said, m)
    if found.same_table.error == 0:
        assert "says nothing" in found.same_table_said
        return
    k, h, chance, error = numbers(found.same_table_said)[2:]
    by_hand = max(
        math.exp(-epsilon * s) * (1 - math.exp(epsilon * (m - s)) * (m + h) / k / d)
        for s in range(m + 1)
    )
    assert chance <= found.same_table.chance == pytest.approx(by_hand, rel=0.05)
    # Markov's bound on that probability is as large as it where both root errors are this one.
    assert error**2 * (1 / (m - k) ** 2 + 1 / h**2) == pytest.approx(by_hand, rel=0.15)
