"""A small book built for real: papermill, Jupyter Book, the exchange of sites."""

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from bs4 import BeautifulSoup

from microdata_price.book import build as book
from microdata_price.book import notebook
from microdata_price.book import site as book_site
from microdata_price.book.one import run_one
from microdata_price.book.plan import Edition
from microdata_price.book.site import faults_of_site, machine_paths
from microdata_price.exceptions import BuildError
from tiny_book import SETUP, make_notebook, make_root

SAY = """\
say(f"Twice is {twice:g}; see [Figure](#tiny-figure).")
record(twice=f"{twice:g}")
"""
FIGURE = """\
caption, alt = "The threshold of $1$ leaves two.", "Three dots and two lines on a plane."
show(one_draw(np.array([3.0, -1.0, 2.0]), 1.0, 3.0), "tiny-figure", caption, alt)
offer("tiny.csv", "a,b\\n1,2\\n", "All numbers")
"""
THEOREM = """\
**Theorem O1 (Named, $x$ (ours)).** It is

$$ x = y. \\tag{1} $$
"""


def chapter():
    return make_notebook(
        ("text", "# A chapter\n\nA [zCDP](../book/reference/notation.md#zcdp) matter."),
        ("code", "epsilon = 0.5  # the level", "parameters"),
        ("code", f"{SETUP}twice = 2 * epsilon", "setup"),
        ("code", SAY, "remove-input"),
        ("code", FIGURE, "hide-input"),
        ("text", THEOREM, "theorem", "label:thm-tiny"),
        ("text", "**Proof.** By [(1)](#eq-1).", "proof"),
        ("text", "**Exercise 1 (Try).** What is it?", "exercise", "label:ex-tiny"),
        ("text", "**Solution.** It is 43112609.", "solution"),
        ("code", "assert 43112609", "solution"),
    )


GLOSSARY = "# Glossary\n\n:::{glossary}\nzCDP\n  A guarantee.\n:::\n"
NOTES = "# Notes\n\nElsewhere {{ chapter.twice }}, [Theorem O1](notebooks/chapter.ipynb#thm-tiny)."
PAGES = {"notes": NOTES, "reference/notation": GLOSSARY}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = make_root(tmp_path_factory.mktemp("book"), {"chapter": chapter()}, PAGES)
    return root, book.build(root, Edition(), None, lambda _: None)


@pytest.fixture
def changed(built):
    """The built book, whose sources may be changed: they are put back."""
    root, first = built
    sources = [p for p in root.glob("**/*") if p.suffix in (".md", ".ipynb", ".yml")]
    sources = [p for p in sources if "_build" not in p.parts and "_generated" not in p.parts]
    before = {p: p.read_bytes() for p in sources}
    yield root, first
    for path, content in before.items():
        path.write_bytes(content)


def said(root, edition=None):
    """Build, which must fail, and return what it says; the site must stay as it was."""
    site = root / "book" / "_build" / "html"
    before = {p: p.read_bytes() for p in site.rglob("*") if p.is_file()}
    with pytest.raises(BuildError) as error:
        book.build(root, edition or Edition(), None, lambda _: None)
    assert {p: p.read_bytes() for p in site.rglob("*") if p.is_file()} == before
    assert not [p.name for p in site.parent.iterdir() if p.name.startswith((".unf", ".html"))]
    return str(error.value)


def test_the_site_has_the_computed_numbers_figures_and_links(built):
    root, first = built
    assert first == root / "book" / "_build" / "html" / "index.html"
    site = first.parent
    html = (site / "notebooks" / "chapter.html").read_text(encoding="utf-8")
    assert "Twice is 1;" in html
    assert 'alt="Three dots and two lines on a plane."' in html
    assert "Fig. 1" in html
    soup = BeautifulSoup(html, "html.parser")
    box = soup.find(id="thm-tiny")
    assert box.find(class_="admonition-title").get_text().startswith("Theorem O1 (Named,")
    assert soup.find("details", class_="proof").find("a", href="#chapter-eq-1")
    assert soup.find(id="chapter-eq-1")
    solution = soup.find("details", class_="solution")
    assert solution.summary.get_text() == "Solution of Exercise 1"
    assert "assert" in solution.get_text()
    assert "Levels used: epsilon = 0.5" in soup.get_text()
    assert soup.find("a", href="../reference/notation.html#term-zCDP")
    notes = BeautifulSoup((site / "notes.html").read_text(encoding="utf-8"), "html.parser")
    assert notes.find("a", href="notebooks/chapter.html#thm-tiny").get_text() == "Theorem O1"
    assert "Elsewhere 1," in (site / "notes.html").read_text(encoding="utf-8")
    computed = (site / "reference" / "computed.html").read_text(encoding="utf-8")
    assert "epsilon = 0.5" in BeautifulSoup(computed, "html.parser").get_text()
    assert book_site.remote_requests(site) == []
    assert list(site.rglob("_downloads/**/chapter.ipynb"))
    assert list(site.rglob("_downloads/**/tiny.csv"))


def test_nothing_is_computed_or_built_again_when_nothing_changed(built, monkeypatch):
    root, first = built

    def never(*_args, **_named):
        raise AssertionError

    monkeypatch.setattr(book_site, "run_builder", never)
    monkeypatch.setattr("microdata_price.book.run._execute", never)
    assert book.build(root, Edition(), None, lambda _: None) == first


def test_another_edition_has_its_own_folder_title_and_numbers(built):
    root, default = built
    before = default.read_bytes()
    first = book.build(root, Edition(epsilon=0.25, solutions=False), None, lambda _: None)
    assert first.parent == root / "book" / "_build" / "eps-0.25-students" / "html"
    html = (first.parent / "notebooks" / "chapter.html").read_text(encoding="utf-8")
    assert "Twice is 0.5;" in html
    assert "at epsilon = 0.25" in html
    assert "What is it?" in html
    for path in first.parent.rglob("*"):
        if path.suffix in (".html", ".js", ".ipynb", ".md", ".txt", ".inv"):
            assert "43112609" not in path.read_text(encoding="utf-8", errors="replace"), path
    assert default.read_bytes() == before


def test_a_failing_cell_names_notebook_cell_and_error(changed, tmp_path):
    root, _ = changed
    bad = chapter()
    bad.cells[3].source = "one = 1\none / 0"
    notebook.write(notebook.strip(bad), root / "notebooks" / "chapter.ipynb")
    message = said(root)
    assert "notebook 'chapter' failed in cell 4" in message
    assert "'one = 1'" in message
    assert "ZeroDivisionError: division by zero" in message
    kept = root / "book" / "_generated" / "notebooks" / "chapter.failed.ipynb"
    assert "ZeroDivisionError" in kept.read_text(encoding="utf-8")
    with pytest.raises(BuildError):  # alone, its copy is beside its folder
        run_one(str(root / "notebooks" / "chapter.ipynb"), {}, [], tmp_path / "out", print)
    assert (tmp_path / "out.failed.ipynb").is_file()
    assert not kept.exists()
    notebook.write(chapter(), root / "notebooks" / "chapter.ipynb")
    book.build(root, Edition(), None, lambda _: None)
    assert not kept.exists()


def test_faults_in_a_page_fail_the_build_and_are_all_named(changed):
    root, _ = changed
    text = (
        "# Notes\n\n{{ chapter.twice }} {ref}`nowhere` {cite:t}`nobody1999` [](missing.md) "
        "[x](chapter.ipynb#no-such-place)\n\n"
        "### Too deep\n"
    )
    (root / "book" / "notes.md").write_text(text, encoding="utf-8")
    message = said(root)
    for complaint in ("nowhere", "nobody1999", "missing.md", "no-such-place", "notes.md:5"):
        assert complaint in message


def test_a_listed_page_that_does_not_exist_fails_the_build(changed):
    root, _ = changed
    (root / "book" / "notes.md").unlink()
    assert "lists a page that does not exist: notes" in said(root)


def test_complaints_and_paths_in_outputs_fail_the_build_by_cell(changed, monkeypatch):
    root, _ = changed
    monkeypatch.delattr(book_site, "run_builder")
    loud = chapter()
    loud.cells[2].source += "\nnp.log(np.zeros(1))"
    loud.cells[9].source = "import os\nos.getcwd()"  # a solution, which one edition leaves out
    notebook.write(notebook.strip(loud), root / "notebooks" / "chapter.ipynb")
    for edition in (Edition(), Edition(solutions=False)):
        warned, placed = said(root, edition).splitlines()
        assert "notebook 'chapter', cell 3" in warned
        assert "standard error" in warned
        assert "divide by zero encountered in log" in warned
        assert "notebook 'chapter', cell 10" in placed
        assert f"{root}/notebooks" in placed


def test_a_path_in_a_page_fails_the_build_by_page(changed):
    root, _ = changed
    notes = root / "book" / "notes.md"
    code = f"\n```python\nFile = '{root}/src/x.py'\n```\n"  # highlighting splits it by tags
    notes.write_text(notes.read_text(encoding="utf-8") + code, encoding="utf-8")
    assert said(root).startswith("notes.html shows a path of this machine: ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at /elsewhere/lib/python3.12/site-packages/x.py:65", True),
        ("/home/someone/data.csv", True),
        ("<a href='/tmp/x'>", True),
        (f"{sys.executable} -m pip", True),
        (f"{Path.home()}/x", True),
        ("a site-packages folder, and ~/x, and ../src/a.py, src/a.py", False),
        ("https://example.org/tmp/home/Users/x", False),
        ("per /tmpfile and 1/home", False),
    ],
)
def test_which_texts_show_a_path(tmp_path, text, shown):
    (tmp_path / "a.html").write_text(text, encoding="utf-8")
    assert bool(faults_of_site(tmp_path, machine_paths())) == shown


@pytest.mark.parametrize(
    ("name", "text", "asks"),
    [
        ("a.html", '<img alt="x" src="https://example.org/x.png">', True),
        ("a.html", "<script defer src='//example.org/x.js'></script>", True),
        ("a.html", '<link href="https://example.org/x.css" rel="stylesheet">', True),
        ("a.html", '<link rel="preconnect" href="https://example.org">', True),
        ("a.html", '<iframe title="x" src="http://example.org"></iframe>', True),
        ("a.html", '<a href="https://x.org">x</a><img src="x.png" alt="https://x.org">', False),
        ("a.html", '<link rel="next" href="https://example.org">', False),
        ("a.css", "a { background: url(x.png) } /* https://x */", False),
        ("a.css", "a { background: url('https://x/y') }", True),
    ],
)
def test_whatever_a_page_would_fetch_is_found(tmp_path, name, text, asks):
    (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    assert len(book_site.remote_requests(tmp_path)) == asks


@pytest.mark.parametrize("status", [0, 2])
def test_a_full_disk_is_told_once_though_the_builder_only_warns(tmp_path, monkeypatch, status):
    """It leaves out style sheets and pages and may end well: half a site."""
    told = "WARNING: Failed to copy a file: OSError(28, 'No space left on device')\n" * 99
    done = subprocess.CompletedProcess([], status, "", told)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    monkeypatch.setattr(shutil, "copytree", Mock(side_effect=shutil.Error([("a", "b", told)])))
    for act in (partial(book_site.run_builder, strict=False), book_site.copy_tree):
        with pytest.raises(OSError, match=r"^.Errno 28. No space left on device$"):
            act(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize("moment", ["between the renames", "in the second"])
def test_an_exchange_that_is_cut_short_keeps_the_old_site(tmp_path, moment):
    site = tmp_path / "html"
    good = tmp_path / ".html.old" if moment == "between the renames" else site
    good.mkdir()
    (good / "index.html").write_text("good", encoding="utf-8")
    if good == site:
        with pytest.raises(OSError, match="missing"):
            book_site.put_in_place(tmp_path / "missing", site, "key")
        assert site.is_dir()  # at once, not only when the next build mends it
    book_site.recover(site)
    assert (site / "index.html").read_text(encoding="utf-8") == "good"
    assert not book_site.is_current(site, "key")


def test_one_notebook_alone_gives_a_notebook_and_pages(built, tmp_path, monkeypatch):
    root, _ = built
    monkeypatch.chdir(root)
    out = tmp_path / "out"
    first = run_one("chapter", {"epsilon": "0.25"}, [], out, lambda _: None)
    html = first.read_text(encoding="utf-8")
    assert "Twice is 0.5;" in html
    assert any(c.get("execution_count") for c in notebook.read(out / "chapter.ipynb").cells)
    path = str(root / "notebooks" / "chapter.ipynb")
    first = run_one(path, {}, [("epsilon", ["0.1", 1])], out, lambda _: None)
    html = first.read_text(encoding="utf-8")
    assert all(words in html for words in ("epsilon = 0.1", "Twice is 0.2;", "Twice is 2;"))
    names = ["chapter-epsilon-0.1.ipynb", "chapter-epsilon-1.ipynb"]
    assert sorted(p.name for p in out.glob("*.ipynb")) == names
