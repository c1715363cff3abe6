"""Steps of the book's proof of the leading constant (appendix C), run by run and enumerated."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.theory.upper.projection import project, threshold
from microdata_price.theory.upper.reports import Reports


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
                part, grown = T[..., q] / (T[..., q] + b), (T[..., q + 1] + b) / (T[..., q] + b)
                alpha, beta = ((E * part).sum() / E.sum() for E in (E0, E2))
                assert (E2 * grown).sum() / E2.sum() <= R * alpha + 1 - beta + 1e-12
                rise = (E2 * np.log(grown)).sum() / E2.sum()
                assert rise <= math.log(R) + (alpha - beta) / R + 1e-12
