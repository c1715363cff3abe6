"""Numbers of the book's own theorems in reading order: ``python -m microdata_price.book.number``.

What the paper numbers keeps its number. Everything else is O1, O2, ... over all notebooks in the
order of the table of contents. The numbers stand in the notebooks, so that they read whole
anywhere; this command writes them there anew, in the boxes and in the words of all links to them,
and puts the page into each link that names a box, figure or equation of another page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from ..base.files import write_whole
from ..page.say import MAGIC
from . import notebook
from .plan import find_root, notebook_paths, toc_entries

_OWN = re.compile(r"\A(\*\*[A-Z][a-z]+ )(O\d+)(?= \(|\.\*\*)")
_LINK = re.compile(r"\[([^\[\]]*)\]\(([\w./]*)#([\w-]+)\)")


def own_numbers(root: Path) -> dict[str, str]:
    """Return the numbers that the book's own boxes should have, by label, in reading order."""
    found: dict[str, str] = {}
    for path in notebook_paths(root):
        for cell in notebook.read(path).cells:
            if cell.cell_type == "markdown" and notebook.label(cell) and _OWN.match(cell.source):
                found[notebook.label(cell)] = f"O{len(found) + 1}"
    return found


def pages_of_labels(root: Path) -> dict[str, Path]:
    """Return the file of each labelled cell, figure and table of the notebooks."""
    found = {}
    for path in notebook_paths(root):
        for cell in notebook.read(path).cells:
            shown = MAGIC.match(cell.source) if cell.cell_type == "code" else None
            name = shown[2] if shown and shown[1] != "say" else notebook.label(cell)
            if name:
                found[name] = path
    return found


def renumbered(root: Path) -> dict[Path, str]:
    """Return the texts of the notebooks and pages that change, by file."""
    numbers, homes = own_numbers(root), pages_of_labels(root)
    changed = {}
    for path in notebook_paths(root):
        content = notebook.read(path)
        link = _relinker(path, numbers, homes)
        for cell in content.cells:
            if cell.cell_type == "markdown" or notebook.is_prose(cell):
                cell.source = _LINK.sub(link, cell.source)
                own = numbers.get(notebook.label(cell))
                if own and cell.cell_type == "markdown":
                    cell.source = _OWN.sub(rf"\g<1>{own}", cell.source)
        changed[path] = notebook.text(notebook.strip(content))
    for entry in toc_entries(root):
        page = root / "book" / f"{entry}.md"
        if page.is_file():
            changed[page] = _LINK.sub(
                _relinker(page, numbers, homes), page.read_text(encoding="utf-8")
            )
    return {p: text for p, text in changed.items() if text != p.read_text(encoding="utf-8")}


def _relinker(
    here: Path, numbers: dict[str, str], homes: dict[str, Path]
) -> Callable[[re.Match[str]], str]:
    def link(match: re.Match[str]) -> str:
        words, target, name = match.groups()
        if name in numbers:
            words = re.sub(r"\bO\d+\b", numbers[name], words)
        if name in homes:
            target = "" if homes[name] == here else homes[name].name
            if target and here.parent != homes[name].parent:
                up = [".."] * len(here.parent.relative_to(homes[name].parents[1]).parts)
                target = "/".join([*up, "notebooks", target])
        return f"[{words}]({target}#{name})"

    return link


def main() -> int:
    """Write the numbers and links anew; say which files changed."""
    for path, text in renumbered(find_root()).items():
        write_whole(path, text)
        print(path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
