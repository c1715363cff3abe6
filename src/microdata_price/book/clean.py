"""What no page may show: a program's complaints, and places on the machine that built it."""

from __future__ import annotations

import re
import site
import sys
import tempfile
from collections.abc import Iterable, Iterator
from html import unescape
from pathlib import Path

from . import notebook

# Where Python packages lie, and homes, on any machine: a cached notebook may come from another.
_ANYWHERE = r"/[\w.+/-]*/(?:site|dist)-packages\b|/(?:home|Users)/[\w.-]+/"
_TAG = re.compile(r"<[^>]*>")


def machine_paths(*places: Path) -> re.Pattern[str]:
    """Return a pattern that finds a path of this machine: the places given, home, Python's, /tmp.

    Examples
    --------
    >>> paths = machine_paths(Path("/work/checkout"))
    >>> [bool(paths.search(t)) for t in ("in /work/checkout/src", "../work/checkout", "/tmp/x.py")]
    [True, False, True]
    """
    known = [*places, Path.home(), Path(sys.prefix), Path(tempfile.gettempdir()), Path("/tmp")]
    known += map(Path, site.getsitepackages())
    # Both as named and as resolved: a temporary folder is often behind a link.
    texts = {str(form) for place in known for form in (place.absolute(), place.resolve())}
    named = "|".join(re.escape(t) for t in sorted(texts, key=len, reverse=True) if len(t) > 1)
    return re.compile(rf"(?<![\w.~/*-])(?:(?:{named})(?![\w-])|{_ANYWHERE})")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)


def _around(text: str, match: re.Match[str]) -> str:
    """Return the line of a match, or as much of it as can be read."""
    start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - 60)
    end = text.find("\n", match.end())
    return text[start : min(end if end >= 0 else len(text), match.end() + 60)].strip()


def faults_of_notebook(name: str, executed: notebook.Notebook, paths: re.Pattern[str]) -> list[str]:
    """Return what the outputs of an executed notebook hold and a page must not show."""
    found = []
    shown = [c for c in executed.cells if "injected-parameters" not in notebook.tags(c)]
    for count, cell in enumerate(shown, 1):
        begins = next((line for line in cell.source.splitlines() if line.strip()), "(empty)")
        where = f"notebook {name!r}, cell {count} (of all cells, text included; {begins!r})"
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                said = " ".join(output["text"].split())
                found.append(f"{where} writes to standard error: {said[:300]}")
                continue
            for text in _texts(dict(output)):
                match = paths.search(text)
                if match is not None:
                    found.append(f"{where} shows a path of this machine: {_around(text, match)}")
                    break
    return found


def faults_of_site(html: Path, paths: re.Pattern[str]) -> list[str]:
    """Return the pages and downloads of a site that show a path of the machine, a line each."""
    found = []
    for path in _readable(html):
        text = path.read_text(encoding="utf-8")
        # Highlighting splits a path by tags; an attribute holds one whole.
        for form in (text, unescape(_TAG.sub("", text))):
            match = paths.search(form)
            if match is not None:
                page = path.relative_to(html)
                found.append(f"{page} shows a path of this machine: {_around(form, match)}")
                break
    return found


def _readable(html: Path) -> Iterable[Path]:
    return sorted(
        p for end in ("html", "ipynb", "svg", "md", "txt") for p in html.rglob(f"*.{end}")
    )
