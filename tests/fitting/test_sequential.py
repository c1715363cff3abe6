import sys
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microdata_price.fitting import fit_sequential, sequential_stages
from microdata_price.fitting.fit import held, weighted
from microdata_price.fitting.refinement import parents
from microdata_price.model.measurement import measure
from microdata_price.model.privacy import PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.optimize import WORST_TOLERANCE, Problem, certify
from microdata_price.optimize.conic import solve_conic
from microdata_price.optimize.tuning import TUNING
from random_measurements import random_measurements

SEEDS = st.integers(0, 2**32 - 1)


def check_stages(m, tolerance):
    """Stages solved on smaller tables are those of Algorithm 1, which has all cells in each."""
    stages = sequential_stages(m)
    scale = max(n.std for n in m.noise) + max(np.abs(a).max() for a in m.answers)
    for k, (a, v) in enumerate(zip(m.answers, m.variances, strict=True)):
        earlier = [held(s.queries, s.answers) for s in stages[:k]]
        problem = Problem((*earlier, weighted(stages[k].queries, a, v)))
        full = solve_conic(problem)
        assert certify(problem, full).worst <= WORST_TOLERANCE
        expected = problem.terms[-1].answers(full.x)
        assert np.abs(expected - stages[k].answers).max() <= tolerance
    for s, last in zip(stages, fit_sequential(m).answers(), strict=False):
        np.testing.assert_allclose(last, s.answers, atol=1e-8 * scale)
    return stages


@settings(max_examples=25)
@given(seed=SEEDS)
def test_each_stage_is_optimal_for_the_whole_table(seed):
    m = random_measurements(seed, cells=16)
    check_stages(m, 1e-6 * (m.noise[0].std + max(np.abs(b).max() for b in m.answers)))


def overlapping(seed, shape, ways, runs=3):
    """Measure all marginals on so many axes of a sparse table, in a random order of priority."""
    rng = np.random.default_rng(seed)
    sets = [QuerySet.marginal(shape, k) for k in combinations(range(len(shape)), ways)]
    workload = Workload(tuple(sets[k] for k in rng.permutation(len(sets))))
    table = rng.integers(0, 90, shape) * (rng.random(shape) < 0.3)
    return measure(table, workload, PureDP(0.5), runs=runs, rng=rng)


@pytest.mark.parametrize("dense_unknowns", [0, 1000], ids=["conjugate gradients", "dense"])
@pytest.mark.parametrize(("shape", "ways"), [((3, 4, 5), 2), ((2, 3, 3, 4), 2), ((3, 2, 3, 2), 3)])
def test_each_stage_of_overlapping_marginals_is_optimal(shape, ways, dense_unknowns, monkeypatch):
    few = replace(TUNING, dense_unknowns=dense_unknowns)
    monkeypatch.setattr("microdata_price.optimize.partitions.TUNING", few)
    m = overlapping(5, shape, ways)
    for stage in check_stages(m, 1e-5 * m.noise[0].std):
        assert stage.certificate.worst <= 1e-9
        assert stage.certificate.conic_calls == 0


def test_answers_that_are_held_together_are_those_of_one_table(monkeypatch):
    """Two stages' answers agree to their certificates only; held so, no table has them."""
    given = []
    module = sys.modules["microdata_price.fitting.sequential"]
    real = module.attempt

    def spy(problem, *rest, **named):
        given.append(problem)
        return real(problem, *rest, **named)

    monkeypatch.setattr(module, "attempt", spy)
    shape = (3, 4, 2, 5)
    sequential_stages(overlapping(6, shape, 3))
    compared = 0
    for problem in given:
        for a, b in combinations(problem.terms[:-1], 2):
            both = QuerySet.marginal(shape, sorted({*a.queries.axes} & {*b.queries.axes}))
            one, other = (
                QuerySet.from_labels(parents(t.queries, both), "both").answers(t.target)
                for t in (a, b)
            )
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
            compared += 1
    assert compared >= 3


def test_answers_that_agree_by_their_certificates_only_are_no_contradiction():
    m = random_measurements(467)  # labels that leave cells out, counts near 10^5
    result = fit_sequential(m)
    assert result.certificate.worst <= WORST_TOLERANCE
    assert result.certificate.conic_calls == 0


def test_marginals_add_up_without_rounding():
    """Rows and columns that are held together must have one total, to the last bit."""
    rng = np.random.default_rng(4)
    table = rng.integers(0, 3, (9, 24)) * 1000
    m = measure(table, Workload.table((9, 24)), PureDP(0.5), runs=200, rng=rng)
    total, rows, columns, _ = (s.answers for s in sequential_stages(m))
    np.testing.assert_array_equal(rows.sum(axis=1), total[:, 0])
    np.testing.assert_array_equal(columns.sum(axis=1), total[:, 0])
    np.testing.assert_allclose(total[:, 0], np.maximum(m.answers[0][:, 0], 0), rtol=1e-15)
