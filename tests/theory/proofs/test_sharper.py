"""First-moment proofs, step by step, and the channel program as their independent check."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.model.noise_discrete import DiscreteGaussian, DoubleGeometric
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.laws.outputs import clipped_law
from microdata_price.theory.lower import channel_program as cp
from microdata_price.theory.lower.lower_bounds import sum_error_bound
from microdata_price.theory.proofs import moment_walk as mw
from microdata_price.theory.proofs.packing_walk import truncated_cells
from microdata_price.theory.upper.leading import leading_ratios
from rounding import at_most

LEVELS = [(0.01, 2), (0.01, 1000), (0.5, 2), (0.5, 1000), (2.0, 50), (10.0, 2), (10.0, 10**6)]


@pytest.mark.parametrize(("level", "d"), LEVELS)
@pytest.mark.parametrize("scales", [0.0, 1.0, 4.0])
def test_every_step_of_the_first_moment_proofs_holds(level, d, scales):
    pure, approximate = PureDP(level), ApproximateDP(level, 1e-6)
    m = max(1, round(scales / level))
    noise = DoubleGeometric(level)
    steps = mw.pure_moment_steps(pure, noise, mw.clipping_setting(noise, d, m))
    cut = truncated_cells(approximate)
    steps += mw.approximate_moment_steps(approximate, cut, mw.clipping_setting(cut, d, m))
    assert [s.name for s in steps if not s.holds] == []


@pytest.mark.parametrize(("rho", "d"), LEVELS)
@pytest.mark.parametrize("scales", [0.0, 0.5, 2.0])
def test_every_step_of_the_zcdp_first_moment_proof_holds(rho, d, scales):
    noise = DiscreteGaussian(1 / (2 * rho))
    case = mw.clipping_setting(noise, d, max(1, round(scales / math.sqrt(rho))))
    spread = rho * case.m**2
    if math.log(case.m / case.share) <= spread:
        with pytest.raises(InputError, match="smaller m"):
            mw.zcdp_moment_steps(ConcentratedDP(rho), noise, case)
        return
    steps = mw.zcdp_moment_steps(ConcentratedDP(rho), noise, case)
    assert [s.name for s in steps if not s.holds] == []


def clipping_channel(epsilon, largest):
    """The channel of M_epsilon, clipped to the program's range."""
    noise = DoubleGeometric(epsilon)
    return np.array([clipped_law(noise, j, 0, largest) for j in range(largest + 1)])


@given(st.floats(0.2, 3.0), st.integers(2, 7), st.floats(1.0, 3.0))
@settings(max_examples=30)
def test_the_best_channel_is_private_accurate_and_no_worse_than_a_known_one(eps, n, factor):
    known = clipping_channel(eps, n)
    y = np.arange(n + 1)
    error = math.sqrt(float(((y - y[:, None]) ** 2 * known).sum(axis=1).max())) * factor
    found = cp.best_channel(PureDP(eps), error, n)
    p = found.channel
    assert found.worst <= 1e-7
    assert np.allclose(p.sum(axis=1), 1, atol=1e-9)
    assert (p[:-1] <= math.exp(eps) * p[1:] + 1e-7).all()
    assert (p[1:] <= math.exp(eps) * p[:-1] + 1e-7).all()
    assert (((y - y[:, None]) ** 2 * p).sum(axis=1) <= error**2 + 1e-6).all()
    assert found.bound <= float(known[0] @ y) + 1e-9
    # The first-moment inequality holds for it, as for every private channel.
    for m in range(1, n + 1):
        assert math.exp(-eps * m) * (m - error) <= found.bound + 1e-9


@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.1])
def test_a_leak_only_helps_the_channel(delta):
    pure = cp.best_channel(PureDP(0.7), 2.5, 10)
    leaky = cp.best_channel(ApproximateDP(0.7, delta), 2.5, 10)
    assert leaky.value <= pure.value + 1e-9
    p = leaky.channel
    for a, b in ((p[:-1], p[1:]), (p[1:], p[:-1])):
        assert (np.maximum(a - math.exp(0.7) * b, 0).sum(axis=1) <= delta + 1e-7).all()


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("extra", [0.1, 2.0])
def test_the_program_lies_above_the_first_moment_bound_and_within_a_constant(epsilon, extra):
    C = DoubleGeometric(epsilon).std + extra / epsilon
    step = cp.suggested_step(epsilon)
    largest = cp.suggested_largest(epsilon, C, step)
    d = 10**6
    moment = float(sum_error_bound("first_moment", PureDP(epsilon), d, C)) / d
    found = cp.best_channel(PureDP(epsilon), C, largest, step)
    # Restricted to multiples of the step, first moments prove less than at every m.
    coarse = max(math.exp(-epsilon * step * j) * (step * j - C) for j in range(1, largest + 1))
    assert max(coarse, 0) <= found.bound * (1 + 1e-6)
    if step == 1:
        assert moment <= found.bound * (1 + 1e-6)
    assert found.bound <= 3 * max(moment, 1e-300)
    weights = cp.channel_sum_error(PureDP(epsilon), C, largest, step, whole=False)
    assert at_most(weights, found.bound)
    assert at_most(weights, clipping_mean(epsilon))


def clipping_mean(epsilon):
    """M_epsilon is a mechanism: its empty cells are what every bound must stay below."""
    return float(DoubleGeometric(epsilon).excess(0.0).first)


def test_multipliers_of_any_kind_give_a_bound():
    program = cp._Program(6, math.exp(-0.5), 0.0, 4.0)
    best = cp.best_channel(PureDP(0.5), 2.0, 6).value
    rng = np.random.default_rng(1)
    for scale in (0.0, 1e-3, 1.0):
        found = program.lagrange(scale * rng.random(program.right.size))
        assert found <= best + 1e-9


@pytest.mark.parametrize(
    "call",
    [
        lambda: cp.best_channel(PureDP(0.5), 0.01, 8),
        lambda: cp.best_channel(PureDP(0.5), 2.0, 0),
        lambda: cp.best_channel(PureDP(0.5), 2.0, 500),
        lambda: cp.best_channel(PureDP(0.5), 2.0, 8, step=0),
        lambda: mw.clipping_setting(DoubleGeometric(0.5), 10, 0),
    ],
)
def test_bad_input_is_one_sentence(call):
    with pytest.raises(InputError) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("guarantee", [PureDP(0.01), PureDP(0.5), ConcentratedDP(0.125)])
def test_lower_and_upper_bounds_approach_their_common_leading_term(guarantee):
    found = leading_ratios(guarantee, 10.0 ** np.array([3, 12, 50, 250]))
    assert at_most(found.lower, 1)
    assert at_most(1, found.upper)
    assert (np.diff(found.lower) > 0).all()
    assert (np.diff(found.upper) < 0).all()
    assert found.upper[-1] - found.lower[-1] < 0.5 * (found.upper[0] - found.lower[0])


def test_a_leading_term_needs_three_cells():
    with pytest.raises(InputError, match="3 or more"):
        leading_ratios(PureDP(1.0), [2])


def test_usable_records_are_those_at_which_the_proof_runs():
    guarantee, noise = ConcentratedDP(0.125), DiscreteGaussian(4.0)
    m = mw.usable_records(guarantee, noise, 1000, 20)
    assert mw.best_order(guarantee, mw.clipping_setting(noise, 1000, m)) > 1
    assert mw.usable_records(ConcentratedDP(10.0), DiscreteGaussian(0.05), 2, 3) == 0
