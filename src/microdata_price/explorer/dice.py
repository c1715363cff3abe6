"""The page that counts a class's throws: its files, and the chances that it draws beside them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from ..base.files import new_folder
from ..book.plan import Edition
from ..chapters.dice import SIDES, VALUES, clipped_sum_law, signed_sum_law
from ..page.say import render as fill
from .build import kept_folder

STUDENTS = 24
"""A class for which the page rolls if nobody has dice."""
LIMIT = 1000
"""Streets in one round."""
PEOPLE = 3
"""In the one street that is not empty, when the total is kept."""


def dice_data() -> dict[str, Any]:
    """Return the values of a throw and one street's chances, for the page's script.

    Examples
    --------
    >>> data = dice_data()
    >>> data["values"][0], len(data["signed"]), len(data["clipped"])
    (-5, 11, 6)
    """
    return {
        "values": [int(v) for v in VALUES],
        "signed": signed_sum_law(1).tolist(),
        "clipped": clipped_sum_law(1).tolist(),
        "sides": SIDES,
        "students": STUDENTS,
        "people": PEOPLE,
        "limit": LIMIT,
    }


def build_dice(out_dir: Path, sources: Path) -> Path:
    """Write the page's folder, whole or not at all, and return the page.

    Parameters
    ----------
    out_dir
        The folder to make; it must not exist.
    sources
        The folder with the page, its style and its script.

    Raises
    ------
    InputError
        ``out_dir`` exists already, or the page asks for a number that is not there.
    """
    said = {"students": STUDENTS, "most": int(VALUES[-1])}
    with new_folder(out_dir, private=False) as folder:
        for path in sorted(sources.iterdir()):
            shutil.copyfile(path, folder / path.name)
        page = (sources / "index.html").read_text(encoding="utf-8")
        (folder / "index.html").write_text(fill(page, said) + "\n", encoding="utf-8")
        script = f"window.DICE={json.dumps(dice_data(), separators=(',', ':'))};\n"
        (folder / "data.js").write_text(script, encoding="utf-8")
    return out_dir / "index.html"


def dice_folder(root: Path, _edition: Edition, cache: Path) -> Path:
    """Return the page's folder from the cache, or write it there."""
    sources = root / "book" / "dice"
    return kept_folder(root, sources, __name__, None, cache, lambda f: build_dice(f, sources))
