"""What no page may show: a program's complaints, and places on the machine that built it."""

from __future__ import annotations

import re
import site
import sys
import tempfile
from html import unescape
from pathlib import Path

from . import notebook

# Where Python packages lie, and homes, on any machine: a cached notebook may come from another.
_ANYWHERE = r"/[\w.+/-]*/(?:site|dist)-packages\b|/(?:home|Users)/[\w.-]+/"
_READ = (".html", ".ipynb", ".svg", ".md", ".txt", ".csv")


def machine_paths(*places: Path) -> re.Pattern[str]:
    """Return a pattern of this machine's paths: the places given, home, Python's, /tmp."""
    known = [*places, Path.home(), Path(sys.prefix), Path(tempfile.gettempdir()), Path("/tmp")]
    known += map(Path, site.getsitepackages())
    # Both as named and as resolved: a temporary folder is often behind a link.
    texts = {str(form) for place in known for form in (place.absolute(), place.resolve())}
    named = "|".join(re.escape(t) for t in sorted(texts, key=len, reverse=True) if len(t) > 1)
    # With its surroundings, as much of the line as can be read.
    return re.compile(rf"(?<![\w.~/*-])(?:(?:{named})(?![\w-])|{_ANYWHERE})[^\n]{{0,60}}")


def faults_of_notebook(name: str, executed: notebook.Notebook, paths: re.Pattern[str]) -> list[str]:
    """Return what the outputs of an executed notebook hold and a page must not show."""
    found = []
    shown = [c for c in executed.cells if "injected-parameters" not in notebook.tags(c)]
    for count, cell in enumerate(shown, 1):
        begins = next((line for line in cell.source.splitlines() if line.strip()), "(empty)")
        where = f"notebook {name!r}, cell {count} (of all cells, text included; {begins!r})"
        for output in cell.get("outputs", []):
            texts = [output.get("text", ""), *map(str, output.get("data", {}).values())]
            path = next(filter(None, map(paths.search, texts)), None)
            if output.get("name") == "stderr":
                said = " ".join(output["text"].split())
                found.append(f"{where} writes to standard error: {said[:300]}")
            elif path:
                found.append(f"{where} shows a path of this machine: {path.group()}")
    return found


def faults_of_site(html: Path, paths: re.Pattern[str]) -> list[str]:
    """Return the pages and downloads of a site that show a path of the machine, a line each."""
    found = []
    for file in sorted(p for p in html.rglob("*") if p.suffix in _READ):
        text = file.read_text(encoding="utf-8")
        # Highlighting splits a path by tags; an attribute holds one whole.
        path = paths.search(text) or paths.search(unescape(re.sub(r"<[^>]*>", "", text)))
        if path:
            shown = path.group()
            found.append(f"{file.relative_to(html)} shows a path of this machine: {shown}")
    return found
