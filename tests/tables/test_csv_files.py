"""Schemas and the three forms of a table file."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.tables.csv_files import read_table, schema_of_table
from microdata_price.tables.schema import KEYWORDS, Schema, load_schema, parse_schema
from microdata_price.tables.table_text import table_text

SCHEMA = Schema(("region", "sex"), (("north", "south", "west"), ("f", "m")))
TABLE = np.array([[3.0, 0.0], [1.0, 2.0], [0.0, 12.0]])


def write(folder, text, name="table.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def long_rows(table=TABLE, schema=SCHEMA):
    cells = itertools.product(*schema.values)
    return [(*cell, str(int(n))) for cell, n in zip(cells, table.ravel(), strict=True)]


def as_csv(header, rows):
    return "\n".join(",".join(row) for row in [header, *rows]) + "\n"


@given(st.permutations(range(6)), st.permutations(["region", "sex", "count"]))
def test_long_tables_are_read_in_any_order(tmp_path_factory, order, header):
    rows = [dict(zip(("region", "sex", "count"), r, strict=True)) for r in long_rows()]
    text = as_csv(header, [[rows[i][h] for h in header] for i in order])
    path = write(tmp_path_factory.mktemp("long"), text)
    np.testing.assert_array_equal(read_table(path, SCHEMA), TABLE)


@given(st.permutations(range(3)), st.permutations(["f", "m"]))
def test_wide_tables_are_read_in_any_order(tmp_path_factory, order, sexes):
    where = {"f": 0, "m": 1}
    body = [[SCHEMA.values[0][i], *(str(int(TABLE[i, where[s]])) for s in sexes)] for i in order]
    path = write(tmp_path_factory.mktemp("wide"), as_csv(["region", *sexes], body))
    np.testing.assert_array_equal(read_table(path, SCHEMA), TABLE)


def test_wide_tables_of_three_columns(tmp_path):
    schema = Schema(("a", "b", "c"), (("x", "y"), ("1", "2"), ("p", "q", "r")))
    table = np.arange(12.0).reshape(2, 2, 3)
    body = [
        [a, b, *(str(int(v)) for v in table[i, j])]
        for i, a in enumerate("xy")
        for j, b in enumerate("12")
    ]
    path = write(tmp_path, as_csv(["a", "b", "p", "q", "r"], body))
    np.testing.assert_array_equal(read_table(path, schema), table)


def test_records_are_counted_and_other_columns_unread(tmp_path):
    rows = [[str(k), sex, region] for (region, sex, n) in long_rows() for k in range(int(n))]
    path = write(tmp_path, as_csv(["id", "sex", "region"], rows))
    np.testing.assert_array_equal(read_table(path, SCHEMA), TABLE)
    empty = write(tmp_path, "sex,region\n", "nobody.csv")
    assert read_table(empty, SCHEMA).sum() == 0


def test_quotes_blank_lines_byte_order_marks_and_spaces_are_understood(tmp_path):
    schema = Schema(("place, or town", "sex")[1:], (("f", "m"),))
    path = write(tmp_path, b'\xef\xbb\xbfsex , count\r\n\r\n"f", 3\r\nm ,4\r\n\r\n')
    np.testing.assert_array_equal(read_table(path, schema), [3, 4])


SECRET = "SECRET"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("region,count\nnorth,1\n", "lacks the schema's column 'sex'"),
        ("region,region,sex\n", "'region' twice"),
        ("region,sex,age,count\n", "'age', which is neither in the schema"),
        ("region,sex,count\nnorth,f\n", "row 2: 2 fields where the header has 3"),
        (f"region,sex,count\nnorth,f,1\nnorth,{SECRET},2\n", "row 3, column 'sex': the value"),
        (f"region,sex\nnorth,f\n\nnorth,{SECRET}\n", "row 4, column 'sex': the value"),
        (f"region,sex,count\nnorth,f,{SECRET}\n", "row 2, column 'count': not a whole number"),
        ("region,sex,count\nnorth,f,-1\n", "row 2, column 'count': not a whole number"),
        ("region,sex,count\nnorth,f,1.5\n", "row 2, column 'count': not a whole number"),
        ("region,sex,count\nnorth,f,nan\n", "row 2, column 'count': not a whole number"),
        ("region,sex,count\nnorth,f,\n", "row 2, column 'count': not a whole number"),
        ("region,sex,count\nnorth,f,١\n", "row 2, column 'count': not a whole number"),
        ("region,sex,count\nnorth,f,10000000000000\n", "row 2, column 'count': not a whole"),
        ("region,sex,count\nnorth,f,1\nnorth,f,0\n", "row 3: this cell has a row already"),
        ("region,f,m\nnorth,1,2\n", "first missing is region=south, sex=f;"),
        ("region,f,m\nnorth,1,2\nnorth,1,2\n", "row 3: its cells have a row already"),
        (f"region,f,m\n{SECRET},1,2\n", "row 2, column 'region': the value"),
        (f"region,f,m\nnorth,{SECRET},2\n", "row 2, column 'f': not a whole number"),
        ("region,f\nnorth,1\n", "exactly the 2 values of 'sex'"),
        ("region,sex,weighted_count\nnorth,f,3\n", "is a weighted table"),
        (b"region,sex,count\nnorth,\xff,3\n", "not a text file in UTF-8"),
        ('region,sex,count\nnorth,"f"x,3\n', "is not a CSV file"),
    ],
)
def test_what_is_no_table_is_refused_without_telling_its_content(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_table(path, SCHEMA)
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)


def test_files_that_are_not_there_are_named(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(InputError, match=f"there is no file {path}; a table is a CSV"):
            read_table(path, SCHEMA)
        with pytest.raises(InputError, match=f"there is no file {path}; a schema is a JSON"):
            load_schema(path)


def test_a_schema_marked_as_weighted_is_refused(tmp_path):
    path = write(tmp_path, as_csv(["region", "sex", "count"], long_rows()))
    with pytest.raises(InputError, match="weighted table"):
        read_table(path, Schema(SCHEMA.columns, SCHEMA.values, weighted=True))


def test_the_schema_of_a_complete_table_is_found(tmp_path):
    path = write(tmp_path, as_csv(["region", "sex", "count"], long_rows()))
    assert schema_of_table(path) == SCHEMA
    wide = write(tmp_path, "region,f,m\nnorth,3,0\nsouth,1,2\nwest,0,12\n", "wide.csv")
    found = schema_of_table(wide)
    assert found.values == SCHEMA.values
    np.testing.assert_array_equal(read_table(wide, found), TABLE)
    records = write(tmp_path, "region,sex\nnorth,f\n", "records.csv")
    with pytest.raises(InputError, match="--schema"):
        schema_of_table(records)


def test_schemas_survive_writing_and_reading(tmp_path):
    schema = Schema(("räume", "b c"), (("ä", '"'), ("1", "2")), weighted=True)
    path = write(tmp_path, schema.to_json(), "schema.json")
    assert load_schema(path) == schema
    assert parse_schema('{"columns": {"a": {"from": -1, "to": 1}, "b": [1, "x"]}}').values == (
        ("-1", "0", "1"),
        ("1", "x"),
    )


def columns(text):
    return '{"columns": {' + text + "}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("columns:\n  a: [1]\n", "is not JSON (.*line 1)"),
        ("[]", 'an object with "columns"'),
        ("[" * 100_000, "nested too deeply"),
        ('{"column": {"a": [1]}}', 'an object with "columns"'),
        ('{"columns": ["a"]}', 'an object with "columns"'),
        ('{"columns": {"a": [1]}, "weighted": 1}', "true or false"),
        ('{"columns": {}}', "has no columns"),
        (columns('"a": []'), "'a' has no values"),
        (columns('"a": [1], "a": [2]'), "'a' twice"),
        (columns('"a": [1, "1"]'), "'a' lists a value twice"),
        (columns('"a": [1.5]'), "'a' must have a list of values"),
        (columns('"a": [true]'), "'a' must have a list of values"),
        (columns('"a": "x"'), "'a' must have a list of values"),
        (columns('"a": {"from": 3, "to": 1}'), "'a' must have a list of values"),
        (columns('"a": {"from": 0, "to": 1e99}'), "'a' must have a list of values"),
        (columns('"a": {"from": 0, "to": 99999999999}'), "'a' must have a list of values"),
        (columns('"a": [""]'), "'a' has a value that is empty; write a word"),
        (columns('"a": [" x"]'), "' x', which begins or ends with a space"),
        (columns('"a": ["x\\ny"]'), "which holds a line break"),
        (columns('"a": ["x\\ty"]'), "which holds a tab"),
        (columns('"a": ["x\\u200by"]'), r"the invisible character U\+200B"),
        (columns('"a": ["x"], "A": ["y"]'), "'a' and 'A' differ by capital letters only"),
        (columns('"Query_Set": ["x"], "b": ["y"]'), "called 'Query_Set', but these names have"),
        (columns('"a\\tb": [1]'), "the name holds a tab"),
        (columns('"a": {"values": ["x"], "other": "x"}'), "'a' has the one value 'x', at which"),
        (columns('"a\\nb": [1]'), "the name holds a line break"),
        (columns('"a*b": [1]'), "called 'a\\*b'"),
        (columns('"count": [1]'), "called 'count'"),
        *[(columns(f'"{word}": [1]'), f"called '{word}'") for word in KEYWORDS],
        (
            columns('"a": {"from": 1, "to": 2000}, "b": {"from": 1, "to": 2000}'),
            "4000000 cells \\(2000 x 2000\\); at most",
        ),
    ],
)
def test_what_is_no_schema_is_refused(tmp_path, text, message):
    path = write(tmp_path, text, "schema.json")
    with pytest.raises(InputError, match=message) as caught:
        load_schema(path)
    assert re.match(rf"{re.escape(str(path))}: ", str(caught.value))


def test_cells_are_listed_in_the_order_of_the_table():
    schema = Schema(("a", "b", "c"), (("x", "y"), ("1", "2"), ("p", "q", "r")))
    assert schema.cell_values() == list(itertools.product(*schema.values))
    assert schema.cell_values((2,)) == [("", "", v) for v in "pqr"]
    assert schema.cell_values(()) == [("", "", "")]


def test_the_first_missing_cell_is_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("region,age,count\nsouth,0-64,3\nsouth,65+,1\nnorth,0-64,2\n")
    with pytest.raises(
        InputError, match=r"the 4 combinations .* first missing is region=north, age=65\+;"
    ):
        schema_of_table(path)


def test_cells_without_a_row_are_empty_and_this_is_told(tmp_path):
    """In long tables with a schema, which says what cells there are."""
    told = []
    path = write(tmp_path, "region,sex,count\nsouth,m,4\nnorth,f,1\n")
    table = read_table(path, SCHEMA, told.append)
    assert table.sum() == 5
    assert (table[0, 0], table[1, 1]) == (1, 4)
    assert told == [f"{path} has cells without a row; they are counted as empty"]
    whole = write(tmp_path, table_text(SCHEMA, table.astype(int)))
    np.testing.assert_array_equal(read_table(whole, SCHEMA, told.append), table)
    assert len(told) == 1
    with pytest.raises(InputError, match="has only a header; a row for each"):
        read_table(write(tmp_path, "region,sex,count\n"), SCHEMA)


@pytest.mark.parametrize("blank", [0, 1, 511, 512, 513, 700])
@pytest.mark.parametrize("bad", [1, 510, 511, 512, 513, 514, 1023, 1024, 1025, 1400])
def test_rows_keep_their_numbers_whatever_block_they_are_read_in(tmp_path, blank, bad):
    schema = parse_schema('{"columns": {"sex": ["f", "m"], "age": {"from": 0, "to": 9}}}')
    lines = [f"{'fm'[k % 2]},{k % 10}" for k in range(1500)]
    lines.insert(blank, "")
    bad += blank == bad  # a blank line is none that is wrong
    path = tmp_path / "t.csv"

    def written(*faults):
        path.write_text("\n".join(["", "sex,age", *lines[:bad], *faults, *lines[bad:]]) + "\n")

    written()
    assert read_table(path, schema).sum() == 1500
    for fault, why in (("f,77", "column 'age'"), ("f", "1 fields where the header has 2")):
        written(fault)
        with pytest.raises(InputError, match=f"row {bad + 3}[,:].*{why}"):
            read_table(path, schema)
    written("f", 'f,"7')  # the first that is wrong is said, not the quotation mark below it
    with pytest.raises(InputError, match=f"row {bad + 3}: 1 fields"):
        read_table(path, schema)


def test_a_schema_that_is_a_table_or_nothing_is_told(tmp_path):
    table = write(tmp_path, "region,sex,count\nnorth,f,1\n")
    with pytest.raises(InputError, match="were table and schema exchanged"):
        load_schema(table)
    with pytest.raises(InputError, match="the schema is empty; needed is"):
        load_schema(write(tmp_path, " \n", "empty.json"))
    with pytest.raises(InputError, match="is larger than that: more than there are people"):
        read_table(write(tmp_path, f"region,sex,count\nnorth,f,{10**13}\n"), SCHEMA)
