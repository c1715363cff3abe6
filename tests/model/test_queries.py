"""Query sets against their own matrices; what is no table, workload or measurement is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.base.data import data_path
from microdata_price.exceptions import InputError
from microdata_price.model.benchmark import data_set, labels, names, synthetic
from microdata_price.model.measurement import Measurements, measure, noise_for
from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.noise_asymmetric import AsymmetricLaplace
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from random_measurements import random_workload


@given(st.integers(0, 10**6), st.integers(0, 3))
def test_queries_are_the_rows_of_their_matrices(seed: int, batch: int) -> None:
    rng = np.random.default_rng(seed)
    workload = random_workload(rng)
    tables = rng.integers(0, 99, (batch, workload.cells)).astype(float)
    # Flat tables may have the shape of one: 1 of 1 x 4 cells.
    boxed = tables.reshape(batch, *workload.shape)
    matrices = [q.matrix.toarray() for q in workload.query_sets]
    for q, matrix, answers in zip(
        workload.query_sets, matrices, workload.answers(boxed), strict=True
    ):
        assert matrix.shape == (q.size, q.cells)
        np.testing.assert_array_equal(matrix.sum(axis=1), q.counts)
        np.testing.assert_array_equal(answers, tables @ matrix.T)
        np.testing.assert_array_equal(q.answers(tables), answers.reshape(q.answers(tables).shape))
        np.testing.assert_array_equal(q.spread(answers), answers @ matrix)
        assert q.is_identity == np.array_equal(matrix, np.eye(q.cells))
    # One record more in the worst cell moves the answers this far.
    for p in (1, 2):
        worst = np.linalg.norm(np.concatenate(matrices), ord=p, axis=0).max()
        assert workload.sensitivity(p) == pytest.approx(worst)


@given(st.integers(1, 9), st.floats(0.01, 9.0), st.floats(0.1, 0.9))
def test_shares_of_the_budget_compose(d: int, level: float, share: float) -> None:
    """Each query set costs what its own noise costs, and together they cost the level."""
    split = (share, 1 - share)
    laplace = noise_for(Workload.table(d), PureDP(level), split)
    assert sum(1 / n.scale for n in laplace) == pytest.approx(level)  # type: ignore[attr-defined]
    assert laplace[0].scale == pytest.approx(1 / (level * share))  # type: ignore[attr-defined]
    gaussian = noise_for(Workload.table(d), ConcentratedDP(level), split)
    assert sum(1 / (2 * n.variance) for n in gaussian) == pytest.approx(level)


TWO, RNG = Workload.table(2), np.random.default_rng(0)
CELLS, EIGHT = QuerySet.identity(2), (Laplace(8), Laplace(8))


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (lambda: QuerySet.marginal((2, 3), (0, 0)), r"axes to keep are \(0, 0\); each must occur"),
        (lambda: QuerySet.marginal((2, 3), (2,)), "must occur once and lie between 0 and 1"),
        (lambda: QuerySet.marginal((2, 3), (-1,)), "must occur once and lie between 0 and 1"),
        (lambda: QuerySet.identity((2, 0)), "every side must be a whole number of 1 or more"),
        (lambda: QuerySet.identity(()), "every side must be a whole number of 1 or more"),
        (lambda: QuerySet.identity(True), "every side must be a whole number of 1 or more"),
        (lambda: QuerySet.identity((2.0, 2)), "every side must be a whole number"),
        (lambda: QuerySet.from_labels([0.0], "q"), "must be whole numbers, shaped as the table"),
        (lambda: QuerySet.from_labels([], "q"), "must be whole numbers, shaped as the table"),
        (lambda: QuerySet.from_labels(0, "q"), "must be whole numbers, shaped as the table"),
        (lambda: QuerySet.from_labels([0, 2], "q"), r"run from 0 to 2 and use 2 of them"),
        (lambda: QuerySet.from_labels([-2, 0], "q"), "must be 0, 1, 2, ... without a gap"),
        (lambda: QuerySet.from_labels([-1, -1], "q"), "must be 0, 1, 2, ... without a gap"),
        (lambda: CELLS.answers([1, 2, 3]), r"has shape \(3,\); query set 'identity' is for"),
        (lambda: CELLS.answers(1), r"has shape \(\); query set 'identity' is for"),
        (lambda: Workload(()), "has no query set; it needs at least one"),
        (lambda: Workload((CELLS, CELLS)), "every name must be used once"),
        (lambda: Workload((CELLS, QuerySet.sum_query(3))), "a workload has one shape"),
        (lambda: TWO["summ"], "there is no query set 'summ'; did you mean sum"),
        (lambda: TWO.sensitivity(3), "the sensitivity's order is 3; it must be 1 or 2"),
        (lambda: noise_for(TWO, ApproximateDP(1, 1e-6)), "PureDP .* or ConcentratedDP"),
        (lambda: noise_for(TWO, PureDP(1), (1.0,)), "must have 2 positive shares"),
        (lambda: noise_for(TWO, PureDP(1), (0.0, 1.0)), "must have 2 positive shares"),
        (lambda: noise_for(TWO, PureDP(1), (0.5, 0.51)), "that add up to 1"),
        (lambda: noise_for(TWO, PureDP(1), (np.nan, 0.5)), "must have 2 positive shares"),
        (lambda: measure([1, 2], TWO, PureDP(1), runs=0, rng=RNG), "runs is 0"),
        (lambda: measure([1, 2, 3], TWO, PureDP(1), runs=1, rng=RNG), "workload is for shape"),
        (lambda: measure([1, -2], TWO, PureDP(1), runs=1, rng=RNG), r"cell at \(1,\).* negative"),
        (lambda: measure([0.5, 2], TWO, PureDP(1), runs=1, rng=RNG), r"cell at \(0,\).* fraction"),
        (lambda: measure([np.inf, 2], TWO, PureDP(1), runs=1, rng=RNG), "is not a finite number"),
        (lambda: measure(["a", 2], TWO, PureDP(1), runs=1, rng=RNG), "that is not a number"),
        (lambda: measure([], TWO, PureDP(1), runs=1, rng=RNG), "it must have at least one cell"),
        (lambda: Measurements(TWO, ([[7.0]],), EIGHT), "2 query sets, 1 arrays of answers and 2"),
        (lambda: Measurements(TWO, ([[7.0]], [[3.0]]), EIGHT), r"needed is \(runs, 2\)"),
        (lambda: Measurements(TWO, ([7.0], [[3.0, 4.0]]), EIGHT), r"needed is \(runs, 1\)"),
        (lambda: Measurements(TWO, ([[7.0]], [[3.0, np.inf]]), EIGHT), "is not a finite number"),
        (
            lambda: Measurements(TWO, ([[7.0]], [[3.0, 4.0]]), EIGHT).select(np.zeros(1, bool)),
            "number of runs",
        ),
        (lambda: data_set("PUMA101301"), "there is no data set 'PUMA101301'.*PUMA0101301"),
        (lambda: data_set("level00-1d"), "there is no data set 'level00-1d'.*Level00-1d"),
        (lambda: data_set("Stairs-2d"), "there is no data set 'Stairs-2d'.*Stair-2d"),
        (lambda: names("3d"), "there is no family '3d'"),
        (lambda: synthetic("Level99"), "there is no synthetic table 'Level99'"),
        (lambda: labels("age"), "there is no variable 'age'"),  # type: ignore[arg-type]
        (lambda: labels("race", "long"), "there is no form 'long'"),  # type: ignore[arg-type]
        (lambda: data_path("nothing.csv"), r"the data file 'nothing\.csv' is neither"),
        (lambda: Laplace(0), "scale is 0; it must be a positive number of counts"),
        (lambda: Gaussian(np.nan), "deviation is nan; it must be a positive number of counts"),
        (lambda: AsymmetricLaplace(1.0, -1.0), "the left rate is -1.0; it must be a positive"),
        (lambda: PureDP(1.0).group(0), "the group size is 0; it must be a whole number"),
        (lambda: ApproximateDP(0.0, 1e-6), "epsilon is 0; it must be a positive"),
        (lambda: ApproximateDP(1.0, 1.0), "delta is 1; it must be between 0 and 1"),
    ],
)
def test_what_is_none_is_refused_in_one_sentence(attempt: Callable[[], object], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        attempt()
    assert "\n" not in str(caught.value)
