"""Notebooks that people bring: run as Jupyter would, never from a stale result."""

from __future__ import annotations

import json
import re
import urllib.parse
from pathlib import Path

import nbformat
import pytest

from microdata_price.book import notebook
from microdata_price.book import one as book_one
from microdata_price.book import site as book_site
from microdata_price.book.one import run_one
from microdata_price.book.plan import Chapter
from microdata_price.book.run import chapter_key, run_all
from microdata_price.cli import main
from microdata_price.exceptions import BuildError, InputError
from tiny_book import make_notebook, make_root, ordinary

N = ("code", "n = 3", "parameters")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside a small book; pages are not built."""
    root = make_root(tmp_path, {"chapter": ordinary()}, {})
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(book_one, "find_root", lambda *_: root)

    def build(_book: Path, site: Path, **_named: object) -> Path:
        site.mkdir()
        return site

    monkeypatch.setattr(book_one, "_pages", lambda *_: "page")
    monkeypatch.setattr(book_site, "run_builder", build)
    return folder


def write(path: Path, *cells: tuple[str, ...]) -> None:
    notebook.write(make_notebook(*cells), path)


def printed(out: Path) -> str:
    """Return what the cells of the one executed notebook of a run printed."""
    (path,) = out.glob("*.ipynb")
    outputs = [o for c in notebook.read(path).cells for o in c.get("outputs", [])]
    return "".join(o.get("text", "") for o in outputs)


def test_what_a_notebook_reads_may_change_between_runs(home: Path) -> None:
    write(
        home / "own.ipynb",
        ("code", 'file = "numbers.csv"', "parameters"),
        ("code", "import helper\nprint(open(file).read(), helper.TWO)"),
    )
    out = home / "out"
    for k, given in enumerate([{}, {}, {"file": str(home / "numbers.csv")}]):
        (home / "numbers.csv").write_text(f"read {k}", encoding="utf-8")
        (home / "helper.py").write_text(f"TWO = 'module {k}{'.' * k}'", encoding="utf-8")
        run_one("own.ipynb", given, [], out, lambda _: None)
        assert f"read {k} module {k}" in printed(out)
    generated = home.parent / "checkout" / "book" / "_generated"
    assert not [p for p in generated.rglob("*") if p.is_file()]


def test_cells_that_are_not_plain_python_run_as_in_jupyter(home: Path) -> None:
    write(
        home / "odd name & #1 (é)?.ipynb",
        N,
        ("code", "%%bash\necho hello"),
        ("code", "x = !echo system {n}\nprint(x[0])"),
        ("code", "%%time\ny = 2 * n"),
        ("code", "if n:\n    !echo inside\nlen?"),
        ("code", "await __import__('asyncio').sleep(0)\nprint('awaited', y)"),
    )
    out = home / "out"
    run_one("odd name & #1 (é)?.ipynb", {"n": "010"}, [], out, lambda _: None)
    found = printed(out)
    for word in ("hello", "system 10", "inside", "awaited 20"):
        assert word in found
    refresh = re.search(r'url=([^"]+)"', (out / "html" / "index.html").read_text())
    assert refresh is not None
    assert urllib.parse.unquote(refresh[1]) == "page.html"


def test_a_notebook_without_parameters_or_of_an_old_form_runs(home: Path) -> None:
    cell = {"cell_type": "code", "input": ["print('old')"], "language": "python"}
    cell |= {"outputs": [], "collapsed": False, "metadata": {}}
    old = {"worksheets": [{"cells": [cell], "metadata": {}}], "metadata": {"name": "x"}}
    text = json.dumps({**old, "nbformat": 3, "nbformat_minor": 0})
    (home / "old.ipynb").write_text(text, encoding="utf-8")
    run_one("old.ipynb", {}, [], home / "out", lambda _: None)
    assert printed(home / "out") == "old\n"
    with pytest.raises(InputError, match="no parameter 'n'"):
        run_one("old.ipynb", {"n": "1"}, [], home / "out", lambda _: None)


@pytest.mark.parametrize(
    ("body", "cell", "said"),
    [
        ("import os, signal\nos.kill(os.getpid(), 9)", 2, "the kernel ended while it ran"),
        ("import os\nos._exit(0)", 2, "the kernel ended while it ran"),
        ("print(n", 2, "SyntaxError"),
        ("%%nosuch\nn", 2, "it could not be run"),
        ("%%bash\nexit 3", 2, "returned non-zero exit status 3"),
    ],
)
def test_every_failure_is_a_sentence_that_names_notebook_and_cell(
    home: Path, body: str, cell: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(home / "bad.ipynb", N, ("code", body), ("code", "print(n)"))
    with pytest.raises(SystemExit) as stop:
        main(["run", "bad.ipynb", "--out", "out"])
    out, err = capsys.readouterr()
    assert (stop.value.code, out) == (1, "")
    assert f"notebook 'bad' failed in cell {cell}" in err
    assert said in err
    assert "Traceback" not in err
    assert "as far as it came" in err
    assert not (home / "out").exists()


def test_a_notebook_of_another_language_is_refused(home: Path) -> None:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x <- 3")])
    made.metadata = {"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}}
    (home / "r.ipynb").write_text(nbformat.writes(made), encoding="utf-8")
    with pytest.raises(InputError, match="is a notebook in R; only Python"):
        run_one("r.ipynb", {}, [], home / "out", lambda _: None)


def test_a_chapter_is_kept_unless_it_is_given_a_path(home: Path) -> None:
    root = home.parent / "checkout"
    path = root / "notebooks" / "chapter.ipynb"
    assert book_one._only_the_book(path, root, [{"epsilon": 0.5, "name": "Stair-1d"}])
    assert not book_one._only_the_book(home / "own.ipynb", root, [{}])
    (home / "numbers.csv").touch()
    for value in ("numbers.csv", str(home / "numbers.csv")):
        assert not book_one._only_the_book(path, root, [{"file": value}])


def test_the_key_of_a_chapter_holds_what_lies_beside_it(home: Path) -> None:
    root = home.parent / "checkout"
    path = root / "notebooks" / "chapter.ipynb"
    chapter = Chapter(path, notebook.read(path), {}, ())
    first = chapter_key(root, chapter, {})
    (path.parent / "helper.py").write_text("x = 1", encoding="utf-8")
    second = chapter_key(root, chapter, {})
    (path.parent / "helper.py").write_text("x = 2", encoding="utf-8")
    assert len({first, second, chapter_key(root, chapter, {})}) == 3
    (path.parent / "other.ipynb").write_text("{}", encoding="utf-8")
    (path.parent / ".hidden").write_text("x", encoding="utf-8")
    (path.parent / "helper.py").unlink()
    assert chapter_key(root, chapter, {}) == first


def test_a_result_of_an_earlier_run_says_so(home: Path) -> None:
    root = home.parent / "checkout"
    path = root / "notebooks" / "chapter.ipynb"
    chapter = Chapter(path, notebook.read(path), {}, ())
    cache = home / "cache"
    place = cache / "chapter" / chapter_key(root, chapter, {})
    place.mkdir(parents=True)
    facts = {"name": "chapter", "seconds": 1, "when": "today", "values": {}, "versions": {}}
    (place / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    (place / "executed.ipynb").write_text("{}", encoding="utf-8")
    said: list[str] = []
    run_all(root, [chapter], cache, {}, {}, said.append)
    assert said == ["taken from an earlier run of the same code, data and values: chapter"]


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("print(n)", True),
        ("# n", False),
        ("'n'", False),
        ("f(n=2)", False),
        ("%%bash -s {n}\necho $1", True),
        ("%%bash\necho m", False),
        ("!echo {n}", True),
        ("%run other.py $n", True),
        ("%%time\nprint(n)", True),
        ("%%timeit -n 10\nf(n)", True),
        ("x = 'n'\n%matplotlib inline", False),
        ("print(n", True),
        ("echo (((m", False),
    ],
)
def test_a_parameter_is_read_in_any_kind_of_cell(source: str, reads: bool) -> None:
    assert ("n" in notebook.names_in(source)[0]) == reads
    made = make_notebook(N, ("code", source))
    if reads:
        assert list(notebook.parameters(made, "x", {"n"})) == ["n"]
    else:
        with pytest.raises(InputError, match="never reads it"):
            notebook.parameters(made, "x", {"n"})
    assert list(notebook.parameters(made, "x", ())) == ["n"]


def test_a_page_that_cannot_be_made_is_a_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / "own.ipynb", N, ("code", "print(n)"))

    def fail(*_: object) -> str:
        raise KeyError("kernelspec")

    monkeypatch.setattr(book_one, "_pages", fail)
    with pytest.raises(BuildError, match="'own' ran, but no page could be made of it: KeyError"):
        run_one("own.ipynb", {}, [], home / "out", lambda _: None)
