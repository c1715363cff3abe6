"""Build the site from staged pages, check it, and put it in place of the last one.

No page may show a program's complaints or a place on the machine, or ask a network for anything.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import site as packages
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path
from typing import Any

from ..base.provenance import digest, digest_files
from ..exceptions import BuildError
from . import notebook

_COMPLAINT = re.compile(r"WARNING|ERROR|CRITICAL|Error:|Exception")
_REMOTE = {
    ".html": re.compile(
        r"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|data|srcset)\s*="
        r"\s*[\"'](?:https?:)?//[^>]*"
        r"|<link\b(?=[^>]*\brel\s*=\s*[\"'](?:stylesheet|preload|icon|preconnect|dns-prefetch|"
        r"prefetch))[^>]*?\bhref\s*=\s*[\"'](?:https?:)?//[^>]*",
        re.IGNORECASE,
    ),
    ".css": re.compile(r"(?:url\(\s*[\"']?(?:https?:)?//|@import\s+[\"'](?:https?:)?//)[^\n;]*"),
}
"""What a browser would fetch from elsewhere, by the kind of file that asks for it."""

# Where Python packages lie, and homes, on any machine: a cached notebook may come from another.
_ANYWHERE = r"/[\w.+/-]*/(?:site|dist)-packages\b|/(?:home|Users)/[\w.-]+/"
_READ = (".html", ".ipynb", ".svg", ".md", ".txt", ".csv")
# The builder ends with the command, even one that is killed.
_BUILDER = """
import os, threading, time
def end_with(parent):
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
threading.Thread(target=end_with, args=[os.getppid()], daemon=True).start()
from jupyter_book.cli.main import main
main()
"""


def staged_key(stage: Path) -> str:
    """Return the hash of everything that the builder will read, and of its version."""
    files = [p for p in stage.rglob("*") if p.is_file()]
    own = sorted(Path(__file__).parent.glob("*.py"))
    return digest(digest_files(files, stage), *(p.read_bytes() for p in own), sys.version)


def _record(site: Path) -> Path:
    return site.parent / f".built-from-{site.name}"


def is_current(site: Path, key: str) -> bool:
    """Say whether a site was built from exactly these pages."""
    there = (site / "index.html").is_file() and _record(site).is_file()
    return there and _record(site).read_text(encoding="utf-8") == key


def _no_room(told: str) -> OSError | None:
    """Return the error of a full disk of which a program's text tells, if it does."""
    reasons = {os.strerror(n): n for n in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)}
    return next((OSError(n, reason) for reason, n in reasons.items() if reason in told), None)


def copy_tree(source: Path, target: Path, **how: Any) -> None:
    """Copy a folder; a full disk is one error, not one for each file."""
    try:
        shutil.copytree(source, target, **how)
    except shutil.Error as error:
        raise _no_room(str(error)) or error from None


def run_builder(stage: Path, target: Path, *, strict: bool) -> Path:
    """Run Jupyter Book on staged pages and return the folder of HTML."""
    done = subprocess.run(
        [sys.executable, "-c", _BUILDER, "build", str(stage), "--path-output", str(target), "-q"]
        + (["-W", "-n", "--keep-going"] if strict else []),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore", "NO_COLOR": "1"},
    )
    if full := _no_room(f"{done.stderr}\n{done.stdout}"):  # of which it may only warn, per file
        raise full
    html = target / "_build" / "html"
    if done.returncode != 0 or not (html / "index.html").is_file():
        text = re.sub(r"\x1b\[[0-9;]*m", "", f"{done.stderr}\n{done.stdout}")
        lines = text.replace(f"{stage}{os.sep}", "").splitlines()
        told = [w for w in lines if _COMPLAINT.search(w) and "finished with problems" not in w]
        said = "\n".join(dict.fromkeys(told or lines[-30:]))
        raise BuildError(f"the site was not built:\n{said}")
    return html


def remote_requests(site: Path) -> list[str]:
    """Return where pages or styles of a site would fetch something from elsewhere."""
    return [
        f"{path.relative_to(site)}: {match.group()[:120]}"
        for end, pattern in _REMOTE.items()
        for path in sorted(site.rglob(f"*{end}"))
        for match in pattern.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]


def machine_paths(*places: Path) -> re.Pattern[str]:
    """Return a pattern of this machine's paths: the places given, home, Python's, /tmp."""
    here = os.path.expanduser("~"), sys.prefix, tempfile.gettempdir(), "/tmp"
    known = [*places, *map(Path, (*here, *packages.getsitepackages()))]
    # Both as named and as resolved: a temporary folder is often behind a link.
    texts = {str(form) for place in known for form in (place.absolute(), place.resolve())}
    named = "|".join(re.escape(t) for t in sorted(texts, key=len, reverse=True) if len(t) > 1)
    # With its surroundings, as much of the line as can be read.
    return re.compile(rf"(?<![\w.~/*-])(?:(?:{named})(?![\w-])|{_ANYWHERE})[^\n]{{0,60}}")


def faults_of_notebook(name: str, executed: notebook.Notebook, paths: re.Pattern[str]) -> list[str]:
    """Return what the outputs of an executed notebook hold and a page must not show."""
    found = []
    shown = [c for c in executed.cells if notebook.INJECTED not in notebook.tags(c)]
    for count, cell in enumerate(shown, 1):
        begins = next((line for line in cell.source.splitlines() if line.strip()), "(empty)")
        where = f"notebook {name!r}, cell {count} (of all cells, text included; {begins!r})"
        for output in cell.get("outputs", []):
            texts = [output.get("text", ""), *map(str, output.get("data", {}).values())]
            if output.get("name") == "stderr":
                said = " ".join(output["text"].split())
                found.append(f"{where} writes to standard error: {said[:300]}")
            elif path := next(filter(None, map(paths.search, texts)), None):
                found.append(f"{where} shows a path of this machine: {path.group()}")
    return found


def faults_of_site(html: Path, paths: re.Pattern[str]) -> list[str]:
    """Return the pages and downloads of a site that show a path of the machine, a line each."""
    found = []
    for file in sorted(p for p in html.rglob("*") if p.suffix in _READ):
        text = file.read_text(encoding="utf-8")
        # Highlighting splits a path by tags; an attribute holds one whole.
        if path := paths.search(text) or paths.search(unescape(re.sub(r"<[^>]*>", "", text))):
            found.append(f"{file.relative_to(html)} shows a path of this machine: {path.group()}")
    return found


def redirect(target: str) -> str:
    """Return a page that leads to another at once, and has a link for those it does not lead."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Moved</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="refresh" content="0; url={target}">\n'
        f'<main><h1>This page has moved</h1>\n<p><a href="{target}">To its new place</a></p></main>'
        "\n</html>\n"
    )


def put_in_place(built: Path, site: Path, key: str) -> None:
    """Replace a site by a new one, in two renames; a reader sees the old one or the new one."""
    old = site.parent / f".{site.name}.old"
    shutil.rmtree(old, ignore_errors=True)
    _record(site).unlink(missing_ok=True)
    if site.exists():
        site.rename(old)
    try:
        built.rename(site)
    finally:
        recover(site)
    _record(site).write_text(key, encoding="utf-8")
    shutil.rmtree(old, ignore_errors=True)


def recover(site: Path) -> None:
    """Put back the site that an interruption between the two renames left aside."""
    old = site.parent / f".{site.name}.old"
    if old.exists() and not site.exists():
        old.rename(site)
