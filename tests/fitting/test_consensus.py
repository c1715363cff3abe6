"""Our two methods: what they alone promise, against definitions written down plainly."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitting_oracle import matrix, solve, stacked
from microdata_price.fitting.consensus import RULES, _weights, consensus_parts, fit_consensus
from microdata_price.fitting.ols import fit_ols
from microdata_price.fitting.reweighted import reweighting
from microdata_price.fitting.sequential import fit_sequential
from microdata_price.fitting.sequential_ols import fit_sequential_ols
from microdata_price.fitting.shrinkage import DEFAULT, shrink
from microdata_price.model.measurement import Measurements
from microdata_price.model.noise import Laplace
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.workload import Workload
from random_measurements import measured, random_measurements, uneven

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=25)
@given(seed=SEEDS, sides=st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_the_sum_is_its_own_answer_or_that_of_least_squares_if_not_negative(seed, sides):
    rng = np.random.default_rng(seed)
    m = measured(rng.integers(0, 2, sides) * rng.integers(0, 9), seed=seed)
    signed = fit_ols(m).cells.sum(axis=1)
    totals = {fit_sequential: m.answers[0][:, 0], fit_sequential_ols: signed, fit_consensus: signed}
    for method, total in totals.items():
        found = method(m).cells.sum(axis=1)
        np.testing.assert_allclose(found, np.maximum(total, 0), rtol=0, atol=1e-6)


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
    parts, fitted = consensus_parts(m), fit_consensus(m)
    weights = np.array([p.weight for p in parts])[:, :, None]
    cells = np.array([p.cells for p in parts])
    np.testing.assert_allclose(fitted.cells, (weights * cells).sum(axis=0), rtol=1e-12, atol=0)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=0), 1, rtol=1e-15)
    assert [p.name for p in parts] == ["sequential", "reweighted", "shrunk"][: len(parts)]
    assert len(parts) == 2 + any(q.is_identity for q in m.workload.query_sets)
    if len(parts) == 3:
        assert (weights[[0, 2]] <= np.array([1 / 4, 1 / 3])[:, None, None]).all()
    totals = cells.sum(axis=2)
    assert np.abs(totals - totals[0]).max() <= 1e-8 * (1 + np.abs(totals).max())
    truth = np.random.default_rng(seed).integers(0, 9, m.workload.cells)
    for q, mean in zip(m.workload.query_sets, fitted.answers(), strict=True):
        answers = np.array([q.answers(p.reshape(-1, *q.shape)) for p in cells])
        own = (mean - q.answers(truth)) ** 2
        each = (weights * (answers - q.answers(truth)) ** 2).sum(axis=0)
        apart = (weights * (answers - mean) ** 2).sum(axis=0)
        np.testing.assert_allclose(own, each - apart, rtol=0, atol=1e-12 * (1 + answers.max() ** 2))


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
    assert listed_weights([90.0, 80.0, *np.zeros(14)])[0, 0] == 0 == listed_weights([90.0])[0, 0]
    # The rest's sum is known best from the total less one cell: its deviation is 2.
    assert listed_weights([90.0, *[3.5 * 2 / 15] * 15])[0, 0] == pytest.approx(1 / 8)


def test_the_shrunk_part_counts_less_where_its_marginals_are_far_from_least_squares():
    m = measured(uneven((3, 5)), runs=2)
    signed = fit_ols(m).cells
    moved = signed.reshape(2, 3, 5).copy()
    moved[1] += m.noise[0].std  # a row is off by 5 deviations and a column by 3
    np.testing.assert_allclose(_weights(m, 3, signed, moved.reshape(2, 15))[2], [1 / 3, 1 / 75])


@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.125)])
@pytest.mark.parametrize("shape", [(12,), (4, 5), (2, 15)])
def test_each_part_is_what_its_definition_says(guarantee, shape):
    m = measured(uneven(shape), guarantee, runs=1, seed=8)
    sequential, reweighted, shrunk = (p.cells[0] for p in consensus_parts(m))
    targets = shrink(m, len(m.noise) - 1, sequential[None])
    # Least squares of all answers but the total's, whose sum is held.
    a, b, v = stacked(m, 0)
    sizes = np.array([q.size for q in m.workload.query_sets])
    v /= np.repeat(np.maximum(m.workload.cells / sizes / 10, 1), sizes)
    b[-sizes[-1] :], v[-sizes[-1] :] = targets.mean[0], targets.variance[0]
    x = cp.Variable(m.workload.cells, nonneg=True)
    held = [cp.sum(x) == sequential.sum()]
    solve(cp.sum_squares(cp.multiply(1 / np.sqrt(v[1:]), a[1:] @ x - b[1:])), held)
    np.testing.assert_allclose(shrunk, x.value, atol=1e-4)

    consistent = Measurements(m.workload, fit_ols(m).answers(), m.noise)
    cost, steps = 0, reweighting(consistent, rules=RULES)
    for q, a, step in list(zip(m.workload.query_sets, consistent.answers, steps, strict=True))[1:]:
        rows = matrix(q)
        cost += cp.sum(cp.multiply(step.weight[0], cp.square(rows @ x - a[0])))
        low = step.low[0]
        if low.any():
            cost += step.low_sum_weight[0] * cp.square(rows[low].sum(axis=0) @ x - step.low_sum[0])
    solve(cost, held)
    np.testing.assert_allclose(reweighted, x.value, atol=1e-4)


def plain_targets(m, own, first):
    """Targets of one run as the module's text has them, in noises, sums over cells one by one."""
    unit, rules, shape = m.noise[own].std, DEFAULT, m.workload.shape
    a = m.answers[own][0] / unit
    small = a < rules.large
    sizes = np.repeat(rules.grid[None], a.size, axis=0)
    long = [axis for axis, n in enumerate(shape) if n > 1]
    if len(long) > 1:
        expected = np.full(shape, first.sum())
        for axis in long:
            others = tuple(k for k in range(len(shape)) if k != axis)
            side = first.reshape(shape).sum(axis=others, keepdims=True) + rules.floor * unit
            expected = expected * side / (first.sum() or 1.0)
        sizes = np.hstack([sizes, expected.reshape(-1, 1) / unit * rules.ratios])
    away = a[:, None] - sizes
    log = -np.sqrt(2) * np.abs(away) if isinstance(m.noise[own], Laplace) else -(away**2) / 2
    shares = np.full(sizes.shape[1], (1 - rules.empty) / (sizes.shape[1] - 1))
    shares[0] = rules.empty

    def posterior(log, shares, steps):
        likely = np.exp(log - log.max(axis=1, keepdims=True))
        for _ in range(steps if small.any() else 0):
            joint = shares * likely
            shares = (joint / joint.sum(axis=1, keepdims=True))[small].mean(axis=0)
            shares = np.maximum(shares, 1e-12)  # a share of 0 would stay so
        joint = shares * likely
        joint /= joint.sum(axis=1, keepdims=True)
        mean = (joint * sizes).sum(axis=1)
        return shares, mean, np.maximum((joint * sizes**2).sum(axis=1) - mean**2, 1e-6)

    shares, mean, variance = posterior(log, shares, rules.first_steps)
    mean, variance = np.where(small, mean, a), np.where(small, variance, 1.0)
    linear, precision = np.zeros(a.size), np.zeros(a.size)
    asked = zip(m.workload.query_sets, m.answers, m.variances, strict=True)
    for k, (q, answers, v) in enumerate(asked):
        for i in np.flatnonzero(q.labels >= 0) if k != own and q.size > 1 else ():
            those = q.labels == q.labels[i]
            left = answers[0, q.labels[i]] / unit - mean[those].sum()
            spread = variance[those].sum() - variance[i] + rules.misfit * left**2
            precision[i] += 1 / (v / unit**2 + spread)
            linear[i] += (left + mean[i]) / (v / unit**2 + spread)
    if precision.any():
        centre = linear / np.where(precision > 0, precision, 1)
        log = log - (sizes - centre[:, None]) ** 2 * precision[:, None] / 2
        _, mean, variance = posterior(log, shares, rules.second_steps)
    kept = np.clip(1 / variance - precision, 1 / rules.most_variance, 1 / rules.least_variance)
    mean = np.clip((mean * (kept + precision) - linear) / kept, 0, rules.largest)
    variance = np.where(small, 1 / kept, rules.large_variance)
    return np.where(small, mean, a) * unit, variance * unit**2


@pytest.mark.parametrize("precise", [False, True])
@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.125)])
@pytest.mark.parametrize("shape", [(12,), (4, 5), (1, 9), (3, 2, 4)])
def test_targets_are_those_of_the_description(guarantee, shape, precise):
    table = uneven(shape) * 5
    table.flat[0] = 400
    m = measured(table, guarantee, runs=1, seed=3)
    own, first = len(m.noise) - 1, fit_sequential_ols(m).cells
    if precise:  # messages far from every size
        noise = (*(type(n)(n.std / 300) for n in m.noise[:-1]), m.noise[-1])
        m = Measurements(m.workload, m.answers, noise)
    mean, variance = plain_targets(m, own, first[0])
    found = shrink(m, own, first)
    np.testing.assert_allclose(found.mean[0], mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.variance[0], variance, rtol=1e-5)


@pytest.mark.parametrize(("side", "expected"), [(-0.002, DEFAULT.largest), (0.002, 0.0)])
def test_targets_stay_within_the_sizes_that_are_thought_of(side, expected):
    m = measured(np.zeros((2, 2)), ConcentratedDP(0.5), runs=1)
    unit = m.noise[-1].std
    noise = (*(type(m.noise[-1])(1e-5 * unit),) * 3, m.noise[-1])
    answers = *(np.full((1, n), side * unit) for n in (1, 2, 2)), np.full((1, 4), -30 * unit)
    m, first = Measurements(m.workload, answers, noise), np.zeros((1, 4))
    found = shrink(m, 3, first).mean
    np.testing.assert_allclose(found, expected * unit)
    np.testing.assert_allclose(found[0], plain_targets(m, 3, first[0])[0])


@settings(max_examples=25)
@given(seed=SEEDS)
def test_targets_of_any_workload_are_those_of_the_description(seed):
    m = random_measurements(seed)
    noise = m.noise[0]  # on every answer, none of which is further below 0 than it may carry one
    answers = tuple(np.maximum(a, -30 * noise.std) for a in m.answers)
    m = Measurements(m.workload, answers, (noise,) * len(answers))
    for own in [k for k, q in enumerate(m.workload.query_sets) if q.is_identity]:
        first = fit_sequential_ols(m).cells
        found = shrink(m, own, first)
        rounding = 1e-5 * m.noise[own].std + 3e-7 * max(np.abs(a).max() for a in m.answers)
        for run in (0, 1):
            mean, variance = plain_targets(m.select(np.array([run])), own, first[run])
            np.testing.assert_allclose(found.mean[run], mean, rtol=1e-5, atol=rounding)
            np.testing.assert_allclose(found.variance[run], variance, rtol=1e-5)
