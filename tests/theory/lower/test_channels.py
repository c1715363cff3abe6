"""The program over all mechanisms on small tables, and the simulation of truncated noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from microdata_price.exceptions import InputError
from microdata_price.model.noise_discrete import DoubleGeometric, TruncatedDoubleGeometric
from microdata_price.model.privacy import PureDP
from microdata_price.theory.lower.channels import table_program
from microdata_price.theory.lower.lower_bounds import BOUNDS, point_error_bound, sum_error_bound
from microdata_price.theory.upper.exact_errors import clipped
from microdata_price.theory.upper.projection import project
from microdata_price.theory.upper.truncated_sampling import sampled_truncated
from rounding import at_most


@pytest.mark.parametrize(("d", "most", "D"), [(2, 3, 1.4), (2, 3, 3.0), (3, 2, 1.3), (2, 5, 1.6)])
def test_table_program_obeys_every_bound(d: int, most: int, D: float) -> None:
    g = PureDP(1.0)
    plain = table_program(g, d, D, max_count=most, low=0, high=most + 1)
    signed = table_program(g, d, D, max_count=most, low=-1, high=most + 1)
    assert plain.violation < 1e-7
    assert signed.C <= plain.C + 1e-7
    for name in list(BOUNDS)[1:]:
        bound = point_error_bound(name, g, d, D, max_records=most)
        assert float(bound) <= plain.C + 1e-6
        assert float(sum_error_bound(name, g, d, plain.C + 1e-6, max_records=most)) <= D + 1e-6


def test_a_loose_sum_leaves_the_best_cell_by_cell_mechanism() -> None:
    """Clipped to 0..2 on both sides, geometric noise is one that exists."""
    noise, most = DoubleGeometric(1.0), 2
    k = np.arange(-60.0, 61)
    errors = [float(noise.pmf(k) @ (np.clip(q + k, 0, most) - q) ** 2) for q in range(most + 1)]
    assert at_most(errors[0], clipped(noise, 0).squared_error)
    loose = table_program(PureDP(1.0), 2, 50.0, max_count=most, low=0, high=most)
    assert math.sqrt(max(errors)) + 1e-9 >= loose.C
    tight = table_program(PureDP(1.0), 2, 1.4, max_count=most, low=0, high=most)
    assert loose.C <= tight.C + 1e-9


def test_microdata_pay_even_with_three_cells() -> None:
    g = PureDP(1.0)
    plain = table_program(g, 3, 1.3, max_count=2, low=0, high=3)
    signed = table_program(g, 3, 1.3, max_count=2, low=-1, high=3)
    assert plain.C > signed.C + 1e-3


def test_impossible_programs_say_so() -> None:
    with pytest.raises(InputError, match="no channel"):
        table_program(PureDP(1.0), 2, 0.3, max_count=3, low=0, high=3)
    with pytest.raises(InputError, match="unknowns"):
        table_program(PureDP(1.0), 5, 3.0, max_count=9, low=0, high=9)
    with pytest.raises(InputError, match="no range"):
        table_program(PureDP(1.0), 2, 0.3, max_count=0, low=0, high=3)
    with pytest.raises(InputError, match="sum error"):
        table_program(PureDP(1.0), 2, -1.0, max_count=2, low=0, high=3)


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
    with pytest.raises(InputError, match="runs"):
        sampled_truncated(noise, 10, runs=1)
    with pytest.raises(InputError, match="between 2"):
        sampled_truncated(noise, 1)
