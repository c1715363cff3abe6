"""Exact errors against closed forms, dense linear algebra, quadrature and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from microdata_price.errors import known as ke
from microdata_price.exceptions import InputError
from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from random_measurements import random_workload


def dense(workload, variances):
    """Covariance of the fitted answers from the pseudo-inverse, the textbook way."""
    rows = [np.eye(q.size)[:, q.labels] * (q.labels >= 0) for q in workload.query_sets]
    a = np.concatenate(rows)
    v = np.repeat(variances, [q.size for q in workload.query_sets])
    fit = np.linalg.pinv(a / np.sqrt(v)[:, None]) / np.sqrt(v)
    hat = a @ fit
    return np.asarray((hat**2 * v).sum(axis=1))


@given(st.integers(1, 60), st.integers(1, 60), st.floats(1e-3, 1e6))
def test_lists_and_tables_have_the_closed_form(r, c, s2):
    found = np.concatenate(ke.ols_variances(Workload.table(r * c), [s2, s2]))
    np.testing.assert_allclose(found, s2 * r * c / (r * c + 1), rtol=1e-12)
    found = np.concatenate(ke.ols_variances(Workload.table((r, c)), [s2] * 4))
    np.testing.assert_allclose(found, s2 * r * c / ((r + 1) * (c + 1)), rtol=1e-12)


@settings(max_examples=150)
@given(st.integers(0, 10**6))
def test_any_workload_and_weights(seed):
    """Marginals, labels that leave cells out, or both; with and without their known structure."""
    rng = np.random.default_rng(seed)
    workload = random_workload(rng, 30)
    variances = (10.0 ** rng.uniform(-2, 2, len(workload.query_sets))).tolist()
    found = ke.ols_variances(workload, variances)
    assert [f.size for f in found] == [q.size for q in workload.query_sets]
    sets = tuple(QuerySet(q.name, q.shape, q.labels, q.size) for q in workload.query_sets)
    for each in (found, ke.ols_variances(Workload(sets), variances)):
        np.testing.assert_allclose(np.concatenate(each), dense(workload, variances), rtol=1e-7)


def test_large_workloads():
    found = ke.ols_variances(Workload.table(10**6), [2.0, 2.0])
    assert found[0][0] == pytest.approx(2 * 10**6 / (10**6 + 1), rel=1e-12)
    big = QuerySet.from_labels(np.arange(5000), "pieces")
    with pytest.raises(InputError, match="only sets of marginals may be that large"):
        ke.ols_variances(Workload((big,)), [1.0])


@pytest.mark.parametrize("noise", [Laplace(8.0), Laplace(0.3), Gaussian(2.0), Gaussian(11.0)])
@pytest.mark.parametrize("count", [0.0, 1.0, 7.0, 40.0])
def test_the_sum_of_sequential_fitting_by_quadrature(noise, count):
    laplace = isinstance(noise, Laplace)
    law = stats.laplace(scale=noise.scale) if laplace else stats.norm(scale=noise.std)
    w = Workload.table(4)
    table = np.array([count, 0.0, 0.0, 0.0])
    above, _ = integrate.quad(lambda z: z * z * law.pdf(z), -count, 0, epsabs=1e-12, epsrel=1e-12)
    expected = above + law.var() / 2 + count**2 * law.cdf(-count)
    found = ke.known_errors("sequential", w, (noise, noise), w.answers(table))
    assert found[0].tolist() == pytest.approx([expected], rel=1e-9)


def test_what_is_known_of_each_method():
    w = Workload.table((2, 3))
    truth = w.answers(np.ones((2, 3)))
    noise = (Laplace(8.0),) * 4
    assert all(np.isfinite(e).all() for e in ke.known_errors("ols", w, noise, truth))
    (total,), *others = ke.known_errors("sequential", w, noise, truth)
    assert total == pytest.approx(128 - math.exp(-6 / 8) * (6 * 8 + 64))
    back = Workload(w.query_sets[::-1])
    others += ke.known_errors("sequential", back, noise, truth[::-1])
    for method in ("nnls", "maxfit", "reweighted"):
        others += ke.known_errors(method, w, noise, truth)
    assert all(np.isnan(e).all() for e in others)
