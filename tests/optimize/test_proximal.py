"""Problems whose cells have no weights: proximal steps against the conic solver."""

import numpy as np
import pytest

from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import WORST_TOLERANCE, Problem, attempt, solve
from microdata_price.optimize.conic import solve_conic
from microdata_price.optimize.merge import merge
from random_measurements import random_workload
from random_problems import KINDS, Recipe, random_sets, random_terms, term

NOISE = 4.0
RUNS = 5
RECIPE = Recipe(large=60, noise=NOISE)


@pytest.mark.parametrize("kind", KINDS)
def test_random_workloads_have_the_conic_solvers_answers(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    missed, far = 0, 0
    for k in range(24):
        sets = random_workload(rng, 60).query_sets if k % 4 else random_sets(rng, "tree")[:-1]
        problem = random_terms(rng, sets, kind, RECIPE, RUNS)
        fast, certificate = attempt(problem)
        good = certificate.per_run <= WORST_TOLERANCE
        missed += int((~good).sum())
        slow = solve_conic(problem)
        for t in problem.terms:  # answers are unique, and so is the table of least norm
            apart = np.abs(t.answers(fast.x) - t.answers(slow.x))[good] / NOISE
            assert apart.max(initial=0.0) <= 1e-5
        far += int((np.abs(fast.x - slow.x).max(axis=1)[good] > 1e-3 * NOISE).sum())
    assert missed <= 1  # of 120
    assert far == 0


@pytest.mark.parametrize("kind", ["least squares", "equalities"])
def test_the_answers_do_not_depend_on_the_table_at_which_the_steps_begin(kind):
    rng = np.random.default_rng(7)
    shape, open_cells = (4, 5, 3), 0
    for keep in (((0, 1), (1, 2)), ((0, 1), (1,)), ((0, 1), (0, 2), (1, 2))):  # the second merges
        sets = [QuerySet.marginal(shape, k) for k in keep]
        problem = random_terms(rng, sets, kind, RECIPE, RUNS)
        near = rng.integers(0, 90, (RUNS, 60)) * (rng.random((RUNS, 60)) < 0.5).astype(float)
        there, certificate = attempt(problem, least_norm=False, near=near)
        assert certificate.worst <= WORST_TOLERANCE
        far, _ = attempt(problem, least_norm=False)
        for t in problem.terms:
            np.testing.assert_allclose(t.answers(there.x), t.answers(far.x), atol=1e-5)
        open_cells += int((np.abs(there.x - far.x) > NOISE).sum())
        settled, _ = attempt(problem, near=near)
        np.testing.assert_allclose(settled.x, attempt(problem)[0].x, atol=1e-3 * NOISE)
    assert open_cells > 0  # it was another table, but for the answers


@pytest.mark.parametrize("seed", range(5))
def test_held_answers_may_contradict_each_other_by_rounding(seed):
    rng = np.random.default_rng(seed)
    shape = (4, 5, 3)
    x = rng.integers(0, 50, (3, *shape)) * (rng.random((3, *shape)) < 0.4) / 3
    *sets, q = (QuerySet.marginal(shape, k) for k in ((0, 1), (0, 2), (1, 2)))
    exact = [s.answers(x) for s in sets]
    said = [np.maximum(a * (1 + 1e-14 * rng.normal(size=a.shape)), 0.0) for a in exact]
    asked = term(q, q.answers(x) + NOISE * rng.normal(size=(3, q.size)), 1 / NOISE**2)
    held = (term(s, a, np.inf) for s, a in zip(sets, said, strict=True))
    problem = Problem((*held, asked))
    fast, certificate = attempt(problem)
    assert certificate.worst <= WORST_TOLERANCE
    slow = solve_conic(problem)
    np.testing.assert_allclose(q.answers(fast.x), q.answers(slow.x), atol=1e-5 * NOISE)


@pytest.mark.parametrize("seed", range(6))
def test_held_answers_may_pin_some_cells_to_zero(seed):
    """Rows of a random workload that are held at 0 empty their cells; the others are fitted."""
    rng = np.random.default_rng(seed)
    shape = (5, 4, 3)
    x = rng.integers(1, 50, (RUNS, *shape)).astype(float)
    x[:, rng.random(5) < (0.5 if seed else 1.0)] = 0  # with the first seed every cell is pinned
    rows, *sets = (QuerySet.marginal(shape, k) for k in ((0,), (0, 1), (1, 2)))
    asked = [q.answers(x) + NOISE * rng.laplace(size=(RUNS, q.size)) for q in sets]
    terms = (term(q, a, 1 / NOISE**2) for q, a in zip(sets, asked, strict=True))
    problem = Problem((term(rows, rows.answers(x), np.inf), *terms))
    fast, certificate = solve(problem)
    assert certificate.worst <= WORST_TOLERANCE
    assert certificate.conic_calls == 0
    assert np.abs(fast.x[rows.spread(rows.answers(x)) == 0]).max(initial=0.0) <= 1e-9
    np.testing.assert_allclose(fast.x, solve_conic(problem).x, atol=1e-3 * NOISE)


def test_cells_that_no_query_tells_apart_share_evenly():
    shape = (3, 4, 2)
    rows, columns = (QuerySet.marginal(shape, (a,)) for a in (0, 1))
    problem = Problem((term(rows, [6, -1, 9], 1), term(columns, [5, 1, 2, 4], 1)))
    merged = merge(problem)
    assert merged is not None
    assert merged.problem.shape == (3, 4)
    x = solve(problem)[0].x.reshape(shape)
    np.testing.assert_array_equal(x[:, :, 0], x[:, :, 1])
    cells = term(QuerySet.identity(shape), np.zeros(24), 1)
    assert merge(Problem((*problem.terms, cells))) is None
