"""Numbers of the book's own theorems in reading order: ``python -m microdata_price.book.number``.

Boxes that the paper does not number are O1, O2, ... in the order of the table of contents. The
command writes these anew, in the boxes and in the words of all links to them, and puts the page
into each link that names a box or figure of another page.
"""

from __future__ import annotations

import os.path
import re
from pathlib import Path

from ..base.files import write_whole
from . import notebook
from .plan import find_root, notebook_paths, toc_entries

_OWN = re.compile(r"\A(\*\*[A-Z][a-z]+ )(O\d+)(?= \(|\.\*\*)")
_LINK = re.compile(r"\[([^\[\]]*)\]\(([\w./]*)#([\w-]+)\)")


def renumbered(root: Path) -> dict[Path, str]:
    """Return the texts of the notebooks and pages that change, by file."""
    books = {path: notebook.read(path) for path in notebook_paths(root)}
    numbers: dict[str, str] = {}
    homes: dict[str, Path] = {}
    for path, content in books.items():
        for cell in content.cells:
            if name := notebook.shown_label(cell):
                homes[name] = path
            if name and cell.cell_type == "markdown" and _OWN.match(cell.source):
                numbers[name] = f"O{len(numbers) + 1}"

    def relinked(text: str, here: Path) -> str:
        def link(match: re.Match[str]) -> str:
            words, target, name = match.groups()
            if name in numbers:
                words = re.sub(r"\bO\d+\b", numbers[name], words)
            if name in homes:
                same = homes[name] == here
                target = "" if same else Path(os.path.relpath(homes[name], here.parent)).as_posix()
            return f"[{words}]({target}#{name})"

        return _LINK.sub(link, text)

    changed = {}
    for path, content in books.items():
        for cell in content.cells:
            if cell.cell_type == "markdown" or notebook.is_prose(cell):
                cell.source = relinked(cell.source, path)
                own = numbers.get(notebook.label(cell), "")
                cell.source = _OWN.sub(rf"\g<1>{own}", cell.source) if own else cell.source
        changed[path] = notebook.text(notebook.strip(content))
    for page in (root / "book" / f"{entry}.md" for entry in toc_entries(root)):
        if page.is_file():
            changed[page] = relinked(page.read_text(encoding="utf-8"), page)
    return {p: text for p, text in changed.items() if text != p.read_text(encoding="utf-8")}


if __name__ == "__main__":
    for file, text in renumbered(find_root()).items():
        write_whole(file, text)
        print(file.name)
