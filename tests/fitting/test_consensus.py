"""Our two methods: what they promise, against definitions written down plainly.

What holds of every method, `test_fitting` asks of these as well.
"""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitting_oracle import solve, stacked
from microdata_price.fitting.consensus import RULES, _weights, consensus_parts, fit_consensus
from microdata_price.fitting.ols import fit_ols
from microdata_price.fitting.reweighted import reweighting
from microdata_price.fitting.sequential_ols import fit_sequential_ols
from microdata_price.fitting.shrinkage import (
    DEFAULT,
    _maximise,
    _moments,
    independent_sizes,
    shrink,
)
from microdata_price.model.measurement import Measurements
from microdata_price.model.noise import Laplace
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from random_measurements import measured, random_measurements

SEEDS = st.integers(0, 2**32 - 1)
OURS = {"sequential_ols": fit_sequential_ols, "consensus": fit_consensus}


def uneven(shape):
    return np.arange(float(np.prod(shape))).reshape(shape) % 7


@pytest.mark.parametrize("method", OURS)
@settings(max_examples=15)
@given(seed=SEEDS, sides=st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_the_sum_is_that_of_least_squares_or_zero(method, seed, sides):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 5, sides) * rng.integers(0, 9)
    m = measured(table, seed=seed)
    total = OURS[method](m).cells.sum(axis=1)
    signed = fit_ols(m).cells.sum(axis=1)
    np.testing.assert_allclose(total, np.maximum(signed, 0), rtol=0, atol=1e-6)


@settings(max_examples=40)
@given(seed=SEEDS, size=st.integers(1, 60), scale=st.sampled_from([0.0, 1.0, 20.0, 3000.0]))
def test_on_a_list_no_cell_errs_by_more_than_the_guarantee(seed, size, scale):
    """An error is at most its own answer's, plus the largest upwards, plus the sum's downwards."""
    rng = np.random.default_rng(seed)
    table = np.floor(scale * rng.random(size) * (rng.random(size) < 0.5))
    m = measured(table, PureDP(0.3), seed=seed)
    signed = fit_ols(m).cells
    off = signed - table
    bound = np.abs(off) + np.maximum(off.max(axis=1), 0)[:, None]
    bound += np.maximum(-off.sum(axis=1), 0)[:, None]
    error = np.abs(fit_sequential_ols(m).cells - table)
    assert (error <= bound + 1e-9 * (1 + np.abs(signed).max())).all()


@settings(max_examples=25)
@given(seed=SEEDS)
def test_a_weighted_mean_of_fits_with_one_total_gains_exactly_their_distance_from_it(seed):
    m = random_measurements(seed)
    parts = consensus_parts(m)
    fitted = fit_consensus(m)
    weights = np.array([p.weight for p in parts])[:, :, None]
    cells = np.array([p.cells for p in parts])
    np.testing.assert_allclose(fitted.cells, (weights * cells).sum(axis=0), rtol=1e-12, atol=0)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=0), 1, rtol=1e-15)
    assert [p.name for p in parts] == ["sequential", "reweighted", "shrunk"][: len(parts)]
    assert len(parts) == 2 + any(q.is_identity for q in m.workload.query_sets)
    if len(parts) == 3:
        assert (weights[0] <= 1 / 4).all()
        assert (weights[2] <= 1 / 3).all()
    totals = cells.sum(axis=2)
    apart = np.abs(totals - totals[0]).max()
    assert apart <= 1e-8 * (1 + np.abs(totals).max())
    truth = np.random.default_rng(seed).integers(0, 9, m.workload.cells)
    for q, mean in zip(m.workload.query_sets, fitted.answers(), strict=True):
        answers = np.array([q.answers(p.reshape(-1, *q.shape)) for p in cells])
        own = (mean - q.answers(truth)) ** 2
        each = (weights * (answers - q.answers(truth)) ** 2).sum(axis=0)
        apart = (weights * (answers - mean) ** 2).sum(axis=0)
        scale = 1 + answers.max() ** 2
        np.testing.assert_allclose(own, each - apart, rtol=0, atol=1e-12 * scale)


def listed_weights(*cells):
    """Weights on lists whose answers agree with their sum, so that least squares moves none."""
    cells = np.array(cells, dtype=float)
    answers = (cells.sum(axis=1, keepdims=True), cells)
    m = Measurements(Workload.table(cells.shape[1]), answers, (Laplace(1.0),) * 2)
    return np.array([p.weight for p in consensus_parts(m)]).T


def test_low_cells_that_stand_out_together_call_for_sequential_fitting():
    # Of 16 cells none stands out; the sum's own answer has a deviation of the square root of 2.
    each = np.array([0.0, 2.0, 3.5, 5.0, 9.0])[:, None] * np.sqrt(2) / 16
    found = listed_weights(*np.broadcast_to(each, (5, 16)))
    np.testing.assert_allclose(found[:, 0], [0, 0, 1 / 8, 1 / 4, 1 / 4], atol=1e-12)
    np.testing.assert_allclose(found[:, 2], 1 / 3)
    # Large cells beside empty ones: the large stand out by themselves, the rest are nothing.
    assert listed_weights([90.0, 80.0, *np.zeros(14)])[0, 0] == 0


def test_the_shrunk_part_counts_less_where_its_marginals_are_far_from_least_squares():
    m = measured(uneven((3, 5)), runs=2)
    signed = fit_ols(m).cells
    moved = signed.reshape(2, 3, 5).copy()
    moved[1] += m.noise[0].std  # a row is off by 5 deviations and a column by 3
    weights = _weights(m, 3, signed, moved.reshape(2, 15))
    np.testing.assert_allclose(weights[2], [1 / 3, 1 / 75])
    np.testing.assert_allclose(weights[1], 1 - weights[0] - weights[2])


def objective(m, x, targets, variances):
    """Least squares of all answers but the total's, whose sum is held."""
    a, b, v = stacked(m, 0)
    sizes = np.array([q.size for q in m.workload.query_sets])
    own = np.cumsum([0, *sizes])
    b = b.copy()
    v = v / np.repeat(np.maximum(m.workload.cells / sizes / 10, 1), sizes)
    b[own[-2] :], v[own[-2] :] = targets, variances
    return cp.sum_squares(cp.multiply(1 / np.sqrt(v[1:]), a[1:] @ x - b[1:]))


@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.125)])
@pytest.mark.parametrize("shape", [(12,), (4, 5), (2, 15)])
def test_each_part_is_what_its_definition_says(guarantee, shape):
    m = measured(uneven(shape), guarantee, runs=1, seed=8)
    sequential, reweighted, shrunk = (p.cells[0] for p in consensus_parts(m))
    targets = shrink(m, len(m.noise) - 1, sequential[None])
    x = cp.Variable(m.workload.cells, nonneg=True)
    held = [cp.sum(x) == sequential.sum()]
    solve(objective(m, x, targets.mean[0], targets.variance[0]), held)
    np.testing.assert_allclose(shrunk, x.value, atol=1e-4)

    consistent = Measurements(m.workload, fit_ols(m).answers(), m.noise)
    cost = 0
    steps = reweighting(consistent, rules=RULES)
    for q, a, step in list(zip(m.workload.query_sets, consistent.answers, steps, strict=True))[1:]:
        rows = (q.labels == np.arange(q.size)[:, None]).astype(float)
        cost += cp.sum(cp.multiply(step.weight[0], cp.square(rows @ x - a[0])))
        low = step.low[0]
        if low.any():
            cost += step.low_sum_weight[0] * cp.square(rows[low].sum(axis=0) @ x - step.low_sum[0])
    solve(cost, held)
    np.testing.assert_allclose(reweighted, x.value, atol=1e-4)


@settings(max_examples=25)
@given(seed=SEEDS)
def test_targets_stay_near_their_answers(seed):
    m = random_measurements(seed)
    cells = [k for k, q in enumerate(m.workload.query_sets) if q.is_identity]
    if not cells:
        return
    own = cells[0]
    unit = m.noise[own].std
    targets = shrink(m, own, fit_sequential_ols(m).cells)
    answers = m.answers[own]
    large = answers >= DEFAULT.large * unit
    np.testing.assert_array_equal(targets.mean[large], answers[large])
    assert (targets.mean[~large] >= 0).all()
    assert (targets.mean[~large] <= DEFAULT.largest * unit * (1 + 1e-12)).all()
    least, most = DEFAULT.least_variance * unit**2, DEFAULT.most_variance * unit**2
    assert (targets.variance >= least * (1 - 1e-12)).all()
    assert (targets.variance <= most * (1 + 1e-12)).all()


@settings(max_examples=25)
@given(seed=SEEDS)
def test_each_step_makes_the_answers_likelier(seed):
    rng = np.random.default_rng(seed)
    likelihood = rng.random((2, 9, 4))
    shares = np.full((2, 4), 0.25)
    before = -np.inf
    for _ in range(6):
        now = np.log(np.einsum("rck,rk->rc", likelihood, shares)).sum(axis=1)
        assert (now >= before - 1e-9).all()
        before, shares = now, _maximise(likelihood, shares, 1)
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-9)


def test_moments_are_those_of_the_mixture():
    likelihood = np.array([[[0.2, 0.4], [0.0, 0.3]]])
    shares, sizes = np.array([[0.5, 0.5]]), np.broadcast_to([0.0, 6.0], (1, 2, 2))
    mean, variance = _moments(likelihood, shares, sizes)
    np.testing.assert_allclose(mean, [[4.0, 6.0]])
    np.testing.assert_allclose(variance, [[8.0, 1e-6]], atol=1e-9)


def test_a_table_with_independent_sides_is_its_own_expectation():
    table = np.outer([1.0, 2.0, 5.0], [3.0, 4.0])
    m = measured(table.round())
    np.testing.assert_allclose(
        independent_sizes(m, table.reshape(1, -1), 0.0), table.reshape(1, -1)
    )
    assert independent_sizes(measured(np.ones((1, 6))), np.ones((1, 6)), 0.0) is None
