"""The door to the solvers: who is asked, and what happens when an answer misses."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest

from microdata_price.exceptions import CertificateError
from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import TOLERANCE, Problem, Solution, Term, solve
from random_problems import Recipe, random_problem

MODULE = importlib.import_module("microdata_price.optimize.solve")  # not the function


def sample(runs=6):
    return random_problem(np.random.default_rng(1), "two-way", "least squares", Recipe(), runs)


def test_known_structures_do_not_reach_the_conic_solver(monkeypatch):
    monkeypatch.setattr(MODULE, "solve_conic", lambda _: pytest.fail("asked"))
    assert solve(sample())[1].worst <= TOLERANCE


def test_runs_that_miss_are_solved_again_and_only_these(monkeypatch):
    problem = sample()
    expected = solve(problem)[0]
    broken = expected.x.copy()
    broken[[1, 4]] += 1
    asked = []

    def conic(part):
        asked.append(part.runs)
        return replace(expected, x=expected.x[[1, 4]], y=tuple(y[[1, 4]] for y in expected.y))

    monkeypatch.setattr(MODULE, "solve_structured", lambda _: replace(expected, x=broken))
    monkeypatch.setattr(MODULE, "solve_conic", conic)
    solution, certificate = solve(problem)
    assert asked == [2]
    assert certificate.worst <= TOLERANCE
    np.testing.assert_array_equal(solution.x, expected.x)


def test_runs_that_both_solvers_miss_are_named(monkeypatch):
    problem = sample()
    good = solve(problem)[0]
    broken = replace(good, x=good.x + np.isin(np.arange(6), (2, 5))[:, None])
    monkeypatch.setattr(MODULE, "solve_structured", lambda _: broken)
    monkeypatch.setattr(
        MODULE,
        "solve_conic",
        lambda _: Solution(broken.x[[2, 5]], tuple(y[[2, 5]] for y in broken.y)),
    )
    with pytest.raises(CertificateError, match=r"2 of 6 runs \(numbers from 0: 2, 5\)"):
        solve(problem)


def test_constraints_that_contradict_each_other_name_the_run():
    total, cells = QuerySet.sum_query(3), QuerySet.identity(3)
    ones = np.ones((2, 3))
    held = Term(total, np.array([[4.0], [-4.0]]), np.full((2, 1), np.inf))
    with pytest.raises(CertificateError, match="numbers from 0: 1"):
        solve(Problem((held, Term(cells, ones, ones))))


def test_queries_that_leave_the_table_open_give_the_table_of_least_norm():
    q = QuerySet.marginal((2, 3), (0,))
    term = Term(q, np.array([[6.0, -1.0]]), np.ones((1, 2)))
    solution, certificate = solve(Problem((term,)))
    assert certificate.worst <= TOLERANCE
    np.testing.assert_allclose(solution.x, [[2, 2, 2, 0, 0, 0]], atol=1e-8)


def test_a_cell_without_a_weight_goes_to_the_conic_solver():
    cells = QuerySet.identity(3)
    weight = np.array([[1.0, 0.0, 1.0]])
    terms = (
        Term(QuerySet.sum_query(3), np.array([[9.0]]), np.ones((1, 1))),
        Term(cells, np.array([[2.0, 50.0, -3.0]]), weight),
    )
    solution, certificate = solve(Problem(terms))
    assert certificate.worst <= TOLERANCE
    np.testing.assert_allclose(solution.x, [[2, 7, 0]], atol=1e-7)
