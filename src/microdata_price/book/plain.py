"""From a notebook's plain Markdown, tags and links to the text that the site's builder reads.

A notebook has no mark of the builder. What the site adds is told by tags (``theorem`` makes a box,
``proof``, ``solution`` and ``fold`` fold, ``switch`` shows one at a time) and by ordinary links to
boxes, figures, tables, equations, terms and sources. The builder itself warns of broken ones.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path

import nbformat

from ..exceptions import BuildError
from . import notebook
from .notebook import FOLDS, SWITCH, Notebook

GLOSSARY = "reference/notation.md"
KINDS = ("figure", "table")
_HEAD = re.compile(r"(\*\*?)(?P<title>.+?)\.\1\s*")
_SET = "\n:::::::::"
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]+)\)")
_TAGGED = re.compile(r"^\$\$(?:(?!\$\$).)*?\\tag\{(?P<tag>[^}]+)\}.*?\$\$", re.M | re.S)


def with_links(text: str, page: str) -> str:
    """Turn links to places of the book, to terms and to sources into the builder's references."""

    def replace(match: re.Match[str]) -> str:
        words, target = match["text"], match["target"]
        path, _, place = target.partition("#")
        if "://" in path or path.startswith("mailto:"):
            return match[0]
        if path.endswith(".bib"):
            return f"{{cite:{'p' if words.startswith('(') else 't'}}}`{place}`"
        if not place:
            return f"[{words}]({path.replace('../book/', '../', 1)})"
        if path.endswith(GLOSSARY):
            return f"{{term}}`{words} <{place.replace('-', ' ')}>`"
        if place.startswith("eq-"):
            place = f"{Path(path).stem or Path(page).name}-{place}"
        return f"{{numref}}`{place}`" if words.lower() in KINDS else f"[{words}](#{place})"

    return _LINK.sub(replace, text)


def verbatim(text: str) -> str:
    """Return a text for Markdown that is shown letter by letter, whatever marks it holds."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{ticks} {' '.join(text.splitlines())} {ticks}"


def markdown(source: str) -> Notebook:
    """Return a text cell."""
    return nbformat.from_dict({"cell_type": "markdown", "metadata": {}, "source": source})


def text_of(cell: Notebook, page: str) -> str:
    """Return a text cell's source for the builder: its links, its equations and its own place."""
    source = _TAGGED.sub(
        lambda m: f"({Path(page).name}-eq-{m['tag']})=\n{m[0]}", with_links(cell.source, page)
    )
    own = "" if notebook.role(cell) in notebook.BOXES else notebook.label(cell)
    return f"({own})=\n{source}" if own else source


def head(role: str, cell: Notebook) -> re.Match[str] | None:
    """Return the title that opens a box, fold or state: ``**Theorem 3.1 (Its title).**``."""
    found = _HEAD.match(cell.source) if cell.cell_type == "markdown" else None
    if found and role in ("fold", SWITCH):
        return found if found[1] == "**" else None
    return found if found and found["title"].lower().startswith(role) else None


def assemble(page: str, pieces: Sequence[tuple[Notebook, list[Notebook]]]) -> list[Notebook]:
    """Put what is staged of each cell into the boxes, folds and tabs that its tags name.

    Each begins with a text cell that has its title, and goes on over the next of the same tag.
    """
    parts: list[tuple[Notebook, list[Notebook]]] = []
    for cell, staged in pieces:
        role = notebook.role(cell)
        goes_on = role and parts and notebook.role(parts[-1][0]) == role
        if goes_on and not (staged and head(role, staged[0])):
            parts[-1][1].extend(staged)
        else:
            parts.append((cell, [*staged]))
    made: list[Notebook] = []
    exercise = role = ""
    for cell, cells in parts:
        before, role = role, notebook.role(cell)
        if not role:
            made += cells
            continue
        title, rest = _opened(page, role, cells)
        text = "\n\n".join([rest, *(c.source for c in cells[1:])]).strip()
        if role in FOLDS:
            named = f"Solution of {exercise}" if exercise and title == "Solution" else title
            shown = html.escape(named, quote=False)
            shown = re.sub(r"\$(.+?)\$", r'<span class="math notranslate">\\(\1\\)</span>', shown)
            fold = f'<details class="fold {role}">\n<summary>{shown}</summary>'
            made += [markdown(f'{fold}\n<div class="fold-body">\n'), markdown(rest), *cells[1:]]
            made.append(markdown("</div>\n</details>\n"))
        elif role == SWITCH:  # tabs, which need no script
            tabs = made.pop().source if before == SWITCH else f"{_SET}{{tab-set}}{_SET}"
            tab = f"::::::::{{tab-item}} {title}\n\n{text}\n::::::::"
            made.append(markdown(f"{tabs.removesuffix(_SET)}\n\n{tab}{_SET}"))
        else:
            exercise = title.partition(" (")[0] if role == "exercise" else exercise
            look = role if role == "exercise" else f"proof {role}"
            mark = " · ".join(filter(None, [title, notebook.difficulty(cell)]))
            name = f":name: {notebook.label(cell)}\n" if notebook.label(cell) else ""
            box = f"{{admonition}} {mark}\n:class: {look}\n{name}\n{text}\n"
            made.append(markdown(f":::::::{box}:::::::\n"))
    return made


def _opened(page: str, role: str, cells: Sequence[Notebook]) -> tuple[str, str]:
    """Return the title of a box, fold or state, and what its first cell says after it."""
    found = head(role, cells[0]) if cells else None
    fault = ""
    if found is None:
        title = "Its title" if role in ("fold", SWITCH) else role.capitalize()
        fault = f"the first must be text and begin '**{title}.**'"
    elif notebook.headings(cells):
        fault = "they may not hold a heading"
    elif role not in FOLDS and any(c.cell_type == "code" for c in cells):
        fault = "they may not hold code: put it before or after, or hide it (remove-input)"
    if found is None or fault:
        begin = repr(cells[0].source[:50]) if cells else "with nothing"
        raise BuildError(f"page {page!r} has cells tagged {role!r} that begin {begin}; {fault}")
    return found["title"], cells[0].source[found.end() :]
