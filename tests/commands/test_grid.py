"""The command line of the grid: what it prints, and the status of every kind of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import refused, run
from microdata_price.grid import load_errors

SMALL = "--dataset Stair-1d --epsilon 0.5 --methods ols --runs 10"
Captured = pytest.CaptureFixture[str]


def grid(capsys: Captured, words: str, out: Path) -> tuple[int, str, str]:
    return run(capsys, "grid", *words.split(), "--workers", "1", "--out", out)


def test_two_files_where_they_are_and_what_was_there_already(
    tmp_path: Path, capsys: Captured
) -> None:
    folder = tmp_path / "a" / "b"
    code, out, err = grid(capsys, SMALL, folder)
    assert code == 0
    assert "runs: 1 x 1 x 1 x 10 = 10 fits" in out
    assert "None failed; worst certificate" in out
    assert "by the general solver: 0." in out
    for name in ("errors.parquet", "queries.parquet"):
        assert str(folder / name) in out
        assert (folder / name).is_file()
    assert "1 of 1 blocks" in err
    assert "an earlier run: 0 of 1." in out
    assert "an earlier run: 1 of 1." in grid(capsys, SMALL, folder)[1]
    code, out, err = grid(capsys, f"{SMALL} --json --quiet", folder)
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert (document["pairs"], document["fits"], document["failures"]) == (1, 10, 0)
    assert document["worst_certificate"] <= 1e-7


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--epsilon 0.3,0.7", "1 x 2 x 1 x 5 = 10 fits"),
        ("--epsilon 1 --rho 1", "1 x 2 x 1 x 5 = 10 fits"),
        ("--rho 1", "1 x 1 x 1 x 5 = 5 fits"),
        (
            "--rho 1 --dataset Stair-2d --methods nnls",
            "2 x 1 x 2 x 5 = 20 fits",
        ),
    ],
)
def test_what_was_computed_is_counted_rightly(
    tmp_path: Path, capsys: Captured, words: str, said: str
) -> None:
    code, out, _ = grid(capsys, f"--dataset Stair-1d --methods ols --runs 5 {words}", tmp_path)
    assert code == 0
    assert said in out


def test_values_with_commas_and_repeated(tmp_path: Path, capsys: Captured) -> None:
    words = "--dataset Stair-1d,Stair-2d --epsilon 1,0.5 --epsilon 0.1 --methods nnls --methods ols"
    assert grid(capsys, f"{words} --runs 3", tmp_path)[0] == 0
    errors = load_errors(tmp_path)
    assert set(errors["privacy"]) == {"pure"}
    assert sorted(set(errors["level"])) == [0.1, 0.5, 1.0]
    assert list(dict.fromkeys(errors["method"])) == ["ols", "nnls"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--epsilon -1", "epsilon is -1"),
        ("--epsilon nan", "epsilon is nan"),
        ("--epsilon half", "'half' is not a number"),
        ("--epsilon 1,", "'' is not a number"),
        ("--rho 0", "rho is 0"),
        ("--family 3d", "there is no family '3d'"),
        ("--dataset PUMA0101300", "did you mean PUMA"),
        ("--methods olss", "there is no method 'olss'; did you mean ols"),
        ("--methods=", "there is no method ''"),
        ("--runs 0", "runs is 0"),
        ("--runs -5", "runs is -5"),
        ("--seed -1", "seed is -1"),
        ("--workers 0", "workers is 0"),
        ("--workers 10000", "workers is 10000"),
        ("--scheduler nowhere", "the scheduler is 'nowhere'"),
        ("--epsilon 1e-320", "epsilon is 9.99989e-321; it must be at least 1e-30"),
        ("--runs 2.5", "'2.5' is not a whole number"),
        ("--nonsense", "no such option"),
    ],
)
def test_bad_input_is_one_sentence_status_2_and_no_file(
    tmp_path: Path, capsys: Captured, arguments: str, message: str
) -> None:
    few = "" if "--runs" in arguments else "--runs 5"
    said = refused(capsys, "grid", *f"{few} {arguments}".split(), "--out", tmp_path / "out")
    assert said.startswith("microdata-price: ")
    assert message in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())
