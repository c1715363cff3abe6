"""The commands book and run: what they refuse before anything is computed, and their folders."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from microdata_price.base.files import claim_folder
from microdata_price.book import build as book
from microdata_price.book import notebook
from microdata_price.book import one as book_one
from microdata_price.book import site as book_site
from microdata_price.book.plan import Chapter, Edition
from microdata_price.book.run import Run
from microdata_price.cli import main
from tiny_book import ROOT, make_notebook, make_root, ordinary

OWN = 'table = ""\nschema = ""\nepsilon = 0.5'


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = make_root(tmp_path, {"chapter": ordinary(), "lower_pure": ordinary("Lower")}, {})
    monkeypatch.chdir(made)

    def never(*_args: object, **_named: object) -> None:
        raise AssertionError("something was computed")

    monkeypatch.setattr(book, "run_all", never)
    monkeypatch.setattr(book_one, "run_all", never)
    return made


def status(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main([*arguments])
    return int(stop.value.code or 0)


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert status(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *[(f"--epsilon {bad}", f"epsilon is {bad}") for bad in ("0", "-1", "inf", "nan")],
        ("--epsilon much", "'much' is not a number"),
        *[("--rho 0", "rho is 0"), ("--delta 1", "delta is 1"), ("--runs 0", "runs is 0")],
        ("--runs 2.5", "'2.5' is not a whole number"),
        ("--sigma 2", "no such option"),
        *[(f"--out {place}", "--out") for place in ("full", "file", "file/below")],
    ],
)
def test_book_refuses_levels_that_cannot_be_and_folders_of_others(
    root: Path, given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "full").mkdir()
    for name in ("full/thesis.txt", "file"):
        (root / name).write_text("mine", encoding="utf-8")
    before = sorted(root.rglob("*"))
    assert said in refused(["book", *given.split()], capsys)
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize("name", ["an-empty-folder", "an-earlier-site", "nothing"])
def test_a_site_may_go_where_nothing_is_lost(tmp_path: Path, name: str) -> None:
    (tmp_path / "an-empty-folder").mkdir()
    (tmp_path / "an-earlier-site").mkdir()
    (tmp_path / "an-earlier-site" / "searchindex.js").touch()
    before = sorted(tmp_path.rglob("*"))
    claim_folder(tmp_path / name, "searchindex.js", "an earlier site")
    assert sorted(tmp_path.rglob("*")) == before
    assert book.default_site(ROOT, Edition()) == ROOT / "book" / "_build" / "html"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("chaptr", "there is no notebook 'chaptr'; did you mean chapter?"),
        ("none.ipynb", "there is no notebook 'none.ipynb'"),
        ("chapter -p epsilom 1", "no parameter 'epsilom'; did you mean epsilon?"),
        ("chapter -p epsilon much", "parameter 'epsilon' is 'much'"),
        ("chapter -p epsilon -1", "epsilon is -1"),
        ("chapter -f none.yaml", "file 'none.yaml' does not exist"),
        ("chapter -f bad.yaml", "bad.yaml must hold lines such as"),
        ("chapter -f twice.yaml", "twice.yaml: 'epsilon' is given twice"),
        ("chapter -f binary.yaml", "binary.yaml is not YAML"),
        ("chapter --param-grid epsilon", "NAME=V1,V2"),
        ("chapter --param-grid epsilon=0.5,0", "epsilon is 0"),
        ("chapter --param-grid epsilon=1,2,1.0", "epsilon = 1.0 is given twice"),
        ("chapter --param-grid epsilon=1 --param-grid epsilon=3", "'epsilon' is given twice"),
        ("chapter -p epsilon 1 -p epsilon 2", "'epsilon' is given twice"),
        ("chapter -p epsilon 1 --param-grid epsilon=1", "'epsilon' is given twice"),
        ("chapter --out bad.yaml/here", "bad.yaml is not one; choose"),
        ("chapter --out bad.yaml", "bad.yaml is not one; choose"),
        ("chapter --out full", "full exists and is not an earlier run"),
        ("lazy.ipynb -p rho 0.5", "declares the parameter 'rho' and never reads it"),
        ("copy.ipynb", "copy.ipynb is an executed copy"),
    ],
)
def test_run_refuses_what_it_cannot_use(
    root: Path, given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, data in (("bad", b"- 1\n"), ("twice", b"epsilon: 1\nepsilon: 2\n")):
        (root / f"{name}.yaml").write_bytes(data)
    (root / "binary.yaml").write_bytes(b"\xff\x00")
    (root / "full").mkdir()
    (root / "full" / "thesis.txt").write_text("mine", encoding="utf-8")
    declares = ("code", "rho = 1.0", "parameters")
    notebook.write(make_notebook(declares, ("code", "1")), root / "lazy.ipynb")
    injected = ("code", "rho = 0.25", "injected-parameters")
    notebook.write(make_notebook(declares, injected, ("code", "rho")), root / "copy.ipynb")
    assert said in refused(["run", *given.split()], capsys)
    assert (root / "full" / "thesis.txt").read_text(encoding="utf-8") == "mine"
    assert not (root / "results").exists()


def test_outside_a_checkout_a_sentence_says_what_is_missing(tmp_path: Path) -> None:
    """The installed package elsewhere: no book above the folder nor above the code."""
    target = tmp_path / "installed"
    target.mkdir()
    shutil.copytree(ROOT / "src" / "microdata_price", target / "microdata_price")
    (tmp_path / "data").symlink_to(ROOT / "data")
    command = [sys.executable, "-c", "from microdata_price.cli import main; main(['book'])"]
    environment = {"PYTHONPATH": str(target), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "no book was found" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def quick(root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[Chapter]]:
    """Run nothing and build nothing; note what would be run and where it would be kept."""
    chapters: list[Chapter] = []

    def note(_root: Path, given: list[Chapter], kept: Path, *_rest: object) -> list[Run]:
        chapters.extend(given)
        assert not given[0].values.get("table") or kept.stat().st_mode & 0o777 == 0o700
        done = kept / "x.ipynb"
        notebook.write(given[0].source, done)
        return [Run(given[0].name, done, 1.0, "today", dict(given[0].values), {})]

    def build(_book: Path, site: Path, **_named: object) -> Path:
        site.mkdir()
        return site

    monkeypatch.setattr(book_one, "run_all", note)
    monkeypatch.setattr(book_one, "_pages", lambda *_: "page")
    monkeypatch.setattr(book_site, "run_builder", build)
    cells = ("code", OWN, "parameters"), ("code", "print(table, schema, epsilon)")
    notebook.write(make_notebook(("text", "# Own"), *cells), root / "notebooks" / "own.ipynb")
    return root, chapters


def test_the_command_line_goes_before_the_file(
    quick: tuple[Path, list[Chapter]], capsys: pytest.CaptureFixture[str]
) -> None:
    root, chapters = quick
    (root / "p.yaml").write_text("epsilon: 1e-3\nruns: 5\n", encoding="utf-8")
    assert status("run", "chapter", "-f", "p.yaml", "-p", "runs", "7") == 0
    assert chapters[0].values == {"epsilon": 0.001, "runs": 7}
    assert capsys.readouterr().out == "results/chapter-epsilon-1e-3-runs-7/html/page.html\n"


def test_paths_are_meant_in_the_callers_folder_and_the_page_is_private(
    quick: tuple[Path, list[Chapter]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root, chapters = quick
    here = root / "elsewhere"
    here.mkdir()
    (here / "wide.csv").touch()
    monkeypatch.chdir(here)
    path = str(root / "notebooks" / "own.ipynb")
    assert status("run", path, "-p", "table", "wide.csv", "-p", "schema", "none.json") == 0
    assert chapters[0].values["table"] == str(here / "wide.csv")
    assert chapters[0].values["schema"] == "none.json"
    out = here / "results" / "own-table-wide-schema-none"
    assert out.stat().st_mode & 0o777 == 0o700
    assert "CONFIDENTIAL" in capsys.readouterr().err
    assert not list((root / "book" / "_generated").glob(".run-*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["run_all", "run_builder"])
def test_nothing_of_a_true_table_is_left_when_a_run_is_stopped(
    quick: tuple[Path, list[Chapter]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    moment: str,
    number: signal.Signals,
) -> None:
    root, _ = quick
    (root / "true.csv").write_text("SECRET")
    monkeypatch.chdir(root)
    before = sorted(root.rglob("*"))
    where: Any = book_one if moment == "run_all" else book_site
    inner = getattr(where, moment)

    def stopped(*given: object, **named: object) -> object:
        found = inner(*given, **named)
        assert set(root.rglob("*")) > set(before)  # something is there that must go
        signal.raise_signal(number)
        return found

    monkeypatch.setattr(where, moment, stopped)
    assert status("run", "notebooks/own.ipynb", "-p", "table", "true.csv") == 128 + number
    assert "Traceback" not in capsys.readouterr().err
    left = set(root.rglob("*")) - set(before)
    assert {p.relative_to(root) for p in left} <= {Path("results"), Path("book/_generated")}


def test_different_parameters_go_to_different_folders(
    quick: tuple[Path, list[Chapter]], capsys: pytest.CaptureFixture[str]
) -> None:
    root, _ = quick
    grid = ["--param-grid", "epsilon=0.1,0.5,1"]
    tables = [["-p", "table", table] for table in ("../a/b c.csv", "b_c", "x" * 200)]
    for words in [[], ["-p", "epsilon", "0.25"], grid, *tables]:
        assert status("run", "notebooks/own.ipynb", *words) == 0
    assert "replacing" not in capsys.readouterr().err
    names = sorted(p.name for p in (root / "results").iterdir())
    plain = ["own", "own-epsilon-0.1-0.5-1", "own-epsilon-0.25", "own-table-b_c"]
    assert {*plain} < {*names}
    assert len(names) == 6
    assert max(map(len, names)) < 100
    assert len(list((root / "results" / plain[1]).glob("*.ipynb"))) == 3
    assert status("run", "notebooks/own.ipynb", "-p", "epsilon", "0.25") == 0
    assert "replacing the earlier run in results/own-epsilon-0.25" in capsys.readouterr().err
