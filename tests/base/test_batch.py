"""Batches: some of the runs are selected and replaced field by field, and nothing else is."""

import numpy as np
import pytest

from microdata_price.model.queryset import QuerySet
from microdata_price.optimize.problem import Problem, Solution, SubsetSum
from microdata_price.optimize.two_way import Extra, TwoWay
from random_problems import any_terms


@pytest.mark.parametrize(
    "runs", [slice(1, 3), np.array([3, 0]), np.array([False, True, True, False]), np.array([], int)]
)
def test_what_has_runs_is_selected_and_the_rest_is_kept(runs):
    for seed in range(5):
        problem = Problem(any_terms(seed, runs=4), nonnegative=False)
        some = problem.select(runs)
        assert not some.nonnegative
        for mine, given in zip(some.terms, problem.terms, strict=True):
            for name in {"target", "weight", "radius", "members"} & vars(given).keys():
                expected = getattr(given, name)
                expected = expected if expected is None else expected[runs]
                np.testing.assert_array_equal(getattr(mine, name), expected)
    shared = Extra("rows", np.ones((1, 3)))  # by all runs
    given = TwoWay((3, 4), True, False, (shared, Extra("rows", np.arange(12.0).reshape(4, 3))))
    assert given.select(runs).extras[0].members is shared.members
    np.testing.assert_array_equal(
        given.select(runs).extras[1].members, given.extras[1].members[runs]
    )


def test_a_selection_and_a_replacement_leave_what_was_given_and_carry_nothing_cached():
    first, other = (Solution(np.array(x)[:, None], ()) for x in ([0, 1, 2, 3], [7, 9]))
    assert first.replace_runs(np.array([2, 0]), other).x.ravel().tolist() == [9, 1, 7, 3]
    assert (first.x.ravel().tolist(), other.x.ravel().tolist()) == ([0, 1, 2, 3], [7, 9])
    low, one = np.array([[True, False], [False, True]]), np.ones((2, 1))
    term = SubsetSum(QuerySet.marginal((2, 1), (0,)), low, one, one)
    assert term.cell_members.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert term.select(np.array([1])).cell_members.tolist() == [[0.0, 1.0]]
