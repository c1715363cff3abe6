"""The small table and its schema as files."""

import pytest

from release_samples import SCHEMA, TABLE, counts_csv


@pytest.fixture
def inputs(tmp_path):
    table, schema = tmp_path / "table.csv", tmp_path / "schema.json"
    table.write_text(counts_csv(SCHEMA, TABLE))
    schema.write_text(SCHEMA.to_json())
    return table, schema, tmp_path / "out"
