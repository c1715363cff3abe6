"""Totals among counts: refused where sums show them, told where they are only likely."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.model.benchmark import data_sets
from microdata_price.tables.csv_files import read_table, schema_of_table
from microdata_price.tables.double_counts import check_totals
from microdata_price.tables.schema import Schema, parse_schema
from microdata_price.tables.totals import Total, sums

REFUSED, TOLD, FINE = "refused", "told", "fine"
NATIONS = "nation,f,m\nEngland,28,27\nScotland,3,2\nWales,2,1\n"


def judged(table, values=None):
    """Check a table under names that say nothing, or under those given for its first axis."""
    table = np.asarray(table, dtype=np.int64)
    named = [tuple(f"{'abc'[k % 3]}{i}" for i in range(n)) for k, n in enumerate(table.shape)]
    if values is not None:
        named[0] = tuple(values)
    schema = Schema(tuple(f"column {k}" for k in range(table.ndim)), tuple(named))
    said: list[str] = []
    try:
        check_totals("t.csv", schema, table, said.append)
    except InputError as error:
        return REFUSED, str(error)
    return (TOLD, said[0]) if said else (FINE, "")


@pytest.mark.parametrize(
    ("text", "answer", "words"),
    [
        # Rows of totals over two columns with zeros.
        ("area,x,y\nHill,4,8\nLake,3,0\nMoor,0,6\nCounty total,7,14\n", REFUSED, "'County total'"),
        ("area,x,y\nCounty total,7,14\nHill,4,8\nLake,3,0\nMoor,0,6\n", REFUSED, "'County total'"),
        # A column that sums two others.
        (
            "area,owner,tenant,households\nHill,4,8,12\nLake,3,0,3\nMoor,0,6,6\n",
            TOLD,
            "'households'",
        ),
        ("area,owner,tenant,households\nHill,41,83,124\nLake,37,52,89\n", TOLD, "'households'"),
        (
            "area,owner,tenant,households\nHill,4123,8331,12454\nLake,3,5,8\n",
            REFUSED,
            "'households'",
        ),
        # A country among its nations, and a part of it.
        (NATIONS + "NI,1,1\nUK,34,31\n", TOLD, "'UK' in 'nation' are the sums"),
        (NATIONS + "GB,33,30\nNI,1,1\n", TOLD, "'England', 'Scotland' and 'Wales'"),
        ("area,f,m\nE,281,276\nS,30,29\nW,22,17\nNI,11,10\nGB,333,322\n", TOLD, "'E', 'S' and 'W'"),
        # Ages that lie within each other.
        ("age,f,m\n0-17,9,11\n0-4,3,4\n5-17,6,7\n18+,40,38\n", REFUSED, "'0-17'"),
        ("age,f,m\n0-17,9,11\n0-4,3,4\n18+,40,38\n", TOLD, "'0-4' lies within '0-17'"),
        ("age,f,m\n65+,9,11\n75 and over,3,4\nunder 65,40,38\n", TOLD, "'75 and over' lies within"),
        # A name alone, and a name against which the counts speak.
        ("area,f,m\nA,9,11\nB,3,4\nArea totals,14,15\n", TOLD, "by its name like a total"),
        ("area,f,m\nA,9,11\nB,3,4\nAll Saints,4,5\n", FINE, ""),
        ("age,f,m\n0-4,9,11\n4-9,3,4\n9-14,10,12\n", FINE, ""),
        ("month,f,m\n01-02,9,11\n01-03,3,4\n", FINE, ""),
        ("code,f,m\n11-1021,9,3\n11-2021,30,40\n", FINE, ""),
    ],
)
def test_totals_are_refused_or_told(tmp_path, text, answer, words):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    schema, said = schema_of_table(path), []
    if answer == REFUSED:
        with pytest.raises(InputError, match=words):
            read_table(path, schema, said.append)
    else:
        assert read_table(path, schema, said.append).sum() > 0
        assert len(said) == (answer == TOLD)
        assert words in "".join(said)


def test_a_schema_may_say_that_no_value_is_a_total(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "size,f,m\nsmall,4123,5231\nlarge,333,209\nsummer,4456,5440\nall,1,2\n", encoding="utf-8"
    )
    columns = '{"columns": {"size": ["small", "large", "summer", "all"], "sex": ["f", "m"]}'
    with pytest.raises(InputError, match=r'say so in the schema \("totals": false\)'):
        read_table(path, parse_schema(columns + "}"))
    schema = parse_schema(columns + ', "totals": false}')
    assert read_table(path, schema).sum() == 2 * (4456 + 5440) + 3
    assert "totals" not in schema.to_json()
    with pytest.raises(InputError, match="must be false, or be left out"):
        parse_schema(columns + ', "totals": "none"}')


def test_a_catch_all_is_not_meant_for_totals(tmp_path):
    schema = parse_schema('{"columns": {"area": {"values": ["A", "B"], "other": "else"}}}')
    path = tmp_path / "t.csv"
    path.write_text("area,count\nA,3\nB,4\nTotal,7\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"row 4.*looks like one of totals"):
        read_table(path, schema)
    path.write_text("area\nA\nB\nTotal\n", encoding="utf-8")
    assert read_table(path, schema).tolist() == [1, 1, 1]


@pytest.mark.parametrize("data", data_sets(), ids=lambda d: d.name)
def test_no_data_set_of_the_package_is_taken_for_one_with_totals(data):
    assert judged(data.table) == (FINE, "")


@given(
    seed=st.integers(0, 2**32),
    shape=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    scale=st.sampled_from([0.2, 0.7, 1.5, 5, 50]),
    uneven=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_random_tables_are_never_refused(seed, shape, scale, uneven):
    rng = np.random.default_rng(seed)
    means = np.full(shape, float(scale))
    for axis, size in enumerate(shape if uneven else ()):
        factors = rng.lognormal(0, 1, size)
        means *= np.expand_dims(factors, tuple(k for k in range(len(shape)) if k != axis))
    assert judged(rng.poisson(means))[0] != REFUSED


@given(seed=st.integers(0, 2**32), values=st.integers(2, 6), places=st.integers(2, 5))
@settings(max_examples=100, deadline=None)
def test_a_total_of_any_parts_is_found_wherever_it_stands(seed, values, places):
    rng = np.random.default_rng(seed)
    lines = rng.integers(20_000, 500_000, (values, places))
    inside = rng.permutation(values)[: rng.integers(2, values + 1)]
    at = int(rng.integers(0, values + 1))
    table = np.insert(lines, at, lines[inside].sum(axis=0), axis=0)
    found = next(sums(table))
    assert isinstance(found, Total)
    assert found.value == at
    assert sorted(found.parts) == sorted(int(k) + (k >= at) for k in inside)
    assert judged(table)[0] == REFUSED
    assert judged(np.moveaxis(table, 0, -1))[0] == REFUSED


def test_tables_that_rise_evenly_have_sums_that_say_nothing():
    steps = np.arange(1, 7)
    for table in (steps, np.outer(steps, np.ones(5)), 100 * np.outer(steps, np.ones(9))):
        assert judged(table)[0] == FINE
    for each in itertools.product([1, 2, 3], repeat=3):
        assert judged([each, each, [2 * k for k in each]])[0] != REFUSED
