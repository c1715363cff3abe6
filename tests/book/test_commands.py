"""The commands book and run: what they refuse, before anything is computed."""

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


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = make_root(tmp_path, {"chapter": ordinary(), "lower_pure": ordinary("Lower")}, {})
    monkeypatch.chdir(made)

    def never(*_args: object, **_named: object) -> None:
        raise AssertionError("something was computed")

    monkeypatch.setattr(book, "run_all", never)
    monkeypatch.setattr(book_one, "run_all", never)
    return made


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    out, err = capsys.readouterr()
    assert stop.value.code == 2
    assert out == ""
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--epsilon", "0"], "epsilon is 0"),
        (["--epsilon", "-1"], "epsilon is -1"),
        (["--epsilon", "inf"], "epsilon is inf"),
        (["--epsilon", "nan"], "epsilon is nan"),
        (["--epsilon", "much"], "'much' is not a number"),
        (["--rho", "0"], "rho is 0"),
        (["--delta", "1"], "delta is 1"),
        (["--runs", "0"], "runs is 0"),
        (["--runs", "2.5"], "'2.5' is not a whole number"),
        (["--sigma", "2"], "no such option"),
    ],
)
def test_book_refuses_levels_that_cannot_be(
    root: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(["book", *arguments], capsys)
    assert not (root / "book" / "_build").exists()


@pytest.mark.parametrize("out", ["full", "file", "file/below"])
def test_book_replaces_nothing_but_an_earlier_site(
    root: Path, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "full").mkdir()
    (root / "full" / "thesis.txt").write_text("mine", encoding="utf-8")
    (root / "file").write_text("mine", encoding="utf-8")
    assert "--out" in refused(["book", "--out", out], capsys)
    assert (root / "full" / "thesis.txt").read_text(encoding="utf-8") == "mine"
    assert (root / "file").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["an-empty-folder", "an-earlier-site", "nothing"])
def test_a_site_may_go_where_nothing_is_lost(tmp_path: Path, name: str) -> None:
    (tmp_path / "an-empty-folder").mkdir()
    (tmp_path / "an-earlier-site").mkdir()
    for file in ("index.html", "searchindex.js"):
        (tmp_path / "an-earlier-site" / file).touch()
    before = sorted(tmp_path.rglob("*"))
    claim_folder(tmp_path / name, "searchindex.js", "an earlier site")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chaptr"], "there is no notebook 'chaptr'; did you mean chapter?"),
        (["none.ipynb"], "there is no notebook 'none.ipynb'"),
        (["chapter", "-p", "epsilom", "1"], "no parameter 'epsilom'; did you mean epsilon?"),
        (["chapter", "-p", "epsilon", "much"], "parameter 'epsilon' is 'much'"),
        (["chapter", "-p", "epsilon", "-1"], "epsilon is -1"),
        (["chapter", "-p", "runs", "2.5"], "parameter 'runs' is '2.5'"),
        (["chapter", "-p", "epsilon", "[1"], "parameter 'epsilon' is '[1'"),
        (["chapter", "-f", "none.yaml"], "there is no parameter file 'none.yaml'"),
        (["chapter", "-f", "bad.yaml"], "bad.yaml must hold lines such as"),
        (["chapter", "--param-grid", "epsilon"], "NAME=V1,V2"),
        (["chapter", "--param-grid", "epsilon=0.5,0"], "epsilon is 0"),
        (
            ["chapter", "--param-grid", "epsilon=1,2", "--param-grid", "epsilon=3"],
            "'epsilon' is given twice",
        ),
        (["chapter", "-p", "epsilon", "1", "-p", "epsilon", "2"], "'epsilon' is given twice"),
        (
            ["chapter", "-p", "epsilon", "1", "--param-grid", "epsilon=1"],
            "'epsilon' is given twice",
        ),
        (["chapter", "--param-grid", "epsilon=1,2,1.0"], "epsilon = 1.0 is given twice"),
        (["chapter", "-f", "twice.yaml"], "twice.yaml: 'epsilon' is given twice"),
        (["chapter", "-f", "binary.yaml"], "binary.yaml is not a text file"),
        (["chapter", "-f", "deep.yaml"], "deep.yaml is nested too deeply"),
        (["chapter", "-p", "epsilon", "[" * 5000], "parameter 'epsilon' is '[[["),
        (["chapter", "--out", "bad.yaml/here"], "bad.yaml is not one; choose"),
        (["chapter", "--out", "full"], "full exists and is not an earlier run"),
        (["chapter", "--out", "bad.yaml"], "bad.yaml is not one; choose"),
    ],
)
def test_run_refuses_what_it_cannot_use(
    root: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "bad.yaml").write_text("- 1\n", encoding="utf-8")
    (root / "twice.yaml").write_text("epsilon: 1\nepsilon: 2\n", encoding="utf-8")
    (root / "binary.yaml").write_bytes(b"\xff\x00")
    (root / "deep.yaml").write_text("[" * 5000, encoding="utf-8")
    (root / "full").mkdir()
    (root / "full" / "thesis.txt").write_text("mine", encoding="utf-8")
    assert said in refused(["run", *arguments], capsys)
    assert (root / "full" / "thesis.txt").read_text(encoding="utf-8") == "mine"
    assert not (root / "results").exists()


def test_a_parameter_that_the_notebook_never_reads_is_refused(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lazy = make_notebook(("text", "# L"), ("code", "rho = 1.0", "parameters"), ("code", "1"))
    notebook.write(lazy, root / "lazy.ipynb")
    assert "declares the parameter 'rho' and never reads it" in refused(
        ["run", "lazy.ipynb", "-p", "rho", "0.5"], capsys
    )


def test_outside_a_checkout_a_sentence_says_what_is_missing(tmp_path: Path) -> None:
    """The installed package elsewhere: no book above the folder nor above the code."""
    target = tmp_path / "installed"
    target.mkdir()
    shutil.copytree(ROOT / "src" / "microdata_price", target / "microdata_price")
    (tmp_path / "data").symlink_to(ROOT / "data")
    done = subprocess.run(
        [sys.executable, "-c", "from microdata_price.cli import main; main(['book'])"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(target), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "no book was found" in done.stderr
    assert "Traceback" not in done.stderr


def test_parameters_given_twice_prefer_the_command_line_to_the_file(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[object] = []

    def note(given: str, values: object, *_rest: object) -> Path:
        seen.extend([given, values])
        return Path("page.html")

    monkeypatch.setattr("microdata_price.commands.run.run_one", note)
    (root / "p.yaml").write_text("epsilon: 1e-3\nruns: 5\n", encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(["run", "chapter", "-f", "p.yaml", "-p", "runs", "7"])
    assert stop.value.code in (0, None)
    assert seen == ["chapter", {"epsilon": "1e-3", "runs": "7"}]
    assert capsys.readouterr().out == "page.html\n"


def test_the_default_site_and_others_lie_where_the_readme_says() -> None:
    assert book.default_site(ROOT, Edition()) == ROOT / "book" / "_build" / "html"


def own(body: str) -> notebook.Notebook:
    return make_notebook(
        ("text", "# Own"),
        ("code", 'table = ""\nschema = ""\nepsilon = 0.5', "parameters"),
        ("code", body),
    )


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
    notebook.write(own("print(table, schema, epsilon)"), root / "notebooks" / "own.ipynb")
    return root, chapters


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
    with pytest.raises(SystemExit) as stop:
        main(["run", path, "-p", "table", "wide.csv", "-p", "schema", "none.json"])
    assert stop.value.code in (0, None)
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
    with pytest.raises(SystemExit) as stop:
        main(["run", "notebooks/own.ipynb", "-p", "table", "true.csv"])
    assert stop.value.code == 128 + number
    assert "Traceback" not in capsys.readouterr().err
    left = set(root.rglob("*")) - set(before)
    assert {p.relative_to(root) for p in left} <= {Path("results"), Path("book/_generated")}


def test_different_parameters_go_to_different_folders(
    quick: tuple[Path, list[Chapter]], capsys: pytest.CaptureFixture[str]
) -> None:
    root, _ = quick
    runs: list[list[str]] = [
        [],
        ["-p", "epsilon", "0.25"],
        ["--param-grid", "epsilon=0.1,0.5,1"],
        ["-p", "table", "../a/b c.csv"],
        ["-p", "table", "x" * 200],
    ]
    for words in runs:
        with pytest.raises(SystemExit):
            main(["run", "notebooks/own.ipynb", *words])
    assert "replacing" not in capsys.readouterr().err
    names = sorted(p.name for p in (root / "results").iterdir())
    long = names.pop()
    assert names == [
        "own",
        "own-epsilon-0.1-0.5-1",
        "own-epsilon-0.25",
        "own-table-b_c",
    ]
    assert len(long) < 100
    with pytest.raises(SystemExit):
        main(["run", "notebooks/own.ipynb", "-p", "epsilon", "0.25"])
    assert "replacing the earlier run in results/own-epsilon-0.25" in capsys.readouterr().err


def test_an_executed_copy_is_named_as_one(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = make_notebook(
        ("text", "# C"),
        ("code", "epsilon = 1.0", "parameters"),
        ("code", "epsilon = 0.25", "injected-parameters"),
        ("code", "epsilon"),
    )
    notebook.write(copy, root / "copy.ipynb")
    said = refused(["run", "copy.ipynb"], capsys)
    assert "copy.ipynb is an executed copy" in said
