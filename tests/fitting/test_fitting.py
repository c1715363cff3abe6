"""All methods: certificates, oracles and the properties that each must have."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from fitting_oracle import ORACLES, least_norm, stacked
from microdata_price.errors.known import ols_variances
from microdata_price.exceptions import CertificateError
from microdata_price.fitting import METHODS, fit
from microdata_price.fitting.fit import finish
from microdata_price.model.measurement import Measurements, measure
from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.optimize import TOLERANCE, WORST_TOLERANCE, Certificate
from random_measurements import measured, random_measurements, uneven

SEEDS = st.integers(0, 2**32 - 1)
SINGLE = [m for m in METHODS if m != "consensus"]
"""Methods that solve problems; a mean of fits solves none, and has its own tests."""


def sparse(shape):
    table = np.zeros(shape)
    table.flat[0] = 10_000
    return table


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25)
@given(seed=SEEDS)
def test_every_fit_of_any_workload_is_certified(method, seed):
    m = random_measurements(seed)
    result = fit(m, method)
    assert result.certificate.worst <= 100 * TOLERANCE
    assert result.cells.shape == (m.runs, m.workload.cells)
    if method != "ols":
        scale = min(n.std for n in m.noise) + max(np.abs(a).max() for a in m.answers)
        assert result.cells.min() >= -1e-9 * scale


@pytest.mark.parametrize("method", SINGLE)
@settings(max_examples=12)
@given(seed=SEEDS)
def test_answers_agree_with_the_definition_solved_by_another_solver(method, seed):
    m, rng = random_measurements(seed, runs=1, cells=16), np.random.default_rng(seed)
    # With answers near 1 and noise of 0.1, which the oracle can tell apart.
    unit = 1 + max(np.abs(a).max() for a in m.answers)
    answers = tuple(a / unit + 0.1 * rng.laplace(size=a.shape) for a in m.answers)
    m = Measurements(m.workload, answers, (type(m.noise[0])(0.1),) * len(m.noise))
    ours, theirs = fit(m, method).cells[0], ORACLES[method](m, 0)
    a, _, _ = stacked(m, 0)
    assert np.abs(a @ (ours - theirs)).max() <= 1e-5
    # Where the answers leave the table open, it is that of least norm.
    assert np.abs(ours - least_norm(a, a @ ours, nonnegative=method != "ols")).max() <= 1e-4


def huge(count, epsilon):
    table = np.zeros((4, 5))
    m = measured(table, PureDP(epsilon))  # of zeros: what rounding would drown is not simulated
    table[1, 2:4] = count
    moved = zip(m.answers, m.workload.answers(table), strict=True)
    return dataclasses.replace(m, answers=tuple(a + t for a, t in moved))


def nested():
    county = QuerySet.from_labels(np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 2]), "county")
    sets = (QuerySet.sum_query(10), county, QuerySet.identity(10))
    table = np.array([90, 0, 0, 4, 0, 0, 0, 1, 0, 50])
    return measure(table, Workload(sets), PureDP(0.5), runs=20, rng=np.random.default_rng(5))


def mixed(*scales):
    m, kinds = measured(uneven()), (Laplace, Gaussian) * 2
    noise = tuple(k(s) for k, s in zip(kinds, scales, strict=True))
    return Measurements(m.workload, m.answers, noise)


HARD = {
    "even split": lambda: measured(sparse((5, 6)), split=(0.25,) * 4),
    "nearly all for the sum": lambda: measured(sparse((5, 6)), split=(0.94, 0.02, 0.02, 0.02)),
    "nothing for the sum": lambda: measured(sparse((5, 6)), split=(1e-6, 0.5, 0.25, 0.249999)),
    "huge counts, little noise": lambda: huge(10**9, 4e6),
    "huge counts": lambda: huge(10**9, 1.0),
    # A general solver that is fed an earlier stage's inexact answer calls many infeasible.
    "many sparse runs": lambda: measured(sparse((10, 10)), runs=100),
    "many cells": lambda: measured(sparse((70, 60)), runs=2),
    "nested totals": nested,
    "noises of two kinds": lambda: mixed(2.0, 3.0, 2.0, 3.0),
    "exact rows": lambda: mixed(2.0, 3.0, 1e-3, 5.0),
    "a vague sum": lambda: mixed(1e4, 2.0, 2.0, 2.0),
    "vague cells": lambda: mixed(1.0, 1.0, 1.0, 1e4),
}


SHAPES = [(30,), (5, 6), (3, 2, 4), (1, 7), (7, 1), (1,), (1, 1)]
HARD |= {str(s): lambda s=s: measured(sparse(s), ConcentratedDP(0.125)) for s in SHAPES}
HARD |= {f"{s} of zeros": lambda s=s: measured(np.zeros(s)) for s in SHAPES}
# Low answers may count for nothing beside their sum: weights differ by more than 64 bits hold.
HARD |= {f"e = {e}": lambda e=e: measured(sparse((12, 12)), PureDP(e)) for e in (1e-7, 4e-9, 4e-12)}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", HARD)
def test_hard_measurements_are_fitted(method, case):
    assert fit(HARD[case](), method).certificate.worst <= 100 * TOLERANCE


@pytest.mark.parametrize("shape", [(2,) * 11, (1,) * 30 + (2, 3)])
def test_least_squares_of_many_axes_does_not_list_all_their_interactions(shape):
    w = Workload.table(shape)
    m = measure(np.ones(shape), w, PureDP(1.0), runs=1, rng=np.random.default_rng(2))
    a, b, v = stacked(m, 0)
    inverse = np.linalg.inv(a.T / v @ a)
    np.testing.assert_allclose(fit(m, "ols").cells[0], inverse @ (a.T / v @ b), atol=1e-8)
    found = np.concatenate(ols_variances(w, m.variances))
    np.testing.assert_allclose(found, np.einsum("ij,jk,ik->i", a, inverse, a, optimize=True))


@pytest.mark.parametrize("share", [1e-4, 1e-6])
@pytest.mark.parametrize(("shape", "most"), [((4, 5), 10**7), ((50, 20), 4 * 10**5)])
def test_a_very_noisy_query_set_is_not_lost_beside_the_others(share, shape, most):
    """No cell is near 0, so that least squares with nonnegative cells is that with any."""
    sets = tuple(QuerySet.marginal(shape, kept) for kept in ((), (0,), (1,)))
    rng = np.random.default_rng(1)
    table, split = rng.integers(most / 2, most, shape), np.array([1 - share, 2 * share, 1 - share])
    m = measure(table, Workload(sets), PureDP(1.0), runs=1, rng=rng, split=split / 2)
    signed = fit(m, "ols").answers()
    for method in ("nnls", "consensus"):
        for one, other, noise in zip(fit(m, method).answers(), signed, m.noise, strict=True):
            assert np.abs(one - other).max() < 1e-3 * noise.std


@pytest.mark.parametrize("method", METHODS)
def test_runs_do_not_depend_on_each_other(method):
    m = measured(uneven((9, 24)), runs=45)
    whole = fit(m, method).cells
    parts = [fit(m.select(slice(k, k + 15)), method).cells for k in (0, 15, 30)]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=0, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_rows_and_columns_moved_and_swapped_are_so_in_the_fit(method):
    m, rng = measured(uneven()), np.random.default_rng(3)
    rows, columns = rng.permutation(4), rng.permutation(5)
    total, r, c, cells = m.answers
    cells = cells.reshape(-1, 4, 5)[:, rows][:, :, columns].swapaxes(1, 2).reshape(-1, 20)
    moved = Measurements(Workload.table((5, 4)), (total, c[:, columns], r[:, rows], cells), m.noise)
    # Sequential fitting gives rows priority over columns, but both are fitted before the cells.
    expected = fit(m, method).tables[:, rows][:, :, columns].swapaxes(1, 2)
    np.testing.assert_allclose(fit(moved, method).tables, expected, atol=1e-7)


@pytest.mark.parametrize("method", [m for m in METHODS if m != "reweighted"])
@pytest.mark.parametrize("factor", [1e-4, 37.0, 1e5])
def test_the_unit_of_counts_plays_no_part(method, factor):
    m = measured(uneven())
    answers = tuple(factor * a for a in m.answers)
    scaled = Measurements(m.workload, answers, (Laplace(factor * m.noise[0].scale),) * 4)
    expected = factor * fit(m, method).cells
    np.testing.assert_allclose(fit(scaled, method).cells, expected, atol=1e-7 * factor)


def test_a_fit_without_a_certificate_is_refused_and_the_run_named():
    for bad, said in (
        ([WORST_TOLERANCE, 1e-3, np.inf], r"nnls: run 1, 2 .counting from 0; 2 of 3"),
        ([1.0] * 5, r"run 0, 1, 2, 3, 4 .counting from 0; 5 of 5"),
        ([1.0] * 6, r"run 0, 1, 2, 3, 4, \.\.\. .counting from 0; 6 of 6"),
    ):
        zeros, m = np.zeros(len(bad)), measured(np.ones(2), runs=len(bad))
        with pytest.raises(CertificateError, match=said):
            finish("nnls", m, np.zeros((len(bad), 2)), Certificate(zeros, np.array(bad), zeros))


def test_a_fit_uses_one_thread_and_leaves_the_others_as_they_were(monkeypatch):
    seen = []

    def threads():
        # Those of numpy and scipy, which fits call; the tests load other solvers with their own.
        found = [lib for lib in threadpool_info() if "scs" not in lib["filepath"]]
        return {library["num_threads"] for library in found}

    method = dataclasses.replace(METHODS["nnls"], function=lambda _: seen.append(threads()))
    monkeypatch.setitem(METHODS, "nnls", method)
    with threadpool_limits(limits=2):
        before = threads()
        fit(measured(uneven()), "nnls")
        assert threads() == before == {2}
    assert seen == [{1}]
