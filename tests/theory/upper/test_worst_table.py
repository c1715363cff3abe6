"""The projection's worst table, maps, redrawn and truncated noise; smooth noise under zCDP."""

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from scipy.integrate import quad

from by_quadrature import expected
from microdata_price.model.noise_asymmetric import AsymmetricGeometric, AsymmetricLaplace
from microdata_price.model.noise_discrete import TruncatedDoubleGeometric
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.theory.laws.outputs import clipped_law
from microdata_price.theory.upper import concentrated_noise as cn
from microdata_price.theory.upper import truncated_sampling
from microdata_price.theory.upper import worst_table as wt
from microdata_price.theory.upper.exact_errors import clipped, m_epsilon, m_rho
from microdata_price.theory.upper.fitted_errors import cell_errors
from microdata_price.theory.upper.projection import project
from microdata_price.theory.upper.redrawn import redrawn, redrawn_whole_bound
from microdata_price.theory.upper.remap import best_gaussian_map, best_map

SIGNED = math.sqrt(8)


@settings(max_examples=40)
@given(st.floats(0.4, 69), st.floats(0.05, 0.95), st.sampled_from([True, False, None]))
def test_both_ends_hold_by_other_quadratures(log, share, even):
    """One huge cell errs as much, with gains, which are small; finer panels stay inside."""
    d, g = round(10**log), ConcentratedDP(1.0) if even is None else PureDP(1.0)
    share **= 2 if even is None else 1
    noise, total = g.scaled(1 - share).noise(), g.scaled(share).noise()
    fit = functools.partial(wt.certified_fit.__wrapped__, g, d, total.std, even=bool(even))
    found = fit()
    if even is not False and 10 <= d <= 1e20:
        exact = math.sqrt(cell_errors(noise, total, d).squared_error)
        assert found.least <= exact <= min(found.most, found.least * (1 + 1 / d + 5e-5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wt, "panels", lambda x, each, f=wt.panels: f(x, 2 * each))
        patch.setattr(wt, "_OFF", 0.0)
        least, most = fit()
    assert found.least <= least <= found.least * (1 + 2e-5)
    assert most <= found.most <= most * (1 + 2e-5)


@pytest.mark.parametrize("total", [(0.02, 0.02), (0.7, 0.2), (0.3, 0.5), (0.4, 0.8), (0.9, 1.3)])
@pytest.mark.parametrize(("d", "mean"), [(2, 0.3), (6, 1.2), (1e9, 0.01), (1e9, 4.0)])
def test_the_law_of_excesses_is_a_sum_over_their_number(total, d, mean):
    """Against the sum's noise, whose left tail falls faster or slower than the cells' right one."""
    cell, total, k = wt.TwoTails(0.5, 0.4), wt.TwoTails(*total), np.arange(1, min(d, 80))
    g, t = np.array([[math.log(4 / 9 * (d - 1) / mean) / 0.5]]), np.geomspace(0.1, 60, 10)
    chances, z = stats.binom.pmf(k, d - 1, mean / (d - 1)), AsymmetricLaplace(*total)

    def above(h):  # that H is
        return 1.0 if h < 0 else chances @ special.gammaincc(k, 0.5 * h)

    want = [expected(z, lambda w, c=c: above(c + w), -c) for c in t - total.mean]
    found = wt._exceeds(cell, total, d, np.repeat(g, t.size, axis=1), t[None])[0]
    assert found == pytest.approx(want, rel=1e-10, abs=1e-13)


def test_the_lower_end_of_two_cells_by_quadrature():
    """The loss exceeds t where ``(z_2 - (z_1 + t)+)+ > t + w``."""
    z, w = AsymmetricLaplace(0.7, 0.3), AsymmetricLaplace(0.4, 0.6)

    def beyond(t):
        rest, end = 0.3 * expected(z, lambda x: math.exp(-0.7 * max(x + t, 0)), -t), w.mean - t
        chance = lambda x: 1 if x < end else rest * math.exp(-0.7 * (x - end))  # noqa: E731
        return 2 * t * expected(w, chance, end)

    square = sum(quad(beyond, *e)[0] for e in itertools.pairwise([0, w.mean, 10, 40, 120]))
    found = wt.worst_cell_error(wt.TwoTails(0.7, 0.3), wt.TwoTails(0.4, 0.6), 2)
    assert found.least / (1 - wt._OFF) == pytest.approx(math.sqrt(square), rel=1e-6)


@pytest.mark.parametrize(
    ("guarantee", "d", "D", "even", "least", "most"),
    [
        (PureDP(0.5), 10**3, 1, False, 9.1271497788, 9.2262485089),
        (PureDP(0.5), 7, 1.3, False, 3.0990053628, 5.2489770115),
        (ConcentratedDP(0.125), 10**3, 1, True, 2.6253895300, 2.6761170830),
    ],
)
def test_the_certified_numbers_beside_the_signed_answers_error(guarantee, d, D, even, least, most):
    unit = guarantee.signed_error / (SIGNED if isinstance(guarantee, PureDP) else 1)
    found = wt.certified_fit(guarantee, d, D * guarantee.signed_error, even=even)
    assert np.array(found) / unit == pytest.approx([least, most], rel=1e-9)


def test_the_certified_error_at_its_ends():
    # The margin for the mean of the cells: what lies beyond it, by the fourth moment.
    h, beyond = wt.margin_of_mean(lambda k: 2.0 * k, lambda k: 3.0 * k, 10)
    square, fourth = 4 / 10 + 6 / 100, 8 / 10**3 + 12 / 10**4
    assert beyond == pytest.approx(math.sqrt(3 * square**2 + fourth) / (4 * h))
    for guarantee, D in ((PureDP(0.5), SIGNED * (1 + 5e-10)), (ConcentratedDP(0.125), 1.2)):
        assert wt.certified_fit(guarantee, 1000, D, even=True) == (0, math.inf)
    for d, D in ((1e80, 6), (1000, 61)):  # by the one-sided certificate alone
        far = wt.certified_fit(PureDP(0.5), d, D, even=False)
        assert far.least == 0 < far.most < 4 * math.log(1e80)


@pytest.mark.parametrize(
    ("best", "noise", "level", "error"),
    [(best_map, m_epsilon, e, None) for e in (0.25, 0.5, 1.0, 2.0, 4.9, 6.0)]
    + [(best_map, m_epsilon, 0.5, 3.0), (best_map, m_epsilon, 2.0, 1.0)]
    + [(best_gaussian_map, m_rho, 0.125, None), (best_gaussian_map, m_rho, 0.5, 1.2)],
)
def test_the_map_keeps_every_cell_as_good(best, noise, level, error):
    """Errors of far more counts than the map touches, summed with nothing left out."""
    found, noise, allowed = best(level, error), noise(level), error
    A, width = found.law.shape[0] - 1, found.law.shape[1]
    q = np.arange(4 * A + 40)
    top = q.size + math.ceil(float(noise.upper_quantile(1e-25)))
    chance = np.array([clipped_law(noise, int(k), top) for k in q])
    law = np.eye(top + 1, max(top + 1, width))
    law[: A + 1] = 0
    law[: A + 1, :width] = found.law
    y = np.arange(law.shape[1])
    mean, square = chance @ (law @ y), chance @ (law @ y**2)
    error = square - 2 * q * mean + q**2
    most = max(noise.variance, (allowed or 0.0) ** 2)
    assert error.max() <= most * (1 + 1e-8)
    assert error.max() == pytest.approx(found.worst, rel=1e-8)
    bias = mean - q
    own = np.array([bias, error - bias**2])[:, : found.bias.size]
    assert own == pytest.approx(np.array([found.bias, found.variance]), abs=1e-8 * most)
    assert np.abs(bias).max() <= clipped(noise, 0).bias * (1 + 1e-9)
    d = np.array([2.0, 1000.0])
    worst = (d[:, None] ** 2 * bias**2 + d[:, None] * (error - bias**2)).max(axis=1)
    assert found.D(d) == pytest.approx(np.sqrt(np.maximum(worst, d * found.worst)), rel=1e-6)


def test_redrawn_noise_spends_its_delta_exactly():
    """The whole-number pair, audited: the largest excess over e^epsilon is P(z = B | z <= B)."""
    cell, total, B = (0.6, 0.3), (0.4, 0.7), 9
    k, m = np.arange(-90, B + 1), np.arange(-90, 91)
    z = np.exp(AsymmetricGeometric(*cell).log_density(k))
    z /= z.sum()
    w = np.exp(AsymmetricGeometric(*total).log_density(m))
    here = np.outer(np.append(z, 0), np.append(w, 0))
    there = np.outer(np.append(0, z), np.append(0, w))  # one record more moves both by one
    inner = here[:, 1:-1], there[:, 1:-1]
    excess = [np.maximum(x - math.e * y, 0) for x, y in (inner, inner[::-1])]
    # At the far left both laws are cut off, where nothing is left.
    assert excess[1][1:].sum() == pytest.approx(z[-1] * w[1:-1].sum(), rel=1e-6)
    assert excess[0][1:].sum() < 1e-12
    for delta in (0.2, 1e-3):
        law = math.exp(-0.25) ** np.abs(np.arange(-200, redrawn_whole_bound(0.5, delta) + 1))
        assert law[-1] / law.sum() <= delta < law[-2] / law[:-1].sum()


@pytest.mark.parametrize(
    ("delta", "D", "value", "few"),
    [
        *((1e-2, 5.1, 6.8105562656, 7.0662936473), (1e-6, 2 * SIGNED, 21.669083198, 21.753003964)),
        (1e-9, 9.3, 25.774122872, 25.833827335),
    ],
)
def test_redrawn_noise_at_the_signed_answers_error_and_about_it(delta, D, value, few):
    found = redrawn(0.5, delta, 1e12, D)
    both = found.C, redrawn(0.5, delta, 30.0, D).C
    assert (value, few) == pytest.approx([0.5 * C for C in both], rel=1e-9)
    assert found.cell.right + found.total.right == pytest.approx(0.5)
    assert found.cell.left + found.total.left == pytest.approx(0.5)


@pytest.mark.parametrize(("e", "B", "d"), [(0.5, 4, 2), (0.5, 4, 3), (7.5, 1, 8)])
def test_truncated_noise_by_enumeration(e, B, d):
    noise, runs = TruncatedDoubleGeometric(e, B), 20_000
    z = np.indices((2 * B + 1,) * (d + 1)).reshape(d + 1, -1).T - float(B)
    chance = noise.pmf(z).prod(axis=1)
    z[:, 0] += 1e4
    square = (project(z[:, :d], 1e4 + z[:, d])[:, 0] - 1e4) ** 2
    # Exact are the means over both noises, and the part in which no empty cell has any.
    parts = np.reshape([chance, chance * square], (2, 2 * B + 1, -1, 2 * B + 1)).sum((1, 3))
    some, sums = np.delete(parts, parts.shape[1] // 2, axis=1)
    exact = math.sqrt(chance @ square)
    spread = math.sqrt(some.sum() * (sums**2 / some).sum() - sums.sum() ** 2)
    C, se = truncated_sampling.sampled_truncated(noise, d, runs=runs, seed=1)
    assert abs(C - exact) < 5 * se
    assert 2 * exact * se == pytest.approx(spread / math.sqrt(runs), rel=0.05)


RHO = 0.125
ORDERS = 1 + np.geomspace(5e-4, 9999, 120)

NOISE = st.integers(1, 3).flatmap(
    lambda n: st.builds(
        lambda widths, bends: cn.SmoothNoise(tuple(np.cumsum(widths)), tuple(bends)),
        st.lists(st.floats(0.2, 8), min_size=n, max_size=n),
        st.lists(st.floats(0.02, 0.5), min_size=n + 1, max_size=n + 1),
    )
)


@settings(max_examples=30)
@given(NOISE, st.floats(1.001, 300))
def test_noise_of_lipschitz_score_is_private_and_not_below_the_wall(noise, order):
    assert noise.renyi(order) <= order * noise.rho * (1 + 1e-9)
    # Half a record costs a quarter.
    assert noise.renyi(order, 0.5) <= order * noise.rho / 4 * (1 + 1e-9)
    assert noise.variance >= (1 - 1e-9) / math.expm1(noise.renyi(2.0))
    assert noise.rho * noise.variance >= cn.concentrated_wall(noise.rho) * (1 - 1e-9)
    gaussian = cn.SmoothNoise((), (noise.rho,))
    assert gaussian.variance == pytest.approx(1 / noise.rho, rel=1e-12)
    assert gaussian.renyi(order) == pytest.approx(order * noise.rho / 2, rel=1e-9)


@settings(max_examples=20)
@given(NOISE, st.floats(1.05, 20), st.floats(1e-6, 1 - 1e-6))
def test_divergence_variance_and_quantiles_by_other_quadrature(noise, order, p):
    ends = sorted(sign * k + shift for sign in (-1, 1) for k in noise.knots for shift in (0, 1))
    ends = [-noise.reach, *(e for e in ends if abs(e) < noise.reach), 3 * noise.reach + order]

    def power(x):
        a, b = float(noise.log_density(x - 1)), float(noise.log_density(x))
        return math.exp(order * a - (order - 1) * b)

    def whole(f, least=-math.inf):
        panels = itertools.pairwise([max(e, least) for e in ends])
        return sum(quad(f, a, b, epsabs=1e-12)[0] for a, b in panels if a < b)

    def density(x):
        return math.exp(noise.log_density(x))

    assert whole(density) == pytest.approx(1, abs=1e-9)
    for share in (p, 0.49):
        assert whole(density, noise.upper_quantile(share)) == pytest.approx(share, rel=2e-4)
    assert noise.variance == pytest.approx(whole(lambda x: x * x * density(x)), rel=1e-8)
    expected = math.log(whole(power)) / (order - 1)
    assert noise.renyi(order) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    ("flank", "W", "R", "least", "most"),
    [
        *((0.7, 6.0, 20.0, 0.5, 0.98), (0.9, 8.0, 60.0, 0.5, 0.98)),
        (0.9, 8.0, 10.0, 1.1, 2.0),  # a core that is too narrow
    ],
)
def test_core_and_flanks_keep_to_the_budget_at_every_order(flank, W, R, least, most):
    pair = cn.core_and_flanks(RHO, 0.75, flank, W, R)
    assert least < pair.budget_used(RHO, ORDERS).max() <= most
    assert pair.total.curvatures == pytest.approx((1.5 * RHO, 0))
    assert pair.cell.curvatures == pytest.approx((RHO / 4, 2 * RHO * flank))
    # The flanks decide how far the largest of very many noises lies.
    assert float(pair.cell.upper_quantile(1e-20)) < R + math.sqrt(math.log(1e20) / (flank * RHO))


@pytest.mark.parametrize("d", cn.SEARCHED)
def test_searched_pairs_keep_to_the_budget_and_have_less_error(d):
    pair = cn.SEARCHED[d]
    assert 0.99 < pair.budget_used(RHO, np.union1d(ORDERS, np.linspace(2, 60, 59))).max() <= 1
    assert RHO * pair.total.variance <= 1
    gaussian = cn.SmoothNoise((), (RHO,))
    gaussians = cn.Pair(gaussian, gaussian)
    np.testing.assert_allclose(gaussians.budget_used(RHO, [1.5, 40.0]), 1, rtol=1e-9)
    ours, plain = (p.sampled_cell_error(d, 100) for p in (pair, gaussians))
    assert ours.least <= ours.most < plain.most


@pytest.mark.parametrize("d", [2, 60])
def test_the_sampled_worst_table_is_one_huge_cell(d):
    pair, runs, rng = cn.SEARCHED[1000], 4000, np.random.default_rng(3)
    z = pair.cell.upper_quantile(rng.random((runs, d)))
    w = pair.total.upper_quantile(rng.random(runs))
    gain = np.maximum(z[:, 0] - (z.sum(axis=1) - w) / d, 0)
    z[:, 0] += 1e4
    loss = 1e4 - project(z, 1e4 + w)[:, 0]
    found = pair.sampled_cell_error(d, runs)
    for errors, end, se in ((loss, *found[:2]), (np.maximum(loss, gain), *found[2:])):
        root = math.sqrt((errors**2).mean())
        spread = (errors**2).std() / math.sqrt(runs) / (2 * root)
        assert abs(root - end) < 5 * math.hypot(spread, se)
