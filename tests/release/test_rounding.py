"""Controlled rounding: totals kept, marginals within one, and the least deviation otherwise."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import optimize

from microdata_price.exceptions import CertificateError, InputError
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
    tract = QuerySet.from_labels([0, 1, -1, 1, 3, 2, 3, 3, -1], "tract")
    block = QuerySet.from_labels([-1, -1, -1, 0, -1, 1, 2, 2, -1], "block")
    return Workload((state, county, tract, block, QuerySet.identity((9,))))


TWO_HIERARCHIES = [
    *(Workload.table(shape) for shape in (1, 7, (3, 5), (1, 6))),
    marginals((3, 4), (0,), identity=False),
    marginals((2, 3, 4), (), (0,), (0, 1)),
    marginals((2, 3, 4), (0,), (0, 1), (2,), (1, 2)),
    halves(),
]
WEIGHTS = st.one_of(
    *(st.floats(0, 40, allow_subnormal=False), st.integers(0, 40).map(float), st.just(0.5)),
    *(st.integers(0, 9).map(lambda n: n + 1e-11), st.integers(1, 9).map(lambda n: n - 1e-11)),
)


def furthest(sets, one, other):
    return max(float(np.abs(q.answers(one) - q.answers(other)).max()) for q in sets)


def roundings(fitted):
    """All tables of the rounded total with each cell rounded down or up."""
    for add in itertools.product((0, 1), repeat=fitted.size):
        table = np.floor(fitted) + add
        # As `round_table` does, whole means whole up to a solver's last digits.
        if table.sum() == round(float(fitted.sum())) and abs(table - fitted).max() < 1 - 1e-6:
            yield table


@pytest.mark.parametrize("workload", TWO_HIERARCHIES, ids=lambda w: f"{w.shape}{w.names}")
@settings(max_examples=40)
@given(data=st.data())
def test_two_hierarchies_stay_within_one(workload, data):
    assert two_hierarchies(workload)
    fitted = data.draw(hnp.arrays(float, workload.cells, elements=WEIGHTS))
    table = round_table(fitted, workload).ravel()
    assert (table.dtype, table.min() >= 0) == (np.int64, True)
    assert abs(table.sum() - fitted.sum()) <= 0.5 + 1e-9
    assert max(np.abs(table - fitted).max(), furthest(workload.query_sets, table, fitted)) < 1
    for queries in workload.query_sets:
        exact, whole = queries.answers(fitted), queries.answers(table)
        still = np.abs(exact - np.rint(exact)) < 1e-10  # whole up to a solver's last digits
        np.testing.assert_array_equal(whole[still], np.rint(exact)[still])


@settings(max_examples=25)
@given(data=st.data())
def test_the_nearest_of_all_roundings_is_found(data):
    workload = Workload.table((3, 3))
    fitted = data.draw(hnp.arrays(float, 9, elements=st.floats(0, 3, allow_subnormal=False)))
    sets = workload.query_sets
    near = (t for t in roundings(fitted) if furthest(sets, t, fitted) < 1 - 1e-6)
    least = min(float(((t - fitted) ** 2).sum()) for t in near)
    found = float(((round_table(fitted, workload).ravel() - fitted) ** 2).sum())
    assert found == pytest.approx(least, abs=1e-5)


def test_very_many_cells_are_rounded_by_a_smaller_program_at_nearly_the_same_cost(monkeypatch):
    workload = Workload.table((40, 50))
    fitted = np.random.default_rng(4).gamma(0.5, 3.0, workload.shape)
    fitted[:, ::2] = np.floor(fitted[:, ::2]) + 0.25  # ties
    cost, sizes, solve = [], [], optimize.linprog
    note = lambda c, *a, **k: sizes.append(c.size) or solve(c, *a, **k)  # noqa: E731
    monkeypatch.setattr(optimize, "linprog", note)
    for at_once in (10**6, 400, 20):
        sizes.clear()
        monkeypatch.setattr(rounding, "_AT_ONCE", at_once)
        table = round_table(fitted, workload)
        assert table.sum() == round(float(fitted.sum()))
        assert furthest(workload.query_sets, table, fitted) < 1
        cost.append(float(((table - fitted) ** 2).sum()))
        if at_once == 400:  # a sample's prices spare the whole program
            assert sizes[0] <= at_once < max(sizes) < fitted.size
    assert max(cost) <= min(cost) + 1e-2


@settings(max_examples=25)
@given(data=st.data())
def test_more_ways_are_kept_within_about_one(data):
    workload = marginals((2, 2, 2), (), (0, 1), (0, 2), (1, 2))
    assert not two_hierarchies(workload)
    fitted = data.draw(hnp.arrays(float, 8, elements=st.floats(0, 3, allow_subnormal=False)))
    table = round_table(fitted, workload)
    assert table.sum() == round(float(fitted.sum()))
    assert np.abs(table.ravel() - fitted).max() < 1
    sets = workload.query_sets[1:-1]
    best = min(furthest(sets, t, fitted) for t in roundings(fitted))
    assert best - 1e-5 <= (largest := furthest(sets, table, fitted))
    assert largest < 1 or largest <= best + 0.5 >= 1.5 - 1e-6


def test_where_exchanges_do_not_help_an_integer_program_finds_nearly_the_nearest(monkeypatch):
    monkeypatch.setattr(rounding, "_exchanges", lambda add, *_: add)
    workload = marginals((2, 2, 3), (), (0, 1), (0, 2), (1, 2))
    every = np.array(list(itertools.product((0, 1), repeat=12)))
    for fitted in np.random.default_rng(1).gamma(0.5, 2.0, (60, 12)):
        off = np.floor(fitted) + every - fitted
        moved = np.hstack([off @ q.matrix.T for q in workload.query_sets[1:]])
        right = np.abs(off.sum(axis=1)) <= 0.5
        near = (off[right & (np.abs(moved).max(axis=1) < 1)] ** 2).sum(axis=1)
        found = round_table(fitted, workload).ravel()
        if near.size:
            assert furthest(workload.query_sets, found, fitted) < 1
            assert ((found - fitted) ** 2).sum() <= near.min() + 0.1


@given(hnp.arrays(float, 12, elements=st.floats(0, 3, allow_subnormal=False)))
def test_of_cells_in_the_same_queries_those_of_the_larger_parts_go_up(fitted):
    """Each cell stands thrice; the sets cross in their first queries alone."""
    labels = ([0, 0, -1, 1], [-1, 0, 0, 1], [0, -1, 0, 1])
    sets = (QuerySet.from_labels(np.repeat(each, 3), f"set {each}") for each in labels)
    workload = Workload(tuple(sets))
    assert not two_hierarchies(workload)
    ups = round_table(fitted, workload) - np.floor(fitted)
    for up, part in zip(ups.reshape(4, 3), (fitted % 1).reshape(4, 3), strict=True):
        assert part[up > 0].min(initial=1) >= part[up == 0].max(initial=0) - 2e-6


def test_what_cannot_be_rounded_or_is_no_table_is_refused(monkeypatch):
    wrong = [([x], "negative, not finite or over") for x in (-0.5, np.nan, np.inf, 2.0**63, 1e300)]
    for last, message in (*wrong, ([2, 3], "is for 2")):
        with pytest.raises(InputError, match=message):
            round_table([1.0, *last], Workload.table(2))
    for answer in ([0.5, 0.5, 0.5, 0.5], [1.0, 1.0, 1.0, 0.0], [1.0, 0.99, 0.01, 0.0]):
        given = SimpleNamespace(x=np.array(answer))  # a solver's
        monkeypatch.setattr(rounding.optimize, "linprog", lambda *_, given=given, **__: given)
        with pytest.raises(CertificateError, match="a table that is not whole"):
            round_table([[1.5, 0.5], [0.5, 1.5]], Workload.table((2, 2)))


@pytest.mark.parametrize(
    ("shape", "integer", "most"),
    [((9, 9, 9), 0, 1.03), ((4, 5, 30), 0, 1.0), ((3,) * 5, 0, 1.3), ((3,) * 5, 2000, 1.0)],
)
@pytest.mark.parametrize("seed", range(3))
def test_many_cells_come_near_and_always_alike(seed, shape, integer, most, monkeypatch):
    monkeypatch.setattr(rounding, "_INTEGER", integer)
    workload = marginals((*shape, 2), (), *itertools.combinations(range(len(shape)), 2))
    rng = np.random.default_rng(seed)
    fitted = rng.gamma(0.3, 2.0, workload.shape)
    fitted = np.where(rng.random(fitted.shape) < 0.4, np.ceil(fitted), fitted)
    table = round_table(fitted, workload)
    np.testing.assert_array_equal(table, round_table(fitted, workload))
    assert table.sum() == round(float(fitted.sum()))
    assert np.abs(table - fitted).max() < 1
    assert furthest(workload.query_sets[1:-1], table, fitted) <= most


def test_many_cells_next_to_whole_numbers_are_a_record_together():
    assert round_table(np.full(10**6, 9e-7), Workload.table(10**6)).sum() == 1
