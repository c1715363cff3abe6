"""Steps of the book's proof of the leading constant (appendix C), run by run and enumerated."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.theory.upper.projection import project, threshold
from microdata_price.theory.upper.reports import Reports


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
