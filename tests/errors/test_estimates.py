"""Error sums and estimates against NumPy on the raw errors, and their statistical promises."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from microdata_price.errors import estimates as er
from microdata_price.model.workload import Workload


def draw(seed: int, runs: int, sizes: list[int]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    control = [rng.laplace(0, 3, (runs, n)) for n in sizes]
    errors = [np.maximum(c, -1) + rng.normal(0.5, 1, c.shape) for c in control]
    return errors, control


batches = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
)


@given(batches, st.data())
def test_sums_of_blocks_are_the_sums_of_the_whole(
    batch: tuple[int, int, list[int]], data: st.DataObject
) -> None:
    errors, control = draw(*batch)
    runs = batch[1]
    whole = er.sum_errors(errors, control)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(runs - 1, 1)), max_size=4)) - {runs})
    edges = [0, *cuts, runs]
    parts = [
        er.sum_errors([e[a:b] for e in errors], [c[a:b] for c in control], first_run=a)
        for a, b in itertools.pairwise(edges)
    ]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined + part
    assert joined.runs.tolist() == whole.runs.tolist()
    assert joined.runs.sum() == runs
    np.testing.assert_allclose(joined.queries, whole.queries, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(joined.totals, whole.totals, rtol=1e-12, atol=1e-9)


@given(batches)
def test_estimates_are_those_of_the_raw_errors(batch: tuple[int, int, list[int]]) -> None:
    errors, control = draw(*batch)
    runs = batch[1]
    exact = np.full(sum(batch[2]), 18.0)
    sums, own = er.sum_errors(errors, control), er.sum_errors(control)
    found = er.query_errors(sums, own, exact)
    e, c = np.concatenate(errors, axis=1), np.concatenate(control, axis=1) ** 2
    np.testing.assert_allclose(found.bias, e.mean(axis=0), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.plain.value, (e**2).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.variance, e.var(axis=0), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(
        found.bias**2 + found.variance, found.plain.value, rtol=1e-10, atol=1e-12
    )
    for h in (0, 1):
        if e[h::2].size:
            np.testing.assert_allclose(found.halves.value[h], (e[h::2] ** 2).mean(axis=0))
        else:
            assert np.isnan(found.halves.value[h]).all()
    if runs == 1:
        assert np.isnan(found.plain.error).all()
    else:
        expected = (e**2).std(axis=0, ddof=1) / np.sqrt(runs)
        np.testing.assert_allclose(found.plain.error, expected, rtol=1e-6, atol=1e-9)
    if runs < 3:
        assert np.isnan(found.controlled.value).all()
        return
    # An independent fit: ordinary regression on the centred control, whose intercept is wanted.
    for k in range(e.shape[1]):
        line = stats.linregress(c[:, k] - exact[k], e[:, k] ** 2)
        assert found.controlled.value[k] == pytest.approx(line.intercept, rel=1e-6, abs=1e-7)
        assert found.controlled.error[k] == pytest.approx(line.intercept_stderr, rel=1e-4, abs=1e-6)


@given(batches)
def test_totals_are_those_of_the_raw_errors(batch: tuple[int, int, list[int]]) -> None:
    errors, control = draw(*batch)
    runs = batch[1]
    sums, own = er.sum_errors(errors, control), er.sum_errors(control)
    exact = 18.0 * np.array(batch[2])
    plain, sharp = er.total_errors(sums, own, exact)
    for k, (e, c) in enumerate(zip(errors, control, strict=True)):
        total, control_total = (e**2).sum(axis=1), (c**2).sum(axis=1)
        assert plain.value[k] == pytest.approx(total.mean(), rel=1e-12)
        if runs > 1:
            expected = total.std(ddof=1) / np.sqrt(runs)
            assert plain.error[k] == pytest.approx(expected, rel=1e-6, abs=1e-9)
        if runs > 2:
            line = stats.linregress(control_total - exact[k], total)
            assert sharp.value[k] == pytest.approx(line.intercept, rel=1e-6, abs=1e-7)
            assert sharp.error[k] == pytest.approx(line.intercept_stderr, rel=1e-4, abs=1e-6)
    own_plain, own_sharp = er.total_errors(own, own, exact)
    assert own_sharp.value.tolist() == exact.tolist()
    assert (own_sharp.error == 0).all()
    assert np.isfinite(own_plain.value).all()


def test_the_control_variate_sharpens_and_keeps_its_promise() -> None:
    """Over many experiments: unbiased, narrower, and its standard error is the true spread."""
    values, errors, plain_errors = [], [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        z = rng.normal(0, 2, (300, 1))
        e = np.maximum(z, -3.0)
        sums, own = er.sum_errors([e], [z]), er.sum_errors([z])
        found = er.query_errors(sums, own, np.array([4.0]))
        values.append(found.controlled.value[0])
        errors.append(found.controlled.error[0])
        plain_errors.append(found.plain.error[0])
    t = 1.5
    below = stats.norm.sf(t)
    truth = 4 * (1 - below - t * stats.norm.pdf(t)) + 9 * below
    spread = np.std(values, ddof=1)
    assert abs(np.mean(values) - truth) < 4 * spread / np.sqrt(400) + 0.01
    assert np.mean(errors) == pytest.approx(spread, rel=0.15)
    assert np.mean(errors) < 0.6 * np.mean(plain_errors)


def test_a_control_that_never_moves_changes_nothing() -> None:
    e = np.array([[1.0], [2.0], [5.0], [7.0]])
    sums = er.sum_errors([e], [np.ones((4, 1))])
    found = er.query_errors(sums, er.sum_errors([np.ones((4, 1))]), np.array([9.0]))
    assert found.controlled.value == found.plain.value
    assert np.isfinite(found.controlled.error).all()


def test_maxima_bracket_the_truth() -> None:
    """Fifty equal queries: the largest mean is too high, the split estimate is not."""
    high, split, spread = [], [], []
    for seed in range(200):
        e = np.random.default_rng(seed).normal(0, 1, (100, 50))
        sums = er.sum_errors([e])
        found = er.query_errors(sums, sums, np.ones(50))
        high.append(float(er.largest(found.plain).value))
        estimate = er.largest_split(found.halves)
        split.append(float(estimate.value))
        spread.append(float(estimate.error))
    assert np.mean(high) > 1.2
    assert abs(np.mean(split) - 1) < 4 * np.std(split) / np.sqrt(200)
    assert np.mean(spread) == pytest.approx(np.std(split), rel=0.15)


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=2), st.integers(1, 9))
def test_the_split_of_one_query_is_the_mean_of_its_halves(
    values: list[float], queries: int
) -> None:
    halves = er.Estimate(
        np.repeat(np.array(values)[:, None], queries, axis=1), np.ones((2, queries))
    )
    assert float(er.largest_split(halves).value) == pytest.approx(np.mean(values))


def test_largest_ignores_unknown_values() -> None:
    nan = np.nan
    best = er.largest(er.Estimate(np.array([nan, 2.0, 1.0]), np.array([nan, 0.1, 0.2])))
    assert (float(best.value), float(best.error)) == (2.0, 0.1)
    assert np.isnan(er.largest(er.Estimate(np.array([nan]), np.array([nan]))).value)
    one = er.query_errors(*[er.sum_errors([np.ones((1, 2))])] * 2, np.ones(2))
    assert np.isnan(er.largest_split(one.halves).value)


@settings(max_examples=50)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
)
def test_answer_errors_are_differences_of_answers(shape: list[int], runs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    w = Workload.table(shape)
    table = rng.integers(0, 50, shape).astype(float)
    cells = rng.normal(10, 5, (runs, w.cells))
    found = er.answer_errors(cells, table, w)
    for e, truth, q in zip(found, w.answers(table), w.query_sets, strict=True):
        assert e.shape == (runs, q.size)
        for r in range(runs):
            np.testing.assert_allclose(e[r], q.answers(cells[r].reshape(shape)) - truth, atol=1e-11)
