import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitting_oracle import solve
from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import TOLERANCE, Problem, SubsetSum, Term, certify
from microdata_price.optimize.conic import solve_conic
from microdata_price.optimize.stack import Stack, hold_pinned, pinned_cells
from random_measurements import random_workload
from random_problems import term


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
    solve(cp.sum_squares(cp.multiply(np.sqrt(soft), r)), constraints)
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
