"""The form of a notebook of the book: complete in Jupyter, its code short where it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..page.output import MARKS
from . import notebook
from .parameters import TAG
from .plain import head

LINE = 100
HIDDEN_CELL, SETUP_CELL, VISIBLE_CELL = 8, 16, 30
HIDDEN_NOTEBOOK = 40
"""Lines of code that the site does not show at once, imports included, parameters not."""


def _lines(cell: notebook.Notebook) -> int:
    return sum(bool(line.strip()) for line in cell.source.split("\n"))


def hidden_lines(content: notebook.Notebook) -> int:
    """Return how many lines of code the site does not show at once, imports included."""
    code = [c for c in content.cells if not notebook.is_prose(c)]
    hidden = [c for c in code if notebook.is_hidden(c) or notebook.SETUP in notebook.tags(c)]
    return sum(map(_lines, hidden))


def plain_faults(content: notebook.Notebook, name: str) -> list[str]:
    """Return what keeps a notebook from being plain and short, one sentence a fault."""
    return [f"{name}: {fault}" for fault in _faults(content)]


def _faults(content: notebook.Notebook) -> Iterator[str]:
    tags = [notebook.tags(c) for c in content.cells[:3]]
    if len(tags) < 3 or TAG not in tags[1] or notebook.SETUP not in tags[2]:
        yield (
            f"the first three cells must be the title, the parameters (tag '{TAG}') and the "
            f"imports (tag '{notebook.SETUP}')"
        )
    if content.cells and "\n" not in content.cells[0].source.strip():
        yield "the first cell must say in a paragraph under the title what the chapter is about"
    section = role = ""
    for cell in content.cells:
        start = repr(cell.source.strip().split("\n")[0][:50])
        before, role = role, notebook.role(cell)
        shown = cell.cell_type == "code" and not notebook.is_hidden(cell)
        if mark := MARKS.search(cell.source):
            yield f"{mark.group().strip()!r} is a mark that Jupyter shows as it is"
        if role == "exercise" and not notebook.difficulty(cell):
            yield f"the exercise {start} has none of the tags {', '.join(notebook.DIFFICULTIES)}"
        if role in notebook.BOXES and notebook.label(cell) and not head(role, cell):
            yield f"the cell {start} must begin '**{role.capitalize()} 1 (its title).**'"
        if role in (*notebook.FOLDS, notebook.SWITCH):
            if role != before and not head(role, cell):
                yield f"the cell {start}, tagged {role!r}, must be text that begins '**A title.**'"
            if notebook.label(cell):
                yield f"the cell {start}, tagged {role!r}, has a label; label what stands before it"
        if section and shown:
            yield f"the section {section!r} begins with code; say first what it computes"
        last = cell.source.strip().split("\n")[-1] if cell.cell_type == "markdown" else ""
        section = last if re.match(r"##+ ", last) else ""
        if cell.cell_type != "code" or notebook.is_prose(cell):
            continue
        longest = max(map(len, cell.source.split("\n")))
        if longest > LINE:
            yield f"the cell {start} has a line of {longest} characters; at most {LINE} fit"
        limit = VISIBLE_CELL if shown else HIDDEN_CELL
        limit = SETUP_CELL if notebook.SETUP in notebook.tags(cell) else limit
        if _lines(cell) > limit:
            yield f"the cell {start} has {_lines(cell)} lines; at most {limit} may be"
    hidden = hidden_lines(content)
    if hidden > HIDDEN_NOTEBOOK:
        yield (
            f"{hidden} lines of code are hidden on the site; at most {HIDDEN_NOTEBOOK} may be: "
            "move them into the chapter's module in chapters/"
        )
