import ast
import re
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner

from microdata_price.book import notebook
from microdata_price.book.checks import faults, hidden_lines
from microdata_price.book.plan import notebook_paths
from microdata_price.exceptions import InputError
from tiny_book import ROOT, make_notebook, ordinary

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SHOWS = {"print", "say", "show", "certificate", "offer", "record"}
"""The functions by which a code cell may end, to show something."""


def _names(cells, context):
    return {
        node.id
        for cell in cells
        for node in ast.walk(ast.parse(notebook.python_only(cell.source)))
        if isinstance(node, ast.Name) and isinstance(node.ctx, context)
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_notebook_is_in_order(path):
    """Stripped, plain for Jupyter, drawn through the package, whole without its solutions."""
    assert faults(path) == []
    code = [c for c in notebook.read(path).cells if c.cell_type == "code"]
    for cell in code:
        assert not re.search("pyplot|subplots", cell.source), "draw in microdata_price.figures"
        if notebook.is_prose(cell):
            continue
        assert max(map(len, cell.source.split("\n"))) <= 100, cell.source
        body = ast.parse(notebook.python_only(cell.source)).body
        if body and isinstance(body[-1], ast.Expr):  # no object as Python writes it
            assert isinstance(body[-1].value, ast.Call), cell.source
            assert getattr(body[-1].value.func, "id", "") in SHOWS, cell.source
    solutions = [c for c in code if "solution" in notebook.tags(c)]
    others = [c for c in code if c not in solutions]
    only_there = _names(solutions, ast.Store) - _names(others, ast.Store)
    assert not only_there & _names(others, ast.Load)


def test_the_book_lists_every_notebook_and_hides_little_code():
    assert NOTEBOOKS
    assert {p.name for p in notebook_paths(ROOT)} == {p.name for p in NOTEBOOKS}
    assert sum(hidden_lines(notebook.read(path)) for path in NOTEBOOKS) <= 1100


def test_stripping_is_idempotent_and_keeps_content_and_tags():
    nb = ordinary()
    nb.cells[1].outputs = [nbformat.v4.new_output("stream", text="x")]
    nb.cells[1].execution_count = 7
    nb.cells[1].metadata["scrolled"] = True
    once = notebook.strip(nb)
    assert notebook.strip(once) == once
    assert [c.source for c in once.cells] == [c.source for c in nb.cells]
    assert once.cells[1].metadata == {"tags": ["parameters"]}
    assert once.cells[1].outputs == []
    nbformat.validate(once)
    names, again = ([c.id for c in make_notebook(*[("code", "x")] * 3).cells] for _ in range(2))
    assert len({*names}) == 3
    assert names == again


DECLARED = ("code", "epsilon = 0.5\nrho = 1.0", "parameters")


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([DECLARED, ("code", "epsilon")], "declares the parameter 'rho' and never reads it"),
        ([DECLARED, ("code", "epsilon = rho")], "declares the parameter 'epsilon' and never reads"),
        ([DECLARED, ("code", "rho = epsilon\nprint(rho)")], "overwrites its parameter 'rho'"),
        ([("code", "a")], "has 0 cells tagged"),
        ([DECLARED, DECLARED, ("code", "epsilon, rho")], "has 2 cells tagged"),
        ([("code", "a = (", "parameters"), ("code", "a")], "the parameters cell is not Python"),
        ([("code", "a = b", "parameters"), ("code", "a")], "the parameters cell has the line"),
    ],
)
def test_parameters_that_are_not_in_order_are_refused(cells, said):
    with pytest.raises(InputError, match=f"^x:? {said}"):
        notebook.parameters(make_notebook(*cells), "x")


def test_a_file_that_is_no_notebook_has_one_fault(tmp_path):
    (tmp_path / "x.ipynb").write_text('{"cells": 3}', encoding="utf-8")
    assert len(faults(tmp_path / "x.ipynb")) == 1


def test_the_command_line_strips_in_place(tmp_path):
    nb = ordinary()
    nb.cells[2].execution_count = 3
    nb.cells[3].metadata["tags"].append("hide_input")
    path, none = str(tmp_path / "x.ipynb"), str(tmp_path / "none.ipynb")
    Path(path).write_text(nbformat.writes(nb), encoding="utf-8")
    said = CliRunner().invoke(notebook.main, ["check", path]).output
    assert all(word in said for word in ("stripped form", "the tags hide_input are unknown"))
    nb.cells[3].metadata["tags"].pop()
    Path(path).write_text(nbformat.writes(nb), encoding="utf-8")
    calls = [["check", path], ["strip", path], ["check", path], [], ["strip", none]]
    codes = [CliRunner().invoke(notebook.main, call).exit_code for call in calls]
    assert codes == [1, 0, 0, 2, 1]
