"""The commands book and run: what they refuse before anything is computed, and their folders."""

import os
import signal
from pathlib import Path
from unittest.mock import Mock

import pytest

from microdata_price.book import build as book
from microdata_price.book import notebook
from microdata_price.book import one as book_one
from microdata_price.book import site as book_site
from microdata_price.book.plan import Edition
from microdata_price.book.run import Run
from microdata_price.cli import main
from tiny_book import make_notebook, make_root, ordinary, without_pages


@pytest.fixture
def root(tmp_path, monkeypatch):
    levels = "code", "privacy = 'pure'\nepsilon = 0.5\nrho = 0.125", "parameters"
    kinds = make_notebook(levels, ("code", "privacy, epsilon, rho"))
    made = make_root(tmp_path, {"chapter": ordinary(), "kinds": kinds}, {})
    monkeypatch.chdir(made)
    never = Mock(side_effect=AssertionError("something was computed"))
    monkeypatch.setattr(book, "run_all", never)
    monkeypatch.setattr(book_one, "run_all", never)
    return made


def status(*arguments):
    with pytest.raises(SystemExit) as stop:
        main([*arguments])
    return int(stop.value.code or 0)


BOOK = [
    *[(f"--epsilon {bad}", f"epsilon is {bad}") for bad in ("0", "-1", "inf", "nan")],
    *[("--rho 0", "rho is 0"), ("--delta 1", "delta is 1"), ("--runs 9", "runs is 9")],
    *[("--epsilon much", "'much' is not a number"), ("--runs 2.5", "'2.5' is not a whole number")],
    ("--no-solutions --with-students", "give either --with-students or --no-solutions"),
    *[(f"--out {p}", "--out") for p in ("full", "full/new/..", "bad.yaml", "bad.yaml/below")],
    *[(f"--out {p}", "lies among the book's sources") for p in ("book/site", "notebooks/x")],
]
RUN = [
    ("chaptr", "there is no notebook 'chaptr'; did you mean chapter?"),
    ("none.ipynb", "there is no notebook 'none.ipynb'"),
    ("n\udcff.ipynb", "the name of the notebook n\\udcff.ipynb is not UTF-8; give it another"),
    ("chapter -p epsilom 1", "no parameter 'epsilom'; did you mean epsilon?"),
    ("chapter -p epsilon much", "parameter 'epsilon' is 'much'"),
    ("chapter -p epsilon -1", "epsilon is -1"),
    ("chapter -f none.yaml", "'none.yaml' does not exist"),
    ("chapter -f bad.yaml", "bad.yaml must hold lines such as"),
    ("chapter -f twice.yaml", "twice.yaml: 'epsilon' is given twice"),
    ("chapter -f binary.yaml", "binary.yaml is not YAML"),
    ("chapter --param-grid epsilon", "NAME=V1,V2"),
    ("chapter --param-grid epsilon=0.5,0", "epsilon is 0"),
    ("chapter --param-grid epsilon=1,2,1.0", "epsilon = 1 is given twice"),
    ("chapter --param-grid epsilon=1 --param-grid epsilon=3", "'epsilon' is given twice"),
    ("chapter -p epsilon 1 -p epsilon 2", "'epsilon' is given twice"),
    ("chapter -p epsilon 1 --param-grid epsilon=1", "'epsilon' is given twice"),
    ("chapter --out /proc/x", "/proc cannot be" if os.access("/proc", os.W_OK) else "--out"),
    *((f"chapter --out {p}", "full exists and is not an earlier") for p in ("full", "full/new/..")),
    ("chapter --out .", "a run replaces it whole; name another, for example --out chapter-run"),
    ("lazy.ipynb -p rho 0.5", "declares the parameter 'rho' and never reads it"),
    ("kinds -p rho 3", "rho is not read where privacy is 'pure'; give epsilon, or -p privacy zcdp"),
    ("kinds --param-grid rho=0.01,3 -p epsilon 1", "rho is not read where privacy is 'pure'"),
    ("kinds -p privacy zcdp -p epsilon 3", "where privacy is 'zcdp'; give rho, or -p privacy pure"),
]
REFUSED = [*((f"book {g}", s) for g, s in BOOK), *((f"run {g}", s) for g, s in RUN)]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_what_cannot_be_used_is_refused_and_nothing_is_written(root, given, said, capsys):
    (root / "full").mkdir()
    texts = {"bad.yaml": b"- 1\n", "twice.yaml": b"epsilon: 1\nepsilon: 2\n", book_one.MARK: b""}
    for name, data in {**texts, "binary.yaml": b"\xff\x00", "full/thesis.txt": b"mine"}.items():
        (root / name).write_bytes(data)
    declares = ("code", "rho = 1.0", "parameters")
    notebook.write(make_notebook(declares, ("code", "1")), root / "lazy.ipynb")
    before = sorted(root.rglob("*"))
    assert status(*given.split()) == 2
    out, err = capsys.readouterr()
    assert (out, said in err, "Traceback" in err) == ("", True, False), err
    assert sorted(root.rglob("*")) == before


@pytest.fixture
def quick(root, monkeypatch):
    """Run nothing and build nothing; note what would be run and where it would be kept."""
    chapters = []

    def note(_root, given, kept, *_rest):
        chapters.extend(given)
        assert kept.is_relative_to(_root / "book") or kept.parent.stat().st_mode & 0o777 == 0o700
        done = kept / "x.ipynb"
        notebook.write(given[0].source, done)
        return [Run(given[0].name, done, 1.0, "today", dict(given[0].values))]

    monkeypatch.setattr(book_one, "run_all", note)
    without_pages(monkeypatch)
    own = ("code", 'table = ""\nschema = ""\nepsilon = 0.5', "parameters")
    cells = own, ("code", "print(table, schema, epsilon)")
    notebook.write(make_notebook(("text", "# Own"), *cells), root / "notebooks" / "own.ipynb")
    return root, chapters


def test_where_values_come_from_and_the_page_is_private(quick, monkeypatch, capsys):
    """The command line goes before the file; paths are meant in the caller's folder."""
    root, chapters = quick
    (root / "p.yaml").write_text("epsilon: 1e-3\nruns: 5\n", encoding="utf-8")
    assert status("run", "chapter", "-f", "p.yaml", "-p", "runs", "7") == 0
    assert chapters[0].values == {"epsilon": 0.001, "runs": 7}
    assert capsys.readouterr().out == "results/chapter-epsilon-0.001-runs-7/html/page.html\n"
    (here := root / "elsewhere").mkdir()
    (here / "wide.csv").touch()
    monkeypatch.chdir(here)
    path = str(root / "notebooks" / "own.ipynb")
    assert status("run", path, "-p", "table", "wide.csv", "-p", "schema", "none.json") == 0
    assert chapters[1].values["table"] == str(here / "wide.csv")
    assert chapters[1].values["schema"] == "none.json"
    out = here / "results" / "own-table-wide.csv-schema-none.json"
    assert out.stat().st_mode & 0o777 == 0o700
    assert "CONFIDENTIAL" in capsys.readouterr().err
    for written in ('"wide.csv"', 'str("wide.csv")'):  # its table named in it
        own = ("code", f"table = {written}", "parameters"), ("code", "print(table)")
        notebook.write(make_notebook(*own), here / "mine.ipynb")
        assert status("run", "mine.ipynb") == 0
        assert (here / "results" / "mine").stat().st_mode & 0o777 == 0o700
        assert "CONFIDENTIAL" in capsys.readouterr().err
    both = "-p", "epsilon", "1", "-p", "rho", "1", "--param-grid", "privacy=pure,zcdp"
    assert status("run", "kinds", *both) == 0  # each level is read in one of the runs


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["run_all", "run_builder"])
def test_nothing_of_a_true_table_is_left_when_stopped(quick, monkeypatch, capsys, moment, number):
    root, _ = quick
    (root / "true.csv").write_text("SECRET")
    monkeypatch.chdir(root)
    before = sorted(root.rglob("*"))
    where = book_one if moment == "run_all" else book_site
    inner = getattr(where, moment)

    def stopped(*given, **named):
        found = inner(*given, **named)
        assert set(root.rglob("*")) > set(before)  # something is there that must go
        signal.raise_signal(number)
        return found

    monkeypatch.setattr(where, moment, stopped)
    assert status("run", "notebooks/own.ipynb", "-p", "table", "true.csv") == 128 + number
    assert "Traceback" not in capsys.readouterr().err
    assert {*root.rglob("*")} - {*before} == {root / "results"}
    monkeypatch.setattr(book, "run_all", lambda *_: signal.raise_signal(number))
    assert status("book") == 128 + number


def test_stopped_while_it_replaces_a_run_it_leaves_a_whole_one(quick, monkeypatch, tmp_path):
    out, rename, there = tmp_path / "out", Path.rename, set(quick[0].rglob("*"))
    assert status("run", "chapter", "--out", str(out)) == 0
    left = {p for p in quick[0].rglob("*") if "_generated" not in p.parts}
    assert left == there  # nothing is written beside its folder

    def stopped(path, target):
        if path.name == "out":
            os.kill(os.getpid(), signal.SIGINT)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", stopped)
    assert status("run", "chapter", "-p", "epsilon", "0.25", "--out", str(out)) == 130
    assert {p.name for p in out.iterdir()} == {"chapter.ipynb", "html", book_one.MARK}
    assert not list(tmp_path.glob(".unfinished*"))


@pytest.mark.usefixtures("quick")
def test_what_somebody_put_into_a_folder_that_is_made_anew_stays(tmp_path, capsys, monkeypatch):
    out, site = tmp_path / "out", tmp_path / "site"
    assert status("run", "chapter", "--out", str(out)) == 0
    (out / ".ipynb_checkpoints").mkdir()
    assert status("run", "chapter", "--out", str(out)) == 0
    site.mkdir()
    (site / "index.html").touch()
    book_site.sign(site, book_site.RECORD, "key")
    added = "mine.txt", "html/notes.txt", "chapter.ipynb"  # notes in the executed notebook
    cases = [(out, "run chapter", mine) for mine in added] + [(site, "book", "mine.txt")]
    for place, command, mine in cases:
        kept = (place / mine).read_bytes() if (place / mine).exists() else b""
        (place / mine).write_bytes(new := kept[::-1] or b"mine")  # of one length
        assert status(*command.split(), "--out", str(place)) == 2
        assert f"holds what was not made with it: {mine}; move that" in capsys.readouterr().err
        assert (place / mine).read_bytes() == new
        (place / mine).write_bytes(kept) if kept else (place / mine).unlink()
    (mark := out / book_one.MARK).write_text(f"{mark.read_text().split()[0]}\nchapter.ipynb 7")
    assert status("run", "chapter", "--out", str(out)) == 0  # earlier versions noted sizes
    inner = book_one.run_all
    monkeypatch.setattr(book_one, "run_all", lambda *a: (out / "new").touch() or inner(*a))
    assert status("run", "chapter", "--out", str(out)) == 2  # while it computed
    assert "what was made is in" in capsys.readouterr().err
    assert (out / "new").exists()
    (site / book_site.RECORD).rename(site / "searchindex.js")  # a site of another book
    assert status("book", "--out", str(site)) == 2
    monkeypatch.setattr(book_site, "claim", Mock(side_effect=[None, FileNotFoundError(2, "")]))
    assert status("run", "chapter", "--out", str(out)) == 2  # another puts its own there just now
    assert len([*tmp_path.glob("out-*/chapter.ipynb")]) == 2


@pytest.mark.usefixtures("quick")
def test_a_page_that_cannot_be_made_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(book_one, "_pages", lambda *_: {}["kernelspec"])
    assert status("run", "chapter") == 1
    assert "'chapter' ran, but no page could be made of it: KeyError" in capsys.readouterr().err


def test_names_tell_all_parameters_apart():
    values = ["a", "a-t-b", "c", "b-t-c", 0.5, 0.1234567, 0.12345671, 1e-6, "1e-06x", 1.0]
    values += ["a/b", "a_b", "x" * 300, "x" * 301, "[1, 2]", "[1,2]", "1.0"]
    names = [book_one.file_name("n", "s", s, "t", t) for s in values for t in values]
    assert len(set(names)) == len(values) ** 2
    assert all(len(name) < 100 and "/" not in name for name in names)
    whole = [book_one.file_name("n", "s", one) for one in (1, 1.0)]
    assert [names[0], *whole] == ["n-s-a-t-a", "n-s-1", "n-s-1"]
    assert len({Edition(epsilon=v).slug for v in values if isinstance(v, float)}) == 5


def test_different_parameters_go_to_different_folders(quick, capsys):
    root, _ = quick
    plain = ["", "-epsilon-0.1-0.5-1", "-epsilon-0.25", "-table-b_c"]
    tables = [["-p", "table", table] for table in ("../a/b.csv", "../c/b.csv", "b_c", "x" * 200)]
    given = [[], ["--param-grid", "epsilon=0.1,0.5,1"], ["-p", "epsilon", "0.25"], *tables]
    for words in (*given, ["-p", "epsilon", "0.250"]):
        assert status("run", "notebooks/own.ipynb", *words) == 0
    for other in ("other/own.ipynb", "other/own-epsilon-0.25.ipynb"):  # other notebooks so called
        (root / other).parent.mkdir(exist_ok=True)
        (root / other).write_bytes((root / "notebooks" / "own.ipynb").read_bytes())
        assert status("run", other) == 0
    told = capsys.readouterr().err
    words = ("replaced the earlier run in results/own-epsilon-0.25", "with epsilon = 0.5\n")
    assert [told.count(said) for said in words] == [1, 1]
    names = [p.name for p in (root / "results").iterdir()]
    assert {f"own{end}" for end in plain} < {*names}
    assert [len(name) < 100 for name in names] == [True] * 9
    assert len(list((root / "results" / f"own{plain[1]}").glob("*.ipynb"))) == 3
