"""From a notebook's plain Markdown, tags and links to the text that the site's builder reads.

A notebook has no mark of the builder. What the site adds is told by tags (a cell tagged
``theorem`` becomes a box, one tagged ``proof``, ``solution`` or ``fold`` folds, those tagged
``switch`` are shown one at a time) and by ordinary links: to a box, figure, table or equation, to
the glossary, to the list of sources. The builder itself resolves places and warns of broken links.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from ..base.numbers import format_number
from ..exceptions import BuildError, unknown_name
from . import notebook
from .notebook import BOXES, FOLDS, SWITCH

GLOSSARY = Path("reference") / "notation.md"
_HEAD = re.compile(
    r"\*\*(?P<kind>[A-Z][a-z]+)(?: (?P<number>[A-Z]?[0-9][0-9.]*))?(?: \((?P<title>.+?)\))?"
    r"\.\*\*\s*"
)
_FOLD_HEAD = re.compile(r"(?P<stars>\*\*?)(?P<title>(?:Proof|Solution)[^*]*?)\.(?P=stars)\s*")
_TITLE = re.compile(r"(?P<stars>\*\*)(?P<title>[^*]+?)\.(?P=stars)\s*")
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]+)\)")
_TAGGED = re.compile(
    r"^\$\$(?:(?!\$\$).)*?\\tag\{(?P<tag>[^}]+)\}.*?\$\$", re.MULTILINE | re.DOTALL
)


def slug(term: str) -> str:
    """Return a glossary's term as it stands in a link.

    Examples
    --------
    >>> slug("Point query")
    'point-query'
    """
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def read_terms(book: Path) -> dict[str, str]:
    """Return the glossary's terms by their form in links; none without its page."""
    if not (book / GLOSSARY).is_file():
        return {}
    text = (book / GLOSSARY).read_text(encoding="utf-8")
    found = re.search(r"^(:{3,})\{glossary\}\n(.*?)^\1", text, re.DOTALL | re.MULTILINE)
    lines = found.group(2).splitlines() if found else []
    return {slug(line): line.strip() for line in lines if line[:1].strip(" :")}


def with_links(text: str, page: str, terms: Mapping[str, str]) -> str:
    """Turn links to places of the book, to terms and to sources into the builder's references.

    Examples
    --------
    >>> with_links("[Theorem 3](a.ipynb#t), [Figure](#f), [(1)](#eq-1)", "notebooks/b", {})
    '[Theorem 3](#t), {numref}`f`, [(1)](#b-eq-1)'
    >>> with_links("[its level](../book/reference/notation.md#zcdp)", "b", {"zcdp": "zCDP"})
    '{term}`its level <zCDP>`'
    """

    def replace(match: re.Match[str]) -> str:
        words, target = match["text"], match["target"]
        path, _, place = target.partition("#")
        if "://" in path or path.startswith("mailto:"):
            return match.group()
        if path.endswith(".bib"):
            return f"{{cite:{'p' if words.startswith('(') else 't'}}}`{place}`"
        if path.endswith(GLOSSARY.as_posix()) and place in terms:
            return f"{{term}}`{words} <{terms[place]}>`"
        if path.endswith(GLOSSARY.as_posix()) and place:
            raise BuildError(f"page {page!r}: {unknown_name('term', place, terms)}")
        if not place:
            return f"[{words}]({path.replace('../book/', '../', 1)})"
        home = Path(path).stem or page.rpartition("/")[2]
        name = f"{home}-{place}" if place.startswith("eq-") else place
        if words.lower() in ("figure", "table"):
            return f"{{numref}}`{name}`"
        return f"[{words}](#{name})"

    return _LINK.sub(replace, text)


def head_of(page: str, cell: notebook.Notebook) -> tuple[str, str, str]:
    """Return a box's name, its whole title and its body: "Exercise 1", "Exercise 1 (Coins)", ..."""
    kind = notebook.role(cell)
    found = _HEAD.match(cell.source)
    if found is None or found["kind"].lower() != kind:
        raise BuildError(
            f"page {page!r} has a cell tagged {kind!r} that begins {cell.source[:50]!r}; it must "
            f"begin '**{kind.capitalize()} 1 (its title).**'"
        )
    name = " ".join(filter(None, [found["kind"], found["number"]]))
    title = f"{name} ({found['title']})" if found["title"] else name
    return name, title, cell.source[found.end() :]


def markdown(source: str) -> notebook.Notebook:
    """Return a text cell."""
    return nbformat.from_dict({"cell_type": "markdown", "metadata": {}, "source": source})


def text_of(cell: notebook.Notebook, page: str, terms: Mapping[str, str]) -> str:
    """Return a text cell's source for the builder: its links, its equations and its own place."""
    source = _TAGGED.sub(
        lambda m: f"({page.rpartition('/')[2]}-eq-{m['tag']})=\n{m.group()}",
        with_links(cell.source, page, terms),
    )
    own = "" if notebook.role(cell) in BOXES else notebook.label(cell)
    return f"({own})=\n{source}" if own else source


@dataclass
class Piece:
    """A cell of the page with the box or the fold that it belongs to."""

    role: str
    label: str
    cells: list[notebook.Notebook]
    mark: str = ""


def assemble(page: str, pieces: Sequence[Piece]) -> list[notebook.Notebook]:
    """Put pieces into their boxes, folds and switches.

    A box, a fold or a state of a switch begins with a text cell that has its head and goes on over
    the cells that follow with the same tag.
    """
    made: list[notebook.Notebook] = []
    states: list[str] = []
    exercise = ""
    i = 0
    while i < len(pieces):
        piece, j = pieces[i], _end(pieces, i)
        cells = [cell for p in pieces[i:j] for cell in p.cells]
        i = j
        if not piece.role:
            made += cells
            continue
        _check_inside(page, piece.role, cells)
        if piece.role == SWITCH:
            states.append(_state(page, cells))
            if j == len(pieces) or pieces[j].role != SWITCH:
                made.append(markdown("\n\n".join([f"{':' * 9}{{tab-set}}", *states, ":" * 9])))
                states = []
        elif piece.role in FOLDS:
            made += _fold(page, piece.role, cells, exercise)
        else:
            name, box = _box(page, piece, cells)
            exercise = name if piece.role == "exercise" else exercise
            made.append(box)
    return made


def _end(pieces: Sequence[Piece], i: int) -> int:
    """Return the place after the box, fold or state that begins at one piece."""
    role = pieces[i].role
    head = _HEAD if role in BOXES else _FOLD_HEAD if role in ("proof", "solution") else _TITLE
    j = i + 1
    while role and j < len(pieces) and pieces[j].role == role:
        first = pieces[j].cells[0] if pieces[j].cells else markdown("")
        if first.cell_type == "markdown" and head.match(first.source):
            break
        j += 1
    return j


def _check_inside(page: str, role: str, cells: Sequence[notebook.Notebook]) -> None:
    for cell in cells:
        text = cell.source if cell.cell_type == "markdown" else ""
        if re.search(r"^#+ ", text, re.MULTILINE):
            raise BuildError(f"page {page!r} has a heading inside a {role}: {text[:50]!r}")
        if role not in FOLDS and cell.cell_type != "markdown":
            raise BuildError(
                f"page {page!r} has code inside a box or state ({role}): {cell.source[:50]!r}; "
                "put it before or after, or let the site hide it (remove-input)"
            )


def _joined(first: str, cells: Iterable[notebook.Notebook]) -> str:
    return "\n\n".join([first, *(c.source for c in cells)]).strip()


def _box(
    page: str, piece: Piece, cells: Sequence[notebook.Notebook]
) -> tuple[str, notebook.Notebook]:
    tagged = nbformat.from_dict({**cells[0], "metadata": {"tags": [piece.role]}})
    name, title, rest = head_of(page, tagged)
    look = "exercise" if piece.role == "exercise" else f"proof {piece.role}"
    label = f":name: {piece.label}\n" if piece.label else ""
    shown = f"{title} · {piece.mark}" if piece.mark else title
    body = _joined(rest, cells[1:])
    fence = ":" * 7
    return name, markdown(
        f"{fence}{{admonition}} {shown}\n:class: {look}\n{label}\n{body}\n{fence}\n"
    )


def _fold(
    page: str, role: str, cells: list[notebook.Notebook], exercise: str
) -> list[notebook.Notebook]:
    head = _TITLE if role == "fold" else _FOLD_HEAD
    first = cells[0] if cells else markdown("")
    found = head.match(first.source) if first.cell_type == "markdown" else None
    if found is None or not (role == "fold" or found["title"].lower().startswith(role)):
        wanted = "Its title" if role == "fold" else role.capitalize()
        raise BuildError(
            f"page {page!r} has cells tagged {role!r} that begin {first.source[:50]!r}; the first "
            f"must be text and begin '**{wanted}.**'"
        )
    title = found["title"]
    if title == "Solution" and exercise:
        title = f"Solution of {exercise}"
    opening = (
        f'<details class="fold {role}">\n<summary>{_inline(title)}</summary>\n'
        '<div class="fold-body">\n'
    )
    rest = first.source[found.end() :]
    body = [markdown(rest)] if rest.strip() else []
    return [markdown(opening), *body, *cells[1:], markdown("</div>\n</details>\n")]


def _state(page: str, cells: Sequence[notebook.Notebook]) -> str:
    """Return a state of a switch as a tab, which needs no script."""
    found = _TITLE.match(cells[0].source) if cells else None
    if found is None:
        start = cells[0].source[:50] if cells else ""
        raise BuildError(
            f"page {page!r} has cells tagged {SWITCH!r} that begin {start!r}; the first of each "
            "state must be text and begin '**Its name.**'"
        )
    body = _joined(cells[0].source[found.end() :], cells[1:])
    return f"{':' * 8}{{tab-item}} {found['title']}\n\n{body}\n{':' * 8}"


def _inline(title: str) -> str:
    """Return a title as HTML, its mathematics as the site's script expects it."""
    parts = title.split("$")
    return "".join(
        html.escape(p)
        if i % 2 == 0
        else f'<span class="math notranslate">\\({html.escape(p)}\\)</span>'
        for i, p in enumerate(parts)
    )


def levels_line(values: Mapping[str, Any], without: Sequence[str] = ()) -> str:
    """Return the line under which the site folds a chapter's parameters and imports.

    Examples
    --------
    >>> levels_line({"epsilon": 0.5, "ds": [10, 1000], "table": ""})
    'Levels used: epsilon = 0.5, ds = 10; 1,000'
    """
    said = [
        f"{k} = {_value(v)}" for k, v in values.items() if k not in without and v not in ("", None)
    ]
    return f"Levels used: {', '.join(said)}" if said else "Imports"


def _value(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "; ".join(map(_value, value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return format_number(value)
    return str(value)
