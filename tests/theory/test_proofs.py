"""Conversions, laws of outputs, the packing of Theorem 3 and its proofs: by enumeration."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from microdata_price.model import noise_discrete as nd
from microdata_price.model.noise import Laplace
from microdata_price.model.noise_discrete import DiscreteGaussian, DoubleGeometric
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.laws import divergences as dv
from microdata_price.theory.laws import outputs, signed
from microdata_price.theory.laws.outputs import clipped_law, log_clipped_law
from microdata_price.theory.lower import gamma_bounds as gb
from microdata_price.theory.proofs import fano_walk as fw
from microdata_price.theory.proofs import packing_walk as pw
from microdata_price.theory.proofs.packing import Packing, packing_at
from microdata_price.theory.proofs.slack import fano_slack, packing_slack

CELLS = st.lists(st.floats(0, 40), min_size=60, max_size=60)


@given(st.integers(2, 60), *[st.floats(0.2, 6)] * 3, CELLS)
@settings(max_examples=100)
def test_the_overlap_is_reached_by_no_nonnegative_output_but_the_fullest(d, C, D, k, cells):
    packing = packing_at(d, C, 10 * D, k, 2.5, 3.0)
    n, m, reach, wide = packing.n, packing.m, 2.5 * C, 3 * (10 * D)
    assert (packing.share, packing.k) == pytest.approx((1 - 2 / 6.25 - 1 / 9, m - reach))
    assert packing.first_range == pytest.approx((n - m - reach, n - m + reach))
    assert (packing.cell_range, packing.sum_range) == ((packing.k, m + reach), (n - wide, n + wide))
    tables = np.array([packing.table(1), packing.table(2), packing.table(d)])
    assert np.abs(tables[0] - tables[1]).sum() == packing.steps
    assert (tables.sum(axis=1) == packing.n).all()
    assert (packing.memberships(tables[1:]) >= 1).all()
    output = np.array(cells[:d])
    output[0] = max(output[0] + packing.first_range[0], 0)
    assert packing.memberships(output) <= packing.overlap + 1e-9
    output = packing.fullest_output()
    reached = int(packing.memberships(output))
    assert (output >= 0).all()
    # The proof's bound, rounded down, is reached unless the first cell's lower end is below zero.
    bound = min(math.floor(packing.overlap * (1 + 1e-12)), d - 1)
    assert reached <= bound
    if packing.first_range[0] >= 0 and packing.overlap % 1 > 1e-6:
        assert reached == bound
    # A negative cell breaks it.
    assert int(packing.memberships(packing.signed_output())) >= d - 2
    assert packing.signed_output().sum() == n
    assert (packing.signed_output()[1:-1] == m).all()


@pytest.mark.parametrize(
    "noise", [DoubleGeometric(1.2), DiscreteGaussian(1.0), nd.TruncatedDoubleGeometric(1.0, 6)]
)
def test_odds_are_those_of_enumeration(noise):
    packing = pw.clipped_packing(noise, 3, 1.0)
    n, m, C = packing.n, packing.m, packing.alpha * packing.C
    x = np.indices((n + 37,) * 3).reshape(3, -1)
    own, base = (
        math.prod(clipped_law(noise, q, n + 36)[a] for q, a in zip(counts, x, strict=True))
        for counts in ((n - m, m, 0), (n, 0, 0))
    )
    near = np.abs(x.sum(axis=0) - n) <= packing.beta * packing.D
    near &= np.abs(x[0] - (n - m)) <= C
    hit = near & (np.abs(x[1:] - m) <= C)
    brute = own @ hit[0], base @ hit[0], base @ hit.any(axis=0)
    odds = pw.packing_odds(noise, packing)
    assert (odds.own, odds.base, odds.union) == pytest.approx(brute, rel=1e-9, abs=1e-13)
    assert odds.outside == pytest.approx(1 - brute[0], abs=1e-12)


def test_information_is_that_of_enumeration():
    noise = DiscreteGaussian(1.5)
    packing = Packing(d=3, n=6, m=3, C=1.0, D=1.0)
    full, empty = (clipped_law(noise, q, 30) for q in (3, 0))
    joint = np.array([np.outer(full, empty), np.outer(empty, full)]) / 2
    exact = float(special.rel_entr(joint, joint.sum(axis=0) / 2).sum())
    x = np.indices((16,) * 3).reshape(3, -1)
    law = full[x[0]] * joint[:, x[1], x[2]]
    post, chance = law / law.sum(axis=0), law.sum(axis=0)
    near = (np.abs(x[0] - 3) <= 2) & (np.abs(x.sum(axis=0) - 6) <= 2)
    member = near & (np.abs(x[1:] - 3) <= 2)
    inside = (post * member).sum(axis=0)
    one_bit = chance @ (special.entr(inside) + special.entr(np.maximum(1 - inside, 0)))
    hit = chance @ ((special.entr(post) * member).sum(axis=0) - special.entr(inside))
    found = fw.sampled_information(noise, packing, 400_000, np.random.default_rng(4))
    wanted = zip((found.information, found.h_g, found.inside), (exact, one_bit, hit), strict=True)
    assert all(abs(mean - want) < 5 * error for (mean, error), want in wanted)
    parts = found.h_g[0] + found.inside[0] + found.outside[0]
    assert found.h_x[0] == pytest.approx(parts) == pytest.approx(math.log(2) - found.information[0])
    # It grows with the records, and stays below its bounds.
    ms = np.array([1, 3, 6, 12])
    curve = fw.information_curve(DiscreteGaussian(4.0), 60, ms, 400, np.random.default_rng(2))
    assert (np.diff(curve.information) > 0).all()
    assert (curve.information <= curve.divergence + 5 * curve.error).all()
    both = [float(special.rel_entr(*pair).sum()) for pair in ((full, empty), (empty, full))]
    assert [*fw.cell_divergences(noise, 3)] == pytest.approx(both, rel=1e-9)


@pytest.mark.parametrize("gamma", [0.5, 0.9])
@pytest.mark.parametrize(("rho", "C"), [(0.01, 1.0), (1.5, 0.03)])  # m = 1 in the second
def test_at_the_gamma_bound_itself_the_inequality_is_an_equality(gamma, rho, C):
    d = 10**9
    found = gb.gamma_sum_error(rho, d, C, gamma)
    k = found.m - found.alpha * C
    K = (2 * found.alpha * C + found.alpha * float(found.value) + k) / k
    assert found.value > 0
    assert found.m - 1 < found.alpha * C + 1 / math.sqrt(rho) <= found.m
    right = gamma * math.log(d - 1) - math.log(K) - math.log(2)
    assert 4 * rho * found.m**2 == pytest.approx(right, rel=1e-12)
    best, where = gb.best_gamma_sum_error(rho, [2, d], C, [0.1, 0.2, gamma, 0.99])
    assert best.tolist() == [0, max(gb.gamma_sum_error(rho, d, C, g).value for g in (0.2, gamma))]
    assert where[1] == gamma


@pytest.mark.parametrize(
    ("rho", "d"), [(0.125, 1000), (0.00125, 100), (4.5, 1000), (50, 20), (0.125, 2)]
)
def test_no_step_of_fanos_proof_gains_up_to_its_sampling(rho, d):
    noise = DiscreteGaussian(1 / (2 * rho))
    packing = pw.clipped_packing(noise, d, k=1 / math.sqrt(rho))
    known = fw.sampled_information(noise, packing, 300, np.random.default_rng(4))
    odds = pw.packing_odds(noise, packing)
    slack = fano_slack(ConcentratedDP(rho), noise, packing, odds, known)
    error = max(known.information[1], known.inside[1], known.outside[1], known.h_g[1])
    assert min(loss for _, loss in slack.lost) >= -5 * error - 1e-9
    assert slack.allowed == pytest.approx(4 * rho * packing.m**2)
    asked = math.log(d - 1) / 4 - math.log(packing.overlap) - math.log(2)
    assert slack.asked == pytest.approx(asked, abs=1e-9)


@given(st.sampled_from([1e-6, 0.005, 0.125, 2.0, 10.0, 1e3]), st.sampled_from([0.5, 1e-3, 1e-12]))
def test_exact_gaussian_epsilon_inverts_delta_and_lies_below_both_conversions(rho, delta):
    exact = dv.gaussian_epsilon(rho, delta)
    assert (exact > 0) == (special.erf(math.sqrt(rho) / 2) > delta)
    if exact > 0:
        assert dv.gaussian_delta(rho, exact) == pytest.approx(delta, rel=1e-9)
    best = dv.best_zcdp_epsilon(rho, delta)
    x = np.geomspace(1e-4, 1e6, 200_001)  # orders less 1
    tried = (1 + x) * rho + np.log(x / (1 + x)) - (math.log(delta) + np.log1p(x)) / x
    assert best == pytest.approx(max(float(tried.min()), 0.0), rel=1e-7, abs=1e-9)
    assert exact / (1 + 1e-9) <= best <= (rho + 2 * (rho * -math.log(delta)) ** 0.5) * (1 + 1e-12)


@pytest.mark.parametrize(
    "noise", [*map(DoubleGeometric, (0.5, 2.0)), *map(DiscreteGaussian, (1e-3, 4.0, 9.0))]
)
def test_clipped_law_is_a_law_and_the_clipped_noise(noise):
    law = outputs.clipped_law(noise, 3, 200)
    assert law.sum() == pytest.approx(1, abs=1e-13)
    logs = log_clipped_law(noise, 3, 200)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(np.exp(logs), law, atol=1e-14)
    far = np.arange(-400, 401)
    expected = np.bincount(np.clip(far + 3, 0, 200), weights=noise.pmf(far), minlength=201)
    np.testing.assert_allclose(law, expected, atol=1e-14)


@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.02)])
def test_the_laws_of_two_neighbouring_counts(guarantee):
    pair, noise = outputs.output_pair(guarantee, 3.0), guarantee.noise()
    for density, count in ((pair.first, 3.0), (pair.second, 4.0)):
        np.testing.assert_allclose(density, noise.pdf(pair.x - count), rtol=1e-12)
    np.testing.assert_allclose(pair.loss, np.log(pair.first / pair.second), atol=1e-12)
    reach = 10.0 if isinstance(guarantee, PureDP) else 17.5
    np.testing.assert_allclose(pair.x, np.linspace(3 - reach, 4 + reach, 801))


@pytest.mark.parametrize(
    ("guarantee", "full"),
    [(PureDP(0.5), math.exp(-9 / 4) / 2), (ConcentratedDP(0.125), special.ndtr(-9 / 8**0.5))],
)
@pytest.mark.parametrize("d", [1, 50])
def test_errors_of_signed_answers_do_not_depend_on_d(guarantee, full, d):
    got = signed.sampled_signed([9] + [0] * (d - 1), guarantee, 5000, np.random.default_rng(d))
    exact = [guarantee.signed_error**2] * 2 + [(full + (d - 1) / 2) / d]
    for mean, error, want in zip(got[::2], got[1::2], exact, strict=True):
        assert abs(mean - want) < 5 * error + 1e-12


@given(st.integers(1, 10**6), st.floats(0.001, 0.9), st.floats(0.1, 100))
def test_safe_count_is_the_least_safe_one(d, chance, scale):
    q = signed.safe_count(Laplace(scale), d, chance)
    assert d * math.exp(-q / scale) / 2 <= chance * (1 + 1e-9)
    assert q == 0 or d * math.exp(-(q - 1) / scale) / 2 > chance * (1 - 1e-9)


def test_the_chain_of_items_1_and_2_is_that_of_its_statement():
    packing, odds = Packing(d=9, n=8, m=4, C=1.0, D=3.0), pw.PackingOdds(0.3, 0.7, 0.4, 0.9)
    s, K = math.exp(-0.3 * 8), 6.0
    for delta in (0.0, 1e-3, 0.5):
        own, loose = s * delta * sum(math.exp(0.3 * i) for i in range(8)), delta / 0.3
        sides = [0.4 + own, 0.4 + loose, K * 0.9 / 8 + loose, K / 8 + loose, 2 * max(K / 8, loose)]
        lost = np.diff(np.log([0.25 * s, 0.7 * s, *sides]))
        lost = lost if delta else lost[[0, 1, 3, 4]]  # two links are equalities
        guarantee = ApproximateDP(0.3, delta) if delta else PureDP(0.3)
        found = packing_slack(guarantee, packing, odds)
        assert [loss for _, loss in found.lost] == pytest.approx(lost, rel=1e-12)
        assert (found.asked, found.allowed) == pytest.approx((2.4 - lost.sum(), 2.4))
    exact = packing_slack(PureDP(0.3), packing, odds._replace(base=0.7 * s))
    assert dict(exact.lost)["group privacy"] == 0
