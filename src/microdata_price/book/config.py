"""The builder's configuration: the book's own, with what a fork sets and what an edition says."""

from __future__ import annotations

import datetime
import html
import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

from .. import __version__

_LAUNCH = {
    "notebook_interface": "jupyterlab",
    "binderhub_url": "https://mybinder.org",
    "colab_url": "https://colab.research.google.com",
}
"""Where a notebook of a public repository can be run in a browser."""


def read_config(root: Path) -> dict[str, Any]:
    """Return the book's configuration as its file has it."""
    path = root / "book" / "_config.yml"
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def repository(root: Path) -> str:
    """Return the address that the book's configuration has for its repository, or nothing."""
    return str((read_config(root).get("repository") or {}).get("url") or "")


def site_config(root: Path, title: str, announcement: str | None) -> str:
    """Return the builder's configuration under a title, with a line above every page.

    The footer gets the version, the date of the sources and, where one is configured, the place
    for remarks; a configured repository gets its buttons.
    """
    config = read_config(root)
    config["title"] = title
    remarks = str(config.pop("remarks", "") or "").strip()
    theme = config["sphinx"]["config"]["html_theme_options"]
    theme["extra_footer"] = footer(source_date(root), remarks)
    if announcement:
        theme["announcement"] = announcement
    public = config.get("repository") or {}
    if public.get("url"):
        theme["repository_url"] = public["url"]
        theme["repository_branch"] = public.get("branch") or "main"
        theme["use_repository_button"] = True
        theme["launch_buttons"] = _LAUNCH
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)


def source_date(root: Path) -> datetime.date | None:
    """Return the day of the sources: SOURCE_DATE_EPOCH, else the checkout's last commit (UTC).

    It is never the day of the build, so that the same sources give the same site.
    """
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not seconds.isdigit() and (root / ".git").exists():
        command = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:  # no git on this machine
            return None
        seconds = done.stdout.strip()
    if not seconds.isdigit():
        return None
    return datetime.datetime.fromtimestamp(int(seconds), datetime.UTC).date()


def footer(date: datetime.date | None, remarks: str) -> str:
    """Return what stands under every page.

    Examples
    --------
    >>> footer(None, "")
    '<p>Version 0.1.0</p>'
    >>> footer(datetime.date(2026, 3, 1), "me@example.org").splitlines()[1]
    '<p>Remarks: <a href="mailto:me@example.org">me@example.org</a></p>'
    """
    day = f", {date.day} {date:%B %Y}" if date else ""
    lines = [f"<p>Version {__version__}{day}</p>"]
    if remarks:
        address = remarks if "://" in remarks or "@" not in remarks else f"mailto:{remarks}"
        lines.append(f'<p>Remarks: <a href="{html.escape(address)}">{html.escape(remarks)}</a></p>')
    return "\n".join(lines)
