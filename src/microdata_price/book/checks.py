"""The form of a notebook of the book: complete in Jupyter, its code short where it is shown."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager

from ..exceptions import InputError
from ..page.output import MARKS
from . import notebook
from .notebook import LABEL
from .parameters import TAG
from .plain import head

HIDDEN_CELL, SETUP_CELL, VISIBLE_CELL, HIDDEN_NOTEBOOK = 8, 16, 30, 40
"""Lines of code at most; a notebook's hidden ones include its imports, not its parameters."""


def _lines(cell: notebook.Notebook) -> int:
    return sum(bool(line.strip()) for line in cell.source.split("\n"))


def hidden_lines(content: notebook.Notebook) -> int:
    """Return how many lines of code the site does not show at once, imports included."""
    code = [c for c in content.cells if not notebook.is_prose(c)]
    hidden = [c for c in code if notebook.is_hidden(c) or notebook.SETUP in notebook.tags(c)]
    return sum(map(_lines, hidden))


def faults(path: Path) -> list[str]:
    """Return what keeps a notebook from being in order, one sentence a fault."""
    try:
        content = notebook.read(path)
        for code in (c for c in content.cells if c.cell_type == "code"):
            ast.parse(TransformerManager().transform_cell(code.source))
        notebook.parameters(content, path.name)
    except InputError as error:
        return [str(error)]
    except SyntaxError as error:
        return [f"{path.name}: a code cell is not Python: {error}"]
    return [f"{path.name}: {fault}" for fault in _faults(content, path.read_text(encoding="utf-8"))]


def _faults(content: notebook.Notebook, file: str) -> Iterator[str]:
    if notebook.text(notebook.strip(content)).rstrip() != file.rstrip():
        yield "it is not in its stripped form: run make format"
    tags = [notebook.tags(c) for c in content.cells]
    if unknown := {t for ts in tags for t in ts if not t.startswith(LABEL)} - notebook.KNOWN:
        known = ", ".join(sorted(notebook.KNOWN))
        yield f"the tags {', '.join(sorted(unknown))} are unknown; known are {known}"
    if len(tags) < 3 or TAG not in tags[1] or notebook.SETUP not in tags[2]:
        yield (
            f"the first three cells must be the title, the parameters (tag '{TAG}') and "
            f"the imports (tag '{notebook.SETUP}')"
        )
    texts = [c.source.strip() if c.cell_type == "markdown" else "" for c in content.cells]
    if not texts or not re.match("# .+\n", texts[0]):
        yield "it must begin '# Title', and say in a paragraph under it what the chapter is about"
    section = role = ""
    for cell, text in zip(content.cells, texts, strict=True):
        start = f"the cell {cell.source.strip().split(chr(10))[0][:50]!r}"
        before, role = role, notebook.role(cell)
        shown = cell.cell_type == "code" and not notebook.is_hidden(cell)
        if mark := MARKS.search(cell.source):
            yield f"{mark.group().strip()!r} is a mark that Jupyter shows as it is"
        if role == "exercise" and not notebook.difficulty(cell):
            yield f"{start} has none of the tags {', '.join(notebook.DIFFICULTIES)}"
        if role in notebook.BOXES and notebook.label(cell) and not head(role, cell):
            yield f"{start} must begin '**{role.capitalize()} 1 (its title).**'"
        if role in (*notebook.FOLDS, notebook.SWITCH):
            if role != before and not head(role, cell):
                yield f"{start}, tagged {role!r}, must be text that begins '**A title.**'"
            if notebook.label(cell):
                yield f"{start}, tagged {role!r}, has a label; label what stands before it"
        if section and shown:
            yield f"the section {section!r} begins with code; say first what it computes"
        last = text.split("\n")[-1]
        section = last if re.match(r"##+ ", last) else ""
        if cell.cell_type != "code" or notebook.is_prose(cell):
            continue
        limit = VISIBLE_CELL if shown else HIDDEN_CELL
        limit = SETUP_CELL if notebook.SETUP in notebook.tags(cell) else limit
        if _lines(cell) > limit:
            yield f"{start} has {_lines(cell)} lines; at most {limit} may be"
    hidden = hidden_lines(content)
    if hidden > HIDDEN_NOTEBOOK:
        yield (
            f"{hidden} lines of code are hidden on the site; at most {HIDDEN_NOTEBOOK} may be: "
            "move them into the chapter's module in chapters/"
        )
