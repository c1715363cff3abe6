"""Known mechanisms lie on the allowed side of every bound, at many levels and numbers of cells."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest

from microdata_price.exceptions import InputError
from microdata_price.privacy import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from microdata_price.theory import operating_points as points
from microdata_price.theory.lower_bounds import Name, point_error_bound, sum_error_bound
from microdata_price.theory.validity import signed_error

PURE = [PureDP(e) for e in (0.01, 0.5, 10.0)]
APPROXIMATE = [ApproximateDP(e, x) for e in (0.1, 1.0, 10.0) for x in (1e-12, 1e-2)]
ZCDP = [ConcentratedDP(r) for r in (0.001, 0.125, 10.0)]
POINTS = (2, 10, 1000, 10**6, 10**12)


def assert_allowed(guarantee: Guarantee, d: float, place: points.Operating) -> None:
    for name in get_args(Name):
        low = point_error_bound(name, guarantee, d, place.D)
        assert (low <= place.C * (1 + 1e-9)).all(), (name, place)
        low = sum_error_bound(name, guarantee, d, place.C)
        assert (low <= place.D * (1 + 1e-9)).all(), (name, place)


@pytest.mark.parametrize("guarantee", [*PURE, *APPROXIMATE, *ZCDP], ids=str)
def test_every_place_is_allowed(guarantee: Guarantee) -> None:
    for d in POINTS:
        places = [points.clipping(guarantee, d), points.split(guarantee, d, 5)]
        if not isinstance(guarantee, ConcentratedDP) or d == 10**6:
            places += points.fitted(guarantee, d)
        if isinstance(guarantee, ApproximateDP):
            places.append(points.truncated(guarantee, d))
        for place in places:
            assert_allowed(guarantee, d, place)


@pytest.mark.parametrize("guarantee", PURE, ids=str)
def test_the_weighted_family_is_allowed_and_joins_its_ends(guarantee: PureDP) -> None:
    for d in (2, 1000):
        path = points.weighted(guarantee, d, [1e-9, 0.01, 1.0, 1e6])
        assert_allowed(guarantee, d, path)
        if d == 1000:  # with few cells, pooling them makes the sum better than its own answer
            assert (np.diff(path.C) > 0).all()
            assert (np.diff(path.D) < 0).all()
        assert math.isclose(path.D[-1], signed_error(guarantee), rel_tol=1e-3)
        assert math.isclose(path.C[-1], points.fitted(guarantee, d)[0].C[0], rel_tol=1e-3)
        assert math.isclose(path.C[0], signed_error(guarantee), rel_tol=1e-3)


def test_sampling_agrees_with_the_exact_family() -> None:
    weights = [0.01, 0.1, 1.0]
    exact = points.weighted(PureDP(0.5), 100, weights)
    found = points.sampled_weighted(PureDP(0.5), 100, weights, 4000, np.random.default_rng(7))
    assert found.se is not None
    assert (np.abs(found.C - exact.C) < 4 * found.se[0]).all()
    assert (np.abs(found.D - exact.D) < 4 * found.se[1]).all()


def test_certified_is_never_below_the_worst_known() -> None:
    for guarantee in (PURE[1], ZCDP[1]):
        for d in (2, 10, 1000):
            known, sure = points.fitted(guarantee, d)
            assert known.C[0] <= sure.C[0]
            assert known.D[0] == sure.D[0] == pytest.approx(signed_error(guarantee))


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="cells"):
        points.clipping(PureDP(1.0), 1)
    with pytest.raises(InputError, match="Laplace"):
        points.weighted(ConcentratedDP(1.0), 10, [1.0])
    with pytest.raises(InputError, match="runs"):
        points.sampled_weighted(PureDP(1.0), 10, [1.0], 1, np.random.default_rng(1))
