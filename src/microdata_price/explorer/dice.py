"""The page that counts a class's throws: its files, and the chances that it draws beside them."""

from __future__ import annotations

from pathlib import Path

from ..book.plan import Edition
from ..chapters.dice import SIDES, VALUES, clipped_sum_law, signed_sum_law
from .build import kept_folder, script, write_page

STUDENTS = 24  # a class for which the page rolls if nobody has dice
# Streets in one round, and people in the one that is not empty when the total is kept.
SHOWN = {"sides": SIDES, "students": STUDENTS, "people": 3, "limit": 1000}


def build_dice(out_dir: Path, sources: Path) -> Path:
    """Write the page's folder, which must not exist, and return the page."""
    laws = {"signed": signed_sum_law(1).tolist(), "clipped": clipped_sum_law(1).tolist()}
    data = {"values": [int(v) for v in VALUES], **laws, **SHOWN}
    said = {"students": STUDENTS, "most": int(VALUES[-1])}
    return write_page(out_dir, sources, said, {"data.js": script("DICE", data)})


def dice_folder(root: Path, _edition: Edition, cache: Path) -> Path:
    """Return the page's folder from the cache, or write it there."""
    sources = root / "book" / "dice"
    return kept_folder(root, sources, __name__, None, cache, lambda f: build_dice(f, sources))
