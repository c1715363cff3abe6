"""The commands of the grid: what they print and write, and when the comparison fails."""

import json

import numpy as np
import pytest

from command_line import run
from microdata_price.chapters.published import checks, published_spec, scorecard
from microdata_price.commands.grid import _far, _tables
from microdata_price.grid import load_errors, run_grid

SMALL = "--dataset Stair-1d --epsilon 0.5 --methods ols --runs 10"
CHECK = ["check-tables", "--workers", "1", "--seed", "3", "--runs", "250"]


def grid(capsys, words, out):
    return run(capsys, "grid", *words.split(), "--workers", "1", "--out", out)


def test_two_files_where_they_are_and_what_was_there_already(tmp_path, capsys):
    folder = tmp_path / "a" / "b"
    for reused in (0, 1):
        code, out, err = grid(capsys, SMALL, folder)
        assert (code, reused == 1 or "1 of 1 blocks" in err) == (0, True)
        for told in ("fits: 10\n", "failures: 0\n", f"blocks reused: {reused}\n"):
            assert told in out
    made = [folder / name for name in ("errors.parquet", "queries.parquet")]
    assert all(str(file) in out and file.is_file() for file in made)
    code, out, err = grid(capsys, f"{SMALL} --json --quiet", folder)
    document = json.loads(out)
    told = [document[name] for name in ("pairs", "fits", "failures")]
    assert (code, err, told) == (0, "", [1, 10, 0])
    assert document["worst_certificate"] <= 1e-7


@pytest.mark.parametrize(
    ("words", "fits", "levels"),
    [("--epsilon 1,0.5 --epsilon 0.1 --rho 2", 4 * 12, [0.1, 0.5, 1, 2]), ("--rho 1", 12, [1])],
)
def test_values_with_commas_and_repeated_are_counted_rightly(tmp_path, capsys, words, fits, levels):
    more = "--dataset Stair-1d,Stair-2d --methods nnls --methods ols --runs 3"
    code, out, _ = grid(capsys, f"{words} {more}", tmp_path)
    assert (code, f"\nfits: {fits}\n" in out) == (0, True)
    errors = load_errors(tmp_path)
    assert sorted(set(errors["level"])) == levels
    assert list(dict.fromkeys(errors["method"])) == ["ols", "nnls"]


# The paper's Tables 1 and 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "grid"
    run_grid(published_spec(runs=250, seed=3), path, workers=1)
    return path


@pytest.fixture(scope="module")
def card(folder):
    return scorecard(load_errors(folder))


def test_the_papers_columns_within_standard_errors(card):
    assert (len(card), card["failures"].any()) == (240, False)
    assert not any(len(check.far) for check in checks(card).values())
    expected = (card["published"] - card["value"]) / card["standard_error"]
    np.testing.assert_allclose(card["z"] * np.sqrt(1 + card["runs"] / 1000), expected)


def test_the_command_prints_reuses_and_fails(folder, capsys, card, monkeypatch):
    code, text, _ = run(capsys, *CHECK, "--out", folder)
    assert (code, text.count("PUMA5151255") >= 3) == (0, True)
    assert all(word in text for word in ("Sum: ours", "Published values 4 or more", "ok  "))
    code, text, _ = run(capsys, *CHECK, "--out", folder, "--json")
    document = json.loads(text)
    assert (code, document["passed"], len(document["values"])) == (0, True, 240)
    assert document["values"][0]["published"] == card["published"][0]
    monkeypatch.setattr("microdata_price.commands.grid.LIMIT", 0.01)
    code, text, _ = run(capsys, *CHECK, "--out", folder)
    assert (code, "maxfit sum total (Level00-2d, " in text) == (1, True)
    assert "FAIL  totals of OLS, NNLS and reweighted" in text


@pytest.mark.parametrize(
    ("choose", "column", "check"),
    [
        ("method == 'nnls' and metric == 'total'", "value", "published"),
        ("method == 'nnls' and metric == 'total'", "standard_error", "published"),
        ("method == 'ols' and query_set == 'identity' and metric == 'total'", "value", "ols"),
        ("method == 'sequential' and query_set == 'sum'", "standard_error", "sequential"),
    ],
)
def test_each_check_can_fail(folder, choose, column, check):
    errors = load_errors(folder)
    row = errors.query(f"dataset == 'PUMA1901700' and {choose}").index[0]
    spoiled = errors[column].to_numpy(copy=True)
    spoiled[row] = spoiled[row] * 1.9 if column == "value" else np.nan
    card = scorecard(errors.assign(**{column: spoiled}))
    assert checks(card)[check].far["dataset"].tolist() == ["PUMA1901700"]
    assert _far(checks(card)[check].rows).endswith(" (PUMA1901700)")
    assert [len(table.split("\n")) for table in _tables(card)] == [1 + 1 + 16] * 3
