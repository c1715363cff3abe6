"""The conic solver, on any problem; and proximal steps, where cells have no weights, against it."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitting_oracle import solve as minimize
from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import (
    TOLERANCE,
    WORST_TOLERANCE,
    Problem,
    SubsetSum,
    Term,
    attempt,
    certify,
    solve,
)
from microdata_price.optimize.conic import solve_conic
from microdata_price.optimize.merge import merge
from microdata_price.optimize.stack import Stack, hold_pinned, pinned_cells
from random_measurements import random_workload
from random_problems import KINDS, Recipe, random_sets, random_terms, term


def random_problem(seed, runs=2):
    """Any terms that some table x0 >= 0 satisfies: weights 0, finite and infinite, bounds, sums."""
    rng = np.random.default_rng(seed)
    workload = random_workload(rng, 20)
    x0 = rng.integers(0, 2, (runs, workload.cells)) * rng.exponential(20, (runs, workload.cells))
    terms = []
    for q in workload.query_sets:
        exact = q.answers(x0.reshape(runs, *q.shape))
        noisy = exact + rng.normal(size=exact.shape) * 5
        weight = 10.0 ** rng.uniform(-3, 0, exact.shape) * (rng.random(exact.shape) < 0.8)
        radius = np.where(rng.random(exact.shape) < 0.5, np.abs(noisy - exact), np.inf)
        equal = rng.random(exact.shape) < 0.2
        target = np.where(equal, exact, noisy)
        weight = np.where(equal, np.inf, weight)
        terms.append(Term(q, target, weight, radius if rng.random() < 0.5 else None))
        members = rng.random(exact.shape) < 0.5
        if rng.random() < 0.5:
            sums = np.where(members, noisy, 0).sum(axis=1, keepdims=True)
            some = np.where(members.any(axis=1, keepdims=True), 0.02, 0.0)
            terms.append(SubsetSum(q, members, sums, some))
    return Problem(tuple(terms))


def oracle(problem, run):
    """The problem as it reads, in cvxpy: its value and its answer."""
    stack = Stack.of(problem, run)
    a = stack.matrix.toarray()
    x = cp.Variable(a.shape[1], nonneg=problem.nonnegative)
    soft = np.where(stack.equal, 0.0, stack.weight)
    r = a @ x - stack.target
    constraints = [r[k] == 0 for k in np.flatnonzero(stack.equal)]
    constraints += [cp.abs(r[k]) <= stack.radius[k] for k in np.flatnonzero(stack.bounded)]
    minimize(cp.sum_squares(cp.multiply(np.sqrt(soft), r)), constraints)
    return x.value * stack.count


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), nonnegative=st.booleans())
def test_any_problem_is_certified_with_the_answers_of_a_plain_formulation(seed, nonnegative):
    problem = Problem(random_problem(seed).terms, nonnegative)
    ours = solve_conic(problem)
    assert certify(problem, ours).worst <= 10 * TOLERANCE
    assert not nonnegative or ours.x.min() >= 0
    theirs = oracle(problem, 1)
    for t in problem.terms:
        difference = t.answers(ours.x)[1] - t.answers(np.stack([theirs, theirs]))[1]
        # At a weight of 0.001 the oracle's value, right to 1e-8, fixes an answer to 0.003.
        assert np.abs(difference[t.weight[1] > 0]).max(initial=0.0) <= 1e-2


def by(labels, target, weight, radius=None):
    return term(QuerySet.from_labels(labels, "q"), target, weight, radius)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (  # {a, b, c} = {b, c, d} = {b, c} = 5 leaves nothing for a and d
            [
                *(by(q, [5], np.inf) for q in ([0, 0, 0, -1], [-1, 0, 0, 0], [-1, 0, 0, -1])),
                by([0, 1, 2, 3], [9, 1, 2, 9], 1.0),
            ],
            [0, 2, 3, 0],
        ),
        # 15 is the least sum allowed and 12 + 0 + 3 the largest.
        ([by([0, 0, 0], [20], 1.0, 5), by([0, 1, 2], [10, -2, 1], 1.0, 2)], [12, 0, 3]),
        # Weights over many orders of magnitude.
        *(
            ([by([0, 0, 0], [12], 1.0), by([0, 1, 2], [1, 2, 3], w)], np.arange(1, 4) + 6 / (3 + w))
            for w in (1e-6, 1e6)
        ),
        # Least norm spreads a sum evenly, and only where it may.
        ([by([0] * 4, [8], 1.0), by([0, -1, -1, -1], [-3], 1.0)], [0, 8 / 3, 8 / 3, 8 / 3]),
    ],
)
def test_answers_worked_out_by_hand(terms, expected):
    problem = Problem(tuple(terms))
    solution = solve_conic(problem)
    assert certify(problem, solution).worst <= TOLERANCE
    np.testing.assert_allclose(solution.x, [expected], atol=1e-9)


def test_pinned_cells_are_those_of_sums_that_must_be_zero():
    problem = Problem((by([0, 0, 1, -1], [0, 3], np.inf),))
    pinned, rows = pinned_cells(Stack.of(problem))
    assert pinned.tolist() == [True, True, False, False]
    assert rows.tolist() == [True, False]
    held = hold_pinned(Stack.of(problem), rows, np.array([-2.0, 1.0]))
    assert held.tolist() == [0.0, 1.0]


NOISE = 4.0
RUNS = 5
RECIPE = Recipe(large=60, noise=NOISE)


@pytest.mark.parametrize("kind", KINDS)
def test_random_workloads_have_the_conic_solvers_answers(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    missed, far = 0, 0
    for k in range(16):
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
    assert missed <= 1  # of 80
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
    """Rows and columns that are held at 0 empty their cells exactly; the others are fitted."""
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
    left = Problem((by([0, 0, 0, 1, 1, 1, 1], [6, 8], 1), by([0, 0, 1, 0, 1, 1, 1], [5, 9], 1)))
    np.testing.assert_allclose(attempt(left)[0].x, solve_conic(left).x, atol=1e-9)  # 2, 1, 1, 3
