"""Notebooks that people bring: run as Jupyter would, never from a stale result."""

from __future__ import annotations

import json
import os
import re
import signal
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from microdata_price.book import notebook
from microdata_price.book import one as book_one
from microdata_price.book import run as book_run
from microdata_price.book import site as book_site
from microdata_price.book.compare import comparison
from microdata_price.book.one import run_one
from microdata_price.book.opening import check_can_run
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


def test_stopped_while_it_replaces_a_run_it_leaves_a_whole_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / "own.ipynb", N, ("code", "print(n)"))
    run_one("own.ipynb", {}, [], home / "out", lambda _: None)
    rename = Path.rename

    def stopped(path: Path, target: Path) -> Path:
        if path.name == "out":
            os.kill(os.getpid(), signal.SIGINT)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", stopped)
    with pytest.raises(KeyboardInterrupt):
        run_one("own.ipynb", {"n": "4"}, [], home / "out", lambda _: None)
    monkeypatch.undo()
    assert printed(home / "out") == "4\n"
    assert (home / "out" / book_one.MARK).is_file()
    assert not list(home.glob(".unfinished*"))


def test_the_folder_one_is_in_is_not_made_anew(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home / "own.ipynb", N, ("code", "print(n)"))
    (home / "here").mkdir()
    monkeypatch.chdir(home / "here")
    with pytest.raises(InputError, match=r"is the one that you are in.* --out own-run"):
        run_one("../own.ipynb", {}, [], Path("."), lambda _: None)
    assert list(home.iterdir())
    assert Path.cwd().is_dir()


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
    with pytest.raises(InputError, match="no parameter 'n', as the notebook declares none; set"):
        run_one("old.ipynb", {"n": "1"}, [], home / "out", lambda _: None)


def test_a_cell_of_parameters_may_hold_any_python_that_gets_no_value(home: Path) -> None:
    write(
        home / "free.ipynb",
        ("text", "n = 1", "parameters"),
        ("code", 'm = 2 * 3\nk = {"a": 1}\nn = 3', "parameters"),
        ("code", "print(m, k, n)"),
    )
    run_one("free.ipynb", {"n": "5"}, [], home / "out", lambda _: None)
    assert printed(home / "out") == "6 {'a': 1} 5\n"
    for name, said in [("m", "every line must be"), ("k", "is of the type 'dict'")]:
        with pytest.raises(InputError, match=said):
            run_one("free.ipynb", {name: "1"}, [], home / "out", lambda _: None)
    write(home / "text.ipynb", ("text", "n = 1", "parameters"), ("code", "print(1)"))
    run_one("text.ipynb", {}, [], home / "out", lambda _: None)


def test_cells_without_names_are_run_without_a_word(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cell = {"cell_type": "code", "source": "print('plain')", "metadata": {}}
    cell |= {"outputs": [], "execution_count": None}
    made = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (home / "bare.ipynb").write_text(json.dumps(made), encoding="utf-8")
    run_one("bare.ipynb", {}, [], home / "out", lambda _: None)
    assert printed(home / "out") == "plain\n"
    assert "Warning" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("body", "cell", "said"),
    [
        ("import os, signal\nos.kill(os.getpid(), 9)", 2, "the kernel ended while it ran"),
        ("import os\nos._exit(0)", 2, "the kernel ended while it ran"),
        ("print(n", 2, "SyntaxError"),
        ("%%nosuch\nn", 2, "it could not be run"),
        ("%%bash\nexit 3", 2, "returned non-zero exit status 3"),
        ("exit()", 2, "it calls exit(), which ends the kernel; leave it out"),
        ("quit", 2, "it calls exit(), which ends the kernel; leave it out"),
        ("import sys\nsys.exit(3)", 2, "SystemExit: 3"),
        ("import sys\nsys.exit(0)", 2, "so that the cells after it were not run"),
        ("assert n == 4", 2, "AssertionError, without a message"),
        ("raise KeyboardInterrupt", 2, "KeyboardInterrupt, without a message"),
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


PRINTS = {"cell_type": "code", "source": "print(7)", "metadata": {}, "outputs": []}
PRINTS |= {"execution_count": None, "id": "a"}
WHOLE: dict[str, Any] = {"cells": [PRINTS], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def of_kernel(language_info: str = "", **spec: str) -> dict[str, Any]:
    info = {"language_info": {"name": language_info}} if language_info else {}
    return {**WHOLE, "metadata": {"kernelspec": spec, **info}}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (of_kernel(name="ir", display_name="R", language="R"), "a notebook in R"),
        (of_kernel(name="julia-1.9", display_name="Julia 1.9"), "for the kernel 'julia-1.9'"),
        (of_kernel("julia", name="julia-1.9"), "a notebook in julia"),
        (of_kernel("python", name="julia-1.9"), "for the kernel 'julia-1.9'"),
        (of_kernel(name="octave"), "for the kernel 'octave'"),
        (of_kernel(name="some-name"), "for the kernel 'some-name'"),
        (of_kernel("bash", name="bash"), "a notebook in bash"),
        (of_kernel(name="sos", language="sos"), "a notebook in sos"),
        (of_kernel(name="python3", language="python"), ""),
        (of_kernel(name="my-env", display_name="Mine", language="python"), ""),
        (of_kernel("python", name="mine"), ""),
        (of_kernel(name="conda-env-foo-py"), ""),
        (of_kernel(name="foo", display_name="Python [conda env: foo]"), ""),
    ],
)
def test_a_notebook_of_another_language_is_refused(
    home: Path, made: dict[str, Any], said: str
) -> None:
    (home / "k.ipynb").write_text(json.dumps(made), encoding="utf-8")
    path = home / "k.ipynb"
    if said:
        with pytest.raises(InputError, match=f"{said}; only Python .* choose a Python kernel"):
            run_one("k.ipynb", {}, [], home / "out", lambda _: None)
    else:
        check_can_run(path, notebook.read(path))


MALFORMED: list[Any] = [
    *([], 3, "x", None, {}),
    {**WHOLE, "nbformat": "4"},
    {**WHOLE, "nbformat": 9},
    {**WHOLE, "cells": {}},
    {**WHOLE, "nbformat": 2},
    {**WHOLE, "metadata": []},
    {**WHOLE, "cells": ["x"]},
    {**WHOLE, "cells": [{**PRINTS, "cell_type": "odd"}]},
    {**WHOLE, "cells": [PRINTS, {**PRINTS, "source": 3}]},
    {**WHOLE, "cells": [{**PRINTS, "metadata": {"tags": "parameters"}}]},
    *(b"", b"{", json.dumps(WHOLE).encode()[:70], b"print(1)", b"<<<<<<< HEAD\n{}\n>>>>>>> x"),
    *(b"\x89PNG\0\xff", b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"),
]


@pytest.mark.parametrize("content", MALFORMED, ids=lambda v: str(v)[:40])
def test_what_is_no_notebook_is_refused_in_one_sentence(
    home: Path, content: object, capsys: pytest.CaptureFixture[str]
) -> None:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    (home / "bad.ipynb").write_bytes(data)
    with pytest.raises(SystemExit) as stop:
        main(["run", "bad.ipynb", "--out", "out"])
    out, err = capsys.readouterr()
    assert (stop.value.code, out, err.count("\n")) == (2, "", 1)
    assert "is not a notebook that can be read" in err
    assert "save it again" in err
    assert not (home / "out").exists()


def test_a_notebook_without_code_is_refused(home: Path) -> None:
    (home / "none.ipynb").write_text(json.dumps({**WHOLE, "cells": []}), encoding="utf-8")
    with pytest.raises(InputError, match="nothing to run"):
        run_one("none.ipynb", {}, [], home / "out", lambda _: None)


def test_notebooks_that_are_written_oddly_are_run(home: Path) -> None:
    bare = {"cell_type": "code", "source": ["print(\n", "7)"]}
    for data in (
        json.dumps(WHOLE).encode("utf-16"),
        b"\xef\xbb\xbf" + json.dumps(WHOLE).encode(),
        json.dumps({"cells": [bare], "nbformat": 4, "nbformat_minor": 99}).encode(),
        json.dumps({**WHOLE, "metadata": {"kernelspec": None, "x": float("nan")}}).encode(),
    ):
        (home / "odd.ipynb").write_bytes(data)
        read = notebook.read(home / "odd.ipynb")
        check_can_run(home / "odd.ipynb", read)
        assert [c.source.replace("\n", "") for c in notebook.strip(read).cells] == ["print(7)"]


@pytest.mark.parametrize("name", ["what?", "a#b %20", "-p", "x.y.csv", "no\u00ebl \u4e2d"])
def test_however_a_notebook_is_named_it_is_run_without_a_word(
    home: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    twice = {**WHOLE, "cells": [PRINTS, {**PRINTS, "source": ["print(", "8)"]}]}  # one id
    (home / f"{name}.ipynb").write_bytes(json.dumps(twice).encode("utf-16"))
    run_one(f"{name}.ipynb", {}, [], home / "out", lambda _: None)
    assert printed(home / "out") == "7\n8\n"
    assert capfd.readouterr().err == ""


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


def test_notebooks_that_start_at_once_share_no_connection(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_run, "AT_A_TIME", 6)
    code = "from ipykernel.connect import get_connection_info\nprint(get_connection_info())"
    chapters = []
    for i in range(6):
        write(home / f"n{i}.ipynb", ("code", f"n = {i}", "parameters"), ("code", code))
        path = home / f"n{i}.ipynb"
        chapters.append(Chapter(path, notebook.read(path), {}, ()))
    runs = run_all(home, chapters, home / "cache", {}, {}, lambda _: None)
    outputs = [o for r in runs for c in notebook.read(r.path).cells for o in c.get("outputs", [])]
    told = [json.loads(o.text) for o in outputs]
    assert len({(t["ip"], t["shell_port"]) for t in told}) == len(chapters)
    assert sorted(p.suffix or p.name for p in home.iterdir()) == [".ipynb"] * 6 + ["cache"]
    if told[0]["transport"] == "ipc":  # else the folder of temporary files has a long name
        assert len({t["ip"] for t in told}) == len(chapters)


def test_a_notebook_of_ones_own_is_compared_by_all_that_it_shows(home: Path) -> None:
    write(
        home / "own.ipynb",
        ("text", "# Own\n\nText."),
        N,
        ("code", "print('result', 10 * n)\nn + 1"),
        ("code", "print('the same')"),
    )
    path = home / "own.ipynb"
    chapters = [Chapter(path, notebook.read(path), {"n": n}, ()) for n in (3, 4)]
    runs = [run_all(home, [c], home / "cache", {}, {}, lambda _: None)[0] for c in chapters]
    text, pictures = comparison(runs, [{"n": 3}, {"n": 4}])
    assert all(word in text for word in ("result 30", "result 40", "**n = 3**", "**n = 4**"))
    assert "the same" not in text
    assert pictures == {}
