"""The comparison with the published tables: complete, honest, and failing when it should."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from microdata_price import cli
from microdata_price.exceptions import InputError
from microdata_price.grid import load_errors
from microdata_price.studies import scorecard as sc
from microdata_price.studies.scorecard import render_checks, render_mismatches, render_tables

OUT = ["check-tables", "--workers", "1", "--seed", "3"]


def status(arguments: list[str]) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    return ended.value.code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "grid"
    assert status([*OUT, "--runs", "250", "--out", str(path)]) == 0
    return path


@pytest.fixture
def card(folder: Path) -> pd.DataFrame:
    return sc.scorecard(load_errors(folder))


def test_the_papers_columns_within_standard_errors(card: pd.DataFrame) -> None:
    assert len(card) == 240
    assert all(check.passed for check in sc.checks(card))
    assert (card["failures"] == 0).all()
    ols = card[(card["method"] == "ols") & (card["query_set"] == "sum")]
    exact = ols.set_index("dataset")["exact"].round(3)
    assert exact["Level00-2d"] == 105.785
    assert (exact.drop("Level00-2d") == 110.592).all()
    sequential = card[(card["method"] == "sequential") & (card["query_set"] == "sum")]
    assert sequential["exact"].round(6).unique().tolist() == [128.0]


def test_z_scores_are_of_the_difference(card: pd.DataFrame) -> None:
    expected = (card["published"] - card["value"]) / (card["standard_error"] * np.sqrt(2))
    np.testing.assert_allclose(card["z"], expected)


def test_the_command_prints_and_reuses(
    folder: Path, capsys: pytest.CaptureFixture[str], card: pd.DataFrame
) -> None:
    assert status([*OUT, "--runs", "250", "--out", str(folder)]) == 0
    text = capsys.readouterr().out
    for word in ("Table 1, sum query", "105.785", "110.592", "every one is 128.000", "ok  "):
        assert word in text
    assert text.count("PUMA5151255") >= 3
    assert status([*OUT, "--runs", "250", "--out", str(folder), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["passed"] is True
    assert len(document["values"]) == 240
    assert document["values"][0]["published"] == card["published"][0]


@pytest.mark.parametrize(
    ("choose", "column", "check"),
    [
        ("method == 'nnls' and metric == 'total'", "value", 0),
        ("method == 'reweighted' and query_set == 'sum'", "value", 0),
        ("method == 'ols' and query_set == 'identity' and metric == 'total'", "value", 1),
        ("method == 'sequential' and query_set == 'sum'", "value", 2),
        ("method == 'sequential' and query_set == 'sum'", "standard_error", 2),
        ("method == 'nnls' and metric == 'total'", "standard_error", 0),
    ],
)
def test_each_check_can_fail(folder: Path, choose: str, column: str, check: int) -> None:
    errors = load_errors(folder)
    row = errors.query(f"dataset == 'PUMA1901700' and {choose}").index[0]
    spoiled = errors[column].to_numpy(copy=True)
    spoiled[row] = spoiled[row] * 1.9 if column == "value" else np.nan
    found = sc.checks(sc.scorecard(errors.assign(**{column: spoiled})))
    assert not found[check].passed
    assert "PUMA1901700" in found[check].account
    assert "FAIL" in render_checks(found)


def test_a_failed_check_is_status_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("microdata_price.studies.scorecard.LIMIT", 0.01)
    assert status([*OUT, "--runs", "250", "--out", str(folder)]) == 1
    assert "FAIL  totals of OLS, NNLS and reweighted" in capsys.readouterr().out


def test_failures_are_told(card: pd.DataFrame) -> None:
    found = sc.checks(card.assign(failures=[1] + [0] * 239))
    assert not found[3].passed
    assert found[3].account.startswith("1 run failed")


def test_mismatches_are_listed(card: pd.DataFrame) -> None:
    far = card["z"].where(card["method"] != "maxfit", 99.0)
    text = render_mismatches(card.assign(z=far))
    assert "maxfit, sum total: 16 of 16 (Level00-2d, " in text
    assert "none" in render_mismatches(card.assign(z=0.0))
    assert render_tables(card).count("\n") == 3 * (1 + 1 + 16) + 2 * 1 - 1


def test_missing_values_are_named(folder: Path) -> None:
    errors = load_errors(folder).query("method != 'ols'")
    with pytest.raises(
        InputError, match=r"48 of the 240 published values are missing .* Level00-2d"
    ):
        sc.scorecard(errors)


def test_too_few_runs_to_compare(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert status(["check-tables", "--runs", "3", "--out", str(tmp_path / "x")]) == 2
    assert "standard errors that can be compared need 30 or more" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
