"""Problems whose cells have no weights: proximal steps against the conic solver."""

import numpy as np
import pytest

from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import (
    WORST_TOLERANCE,
    Problem,
    Term,
    attempt,
    certify,
    solve,
)
from microdata_price.optimize.conic import solve_conic
from microdata_price.optimize.merge import merge
from random_measurements import random_workload
from random_problems import KINDS, Recipe, random_sets, random_terms

NOISE = 4.0
RUNS = 5
RECIPE = Recipe(large=60, noise=NOISE)


@pytest.mark.parametrize("kind", KINDS)
def test_hundreds_of_random_workloads_have_the_conic_solvers_answers(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    missed, far = 0, 0
    for k in range(60):
        sets = random_workload(rng, 60).query_sets if k % 4 else random_sets(rng, "tree")[:-1]
        problem = random_terms(rng, sets, kind, RECIPE, RUNS)
        fast, certificate = attempt(problem)
        good = certificate.per_run <= WORST_TOLERANCE
        missed += int((~good).sum())
        slow = solve_conic(problem)
        assert certify(problem, slow).worst <= WORST_TOLERANCE
        for term in problem.terms:  # answers are unique, and so is the table of least norm
            apart = np.abs(term.answers(fast.x) - term.answers(slow.x))[good] / NOISE
            assert apart.max(initial=0.0) <= 1e-5
        far += int((np.abs(fast.x - slow.x).max(axis=1)[good] > 1e-3 * NOISE).sum())
    assert missed <= 3  # of 300
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
        for term in problem.terms:
            np.testing.assert_allclose(term.answers(there.x), term.answers(far.x), atol=1e-5)
        open_cells += int((np.abs(there.x - far.x) > NOISE).sum())
        settled, _ = attempt(problem, near=near)
        np.testing.assert_allclose(settled.x, attempt(problem)[0].x, atol=1e-3 * NOISE)
    assert open_cells > 0  # it was another table, but for the answers


@pytest.mark.parametrize("seed", range(10))
def test_held_answers_may_contradict_each_other_by_rounding(seed):
    rng = np.random.default_rng(seed)
    shape = (4, 5, 3)
    x = rng.integers(0, 50, (3, 60)) * (rng.random((3, 60)) < 0.4) / 3
    terms = []
    for k in ((0, 1), (0, 2)):
        q = QuerySet.marginal(shape, k)
        said = q.answers(x.reshape(3, *shape))
        said = np.maximum(said * (1 + 1e-14 * rng.normal(size=said.shape)), 0.0)
        terms.append(Term(q, said, np.full(said.shape, np.inf)))
    q = QuerySet.marginal(shape, (1, 2))
    asked = q.answers(x.reshape(3, *shape)) + NOISE * rng.normal(size=(3, q.size))
    problem = Problem((*terms, Term(q, asked, np.full(asked.shape, 1 / NOISE**2))))
    fast, certificate = attempt(problem)
    assert certificate.worst <= WORST_TOLERANCE
    slow = solve_conic(problem)
    assert certify(problem, slow).worst <= WORST_TOLERANCE
    np.testing.assert_allclose(q.answers(fast.x), q.answers(slow.x), atol=1e-5 * NOISE)


@pytest.mark.parametrize("seed", range(12))
def test_held_answers_may_pin_some_cells_to_zero(seed):
    """Rows of a random workload that are held at 0 empty their cells; the others are fitted."""
    rng = np.random.default_rng(seed)
    shape = (5, 4, 3)
    x = rng.integers(1, 50, (RUNS, *shape)).astype(float)
    x[:, rng.random(5) < (0.5 if seed else 1.0)] = 0  # with the first seed every cell is pinned
    sets = [QuerySet.marginal(shape, k) for k in ((0,), (0, 1), (1, 2))]
    terms = [Term(sets[0], sets[0].answers(x), np.full((RUNS, 5), np.inf))]
    for q in sets[1:]:
        asked = q.answers(x) + NOISE * rng.laplace(size=(RUNS, q.size))
        terms.append(Term(q, asked, np.full(asked.shape, 1 / NOISE**2)))
    problem = Problem(tuple(terms))
    fast, certificate = solve(problem)
    assert certificate.worst <= WORST_TOLERANCE
    assert certificate.conic_calls == 0
    empty = sets[0].spread(sets[0].answers(x)) == 0
    assert np.abs(fast.x[empty]).max(initial=0.0) <= 1e-9
    slow = solve_conic(problem)
    np.testing.assert_allclose(fast.x, slow.x, atol=1e-3 * NOISE)


def test_cells_that_no_query_tells_apart_share_evenly():
    shape = (3, 4, 2)
    rows, columns = (QuerySet.marginal(shape, (a,)) for a in (0, 1))
    target = [np.array([[6.0, -1.0, 9.0]]), np.array([[5.0, 1.0, 2.0, 4.0]])]
    terms = [Term(q, t, np.ones_like(t)) for q, t in zip((rows, columns), target, strict=True)]
    merged = merge(Problem(tuple(terms)))
    assert merged is not None
    assert merged.problem.shape == (3, 4)
    x = solve(Problem(tuple(terms)))[0].x.reshape(shape)
    np.testing.assert_array_equal(x[:, :, 0], x[:, :, 1])
    cells = Term(QuerySet.identity(shape), np.zeros((1, 24)), np.ones((1, 24)))
    assert merge(Problem((*terms, cells))) is None
