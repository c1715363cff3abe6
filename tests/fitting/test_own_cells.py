"""Least squares with the aggregates eliminated: against the whole problem, solved densely."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.fitting.own_cells import OwnCells
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload


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
    rows = np.concatenate([(q.labels == np.arange(q.size)[:, None]).astype(float) for q in sets])
    weight = np.repeat(1 / variances, [q.size for q in sets])
    inverse = np.linalg.inv(rows.T @ (weight[:, None] * rows))
    expected = (np.concatenate(answers, axis=1) * weight) @ rows @ inverse
    solver = OwnCells(workload, variances)
    np.testing.assert_allclose(solver.solve(answers), expected, atol=1e-9)
    spread = np.diag(rows @ inverse @ rows.T)
    assert np.concatenate(solver.variances()) == pytest.approx(spread, rel=1e-9, abs=1e-9)
