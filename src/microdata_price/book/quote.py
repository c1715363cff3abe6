"""What notebooks computed for the book's text, and its place there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..exceptions import BuildError
from ..page.prose import MIME_PREFIX
from ..page.style import METADATA_KEY
from . import notebook
from .plain import Label, Places, note_cells, note_text

_VALUE = re.compile(r"\{\{ *([A-Za-z]\w*)\.([\w.-]+) *\}\}")
_GLUE = re.compile(r"\{glue:(?:text|md)\}`([^`]+)`")


@dataclass
class Found:
    """What the notebooks of a book computed for its text.

    Parameters
    ----------
    quoted
        Texts by notebook and name.
    figures
        For each figure its notebook, name and the function that drew it, in the book's order.
    certificates
        The worst certificate by notebook, where it reported one.
    uses
        Which texts some page quotes.
    alone
        Whether one notebook stands alone, so that what other notebooks compute is not known.
    places
        What links may lead to.
    address
        Where the project can be installed from; empty if no place is configured.
    """

    quoted: dict[str, dict[str, str]] = field(default_factory=dict)
    figures: list[tuple[str, str, str]] = field(default_factory=list)
    certificates: dict[str, float] = field(default_factory=dict)
    uses: set[tuple[str, str]] = field(default_factory=set)
    alone: bool = False
    places: Places = field(default_factory=Places)
    address: str = ""

    def unused(self) -> list[str]:
        """Return the texts that no page quotes, as ``notebook/name``."""
        return [
            f"{book}/{name}"
            for book, texts in self.quoted.items()
            for name in texts
            if (book, name) not in self.uses
        ]


def collect(name: str, executed: notebook.Notebook, found: Found) -> None:
    """Read what one executed notebook computed for the text.

    Raises
    ------
    BuildError
        A name used twice in the notebook.
    """
    texts = found.quoted.setdefault(name, {})
    if notebook.is_old(executed):
        for cell in executed.cells:
            note_text(name, cell.source if cell.cell_type == "markdown" else "", found.places)
    else:
        note_cells(name, executed.cells, found.places)
    for cell in executed.cells:
        if cell.cell_type == "code":
            # A sentence that this run did not choose may be the only one that quotes a name.
            found.uses |= {(name, match) for match in _GLUE.findall(cell.source)}
        for output in cell.get("outputs", []):
            key = output.get("metadata", {}).get("scrapbook", {}).get("name")
            if key is not None:
                if key in texts:
                    raise BuildError(f"notebook {name!r} names the quoted text {key!r} twice")
                texts[key] = output["data"][f"{MIME_PREFIX}text/plain"]
            ours = output.get("metadata", {}).get(METADATA_KEY, {})
            for key, text in ours.get("record", {}).items():
                if key in texts:
                    raise BuildError(f"notebook {name!r} records {key!r} twice")
                texts[key] = text
            if "table" in ours:
                found.places.add(ours["table"]["name"], Label("table", name))
            if "figure" in ours:
                about = ours["figure"]
                found.places.add(about["name"], Label("figure", name))
                found.figures.append((name, about["name"], about["drawn_by"]))
                for part in ("alt", "caption"):
                    # Quoted as a directive's option, between double quotes.
                    texts[f"{about['name']}.{part}"] = about[part].replace('"', "'")
                    found.uses.add((name, f"{about['name']}.{part}"))
            if "certificate" in ours:
                worst = max(found.certificates.get(name, 0.0), float(ours["certificate"]))
                found.certificates[name] = worst


def quote(text: str, page: str, found: Found) -> str:
    """Put computed texts where a page quotes them.

    Parameters
    ----------
    text
        MyST text with ``{{ notebook.name }}``, or with ``{glue:text}`` roles: a name, or another
        notebook's ``notebook/name``.
    page
        The page's own name.
    found
        What the notebooks computed; the texts used are noted in it.

    Raises
    ------
    BuildError
        A name that is not defined; the page is named.
    """

    def value(match: re.Match[str]) -> str:
        return place(match.group(1), match.group(2), match.group())

    def replace(match: re.Match[str]) -> str:
        own, _, name = match.group(1).strip().rpartition("/")
        return place(own or page, name, match.group(1))

    def place(book: str, name: str, written: str) -> str:
        if found.alone and book not in found.quoted:
            return "(a number of another chapter)"
        if name not in found.quoted.get(book, {}):
            raise BuildError(
                f"page {page!r} quotes {written!r}, which notebook {book!r} does not define"
            )
        found.uses.add((book, name))
        return found.quoted[book][name]

    # A quoted sentence may quote numbers in turn, one level deep.
    return _VALUE.sub(value, _GLUE.sub(replace, _GLUE.sub(replace, text)))
