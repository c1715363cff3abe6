"""The conic solver, on any problem; and proximal steps, where cells have no weights, against it."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microdata_price.optimize.conic as conic
import microdata_price.optimize.polish as polish
import microdata_price.optimize.proximal as proximal
from fitting_oracle import solve as minimize
from microdata_price.exceptions import InputError
from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import WORST_TOLERANCE, Problem, Term, attempt, certify, solve
from microdata_price.optimize.boxed import is_cells
from microdata_price.optimize.conic import solve_conic
from microdata_price.optimize.least_norm import least_norm_problem
from microdata_price.optimize.merge import merge
from microdata_price.optimize.problem import Solution, SubsetSum
from microdata_price.optimize.stack import Stack, hold_pinned, pinned_cells
from microdata_price.optimize.tuning import TUNING
from random_measurements import random_workload
from random_problems import KINDS, Recipe, any_terms, random_sets, random_terms, term


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), nonnegative=st.booleans())
def test_any_problem_is_certified_with_the_answers_of_a_plain_formulation(seed, nonnegative):
    problem = Problem(any_terms(seed), nonnegative)
    ours = solve_conic(problem)
    assert certify(problem, ours).worst <= 1e-12
    assert not nonnegative or ours.x.min() >= 0
    stack = Stack.of(problem, 1)
    x = cp.Variable(problem.cells, nonneg=nonnegative)
    soft = np.where(stack.equal, 0.0, stack.weight)
    r = stack.matrix.toarray() @ x - stack.target
    constraints = [r[k] == 0 for k in np.flatnonzero(stack.equal)]
    constraints += [cp.abs(r[k]) <= stack.radius[k] for k in np.flatnonzero(stack.bounded)]
    minimize(cp.sum_squares(cp.multiply(np.sqrt(soft), r)), constraints)
    theirs = np.stack([x.value * stack.count] * 2)
    for t in problem.terms:
        difference = t.answers(ours.x)[1] - t.answers(theirs)[1]
        # At a weight of 0.001 the oracle's value, right to 1e-8, fixes an answer to 0.003.
        assert np.abs(difference[t.weight[1] > 0]).max(initial=0.0) <= 1e-2


def test_rough_answers_are_polished_to_rounding_in_few_steps(monkeypatch):
    asked, steps = [], []
    rough, step = conic._clarabel, polish.solve_active
    monkeypatch.setattr(conic, "_TOLERANCES", (0.1,))
    monkeypatch.setattr(conic, "_clarabel", lambda *k: (asked.append(1), rough(*k))[1])
    monkeypatch.setattr(polish, "solve_active", lambda *k: (steps.append(1), step(*k))[1])
    for seed, nonnegative in itertools.product(range(30), (True, False)):
        problem = Problem(any_terms(seed), nonnegative)
        assert certify(problem, solve_conic(problem)).worst <= 1e-12
    assert len(asked) == 109
    assert abs(len(steps) - 151) <= 3
    s = conic.quiet_settings(0.1)
    assert (s.verbose, s.max_threads, s.tol_infeas_abs) == (False, 1, 1e-16)


def test_pinned_cells_are_those_of_sums_that_must_be_zero():
    pairs, one = (QuerySet.from_labels(x, "q") for x in ([0, 0, 1, -1], [0, -1, -1, -1]))
    stack = Stack.of(Problem((term(pairs, [0, 3], np.inf), term(one, [0], np.inf))))
    pinned, rows = pinned_cells(stack)
    assert (pinned.tolist(), rows.tolist()) == ([True, True, False, False], [True, False, True])
    assert hold_pinned(stack, rows, np.array([-2.0, 1.0, -1.0])).tolist() == [1.0, 1.0, -1.0]


def test_proximal_steps_begin_between_light_and_heavy_terms_and_follow_their_misses(monkeypatch):
    weights = [[np.inf], [np.inf]], [[4.0], [0.0]], [[0.01], [0.0]]
    terms = (Term(QuerySet.sum_query(2), np.ones((2, 1)), np.array(w)) for w in weights)
    found = proximal._proximal_weights(Problem(tuple(terms)))
    np.testing.assert_allclose(found, TUNING.proximal * np.array([0.2, 1.0]))
    steps, step = [], proximal.solve_planned
    note = lambda *k: (steps.append((k[0].runs, k[3].max())), step(*k))[1]  # noqa: E731
    monkeypatch.setattr(proximal, "solve_planned", note)
    sets = [QuerySet.marginal((4, 5, 3), k) for k in ((0, 1), (1, 2))]
    proximal.solve_proximal(random_terms(np.random.default_rng(2), sets, KINDS[0], RECIPE, RUNS))
    assert [runs for runs, _ in steps] == [5] * 6
    assert [steps[k][1] for k in (0, -1)] == [TUNING.inexact, TUNING.proximal_goal / 4]


NOISE = 4.0
RUNS = 5
RECIPE = Recipe(large=60, noise=NOISE)


@pytest.mark.parametrize("kind", KINDS)
def test_random_workloads_have_the_conic_solvers_answers(kind):
    rng, missed = np.random.default_rng(KINDS.index(kind)), 0
    for k in range(16):
        sets = random_workload(rng, 60).query_sets if k % 4 else random_sets(rng, "tree")[:-1]
        problem = random_terms(rng, sets, kind, RECIPE, RUNS)
        fast, certificate = attempt(problem)
        good = certificate.per_run <= WORST_TOLERANCE
        missed += int((~good).sum())
        slow = solve_conic(least_norm_problem(problem, solve_conic(problem)))
        for t in problem.terms:  # answers are unique, and so is the table of least norm
            apart = np.abs(t.answers(fast.x) - t.answers(slow.x))[good] / NOISE
            assert apart.max(initial=0.0) <= 1e-5
        assert (np.abs(fast.x - slow.x)[good] <= 1e-3 * NOISE).all()
    assert missed <= 1  # of 80


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
    rng = np.random.default_rng(seed)
    shape = (5, 4, 3)
    x = rng.integers(1, 50, (RUNS, *shape)).astype(float)
    x[:, rng.random(5) < (0.5 if seed else 1.0)] = 0  # with the first seed every cell is pinned
    x[:, :, :, seed % 3] = 0
    rows, last, *sets = (QuerySet.marginal(shape, k) for k in ((0,), (2,), (0, 1), (1, 2)))
    held = (term(q, q.answers(x), np.inf) for q in (rows, last))
    asked = [q.answers(x) + NOISE * rng.laplace(size=(RUNS, q.size)) for q in sets]
    terms = (term(q, a, 1 / NOISE**2) for q, a in zip(sets, asked, strict=True))
    problem = Problem((*held, *terms))
    fast, certificate = solve(problem)
    assert certificate.worst <= WORST_TOLERANCE
    assert certificate.conic_calls == 0
    assert not fast.x[x.reshape(RUNS, 60) == 0].any()
    slow = solve_conic(least_norm_problem(problem, solve_conic(problem)))
    np.testing.assert_allclose(fast.x, slow.x, atol=1e-3 * NOISE)


@pytest.mark.parametrize("seed", range(30))
def test_cells_that_no_query_tells_apart_share_evenly(seed):
    rng = np.random.default_rng(seed)
    sets = random_workload(rng, 30).query_sets
    problem = random_terms(rng, sets, KINDS[seed % 4], RECIPE, 2)
    labels = np.array([q.labels for q in sets])
    alike = (labels[:, :, None] == labels[:, None, :]).all(axis=0)
    counted, merged = (labels >= 0).any(axis=0), merge(problem)
    if merged is None:
        assert alike.sum() == problem.cells
        return
    groups = merged.groups
    np.testing.assert_array_equal(groups[:, None] == groups, alike)
    np.testing.assert_array_equal(groups >= 0, counted)
    np.testing.assert_array_equal(merged.counts[groups[counted]], alike.sum(axis=0)[counted])
    x = rng.random((2, problem.cells)) * counted
    for t, small in zip(problem.terms, merged.problem.terms, strict=True):
        np.testing.assert_allclose(small.answers(merged.gather(x)), t.answers(x), atol=1e-12)
        tells = t.size == merged.problem.cells and (t.answers(counted[None]) > 0).all()
        assert not tells or is_cells(small.queries)
    spread = merged.expand(Solution(merged.gather(x), ())).x
    np.testing.assert_allclose(spread, x @ alike / alike.sum(axis=0) * counted, atol=1e-12)


ONE, SOME = QuerySet.identity(2), np.array([[True, False]])


def whole(target, weight, radius=2, runs=1):
    return Term(ONE, *(np.ones((runs, k)) for k in (target, weight, radius)))


def some(members, target, weight):
    return SubsetSum(ONE, members, np.ones((1, target)), np.ones((1, weight)))


@pytest.mark.parametrize(
    ("said", "make"),
    [
        (r"target .* 'identity' has shape \(1, 3\); needed is \(1, 2\)", lambda: whole(3, 2)),
        ("weight of the term on 'identity' has shape", lambda: whole(2, 3)),
        ("radius of the term on 'identity' has shape", lambda: whole(2, 2, 3)),
        ("target of the term on 'some of", lambda: some(SOME, 2, 1)),
        ("weight of the term on 'some of", lambda: some(SOME, 1, 2)),
        ("members of the term on 'some of identity' has shape", lambda: some(SOME[:, :1], 1, 1)),
        ("are of type int64; they must be true or false", lambda: some(SOME * 1, 1, 1)),
        ("must be 0 in a run in which no query is a member", lambda: some(SOME & False, 1, 1)),
        ("one shape and one number of runs", lambda: Problem((whole(2, 2), whole(2, 2, runs=3)))),
    ],
)
def test_terms_that_do_not_fit_are_refused(said, make):
    with pytest.raises(InputError, match=said):
        make()
