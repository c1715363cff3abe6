import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitting_oracle import solve
from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import TOLERANCE, Problem, SubsetSum, Term, certify
from microdata_price.optimize.conic import leaves_open, solve_conic
from microdata_price.optimize.stack import Stack, hold_pinned, pinned_cells
from random_measurements import random_workload

SEEDS = st.integers(0, 2**32 - 1)


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


@settings(max_examples=60)
@given(seed=SEEDS)
def test_any_problem_is_certified(seed):
    problem = random_problem(seed)
    solution = solve_conic(problem)
    assert certify(problem, solution).worst <= 10 * TOLERANCE
    assert solution.x.min() >= 0


@settings(max_examples=15)
@given(seed=SEEDS)
def test_answers_are_those_of_a_plain_formulation(seed):
    problem = random_problem(seed, runs=1)
    ours = solve_conic(problem)
    theirs = oracle(problem, 0)
    for term in problem.terms:
        counts = term.weight[0] > 0
        difference = term.answers(ours.x) - term.answers(theirs[None, :])
        # At a weight of 0.001 the oracle's value, right to 1e-8, fixes an answer to 0.003.
        assert np.abs(difference[0][counts]).max(initial=0.0) <= 1e-2


def test_equalities_that_repeat_each_other_and_pin_cells_are_met():
    shape = (3, 4)
    rows, columns, total = (QuerySet.marginal(shape, k) for k in ((0,), (1,), ()))
    r, c = np.array([[5.0, 0.0, 7.0]]), np.array([[0.0, 2.0, 10.0, 0.0]])
    cells = QuerySet.identity(shape)
    noisy = np.random.default_rng(1).normal(size=(1, 12)) * 4
    terms = [Term(q, t, np.full(t.shape, np.inf)) for q, t in ((rows, r), (columns, c))]
    terms += [Term(total, np.array([[12.0]]), np.array([[np.inf]]))]
    problem = Problem((*terms, Term(cells, noisy, np.ones((1, 12)))))
    solution = solve_conic(problem)
    assert certify(problem, solution).worst <= TOLERANCE
    table = solution.x.reshape(shape)
    assert not table[1].any()
    assert not table[:, [0, 3]].any()
    np.testing.assert_allclose(table.sum(axis=1), r[0], atol=1e-9)


def test_cells_that_only_a_difference_of_answers_pins_are_found():
    """Sets {a, b, c} = 5 and {b, c, d} = 5 and {a, d} = 0 leave nothing for a and d."""
    left = QuerySet.from_labels([0, 0, 0, -1], "left")
    right = QuerySet.from_labels([-1, 0, 0, 0], "right")
    middle = QuerySet.from_labels([-1, 0, 0, -1], "middle")
    cells = QuerySet.identity(4)
    five, exact = np.array([[5.0]]), np.array([[np.inf]])
    problem = Problem(
        (
            *(Term(q, five, exact) for q in (left, right, middle)),
            Term(cells, np.array([[9.0, 1.0, 2.0, 9.0]]), np.ones((1, 4))),
        )
    )
    solution = solve_conic(problem)
    assert certify(problem, solution).worst <= TOLERANCE
    np.testing.assert_allclose(solution.x, [[0, 2, 3, 0]], atol=1e-9)


def test_bounds_that_meet_leave_one_answer():
    total, cells = QuerySet.sum_query(3), QuerySet.identity(3)
    a = np.array([[10.0, -2.0, 1.0]])
    problem = Problem(
        (
            Term(total, np.array([[20.0]]), np.array([[1.0]]), np.array([[5.0]])),
            Term(cells, a, np.ones((1, 3)), np.full((1, 3), 2.0)),
        )
    )
    # 15 is the least sum allowed and 12 + 0 + 3 the largest.
    solution = solve_conic(problem)
    assert certify(problem, solution).worst <= TOLERANCE
    np.testing.assert_allclose(solution.x, [[12, 0, 3]], atol=1e-9)


def test_constraints_that_contradict_each_other_get_no_certificate():
    q = QuerySet.sum_query(2)
    exact = np.array([[np.inf]])
    problem = Problem((Term(q, np.array([[4.0]]), exact), Term(q, np.array([[5.0]]), exact)))
    assert certify(problem, solve_conic(problem)).worst > 0.01


def test_least_norm_spreads_a_sum_evenly_and_only_where_it_may():
    q = QuerySet.sum_query(4)
    rest = QuerySet.from_labels([0, -1, -1, -1], "first")
    problem = Problem(
        (
            Term(q, np.array([[8.0]]), np.ones((1, 1))),
            Term(rest, np.array([[-3.0]]), np.ones((1, 1))),
        )
    )
    assert leaves_open(problem)
    np.testing.assert_allclose(solve_conic(problem).x, [[0, 8 / 3, 8 / 3, 8 / 3]], atol=1e-9)


def test_without_the_sign_constraint_it_is_least_squares():
    rng = np.random.default_rng(2)
    rows, cells = QuerySet.marginal((2, 3), (0,)), QuerySet.identity((2, 3))
    a, b = rng.normal(size=(1, 2)) * 9, rng.normal(size=(1, 6)) * 9
    problem = Problem((Term(rows, a, np.ones((1, 2))), Term(cells, b, np.ones((1, 6)))), False)
    solution = solve_conic(problem)
    m = np.vstack([rows.labels == 0, rows.labels == 1, np.eye(6)]).astype(float)
    expected = np.linalg.lstsq(m, np.concatenate([a[0], b[0]]), rcond=None)[0]
    assert certify(problem, solution).worst <= TOLERANCE
    np.testing.assert_allclose(solution.x[0], expected, atol=1e-10)


@pytest.mark.parametrize("spread", [1e-12, 1e-6, 1.0, 1e6])
def test_weights_over_many_orders_of_magnitude(spread):
    rng = np.random.default_rng(4)
    shape = (4, 5)
    sets = [QuerySet.marginal(shape, k) for k in ((), (0,), (1,), (0, 1))]
    weights = [1.0, 1.0, spread, spread]
    problem = Problem(
        tuple(
            Term(q, rng.normal(size=(3, q.size)) * 30, np.full((3, q.size), w))
            for q, w in zip(sets, weights, strict=True)
        )
    )
    assert certify(problem, solve_conic(problem)).worst <= 10 * TOLERANCE


def test_pinned_cells_are_those_of_sums_that_must_be_zero():
    q = QuerySet.from_labels([0, 0, 1, -1], "q")
    problem = Problem((Term(q, np.array([[0.0, 3.0]]), np.full((1, 2), np.inf)),))
    pinned, rows = pinned_cells(Stack.of(problem))
    assert pinned.tolist() == [True, True, False, False]
    assert rows.tolist() == [True, False]
    held = hold_pinned(Stack.of(problem), rows, np.array([-2.0, 1.0]))
    assert held.tolist() == [0.0, 1.0]
