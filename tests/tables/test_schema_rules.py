"""Schemas beyond lists of values: catch-alls, empty fields, cut points, trees, structural zeros."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.tables.csv_files import read_table
from microdata_price.tables.schema import Schema, parse_schema
from microdata_price.tables.table_text import table_text
from microdata_price.tables.workload_text import parse_workload

TREE = {
    "columns": {
        "county/tract/block": {"A": {"1": ["a", "b"], "2": ["a"]}, "B": {"1": ["c"]}},
        "age": {"cuts": [18, 65]},
        "job": {"values": ["none", "nurse"], "other": "other", "empty": "not stated"},
    },
    "impossible": [{"age": ["below 18"], "job": ["nurse"]}],
}


def schema_of(document):
    return parse_schema(json.dumps(document))


def test_a_tree_with_structural_zeros_is_a_list_of_what_is_possible():
    schema = schema_of(TREE)
    assert schema.columns == ("county", "tract", "block", "age", "job")
    # 4 blocks, 3 ages, 4 jobs, less one age for nurses.
    assert schema.shape == (4 * (3 * 4 - 1),)
    assert schema.cell_values((0, 1, 2)) == [
        ("A", "1", "a", "", ""),
        ("A", "1", "b", "", ""),
        ("A", "2", "a", "", ""),
        ("B", "1", "c", "", ""),
    ]
    assert parse_schema(schema.to_json()) == schema
    values = schema.cell_values()
    assert len(set(values)) == schema.cells
    assert not [v for v in values if v[3] == "below 18" and v[4] == "nurse"]


@given(st.data())
def test_queries_of_a_restricted_table_count_what_their_values_say(data):
    sides = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    columns = tuple("abc"[: len(sides)])
    values = tuple(tuple(str(v) for v in range(n)) for n in sides)
    rules = data.draw(
        st.lists(st.tuples(*(st.sampled_from(v) for v in values)), max_size=4).filter(
            lambda struck: len(set(struck)) < np.prod(sides)
        )
    )
    schema = schema_of(
        {
            "columns": dict(zip(columns, values, strict=True)),
            "impossible": [{c: [v] for c, v in zip(columns, r, strict=True)} for r in rules],
        }
    )
    left = [v for v in itertools.product(*values) if v not in set(rules)]
    assert schema.cell_values() == left
    for size in range(len(columns) + 1):
        for axes in itertools.combinations(range(len(columns)), size):
            named = schema.cell_values(axes)
            labels = schema.labels(axes)
            for cell, label in zip(left, labels, strict=True):
                assert named[label] == tuple(v if k in axes else "" for k, v in enumerate(cell))
            assert sorted(set(labels.tolist())) == list(range(len(named)))


def test_fields_that_are_not_listed_count_at_the_catch_all(tmp_path):
    schema = schema_of(TREE)
    path = tmp_path / "persons.csv"
    path.write_text(
        "county,tract,block,age,job\nA,1,a,17.5,poet\nA,1,a,18,\nB,1,c,999,nurse\nA,2,a,-1,none\n"
    )
    table = dict(zip(schema.cell_values(), read_table(path, schema), strict=True))
    assert {k: v for k, v in table.items() if v} == {
        ("A", "1", "a", "below 18", "other"): 1,
        ("A", "1", "a", "18 to below 65", "not stated"): 1,
        ("B", "1", "c", "65 or more", "nurse"): 1,
        ("A", "2", "a", "below 18", "none"): 1,
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("A,1,c,18,none", "impossible"),
        ("A,1,a,4,nurse", "impossible"),
        ("A,1,a,old,none", "column 'age'"),
        ("A,1,a,,none", "column 'age'"),
        ("C,1,a,4,none", "column 'county'"),
    ],
)
def test_what_the_schema_does_not_allow_is_refused(tmp_path, row, message):
    path = tmp_path / "persons.csv"
    path.write_text(f"county,tract,block,age,job\n{row}\n")
    with pytest.raises(InputError, match=message):
        read_table(path, schema_of(TREE))


def test_tables_of_counts_come_back(tmp_path):
    schema = schema_of(TREE)
    table = np.arange(schema.cells)
    path = tmp_path / "counts.csv"
    path.write_text(table_text(schema, table))
    np.testing.assert_array_equal(read_table(path, schema), table)


def test_a_tree_is_asked_level_by_level():
    schema = schema_of(TREE)
    workload = parse_workload("sum, county / tract/block, job", schema)
    assert workload.names == ("sum", "county", "county*tract", "county*tract*block", "job")
    again = parse_workload(", ".join(workload.names), schema)
    assert again.names == workload.names
    assert parse_workload("block, tract", schema).names == ("county*tract*block", "county*tract")
    assert [q.size for q in workload.query_sets] == [1, 2, 3, 4, 4]
    table = np.arange(schema.cells)
    for queries, answers in zip(workload.query_sets, workload.answers(table), strict=True):
        assert answers.sum() == table.sum(), queries.name


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        ({"a": {"cuts": [2, 1]}}, {}, "must be a number above the one before"),
        ({"a": {"cuts": ["x"]}}, {}, "cut points that are no list of numbers"),
        ({"a": {"cuts": []}}, {}, "0 cut points"),
        ({"a": {"values": ["x"], "other": 3}}, {}, "'other' that is not a word"),
        ({"a": {"x": ["1"]}}, {}, "a tree is named by its columns"),
        ({"a/b": {"x": {"y": ["1"]}}}, {}, "must nest one object a column"),
        ({"a/b": {"x": ["1", "1"]}}, {}, "names x/1 twice"),
        ({"a": ["x"]}, {"impossible": [{"b": ["x"]}]}, "names the column 'b'"),
        ({"a": ["x"]}, {"impossible": [{"a": ["y"]}]}, "names 'y'"),
        ({"a": ["x"]}, {"impossible": [{"a": ["x"]}]}, "leaves no combination"),
        ({"a": ["x"]}, {"impossible": {"a": "x"}}, "must be a list of objects"),
        ({"a": ["x"]}, {"impossible": [{}]}, "must be a list of objects"),
    ],
)
def test_schemas_without_sense_are_refused(columns, more, message):
    with pytest.raises(InputError, match=message):
        schema_of({"columns": columns, **more})


def test_a_number_of_thousands_of_digits_is_a_sentence():
    with pytest.raises(InputError, match="thousands of digits"):
        parse_schema('{"columns": {"a": [' + "9" * 5000 + "]}}")


def test_a_catch_all_must_be_a_value():
    with pytest.raises(InputError, match="not one of its values"):
        Schema(("a",), (("x",),), rules=(type(Schema(("a",), (("x",),)).rules[0])(other="y"),))


def test_nothing_is_asked_twice_under_two_names():
    """A column with one value pays for the sum a second time; so may a level of a tree."""
    schema = schema_of({"columns": {"state": ["X"], "sex": ["f", "m"]}})
    assert parse_workload("sum, marginals, identity", schema).names == ("sum", "identity")
    for text in ("sum, state", "sex, identity", "state, sum"):
        with pytest.raises(InputError, match="asks the same"):
            parse_workload(text, schema)
    with pytest.raises(InputError, match="asks for nothing"):
        parse_workload("marginals", schema_of({"columns": {"sex": ["f", "m"]}}))
