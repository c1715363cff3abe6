"""The builder's configuration: the book's own, with what a fork sets and what an edition says."""

from __future__ import annotations

import datetime
import html
import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from .. import __version__


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
    """Return the day of the sources, never of the build: SOURCE_DATE_EPOCH, else the last commit's.

    So the same sources give the same site. Days are UTC's.
    """
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not seconds.isdigit() and (root / ".git").exists():
        command = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
        with suppress(OSError):  # no git on this machine
            seconds = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    day = datetime.datetime.fromtimestamp
    return day(int(seconds), datetime.UTC).date() if seconds.strip().isdigit() else None
