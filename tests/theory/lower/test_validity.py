"""From which d on bounds say something, and what both errors, and sparse outputs, must pay."""

import math

import numpy as np
import pytest

from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.lower.lower_bounds import (
    BOUNDS,
    point_error_bound,
    sum_error_bound,
)
from microdata_price.theory.lower.validity import (
    balanced_error,
    first_above,
    sparse_point_error,
)
from rounding import at_most

LEVELS = [
    PureDP(0.01),
    PureDP(0.5),
    PureDP(10.0),
    ApproximateDP(0.5, 1e-6),
    ApproximateDP(1.0, 1e-2),
    ConcentratedDP(0.001),
    ConcentratedDP(0.125),
    ConcentratedDP(10.0),
]


@pytest.mark.parametrize("guarantee", LEVELS, ids=str)
@pytest.mark.parametrize("name", BOUNDS)
def test_the_bound_crosses_where_it_is_said_to(name, guarantee):
    """Given D, at three heights; and given C, at the same numbers of cells as signed errors."""
    s = guarantee.signed_error
    first = [first_above(name, guarantee, s, threshold) for threshold in (0.0, 0.5 * s, s)]
    assert first == sorted(first)
    grid = np.floor(np.geomspace(2, 1e200, 60))
    for threshold, at in zip((0.0, 0.5 * s, s), first, strict=True):
        assert ((point_error_bound(name, guarantee, grid, s) > threshold) == (grid >= at)).all()
        if 2 < at < math.inf:
            before = at - 1 if at < 1e4 else math.floor(at * (1 - 1e-4))
            assert point_error_bound(name, guarantee, at, s) > threshold
            assert not point_error_bound(name, guarantee, before, s) > threshold
    if math.isinf(first[-1]):
        assert not sum_error_bound(name, guarantee, 1e200, s) > s
    else:
        assert sum_error_bound(name, guarantee, math.ceil(first[-1] * 1.001), s) > s
        assert not sum_error_bound(name, guarantee, math.floor(first[-1] * 0.999), s) > s


@pytest.mark.parametrize("guarantee", LEVELS, ids=str)
@pytest.mark.parametrize("name", BOUNDS)
def test_balanced_errors_are_where_the_curve_meets_the_diagonal(name, guarantee):
    d = np.array([1e6, 1e12, 1e30])
    x = balanced_error(name, guarantee, d)
    assert at_most(x[:-1], x[1:])
    said = x > 1e-6 * guarantee.signed_error
    at, x = d[said], x[said]
    assert (point_error_bound(name, guarantee, at, x * (1 - 1e-6)) > x * (1 - 1e-6)).all()
    assert (point_error_bound(name, guarantee, at, x * (1 + 1e-6)) <= x * (1 + 1e-6)).all()


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_sparse_bound_is_the_largest_over_all_records(epsilon):
    for d in (2.0, 100.0, 1e6, 1e12):
        for nonzero in (0.5, 10.0, 1000.0):
            m = np.arange(1.0, math.ceil(math.log(1e13) / epsilon) + 2)
            square = m**2 * (1 - np.exp(np.minimum(epsilon * m, 600)) * nonzero / d)
            expected = math.sqrt(max(float(square.max()), 0.0))
            assert math.isclose(
                float(sparse_point_error(epsilon, d, nonzero)), expected, rel_tol=1e-9, abs_tol=1e-9
            )
