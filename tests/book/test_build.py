"""A small book built for real: papermill, Jupyter Book, slides, the exchange of sites."""

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
import yaml
from bs4 import BeautifulSoup

from microdata_price.book import build as book
from microdata_price.book import notebook
from microdata_price.book import site as book_site
from microdata_price.book.one import run_one
from microdata_price.book.plan import Edition
from microdata_price.book.site import faults_of_site, machine_paths
from microdata_price.exceptions import BuildError
from tiny_book import ROOT, SETUP, make_notebook, make_root

SAY = 'say(f"Twice is {twice:g}; see [Figure](#tiny-figure).")\nrecord(twice=f"{twice:g}")'
FIGURE = """\
caption, alt = "The threshold of $1$ leaves two.", "Three dots and two lines on a plane."
show(one_draw(np.array([3.0, -1.0, 2.0]), 1.0, 3.0), "tiny-figure", caption, alt)
offer("tiny.csv", "a,b\\n1,2\\n", "All numbers")
"""
THEOREM = "**Theorem O1 (Named, $x$ (ours)).** It is\n\n$$ x = y. \\tag{1} $$\n"
AWAY = '<a href="../explorer/index.html#d=2">Move it</a>, <a href="../dice/x.html">roll</a>. '
AWAY += "[A plan](../book/teach/lesson.md#plan)."
SLIDES = """# Slides

<a href="../slides/index.html">Open the slides</a> (keys).

Text $a < b$ and [a page](../notebooks/chapter.ipynb), [a plan](lesson.md), [it](https://example.org).

:::{dropdown} Say, minutes 0 to 2
:class-container: fold
Hello *class*.
:::

## A question

:::{div} steps
- b
- c
:::

::::{div} fragment
```{image} ../images/tiny-figure.svg
:alt: "A curve that rises."
:class: computed-figure
```

:::{admonition} Ask (1 minute)
Why $x$ now?
:::
::::

:::{dropdown} Say, minutes 2 to 5
:class-container: fold
Wait.
:::
"""


def chapter():
    return make_notebook(
        ("text", "# A chapter\n\nA [zCDP](../book/reference/notation.md#zcdp) matter."),
        ("code", "epsilon = 0.5  # the level", "parameters"),
        *(("code", f"{SETUP}twice = 2 * epsilon", "setup"), ("code", SAY, "remove-input")),
        *(("code", FIGURE, "hide-input"), ("text", THEOREM, "theorem", "label:thm-tiny")),
        ("text", "**Proof.** By [(1)](#eq-1).", "proof"),
        ("text", "**Exercise 1 (Try).** What is it?", "exercise", "label:ex-tiny"),
        ("text", f"**Solution.** It is 43112609. {AWAY}", "solution"),
        ("code", "assert 43112609\nprint('(' * 10**6)", "solution"),
    )


GLOSSARY = "# Glossary\n\n:::{glossary}\nzCDP\n  A guarantee.\n:::\n"
NOTES = "# Notes\n\nElsewhere {{ chapter.twice }}, [Theorem O1](notebooks/chapter.ipynb#thm-tiny)."
ANSWER = ":::{dropdown} Answer\n:class-container: solution\n\nForty-two.\n:::\n"
LESSON = f"(plan)=\n# A plan\n\n{{{{ book.students }}}}\n\n{ANSWER}"
PAGES = {"notes": NOTES, "reference/notation": GLOSSARY}
PAGES |= {"teach/slides": SLIDES, "teach/lesson": LESSON}
URL = "https://github.com/example/book"


def parsed(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A fork's book with slides, which holds its students' edition."""
    root = make_root(tmp_path_factory.mktemp("book"), {"chapter": chapter()}, PAGES)
    shutil.copytree(ROOT / "book" / "slides", root / "book" / "slides")
    config = root / "book" / "_config.yml"
    told = yaml.safe_load(config.read_text(encoding="utf-8"))
    told |= {"remarks": "me@example.org", "repository": {"url": URL, "branch": "main"}}
    config.write_text(yaml.safe_dump(told), encoding="utf-8")
    return root, book.build(root, Edition(), None, lambda _: None, students=True)


@pytest.fixture
def changed(built, tmp_path):
    """A copy of the built book, whose sources may be changed."""
    return shutil.copytree(built[0], tmp_path / "checkout", symlinks=True)


def said(root, solutions=True):
    """Build, which must fail, and return what it says; the site must stay as it was."""
    site = root / "book" / "_build" / "html"
    before = {p: p.read_bytes() for p in site.rglob("*") if p.is_file()}
    with pytest.raises(BuildError) as error:
        book.build(root, Edition(solutions=solutions), site, lambda _: None)
    assert {p: p.read_bytes() for p in site.rglob("*") if p.is_file()} == before
    assert not [p.name for p in site.parent.iterdir() if p.name.startswith(".unf")]
    return str(error.value)


def test_the_site_has_the_computed_numbers_figures_and_links(built):
    root, first = built
    assert first == root / "book" / "_build" / "html" / "index.html"
    site = first.parent
    page = parsed(site / "notebooks" / "chapter.html")
    text = page.get_text()
    assert all(words in text for words in ("Twice is 1;", "Fig. 1", "Levels used: epsilon = 0.5"))
    assert page.find("img", alt="Three dots and two lines on a plane.")
    assert page.select_one("#thm-tiny .admonition-title").text.startswith("Theorem O1 (Named,")
    assert page.find("details", class_="proof").find("a", href="#chapter-eq-1")
    assert page.find(id="chapter-eq-1")
    solution = page.find("details", class_="solution")
    assert solution.summary.get_text() == "Solution of Exercise 1"
    assert "assert" in solution.get_text()
    assert page.find("a", href="../reference/notation.html#term-zCDP")
    notes = parsed(site / "notes.html")
    assert notes.find("a", href="notebooks/chapter.html#thm-tiny").get_text() == "Theorem O1"
    assert "Elsewhere 1," in notes.get_text()
    assert "epsilon = 0.5" in parsed(site / "reference" / "computed.html").get_text()
    for name in ("chapter.ipynb", "tiny.csv"):
        assert list(site.rglob(f"_downloads/**/{name}"))
    # A fork gets its buttons and its foot.
    assert "Version" in page.find(class_="extra_footer").get_text()
    assert [a["href"] for a in page.select(".extra_footer a")] == ["mailto:me@example.org"]
    links = [str(a["href"]) for a in page.find_all("a", href=True)]
    assert URL in links
    for host in ("https://mybinder.org/", "https://colab.research.google.com/"):
        found = [link for link in links if link.startswith(host)]
        assert {link.endswith("notebooks/chapter.ipynb") for link in found} == {True}, found


def test_each_section_is_a_slide_with_its_notes_and_its_time(built):
    deck = built[1].parent / "slides"
    page = parsed(deck / "index.html")
    asked = [n.get("src") or n.get("href") for n in page.select("link, script")]
    assert (len(asked), [name for name in asked if not (deck / str(name)).is_file()]) == (7, [])
    first, second = page.select(".slides > section")
    assert page.title.get_text().lower().endswith("the price of microdata: slides")
    assert "Open the slides" not in page.get_text()
    assert [s["data-timing"] for s in (first, second)] == ["120", "180"]
    notes = first.aside.extract()
    assert notes["class"] == ["notes"]
    assert notes.get_text(" ", strip=True) == "Minutes 0 to 2. Hello class ."
    assert "\\(a < b\\)" in first.get_text()
    links = ["../notebooks/chapter.html", "../teach/lesson.html", "https://example.org"]
    assert [a["href"] for a in first.select("a")] == links
    assert [n.name for n in second.select(".fragment")] == ["li", "li", "div"]
    assert second["class"] == ["pictured"]
    picture = second.select_one(".fragment > .picture img")
    assert (picture["alt"], (deck / picture["src"]).is_file()) == ("A curve that rises.", True)
    ask = second.select_one(".fragment .ask")
    assert ask.get_text(" ", strip=True) == "Why \\(x\\) now? Think: 1 minute"


def test_a_site_can_hold_the_students_edition_which_has_no_solution(built):
    site = built[1].parent
    whole = (site / "teach" / "lesson.html").read_text(encoding="utf-8")
    theirs = (site / "students" / "teach" / "lesson.html").read_text(encoding="utf-8")
    assert all(words in whole for words in ("Forty-two", 'href="../students/index.html"'))
    assert "students' edition" in theirs.replace("’", "'")
    assert "What is it?" in (site / "students" / "notebooks" / "chapter.html").read_text("utf-8")
    for path in (site / "students").rglob("*"):
        if path.suffix in (".html", ".js", ".ipynb", ".md", ".txt", ".inv"):
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not {word for word in ("43112609", "Forty-two") if word in text}, path


def test_nothing_is_computed_or_built_again_when_nothing_changed(built, monkeypatch):
    root, first = built
    monkeypatch.delattr(book_site, "run_builder")
    monkeypatch.delattr("microdata_price.book.run._execute")
    assert book.build(root, Edition(), None, lambda _: None, students=True) == first


def unbuilt(monkeypatch, text=""):
    """Let the builder make one page of a text; note what it is given."""
    given = {}

    def run_builder(stage, target, *, strict):
        assert strict
        given.update({p.name: p.read_text("utf-8") for p in stage.rglob("*.[iyh][pmt][ylm]*")})
        target.mkdir()
        (target / "index.html").write_text(text, encoding="utf-8")
        return target

    monkeypatch.setattr(book_site, "run_builder", run_builder)
    return given


def test_another_edition_has_its_own_folder_title_and_numbers(built, monkeypatch):
    root, default = built
    before, given = default.read_bytes(), unbuilt(monkeypatch)
    first = book.build(root, Edition(epsilon=0.25, solutions=False), None, lambda _: None)
    assert first.parent == root / "book" / "_build" / "eps-0.25-students" / "html"
    assert "Twice is 0.5;" in given["chapter.ipynb"]
    title = yaml.safe_load(given["_config.yml"])["title"]
    assert title == "The price of microdata at epsilon = 0.25 (students' edition)"
    assert default.read_bytes() == before


def test_a_checkout_may_be_read_only(changed, tmp_path, monkeypatch):
    (made := tmp_path / "made").mkdir()
    (made / "index.html").write_text("<details>\n<summary>Answers</summary>\n7\n</details>\n")
    (changed / "book" / "play").mkdir()
    before, real, given = {*changed.rglob("*")}, os.access, unbuilt(monkeypatch)
    monkeypatch.setattr(os, "access", lambda p, to: changed not in Path(p).parents and real(p, to))
    theirs, play = Edition(epsilon=30, solutions=False), {"play": lambda *_: made}
    book.build(changed, theirs, tmp_path / "site", lambda _: None, play)
    assert {*changed.rglob("*")} == before
    assert ("Sentences" in given["_config.yml"].split(), given["index.html"]) == (True, "")


def test_faults_in_a_page_and_a_page_that_does_not_exist_fail_the_build(changed):
    text = "# Notes\n\n{{ chapter.twice }} {ref}`nowhere` {cite:t}`nobody1999` [](missing.md) "
    text += "[x](chapter.ipynb#no-such-place)\n\n### Too deep\n"
    (changed / "book" / "notes.md").write_text(text, encoding="utf-8")
    message, told = said(changed), ("nowhere", "nobody1999", "missing.md", "no-such-place")
    assert [words for words in (*told, "notes.md:5") if words not in message] == []
    (changed / "book" / "notes.md").unlink()
    assert "lists a page that does not exist: notes" in said(changed)


def test_complaints_of_cells_fail_the_build(changed, monkeypatch):
    monkeypatch.delattr(book_site, "run_builder")
    warns = ("code", "import warnings\nwarnings.warn('divided by zero' * a)", "setup")
    odd = "import os, sys\nprint(os.environ['ODD'], end='', file=sys.stderr)"
    start = ("text", "# A chapter\n\nText."), ("code", "a = 1", "parameters")
    loud = make_notebook(*start, warns, ("code", odd, "solution"))
    notebook.write(loud, changed / "notebooks" / "chapter.ipynb")
    for words in ("Odd.", ""):  # which the machine may say once and not again
        monkeypatch.setenv("ODD", words)
        warned, *printed = said(changed, bool(words)).splitlines()
        assert re.search("'chapter', cell 3 .*standard error: .*: divided by zero", warned)
        assert ["notebook 'chapter', cell 4" in line for line in printed] == [True] * bool(words)


def test_a_path_and_a_request_in_a_page_fail_the_build_by_page(changed, monkeypatch):
    (changed / "book" / "notes.md").write_text("# Notes\n\nOther ones.\n", encoding="utf-8")
    unbuilt(monkeypatch, '/home<i>/someone/x</i> <script src="//example.org/x.js">')
    asks, shows = said(changed).splitlines()
    assert asks.startswith("index.html would need a network: <script src")
    assert shows.startswith("index.html shows a path of this machine: /home/someone/x")


FAULTS = [
    "at /elsewhere/lib/python3.12/site-packages/x.py:65",
    *("/home/someone/data.csv", "<a href='/tmp/x'>", f"{sys.executable} -m pip"),
    *(f"{Path.home()}/x", '<img alt="x" src="https://example.org/x.png">'),
    "<script defer src='//example.org/x.js'></script>",
    '<link href="https://example.org/x.css" rel="stylesheet">',
    '<link rel="preconnect" href="https://example.org">',
    '<iframe title="x" src="http://example.org"></iframe>',
]
NO_FAULTS = [
    "a site-packages folder, and ~/x, and ../src/a.py, src/a.py",
    *("https://example.org/tmp/home/Users/x", "per /tmpfile and 1/home"),
    '<a href="https://x.org">x</a><img src="x.png" alt="https://x.org">',
    '<link rel="next" href="https://example.org">',
]
STYLES = ["a { background: url('https://x/y') }", "a { background: url(x.png) } /* https://x */"]
READ = [(f"a{i}.html", text) for i, text in enumerate(FAULTS)] + [("a.css", STYLES[0])]


def test_whatever_a_page_would_fetch_or_show_of_the_machine_is_found(tmp_path):
    fine = [(f"b{i}.html", text) for i, text in enumerate(NO_FAULTS)] + [("b.css", STYLES[1])]
    for name, text in READ + fine:
        (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    told = [fault.split()[0] for fault in faults_of_site(tmp_path, machine_paths())]
    assert told == sorted(name for name, _ in READ)


@pytest.mark.parametrize("status", [0, 2])
def test_a_full_disk_is_told_once_though_the_builder_only_warns(tmp_path, monkeypatch, status):
    told = "WARNING: Failed to copy a file: OSError(28, 'No space left on device')\n" * 99
    done = subprocess.CompletedProcess([], status, "", told)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    monkeypatch.setattr(shutil, "copytree", Mock(side_effect=shutil.Error([("a", "b", told)])))
    for act in (partial(book_site.run_builder, strict=False), book_site.copy_tree):
        with pytest.raises(OSError, match=r"^.Errno 28. No space left on device$"):
            act(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize("moment", ["between the renames", "in the second"])
def test_an_exchange_that_is_cut_short_keeps_the_old_site(tmp_path, moment):
    (site := tmp_path / "html").mkdir()
    (site / "index.html").write_text("good", encoding="utf-8")
    if moment == "between the renames":
        site.rename(book_site.recover(site))
        book_site.recover(site)
    else:
        with pytest.raises(OSError, match="missing"):
            book_site.put_in_place(tmp_path / "missing", site, "index.html", "a site")
    assert (site / "index.html").read_text(encoding="utf-8") == "good"


def test_one_notebook_alone_gives_a_notebook_and_pages_of_each_run(built, tmp_path, monkeypatch):
    monkeypatch.chdir(built[0])
    out = tmp_path / "out"
    html = parsed(run_one("chapter", {}, {"epsilon": ["0.1", 8]}, out, lambda _: None)).get_text()
    assert all(w in html for w in ("epsilon = 0.1", "is 0.2;", "Twice is 16;", "read for epsilon"))
    page = (out / "html/notebooks/chapter.html").read_text(encoding="utf-8")
    assert all(words in page for words in ("Twice is 0.2;", "Move it, roll.", ">A plan<"))
    assert not re.findall(r'href="[^"]*(?:explorer/|dice/|plan)', page)  # which are not there
    names = ["chapter-epsilon-0.1.ipynb", "chapter-epsilon-8.ipynb"]
    assert sorted(p.name for p in out.glob("*.ipynb")) == names
    assert any(c.get("execution_count") for c in notebook.read(out / names[0]).cells)
