"""The page that counts a class's throws: its files, and the chances that it draws beside them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from ..base.files import new_folder
from ..base.provenance import code_key, digest, digest_files
from ..book.plan import Edition
from ..chapters.dice import SIDES, VALUES, clipped_sum_law, signed_sum_law
from .build import fill

STUDENTS = 24
"""A class for which the page rolls if nobody has dice."""
LIMIT = 1000
"""Streets in one round."""
PEOPLE = 3
"""In the one street that is not empty, when the total is kept."""


def dice_data() -> dict[str, Any]:
    """Return what the page's script reads: what a throw can be, and one street's chances.

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
        ``out_dir`` exists already.
    BuildError
        A place of the page for which there is no text.
    """
    texts = {"STUDENTS": str(STUDENTS), "MOST": str(int(VALUES[-1]))}
    with new_folder(out_dir, private=False) as folder:
        for path in sorted(sources.iterdir()):
            shutil.copyfile(path, folder / path.name)
        page = (sources / "index.html").read_text(encoding="utf-8")
        (folder / "index.html").write_text(fill(page, texts), encoding="utf-8")
        script = f"window.DICE={json.dumps(dice_data(), separators=(',', ':'))};\n"
        (folder / "data.js").write_text(script, encoding="utf-8")
    return out_dir / "index.html"


def dice_folder(root: Path, _edition: Edition, cache: Path) -> Path:
    """Return the page's folder, written only if its code or files changed.

    Parameters
    ----------
    root
        The checkout.
    cache
        The folder that keeps one folder a version; its name is the hash of all that it depends on.
    """
    sources = root / "book" / "dice"
    files = digest_files((p for p in sources.iterdir() if p.is_file()), sources)
    folder = cache / digest(code_key(root, ["import microdata_price.explorer.dice"]), files)
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        build_dice(folder, sources)
    return folder
