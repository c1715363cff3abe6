import math

import numpy as np
import pytest

from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.lower.lower_bounds import BOUNDS, lower_bounds
from microdata_price.theory.upper.asymmetric import certified_asymmetric
from microdata_price.theory.upper.one_sided import certified_split
from microdata_price.theory.upper.operating_points import asymmetric, clipping, split
from microdata_price.theory.upper.reached import reached
from microdata_price.theory.upper.upper_bounds import certified_truncated

LEVELS = [PureDP(0.5), PureDP(0.05), PureDP(10.0), ApproximateDP(0.5, 1e-6), ConcentratedDP(0.125)]


@pytest.mark.parametrize("d", [2, 1000])
@pytest.mark.parametrize("guarantee", LEVELS, ids=str)
def test_what_is_reached_beside_a_sum_error(guarantee, d):
    for factor in (0.6, 1.5):
        D = factor * guarantee.signed_error
        found = reached(guarantee, d, sum_error=D).values
        lower = max(lower_bounds(guarantee, d, sum_error=D).values[n] for n in BOUNDS)
        assert all(v is None or v >= lower * (1 - 1e-9) for v in found.values()), "no contradiction"
        basis, shares = guarantee.basis, np.linspace(0.001, 0.999, 999)
        every = certified_split(basis, d, shares)
        if (every.D > D).all():
            assert found["split_budget"] is None
        else:
            # The one-sided lemma, which the worst table's error is far below for many cells.
            least = every.C[every.D <= D].min()
            assert found["split_budget"] <= least * 1.02
        own = clipping(guarantee, d)
        assert (found["clipping"] is None) == (own.D[0] > D * (1 + 1e-12))
        if "asymmetric" in found:
            assert found["asymmetric"] is not None
            assert found["asymmetric"] <= found["split_budget"] * (1 + 1e-9)
            assert isinstance(guarantee, PureDP | ApproximateDP)
            rates = np.linspace(0.02, 0.98, 33) * guarantee.epsilon
            tried = certified_asymmetric(guarantee.epsilon, d, rates[:, None], rates)
            assert found["asymmetric"] <= tried.C[tried.D <= D].min() * 1.02
        if isinstance(guarantee, ApproximateDP):
            sure = certified_truncated(guarantee.epsilon, guarantee.delta, d)
            want = float(sure.C) if sure.D <= D else None
            assert found["truncated"] == (None if want is None else pytest.approx(want))


@pytest.mark.parametrize("d", [1000, 10**12])
@pytest.mark.parametrize("guarantee", LEVELS[::2], ids=str)
def test_both_ways_agree(guarantee, d):
    paths = [split(guarantee, d)]
    if not isinstance(guarantee, ConcentratedDP):
        paths.append(asymmetric(guarantee, d))
    for name, path in zip(("split_budget", "asymmetric"), paths, strict=False):
        C, D = float(path.C[8]), float(path.D[8])
        there = reached(guarantee, d, sum_error=D).values[name]
        back = reached(guarantee, d, point_error=C).values[name]
        assert there is not None
        assert back is not None
        assert there == pytest.approx(C, rel=5e-3)
        assert back == pytest.approx(D, rel=2e-2)


def test_what_is_not_reached_has_a_note():
    found = reached(PureDP(0.5), 10**6, sum_error=1.0)
    assert set(found.values.values()) == {None}
    assert set(found.notes) == set(found.values)
    assert "2.83" in found.notes["asymmetric"]
    far = reached(PureDP(0.5), int(1e250), point_error=1e30)
    assert all(v is None or math.isfinite(v) for v in far.values.values())
    assert "64 bits" in far.notes["clipping"]
