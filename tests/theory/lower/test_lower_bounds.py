"""Lower bounds against their inequalities, naive searches, limits and the paper's constants."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from microdata_price.model import privacy
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.given import LARGEST_ERROR, LEAST_ERROR, MOST_POINTS
from microdata_price.theory.lower import lower_bounds as lb
from microdata_price.theory.lower import printed_bounds as printed
from microdata_price.theory.lower import search
from microdata_price.theory.lower.lower_bounds import BOUNDS, lower_bounds
from microdata_price.theory.lower.printed_branches import point_error_branches, sum_error_branches
from microdata_price.theory.lower.validity import balanced_error, first_above, sparse_point_error
from rounding import at_most


def _guarantees(level, delta):
    pure, zcdp = level.map(PureDP), level.map(ConcentratedDP)
    return st.one_of(pure, st.builds(ApproximateDP, level, delta), zcdp)


def _between(least, most):
    """Numbers of any size between two limits, and the limits."""
    inside = st.floats(math.log(least), math.log(most)).map(math.exp)
    return st.one_of(inside, st.sampled_from([least, most])).map(lambda v: min(max(v, least), most))


GUARANTEES = _guarantees(_between(1e-5, 300.0), _between(1e-14, 0.1))
POINTS = st.one_of(st.integers(2, 50), st.floats(1, 30).map(lambda x: int(10**x)))
ERRORS = st.floats(-3, 3).map(lambda x: 10.0**x)


def group_delta(guarantee, m):
    if not isinstance(guarantee, ApproximateDP):
        return np.zeros(np.shape(m))
    e = guarantee.epsilon
    grown = np.exp(np.minimum((m - 1) * e, 600.0))
    return guarantee.delta * grown * np.expm1(-m * e) / math.expm1(-e)


def packing_slack(g, d, C, D, m, a, b, base):
    """How far the inequality of one packing holds, in logarithms, straight from its statement."""
    k, close = m - a * C, base == "close"
    P = 1 - (2 if close else 1) / a**2 - 1 / b**2
    log_n = math.log(d - 1 if close else d)
    log_k = np.log((m + (a * C if close else 0) + b * D) / k)
    if isinstance(g, ConcentratedDP):
        return g.rho * m**2 - (P * log_n - log_k - math.log(2))
    left = P - group_delta(g, m)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(left > 0, log_k - log_n + g.epsilon * m - np.log(left), np.inf)


@given(GUARANTEES, POINTS, ERRORS, st.sampled_from(["close", "empty"]), st.booleans())
@settings(max_examples=60)
def test_packing_bounds_are_attained_and_no_other_constants_do_better(g, d, size, base, sums):
    error = size * g.signed_error
    name = "optimised" if base == "close" else "packing_empty"
    found = lower_bounds(g, d, **{"sum_error" if sums else "point_error": error})
    value, chosen = found.values[name], found.constants[name]

    def pair(other):
        return (other, error) if sums else (error, other)

    if value > 1e-200:
        m, a, b = chosen["m"], chosen["alpha"], chosen["beta"]
        assert m == math.floor(m) >= 1
        assert chosen["k"] == pytest.approx(m - a * pair(value)[0], rel=1e-6, abs=1e-9 * m)
        assert packing_slack(g, d, *pair(value * (1 - 1e-6)), m, a, b, base) < 0
    # No random constants exclude anything a little larger, nor, of a 0, anything that is tiny.
    rng = np.random.default_rng(7)
    C, D = pair(value * (1 + 1e-6) + 1e-9 * g.signed_error)
    zcdp = isinstance(g, ConcentratedDP)
    reach = math.sqrt(math.log(d) / g.rho) if zcdp else math.log(d) / g.epsilon
    u, v, w = rng.random((3, 1000))
    m = np.maximum(1, np.round(max(reach, 1.0) * u ** rng.integers(1, 4, 1000)))
    a = 1 + (np.maximum(m / C, 1.0001) - 1) * v ** rng.integers(1, 4, 1000)
    b = 1 + 10 ** (3 * w - 1)
    if value > 1e-200:  # nor any near those that are found
        x, y = np.array(list(itertools.product([0.97, 1, 1.03], repeat=2))).T
        a, b = np.append(a, chosen["alpha"] * x), np.append(b, chosen["beta"] * y)
        m = np.append(m, np.full(9, chosen["m"]))
    fits = a * C < m
    m, a, b = m[fits], a[fits], b[fits]
    assert (packing_slack(g, d, C, D, m, a, b, base) > -1e-9).all()


@given(GUARANTEES, POINTS, ERRORS, st.booleans())
@example(ConcentratedDP(0.1), 10**30, 1e-3, False)
@example(ApproximateDP(0.2, 1e-3), 10**6, 1e-1, False)
@settings(max_examples=60)
def test_printed_bound_is_attained_in_range_and_no_other_k_does_better(g, d, size, sums):
    error = size * g.signed_error
    found = lower_bounds(g, d, **{"sum_error" if sums else "point_error": error})
    value = found.values["printed"]

    def excluded(factor, k):
        C, D = (factor * value, error) if sums else (error, factor * value)
        left, right = printed.printed_sides(g, d, C, D, k)
        y = 2 * C + k
        inside = printed.in_range(g, y * (1 - 1e-9)) | printed.in_range(g, y * (1 + 1e-9))
        return (left < right - 1e-12 * np.abs(right)) & inside

    if value > 1e-6:
        # The same y, a little below the bound.
        k = found.constants["printed"]["k"] + (2e-6 * value if sums else 0)
        assert excluded(1 - 1e-6, np.array(k))
    wide = np.geomspace(1e-4, 1e4, 4000) * max(g.signed_error, 1.0)
    k = np.concatenate([wide, np.linspace(0, 2, 2001)[1:]])
    if value > 0 or sums:
        assert not excluded(1 + 1e-6, k).any()


@given(GUARANTEES, POINTS, ERRORS)
@settings(max_examples=60)
def test_first_moment_bounds_equal_a_search_over_all_whole_numbers(g, d, size):
    assume(g.signed_error < 3e3)
    error, m = size * g.signed_error, np.arange(1.0, 200_000)
    with np.errstate(all="ignore"):
        if isinstance(g, ConcentratedDP):
            L = np.log(d * m / error)
            gap = np.sqrt(L) - math.sqrt(g.rho) * m
            points = np.where(gap > 0, m * -np.expm1(-(gap**2)), 0.0)
            root = math.sqrt(g.rho) * m + np.sqrt(-np.log(1 - error / m))
            sums = np.where(m > error, np.log(d * m) - root**2, -np.inf)
        else:
            delta = group_delta(g, m)
            points = m * (1 - delta) - np.exp(np.minimum(g.epsilon * m, 690)) * error / d
            rest = m * (1 - delta) - error
            sums = np.where(rest > 0, math.log(d) - g.epsilon * m + np.log(np.abs(rest)), -np.inf)
    best = pytest.approx(max(0.0, float(np.nanmax(points))), rel=1e-9, abs=1e-9)
    assert float(lb.point_error_bound("first_moment", g, d, error)) == best
    assume(error < 1e5)
    found = float(lb.sum_error_bound("first_moment", g, d, error))
    top = float(np.nanmax(sums))
    assert math.log(found) == pytest.approx(top, abs=1e-8) if found > 1e-300 else top < -690


def test_searches_find_the_highest_places_of_all_problems_at_once():
    a, asked = np.array([-1.0, 0.31, 1.27, 3.0]), []
    low, high = np.full(4, -1.0), np.array([2.0, 2.0, 5.0, 3.0])

    def hill(x):
        asked.append(x.shape)
        return -np.abs(x - a[:, None])

    x, best = search.maximise(hill, low, high, 33, 20)
    assert asked == [(4, 33)] + [(4, 9)] * 19
    np.testing.assert_allclose((x, best), (a, 0 * a), atol=1e-8)

    ends = search.largest_true(lambda x: x <= [-3.0, 0.3, 0.7, 9.0], low, high)
    assert ends == pytest.approx([-1.0, 0.3, 0.7, 3.0], rel=1e-15)
    ends = search.largest_true(lambda x: x <= 0.3, 0 * low + 5, low)  # an interval of one place
    assert (ends == 5).all()
    m, least = np.array([7.3, 0.2]), np.array([2.5, 0.0])
    near = [[5, 6, 7, 8, 9, 10, 3, 4, 5], [1, 1, 1, 1, 2, 3, 1, 2, 3]]
    for most in (math.inf, 6.9, 1.0):
        found = search.whole_records(m, least, 3, most)
        assert (found == np.minimum(near, math.floor(min(most, 99)))).all()


def test_the_papers_constants_are_special_cases():
    d, eps, rho, C = 10**7, 0.2, 0.05, 9.0
    left, right = printed.printed_sides(PureDP(eps), d, C, C, C)
    assert (left, right) == pytest.approx((6 * eps * C, math.log((d - 1) / 28)))
    left, right = printed.printed_sides(ConcentratedDP(rho), d, C, C, C)
    assert (left, right) == pytest.approx((rho * (6 * C) ** 2, math.log2((d - 1) / 14**4) / 4))
    # k = 1/eps with D in the place of C where that only weakens.
    left, right = printed.printed_sides(PureDP(eps), d, C, 40.0, 1 / eps)
    assert left == pytest.approx(4 * eps * C + 2)
    assert at_most(math.log((d - 1) / (24 * eps * 40.0 + 4)), right)
    assert (round(printed.ZCDP_FIRST, 4), round(printed.ZCDP_SECOND, 4)) == (0.6006, 1.2011)
    pure, good = (point_error_branches(PureDP(eps), d, D) for D in (50.0, 5.0))
    zcdp = point_error_branches(ConcentratedDP(rho), (n := 10**12 - 1) + 1, 0.5)
    root = 6 * math.sqrt(rho)
    for branch, value in (
        *((good["k=C"], math.log((d - 1) / 28) / (6 * eps)), (pure["k=C"], 0)),
        (pure["k=1/epsilon"], (math.log((d - 1) / (24 * eps * 50.0 + 4)) - 2) / (4 * eps)),
        (zcdp["k=C"], math.sqrt(math.log2(n) / 4 - 4) / root),
        (zcdp["k=C (nats)"], math.sqrt(math.log(n) / 4 - math.log(14)) / root),
    ):
        assert branch.value == pytest.approx(value, rel=1e-12)


def test_the_papers_branches_with_a_delta_and_with_a_gamma():
    d, n, eps, rho = 1e7, 1e30, 0.2, 0.01
    cut, zcdp, shrunk = ApproximateDP(eps, 1e-6), ConcentratedDP(rho), (d - 1) * math.exp(-3.6)
    # Every gamma gives a bound: the best of many.
    gamma = np.linspace(0.0005, 0.9995, 40_000)
    a, bits = np.sqrt(3 / (1 - gamma)), gamma * math.log2(n - 1) - 1
    points = (np.sqrt(np.maximum(bits - np.log2(15 * a + 1), 0)) - 2) / (0.2 * a)
    sums = (2 ** (gamma * math.log2(1999) - 1 - (0.1 * a + 2) ** 2) - 1) / (0.3 * a)
    for name, branches, value in (
        ("k=1/epsilon", point_error_branches(cut, d, 20.0), (math.log(eps / 8e-6) - 2) / 0.8),
        ("k=1/epsilon", point_error_branches(cut, 1e5, 20.0), (math.log(99999 / 200) - 2) / 0.8),
        ("k=1/epsilon", sum_error_branches(PureDP(eps), d, 2.0), (shrunk - 4) / 4.8),
        ("k=1/epsilon", sum_error_branches(cut, d, 2.0), (shrunk / 8 - 1) / 1.2),
        ("k=C", sum_error_branches(cut, d, 2.0), math.log(eps / 8e-6) / 1.2),
        ("k=1/sqrt(rho)", point_error_branches(zcdp, n, 50.0), points.max()),
        ("k=1/sqrt(rho)", sum_error_branches(zcdp, 2000, 0.5), sums.max()),
    ):
        assert branches[name].value == pytest.approx(value, rel=1e-5), name
    for g in (PureDP(20.0), ApproximateDP(20.0, 1e-9)):
        for branches in (point_error_branches, sum_error_branches):
            assert all("outside" in b.reason for b in branches(g, 1e10, 0.205).values())
            assert not any(b.value for b in branches(ConcentratedDP(30.0), 1e40, 1e-3).values())


ANY_LEVEL = _between(privacy.LEAST_LEVEL, privacy.LARGEST_LEVEL)


@given(
    _guarantees(ANY_LEVEL, _between(privacy.LEAST_DELTA, 1 - 1e-15)),
    _between(2, MOST_POINTS).map(math.floor),
    _between(LEAST_ERROR, LARGEST_ERROR),
    st.sampled_from(["sum_error", "point_error"]),
)
@settings(max_examples=60)
def test_within_the_limits_nothing_overflows(guarantee, d, error, given):
    """Warnings are errors here, so that one from NumPy would fail."""
    found = lower_bounds(guarantee, min(d, int(MOST_POINTS)), **{given: error})
    assert all(0 <= v < math.inf for v in (*found.values.values(), *found.branches.values()))
    zero = [f"branch {k} " for k, v in found.branches.items() if v == 0]
    assert all(any(branch in n for n in found.notes) for branch in zero)


EACH_LEVEL = [
    *(PureDP(e) for e in (0.01, 0.5, 10.0)),
    *(ApproximateDP(e, delta) for e, delta in ((0.5, 1e-6), (1.0, 1e-2))),
    *(ConcentratedDP(rho) for rho in (0.001, 0.125, 10.0)),
]


@pytest.mark.parametrize("guarantee", EACH_LEVEL, ids=str)
@pytest.mark.parametrize("name", BOUNDS)
def test_the_bound_crosses_where_it_is_said_to(name, guarantee):
    s = guarantee.signed_error
    first = [first_above(name, guarantee, s, threshold) for threshold in (0.0, 0.5 * s, s)]
    assert first == sorted(first)
    grid = np.floor(np.geomspace(2, 1e200, 60))
    for threshold, at in zip((0.0, 0.5 * s, s), first, strict=True):
        assert ((lb.point_error_bound(name, guarantee, grid, s) > threshold) == (grid >= at)).all()
        if 2 < at < math.inf:
            before = at - 1 if at < 1e4 else math.floor(at * (1 - 1e-4))
            assert lb.point_error_bound(name, guarantee, at, s) > threshold
            assert not lb.point_error_bound(name, guarantee, before, s) > threshold


@pytest.mark.parametrize("guarantee", [*EACH_LEVEL[1::3], PureDP(1e3)], ids=str)
@pytest.mark.parametrize("name", BOUNDS)
def test_balanced_errors_are_where_the_curve_meets_the_diagonal(name, guarantee):
    d = np.array([2, 100, 1e6, 1e30])
    x = balanced_error(name, guarantee, d)
    said = lb.point_error_bound(name, guarantee, d, 1e-14) > 1e-14
    assert ((x > 0) == said).all()
    at, x = d[said], x[said]
    assert (lb.point_error_bound(name, guarantee, at, x * (1 - 1e-6)) > x * (1 - 1e-6)).all()
    assert (lb.point_error_bound(name, guarantee, at, x * (1 + 1e-6)) <= x * (1 + 1e-6)).all()


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_sparse_bound_is_the_largest_over_all_records(epsilon):
    m = np.arange(1.0, math.ceil(math.log(1e13) / epsilon) + 2)
    for d, nonzero in itertools.product((2.0, 100.0, 1e6, 1e12), (0.5, 10.0, 1000.0)):
        square = m**2 * (1 - np.exp(np.minimum(epsilon * m, 600)) * nonzero / d)
        expected = pytest.approx(math.sqrt(max(float(square.max()), 0.0)), rel=1e-9, abs=1e-9)
        assert float(sparse_point_error(epsilon, d, nonzero)) == expected
