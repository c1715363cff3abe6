"""Notebooks that people bring: run as Jupyter would, never from a stale result."""

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import nbformat
import psutil
import pytest

from microdata_price.book import notebook
from microdata_price.book import one as book_one
from microdata_price.book import run as book_run
from microdata_price.book.notebook import check_can_run
from microdata_price.book.one import run_one
from microdata_price.book.parameters import check
from microdata_price.book.plan import Chapter
from microdata_price.book.run import run_all
from microdata_price.cli import main
from microdata_price.exceptions import BuildError, InputError
from tiny_book import make_notebook, make_root, ordinary, without_pages

N = ("code", "n = 3", "parameters")
BAR = "for k in 1, 2:\n    print(f'\\r{k} of', 2, end='', flush=True)\nprint('x' * 10**6)"
IMPORTS = "from microdata_price.base import numbers"  # so that kernels are forked where many start


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder outside a small book; pages are not built."""
    root = make_root(tmp_path, {"chapter": ordinary()}, {})
    (folder := tmp_path / "mine").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(book_one, "find_root", lambda *_: root)
    without_pages(monkeypatch)
    return folder


def write(path, *cells):
    notebook.write(make_notebook(*cells), path)
    return Chapter(path, notebook.read(path))


def shown(name, **given):
    """Run a notebook and return what its cells printed."""
    run_one(name, given, {}, Path("out"), lambda _: None)
    (path,) = Path("out").glob("*.ipynb")
    outputs = [o for c in notebook.read(path).cells for o in c.get("outputs", [])]
    return "".join(o.get("text", "") for o in outputs)


def test_what_a_notebook_reads_may_change_between_runs(home):
    reads = ("code", "import helper\nprint(open(file).read(), helper.TWO)")
    write(home / "own.ipynb", ("code", 'file = "numbers.csv"', "parameters"), reads)
    for k, given in enumerate([{}, {"file": str(home / "numbers.csv")}]):
        (home / "numbers.csv").write_text(f"read {k}", encoding="utf-8")
        (home / "helper.py").write_text(f"TWO = 'module {k}{'.' * k}'", encoding="utf-8")
        assert f"read {k} module {k}" in shown("own.ipynb", **given)


def test_cells_that_are_not_plain_python_run_as_in_jupyter(home, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")  # which would lose plots in silence
    name = "odd {name} & #1 (é)?.ipynb"
    write(
        home / name,
        ("text", "n = 1", "parameters"),
        ("code", "%matplotlib inline\nm = 2 * 3\nn = 3  # n?", "parameters"),
        *(("code", "%%bash\necho hello"), ("code", "x = !echo system {n}\nprint(x[0])")),
        ("code", "%%time\ny = 2 * n\nprint('m =', m)"),
        ("code", "if n:\n    !echo inside\nlen?"),
        ("code", "await __import__('asyncio').sleep(0)\nprint('awaited', y)"),
        ("code", "import os\nprint(os.environ['MPLBACKEND'], os.getcwd())"),
        *(("code", "1 / 0", "skip-execution"), ("code", "if not n:\n    from . import elsewhere")),
        ("code", BAR),
    )
    found = shown(name, n="010")
    for word in ("hello", "system 10", "inside", "awaited 20", "inline", str(home), "m = 6"):
        assert word in found
    assert "\n2 of 2xxx" in found
    assert os.environ["MPLBACKEND"] == "agg"
    assert 'url=page.html"' in (home / "out" / "html" / "index.html").read_text()
    with pytest.raises(InputError, match="no parameter 'm'"):
        shown(name, m="1")


REFUSES = "from microdata_price.model.privacy import PureDP\nPureDP(0)"
FAILURES = [
    ("import os, signal\nos.kill(os.getpid(), 9)", "the kernel ended while it ran"),
    ("import os\nos._exit(0)", "the kernel ended while it ran"),
    *(("print(n))", "SyntaxError"), ("%%nosuch\nn", "it could not be run")),
    ("%%bash\nexit 3", "returned non-zero exit status 3"),
    *((end, "it calls exit(), which ends the kernel; leave it out") for end in ("exit()", "quit")),
    ("import sys\nsys.exit(3)", "SystemExit: 3"),
    ("one = n\none / 0", "'one = n': ZeroDivisionError: division by zero"),
    ("import sys\nsys.exit(0)", "so that the cells after it were not run"),
    ("assert n == 4", "AssertionError, without a message"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt, without a message"),
    (REFUSES, "cell 3: epsilon is 0; it must be a positive"),
]


def test_every_failure_is_a_sentence_that_names_notebook_and_cell(home):
    bodies = [("code", body) for body, _ in FAILURES]
    last = ("code", f"{IMPORTS}\nprint(n)")
    start = ("text", "Words."), N
    chapters = [write(home / f"bad{i:02}.ipynb", *start, b, last) for i, b in enumerate(bodies)]
    kept = home.parent / "kept"
    with pytest.raises(BuildError) as failed:
        run_all(home.parent / "checkout", chapters, kept, {}, lambda _: None)
    told = str(failed.value).splitlines()
    for i, (_, said) in enumerate(FAILURES):
        (line,) = [x for x in told if f"bad{i:02}" in x]
        assert (said in line, "cell 3" in line) == (True, True), line
        assert (kept / f"bad{i:02}.failed.ipynb").is_file()


def test_what_ran_before_a_stop_and_how_far_a_failure_came_is_kept(home, capsys, monkeypatch):
    chapter = home.parent / "checkout" / "notebooks" / "judges.ipynb"
    for path in (home / "judges.ipynb", chapter):
        write(path, N, ("code", f"print(n)\n{REFUSES[:-2]}n)"))
    write(home / "bad.ipynb", ("code", "print(3)\n1 / 0"))
    write(home / "refuses.ipynb", N, ("code", f"n\n{REFUSES}"))
    far = ": failed\nthe notebook as far as it came: "
    refusal = ": refused\nmicrodata-price: refuses, cell 2 with n = 4: epsilon is 0; it"
    # Never over a file that is there.
    cases = {"bad.ipynb": far, "out.failed.ipynb": far, "refuses.ipynb -p n 4": refusal}
    goes_on = "what ran is kept: the same command goes on from there\nmicrodata-price: "
    cases[f"{chapter} --param-grid n=4,0"] = f": refused\n{goes_on}judges, cell 2 with n = 0"
    cases["judges.ipynb --param-grid n=4,0"] = f": refused\nwhat ran is in {home}/out.unfinished\n"
    for given, said in cases.items():
        with pytest.raises(SystemExit) as stop:
            main(["run", *given.split(), "--out", "out"])
        out, err = capsys.readouterr()
        assert (stop.value.code, out, "Traceback" in err) == (1 + (": refused" in said), "", False)
        assert said in err
    left = "bad.ipynb refuses.ipynb judges.ipynb out.failed.ipynb out.failed-1.ipynb out.unfinished"
    assert {p.name for p in home.iterdir()} == {*left.split()}
    (ran,) = (home / "out.unfinished").iterdir()
    assert (ran.name, notebook.read(ran).cells[-1].outputs[0].text) == ("judges-n-4.ipynb", "4\n")
    monkeypatch.setattr(book_one, "_pages", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(SystemExit, match="130"):  # stopped while its page is made
        main(["run", str(chapter), "-p", "n", "4"])
    assert f"data and values: judges\n{goes_on.splitlines()[0]}\n" in capsys.readouterr().err
    kept = chapter.parents[1] / "book" / "_generated" / "notebooks"
    assert [p.name for p in kept.rglob("*.ipynb")] == ["executed.ipynb"]


PRINTS = {"cell_type": "code", "source": "print(7)", "metadata": {}, "outputs": []}
PRINTS |= {"execution_count": None, "id": "a"}
WHOLE = {"cells": [PRINTS], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
EXECUTED = {**WHOLE, "cells": [{**PRINTS, "metadata": {"tags": ["injected-parameters"]}}]}


def of_kernel(language_info="", **spec):
    info = {"language_info": {"name": language_info}} if language_info else {}
    return {**WHOLE, "metadata": {"kernelspec": spec, **info}}


BAD_CELLS = [{"cell_type": "odd"}, {"source": 3}, {"metadata": {"tags": "parameters"}}]
BAD_CELLS += [{"source": "'\ud800'"}, {"metadata": {"name": "\udfff"}}]  # half a letter
MALFORMED = [
    *([], 3, "x", None, {}),
    *({**WHOLE, **odd} for odd in ({"nbformat": "4"}, {"nbformat": 9}, {"nbformat": 2})),
    *({**WHOLE, **odd} for odd in ({"cells": {}}, {"metadata": []}, {"cells": ["x"]})),
    *({**WHOLE, "cells": [PRINTS, {**PRINTS, **bad}]} for bad in BAD_CELLS),
    *(b"", b"{", json.dumps(WHOLE).encode()[:70], b"print(1)", b"<<<<<<< HEAD\n{}\n>>>>>>> x"),
    *(b"\x89PNG\0\xff", b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"),
]
REFUSED = [
    *((content, "is not a notebook that can be read.*save it again") for content in MALFORMED),
    (of_kernel(name="ir", display_name="R", language="R"), "for 'R'"),
    (of_kernel(name="julia-1.9", display_name="Julia 1.9"), "for 'julia-1.9'"),
    (of_kernel("julia", name="julia-1.9", display_name="Julia"), "for 'julia'"),
    *(({**WHOLE, "cells": []}, "has no cell with code"), (EXECUTED, "is an executed copy")),
]


def read_and_check(path, content):
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    read = notebook.read(path)
    check_can_run(path, read)
    return read


@pytest.mark.parametrize(("content", "said"), REFUSED, ids=lambda v: str(v)[:40])
def test_what_is_no_notebook_to_run_is_refused_in_one_sentence(tmp_path, content, said):
    with pytest.raises(InputError, match=rf"\A[^\n]* {said}"):
        read_and_check(tmp_path / "bad.ipynb", content)


OLD = {"cell_type": "code", "input": ["print(7)"], "language": "python", "outputs": []}
OLD_FORM = {"worksheets": [{"cells": [OLD], "metadata": {}}], "metadata": {"name": "x"}}
ODD = [
    of_kernel(name="python3", display_name="x", language="python"),
    of_kernel("python", name="mine", display_name="Mine"),
    of_kernel(name="foo", display_name="Python [conda env: foo]"),
    b"\xef\xbb\xbf" + json.dumps(WHOLE).encode(),
    {**WHOLE, "cells": [{**PRINTS, "source": ["print(\n", "7)"]}], "nbformat_minor": 99},
    {**OLD_FORM, "nbformat": 3, "nbformat_minor": 0},
]


@pytest.mark.parametrize("content", ODD, ids=lambda v: str(v)[:40])
def test_notebooks_that_are_written_oddly_are_run(tmp_path, content):
    read = read_and_check(tmp_path / "odd.ipynb", content)
    assert isinstance(read, nbformat.NotebookNode)  # what papermill runs
    assert [c.source.replace("\n", "") for c in notebook.strip(read).cells] == ["print(7)"]
    with pytest.raises(InputError, match="no parameter 'n', as the notebook declares none; set"):
        check(notebook.parameters(read, "odd", {"n"}), {"n": 1})


def test_however_a_notebook_is_named_it_is_run_without_a_word(home, capfd):
    bare = {k: v for k, v in PRINTS.items() if k != "id"}
    again = {**PRINTS, "source": [f"{IMPORTS}\n", "print(8)"]}  # of the same id
    none = {"kernelspec": None, "language_info": None}
    twice = {**WHOLE, "cells": [PRINTS, again, bare], "metadata": none}
    chapters = []
    for name in ("what?", "a#b %20", "-p", "x.y.csv", "no\u00ebl \u4e2d"):
        (path := home / f"{name}.ipynb").write_bytes(json.dumps(twice).encode())
        chapters.append(Chapter(path, notebook.read(path)))
    checkout, kept = home.parent / "checkout", home.parent / "kept"
    for run in run_all(checkout, chapters, kept, {}, lambda _: None):
        assert "".join(c.outputs[0].text for c in run.executed.cells) == "7\n8\n7\n"
    assert capfd.readouterr().err == ""


LOCAL = ["def f(n):\n  n += 1\n  n", "lambda n: n", "[n for n in (1, 2)]", "class A:\n  n = 2"]
LOCAL += ["def f():\n  n = 2\n  return lambda: n", "def f():\n  import n", "y.n = 1"]


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        *[(source, True) for source in ("print(n)", "print(n", "%%time\nprint(n)", "!echo {n}")],
        *[(s, True) for s in ("%%bash -s {n}\necho $1", "%run other.py $n", "lambda a=n: 1")],
        *[(source, True) for source in ("%%timeit -n 10\nf(n)", "def f():\n  global n\n  n")],
        *[(source, False) for source in ("# n", "'n'", "f(n=2)", "y.n", "%%bash\necho m")],
        *[(source, False) for source in ("x = 'n'\n%matplotlib inline", "echo (((m")],
        *[(source, False) for source in (*LOCAL, "%%figure a [n for n in (1, 2)]\nm")],
        *[(f"print(n)\n{source}", True) for source in LOCAL],
    ],
)
def test_a_parameter_is_read_in_any_kind_of_cell(source, reads):
    assert ("n" in notebook.names_in(source)[0]) == reads
    made = make_notebook(N, ("text", "n"), ("code", source))
    if reads:
        assert list(notebook.parameters(made, "x", {"n"})) == ["n"]
    else:
        with pytest.raises(InputError, match="never reads it"):
            notebook.parameters(made, "x", {"n"})
    assert list(notebook.parameters(made, "x", ())) == ["n"]


FORKED = f"""\
import json, os, random, sys
import numpy
from ipykernel.connect import get_connection_info
seen = getattr(sys, "seen", 0)
sys.seen = 1
told = json.loads(get_connection_info())
kept = told["ip"], told["shell_port"], random.random(), numpy.random.random()
print(json.dumps([seen, "microdata_price.base.numbers" in sys.modules, *kept, os.environ["HOME"]]))
{IMPORTS}
"""


def test_notebooks_that_start_at_once_share_nothing_and_what_ran_is_kept(home, monkeypatch):
    """Kernels are forked from a process that has imported; a user without a name gets a home."""
    monkeypatch.setattr(os.path, "expanduser", str)
    monkeypatch.setattr(book_run, "AT_A_TIME", 6)
    code = [FORKED] * 5 + ["1 / 0"]
    root, said = home.parent / "checkout", list[str]()
    chapters = [write(home / f"n{i}.ipynb", ("code", c)) for i, c in enumerate(code)]
    with pytest.raises(BuildError, match=r"notebook 'n5' failed in cell 1 .*ZeroDivisionError"):
        run_all(root, chapters, home.parent / "cache", {}, said.append)
    said.clear()
    runs = run_all(root, chapters[:5], home.parent / "cache", {}, said.append)
    names = "n0, n1, n2, n3, n4"
    assert said == [f"taken from an earlier run of the same code, data and values: {names}"]
    told = [json.loads(r.executed.cells[0].outputs[0].text) for r in runs]
    assert {(t[0], t[1]) for t in told} == {(0, sys.platform == "linux")}
    assert not [t[6] for t in told if Path(t[6]).exists()]
    for column in ([(t[2], t[3]) for t in told], [t[4] for t in told], [t[5] for t in told]):
        assert len({*column}) == 5
    assert sorted(p.suffix or p.name for p in home.iterdir()) == [".ipynb"] * 6


def test_a_module_that_fails_is_left_to_the_notebook_that_imports_it(tmp_path, monkeypatch):
    (tmp_path / "faulty.py").write_text("raise SystemExit(3)", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MICRODATA_PRICE_PRELOAD", "faulty")
    monkeypatch.delitem(sys.modules, "microdata_price.book.preload", raising=False)
    runpy.run_module("microdata_price.book.preload")


def test_new_text_and_tags_amid_the_same_code_compute_nothing_anew(home):
    root, path, said = home.parent / "checkout", home / "own.ipynb", list[str]()
    failed = home.parent / "cache" / "own.failed.ipynb"
    failed.parent.mkdir()
    failed.touch()  # of an earlier run
    body = ("code", "print('result', 10 * n)")
    texts = [[("text", "# Own", "lemma"), N, body], [("text", "# Own", "theorem"), N, body]]
    for cells in (*texts, [("text", "# New"), N, ("text", "More."), body]):
        write(path, *cells)
        chapter = Chapter(path, notebook.read(path), {"n": 4})
        chapter.source.metadata.clear()  # which may not tell the language
        write(path, *cells, ("code", "1 / 0"))  # saved after the run has begun
        (run,) = run_all(root, [chapter], failed.parent, {}, said.append)
        assert not failed.exists()
        found = run.executed.cells
        told = [c.source for c in found if "injected-parameters" not in notebook.tags(c)]
        assert (told, found[-1].outputs[0].text) == ([c[1] for c in cells], "result 40\n")
        assert "injected-parameters" in notebook.tags(found[2])
        assert notebook.tags(found[0]) == list(cells[0][2:])
    assert said[1].startswith("taken from an earlier run of the same code, data and values")
    for damaged in (notebook.text(run.executed)[:999], json.dumps(WHOLE)):  # as after a crash
        run.path.write_text(damaged, encoding="utf-8")
        (run,) = run_all(root, [chapter], failed.parent, {}, said.append)
        assert run.executed.cells[-1].outputs


def wait(done, seconds=120):
    """Wait until something holds; a machine may be slow."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not done():
        time.sleep(0.2)


@pytest.mark.usefixtures("hangups")
@pytest.mark.parametrize(
    ("number", "last"), [(signal.SIGHUP, ""), (signal.SIGKILL, "\nsum(range(10**13))")]
)
def test_kernels_end_with_the_command_and_no_secret_stays(tmp_path, number, last, monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # with which ipykernel leaves the streams alone
    root, mark = make_root(tmp_path, {"chapter": ordinary()}, {}), tmp_path / "started"
    write(
        root / "notebooks" / "own.ipynb",
        *(("text", "# Own\n\nText."), ("code", 'table = ""', "parameters")),
        ("code", f"print(open(table).read())\nopen({str(mark)!r}, 'w').close()"),
        ("code", f"import subprocess\nsubprocess.Popen(['sleep', '600']){last or '.wait()'}"),
    )
    (root / "true.csv").write_text("SECRET", encoding="utf-8")
    command = "from microdata_price.cli import main; main()"
    arguments = ["run", "notebooks/own.ipynb", "-p", "table", "true.csv"]
    with subprocess.Popen(
        [sys.executable, "-c", command, *arguments],
        cwd=root,
        preexec_fn=lambda: os.closerange(1, 3),  # as by >&- 2>&-
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    ) as process:
        parent = psutil.Process(process.pid)
        wait(lambda: mark.exists() and "sleep" in [p.name() for p in parent.children(True)])
        family = parent.children(recursive=True)
        assert "sleep" in [p.name() for p in family]
        time.sleep(1 if last else 0)
        process.send_signal(number)

    def left():
        return [p for p in family if p.is_running() and p.status() != "zombie"]

    results = root / "results"
    wait(lambda: not left() and not list(results.iterdir()))
    assert [*left(), *results.iterdir()] == []
