"""Controlled rounding: totals kept, marginals within one, and the least deviation otherwise."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from microdata_price.exceptions import InputError
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.release import rounding
from microdata_price.release.rounding import round_table, two_hierarchies


def marginals(shape, *kept, identity=True):
    sets = [QuerySet.marginal(shape, axes) for axes in kept]
    return Workload((*sets, QuerySet.identity(shape)) if identity else tuple(sets))


def halves():
    """A tree that no marginal describes: districts of unlike size, one cell in none."""
    state = QuerySet.sum_query((9,))
    county = QuerySet.from_labels([0, 0, 0, 0, 1, 1, 1, 1, -1], "county")
    tract = QuerySet.from_labels([0, 0, 0, 1, 2, 2, 3, -1, -1], "tract")
    return Workload((state, county, tract, QuerySet.identity((9,))))


TWO_HIERARCHIES = [
    Workload.table(1),
    Workload.table(7),
    Workload.table((3, 5)),
    Workload.table((1, 6)),
    marginals((3, 4), (0,), identity=False),
    marginals((2, 3, 4), (), (0,), (0, 1)),
    marginals((2, 3, 4), (0,), (0, 1), (2,), (1, 2)),
    halves(),
]
WEIGHTS = st.one_of(
    st.floats(0, 40, allow_subnormal=False),
    st.integers(0, 40).map(float),
    st.just(0.5),
    st.integers(0, 9).map(lambda n: n + 1e-11),
    st.integers(1, 9).map(lambda n: n - 1e-11),
)


def tables(workload):
    return hnp.arrays(float, workload.cells, elements=WEIGHTS)


@pytest.mark.parametrize("workload", TWO_HIERARCHIES, ids=lambda w: f"{w.shape}{w.names}")
@settings(max_examples=60)
@given(data=st.data())
def test_two_hierarchies_stay_within_one(workload, data):
    assert two_hierarchies(workload)
    fitted = data.draw(tables(workload))
    rounded = round_table(fitted, workload)
    table = rounded.table.ravel()
    assert rounded.within_one
    assert table.dtype == np.int64
    assert table.min() >= 0
    assert abs(table.sum() - fitted.sum()) <= 0.5 + 1e-9
    assert np.abs(table - fitted).max() < 1
    for queries in workload.query_sets:
        exact, whole = queries.answers(fitted), queries.answers(table)
        assert np.abs(whole - exact).max() < 1
        # What is whole already, up to a solver's last digits, stays.
        still = np.abs(exact - np.rint(exact)) < 1e-10
        np.testing.assert_array_equal(whole[still], np.rint(exact)[still])
        assert rounded.deviations[queries.name] == pytest.approx(np.abs(whole - exact).max())


@settings(max_examples=25)
@given(data=st.data())
def test_the_nearest_of_all_roundings_is_found(data):
    workload = Workload.table((3, 3))
    fitted = data.draw(hnp.arrays(float, 9, elements=st.floats(0, 3, allow_subnormal=False)))
    base = np.floor(fitted)
    total = round(float(fitted.sum()))
    best = np.inf
    for add in itertools.product((0, 1), repeat=9):
        table = base + add
        # As `round_table` does, whole means whole up to a solver's last digits.
        off = [np.abs(q.answers(table) - q.answers(fitted)).max() for q in workload.query_sets]
        if table.sum() == total and max(off) < 1 - 1e-6:
            best = min(best, float(((table - fitted) ** 2).sum()))
    found = float(((round_table(fitted, workload).table.ravel() - fitted) ** 2).sum())
    assert found == pytest.approx(best, abs=1e-5)


@settings(max_examples=15)
@given(data=st.data())
def test_more_ways_have_the_least_deviation(data):
    shape = (2, 2, 2)
    workload = marginals(shape, (), (0, 1), (0, 2), (1, 2))
    assert not two_hierarchies(workload)
    fitted = data.draw(hnp.arrays(float, 8, elements=st.floats(0, 3, allow_subnormal=False)))
    rounded = round_table(fitted, workload)
    total = round(float(fitted.sum()))
    assert rounded.table.sum() == total
    assert np.abs(rounded.table.ravel() - fitted).max() < 1
    sets = workload.query_sets[1:-1]
    best = np.inf
    for add in itertools.product((0, 1), repeat=8):
        table = np.floor(fitted) + add
        if table.sum() == total and np.abs(table - fitted).max() < 1 - 1e-6:
            off = max(np.abs(q.answers(table) - q.answers(fitted)).max() for q in sets)
            best = min(best, float(off))
    largest = max(rounded.deviations[q.name] for q in sets)
    assert largest == pytest.approx(best, abs=1e-5)
    assert rounded.least == pytest.approx(best, abs=1e-4)
    assert not rounded.within_one


def test_a_search_without_time_still_gives_a_table():
    shape = (6, 8, 10)
    workload = marginals(shape, (), (0, 1), (0, 2), (1, 2))
    fitted = np.random.default_rng(0).exponential(1.0, 480)
    rounded = round_table(fitted, workload, seconds=0.0)
    assert rounded.table.sum() == round(float(fitted.sum()))
    assert np.abs(rounded.table.ravel() - fitted).max() < 1
    assert rounded.least <= rounded.largest


def test_what_is_whole_stays():
    table = np.arange(12.0).reshape(3, 4)
    rounded = round_table(table, Workload.table((3, 4)))
    np.testing.assert_array_equal(rounded.table, table)
    assert rounded.largest == 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([1.0, -0.5], "negative"),
        ([1.0, np.nan], "not finite"),
        ([1.0, 2.0, 3.0], "3 cells; the workload is for 2"),
    ],
)
def test_what_cannot_be_rounded_is_refused(table, message):
    with pytest.raises(InputError, match=message):
        round_table(table, Workload.table(2))


@pytest.mark.parametrize("seed", range(3))
def test_exchanges_bring_many_cells_as_near_as_the_solver_would(seed, monkeypatch):
    """Beyond the size at which the solver is asked, and within it, to compare."""
    shape = (9, 9, 9)
    workload = marginals(shape, (), (0, 1), (0, 2), (1, 2))
    fitted = np.random.default_rng(seed).gamma(0.3, 2.0, 729)
    solved = round_table(fitted, workload, seconds=1.0)
    monkeypatch.setattr(rounding, "MOST_SEARCHED", 0)
    quick = round_table(fitted, workload)
    assert quick.table.sum() == round(float(fitted.sum()))
    assert np.abs(quick.table.ravel() - fitted).max() < 1
    reached = max(quick.deviations[q.name] for q in workload.query_sets[1:-1])
    assert quick.least <= reached <= 1.3
    assert quick.largest <= solved.largest + 0.25
    nearest = np.floor(fitted)
    ups = round(float(fitted.sum())) - int(nearest.sum())
    nearest[np.argsort(nearest - fitted)[:ups]] += 1
    far = max(
        np.abs(q.answers(nearest) - q.answers(fitted)).max() for q in workload.query_sets[1:-1]
    )
    assert far > reached + 0.5  # what rounding each cell by itself does to these marginals
