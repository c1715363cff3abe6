"""The door to the solvers: who is asked, when an answer misses, and when memory is too small."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

from microdata_price.exceptions import CertificateError, InputError
from microdata_price.model.queryset import QuerySet
from microdata_price.optimize import TOLERANCE, Problem, solve
from microdata_price.optimize.memory import check_memory, memory_needed
from random_problems import Recipe, random_problem, term

MODULE = importlib.import_module("microdata_price.optimize.solve")  # not the function


def sample(runs=6):
    return random_problem(np.random.default_rng(1), "two-way", "least squares", Recipe(), runs)


def spoilt(monkeypatch, wrong, again):
    """Let the fast solver miss some runs and the conic one answer with ``again``; note its runs."""
    right, asked = solve(sample())[0], []
    broken = replace(right, x=right.x + np.isin(np.arange(6), wrong)[:, None])

    def conic(part):
        asked.append(part.runs)
        return again(right, broken).select(np.array(wrong))

    monkeypatch.setattr(MODULE, "solve_structured", lambda _: broken)
    monkeypatch.setattr(MODULE, "solve_conic", conic)
    return right, asked


def test_runs_that_miss_are_solved_again_and_only_these(monkeypatch):
    right, asked = spoilt(monkeypatch, [1, 4], lambda right, _: right)
    solution, certificate = solve(sample())
    assert asked == [2]
    assert certificate.worst <= TOLERANCE
    assert certificate.conic.tolist() == [0, 1, 0, 0, 1, 0]
    np.testing.assert_array_equal(solution.x, right.x)


def test_runs_that_both_solvers_miss_are_named(monkeypatch):
    spoilt(monkeypatch, [2, 5], lambda _, broken: broken)
    with pytest.raises(CertificateError, match=r"2 of 6 runs \(numbers from 0: 2, 5\)"):
        solve(sample())


def test_constraints_that_contradict_each_other_name_the_run():
    held = term(QuerySet.sum_query(3), [[4.0], [-4.0]], np.inf)
    with pytest.raises(CertificateError, match="numbers from 0: 1"):
        solve(Problem((held, term(QuerySet.identity(3), np.ones((2, 3)), 1))))


def test_a_workload_too_large_is_refused_with_its_cells_and_the_estimate():
    small, large = (
        [QuerySet.marginal((side, side), k) for k in ((), (0,), (1,), (0, 1))]
        for side in (100, 200)
    )
    needed = memory_needed(small, 1000)
    with pytest.raises(InputError, match=r"10,000 cells in 1,000 runs .* about \d\.\d GB"):
        check_memory(small, 1000, most=needed / 2)
    check_memory(small, 1000, most=2 * needed)
    # It grows with cells, runs and sets.
    assert memory_needed(large, 1000) > 3 * needed
    assert memory_needed(small, 4000) > 2 * needed
    assert memory_needed(small[2:], 1000) < needed
