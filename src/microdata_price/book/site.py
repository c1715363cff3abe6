"""Build the site from staged pages, check it, and put it in place of the last one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ..base.provenance import digest, digest_files
from ..exceptions import BuildError

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


def staged_key(stage: Path) -> str:
    """Return the hash of everything that the builder will read, and of its version."""
    files = [p for p in stage.rglob("*") if p.is_file()]
    own = sorted(Path(__file__).parent.glob("*.py"))
    return digest(digest_files(files, stage), *(p.read_bytes() for p in own), sys.version)


def _record(site: Path) -> Path:
    return site.parent / f".built-from-{site.name}"


def is_current(site: Path, key: str) -> bool:
    """Say whether a site was built from exactly these pages."""
    record = _record(site)
    whole = (site / "index.html").is_file() and record.is_file()
    return whole and record.read_text(encoding="utf-8") == key


def run_builder(stage: Path, target: Path, *, strict: bool) -> Path:
    """Run Jupyter Book on staged pages and return the folder of HTML."""
    code = "from jupyter_book.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "build", str(stage), "--path-output", str(target), "-q"]
        + (["-W", "-n", "--keep-going"] if strict else []),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore", "NO_COLOR": "1"},
    )
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


def put_in_place(built: Path, site: Path, key: str) -> None:
    """Replace a site by a new one; a reader sees the old one or the new one.

    The last good site stays until this very step, which is two renames.
    """
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
