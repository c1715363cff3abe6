"""Notebooks: their one form in the repository, what the book asks of each, their parameters."""

import ast
import re
import runpy
import sys
from collections import Counter
from pathlib import Path

import nbformat
import pytest

from microdata_price.book import notebook
from microdata_price.book.one import _AWAY
from microdata_price.book.parameters import check
from microdata_price.book.plain import head
from microdata_price.book.plan import notebook_paths
from microdata_price.exceptions import InputError
from microdata_price.page.output import MARKS
from microdata_price.page.say import MAGIC
from tiny_book import ROOT, make_notebook, ordinary

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SHOWS = {"print", "say", "show", "certificate", "offer", "record"}
"""The functions by which a code cell may end, to show something."""
TAGS = {*notebook.BOXES, *notebook.FOLDS, *notebook.DIFFICULTIES, *notebook.HIDDEN}
TAGS |= {notebook.SETUP, notebook.SWITCH, "parameters", "hide-output", "remove-output"}
HIDDEN_CELL, SETUP_CELL, VISIBLE_CELL, HIDDEN_NOTEBOOK, HIDDEN_BOOK = 8, 16, 30, 40, 1100
"""Lines of code at most; a notebook's hidden ones include its imports, not its parameters."""


def lines(cell):
    return sum(bool(line.strip()) for line in cell.source.split("\n"))


def is_folded(cell):
    return notebook.is_hidden(cell) or notebook.SETUP in notebook.tags(cell)


def hidden_lines(content):
    code = [c for c in content.cells if c.cell_type == "code" and not notebook.is_prose(c)]
    return sum(lines(c) for c in code if is_folded(c))


def names(cells):
    """Return the names that cells of code read, and those that they write."""
    found = [notebook.names_in(c.source) for c in cells if not notebook.is_prose(c)]
    return [set().union(*(names[k] for names in found)) for k in (0, 1)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_notebook_is_in_order(path):
    """Stripped, begun alike, plain for Jupyter, its boxes named, whole without its solutions."""
    content, file = notebook.read(path), path.read_text(encoding="utf-8")
    assert notebook.text(notebook.strip(content)).rstrip() == file.rstrip(), "run make format"
    for name, one in notebook.parameters(content, path.name).items():
        if {int, float} & {*one.kinds, one.item} and name != "lam":  # its least follows epsilon
            with pytest.raises(InputError, match=name.removesuffix("s")):
                check({name: one}, {name: [-1] if list in one.kinds else -1})
    tags = [notebook.tags(c) for c in content.cells]
    assert {t for ts in tags for t in ts if not t.startswith(notebook.LABEL)} <= TAGS
    assert "parameters" in tags[1]
    assert notebook.SETUP in tags[2]
    assert re.match("# .+\n\n", content.cells[0].source), "a title, a paragraph under it"
    assert not MARKS.search(written := "\n".join(c.source for c in content.cells))
    assert not re.findall(r'<a href="(?!#|https?:)', _AWAY.sub("", written)), "dead in a run alone"
    before = ""
    for i, cell in enumerate(content.cells):
        start, role = cell.source[:60], notebook.role(cell)
        if role == "exercise":
            assert notebook.difficulty(cell), start
            if "(Predict, then run)" in cell.source:
                after = [c for c in content.cells[i + 1 :] if notebook.role(c) == "solution"]
                assert "code" in [c.cell_type for c in after], start
                assert re.findall(r"^- \((\w)\) \S", cell.source, re.M) == ["a", "b", "c"], start
        if role in notebook.BOXES and notebook.label(cell):
            assert head(role, cell), start
        if role in (*notebook.FOLDS, notebook.SWITCH):
            assert not notebook.label(cell), f"label what stands before {start!r}"
        if re.match("##+ ", before):  # a section begins with words
            assert cell.cell_type == "markdown" or is_folded(cell), start
        before = cell.source.strip().split("\n")[-1] if cell.cell_type == "markdown" else ""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_code_is_short_draws_in_the_package_and_shows_no_object(path):
    content = notebook.read(path)
    code = [c for c in content.cells if c.cell_type == "code"]
    for cell in code:
        assert not re.search("pyplot|subplots", cell.source), "draw in microdata_price.figures"
        if notebook.is_prose(cell):
            continue
        most = HIDDEN_CELL if notebook.is_hidden(cell) else VISIBLE_CELL
        assert lines(cell) <= (SETUP_CELL if notebook.SETUP in notebook.tags(cell) else most)
        assert max(map(len, cell.source.split("\n"))) <= 100, cell.source
        body = ast.parse(notebook.python_only(cell.source)).body
        if body and isinstance(body[-1], ast.Expr):  # no object as Python writes it
            assert isinstance(body[-1].value, ast.Call), cell.source
            assert getattr(body[-1].value.func, "id", "") in SHOWS, cell.source
    assert hidden_lines(content) <= HIDDEN_NOTEBOOK
    solutions = [c for c in code if "solution" in notebook.tags(c)]
    loads, stores = names([c for c in code if c not in solutions])
    assert not (names(solutions)[1] - stores) & loads


def test_boxes_are_numbered_in_reading_order_and_links_say_their_names_and_pages():
    """What the paper does not number is O1, O2, ... in the order of the table of contents."""
    assert {*notebook_paths(ROOT)} == {*NOTEBOOKS}
    assert 0 < sum(hidden_lines(notebook.read(path)) for path in NOTEBOOKS) <= HIDDEN_BOOK
    labels, called, home, texts = [], {}, {}, {}
    for path in notebook_paths(ROOT):
        cells = notebook.read(path).cells
        texts[path] = "\n".join(c.source for c in cells)
        for cell in cells:
            shown = MAGIC.match(cell.source) if cell.cell_type == "code" else None
            label = shown[2] if shown and shown[1] != "say" else notebook.label(cell)
            labels.append(label)
            home[label] = path.name
            box = re.match(r"\*\*([A-Z][a-z]+ [O\d.]+)(?: \(|\.\*\*)", cell.source)
            if cell.cell_type == "markdown" and box:
                called[notebook.label(cell)] = box[1]
                labels += [] if "exercise" in notebook.tags(cell) else [box[1]]
    own = [m for name in called.values() if (m := re.search(r" O(\d+)$", name))]
    assert [int(m[1]) for m in own] == [*range(1, len(own) + 1)] != []
    texts |= {p: p.read_text(encoding="utf-8") for p in (ROOT / "book").rglob("*.md")}
    for path, text in texts.items():
        labels += re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
        for words, page, name in re.findall(r"\[([^\[\]]*)\]\(([\w./]*)#([\w-]+)\)", text):
            if re.fullmatch(r"[A-Z][a-z]+ O?\d[\d.]*", words):
                assert called.get(name, words) == words, (path.name, name)
            if name in home:
                assert (Path(page).name or path.name) == home[name], (path.name, name)
    assert [name for name, times in Counter(filter(None, labels)).items() if times > 1] == []


@pytest.mark.filterwarnings("ignore:'microdata_price.book.notebook' found")
def test_stripping_is_idempotent_and_keeps_content_and_tags(tmp_path, monkeypatch):
    nb = ordinary()
    nb.cells[1].outputs = [nbformat.v4.new_output("stream", text="x")]
    nb.cells[1].execution_count = 7
    nb.cells[1].metadata["scrolled"] = True
    once = notebook.strip(nb)
    assert notebook.strip(once) == once
    assert [c.source for c in once.cells] == [c.source for c in nb.cells]
    assert (once.cells[1].metadata, once.cells[1].outputs) == ({"tags": ["parameters"]}, [])
    assert once.cells[3].metadata["jupyter"] == {"source_hidden": True}
    nbformat.validate(once)
    ids, again = ([c.id for c in make_notebook(*[("code", "x")] * 3).cells] for _ in range(2))
    assert (len({*ids}), ids) == (3, again)
    # So does the command, in place.
    (path := tmp_path / "x.ipynb").write_text(nbformat.writes(nb), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["x", "strip", str(path), str(tmp_path / "none.ipynb")])
    with pytest.raises(SystemExit, match=r"there is no notebook .*none"):
        runpy.run_module("microdata_price.book.notebook", run_name="__main__")
    assert path.read_text(encoding="utf-8") == notebook.text(ordinary())


DECLARED = ("code", "epsilon = 0.5\nrho = 1.0", "parameters")
READ = ("code", "a = 1", "parameters"), ("code", "a")
WRITES = ["import a.b", "from math import pi as a", "def a(): pass", "class a: pass", "del a"]
WRITES += ["a += 1", "a: int = 1", "for a in (1, 2): pass", "with open('x') as a: pass", "a = !ls"]
WRITES += ["try: 1\nexcept OSError as a: 1", "(a := 2)", "[(a := x) for x in (1, 2)]"]
WRITES += ["match 1:\n  case [a]: pass", "def f():\n  global a\n  import a"]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([DECLARED, ("code", "epsilon = rho")], "declares the parameter 'epsilon' and never reads"),
        ([DECLARED, ("code", "rho = epsilon\nprint(rho)")], "overwrites its parameter 'rho'"),
        *[([*READ, ("code", write)], "overwrites its parameter 'a'") for write in WRITES],
        ([("code", "a")], "has 0 cells tagged"),
        ([DECLARED, DECLARED, ("code", "epsilon, rho")], "has 2 cells tagged"),
        ([("code", "a = (", "parameters"), ("code", "a")], "the parameters cell is not Python"),
        ([("code", "a = b", "parameters"), ("code", "a")], "the parameters cell has the line"),
    ],
)
def test_parameters_that_are_not_in_order_are_refused(cells, said):
    with pytest.raises(InputError, match=f"^x:? {said}"):
        notebook.parameters(make_notebook(*cells), "x")
    derived = make_notebook(("code", "a = 1\nb = a / 2", "parameters"), ("code", "a + b"))
    with pytest.raises(InputError, match=r"^x uses 'a' in its parameters cell, before a given"):
        notebook.parameters(derived, "x", ["a"])
