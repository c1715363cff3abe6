"""Channels of one cell, all of small tables, first moments on other terms: by other programs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.lower import lower_bounds as lb
from microdata_price.theory.lower import single_cells as pure
from microdata_price.theory.lower import single_cells_zcdp as conic
from microdata_price.theory.lower import variants as va
from microdata_price.theory.upper.exact_errors import clipped_sum, m_epsilon, m_rho
from microdata_price.theory.upper.reached import reached
from microdata_price.theory.upper.remap import best_gaussian_map, best_map
from private_channels import least_worst_loss

PURE, ZCDP = PureDP(1.0), ConcentratedDP(0.125)


@pytest.mark.parametrize("factor", [1.0, 1.3])
def test_the_small_program_has_the_value_of_the_full_one(factor):
    """All channels on 0, ..., 20, with nothing assumed: the least mean at 0, or squared error."""
    square = factor * m_epsilon(1.0).variance
    grid, y = pure.Grid(1.0, 1.0, 1, 20), np.arange(21)
    errors = (y - y[:, None]) ** 2
    mean = np.where(y[:, None] == 0, y, 0)
    near = np.argwhere(errors == 1)
    found = grid.multipliers(square=square)
    value = grid.certified_value(found) - square * found.error.sum()
    full = least_worst_loss(near, 1.0, [mean], errors, square)
    assert full * (1 - 1e-4) < value <= full * (1 + 1e-7)
    found = grid.multipliers(mean=full)
    assert found.error.sum() == pytest.approx(1, rel=1e-6)
    back = grid.certified_value(found) - full * found.mean
    assert square * (1 - 1e-4) < back <= square * (1 + 1e-6)


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8), st.floats(0, 2))
@settings(max_examples=30)
def test_any_multipliers_prove_the_least_weighted_loss_of_all_channels(weights, mean):
    j = np.arange(8)
    loss = np.array(weights)[:, None] * (j - j[:, None]) ** 2 + mean * np.where(j[:, None], 0, j)
    near = np.concatenate([np.eye(8)[1:] - math.exp(0.7) * np.eye(8)[:-1]] * 2)
    near[7:] = near[7:, ::-1]
    steps, sums = np.kron(near, np.eye(8)), np.kron(np.eye(8), np.ones(8))
    found = linprog(loss.ravel(), A_ub=steps, b_ub=np.zeros(14 * 8), A_eq=sums, b_eq=np.ones(8))
    sure = pure.Grid(0.7, 1.0, 1, 7).certified_value(pure.Multipliers(np.array(weights), mean))
    assert sure == pytest.approx(found.fun, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "limit"), [(0.25, 0.32731), (0.5, 0.32248), (1.0, 0.32850), (2.0, 0.26780)]
)
def test_the_limit_is_reached_by_the_map(epsilon, limit):
    C = m_epsilon(epsilon).std
    low = epsilon * pure.channel_sum_error(PureDP(epsilon), 1000, C, whole=True) / 1000
    high = epsilon * float(np.abs(best_map(epsilon).bias).max())
    assert high == pytest.approx(limit, abs=1.1e-5)
    loss = 1e-4 if epsilon > 0.3 else 2e-3  # the range of counts is finite
    assert high * (1 - loss) < low <= high * (1 + 1e-9)


def test_the_known_values_of_the_single_cell_program():
    """In units of 1/epsilon: for weights, for whole numbers, and no less than first moments say."""
    for d, epsilon, *values in (
        *((1000, 0.5, 5.01452, 5.01837), (10**6, 0.5, 11.81585, 11.81756)),
        (1000, 1.0, 4.99642, 5.00752),
    ):
        g, D = PureDP(epsilon), math.sqrt(8) / epsilon
        found = [epsilon * pure.channel_point_error(g, d, D, whole=w) for w in (False, True)]
        assert found == pytest.approx(values, rel=1e-4)
        assert found[0] >= epsilon * float(lb.point_error_bound("first_moment", g, d, D))


def test_zcdp_is_certified_between_first_moments_and_the_map():
    guarantee, C = ConcentratedDP(0.125), m_rho(0.125).std * (1 + 1e-6)
    low = conic.conic_sum_error(guarantee, 1000, C, whole=True)
    weights = conic.conic_sum_error(guarantee, 1000, C, whole=False)
    first = float(lb.sum_error_bound("first_moment", guarantee, 1000, C))
    assert first < weights < low < float(best_gaussian_map(0.125).D(1000))
    points = [conic.conic_point_error(guarantee, 1000, 8**0.5, whole=w) for w in (False, True)]
    far = conic.conic_sum_error(guarantee, 1000, 1.3 * C, whole=False)
    fine = conic.conic_sum_error(ConcentratedDP(0.01), 1000, 8.0, whole=False)
    known = pytest.approx([381.81, 262.92, 3.6343, 3.6610, 46.436, 375.69], rel=3e-4)
    assert [low, weights, *points, far, fine] == known
    assert conic.conic_sum_error(ConcentratedDP(3.0), 1000, C, whole=True) == 0
    assert conic.conic_point_error(ConcentratedDP(3.0), 1000, C, whole=True) == 0
    # What no channel reaches, and what no solver sees: nothing is proved.
    assert pure.channel_sum_error(PureDP(1.0), 10, 0.01, whole=True) == 0
    assert pure.channel_point_error(PureDP(1.0), 10**9, 1e-3, whole=True) == 0
    assert conic.conic_point_error(guarantee, 2, 1e4, whole=True) == 0


def test_any_conic_multipliers_prove_a_true_bound():
    """Random multipliers give less than M_rho's own mean at 0, whose squared error is V at most."""
    rng = np.random.default_rng(3)
    grid, V = conic.ConicGrid(0.125, 12), m_rho(0.125).variance
    found = grid.multipliers(V, 0.9)
    best, j = grid.certified(found, V), np.arange(13)
    assert 0 < best < m_rho(0.125).pmf(j) @ j + 1e-9
    for _ in range(20):
        a, b, c = rng.uniform(0.5, 2, 3)
        other = found._replace(
            error=a * found.error, divergence=b * found.divergence, prices=c * found.prices
        )
        assert grid.certified(other, V) <= best * (1 + 1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_no_lower_bound_is_above_what_is_reached(seed):
    rng = np.random.default_rng(seed)
    d, level = int(10 ** rng.uniform(0.31, 9)), float(np.exp(rng.uniform(-2, 2.5)))
    kinds = (PureDP(level), ApproximateDP(level, 1e-6), ConcentratedDP(max(level**2 / 8, 0.02)))
    guarantee = kinds[seed % 3]
    error = float(np.exp(rng.uniform(-1, 3))) * guarantee.signed_error
    given_error = {"sum_error" if rng.random() < 0.5 else "point_error": error}
    cells, _ = pure.single_cell_bounds(guarantee, d, **given_error)
    best = max(lb.lower_bounds(guarantee, d, **given_error).values.values())
    for name, value in reached(guarantee, d, **given_error).values.items():
        low = cells["channel_whole" if name in {"clipping", "remap"} else "channel"]
        assert value is None or max(low, best) <= value * (1 + 1e-9)


@pytest.mark.parametrize(
    ("guarantee", "few", "points", "sums"),
    [
        (PURE, False, [7.936, 6.8234, 5.5364, 3.4199], [199.5, 165.64, 104.9, 71, 34.47, 11.918]),
        (PURE, True, [2.9869, 2.9835, 2.9717, 2.8153], [199.5, 157.91, 85.115, 70.487, 34.48, 0]),
        (ZCDP, False, [4.1786, 4.0665, 3.6472, 2.8225], [248.35, 171.09, 68.287, 22.772, 2.148, 0]),
        (ZCDP, True, [2.9785, 2.9754, 2.9647, 2.8225], [248.35, 171.09, 68.287, 22.772, 0, 0]),
    ],
)
def test_known_values_of_lines(guarantee, few, points, sums):
    lines, unit = pure.single_cell_lines(guarantee, few=few), guarantee.noise().std
    found = lines.point_error(1000, unit * np.array([0.1, 0.3, 1, 10]))
    assert found == pytest.approx(points, rel=3e-4)
    found = lines.sum_error(1000, unit * np.array([1.003, 1.05, 1.2, 1.4, 1.8, 2.5]))
    assert found == pytest.approx(sums, rel=3e-4)


def least_error(epsilon, d, D, most, low, high):
    """Return the least C of any private channel, counts to ``most``, outputs low to high."""
    x, y = (
        np.array(list(itertools.product(range(*ends), repeat=d)))
        for ends in ((most + 1,), (low, high + 1))
    )
    near = np.argwhere(np.abs(x[:, None] - x).sum(axis=2) == 1)
    cells = (x[:, None] - y) ** 2
    sums = (x.sum(axis=1)[:, None] - y.sum(axis=1)) ** 2
    return math.sqrt(least_worst_loss(near, epsilon, np.moveaxis(cells, 2, 0), sums, D**2))


@pytest.mark.parametrize(
    ("epsilon", "d", "most", "D"),
    [(1, 2, 3, 1.4), (1, 2, 3, 3.0), (1, 2, 2, 1.3), (2, 2, 3, 0.7), (2, 3, 2, 0.9)],
)
def test_all_mechanisms_on_small_tables_obey_every_bound(epsilon, d, most, D):
    g = PureDP(epsilon)
    C = least_error(epsilon, d, D, most, 0, most + 1)
    assert d > 2 or least_error(epsilon, d, D, most, -1, most + 1) <= C + 1e-7
    for name in list(lb.BOUNDS)[1:]:
        assert float(lb.point_error_bound(name, g, d, D, max_records=most)) <= C + 1e-6
        assert float(lb.sum_error_bound(name, g, d, C + 1e-6, max_records=most)) <= D + 1e-6


@pytest.mark.parametrize(("epsilon", "d", "n"), [(1.0, 3, 3), (2.0, 4, 2), (3.0, 5, 2)])
def test_no_mechanism_with_a_public_total_is_better_than_the_bound(epsilon, d, n):
    """The least mean absolute error of the worst cell, n records in all."""
    x = np.array([t for t in itertools.product(range(n + 1), repeat=d) if sum(t) == n])
    apart = np.abs(x[:, None] - x)
    near = np.argwhere(apart.sum(axis=2) == 2)
    best = least_worst_loss(near, epsilon, np.moveaxis(apart, 2, 0))
    m = np.arange(1.0, n + 1)
    bound = float((m / (1 + np.exp(epsilon * m) / (d - 1))).max())
    assert 0 < bound <= best
    assert va.public_total_bound(epsilon, d) >= bound - 1e-12


@given(st.floats(0.01, 5.0), st.integers(2, 10**7), st.floats(0, 50))
def test_the_best_number_of_replaced_records_is_found(eps, d, D):
    m = np.arange(1.0, 4000.0)
    a = np.exp(np.minimum(eps * m, 600.0)) / (d - 1)
    want = max(float(((m - a * D) / (1 + a)).max()), 0.0)
    assert float(va.public_total_bound(eps, d, D)) == pytest.approx(want, rel=1e-9, abs=1e-12)


@given(st.floats(0.05, 2.0), st.integers(2, 10**6), st.integers(2, 60), *[st.floats(0.05, 1)] * 2)
def test_clipping_goes_wrong_as_often_as_proved(eps, d, m, share, ratio):
    k, h = 0.95 * share * m, 4 * ratio * m
    chance, s = va.placement_chance(eps, d, m, k, h)
    every = np.arange(m + 1)
    wrong = np.exp(-eps * every) * (1 - np.minimum(np.exp(eps * (m - every)) * (m + h) / k / d, 1))
    assert chance == pytest.approx(wrong.max(), rel=1e-9, abs=1e-15) == pytest.approx(wrong[s])
    z = m_epsilon(eps)
    # P(x_i < k), plus Markov's bound on P(x_* > m + h) by the squared error of the sum.
    low = float(z.sf(np.asarray(m - math.ceil(k)))) if k > 0 else 0.0
    assert chance <= min(low + clipped_sum(z, [m, 0], [1, d - 1]) / h**2, 1.0) + 1e-12


def test_the_difficult_tables_own_error():
    eps, d = 0.1, 10**6
    m = math.floor(math.log(d) / eps)
    chance, _ = va.placement_chance(eps, d, m, m / 2, m)
    assert chance >= 1 / 16 - 0.002
    assert va.same_table_error(eps, d, m).error >= m / math.sqrt(80) > m / math.sqrt(128)
    low = va.same_table_error(3.0, 1000, 2)  # below one record
    assert low.error == pytest.approx(math.sqrt(low.chance / (1 / (2 - low.k) ** 2 + 1 / low.h**2)))


@given(st.floats(0.05, 3.0), st.floats(1e-12, 0.2), st.floats(1.0, 200.0), st.floats(0.1, 1e4))
def test_the_corollary_with_a_delta_is_a_weaker_form(eps, delta, log10_d, D):
    g = ApproximateDP(eps, delta)
    d = float(round(10**log10_d)) + 2 if log10_d < 15 else 10**log10_d
    value = float(va.approximate_corollary(g, math.floor(d), D))
    bound = float(lb.point_error_bound("first_moment", g, math.floor(d), D))
    assert value <= bound * (1 + 1e-9) + 1e-12
    log = math.log(eps / delta)
    m = math.floor(min(math.log(d / (eps * D)), log - math.log(log)) / eps) if log > 1 else 0
    leak = delta * math.expm1(m * eps) / math.expm1(eps)
    want = m * (1 - leak) - math.exp(eps * m) * D / d if m >= 1 else 0.0
    assert value == pytest.approx(max(want, 0.0), rel=1e-9, abs=1e-9)
