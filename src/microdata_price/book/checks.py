"""What a notebook in plain Markdown must be like: short, complete in Jupyter, pictures first."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..exceptions import BuildError
from ..page import output
from ..page.output import MARKS
from . import notebook
from .parameters import TAG
from .plain import head_of

LINE = 100
HIDDEN_CELL = 8
SETUP_CELL = 16
VISIBLE_CELL = 30
HIDDEN_NOTEBOOK = 40
"""Lines of code that the site does not show at once, imports included, parameters not."""


def lines(cell: notebook.Notebook) -> int:
    """Return how many lines of a cell are not empty."""
    return sum(bool(line.strip()) for line in cell.source.split("\n"))


def hidden_lines(content: notebook.Notebook) -> int:
    """Return how many lines of code the site does not show at once, imports included."""
    return sum(
        lines(c)
        for c in content.cells
        if not notebook.is_prose(c)
        and (notebook.is_hidden(c) or notebook.SETUP in notebook.tags(c))
    )


def plain_faults(content: notebook.Notebook, name: str) -> list[str]:
    """Return what keeps a notebook from being plain and short, one sentence a fault."""
    return [f"{name}: {fault}" for fault in _faults(content, name)]


def _faults(content: notebook.Notebook, name: str) -> Iterator[str]:
    yield from _opening(content)
    roots = _modules(content)
    for cell in content.cells:
        mark = MARKS.search(cell.source)
        if mark:
            yield f"{mark.group().strip()!r} is a mark that Jupyter shows as it is"
        if cell.cell_type == "code":
            yield from _code_faults(cell)
            yield from _value_shown(cell, roots)
        else:
            if notebook.role(cell) == "exercise" and not notebook.difficulty(cell):
                yield (
                    f"the exercise {cell.source[:40]!r} has none of the tags "
                    f"{', '.join(notebook.DIFFICULTIES)}"
                )
            try:
                if notebook.role(cell) in notebook.BOXES and notebook.label(cell):
                    head_of(name, cell)
            except BuildError as error:
                yield str(error)
    for before, after in zip(content.cells, content.cells[1:], strict=False):
        last = before.source.strip().split("\n")[-1] if before.cell_type == "markdown" else ""
        shown = after.cell_type == "code" and not notebook.is_hidden(after)
        if re.match(r"#+ ", last) and shown:
            yield f"the section {last!r} begins with code; say first what it computes"
    hidden = hidden_lines(content)
    if hidden > HIDDEN_NOTEBOOK:
        yield (
            f"{hidden} lines of code are hidden on the site; at most {HIDDEN_NOTEBOOK} may be: "
            "move them into the chapter's module in chapters/"
        )


def _opening(content: notebook.Notebook) -> Iterator[str]:
    tags = [notebook.tags(c) for c in content.cells[:3]]
    if len(tags) < 3 or TAG not in tags[1] or notebook.SETUP not in tags[2]:
        yield (
            f"the first three cells must be the title, the parameters (tag '{TAG}') and the "
            f"imports (tag '{notebook.SETUP}')"
        )
    if content.cells and len(content.cells[0].source.strip().split("\n")) < 2:
        yield "the first cell must say in a paragraph under the title what the chapter is about"


def _modules(content: notebook.Notebook) -> set[str]:
    """Return the names that a notebook imports, but for what it says and shows with."""
    found = set()
    for cell in content.cells:
        if cell.cell_type == "code":
            for node in ast.walk(ast.parse(notebook.python_only(cell.source))):
                if not isinstance(node, ast.Import | ast.ImportFrom):
                    continue
                if getattr(node, "module", None) != output.__name__:
                    found |= {(a.asname or a.name).split(".")[0] for a in node.names}
    return found


def _value_shown(cell: notebook.Notebook, modules: set[str]) -> Iterator[str]:
    """Find a cell that ends in a call, so that whatever object it returns is shown."""
    body = ast.parse(notebook.python_only(cell.source)).body
    if body and isinstance(body[-1], ast.Expr) and isinstance(body[-1].value, ast.Call):
        name = ast.unparse(body[-1].value.func)
        if name.split(".")[0] in modules:
            yield (
                f"a cell ends in {name}(...), so the page shows its value as Python writes it; "
                "give the value a name, or print what is to be read"
            )


def _code_faults(cell: notebook.Notebook) -> Iterator[str]:
    if notebook.is_prose(cell):
        return
    start = repr(cell.source.strip().split("\n")[0][:50])
    longest = max(map(len, cell.source.split("\n")))
    if longest > LINE:
        yield f"the cell {start} has a line of {longest} characters; at most {LINE} fit"
    tags = notebook.tags(cell)
    limit = VISIBLE_CELL
    if notebook.is_hidden(cell):
        limit = HIDDEN_CELL
    elif notebook.SETUP in tags:
        limit = SETUP_CELL
    if lines(cell) > limit:
        yield f"the cell {start} has {lines(cell)} lines; at most {limit} may be"
    for node in ast.walk(ast.parse(notebook.python_only(cell.source))):
        if isinstance(node, ast.IfExp):
            yield (
                f"the cell {start} chooses by a conditional expression; sentences and their "
                "choice belong into the chapter's module in chapters/"
            )
        if isinstance(node, ast.JoinedStr) and node.end_lineno != node.lineno:
            yield f"the cell {start} has an f-string over several lines; write it in chapters/"
