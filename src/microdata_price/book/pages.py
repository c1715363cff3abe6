"""Pages written from results: how everything was computed, and the list of exercises."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from ..base.provenance import versions
from . import notebook
from .plain import head
from .run import Run

_CHOICE = re.compile(r"^- \(a\) ", re.MULTILINE)
"""How the list begins of which a reader chooses a prediction; the page's script knows it too."""


def _filled(name: str, **values: Any) -> str:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    engine = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return engine.get_template(f"{name}.md").render(values)


def computed(
    levels: str,
    runs: Sequence[Run],
    pages: Collection[str],
    certificates: Mapping[str, float],
    grid: Mapping[str, str],
) -> str:
    """Write the page that says how and when each notebook was computed."""
    told = {"certificates": certificates, "grid": grid, "versions": versions()}
    return _filled("computed", levels=levels, runs=runs, pages=pages, **told)


def exercises(notebooks: Mapping[str, notebook.Notebook], *, solutions: bool) -> str:
    """Write the list of every exercise of the book's chapters, as a paragraph and a table."""
    chapters: dict[str, list[dict[str, str]]] = {}
    for name, content in notebooks.items():
        for cell in content.cells:
            if notebook.role(cell) == "exercise" and (found := head("exercise", cell)):
                called, _, about = found["title"].removesuffix(")").partition(" (")
                exercise = {
                    "called": called.replace(" ", "\N{NO-BREAK SPACE}"),
                    "label": notebook.label(cell),
                    "about": about.replace("|", "&#124;"),
                    "difficulty": notebook.difficulty(cell),
                    "choice": "yes" if _CHOICE.search(cell.source) else "",
                }
                chapters.setdefault(name, []).append(exercise)
    levels = notebook.DIFFICULTIES
    return _filled("exercises", chapters=chapters, levels=levels, solutions=solutions)
