"""Pages written from results: how everything was computed, and the list of exercises."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import jinja2

from ..base.provenance import versions
from . import notebook
from .plain import head
from .plan import Edition
from .run import Run
from .stage import Found

NO_BREAK = "\N{NO-BREAK SPACE}"
_CHOICE = re.compile(r"^- \(a\) ", re.MULTILINE)
"""How the list begins of which a reader chooses a prediction; the page's script knows it too."""


def computed(
    edition: Edition,
    runs: Sequence[Run],
    pages: Collection[str],
    found: Found,
    grid: Mapping[str, str],
) -> str:
    """Write the page that says how and when each notebook was computed."""
    text = Path(__file__).with_name("computed.md").read_text(encoding="utf-8")
    engine = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    return engine.from_string(text).render(
        levels=edition.levels,
        runs=runs,
        pages=pages,
        certificates=found.certificates,
        grid=grid,
        versions=versions(),
    )


def exercises(notebooks: Mapping[str, notebook.Notebook], *, solutions: bool) -> str:
    """Write the list of every exercise of the book's chapters, as a paragraph and a table."""
    rows: list[str] = []
    counts = dict.fromkeys(notebook.DIFFICULTIES, 0)
    chapters = 0
    for name, content in notebooks.items():
        chapter = f"[](../notebooks/{name}.ipynb)"
        for cell in content.cells:
            found = head("exercise", cell) if notebook.role(cell) == "exercise" else None
            if found is None:
                continue
            called, _, words = found["title"].removesuffix(")").partition(" (")
            link = f"{{ref}}`{called.replace(' ', NO_BREAK)} <{notebook.label(cell)}>`"
            hard = notebook.difficulty(cell)
            counts[hard] = counts.get(hard, 0) + 1
            run = "yes" if _CHOICE.search(cell.source) else ""
            rows.append(f"| {chapter} | {link} | {words.replace('|', '&#124;')} | {hard} | {run} |")
            chapters += bool(chapter)
            chapter = ""
    if not rows:
        return "The book has no exercises."
    then = "it shows what happens" if solutions else "then run its notebook"
    how_many = ", ".join(f"{count} {hard}" for hard, count in counts.items())
    return "\n".join(
        [
            f"The book has {len(rows)} exercises in {chapters} chapters: {how_many}. "
            "*Easy* takes minutes and no more than the chapter itself; *medium* asks for a "
            "computation or a short argument; *hard* for a proof or an idea. Where the last column "
            f"says yes, choose your prediction in the page; {then}.",
            "",
            "| chapter | exercise | about | difficulty | predict here |",
            "| :--- | :--- | :--- | :--- | :--- |",
            *rows,
        ]
    )
