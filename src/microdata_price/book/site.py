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

KEY_FILE = ".built-from"


def staged_key(stage: Path) -> str:
    """Return the hash of everything that the builder will read, and of its version."""
    files = [p for p in stage.rglob("*") if p.is_file()]
    own = sorted(Path(__file__).parent.glob("*.py"))
    return digest(digest_files(files, stage), *(p.read_bytes() for p in own), sys.version)


def is_current(site: Path, key: str) -> bool:
    """Say whether a site was built from exactly these pages."""
    recorded = site.parent / f"{KEY_FILE}-{site.name}"
    return (
        (site / "index.html").is_file()
        and recorded.is_file()
        and recorded.read_text(encoding="utf-8") == key
    )


def run_builder(stage: Path, target: Path, *, strict: bool) -> Path:
    """Run Jupyter Book on staged pages and return the folder of HTML."""
    flags = ["-W", "-n", "--keep-going"] if strict else []
    code = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", code, "build", str(stage), "--path-output", str(target)]
    done = subprocess.run(
        [*command, "-q", *flags],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore", "NO_COLOR": "1"},
    )
    html = target / "_build" / "html"
    if done.returncode != 0 or not (html / "index.html").is_file():
        raise BuildError(f"the site was not built:\n{_complaints(done.stdout, done.stderr, stage)}")
    return html


def _complaints(out: str, err: str, stage: Path) -> str:
    text = re.sub(r"\x1b\[[0-9;]*m", "", f"{err}\n{out}").replace(f"{stage}{os.sep}", "")
    lines = text.splitlines()
    warned = [line for line in lines if re.search(r"WARNING|ERROR|CRITICAL|Error:|Exception", line)]
    chosen = [line for line in warned if "build finished with problems" not in line] or lines[-30:]
    return "\n".join(dict.fromkeys(chosen))


_REMOTE = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|data|srcset)\s*=\s*["'](?:https?:)?//"""
    r"""|<link\b(?=[^>]*\brel\s*=\s*["'](?:stylesheet|preload|icon|preconnect|dns-prefetch|prefetch))[^>]*?\bhref\s*=\s*["'](?:https?:)?//""",
    re.IGNORECASE,
)
_REMOTE_CSS = re.compile(r"url\(\s*[\"']?(?:https?:)?//|@import\s+[\"'](?:https?:)?//")


def remote_requests(site: Path) -> list[str]:
    """Return where pages or styles of a site would fetch something from elsewhere."""
    found = []
    for path in sorted(site.rglob("*.html")):
        for match in _REMOTE.finditer(path.read_text(encoding="utf-8")):
            found.append(f"{path.relative_to(site)}: {match.group()[:120]}")
    for path in sorted(site.rglob("*.css")):
        if _REMOTE_CSS.search(path.read_text(encoding="utf-8", errors="replace")):
            found.append(f"{path.relative_to(site)}: a url() on the network")
    return found


def put_in_place(built: Path, site: Path, key: str) -> None:
    """Replace a site by a new one; a reader sees the old one or the new one.

    The last good site stays until this very step, which is two renames.
    """
    site.parent.mkdir(parents=True, exist_ok=True)
    recorded = site.parent / f"{KEY_FILE}-{site.name}"
    old = site.parent / f".{site.name}.old"
    shutil.rmtree(old, ignore_errors=True)
    recorded.unlink(missing_ok=True)
    if site.exists():
        site.rename(old)
    try:
        built.rename(site)
    except BaseException:
        if old.exists():
            old.rename(site)
        raise
    recorded.write_text(key, encoding="utf-8")
    shutil.rmtree(old, ignore_errors=True)


def recover(site: Path) -> None:
    """Put back the site that an interruption between the two renames left aside."""
    old = site.parent / f".{site.name}.old"
    if old.exists() and not site.exists():
        old.rename(site)
