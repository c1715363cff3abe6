"""Parts of the site that are not pages of the builder: each is a folder of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from .plan import Edition

EXTRA = "_extra"
"""The folder whose content the builder copies to the top of the site as it is."""

Extra = Callable[[Path, Edition, Path], Path]


Extras = Mapping[str, Extra]
"""By the name of the folder in ``book/`` and in the site: what computes it, with a cache."""


def stage_extras(
    extras: Extras, root: Path, edition: Edition, cache: Path, target: Path
) -> list[str]:
    """Compute every extra whose sources the book has, and put it beside the staged pages.

    Parameters
    ----------
    extras
        What computes each of them.
    root
        The checkout; an extra's sources are in ``book/NAME``.
    edition
        The book's levels.
    cache
        The folder in which each extra keeps what it computed.
    target
        The staged book.

    Returns
    -------
    list
        The names of the extras that are there.
    """
    (target / EXTRA).mkdir(parents=True, exist_ok=True)
    names = [name for name in extras if (root / "book" / name).is_dir()]
    for name in names:
        folder = extras[name](root, edition, cache / name)
        shutil.copytree(folder, target / EXTRA / name)
    return names
