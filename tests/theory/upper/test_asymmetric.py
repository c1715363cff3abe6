"""Asymmetric noise and the one-sided bound: laws, exact privacy, and the bound run by run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.model.noise_asymmetric import AsymmetricGeometric, AsymmetricLaplace
from microdata_price.model.noise_discrete import DoubleGeometric
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.laws.audit import audit_asymmetric
from microdata_price.theory.lower.lower_bounds import BOUNDS, point_error_bound
from microdata_price.theory.upper import operating_points
from microdata_price.theory.upper.asymmetric import (
    AsymmetricPair,
    asymmetric_pair,
    best_rates,
    certified_asymmetric,
)
from microdata_price.theory.upper.one_sided import (
    certified_split,
    laplace_sides,
    largest,
    largest_gaussian,
)
from microdata_price.theory.upper.projection import project, threshold
from microdata_price.theory.upper.upper_bounds import certified

rates = st.floats(0.05, 3.0)
steps = st.integers(-6, 6)


@given(rates, rates, steps)
def test_whole_noise_has_the_moments_of_its_probabilities(r: float, s: float, q: int) -> None:
    z = AsymmetricGeometric(r, s)
    k = np.arange(-900.0, 901.0)
    p = np.exp(z.log_density(k))
    assert p.sum() == pytest.approx(1, rel=1e-12)
    assert p @ k == pytest.approx(z.mean, rel=1e-9, abs=1e-9)
    assert p @ (k - z.mean) ** 2 == pytest.approx(z.variance, rel=1e-9)
    want = p @ np.maximum(k - q, 0) ** 2
    assert z.excess_square(q) == pytest.approx(want, rel=1e-8, abs=1e-9)


@given(rates, rates, st.floats(-6, 6))
def test_continuous_noise_has_the_moments_of_its_density(r: float, s: float, q: float) -> None:
    z = AsymmetricLaplace(r, s)
    # Panels end where the density or the excess bends.
    ends = np.unique(np.concatenate([np.linspace(-900, 900, 901), [0.0, q]]))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = np.diff(ends)[:, None] / 2
    x = ends[:-1, None] + half * (1 + nodes)
    p = half * weights * np.exp(z.log_density(x))
    assert p.sum() == pytest.approx(1, rel=1e-10)
    assert (p * x).sum() == pytest.approx(z.mean, rel=1e-8, abs=1e-8)
    assert (p * (x - z.mean) ** 2).sum() == pytest.approx(z.variance, rel=1e-8)
    want = (p * np.maximum(x - q, 0) ** 2).sum()
    assert z.excess_square(q) == pytest.approx(want, rel=1e-8, abs=1e-9)


def test_equal_rates_give_the_double_geometric_noise() -> None:
    k = np.arange(-30.0, 31.0)
    assert AsymmetricGeometric(0.4, 0.4).log_density(k) == pytest.approx(
        DoubleGeometric(0.4).log_pmf(k), abs=1e-12
    )


@pytest.mark.parametrize("law", [AsymmetricGeometric, AsymmetricLaplace])
def test_draws_follow_the_law(law: type[AsymmetricGeometric] | type[AsymmetricLaplace]) -> None:
    z = law(0.7, 0.3)
    drawn = z.sample(np.random.default_rng(5), 200_000)
    assert abs(drawn.mean() - z.mean) < 5 * math.sqrt(z.variance / drawn.size)
    square = np.maximum(drawn - 1, 0) ** 2
    assert abs(square.mean() - z.excess_square(1)) < 5 * square.std() / math.sqrt(drawn.size)


@given(st.floats(0.02, 8.0), st.floats(0.1, 0.9), st.floats(0.1, 0.9))
def test_whole_noise_loses_exactly_what_it_may(eps: float, up: float, down: float) -> None:
    pair = AsymmetricPair(
        AsymmetricGeometric((1 - up) * eps, (1 - down) * eps),
        AsymmetricGeometric(up * eps, down * eps),
    )
    found = audit_asymmetric(pair)
    assert found.holds
    assert found.worst == pytest.approx(eps, rel=1e-9)


def test_rates_that_exceed_the_budget_on_one_side_are_found_out() -> None:
    pair = AsymmetricPair(AsymmetricGeometric(0.3, 0.3), AsymmetricGeometric(0.3, 0.1))
    assert audit_asymmetric(pair).worst == pytest.approx(0.6)


noises = st.lists(st.floats(-20, 20), min_size=2, max_size=12)


@given(noises, st.data(), st.sampled_from([math.inf, 0.01, 1.0, 30.0]))
def test_the_one_sided_bound_holds_for_any_noise_whatsoever(
    cells: list[float], data: st.DataObject, weight: float
) -> None:
    d, z = len(cells), np.array(cells)
    w = data.draw(st.floats(-60, 60))
    q = np.array(data.draw(st.lists(st.integers(0, 30), min_size=d, max_size=d)), dtype=float)
    answer = q.sum() + w
    target = max(0.0, answer) if math.isinf(weight) else answer
    x = project(q + z, target, weight)
    g = float(threshold(q + z, target, weight))
    up, low = max(z.max(), 0.0), max(-w, 0.0)
    lift = (max(w, 0.0) + max(-z.sum(), 0.0)) / d
    rounding = 1e-9 * (1 + abs(z).max() + q.sum())
    bound = up + low + np.maximum(np.maximum(-z, 0), lift)
    assert (np.abs(x - q) <= bound + rounding).all()
    if x.any():
        assert -lift - rounding <= g <= up + low + rounding


@given(st.floats(0.05, 1.0), st.integers(1, 40))
def test_the_largest_of_few_is_summed_exactly(chance: float, d: int) -> None:
    # Among d draws n are exponential with a binomial chance; the largest has moments H_n^2 + H2_n.
    n = np.arange(d + 1)
    parts = [math.comb(d, k) * chance**k * (1 - chance) ** (d - k) for k in n.tolist()]
    h = np.array([sum(1 / i for i in range(1, k + 1)) for k in n.tolist()])
    h2 = np.array([sum(1 / i**2 for i in range(1, k + 1)) for k in n.tolist()])
    found = largest(chance, d)
    assert float(found.square) == pytest.approx(np.array(parts) @ (h**2 + h2))
    assert float(found.mean) == pytest.approx(np.array(parts) @ h)


def test_the_largest_gaussian_is_what_simulation_finds() -> None:
    drawn = np.maximum(np.random.default_rng(3).standard_normal((40_000, 20)).max(axis=1), 0)
    for sample, want in zip((drawn, drawn**2), largest_gaussian(20), strict=True):
        assert abs(sample.mean() - float(want)) < 5 * sample.std() / math.sqrt(sample.size)


@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.125)])
def test_one_side_is_below_both(guarantee: PureDP | ConcentratedDP) -> None:
    d = np.array([2.0, 100.0, 1e6, 1e12])
    one, two = certified_split(guarantee, d), certified(guarantee, d)
    assert (one.C < two.C).all()
    assert pytest.approx(two.D, rel=1e-12) == one.D


@pytest.mark.parametrize("d", [10**3, 10**6, 10**9, 10**12])
def test_asymmetric_noise_is_better_than_symmetric_under_the_same_bound(d: int) -> None:
    D = math.sqrt(8)
    best = best_rates(1.0, d, D)
    uneven = certified_asymmetric(1.0, d, best.right, best.left)
    even = certified_split(PureDP(1.0), d)
    assert pytest.approx(D, rel=1e-9) == uneven.D
    assert uneven.C < even.C < certified(PureDP(1.0), d).C
    at_half = certified_asymmetric(1.0, d, 0.5, 0.5)
    assert float(at_half.C) == pytest.approx(float(even.C), rel=1e-9)
    for name in BOUNDS:
        assert point_error_bound(name, PureDP(1.0), d, D) <= uneven.C
    # No rates on a fine grid are better.
    right = np.linspace(0.36, 0.5, 300)
    left = 1 / np.sqrt(8 - 1 / right**2)
    some = left < 1
    assert (certified_asymmetric(1.0, d, right[some], left[some]).C >= uneven.C * (1 - 1e-7)).all()


@pytest.mark.parametrize(
    ("d", "rate", "uneven", "even", "gaussian"),
    [
        (10**3, 0.4318, 15.07, 16.08, 4.18),
        (10**6, 0.4166, 26.75, 29.62, 5.73),
        (10**9, 0.4099, 38.43, 43.37, 6.94),
        (10**12, 0.4058, 50.05, 57.15, 7.96),
    ],
)
def test_printed_certificates(
    d: int, rate: float, uneven: float, even: float, gaussian: float
) -> None:
    """Rounded up; units of 1/epsilon and 1/sqrt(rho)."""
    best = best_rates(1.0, d, math.sqrt(8))
    assert float(best.right) == pytest.approx(rate, abs=1e-4)
    found = (
        certified_asymmetric(1.0, d, best.right, best.left),
        certified_split(PureDP(1.0), d),
        certified_split(ConcentratedDP(1.0), d),
    )
    for one, printed in zip(found, (uneven, even, gaussian), strict=True):
        assert printed - 0.011 <= float(one.C) <= printed


@given(*[st.floats(0.1, 2)] * 4, st.integers(1, 50))
def test_sides_of_asymmetric_noise_by_simulation(
    r: float, s: float, up: float, down: float, d: int
) -> None:
    rng, runs = np.random.default_rng(d), 20_000
    z = rng.exponential(1 / r, (runs, d)) - rng.exponential(1 / s, (runs, d))
    w = rng.exponential(1 / up, runs) - rng.exponential(1 / down, runs) - 1 / up + 1 / down
    top = np.maximum(z.max(axis=1), 0) + np.maximum(-w, 0)
    least = max(1 / s - 1 / r, 0)
    low = np.maximum(np.maximum(-z[:, 0], 0), least)
    one = np.array(d, dtype=float)
    found = laplace_sides(one, (np.array(r), np.array(s)), (np.array(up), np.array(down)))
    for drawn, moments in ((top, found.above), (low, found.below)):
        for sample, want in zip((drawn, drawn**2), moments, strict=True):
            error = sample.std() / math.sqrt(runs)
            assert abs(sample.mean() - float(want)) < 6 * error + 1e-9
    above = np.maximum(w, 0) ** 2
    lift = (math.sqrt(above.mean()) + math.sqrt(d * (1 / r**2 + 1 / s**2))) / d
    assert float(found.lift) == pytest.approx(lift, rel=0.1)


@pytest.mark.parametrize("whole", [False, True])
def test_simulation_stays_below_what_is_certified(whole: bool) -> None:
    eps, d, runs = 0.5, 200, 4000
    pair = asymmetric_pair(eps, d, whole=whole)
    rng = np.random.default_rng(8)
    for q in (np.zeros(d), np.full(d, 3.0), np.append(1e5, np.zeros(d - 1)), np.full(d, 500.0)):
        a = q + pair.cell.sample(rng, (runs, d))
        total = q.sum() + pair.total.sample(rng, runs) - pair.shift
        x = project(a, np.maximum(total, 0))
        squares = (x - q) ** 2
        worst = squares.mean(axis=0)[0]
        error = squares[:, 0].std() / math.sqrt(runs)
        assert worst - 5 * error <= pair.C(d) ** 2
        sums = (x.sum(axis=1) - q.sum()) ** 2
        assert sums.mean() - 5 * sums.std() / math.sqrt(runs) <= pair.D**2


def test_places_in_the_plane_are_better_than_a_split() -> None:
    for guarantee in (PureDP(0.5), ApproximateDP(0.5, 1e-6)):
        path = operating_points.asymmetric(guarantee, 1000)
        even = operating_points.split(guarantee, 1000)
        assert (path.C < even.C).all()
        for name in BOUNDS:
            assert (point_error_bound(name, guarantee, 1000, path.D) <= path.C).all()


def test_bad_input() -> None:
    with pytest.raises(InputError, match="right rate"):
        AsymmetricLaplace(0.0, 1.0)
    with pytest.raises(InputError, match="left rate"):
        AsymmetricGeometric(1.0, math.inf)
    with pytest.raises(InputError, match="between 0 and epsilon"):
        certified_asymmetric(1.0, 10, 1.0, 0.5)
    with pytest.raises(InputError, match="more than sqrt"):
        best_rates(1.0, 10, math.sqrt(2))
    with pytest.raises(InputError, match="theta"):
        certified_split(PureDP(1.0), 10, 1.0)
    with pytest.raises(InputError, match="terms"):
        AsymmetricPair(AsymmetricGeometric(1e-7, 1e-7), AsymmetricGeometric(1.0, 1.0)).C(10)
