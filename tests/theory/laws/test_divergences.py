"""Divergences against quadrature, each other and the definitions; laws of outputs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from microdata_price.exceptions import InputError
from microdata_price.model.noise import Laplace
from microdata_price.model.noise_discrete import DiscreteGaussian, DoubleGeometric
from microdata_price.model.workload import Workload
from microdata_price.theory.laws import divergences as dv
from microdata_price.theory.laws import outputs
from microdata_price.theory.upper.extremes import extremes

LEVELS = [1e-6, 0.01, 0.5, 2.0, 10.0, 1e3]


def laws(size):
    weights = st.lists(st.floats(0.01, 1.0), min_size=size, max_size=size)
    return weights.map(lambda w: np.array(w) / sum(w))


pairs = st.integers(2, 6).flatmap(lambda n: st.tuples(laws(n), laws(n)))


@given(pairs, st.floats(1.01, 30.0))
def test_renyi_lies_between_kl_and_the_largest_loss_and_grows_with_the_order(pair, order):
    p, q = pair
    kl, worst = float(stats.entropy(p, q)), dv.max_divergence(p, q)
    here, further = dv.renyi_divergence(p, q, order), dv.renyi_divergence(p, q, order + 1)
    assert -1e-12 <= kl <= here + 1e-12 <= further + 2e-12 <= worst + 3e-12


@given(pairs)
def test_least_delta_is_attained_by_an_event_and_never_exceeded(pair):
    p, q = pair
    events = [[bool(k >> i & 1) for i in range(p.size)] for k in range(2**p.size)]
    for epsilon in (0.1, 0.7):
        excess = [
            max(
                p[e].sum() - math.exp(epsilon) * q[e].sum(),
                q[e].sum() - math.exp(epsilon) * p[e].sum(),
            )
            for e in map(np.array, events)
        ]
        assert dv.least_delta(p, q, epsilon) == pytest.approx(max(excess), abs=1e-14)


@given(pairs, st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_postprocessing_never_increases_a_distance(pair, images):
    p, q = pair
    a, b = (outputs.postprocess(law, images[: law.size]) for law in pair)
    assert dv.max_divergence(a, b) <= dv.max_divergence(p, q) + 1e-12
    assert dv.renyi_divergence(a, b, 3.0) <= dv.renyi_divergence(p, q, 3.0) + 1e-12
    assert dv.least_delta(a, b, 0.3) <= dv.least_delta(p, q, 0.3) + 1e-12


@given(pairs, st.integers(1, 3))
def test_independent_copies_add_divergences(pair, copies):
    p, q = pair
    a, b = outputs.independent(p, copies), outputs.independent(q, copies)
    assert dv.renyi_divergence(a, b, 2.5) == pytest.approx(
        copies * dv.renyi_divergence(p, q, 2.5), abs=1e-10
    )
    assert dv.max_divergence(a, b) == pytest.approx(copies * dv.max_divergence(p, q), abs=1e-10)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0])
@pytest.mark.parametrize("order", [1.5, 2.0, 7.0])
def test_laplace_renyi_is_the_integral(epsilon, order):
    def density(x):
        return epsilon / 2 * math.exp(-epsilon * abs(x))

    def integrand(x):
        return density(x) * (density(x) / density(x - 1)) ** (order - 1)

    parts = [
        integrate.quad(integrand, a, b, epsabs=0, epsrel=1e-12)[0]
        for a, b in ((-60 / epsilon, 0), (0, 1), (1, 1 + 60 / epsilon))
    ]
    assert dv.laplace_renyi(epsilon, order) * (order - 1) == pytest.approx(
        math.log(math.fsum(parts)), rel=1e-8, abs=1e-12
    )


@pytest.mark.parametrize("epsilon", LEVELS)
@pytest.mark.parametrize("order", [1.001, 2.0, 50.0, 1e5])
def test_pure_implies_zcdp_with_randomised_response_the_worst(epsilon, order):
    worst = dv.worst_pure_renyi(epsilon, order)
    assert dv.laplace_renyi(epsilon, order) <= worst * (1 + 1e-9)
    assert worst <= min(order * epsilon**2 / 2, epsilon) * (1 + 1e-9)
    if epsilon <= 10 and order <= 50:
        yes, no = (outputs.randomised_response(epsilon, t) for t in (True, False))
        assert dv.renyi_divergence(yes, no, order) == pytest.approx(worst, rel=1e-6)


@given(st.sampled_from([1e-6, 0.005, 0.125, 2.0, 10.0, 1e3]), st.sampled_from([0.5, 1e-3, 1e-12]))
def test_exact_gaussian_epsilon_inverts_delta_and_lies_below_both_conversions(rho, delta):
    exact = dv.gaussian_epsilon(rho, delta)
    if exact > 0:
        assert dv.gaussian_delta(rho, exact) == pytest.approx(delta, rel=1e-6)
    best = dv.best_zcdp_epsilon(rho, delta)
    assert exact <= best * (1 + 1e-9)
    assert best <= (rho + 2 * math.sqrt(rho * -math.log(delta))) * (1 + 1e-12)


@pytest.mark.parametrize(("rho", "epsilon"), [(0.125, 1.0), (2.0, 3.0), (0.005, 0.2)])
def test_gaussian_delta_is_the_integral(rho, epsilon):
    u = math.sqrt(2 * rho)

    def excess(x):
        p = math.exp(-((x - u) ** 2) / 2) / math.sqrt(2 * math.pi)
        q = math.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
        return max(0.0, p - math.exp(epsilon) * q)

    start = epsilon / u + u / 2
    assert dv.gaussian_delta(rho, epsilon) == pytest.approx(
        integrate.quad(excess, start, start + 40, epsabs=0, epsrel=1e-10)[0], rel=1e-8
    )


def test_no_conversion_from_zcdp_to_a_delta_is_better():
    """A pair of laws that keeps to every order has nearly the delta that the conversion allows."""
    rho, delta = 0.125, 1e-6
    least = dv.best_zcdp_epsilon(rho, delta)
    assert least == pytest.approx(2.4191, abs=1e-4)
    epsilon = least - 0.03
    x = np.linspace(-3, 6, 451)  # privacy losses

    def moments(orders):
        a = np.tile(orders, 2)[:, None]
        first = np.arange(a.size)[:, None] < orders.size
        return np.exp(np.where(first, (a - 1) * x, -a * x) - a * (a - 1) * rho)

    orders = np.concatenate([1 + np.geomspace(0.01, 1, 15), np.arange(2.2, 25, 0.15)])
    rows = moments(orders)
    size = np.maximum(rows.max(axis=0), 1)  # so that no unknown is tiny
    found = optimize.linprog(
        -1e6 * np.maximum(-np.expm1(epsilon - x), 0) / size,
        rows / size,
        np.tile(1 - 0.005 * np.minimum(orders - 1, 1), 2),
        np.array([1 / size, np.exp(-x) / size]),
        [1, 1],
    )
    law = found.x / size
    assert (moments(1 + np.geomspace(1e-3, 1000, 900)) @ law).max() <= 1 + 1e-9
    assert law @ np.maximum(-np.expm1(epsilon - x), 0) >= delta


@pytest.mark.parametrize("order", [1.1, 3.0, 20.0])
def test_discrete_gaussian_keeps_its_rho(order):
    rho = 0.125
    noise = DiscreteGaussian(1 / (2 * rho))
    p, q = (outputs.clipped_law(noise, c, -60, 60) for c in (0, 1))
    assert dv.renyi_divergence(p, q, order) <= rho * order + 1e-9


@pytest.mark.parametrize("noise", [DoubleGeometric(0.5), DiscreteGaussian(4.0)])
def test_clipped_law_is_a_law_and_the_clipped_noise(noise):
    law = outputs.clipped_law(noise, 3, 0, 200)
    assert law.sum() == pytest.approx(1, abs=1e-13)
    far = np.arange(-400, 401)
    pmf = noise.pmf(far)
    expected = np.bincount(np.clip(far + 3, 0, 200), weights=pmf, minlength=201)
    np.testing.assert_allclose(law, expected, atol=1e-14)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.sampled_from([1, 2]))
@settings(max_examples=50)
def test_sensitivity_is_reached_by_neighbours(counts, p):
    workload = Workload.table(len(counts))
    found = outputs.largest_change(workload, counts, p)
    assert found == pytest.approx(workload.sensitivity(p))
    near = outputs.neighbours(counts)
    assert (np.abs(near - np.array(counts)).sum(axis=1) == 1).all()
    assert len(near) == len(counts) + np.count_nonzero(counts)
    assert len(np.unique(near, axis=0)) == len(near)


def test_sampled_errors_agree_with_the_exact_ones():
    noise, d = Laplace(2.0), 30
    got = outputs.sampled_errors(noise, d, 20_000, np.random.default_rng(5))
    assert abs(got.simultaneous - float(extremes(noise, d).square)) < 5 * got.simultaneous_se
    assert (np.abs(got.per_query - noise.variance) < 6 * got.per_query_se).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: dv.renyi_divergence([0.5, 0.5], [0.5, 0.5], 1),
        lambda: dv.renyi_divergence([0.5, 0.4], [0.5, 0.5], 2),
        lambda: dv.max_divergence([1.0], [0.5, 0.5]),
        lambda: outputs.clipped_law(DoubleGeometric(1.0), 0, 3, 3),
        lambda: outputs.postprocess([0.5, 0.5], [1]),
        lambda: outputs.sampled_errors(Laplace(1.0), 3, 1, np.random.default_rng(0)),
    ],
)
def test_bad_input_is_one_sentence(call):
    with pytest.raises(InputError) as error:
        call()
    assert "\n" not in str(error.value)
