"""The exact leading constant, and the mechanism that reaches it: private at every step."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from by_quadrature import expected
from microdata_price.model.noise_asymmetric import AsymmetricGeometric
from microdata_price.theory.upper import leading_constant as lc
from microdata_price.theory.upper.projection import project, threshold
from microdata_price.theory.upper.reports import Reports


@settings(max_examples=20)
@given(st.floats(0.02, 5), st.floats(0.53, 300), st.booleans())
def test_the_formula_is_the_mean_over_the_pareto_law(epsilon, c, whole):
    share = 1 / math.expm1(epsilon)

    def integrand(v):  # v = c/s has density 2v
        r = (1 - v / (2 * c)) * epsilon
        off = 1 / math.expm1(r) - share
        return 2 * v * (float(lc.least_variance(r, epsilon)) + whole * (off - round(off)) ** 2)

    # Cut where rounding jumps from one whole number to the next.
    last = 1 / math.expm1((1 - 1 / (2 * c)) * epsilon) - share
    jumps = np.log1p(1 / (share + np.arange(0.5, last, 1.0))) / epsilon
    cuts = [0.0, *(2 * c * (1 - jumps)), 1.0]
    value = sum(quad(integrand, a, b)[0] for a, b in itertools.pairwise(cuts))
    found = float(lc.needed_lambda(c, epsilon, whole=whole))
    assert found == pytest.approx(epsilon**2 * value, rel=1e-9)


@settings(max_examples=30)
@given(st.floats(0.01, 4), st.floats(0.001, 12), st.booleans())
def test_the_constant_inverts_the_formula(epsilon, above, whole):
    lam = float(lc.sum_wall(epsilon)) + above
    c = lc.leading_constant(lam, epsilon, whole=whole)
    if c > 1:
        assert float(lc.needed_lambda(c, epsilon, whole=whole)) == pytest.approx(lam, rel=1e-9)
    else:
        assert float(lc.needed_lambda(1.0, epsilon, whole=whole)) <= lam
    assert lc.leading_constant(lam + 0.01, epsilon, whole=whole) <= c
    # Whole numbers cost more; a larger epsilon needs less.
    assert lc.leading_constant(lam, epsilon) <= lc.leading_constant(lam, epsilon, whole=True)
    assert lc.leading_constant(lam, epsilon * 1.01) <= c or whole


@pytest.mark.parametrize(
    ("epsilon", "whole", "printed"),
    [
        (0.1, False, (1.9983, 3.4532, 3.206, 1.212)),
        (0.5, False, (1.9588, 3.4135, 2.846, 1.186)),
        *((0.5, True, (1.9588, 3.4357, 2.996, 1.199)), (2.0, True, (1.4481, 3.1243, 1.439, 1.033))),
    ],
)
def test_printed_values(epsilon, whole, printed):
    found = [float(lc.sum_wall(epsilon)), float(lc.needed_lambda(1.0, epsilon, whole=whole))]
    found += [lc.leading_constant(lam, epsilon, whole=whole) for lam in (2.25, 3.0)]
    assert found == pytest.approx(printed, abs=5e-4)
    whole_noise = AsymmetricGeometric(epsilon, 2.0)
    assert float(lc.least_variance(epsilon, 2.0)) == pytest.approx(whole_noise.variance, rel=1e-12)
    values = lc.needed_lambda(np.geomspace(0.501, 1e5, 400), epsilon)
    assert (np.diff(values) < 0).all()
    assert values[-1] == pytest.approx(found[0], rel=1e-4)
    # The factor 1/(2 sigma), proved before, is reached by a coin that never varies: not the best.
    assert lc.leading_constant(3.0, epsilon) < 1 / (2 * float(lc.cell_share(3.0)))


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("log_d", [60.0, 1000.0, 1e5])
@pytest.mark.parametrize("s", [1.0, 1.5, 4.0])
def test_no_step_loses_more_than_the_budget(epsilon, log_d, s):
    for eta in (0.02, 0.06):
        for kappa in (eta, 0.3, 0.45, 0.499, 0.5, 0.51, 0.8, 1.0):
            for few in (False, True)[: 1 + (kappa == eta)]:
                case = Reports(epsilon, log_d, s, eta, kappa * log_d, few)
                assert case.largest_loss(801) <= case.tau * (1 + 1e-9)


@pytest.mark.parametrize(("log_nu", "few"), [(2, True), (2, False), (18, False), (32, False)])
def test_the_audit_finds_the_largest_loss_of_all(log_nu, few):
    case = Reports(0.5, 40.0, 1.5, 0.05, log_nu, few)
    B, worst = np.arange(-5 * round(case.T), 5 * round(case.T) + 1), []
    for q in range(math.floor(case.threshold) + 3):
        noise = case.log_noise(B - q - 1) - case.log_noise(B - q)
        worst.append(noise + np.diff(case.log_silent([q, q + 1])))
        if q < case.G:
            worst.append(case.log_report(q + 1, B) - case.log_report(q, B))
        else:
            worst += [noise + case.cell.right, noise - case.cell.left]
    assert case.largest_loss(51) == pytest.approx(np.abs(worst).max(), rel=1e-12)


OWN_GAP, OWN_SILENCE = vars(Reports)["G"], Reports.log_silent


@pytest.mark.parametrize(
    ("part", "broken"),
    [
        ("G", property(lambda case: OWN_GAP.__get__(case) // 2)),  # alarms frozen too early
        ("log_noise", lambda case, k: case.main.log_density(k)),  # without heavy tails
        ("log_silent", lambda case, q: 30 * OWN_SILENCE(case, q)),  # at the threshold, downwards
    ],
)
def test_the_audit_finds_a_mechanism_that_is_not_private(monkeypatch, part, broken):
    monkeypatch.setattr(Reports, part, broken)
    case = Reports(1.0, 1000.0, 1.2, 0.05, 50.0)
    assert case.largest_loss(801) > 1.5 * case.tau


def test_the_sums_noise_is_a_law_with_the_stated_variance_and_spread():
    case, k = Reports(1.0, 100.0, 1.2, 0.05, 20.0), np.arange(-800, 801)
    p = np.exp(case.log_noise(k))
    assert p.sum() == pytest.approx(1, rel=1e-12)
    assert p @ (k - p @ k) ** 2 == pytest.approx(case.variance, rel=1e-10)
    far = np.arange(-3 * round(case.T), 3 * round(case.T) + 1)
    for s in (1, round(case.T), math.floor(2 * case.T + 2)):
        assert np.abs(case.log_noise(far - s) - case.log_noise(far)).max() <= case.spread
    # G is the least count at which an alarm of one record is hidden: the proof's first step.
    sure = case.sigma * case.tau
    hidden = [case.log_p - case.log_phi + case.spread - case.tau * G for G in (case.G, case.G - 1)]
    assert hidden[0] <= math.log(-math.expm1(-sure)) < hidden[1]
    # Cells of G records report with chance p; larger ones by their noise alone.
    z, thr = case.cell, case.threshold
    share = math.log(z.left / (z.left + z.right))
    assert thr == pytest.approx(case.G + (share - case.log_p) / z.right)
    for q in (case.G + 3, math.ceil(thr) + 4):
        below = expected(z, lambda x, q=q: x <= thr - q, thr - q)
        assert math.exp(case.log_silent(q)) == pytest.approx(below, rel=1e-9)
    log = math.log(100.0)
    assert (case.log_p, case.log_phi) == pytest.approx((-20 - 4 * log, 20 - 100 - 3 * log))
    small = np.exp(case.log_phi) + np.array([0, np.exp(case.log_p - case.tau * (case.G - 1))])
    np.testing.assert_allclose(case.log_silent([0, 1]), np.log1p(-small), rtol=1e-6)
    few = Reports(1.0, 100.0, 1.2, 0.05, 5.0, few=True)
    assert (few.log_p, few.log_phi) == pytest.approx((-5 - 4 * log, -105))
    many = Reports(1.0, 100.0, 1.2, 0.05, 80.0)  # where nothing is frozen
    assert many.G == 0
    assert many.log_p == many.log_phi == pytest.approx(80 - 100 - 3 * log)
    assert many.threshold == pytest.approx((share - many.log_p) / z.right)
    # None is frozen where false alarms are so likely that they hide one record alone.
    likely = [Reports(0.05, 100.0, 1.2, 0.05, (100 - log - x) / 2) for x in (2.0, 2.8)]
    hides = [r.log_phi >= r.log_p + math.log(-math.expm1(-2 * r.tau)) for r in likely]
    assert hides == [r.G == 0 for r in likely] == [True, False]


@given(st.integers(0, 10**6), st.sampled_from([0.06, 0.3, 0.6]), st.floats(0, 6))
def test_cells_err_by_no_more_than_the_proof_says(seed, kappa, h):
    """The bounds for a rest of either sign hold run by run, however likely alarms are."""
    rng = np.random.default_rng(seed)
    case, d = Reports(2.0, 18.0, 1.2, 0.06, kappa * 18.0), 60
    used = rng.random(d) < rng.choice([0.05, 0.4])
    q = np.where(used, rng.integers(0, int(2 * case.threshold) + 2, d), 0) * 1.0
    z, chance, small = case.cell.sample(rng, d), rng.random(d), q < case.G
    alarm, rise = 0.1, 0.2 * (q > 0)  # the own chances are hardly ever drawn
    seen = np.where(small, chance < alarm + rise, q + z > case.threshold)
    beyond = case.threshold + rng.exponential(1 / case.cell.right, d)
    x0 = np.where(seen, np.maximum(np.where(small, beyond, q + z) - h, 0), 0.0)
    # The sum counts a frozen cell as G.
    value = np.where(small & seen & (chance >= alarm), float(case.G), q)
    A = float(value.sum() + case.main.sample(rng, 1)[0] - case.main.mean)
    big = q >= max(case.G, 1)
    z, wrong = np.where(big, z, 0.0), abs(A - q.sum())
    assert (np.abs(x0 - q)[seen & big] <= (np.abs(z) + h + 1e-9)[seen & big]).all()
    target, rest = max(A, 0.0), max(A, 0.0) - x0.sum()
    if rest >= 0:
        share = rest / d
        lost = np.where(seen, h + np.maximum(-z, 0), q)[q > 0].sum()
        assert A <= 0 or share <= (lost + wrong) / d + 1e-9
        x = x0 + share
        assert (np.abs(x - q)[~seen] <= np.maximum(q, share)[~seen] + 1e-9).all()
    else:
        g, x = float(threshold(x0, target)), project(x0, target)
        Z = float(np.maximum(z - h, 0).max(initial=0.0, where=big & seen))
        assert g <= Z + float(x0.max(initial=0.0, where=~big)) + wrong + 1e-6
    assert abs(x.sum() - q.sum()) <= wrong + 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_reports_grow_by_at_most_the_budget_per_record(seed):
    """The steps (*), (**) and the growth step of the lower bound, enumerated."""
    rng = np.random.default_rng(seed)
    N, B, b = (3, 2, 3.0) if seed % 2 else (2, 4, 1.5)
    # A random mechanism on all tables of N cells with counts 0..B; outputs are a set and a sum.
    tables, sets = (np.array(list(itertools.product(range(n), repeat=N))) for n in (B + 1, 2))
    sums = np.arange(N * B + 2)
    S, A = np.repeat(sets == 1, len(sums), axis=0), np.tile(sums, len(sets))
    apart = np.abs(tables[:, None] - tables).sum(2)
    weight = rng.gamma(0.4, size=(len(tables), len(A))) + 1e-9
    law = (np.exp(-rng.uniform(0.1, 2) * apart)[:, :, None] * weight).max(1)
    law /= law.sum(1, keepdims=True)
    near = np.argwhere(apart == 1)
    epsilon = float(np.log(law[near[:, 0]] / law[near[:, 1]]).max())
    chance = law / len(tables)  # of a table with uniform counts and an output
    T = np.stack([((tables == q)[:, None] & S).sum(2) for q in range(B + 1)], axis=2)
    Y = A - tables.sum(1)[:, None]
    # A random type of the vector T, and Psi of T and Y.
    key = rng.integers(0, 3, (N + 1,) * (B + 1))
    psi = rng.random((N + 1,) * (B + 1) + (Y.max() - Y.min() + 3,))

    def at(array, t, *more):
        return array[(*np.moveaxis(t, -1, 0), *more)]

    def moved(t, q):  # one report of q + 1 records becomes one of q
        t = t.copy()
        t[..., q + 1], t[..., q] = np.maximum(t[..., q + 1] - 1, 0), np.minimum(t[..., q] + 1, N)
        return t

    y = Y - Y.min()
    for q in range(B):
        left = chance * T[..., q + 1] * at(psi, moved(T, q), y + 1)
        right = chance * T[..., q] * at(psi, T, y)
        assert left.sum() <= math.exp(epsilon) * right.sum() * (1 + 1e-12)  # (*)
    for j in range(3):
        kind = at(key, T) == j
        stays = [(T[..., q + 1] == 0) | (at(key, moved(T, q)) == j) for q in range(B)]
        safe = kind & np.all(stays, axis=0)
        for y0 in range(int(Y.min()), int(Y.max()) + 1):
            E0, E2 = chance * (kind & (y0 <= Y)), chance * (safe & (y0 - 1 <= Y))
            moves = E2[tables[:, 0] >= 1].sum()
            assert moves <= math.exp(epsilon) * E0.sum() * (1 + 1e-12)  # (**)
            if E0.sum() == 0 or E2.sum() == 0:
                continue
            R = max(1.0, math.exp(epsilon) * (1 + 1 / (b - 1)) * E0.sum() / E2.sum())
            for q in range(1, B):
                part, grown = T[..., q] / (T[..., q] + b), (T[..., q + 1] + b) / (T[..., q] + b)
                alpha, beta = ((E * part).sum() / E.sum() for E in (E0, E2))
                assert (E2 * grown).sum() / E2.sum() <= R * alpha + 1 - beta + 1e-12
                rise = (E2 * np.log(grown)).sum() / E2.sum()
                assert rise <= math.log(R) + (alpha - beta) / R + 1e-12
