"""The comparison with the published tables: complete, honest, and failing when it should."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import refused, run
from microdata_price.chapters.published import checks, published_spec, scorecard
from microdata_price.commands.grid import _account, _mismatches, _tables
from microdata_price.exceptions import InputError
from microdata_price.grid import load_errors, run_grid

OUT = ["check-tables", "--workers", "1", "--seed", "3", "--runs"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "grid"
    run_grid(published_spec(runs=250, seed=3), path, workers=1)
    return path


@pytest.fixture
def card(folder: Path) -> pd.DataFrame:
    return scorecard(load_errors(folder))


def test_the_papers_columns_within_standard_errors(card: pd.DataFrame) -> None:
    assert len(card) == 240
    assert not any(len(check.far) for check in checks(card).values())
    assert (card["failures"] == 0).all()
    sums = card[card["query_set"] == "sum"].set_index(["method", "dataset"])["exact"].round(3)
    assert sums["ols", "Level00-2d"] == 105.785
    assert (sums["ols"].drop("Level00-2d") == 110.592).all()
    assert sums["sequential"].unique().tolist() == [128.0]
    expected = (card["published"] - card["value"]) / (card["standard_error"] * np.sqrt(2))
    np.testing.assert_allclose(card["z"], expected)


def test_the_command_prints_and_reuses(
    folder: Path, capsys: pytest.CaptureFixture[str], card: pd.DataFrame
) -> None:
    code, text, _ = run(capsys, *OUT, "250", "--out", folder)
    assert code == 0
    for word in ("Sum: ours", "every one is 128.000", "ok  "):
        assert word in text
    assert text.count("PUMA5151255") >= 3
    code, text, _ = run(capsys, *OUT, "250", "--out", folder, "--json")
    document = json.loads(text)
    assert (code, document["passed"], len(document["values"])) == (0, True, 240)
    assert document["values"][0]["published"] == card["published"][0]


@pytest.mark.parametrize(
    ("choose", "column", "check"),
    [
        ("method == 'nnls' and metric == 'total'", "value", "published"),
        ("method == 'reweighted' and query_set == 'sum'", "value", "published"),
        ("method == 'nnls' and metric == 'total'", "standard_error", "published"),
        ("method == 'ols' and query_set == 'identity' and metric == 'total'", "value", "ols"),
        ("method == 'sequential' and query_set == 'sum'", "value", "sequential"),
        ("method == 'sequential' and query_set == 'sum'", "standard_error", "sequential"),
    ],
)
def test_each_check_can_fail(folder: Path, choose: str, column: str, check: str) -> None:
    errors = load_errors(folder)
    row = errors.query(f"dataset == 'PUMA1901700' and {choose}").index[0]
    spoiled = errors[column].to_numpy(copy=True)
    spoiled[row] = spoiled[row] * 1.9 if column == "value" else np.nan
    found = checks(scorecard(errors.assign(**{column: spoiled})))[check]
    assert len(found.far) == 1
    assert "1 are beyond it: PUMA1901700" in _account("what", found)


def test_a_failed_check_is_status_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("microdata_price.chapters.published.LIMIT", 0.01)
    code, text, _ = run(capsys, *OUT, "250", "--out", folder)
    assert code == 1
    assert "FAIL  totals of OLS, NNLS and reweighted" in text


def test_mismatches_are_listed(card: pd.DataFrame) -> None:
    far = card["z"].where(card["method"] != "maxfit", 99.0)
    assert "maxfit sum total: 16 (Level00-2d, " in _mismatches(card.assign(z=far))
    assert "none" in _mismatches(card.assign(z=0.0))
    assert [len(table.split("\n")) for table in _tables(card)] == [1 + 1 + 16] * 3


def test_missing_values_are_named_and_too_few_runs_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    errors = load_errors(folder).query("method != 'ols'")
    with pytest.raises(InputError, match=r"48 of the 240 published values .* Level00-2d"):
        scorecard(errors)
    said = refused(capsys, *OUT, "3", "--out", tmp_path / "x")
    assert "standard errors that can be compared need 30 or more" in said
    assert not (tmp_path / "x").exists()
