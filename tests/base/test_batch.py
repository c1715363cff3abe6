"""Batches: some of the runs are selected and replaced field by field, and nothing else is."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from microdata_price.base.batch import Batch
from microdata_price.model.queryset import QuerySet
from microdata_price.optimize.problem import SubsetSum

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Part(Batch):
    by_run = ("values",)

    values: Array


@dataclass(frozen=True, eq=False)
class Whole(Batch):
    by_run = ("x", "parts", "maybe")
    by_run_or_shared = ("bounds",)

    x: Array
    parts: tuple[Part, ...]
    maybe: Array | None
    bounds: tuple[Array, ...]
    same: Array


@pytest.mark.parametrize(
    "runs", [slice(1, 3), np.array([3, 0]), np.array([False, True, True, False]), np.array([], int)]
)
def test_what_has_runs_is_selected_and_the_rest_is_kept(runs):
    x = np.arange(8.0).reshape(4, 2)
    parts = (Part(x + 10), Part(x + 20))
    given = Whole(x, parts, None, (np.zeros((1, 2)), x + 30), np.ones(4))
    some = given.select(runs)
    selected = (some.x, *(part.values for part in some.parts))
    for mine, all_ in zip(selected, (x, x + 10, x + 20), strict=True):
        np.testing.assert_array_equal(mine, all_[runs])
    assert some.maybe is None
    assert some.bounds[0] is given.bounds[0]
    np.testing.assert_array_equal(some.bounds[1], given.bounds[1][runs])
    assert some.same is given.same
    assert Part(np.ones((1, 3))).select(np.array([False])).values.shape == (0, 3)


def test_replacing_runs_leaves_both_batches_as_they_were():
    first, other = Part(np.arange(4.0)), Part(np.array([7.0, 9.0]))
    put = first.replace_runs(np.array([2, 0]), other)
    assert put.values.tolist() == [9.0, 1.0, 7.0, 3.0]
    assert (first.values.tolist(), other.values.tolist()) == ([0, 1, 2, 3], [7, 9])


def test_what_a_batch_has_cached_does_not_outlive_a_selection():
    low = np.array([[True, False], [False, True]])
    one = np.ones((2, 1))
    term = SubsetSum(QuerySet.marginal((2, 1), (0,)), low, one, one)
    assert term.cell_members.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert term.select(np.array([1])).cell_members.tolist() == [[0.0, 1.0]]
