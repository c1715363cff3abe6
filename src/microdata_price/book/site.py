"""Configure the builder, build the site, check it, and put it in place of the last one.

No page may show a program's complaints or a place on the machine, or ask a network for anything.
"""

from __future__ import annotations

import datetime
import errno
import html
import os
import re
import shutil
import site as packages
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from .. import __version__
from ..base.files import claim_folder, deferred_stop
from ..base.numbers import listed
from ..base.provenance import digest
from ..exceptions import BuildError, InputError, system_sentence

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
_READ = (".html", ".css", ".ipynb", ".svg", ".md", ".txt", ".csv")
RECORD = ".built-from"  # the file of a site that says what it was built from, and what it holds
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


def _config(root: Path) -> dict[str, Any]:
    return dict(yaml.safe_load((root / "book" / "_config.yml").read_text(encoding="utf-8")))


def repository(root: Path) -> str:
    """Return the address that the book's configuration has for its repository, or nothing."""
    return str((_config(root).get("repository") or {}).get("url") or "")


def site_config(root: Path, title: str, announcement: str = "") -> str:
    """Return the builder's configuration under a title, with a line above every page.

    The footer gets the version, the date of the sources and, where one is configured, the place
    for remarks; a configured repository gets its buttons.
    """
    config, date = _config(root), source_date(root)
    footer = f"<p>Version {__version__}{f', {date.day} {date:%B %Y}' if date else ''}</p>"
    if remarks := html.escape(str(config.pop("remarks", "") or "").strip()):
        address = remarks if "://" in remarks or "@" not in remarks else f"mailto:{remarks}"
        footer += f'\n<p>Remarks: <a href="{address}">{remarks}</a></p>'
    public = bool(repository(root))
    if not public:
        config.pop("launch_buttons", None)
    config["html"] |= {"announcement": announcement, "extra_footer": footer}
    config["html"]["use_repository_button"] = public
    return yaml.safe_dump({**config, "title": title}, sort_keys=False, allow_unicode=True)


def source_date(root: Path) -> datetime.date | None:
    """Return the day of the sources, in UTC: SOURCE_DATE_EPOCH, else the last commit's."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not seconds.isdigit() and (root / ".git").exists():
        command = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
        with suppress(OSError):  # no git on this machine
            seconds = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    day = datetime.datetime.fromtimestamp
    return day(int(seconds), datetime.UTC).date() if seconds.strip().isdigit() else None


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
    made = target / "_build" / "html"
    if done.returncode != 0 or not (made / "index.html").is_file():
        text = re.sub(r"\x1b\[[0-9;]*m", "", f"{done.stderr}\n{done.stdout}")
        lines = text.replace(f"{stage}{os.sep}", "").splitlines()
        told = [w for w in lines if _COMPLAINT.search(w) and "finished with problems" not in w]
        said = "\n".join(dict.fromkeys(told or lines[-30:]))
        raise BuildError(f"the site was not built:\n{said}")
    return made


def machine_paths(*places: Path) -> re.Pattern[str]:
    """Return a pattern of this machine's paths: the places given, home, Python's, /tmp."""
    here = os.path.expanduser("~"), sys.prefix, tempfile.gettempdir(), "/tmp"
    known = [*places, *map(Path, (*here, *packages.getsitepackages()))]
    # Both as named and as resolved: a temporary folder is often behind a link.
    texts = {str(form) for place in known for form in (place.absolute(), place.resolve())}
    named = "|".join(re.escape(t) for t in sorted(texts, key=len, reverse=True) if len(t) > 1)
    # With its surroundings, as much of the line as can be read.
    return re.compile(rf"(?<![\w.~/*-])(?:(?:{named})(?![\w-])|{_ANYWHERE})[^\n]{{0,60}}")


def faults_of_site(folder: Path, paths: re.Pattern[str]) -> list[str]:
    """Return where a site asks a network for something or shows a path of the machine."""
    found = []
    for file in sorted(p for p in folder.rglob("*") if p.suffix in _READ):
        name, text = file.relative_to(folder), file.read_text(encoding="utf-8", errors="replace")
        asked = _REMOTE[file.suffix].finditer(text) if file.suffix in _REMOTE else ()
        found += [f"{name} would need a network: {match.group()[:120]}" for match in asked]
        # Highlighting splits a path by tags; an attribute holds one whole.
        if path := paths.search(text) or paths.search(html.unescape(re.sub(r"<[^<>]*>", "", text))):
            found.append(f"{name} shows a path of this machine: {path.group()}")
    return found


def recover(place: Path) -> Path:
    """Undo an exchange that a kill cut short; return where what has the name goes meanwhile."""
    aside = place.absolute().with_name(f".{place.absolute().name}.earlier")
    if aside.exists() and not place.exists():
        aside.rename(place)
    return aside


def _contents(place: Path, mark: str) -> list[str]:
    """Return the files of a folder with their hashes, but for what only looking at them leaves."""
    skip = {mark, ".DS_Store", ".ipynb_checkpoints"}
    files = [p for p in place.rglob("*") if p.is_file() and not skip & {p.name, p.parent.name}]
    return sorted(f"{p.relative_to(place).as_posix()} {digest(p.read_bytes())}" for p in files)


def sign(built: Path, mark: str, key: str) -> None:
    """Write into a finished folder what it was built from, and all files that it holds."""
    (built / mark).write_text("\n".join([key, *_contents(built, mark)]), encoding="utf-8")


def signature(place: Path, mark: str) -> str:
    """Return what a folder was signed with; nothing where it was not."""
    signed = place / mark
    return signed.read_text(encoding="utf-8").partition("\n")[0] if signed.is_file() else ""


def claim(place: Path, mark: str, what: str) -> None:
    """Refuse to make a folder anew that was not made here, or into which somebody put something."""
    claim_folder(place, mark, what)
    recover(place)
    lines = (place / mark).read_text("utf-8").split("\n")[1:] if (place / mark).is_file() else []
    made = [n for n in lines if not n.rpartition(" ")[2].isdigit()]  # earlier versions kept sizes
    if others := sorted({*_contents(place, mark)} - {*made}) if made else []:
        others = [name.rpartition(" ")[0] for name in others[:3]]
        said = f"the folder {place} would be made anew, but holds what was not made with it"
        raise InputError(f"{said}: {listed(others)}; move that, or choose another with --out")


def put_in_place(built: Path, place: Path, mark: str, what: str) -> None:
    """Give a finished folder its name; what had the name goes. Requests to stop wait."""
    with deferred_stop():
        try:
            claim(place, mark, what)
            shutil.rmtree(aside := recover(place), ignore_errors=True)
            if place.exists():
                place.rename(aside)
            built.rename(place)
        except (InputError, OSError) as error:  # somebody was here meanwhile, or another command
            told = system_sentence(error) if isinstance(error, OSError) else error
            kept = place.with_name(f"{place.name}-{digest(os.urandom(9))[:8]}")
            raise InputError(f"{told}; what was made is in {built.rename(kept)}") from None
        finally:
            recover(place)
    shutil.rmtree(aside, ignore_errors=True)
