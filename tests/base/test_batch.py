"""Batches: some of the runs are selected and replaced field by field, and nothing else is."""

from dataclasses import dataclass

import numpy as np
import pytest

from microdata_price.base.batch import Batch
from microdata_price.model.queryset import QuerySet
from microdata_price.optimize.problem import SubsetSum


@dataclass(frozen=True, eq=False)
class Part(Batch):
    by_run = ("values",)
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Whole(Batch):
    by_run = ("x", "parts", "maybe")
    by_run_or_shared = ("bounds",)
    x: np.ndarray
    parts: tuple
    maybe: None
    bounds: tuple
    same: np.ndarray


@pytest.mark.parametrize(
    "runs", [slice(1, 3), np.array([3, 0]), np.array([False, True, True, False]), np.array([], int)]
)
def test_what_has_runs_is_selected_and_the_rest_is_kept(runs):
    x = np.arange(8.0).reshape(4, 2)
    given = Whole(x, (Part(x + 10), Part(x + 20)), None, (np.zeros((1, 2)), x + 30), np.ones(4))
    some = given.select(runs)
    selected = (some.x, *(part.values for part in some.parts), some.bounds[1])
    for mine, off in zip(selected, (0, 10, 20, 30), strict=True):
        np.testing.assert_array_equal(mine, x[runs] + off)
    assert some.maybe is None
    assert some.same is given.same
    assert some.bounds[0] is given.bounds[0]
    assert Part(np.ones((1, 3))).select(np.array([False])).values.shape == (0, 3)


def test_a_selection_and_a_replacement_leave_what_was_given_and_carry_nothing_cached():
    first, other = Part(np.arange(4.0)), Part(np.array([7.0, 9.0]))
    assert first.replace_runs(np.array([2, 0]), other).values.tolist() == [9.0, 1.0, 7.0, 3.0]
    assert (first.values.tolist(), other.values.tolist()) == ([0, 1, 2, 3], [7, 9])
    low, one = np.array([[True, False], [False, True]]), np.ones((2, 1))
    term = SubsetSum(QuerySet.marginal((2, 1), (0,)), low, one, one)
    assert term.cell_members.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert term.select(np.array([1])).cell_members.tolist() == [[0.0, 1.0]]
