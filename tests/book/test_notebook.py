from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.book import notebook
from microdata_price.book.checks import hidden_lines
from microdata_price.book.plan import notebook_paths
from microdata_price.exceptions import InputError
from microdata_price.page.say import MAGIC
from tiny_book import ROOT, make_notebook, ordinary

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_notebook_is_stripped_and_reads_its_parameters(path: Path) -> None:
    assert notebook.faults(path) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_has_nothing_that_only_the_builder_understands(path: Path) -> None:
    """No role, no directive, no long line: asked of the file alone, beside `checks`."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        assert not re.search(r"\{[\w:-]+\}`|^ *(:::|```\{)", source, re.MULTILINE), source
        if cell["cell_type"] == "code" and not MAGIC.match(source):
            assert max(map(len, source.split("\n"))) <= 100, source


def test_the_notebooks_hide_little_code() -> None:
    assert sum(hidden_lines(notebook.read(path)) for path in NOTEBOOKS) <= 1100


def test_the_table_of_contents_lists_every_notebook_and_no_other() -> None:
    assert {p.name for p in notebook_paths(ROOT)} == {p.name for p in NOTEBOOKS}
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_draw_only_through_the_package(path: Path) -> None:
    for cell in notebook.read(path).cells:
        if cell.cell_type == "code":
            assert "pyplot" not in cell.source, "draw in microdata_price.figures"
            assert "subplots" not in cell.source, "draw in microdata_price.figures"


SHOWS = {"print", "say", "show", "certificate", "offer", "record"}
"""What a code cell may end in to show something."""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_no_cell_shows_an_object_as_python_writes_it(path: Path) -> None:
    for cell in notebook.read(path).cells:
        if notebook.is_prose(cell):
            continue
        body = ast.parse(notebook.python_only(cell.source)).body
        last = body[-1] if cell.cell_type == "code" and body else None
        if isinstance(last, ast.Expr):
            assert isinstance(last.value, ast.Call), cell.source
            assert getattr(last.value.func, "id", "") in SHOWS, cell.source


def _names(cells: list[notebook.Notebook], context: type[ast.expr_context]) -> set[str]:
    return {
        node.id
        for cell in cells
        for node in ast.walk(ast.parse(notebook.python_only(cell.source)))
        if isinstance(node, ast.Name) and isinstance(node.ctx, context)
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_what_only_a_solution_defines_is_used_only_in_solutions(path: Path) -> None:
    code = [c for c in notebook.read(path).cells if c.cell_type == "code"]
    solutions = [c for c in code if "solution" in notebook.tags(c)]
    others = [c for c in code if c not in solutions]
    only_there = _names(solutions, ast.Store) - _names(others, ast.Store)
    assert not only_there & _names(others, ast.Load)


def test_stripping_is_idempotent_and_keeps_content_and_tags() -> None:
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


@given(st.lists(st.sampled_from(["", "a", "b", "x = 1"]), max_size=8))
def test_cell_names_are_unique_and_depend_on_content_alone(sources: list[str]) -> None:
    first = make_notebook(*[("code", s) for s in sources])
    names = [c.id for c in first.cells]
    assert len(set(names)) == len(names)
    assert [c.id for c in make_notebook(*[("code", s) for s in sources]).cells] == names


def test_a_parameter_that_is_never_read_is_an_error() -> None:
    nb = make_notebook(("code", "epsilon = 0.5\nrho = 1.0", "parameters"), ("code", "epsilon"))
    with pytest.raises(InputError, match="'rho' and never reads it"):
        notebook.parameters(nb, "x")


def test_a_parameter_that_only_text_or_another_name_mentions_is_not_read() -> None:
    nb = make_notebook(
        ("code", "epsilon = 0.5", "parameters"),
        ("text", "epsilon"),
        ("code", "# epsilon\nx = 'epsilon'\nf(epsilon=2)\ny.epsilon"),
    )
    with pytest.raises(InputError, match="never reads"):
        notebook.parameters(nb, "x")


def test_a_parameter_that_is_overwritten_is_an_error() -> None:
    nb = make_notebook(
        ("code", "epsilon = 0.5", "parameters"), ("code", "epsilon = 0.1\nprint(epsilon)")
    )
    with pytest.raises(InputError, match="overwrites its parameter 'epsilon'"):
        notebook.parameters(nb, "x")


@pytest.mark.parametrize("count", [0, 2])
def test_exactly_one_cell_declares_parameters(count: int) -> None:
    nb = make_notebook(*[("code", "a = 1", "parameters")] * count, ("code", "a"))
    with pytest.raises(InputError, match=f"has {count} cells tagged"):
        notebook.parameters(nb, "x")


@pytest.mark.parametrize("content", ["", "{}", "not json", '{"cells": 3}'])
def test_a_file_that_is_no_notebook_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.ipynb"
    path.write_text(content, encoding="utf-8")
    assert len(notebook.faults(path)) == 1


def test_faults_name_outputs_titles_and_tags(tmp_path: Path) -> None:
    nb = make_notebook(
        ("text", "No title"), ("code", "a = 1", "parameters"), ("code", "a", "hide_input")
    )
    nb.cells[2].execution_count = 3
    path = tmp_path / "x.ipynb"
    path.write_text(nbformat.writes(nb), encoding="utf-8")
    said = " ".join(notebook.faults(path))
    assert "stripped form" in said
    assert "# Title" in said
    assert "hide_input" in said


def test_the_command_line_strips_in_place(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    nb = ordinary()
    nb.cells[2].execution_count = 3
    path = tmp_path / "x.ipynb"
    path.write_text(nbformat.writes(nb), encoding="utf-8")
    assert notebook.main(["check", str(path)]) == 1
    assert notebook.main(["strip", str(path)]) == 0
    assert notebook.main(["check", str(path)]) == 0
    assert notebook.main([]) == 2
    assert notebook.main(["strip", str(tmp_path / "none.ipynb")]) == 2
    capsys.readouterr()
