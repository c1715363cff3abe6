"""The small table and its schema as files, and the command that releases it."""

import pytest

from command_line import run
from microdata_price.model.privacy import PureDP
from microdata_price.release.ledger import Account
from release_samples import SCHEMA, TABLE, counts_csv


@pytest.fixture
def inputs(tmp_path):
    table, schema = tmp_path / "table.csv", tmp_path / "schema.json"
    table.write_text(counts_csv(SCHEMA, TABLE))
    schema.write_text(SCHEMA.to_json())
    return table, schema, tmp_path / "out"


@pytest.fixture
def command(inputs, capsys):
    """Run the command on the small table: exit status, what it printed, and what it complained."""
    table, schema, place = inputs

    def release(*more, out=place):
        return run(capsys, "release", table, "--schema", schema, "--out", out, *more)

    return release


@pytest.fixture
def account(tmp_path):
    """An account with room enough, beside the release."""
    made = Account(tmp_path / "ledger.jsonl", "persons")
    made.limit(PureDP(10.0))
    return made
