"""Estimated errors against NumPy on the raw ones, exact errors against algebra and quadrature."""

import functools
import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fitting_oracle import matrix
from microdata_price.errors import estimates as est
from microdata_price.errors import known as ke
from microdata_price.errors.estimates import Estimate, query_errors
from microdata_price.errors.sums import answer_errors, sum_errors
from microdata_price.exceptions import InputError
from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.theory.upper.exact_errors import clipped
from random_measurements import random_workload


def draw(seed, runs, sizes):
    rng = np.random.default_rng(seed)
    control = [rng.laplace(0, 3, (runs, n)) for n in sizes]
    return [np.maximum(c, -1) + rng.normal(0.5, 1, c.shape) for c in control], control


SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=4)
batches = st.builds(draw, st.integers(0, 2**32 - 1), st.integers(1, 60), SIZES)


@given(batches, st.sets(st.integers(1, 59), max_size=4))
def test_sums_of_blocks_are_the_sums_of_the_whole(batch, cuts):
    errors, control = batch
    runs, whole = len(errors[0]), sum_errors(errors, control)
    parts = [
        sum_errors([e[a:b] for e in errors], [c[a:b] for c in control], first_run=a)
        for a, b in itertools.pairwise([0, *sorted(c for c in cuts if c < runs), runs])
    ]
    joined = sum(parts[1:], parts[0])
    assert (joined.runs.tolist(), joined.runs.sum()) == (whole.runs.tolist(), runs)
    np.testing.assert_allclose(joined.queries, whole.queries, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(joined.totals, whole.totals, rtol=1e-12, atol=1e-9)


def check_estimates(plain, sharp, raw, control, exact):
    """Compare with means of the raw squares, and with ordinary regression on the control."""
    runs = len(raw)
    np.testing.assert_allclose(plain.value, raw.mean(axis=0), rtol=1e-12)
    if runs == 1:
        assert np.isnan(plain.error).all()
    else:
        expected = raw.std(axis=0, ddof=1) / np.sqrt(runs)
        np.testing.assert_allclose(plain.error, expected, rtol=1e-6, atol=1e-9)
    if runs < 3:
        assert np.isnan(sharp.value).all()
        return
    for k in range(raw.shape[1]):
        line = stats.linregress(control[:, k] - exact[k], raw[:, k])
        assert sharp.value[k] == pytest.approx(line.intercept, rel=1e-6, abs=1e-7)
        assert sharp.error[k] == pytest.approx(line.intercept_stderr, rel=1e-4, abs=1e-6)


@given(batches)
def test_estimates_are_those_of_the_raw_errors(batch):
    errors, control = batch
    sizes = np.array([e.shape[1] for e in errors])
    sums, own = sum_errors(errors, control), sum_errors(control)
    exact = np.full(sizes.sum(), 18.0)
    found = query_errors(sums, own, exact)
    e, c = np.concatenate(errors, axis=1), np.concatenate(control, axis=1) ** 2
    check_estimates(found.plain, found.controlled, e**2, c, exact)
    np.testing.assert_allclose(found.bias, e.mean(axis=0), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.variance, e.var(axis=0), rtol=1e-8, atol=1e-9)
    for h in (0, 1):
        if e[h::2].size:
            np.testing.assert_allclose(found.halves.value[h], (e[h::2] ** 2).mean(axis=0))
        else:
            assert np.isnan(found.halves.value[h]).all()
    exact = 18.0 * sizes
    totals = (np.stack([(part**2).sum(axis=1) for part in parts], axis=1) for parts in batch)
    check_estimates(*est.total_errors(sums, own, exact), *totals, exact)
    plain, sharp = est.total_errors(own, own, exact)
    assert (sharp.value.tolist(), sharp.error.any()) == (exact.tolist(), False)
    assert np.isfinite(plain.value).all()


def test_a_control_that_never_moves_changes_nothing():
    e, still = np.array([[1.0], [2.0], [5.0], [7.0]]), np.ones((4, 1))
    found = query_errors(sum_errors([e], [still]), sum_errors([still]), np.array([9.0]))
    assert found.controlled.value == found.plain.value
    assert np.isfinite(found.controlled.error).all()


def test_maxima_of_equal_of_different_and_of_unknown_values():
    halves = Estimate(np.array([[2.0] * 4, [5.0] * 4]), np.ones((2, 4)))
    assert float(est.largest_split(halves).value) == pytest.approx(3.5)
    # Each half chooses a query, and the other says its value: no half is asked of its own choice.
    halves = Estimate(np.array([[9.0, 3.0], [2.0, 7.0]]), np.array([[0.1, 0.3], [0.4, 0.2]]))
    split = est.largest_split(halves)
    assert (float(split.value), float(split.error)) == pytest.approx((2.5, 0.25))
    nan = np.nan
    best = est.largest(Estimate(np.array([nan, 2.0, 1.0]), np.array([nan, 0.1, 0.2])))
    assert (float(best.value), float(best.error)) == (2.0, 0.1)
    assert np.isnan(est.largest(Estimate(np.array([nan]), np.array([nan]))).value)
    one = query_errors(*[sum_errors([np.ones((1, 2))])] * 2, np.ones(2))
    assert np.isnan(est.largest_split(one.halves).value)


def exact(workload, variances):
    """Covariance of the fitted answers in 150 digits, with a ridge for what is not asked."""
    rows = np.concatenate([matrix(q) for q in workload.query_sets])
    with mpmath.workdps(150):
        v = np.repeat([mpmath.mpf(v) for v in variances], [q.size for q in workload.query_sets])
        normal = rows.T @ (rows / v[:, None]) + np.eye(workload.cells) * mpmath.mpf("1e-70")
        covariance = rows @ np.array((mpmath.matrix(normal) ** -1).tolist()) @ rows.T
        return np.diagonal(covariance).astype(float)


@pytest.mark.filterwarnings("error")
@given(st.integers(0, 10**6), st.sampled_from([2, 12, 18]))
def test_any_workload_and_weights(seed, digits):
    """Shares from 1e-9 to 1: marginals, labels that leave cells out, or both, by each way."""
    rng = np.random.default_rng(seed)
    workload = random_workload(rng, 10)
    sets = tuple(QuerySet(q.name, q.shape, q.labels, q.size) for q in workload.query_sets)
    variances = (10.0 ** rng.uniform(0, digits, len(sets))).tolist()
    found = [ke.ols_variances(w, variances) for w in (workload, Workload(sets))]
    cells = any(q.is_identity for q in sets)  # else a smaller matrix will do
    for each in (*found, *(ke._variances(workload, variances, b) for b in {True, cells})):
        np.testing.assert_allclose(np.concatenate(each), exact(workload, variances), rtol=1e-9)
    rough = ke.asks_cells(workload) and ke.own_variances(workload, variances, 1e-4)
    if rough:  # it is fast, and says itself where rounding may take more
        np.testing.assert_allclose(np.concatenate(rough), np.concatenate(found[0]), rtol=1e-4)


def test_large_workloads():
    found = ke.ols_variances(Workload.table(10**6), [2.0, 2.0])
    assert found[0][0] == pytest.approx(2 * 10**6 / (10**6 + 1), rel=1e-12)
    big = QuerySet.from_labels(np.arange(9000) // 2, "pieces")
    with pytest.raises(InputError, match="ask for marginals alone, or for fewer query sets"):
        ke.ols_variances(Workload((big,)), [1.0])
    sides = Workload.table((500, 20)).query_sets[:-1]  # without the cells, and not as marginals
    plain = Workload(tuple(QuerySet(q.name, q.shape, q.labels, q.size) for q in sides))
    found, told = (ke.ols_variances(w, [50.0, 9.0, 2.0]) for w in (plain, Workload(sides)))
    np.testing.assert_allclose(np.concatenate(found), np.concatenate(told), rtol=1e-11)


BOX, TWO = Workload.table((3, 4)), Workload.table(2)
APART = functools.partial(ke.known_errors, "sequential", TWO)
SHAPES = (2, 1), (2, 11), (12,), (0, 12), (2, 3, 4)
E = np.ones((2, 3))
MISSHAPEN = ([],), ([E[0]],), ([E, E[:1]],), ([E[:0]],), ([E], [E.T]), ([E], [E] * 2)
VARIANCES = (1, -1, 1, 1), (1, math.nan, 1, 1), (1, 0, 1, 1), (math.inf,) * 4, (1, 1), (1,) * 5
WRONG = [
    *((r"needed is \(runs, 12\)", answer_errors, np.ones(s), np.ones((3, 4)), BOX) for s in SHAPES),
    ("not a finite number", answer_errors, [[math.nan, 1.0]], [1, 1], TWO),
    (r"is for shape \(3, 4\)", answer_errors, np.ones((1, 12)), np.ones((4, 3)), BOX),
    *(("must have 4 positive variances", ke.ols_variances, BOX, v) for v in VARIANCES),
    *(("must be equally many", APART, [Laplace(1)] * k, [[3.0]] * (3 - k)) for k in (1, 2)),
    ("not a finite number", APART, [Laplace(1)] * 2, [[3.0], [1.0, math.nan]]),
    ("an error is nan; it must be a finite number", sum_errors, [[[math.nan]]]),
    *((r"needed of both is \(runs, queries\)", sum_errors, *given) for given in MISSHAPEN),
]


@pytest.mark.parametrize(("said", "call", "given"), [(s, c, given) for s, c, *given in WRONG])
def test_what_is_no_error_or_variance_is_refused(said, call, given):
    with pytest.raises(InputError, match=said):
        call(*given)


def test_what_is_known_of_each_method():
    w = Workload.table((2, 3))
    truth = w.answers(np.ones((2, 3)))
    noise = (Laplace(8.0), *[Laplace(3.0)] * 3)
    assert answer_errors(np.ones((2, 5)).T, [1, 1], TWO)[1].flags.f_contiguous  # as given
    assert all(np.isfinite(e).all() for e in ke.known_errors("ols", w, noise, truth))
    (total,), *others = ke.known_errors("sequential", w, noise, truth)
    assert total == pytest.approx(128 - math.exp(-6 / 8) * (6 * 8 + 64))
    (total,), *_ = ke.known_errors("sequential", w, (Gaussian(11.0), *noise[1:]), truth)
    assert total == float(clipped(Gaussian(11.0), 6).squared_error)
    others += ke.known_errors("sequential", Workload(w.query_sets[::-1]), noise, truth[::-1])
    for method in ("nnls", "maxfit", "reweighted"):
        others += ke.known_errors(method, w, noise, truth)
    assert all(np.isnan(e).all() for e in others)
