"""What notebooks computed for the prose pages, and its place there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..exceptions import BuildError
from ..page.style import METADATA_KEY
from . import notebook

_VALUE = re.compile(r"\{\{ *([A-Za-z]\w*)\.([\w.-]+) *\}\}")


@dataclass
class Found:
    """What the notebooks of a book computed for its text."""

    quoted: dict[str, dict[str, str]] = field(default_factory=dict)
    certificates: dict[str, float] = field(default_factory=dict)
    uses: set[tuple[str, str]] = field(default_factory=set)
    terms: dict[str, str] = field(default_factory=dict)
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
    """Read what one executed notebook computed for the text."""
    texts = found.quoted.setdefault(name, {})
    for cell in executed.cells:
        for output in cell.get("outputs", []):
            ours = output.get("metadata", {}).get(METADATA_KEY, {})
            for key, text in ours.get("record", {}).items():
                if key in texts:
                    raise BuildError(f"notebook {name!r} records {key!r} twice")
                texts[key] = text
            if "figure" in ours:
                about = ours["figure"]
                for part in ("alt", "caption"):
                    # Quoted as a directive's option, between double quotes.
                    texts[f"{about['name']}.{part}"] = about[part].replace('"', "'")
                    found.uses.add((name, f"{about['name']}.{part}"))
            if "certificate" in ours:
                worst = max(found.certificates.get(name, 0.0), float(ours["certificate"]))
                found.certificates[name] = worst


def quote(text: str, page: str, found: Found) -> str:
    """Put computed texts where a page quotes them."""

    def value(match: re.Match[str]) -> str:
        book, name = match.groups()
        if name not in found.quoted.get(book, {}):
            raise BuildError(
                f"page {page!r} quotes {match.group()!r}, which notebook {book!r} does not define"
            )
        found.uses.add((book, name))
        return found.quoted[book][name]

    return _VALUE.sub(value, text)
