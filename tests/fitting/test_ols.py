import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitting_oracle import matrix
from fitting_oracle import ols as oracle
from microdata_price.fitting import fit_ols
from microdata_price.fitting import ols as module
from microdata_price.fitting.own_cells import OwnCells
from microdata_price.model.measurement import Measurements
from microdata_price.model.noise import Laplace
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.optimize import TOLERANCE
from random_measurements import measured, random_measurements

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=60)
@given(seed=SEEDS)
def test_it_is_the_pseudoinverse(seed):
    m = random_measurements(seed)
    # The oracle squares the condition number of the weights; the certificates cover the rest.
    m = Measurements(m.workload, m.answers, (m.noise[0],) * len(m.noise))
    scale = m.noise[0].std + max(np.abs(a).max() for a in m.answers)
    for run, x in enumerate(fit_ols(m).cells):
        assert np.abs(x - oracle(m, run)).max() <= 1e-9 * scale


def test_large_workloads_without_structure_go_to_lsmr(monkeypatch):
    rng = np.random.default_rng(1)
    quads = QuerySet.from_labels(np.arange(30) // 4, "quads")
    odd = QuerySet.from_labels(np.where(np.arange(30) % 3 == 0, 0, -1), "thirds")
    w = Workload((quads, odd))
    answers = tuple(rng.normal(size=(3, q.size)) * 50 for q in w.query_sets)
    m = Measurements(w, answers, (Laplace(8.0), Laplace(1.0)))
    dense = fit_ols(m).cells
    monkeypatch.setattr(module, "_DENSE_CELLS", 0)
    monkeypatch.setattr(np.linalg, "lstsq", None)
    result = fit_ols(m)
    np.testing.assert_allclose(result.cells, dense, atol=1e-9)
    assert result.certificate.worst <= TOLERANCE


@pytest.mark.parametrize("shape", [(6,), (4, 5), (2, 3, 4)])
@pytest.mark.parametrize("kind", ["marginals", "labels", "twice"])
def test_what_has_a_closed_form_needs_no_other_solver(shape, kind, monkeypatch):
    monkeypatch.setattr(module, "_solve_any", None)
    m = measured(np.ones(shape))
    sets, answers, noise = m.workload.query_sets, m.answers, m.noise
    if kind == "labels":  # the cells, and aggregates to be eliminated
        sets = [QuerySet.from_labels(q.labels.reshape(shape), q.name) for q in sets]
    if kind == "twice":
        again = QuerySet.marginal(shape, sets[-1].axes, "again")
        sets, answers, noise = (*sets, again), (*answers, answers[-1] + 9), (*noise, noise[0])
    m = Measurements(Workload(tuple(sets)), answers, noise)
    assert fit_ols(m).certificate.worst <= TOLERANCE


@given(st.integers(1, 12), st.integers(1, 3), st.integers(0, 10**6))
def test_answers_and_variances_are_those_of_the_whole_problem(cells, others, seed):
    rng = np.random.default_rng(seed)
    sets = [QuerySet.identity(cells)]
    for k in range(others):
        labels = np.unique(rng.integers(0, 4, cells), return_inverse=True)[1] - rng.integers(0, 2)
        if labels.max() >= 0:
            sets.append(QuerySet.from_labels(labels, f"set {k}"))
    rng.shuffle(sets)
    workload = Workload(tuple(sets))
    if not OwnCells.serves(workload):
        return
    variances = rng.uniform(0.5, 50.0, len(sets))
    answers = [rng.normal(0, 30, (2, q.size)) for q in sets]
    rows = np.concatenate([matrix(q) for q in sets])
    weight = np.repeat(1 / variances, [q.size for q in sets])
    inverse = np.linalg.inv(rows.T @ (weight[:, None] * rows))
    expected = (np.concatenate(answers, axis=1) * weight) @ rows @ inverse
    solver = OwnCells(workload, variances)
    np.testing.assert_allclose(solver.solve(answers), expected, atol=1e-9)
    spread = np.diag(rows @ inverse @ rows.T)
    assert np.concatenate(solver.variances()) == pytest.approx(spread, rel=1e-9, abs=1e-9)
