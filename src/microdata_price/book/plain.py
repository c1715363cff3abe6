"""From a notebook's plain Markdown, tags and links to the text that the site's builder reads.

A notebook has no mark of the builder. What the site adds is told by tags (a cell tagged
``theorem`` becomes a box, one tagged ``proof``, ``solution`` or ``fold`` folds, those tagged
``switch`` are shown one at a time) and by ordinary links: to a box, figure, table or equation of
the book, to the glossary, to the list of sources.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

from ..base.numbers import format_number
from ..exceptions import BuildError, unknown_name
from . import notebook
from .notebook import BOXES, FOLDS, SWITCH

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
_TARGET = re.compile(r"^\(([^)\s]+)\)=$", re.MULTILINE)


@dataclass(frozen=True)
class Label:
    """A place of the book that links may lead to.

    Parameters
    ----------
    kind
        What is there: a box such as ``"theorem"``, ``"figure"``, ``"table"``, ``"equation"``,
        ``"place"``.
    page
        The name of its page.
    title
        What a box is called there: ``"Theorem 3"``.
    """

    kind: str
    page: str
    title: str = ""


@dataclass
class Places:
    """Every place of the book that a link may lead to, and the glossary's terms.

    Parameters
    ----------
    labels
        Places by name.
    terms
        The glossary's terms by the form that they have in a link.
    whole
        Whether all pages are known, so that an unknown place is an error.
    """

    labels: dict[str, Label] = field(default_factory=dict)
    terms: dict[str, str] = field(default_factory=dict)
    whole: bool = True

    def add(self, name: str, label: Label) -> None:
        """Note a place.

        Raises
        ------
        BuildError
            A name that is taken, or a box that is called as another one is.
        """
        if name in self.labels:
            pages = f"{self.labels[name].page!r} and {label.page!r}"
            raise BuildError(f"the label {name!r} is used twice, on the pages {pages}")
        if label.kind in BOXES and label.kind != "exercise" and label.title[-1:].isdigit():
            for other, known in self.labels.items():
                if known.title == label.title:
                    raise BuildError(f"{name!r} and {other!r} are both called {label.title!r}")
        self.labels[name] = label


def slug(term: str) -> str:
    """Return a glossary's term as it stands in a link.

    Examples
    --------
    >>> slug("Point query")
    'point-query'
    """
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def read_terms(glossary: Path) -> dict[str, str]:
    """Return the terms of the glossary's page by their form in links; none without the page."""
    if not glossary.is_file():
        return {}
    found = re.search(
        r"^(:{3,})\{glossary\}\n(.*?)^\1", glossary.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    lines = found.group(2).splitlines() if found else []
    return {slug(line): line.strip() for line in lines if line[:1].strip(" :")}


def note_places(page: str, text: str, places: Places) -> None:
    """Note the places that a prose page marks, ``(name)=``."""
    for name in _TARGET.findall(text):
        places.add(name, Label("place", page))


def note_cells(page: str, cells: Iterable[notebook.Notebook], places: Places) -> None:
    """Note the places of a notebook: labelled boxes and cells, numbered equations.

    Raises
    ------
    BuildError
        A box that does not begin with its name.
    """
    for cell in cells:
        if cell.cell_type != "markdown":
            continue
        if notebook.label(cell):
            kind = box_of(cell)
            title = _box_head(page, kind, cell.source)[0] if kind else ""
            places.add(notebook.label(cell), Label(kind or "place", page, title))
        for found in _TAGGED.finditer(cell.source):
            places.add(_equation(page, found["tag"]), Label("equation", page, f"({found['tag']})"))


def box_of(cell: notebook.Notebook) -> str:
    """Return the box that a cell is tagged as; a fold's cells are in none."""
    role = notebook.role(cell)
    return role if role in BOXES else ""


def _equation(page: str, tag: str) -> str:
    return f"{page.rpartition('/')[2]}-eq-{tag}"


def head_of(page: str, cell: notebook.Notebook) -> tuple[str, str]:
    """Return what a box is called and its whole title: "Exercise 1", "Exercise 1 (Coins)".

    Raises
    ------
    BuildError
        It does not begin so.
    """
    return _box_head(page, box_of(cell), cell.source)[:2]


def _box_head(page: str, kind: str, source: str) -> tuple[str, str, str]:
    """Return a box's name, its whole title and its body."""
    found = _HEAD.match(source)
    if found is None or found["kind"].lower() != kind:
        wanted = f"**{kind.capitalize()} 1 (its title).**"
        raise BuildError(
            f"page {page!r} has a cell tagged {kind!r} that begins {source[:50]!r}; it must begin "
            f"{wanted!r}"
        )
    name = " ".join(filter(None, [found["kind"], found["number"]]))
    title = f"{name} ({found['title']})" if found["title"] else name
    return name, title, source[found.end() :]


def check_head(page: str, cell: notebook.Notebook) -> None:
    """Check that a labelled box has the head that its tag asks for.

    Raises
    ------
    BuildError
        It has none, or another kind's.
    """
    if box_of(cell) and notebook.label(cell):
        _box_head(page, box_of(cell), cell.source)


def with_links(text: str, page: str, places: Places) -> str:
    """Turn links to places of the book, to terms and to sources into the builder's references.

    Parameters
    ----------
    text
        Markdown.
    page
        The name of the page that it stands on.
    places
        What links may lead to.

    Raises
    ------
    BuildError
        A link to a place, a term or a page's place that does not exist, or one whose words call a
        box otherwise than the box itself.

    Examples
    --------
    >>> places = Places({"t": Label("theorem", "a", "Theorem 3")}, {"zcdp": "zCDP"})
    >>> with_links("[Theorem 3](a.ipynb#t)", "b", places)
    '{ref}`Theorem 3 <t>`'
    >>> with_links("[levels of zCDP](../book/reference/notation.md#zcdp)", "b", places)
    '{term}`levels of zCDP <zCDP>`'
    """

    def replace(match: re.Match[str]) -> str:
        words, target = match["text"], match["target"]
        path, _, place = target.partition("#")
        if "://" in path:
            return match.group()
        if path.endswith("references.bib"):
            return f"{{cite:{'p' if words.startswith('(') else 't'}}}`{place}`"
        if path.endswith("reference/notation.md") and place:
            if place not in places.terms:
                _fail(page, target, "the glossary has no such term", places)
            return f"{{term}}`{words} <{places.terms.get(place, place)}>`"
        path = path.replace("../book/", "../", 1)
        if not place:
            return f"[{words}]({path})"
        return _reference(words, path, place)

    def _reference(words: str, path: str, place: str) -> str:
        home = path.rpartition("/")[2].rpartition(".")[0] or page.rpartition("/")[2]
        name = _equation(home, place[3:]) if place.startswith("eq-") else place
        label = places.labels.get(name)
        if label is None:
            if places.whole:
                _fail(page, f"{path}#{place}", "the book has no such place", places, name)
            return words
        if label.page.rpartition("/")[2] != home:
            _fail(page, f"{path}#{place}", f"that is on the page {label.page!r}", places)
        if label.kind in ("figure", "table") and words.lower() in ("figure", "table"):
            return f"{{numref}}`{name}`"
        named = re.fullmatch(r"[A-Z][a-z]+ [A-Z]?[0-9][0-9.]*", words)
        if label.kind in BOXES and named and words != label.title:
            _fail(page, f"{path}#{place}", f"{words!r} is called {label.title!r} there", places)
        if re.search(r"[`<>$]", words):
            _fail(page, f"{path}#{place}", f"the words {words!r} must be plain", places)
        return f"{{ref}}`{words} <{name}>`"

    return _LINK.sub(replace, text)


def _fail(page: str, target: str, why: str, places: Places, name: str = "") -> None:
    near = f"; {unknown_name('label', name, places.labels)}" if name else ""
    raise BuildError(f"page {page!r} links to {target!r}, but {why}{near}")


def markdown(source: str) -> notebook.Notebook:
    """Return a text cell."""
    return nbformat.from_dict({"cell_type": "markdown", "metadata": {}, "source": source})


def text_of(cell: notebook.Notebook, page: str, places: Places) -> str:
    """Return a text cell's source for the builder: its links, its equations and its own place."""
    source = _TAGGED.sub(
        lambda m: f"({_equation(page, m['tag'])})=\n{m.group()}",
        with_links(cell.source, page, places),
    )
    own = "" if box_of(cell) else notebook.label(cell)
    return f"({own})=\n{source}" if own else source


@dataclass
class Piece:
    """A cell of the page with the box or the fold that it belongs to.

    Parameters
    ----------
    role
        A tag of `BOXES` or `FOLDS`, or `SWITCH`; empty for what stands free.
    label
        The label that its cell has.
    cells
        What the builder reads: texts, figures, code.
    mark
        What the title of its box ends with: how hard an exercise is.
    """

    role: str
    label: str
    cells: list[notebook.Notebook]
    mark: str = ""


def assemble(page: str, pieces: Sequence[Piece]) -> list[notebook.Notebook]:
    """Put pieces into their boxes, folds and switches.

    A box, a fold or a state of a switch begins with a text cell that has its head and goes on over
    the cells that follow with the same tag.

    Raises
    ------
    BuildError
        A box, fold or state that begins without its head, code in a box or state, a heading in any.
    """
    made: list[notebook.Notebook] = []
    exercise = ""
    i = 0
    while i < len(pieces):
        piece = pieces[i]
        if not piece.role:
            made += piece.cells
            i += 1
            continue
        j = _end(pieces, i)
        cells = [cell for p in pieces[i:j] for cell in p.cells]
        _check_inside(page, piece.role, cells)
        if piece.role == SWITCH:
            states = [cells]
            while j < len(pieces) and pieces[j].role == SWITCH:
                i, j = j, _end(pieces, j)
                states.append([cell for p in pieces[i:j] for cell in p.cells])
                _check_inside(page, SWITCH, states[-1])
            made.append(_switch(page, states))
        elif piece.role in FOLDS:
            made += _fold(page, piece.role, cells, exercise)
        else:
            name, box = _box(page, piece, cells)
            exercise = name if piece.role == "exercise" else exercise
            made.append(box)
        i = j
    return made


def _end(pieces: Sequence[Piece], i: int) -> int:
    """Return the place after the box, fold or state that begins at one piece."""
    j = i + 1
    while j < len(pieces) and pieces[j].role == pieces[i].role and not _begins(pieces[j]):
        j += 1
    return j


def _begins(piece: Piece) -> bool:
    head = _HEAD if piece.role in BOXES else _fold_head(piece.role)
    return bool(
        piece.cells and piece.cells[0].cell_type == "markdown" and head.match(piece.cells[0].source)
    )


def _fold_head(role: str) -> re.Pattern[str]:
    return _TITLE if role in ("fold", SWITCH) else _FOLD_HEAD


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


def _box(
    page: str, piece: Piece, cells: Sequence[notebook.Notebook]
) -> tuple[str, notebook.Notebook]:
    name, title, rest = _box_head(page, piece.role, cells[0].source)
    body = "\n\n".join([rest, *(c.source for c in cells[1:])])
    look = "exercise" if piece.role == "exercise" else f"proof {piece.role}"
    label = f":name: {piece.label}\n" if piece.label else ""
    fence = ":" * 7
    shown = f"{title} · {piece.mark}" if piece.mark else title
    text = f"{fence}{{admonition}} {shown}\n:class: {look}\n{label}\n{body.strip()}\n{fence}\n"
    return name, markdown(text)


def _fold(
    page: str, role: str, cells: list[notebook.Notebook], exercise: str
) -> list[notebook.Notebook]:
    first = cells[0] if cells else markdown("")
    found = _fold_head(role).match(first.source) if first.cell_type == "markdown" else None
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


def _switch(page: str, states: Sequence[list[notebook.Notebook]]) -> notebook.Notebook:
    """Return states as tabs, which need no script; on paper they stand below each other."""
    tabs = []
    for cells in states:
        found = _TITLE.match(cells[0].source) if cells else None
        if found is None:
            start = cells[0].source[:50] if cells else ""
            raise BuildError(
                f"page {page!r} has cells tagged {SWITCH!r} that begin {start!r}; the first of "
                "each state must be text and begin '**Its name.**'"
            )
        body = "\n\n".join([cells[0].source[found.end() :], *(c.source for c in cells[1:])])
        tabs.append(f"{':' * 8}{{tab-item}} {found['title']}\n\n{body.strip()}\n{':' * 8}")
    return markdown("\n\n".join([f"{':' * 9}{{tab-set}}", *tabs, ":" * 9]) + "\n")


def _inline(title: str) -> str:
    """Return a title as HTML, its mathematics as the site's script expects it."""
    parts = html.escape(title).split("$")
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
