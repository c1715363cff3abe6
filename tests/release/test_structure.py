"""Groups, structural zeros, public totals and custom query sets, from the schema to the records."""

import json

import numpy as np
import pytest

from microdata_price.exceptions import InputError
from microdata_price.fitting import METHODS
from microdata_price.model.privacy import PureDP
from microdata_price.model.queryset import QuerySet
from microdata_price.model.workload import Workload
from microdata_price.release.measure import measure_privately
from microdata_price.release.run import publish, release_again
from microdata_price.tables.read import read_table
from microdata_price.tables.schemas import Schema, parse_schema
from microdata_price.tables.workloads import parse_workload
from release_samples import rows

PLACES = {
    "columns": {
        "block": ["A1a", "A1b", "A2a", "B1c", "B1d"],
        "age": {"cuts": [18]},
        "job": {"values": ["none", "nurse"], "other": "other"},
    },
    "groups": {
        "tract": {"block": {"A1": ["A1a", "A1b"], "A2": ["A2a"], "B1": ["B1c", "B1d"]}},
        "county": {"tract": {"A": ["A1", "A2"], "B": ["B1"]}},
    },
    "impossible": [{"age": ["below 18"], "job": ["nurse"]}],
}
SCHEMA = parse_schema(json.dumps(PLACES))
WORKLOAD = parse_workload("sum, county, tract, block, age, job, county*age, identity", SCHEMA)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("known", [False, True])
def test_no_record_is_published_where_none_can_be(tmp_path, method, known):
    table = np.random.default_rng(2).integers(0, 40, SCHEMA.cells)
    measured = measure_privately(
        table.astype(float), SCHEMA, WORKLOAD, PureDP(1.0), {"identity": 0.5}, known_total=known
    )
    out = tmp_path / "out"
    made = publish(measured, method, out)
    possible = {tuple(v) for v in SCHEMA.frame().to_numpy()}
    cells = {tuple(r[c] for c in SCHEMA.columns) for r in rows(out / "table_weighted.csv")}
    assert cells == possible
    assert "impossible by the schema" in " ".join((out / "README.txt").read_text().split())
    if made.whole is None:
        return
    records = [tuple(r[c] for c in SCHEMA.columns) for r in rows(out / "records.csv")]
    assert set(records) <= possible
    np.testing.assert_array_equal(read_table(out / "table_integer.csv", SCHEMA), made.whole)
    if known:
        assert len(records) == table.sum()
        assert made.weights.sum() == pytest.approx(table.sum(), rel=1e-12)
        assert "one record replaced" in " ".join((out / "README.txt").read_text().split())
    again = release_again(out, method, tmp_path / "again")
    np.testing.assert_array_equal(again.weights, made.weights)


def test_queries_under_names_that_say_otherwise_are_refused_before_anything_is_spent():
    schema = Schema(("sex", "age"), (("f", "m"), ("1", "2", "3")))
    for labels in ([[2, 1, 0], [2, 1, 0]], [[0, 0, 1], [1, 1, 1]], [[0, 1, -1], [0, 1, -1]]):
        workload = Workload((QuerySet.from_labels(labels, "age"),))
        with pytest.raises(InputError, match="does not ask what its name says"):
            measure_privately(np.zeros((2, 3)), schema, workload, PureDP(1.0))


def test_words_that_programs_misread_are_named(tmp_path):
    schema = Schema(("code",), (("NA", "None", "01", "-1"),))
    workload = parse_workload("sum, identity", schema)
    made = measure_privately(np.array([3.0, 4, 5, 6]), schema, workload, PureDP(1.0))
    publish(made, "nnls", tmp_path / "o")
    text = (tmp_path / "o" / "README.txt").read_text()
    assert "NA, None: a word, not a missing value" in text
    assert "leading zeros" in text
    assert (tmp_path / "o" / "table_integer.csv").read_text().startswith("code,count\n")
