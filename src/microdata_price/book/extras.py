"""Parts of the site that are not pages of the builder: folders of their own, and old addresses."""

from __future__ import annotations

import os.path
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from .plan import Edition

EXTRA = "_extra"
"""The folder whose content the builder copies to the top of the site as it is."""

Extras = Mapping[str, Callable[[Path, Edition, Path], Path]]
"""By the name of the folder in ``book/`` and in the site: what computes it, with a cache."""


def stage_extras(extras: Extras, root: Path, edition: Edition, cache: Path, target: Path) -> None:
    """Compute every extra whose sources the book has, and put it beside the staged pages."""
    (target / EXTRA).mkdir(parents=True, exist_ok=True)
    for name, compute in extras.items():
        if (root / "book" / name).is_dir():
            folder = compute(root, edition, cache / name)
            shutil.copytree(folder, target / EXTRA / name)


def redirect(target: str) -> str:
    """Return a page that leads to another at once, and has a link for those it does not lead."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Moved</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="refresh" content="0; url={target}">\n'
        f'<main><h1>This page has moved</h1>\n<p><a href="{target}">To its new place</a></p></main>'
        "\n</html>\n"
    )


def stage_redirects(root: Path, extra: Path) -> None:
    """Write a small page at the place of each page of an earlier edition that has moved."""
    path = root / "book" / "_redirects.yml"
    moved = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for old, new in (moved or {}).items():
        page, hash_, place = str(new).partition("#")
        target = os.path.relpath(f"{page}.html", os.path.dirname(old) or ".")
        (extra / old).parent.mkdir(parents=True, exist_ok=True)
        (extra / f"{old}.html").write_text(redirect(f"{target}{hash_}{place}"), encoding="utf-8")
