"""All mechanisms on small tables by one linear program; the simulation of truncated noise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, sparse

from microdata_price.model.noise_discrete import DoubleGeometric, TruncatedDoubleGeometric
from microdata_price.model.privacy import PureDP
from microdata_price.theory.lower.lower_bounds import BOUNDS, point_error_bound, sum_error_bound
from microdata_price.theory.upper.exact_errors import clipped
from microdata_price.theory.upper.projection import project
from microdata_price.theory.upper.truncated_sampling import sampled_truncated
from rounding import at_most


def least_error(d: int, D: float, most: int, low: int, high: int) -> float:
    """Return the least C of any channel at epsilon 1, counts to ``most``, outputs low to high."""
    tables = list(itertools.product(range(most + 1), repeat=d))
    outputs = np.array(list(itertools.product(range(low, high + 1), repeat=d)), dtype=float)
    size, n = len(outputs), len(tables)
    pairs = [
        (i, tables.index((*x[:c], x[c] + 1, *x[c + 1 :])))
        for i, x in enumerate(tables)
        for c in range(d)
        if x[c] < most
    ]
    one, two = np.array(pairs + [p[::-1] for p in pairs]).T
    private = np.zeros((one.size, n))
    private[np.arange(one.size), one], private[np.arange(one.size), two] = 1, -math.e
    x = np.array(tables, dtype=float)
    sums = sparse.block_diag([[(outputs.sum(axis=1) - total) ** 2] for total in x.sum(axis=1)])
    cells = sparse.vstack(
        [sparse.block_diag([[(outputs[:, c] - count) ** 2] for count in x[:, c]]) for c in range(d)]
    )
    blocks = [[sparse.kron(private, sparse.eye_array(size)), None], [sums, None]]
    law = sparse.kron(sparse.eye_array(n), np.ones((1, size)))
    found = optimize.linprog(
        np.append(np.zeros(n * size), 1.0),
        A_ub=sparse.bmat([*blocks, [cells, -np.ones((n * d, 1))]], format="csr"),
        b_ub=np.concatenate([np.zeros(one.size * size), np.full(n, D**2), np.zeros(n * d)]),
        A_eq=sparse.hstack([law, np.zeros((n, 1))]),
        b_eq=np.ones(n),
        method="highs",
    )
    assert found.status == 0
    return math.sqrt(found.fun)


@pytest.mark.parametrize(("d", "most", "D"), [(2, 3, 1.4), (2, 3, 3.0), (2, 2, 1.3)])
def test_all_mechanisms_obey_every_bound(d: int, most: int, D: float) -> None:
    g = PureDP(1.0)
    C = least_error(d, D, most, 0, most + 1)
    assert least_error(d, D, most, -1, most + 1) <= C + 1e-7
    for name in list(BOUNDS)[1:]:
        assert float(point_error_bound(name, g, d, D, max_records=most)) <= C + 1e-6
        assert float(sum_error_bound(name, g, d, C + 1e-6, max_records=most)) <= D + 1e-6


def test_a_loose_sum_leaves_the_best_cell_by_cell_mechanism() -> None:
    """Clipped to 0..2 on both sides, geometric noise is one that exists."""
    noise, most = DoubleGeometric(1.0), 2
    k = np.arange(-60.0, 61)
    errors = [float(noise.pmf(k) @ (np.clip(q + k, 0, most) - q) ** 2) for q in range(most + 1)]
    assert at_most(errors[0], clipped(noise, 0).squared_error)
    loose = least_error(2, 50.0, most, 0, most)
    assert math.sqrt(max(errors)) + 1e-9 >= loose
    assert loose <= least_error(2, 1.4, most, 0, most) + 1e-9


@pytest.mark.parametrize("d", [2, 30])
def test_truncated_noise_by_two_simulations(d: int) -> None:
    noise = TruncatedDoubleGeometric(0.5, 8)
    C, se = sampled_truncated(noise, d, runs=20_000, seed=1)
    rng = np.random.default_rng(2)
    z, star = noise.sample(rng, (20_000, d)), noise.sample(rng, 20_000)
    z[:, 0] += 1e4
    other = (project(z, 1e4 + star)[:, 0] - 1e4) ** 2
    spread = other.std() / math.sqrt(other.size)
    assert abs(C**2 - other.mean()) < 5 * math.hypot(spread, 2 * C * se)


def test_truncated_noise_at_very_many_cells() -> None:
    """All values occur: the threshold is so near the bound that the cell falls with it."""
    noise = TruncatedDoubleGeometric(0.5, 8)
    C, se = sampled_truncated(noise, 10**9, runs=20_000, seed=1)
    assert (C, se) == sampled_truncated(noise, 10**9, runs=20_000, seed=1)
    assert 8 < C < 2 * noise.std + noise.bound
