"""Trees, structural zeros, public totals and custom query sets, from the schema to the records."""

import csv
import json

import numpy as np
import pytest
from benchmarks.seeded import seeded

from microdata_price import cli
from microdata_price.exceptions import InputError
from microdata_price.fitting import METHODS
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.release import publish, release_again
from microdata_price.release.fit import finish
from microdata_price.release.measure import measure_privately
from microdata_price.tables.csv_files import read_table
from microdata_price.tables.schema import Schema, check_publishable, parse_schema
from microdata_price.tables.workload_text import parse_workload

PLACES = {
    "columns": {
        "county/tract/block": {"A": {"1": ["a", "b"], "2": ["a"]}, "B": {"1": ["c", "d"]}},
        "age": {"cuts": [18]},
        "job": {"values": ["none", "nurse"], "other": "other"},
    },
    "impossible": [{"age": ["below 18"], "job": ["nurse"]}],
}
SCHEMA = parse_schema(json.dumps(PLACES))
WORKLOAD = parse_workload("sum, county/tract/block, age, job, identity", SCHEMA)


def rows(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("known", [False, True])
def test_no_record_is_published_where_none_can_be(tmp_path, method, known):
    table = np.random.default_rng(2).integers(0, 40, SCHEMA.cells)
    measured = measure_privately(
        table.astype(float), SCHEMA, WORKLOAD, PureDP(1.0), {"identity": 0.5}, known_total=known
    )
    out = tmp_path / "out"
    made = publish(measured, method, out, draws=36)
    possible = {tuple(v) for v in SCHEMA.cell_values()}
    cells = {tuple(r[c] for c in SCHEMA.columns) for r in rows(out / "table_weighted.csv")}
    assert cells == possible
    assert "impossible by the schema" in (out / "README.txt").read_text()
    if made.rounded is None:
        return
    records = [tuple(r[c] for c in SCHEMA.columns) for r in rows(out / "records.csv")]
    assert set(records) <= possible
    np.testing.assert_array_equal(read_table(out / "table_integer.csv", SCHEMA), made.rounded.table)
    if known:
        assert len(records) == table.sum()
        assert made.weights.sum() == pytest.approx(table.sum(), rel=1e-12)
        assert "one record" in (out / "README.txt").read_text()
        assert "replaced by" in (out / "README.txt").read_text()
    again = release_again(out, method, tmp_path / "again", draws=0)
    np.testing.assert_array_equal(again.weights, made.weights)


def test_trees_alone_are_rounded_within_one():
    schema = parse_schema(json.dumps({"columns": {"county/tract": {"A": ["1", "2"], "B": ["1"]}}}))
    workload = parse_workload("sum, county/tract", schema)
    made = finish(measure_privately(np.array([5.0, 0, 9]), schema, workload, PureDP(1.0)), "nnls")
    assert made.rounded.within_one


def test_labels_in_another_order_are_published_under_the_right_cells():
    """As many queries as cells, turned around: each answer stays with the cell that it counts."""
    schema = Schema(("sex", "age"), (("f", "m"), ("1", "2", "3")))
    turned = QuerySet.from_labels(np.arange(6)[::-1].reshape(2, 3), "turned")
    columns = QuerySet.from_labels([[2, 1, 0], [2, 1, 0]], "ages")
    table = np.array([[1000, 2000, 3000], [4000, 5000, 6000]])
    workload = Workload((turned, columns))
    measured = seeded(table, schema, workload, ConcentratedDP(0.5), np.random.default_rng(1))
    assert measured.workload.names == ("turned", "ages")
    assert np.abs(measured.answers[0] - table.ravel()).max() < 20
    assert np.abs(measured.answers[1] - table.sum(axis=0)).max() < 20
    assert measured.columns == ((0, 1), (1,))


@pytest.mark.parametrize(
    "labels", [[[0, 0, 1], [1, 1, 1]], [[0, 0, -1], [1, 1, -1]], [[0, 1, 0], [2, 3, 2]]]
)
def test_queries_that_no_values_tell_apart_are_refused_before_anything_is_spent(labels):
    schema = Schema(("sex", "age"), (("f", "m"), ("1", "2", "3")))
    workload = Workload((QuerySet.from_labels(labels, "own"),))
    with pytest.raises(InputError, match="could not be published under them"):
        measure_privately(np.zeros((2, 3)), schema, workload, PureDP(1.0))


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"weight": ["a"]}, "'weight'"),
        ({"query_set": ["a"]}, "'query_set'"),
        ({"a": ["=1+1"]}, "'=1[+]1'"),
        ({"@a": ["1"]}, "'@a'"),
        ({"a": ["-x"]}, "'-x'"),
    ],
)
def test_words_that_do_harm_in_a_release_are_refused(columns, word):
    with pytest.raises(InputError, match=word):
        check_publishable(parse_schema(json.dumps({"columns": columns})))


def test_words_that_programs_misread_are_named(tmp_path):
    schema = Schema(("code",), (("NA", "None", "01", "-1"),))
    workload = parse_workload("sum, identity", schema)
    made = measure_privately(np.array([3.0, 4, 5, 6]), schema, workload, PureDP(1.0))
    publish(made, "nnls", tmp_path / "o", draws=0)
    text = (tmp_path / "o" / "data_dictionary.txt").read_text()
    assert "NA, None: a word, not a missing value" in text
    assert "leading zeros" in text


def test_a_county_tract_block_file_is_released_end_to_end(tmp_path, capsys):
    """Shares, structural zeros, a catch-all, a public tree and a cap, by the command."""
    rng = np.random.default_rng(5)
    table, schema = tmp_path / "persons.csv", tmp_path / "schema.json"
    schema.write_text(json.dumps(PLACES))
    places = [v[:3] for v in SCHEMA.cell_values((0, 1, 2))]
    with table.open("w") as stream:
        stream.write("county,tract,block,age,job,unread\n")
        for _ in range(2000):
            age = int(rng.integers(0, 90))
            job = rng.choice(["none", "poet"] if age < 18 else ["none", "nurse", "baker"])
            stream.write(",".join([*places[rng.integers(len(places))], str(age), job, "x"]) + "\n")
    ledger = ["--ledger", str(tmp_path / "ledger.jsonl"), "--name", "persons"]
    out = tmp_path / "out"
    for words in (
        ["budget", *ledger, "--cap-epsilon", "2"],
        [
            *["release", table, "--schema", schema, "--epsilon", "2", "--method", "nnls"],
            *["--share", "sum=0.1,identity=0.5", "--draws", "36", "--out", out, *ledger],
            *["--workload", "sum, county/tract/block, age, identity"],
        ],
        ["budget", out],
    ):
        with pytest.raises(SystemExit) as stop:
            cli.main([str(w) for w in words])
        assert not stop.value.code, capsys.readouterr().err
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["mechanism"]["scales"]["sum"] == pytest.approx(5.0)
    assert manifest["mechanism"]["scales"]["identity"] == pytest.approx(1.0)
    assert abs(len(rows(out / "records.csv")) - 2000) < 200
    intervals = rows(out / "intervals.csv")
    assert all(int(r["low_all"]) <= int(r["low"]) <= int(r["high"]) for r in intervals)
