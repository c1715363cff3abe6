"""First moments on other terms, against optimal small mechanisms found by linear programming."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.model.privacy import ApproximateDP, PureDP
from microdata_price.theory.lower import variants as va
from microdata_price.theory.lower.lower_bounds import point_error_bound, sum_error_bound
from microdata_price.theory.upper.exact_errors import clipped, clipped_sum, m_epsilon
from private_channels import least_worst_loss


def least_absolute_error(epsilon, d, n):
    """Return the least mean absolute error of the worst cell with a public total of n records."""
    x = np.array([t for t in itertools.product(range(n + 1), repeat=d) if sum(t) == n])
    apart = np.abs(x[:, None] - x)
    near = np.argwhere(apart.sum(axis=2) == 2)
    return least_worst_loss(near, epsilon, np.moveaxis(apart, 2, 0))


@pytest.mark.parametrize(("epsilon", "d", "n"), [(1.0, 3, 3), (2.0, 4, 2), (3.0, 5, 2)])
def test_no_mechanism_with_a_public_total_is_better_than_the_bound(epsilon, d, n):
    best = least_absolute_error(epsilon, d, n)
    m = np.arange(1.0, n + 1)
    a = np.exp(epsilon * m) / (d - 1)
    bound = float((m / (1 + a)).max())
    assert 0 < bound <= best
    assert va.public_total_bound(epsilon, d) >= bound - 1e-12


@given(st.floats(0.01, 5.0), st.integers(2, 10**7), st.floats(0, 50))
def test_the_best_number_of_replaced_records_is_found(eps, d, D):
    m = np.arange(1.0, 4000.0)
    a = np.exp(np.minimum(eps * m, 600.0)) / (d - 1)
    want = max(float(((m - a * D) / (1 + a)).max()), 0.0)
    assert float(va.public_total_bound(eps, d, D)) == pytest.approx(want, rel=1e-9, abs=1e-12)


@given(
    st.floats(0.05, 2.0),
    st.integers(2, 10**6),
    st.integers(2, 60),
    st.floats(0.05, 0.95),
    st.floats(0.1, 4.0),
)
def test_clipping_goes_wrong_as_often_as_proved(eps, d, m, share, ratio):
    """Clipping treats cells alike, so it goes wrong on each placement, as Markov bounds it."""
    k, h = share * m, ratio * m
    chance, s = va.placement_chance(eps, d, m, k, h)
    assert 0 <= s <= m
    assert chance <= 1
    z = m_epsilon(eps)
    # P(x_i < k), plus Markov's bound on P(x_* > m + h) by the squared error of the sum.
    low = float(z.sf(np.asarray(m - math.ceil(k)))) if k > 0 else 0.0
    high = clipped_sum(z, [m, 0], [1, d - 1]) / h**2
    assert chance <= min(low + high, 1.0) + 1e-12


def test_the_difficult_tables_own_error():
    eps, d = 0.1, 10**6
    m = math.floor(math.log(d) / eps)
    chance, _ = va.placement_chance(eps, d, m, m / 2, m)
    assert chance >= 1 / 16 - 0.002
    found = va.same_table_error(eps, d, m)
    assert found.error >= m / math.sqrt(80) > m / math.sqrt(128)
    low = va.same_table_error(3.0, 1000, 2)  # below one record
    bound = low.chance / (1 / (2 - low.k) ** 2 + 1 / low.h**2)
    assert low.error == pytest.approx(math.sqrt(bound))
    # Neither known mechanism is better there: clipping's sum errs by more.
    z = m_epsilon(eps)
    cell = math.sqrt(float(clipped(z, m).squared_error))
    total = math.sqrt(clipped_sum(z, [m, 0], [1, d - 1]))
    assert found.error <= max(cell, total)


@given(st.floats(0.05, 3.0), st.floats(1e-12, 0.2), st.floats(1.0, 200.0), st.floats(0.1, 1e4))
def test_the_corollary_with_a_delta_is_a_weaker_form(eps, delta, log10_d, D):
    g = ApproximateDP(eps, delta)
    d = float(round(10**log10_d)) + 2 if log10_d < 15 else 10**log10_d
    value = float(va.approximate_corollary(g, math.floor(d), D))
    bound = float(point_error_bound("first_moment", g, math.floor(d), D))
    assert value <= bound * (1 + 1e-9) + 1e-12


def test_the_corollary_reaches_its_leading_term():
    g = ApproximateDP(0.5, 1e-200)
    for d, term in ((1e250, math.log(0.5 / 1e-200)), (1e100, math.log(1e100))):
        assert 0.95 < float(va.approximate_corollary(g, d, math.sqrt(8) / 0.5)) * 0.5 / term < 1


def test_one_record_is_tight_at_large_epsilon():
    for eps in (8.0, 12.0, 20.0):
        z = m_epsilon(eps)
        C, d = z.std, 10**6
        D = math.sqrt(clipped_sum(z, [0], [d]))
        bound = float(va.one_record_bound(eps, d, C))
        assert bound <= float(sum_error_bound("first_moment", PureDP(eps), d, C)) * (1 + 1e-9)
        # Besides its bias d e^-eps, clipping has the spread of d independent cells.
        bias = d * math.exp(-eps)
        assert bound <= bias * (1 + 1e-6) / (1 - math.exp(-2 * eps))
        assert bias**2 * 1.01 + d * z.variance >= D**2
        assert bound >= bias * (1 - C)
