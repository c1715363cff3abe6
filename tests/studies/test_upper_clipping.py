from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sentences import EPSILONS, RHOS, cases, check_texts, numbers, says, texts

from microdata_price.studies.upper_clipping import study

CASES = cases(epsilon=EPSILONS, rho=RHOS, ds=((2, 5, 6, 7, 10, 100, 1000, 10**6), (2,), (10**12,)))


def by_adding(law_at: Any, reach: int, q: int) -> tuple[float, float]:
    """Bias and squared error of a clipped count, over every value of the noise that counts."""
    z = np.arange(-reach, reach + 1)
    law = law_at(z)
    law /= law.sum()
    off = np.maximum(q + z, 0) - q
    return float(law @ off), float(law @ off**2)


@pytest.mark.parametrize("given", CASES, ids=str)
def test_what_is_said_of_clipping(given: dict[str, Any]) -> None:
    found, epsilon, ds = study(**given), given["epsilon"], np.array(given["ds"], dtype=float)
    check_texts(texts(found).values())
    reach = math.ceil(60 / epsilon) + 5
    empty = by_adding(lambda z: np.exp(-epsilon * np.abs(z)), reach, 0)
    full = by_adding(lambda z: np.exp(-epsilon * np.abs(z)), reach, reach)
    assert numbers(found.cell_said)[1] == pytest.approx(full[1], rel=6e-3)
    assert says(found.cell_said, empty[0])
    assert says(found.cell_said, empty[1])
    assert empty[1] == pytest.approx(full[1] / 2)
    zero = ds * empty[1] + ds * (ds - 1) * empty[0] ** 2
    worst = np.maximum(zero, ds * full[1])
    np.testing.assert_allclose(found.worst, worst, rtol=1e-6)
    np.testing.assert_allclose(found.sums["all zero"], zero, rtol=1e-6)
    first = ds[zero > ds * full[1]]
    assert ("in every row" in found.worst_said) == (first.size in (0, ds.size))
    if 0 < first.size < ds.size:
        assert numbers(found.worst_said)[0] == first[0]
    beyond = ds[worst > 8 / epsilon**2]
    assert ("exceeds" in found.beyond_said) == bool(beyond.size)
    if beyond.size:
        assert numbers(found.beyond_said)[-1] == beyond[0]
    assert says(found.last_said, worst[-1] * epsilon**2 / 8, 0.06)
    total = 100 * empty[1] + 9900 * empty[0] ** 2 + full[1]
    assert says(found.share_said, total)
    assert says(found.share_said, 100 * (100 * empty[0]) ** 2 / total, 0.06)
    assert (found.sums["bound / worst"] >= 1).all()


@pytest.mark.parametrize("rho", RHOS)
def test_what_is_said_under_zcdp(rho: float) -> None:
    found = study(0.5, rho, [3, 1000])
    reach = math.ceil(12 / math.sqrt(rho)) + 5
    bias, error = by_adding(lambda z: np.exp(-rho * z.astype(float) ** 2), reach, 0)
    assert says(found.zcdp_said, bias)
    variance = by_adding(lambda z: np.exp(-rho * z.astype(float) ** 2), reach, reach)[1]
    d = np.array([3.0, 1000.0])
    worst = np.maximum(d * error + d * (d - 1) * bias**2, d * variance)
    np.testing.assert_allclose(found.zcdp["D²"], worst, rtol=1e-6)
    assert (found.zcdp["bound / D²"] >= 1).all()
