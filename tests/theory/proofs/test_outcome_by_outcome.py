"""Steps of the book's own proofs, outcome by outcome."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from microdata_price.theory.upper.projection import project, threshold
from microdata_price.theory.upper.reports import Reports


def huge_loss(z, w, i):
    """Return Lam_i by root finding: the loss of cell i when it is huge and all others are empty."""
    others = np.delete(z, i)

    def gap(g):
        return g - z[i] + w - np.maximum(others - g, 0).sum()

    reach = np.abs(z).sum() + abs(w) + 1
    return float(optimize.brentq(gap, -reach, reach, xtol=1e-13)) - z[i]


numbers = st.floats(-8, 8)


tables = st.integers(2, 6).flatmap(
    lambda d: st.tuples(
        st.lists(st.integers(0, 30), min_size=d, max_size=d),
        st.lists(numbers, min_size=d, max_size=d),
        numbers,
    )
)


@given(tables)
def test_no_table_is_worse_than_one_huge_cell_outcome_by_outcome(drawn):
    q, z, w = np.array(drawn[0], dtype=float), np.array(drawn[1]), drawn[2]
    fit = project(q + z, max(q.sum() + w, 0.0), math.inf)
    for i in range(q.size):
        over = max(z[i] - (z.sum() - w) / q.size, 0.0)
        assert -over - 1e-9 <= q[i] - fit[i] <= max(huge_loss(z, w, i), 0.0) + 1e-9
    # The mean over the cells has no price: the noise, and the sum's noise twice.
    share = max(w, 0.0) / math.sqrt(q.size) + 2 * max(-w, 0.0)
    assert np.linalg.norm(fit - q) <= np.linalg.norm(z - z.mean()) + share + 1e-9
    far = np.zeros(q.size)
    far[0] = 1e6
    fit = project(far + z, max(far.sum() + w, 0.0), math.inf)
    assert far[0] - fit[0] == pytest.approx(huge_loss(z, w, 0), abs=1e-8)


noises = st.lists(st.floats(-20, 20), min_size=2, max_size=12)


@given(noises, st.data(), st.sampled_from([math.inf, 0.01, 1.0, 30.0]))
def test_the_one_sided_bound_holds_for_any_noise_whatsoever(cells, data, weight):
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


def _outcome(case, q, rng):
    """Draw reports (noisy counts, or not a number) and what the sum counts each cell as."""
    d, G = q.size, case.G
    z = case.cell.sample(rng, d)
    chance = rng.random(d)
    alarm = np.exp(case.log_phi)
    rise = np.exp(case.log_p - case.tau * np.maximum(G - q, 0)) * (q > 0)
    small = q < G
    false, frozen = small & (chance < alarm), small & (chance >= alarm) & (chance < alarm + rise)
    a = np.full(d, np.nan)
    beyond = case.threshold + rng.exponential(1 / case.cell.right, d)
    a[false | frozen] = beyond[false | frozen]
    loud = ~small & (q + z > case.threshold)
    a[loud] = (q + z)[loud]
    value = np.where(frozen, float(G), q)
    noise = case.main.sample(rng, 1)[0] - case.main.mean
    return a, z, float(value.sum() + noise)


@given(st.integers(0, 10**6), st.sampled_from([0.06, 0.3, 0.6]), st.floats(0, 6))
def test_cells_err_by_no_more_than_the_proof_says(seed, kappa, h):
    """The bounds for a rest of either sign hold run by run."""
    rng = np.random.default_rng(seed)
    # So loud that reports and frozen alarms occur at a size that can be drawn.
    case = Reports(2.0, 18.0, 1.2, 0.06, kappa * 18.0)
    d = 60
    q = np.where(rng.random(d) < 0.4, rng.integers(0, int(2 * case.threshold) + 2, d), 0) * 1.0
    a, z, A = _outcome(case, q, rng)
    seen = ~np.isnan(a)
    x0 = np.where(seen, np.maximum(np.nan_to_num(a) - h, 0), 0.0)
    big = q >= max(case.G, 1)
    z = np.where(big, z, 0.0)
    wrong = abs(A - q.sum())
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
        X = float(x0.max(initial=0.0, where=~big))
        assert g <= Z + X + wrong + 1e-6
    assert abs(x.sum() - q.sum()) <= wrong + 1e-6


def random_mechanism(rng, N, B):
    """Draw a mechanism on all tables of N cells with counts 0..B; outputs are a set and a sum."""
    tables = np.array(list(itertools.product(range(B + 1), repeat=N)))
    sets = np.array(list(itertools.product((False, True), repeat=N)))
    sums = np.arange(N * B + 2)
    weight = rng.gamma(0.4, size=(len(tables), len(sets) * len(sums))) + 1e-9
    apart = np.abs(tables[:, None] - tables).sum(2)
    law = (np.exp(-rng.uniform(0.1, 2) * apart)[:, :, None] * weight).max(1)
    law /= law.sum(1, keepdims=True)
    return tables, np.repeat(sets, len(sums), axis=0), np.tile(sums, len(sets)), law, apart


@pytest.mark.parametrize("seed", range(12))
def test_reports_grow_by_at_most_the_budget_per_record(seed):
    """The steps (*), (**) and the growth step of the lower bound, enumerated."""
    rng = np.random.default_rng(seed)
    N, B, b = (3, 2, 3.0) if seed % 2 else (2, 4, 1.5)
    tables, S, A, law, apart = random_mechanism(rng, N, B)
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
        safe = kind & np.all(
            [(T[..., q + 1] == 0) | (at(key, moved(T, q)) == j) for q in range(B)], axis=0
        )
        for y0 in range(int(Y.min()), int(Y.max()) + 1):
            E0, E2 = chance * (kind & (y0 <= Y)), chance * (safe & (y0 - 1 <= Y))
            moves = E2[tables[:, 0] >= 1].sum()
            assert moves <= math.exp(epsilon) * E0.sum() * (1 + 1e-12)  # (**)
            if E0.sum() == 0 or E2.sum() == 0:
                continue
            R = max(1.0, math.exp(epsilon) * (1 + 1 / (b - 1)) * E0.sum() / E2.sum())
            for q in range(1, B):
                part = T / (T + b)
                alpha = (E0 * part[..., q]).sum() / E0.sum()
                beta = (E2 * part[..., q]).sum() / E2.sum()
                grown = (T[..., q + 1] + b) / (T[..., q] + b)
                assert (E2 * grown).sum() / E2.sum() <= R * alpha + 1 - beta + 1e-12
                rise = (E2 * np.log(grown)).sum() / E2.sum()
                assert rise <= math.log(R) + (alpha - beta) / R + 1e-12
