"""The programs over channels of one cell: against independent programs, mechanisms and limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.lower import lower_bounds as lb
from microdata_price.theory.lower import single_cells as pure
from microdata_price.theory.lower import single_cells_zcdp as conic
from microdata_price.theory.upper.exact_errors import m_epsilon, m_rho
from microdata_price.theory.upper.reached import reached
from microdata_price.theory.upper.remap import best_gaussian_map, best_map
from private_channels import least_worst_loss


@pytest.mark.parametrize("factor", [1.0, 1.3])
def test_the_small_program_has_the_value_of_the_full_one(factor):
    """All channels on 0, ..., 20, with nothing assumed: the least mean output for a count of 0."""
    square = factor * m_epsilon(1.0).variance
    grid = pure.Grid(1.0, 1.0, 1, 20)
    found = grid.multipliers(square=square)
    assert found is not None
    value = grid.certified_value(found) - square * found.error.sum()
    y = np.arange(21)
    errors = (y - y[:, None]) ** 2
    mean = np.where(y[:, None] == 0, y, 0)
    full = least_worst_loss(np.argwhere(np.sqrt(errors) == 1), 1.0, [mean], errors, square)
    assert full * (1 - 1e-3) < value <= full * (1 + 1e-7)


@given(st.lists(st.floats(0, 1), min_size=13, max_size=13), st.floats(0, 2))
def test_any_multipliers_prove_a_true_bound(weights, mean):
    """Whatever the weights, no private channel's weighted loss is below what is certified."""
    grid = pure.Grid(0.7, 1.0, 1, 12)
    j = np.arange(13)
    sure = grid.certified_value(pure.Multipliers(np.array(weights), mean))
    law = grid.geometric()
    for shift in range(3):
        y = np.maximum(j - shift, 0)[:, None]
        loss = (law * np.array(weights) * (y - j) ** 2).sum() + mean * (law[:, 0] * y[:, 0]).sum()
        assert sure <= loss + 1e-9


@pytest.mark.parametrize(
    ("epsilon", "limit"), [(0.25, 0.32731), (0.5, 0.32248), (1.0, 0.32850), (2.0, 0.26780)]
)
def test_the_limit_is_reached_by_the_map(epsilon, limit):
    """Bound and mechanism meet for whole numbers as d grows: the constant is exact."""
    C = m_epsilon(epsilon).std
    low = epsilon * pure.channel_sum_error(PureDP(epsilon), 1000, C, whole=True) / 1000
    high = epsilon * float(np.abs(best_map(epsilon).bias).max())
    assert high == pytest.approx(limit, abs=1.1e-5)
    loss = 1e-4 if epsilon > 0.3 else 2e-3  # the range of counts is finite
    assert high * (1 - loss) < low <= high * (1 + 1e-9)


def test_the_known_values_of_the_single_cell_program():
    for d, epsilon, value in ((1000, 0.5, 5.014), (10**6, 0.5, 11.815), (1000, 1.0, 4.99)):
        D = math.sqrt(8) / epsilon
        found = epsilon * pure.channel_point_error(PureDP(epsilon), d, D, whole=False)
        assert found == pytest.approx(value, abs=7e-3)
        assert found >= epsilon * float(lb.point_error_bound("first_moment", PureDP(epsilon), d, D))


def test_zcdp_is_certified_between_first_moments_and_the_map():
    guarantee = ConcentratedDP(0.125)
    C = m_rho(0.125).std * (1 + 1e-6)
    low = conic.conic_sum_error(guarantee, 1000, C, whole=True)
    weights = conic.conic_sum_error(guarantee, 1000, C, whole=False)
    first = float(lb.sum_error_bound("first_moment", guarantee, 1000, C))
    assert first < weights < low < float(best_gaussian_map(0.125).D(1000))
    assert low > 370
    assert conic.conic_sum_error(ConcentratedDP(3.0), 1000, C, whole=True) == 0


def test_any_conic_multipliers_prove_a_true_bound():
    """Random multipliers give less than M_rho's own mean at 0, whose squared error is V at most."""
    rng = np.random.default_rng(3)
    grid, V = conic.ConicGrid(0.125, 12), m_rho(0.125).variance
    found = grid.multipliers(V, 0.9)
    best = grid.certified(found, V)
    j = np.arange(13)
    law = m_rho(0.125).pmf(j)
    assert 0 < best < law @ j + 1e-9
    for _ in range(20):
        a, b, c = rng.uniform(0.5, 2, 3)
        other = found._replace(
            error=a * found.error, divergence=b * found.divergence, prices=c * found.prices
        )
        assert grid.certified(other, V) <= best * (1 + 1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_no_lower_bound_is_above_what_is_reached(seed):
    """At random levels of each kind, for weights and for whole numbers."""
    rng = np.random.default_rng(seed)
    d, level = int(10 ** rng.uniform(0.31, 9)), float(np.exp(rng.uniform(-2, 2.5)))
    kinds = (PureDP(level), ApproximateDP(level, 1e-6), ConcentratedDP(max(level**2 / 8, 0.02)))
    guarantee = kinds[seed % 3]
    error = float(np.exp(rng.uniform(-1, 3))) * guarantee.signed_error
    given_error = {"sum_error" if rng.random() < 0.5 else "point_error": error}
    cells, _ = pure.single_cell_bounds(guarantee, d, **given_error)
    best = max(lb.lower_bounds(guarantee, d, **given_error).values.values())
    values = reached(guarantee, d, **given_error).values
    for name, value in values.items():
        low = cells["channel_whole" if name in {"clipping", "remap"} else "channel"]
        assert value is None or max(low, best) <= value * (1 + 1e-9)


@pytest.mark.parametrize(
    ("guarantee", "given_error", "size"),
    [
        (PureDP(1.0), "point_error", 1.2),
        (PureDP(1.0), "sum_error", 2),
        (ConcentratedDP(0.125), "point_error", 1.2),
    ],
    ids=str,
)
def test_lines_are_a_little_below_the_program(guarantee, given_error, size):
    lines, error = pure.single_cell_lines(guarantee), size * guarantee.basis.noise().std
    program = pure.single_cell_bounds(guarantee, 1000, **{given_error: error})[0]["channel"]
    curve = lines.sum_error if given_error == "point_error" else lines.point_error
    assert 0.9 * program < float(curve(1000, error)) <= program * 1.003
