"""The command line of the grid: what it prints, and the status of every kind of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from microdata_price import cli
from microdata_price.grid import load_errors

SMALL = ["--dataset", "Stair-1d", "--epsilon", "0.5", "--methods", "ols", "--runs", "10"]


def run(arguments: list[str], out: Path) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["grid", *arguments, "--workers", "1", "--out", str(out)])
    return ended.value.code


def test_two_files_and_where_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(SMALL, tmp_path / "a" / "b") == 0
    printed = capsys.readouterr()
    assert "10 fits (1 data set x 1 level x 1 method x 10 runs)" in printed.out
    assert "none failed, worst certificate" in printed.out
    assert "the general solver was asked 0 times" in printed.out
    for name in ("errors.parquet", "queries.parquet"):
        assert str(tmp_path / "a" / "b" / name) in printed.out
        assert (tmp_path / "a" / "b" / name).is_file()
    assert "1 of 1 blocks" in printed.err


def test_blocks_of_an_earlier_run_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for earlier in (0, 1):
        assert run(SMALL, tmp_path / "a") == 0
        assert f"{earlier} of 1 blocks of runs were taken" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--epsilon", "0.3,0.7"], "10 fits (1 data set x 2 levels x 1 method x 5 runs)"),
        (["--epsilon", "1", "--rho", "1"], "10 fits (1 data set x 2 levels x 1 method x 5 runs)"),
        (["--rho", "1"], "5 fits (1 data set x 1 level x 1 method x 5 runs)"),
        (
            ["--rho", "1", "--dataset", "Stair-2d", "--methods", "nnls"],
            "20 fits (2 data sets x 1 level x 2 methods x 5 runs)",
        ),
    ],
)
def test_what_was_computed_is_counted_rightly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    asked = ["--dataset", "Stair-1d", "--methods", "ols", "--runs", "5", *words]
    assert run(asked, tmp_path) == 0
    assert said in capsys.readouterr().out


def test_json_is_one_document_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*SMALL, "--json", "--quiet"], tmp_path) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert printed.err == ""
    assert (document["pairs"], document["fits"], document["failures"]) == (1, 10, 0)
    assert document["worst_certificate"] <= 1e-7


def test_values_with_commas_and_repeated(tmp_path: Path) -> None:
    arguments = ["--dataset", "Stair-1d,Stair-2d", "--epsilon", "1,0.5", "--epsilon", "0.1"]
    assert run([*arguments, "--methods", "nnls", "--methods", "ols", "--runs", "3"], tmp_path) == 0
    errors = load_errors(tmp_path)
    assert set(errors["privacy"]) == {"pure"}
    assert sorted(set(errors["level"])) == [0.1, 0.5, 1.0]
    assert list(dict.fromkeys(errors["method"])) == ["ols", "nnls"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "-1"], "epsilon is -1"),
        (["--epsilon", "nan"], "epsilon is nan"),
        (["--epsilon", "half"], "'half' is not a number"),
        (["--epsilon", "1,"], "'' is not a number"),
        (["--rho", "0"], "rho is 0"),
        (["--family", "3d"], "there is no family '3d'"),
        (["--dataset", "PUMA0101300"], "did you mean PUMA"),
        (["--methods", "olss"], "there is no method 'olss'; did you mean ols"),
        (["--methods", ""], "there is no method ''"),
        (["--runs", "0"], "runs is 0"),
        (["--runs", "-5"], "runs is -5"),
        (["--seed", "-1"], "seed is -1"),
        (["--workers", "0"], "workers is 0"),
        (["--workers", "10000"], "workers is 10000"),
        (["--scheduler", "nowhere"], "the scheduler is 'nowhere'"),
        (["--epsilon", "1e-320"], "epsilon is 9.99989e-321; it must be at least 1e-30"),
        (["--runs", "2.5"], "'2.5' is not a whole number"),
        (["--nonsense"], "no such option"),
    ],
)
def test_bad_input_is_one_sentence_status_2_and_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    few = [] if "--runs" in arguments else ["--runs", "5"]
    with pytest.raises(SystemExit) as ended:
        cli.main(["grid", *few, "--out", str(tmp_path / "out"), *arguments])
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("microdata-price: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert not list(tmp_path.iterdir())
