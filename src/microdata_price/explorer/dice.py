"""The page that counts a class's throws: its files, and the chances that it draws beside them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ..book.plan import Edition
from ..book.run import Report
from ..chapters.dice import SIDES, VALUES, clipped_sum_law, signed_sum_law
from .build import kept_folder, script, write_page

STUDENTS = 24  # a class for which the page rolls if nobody has dice
# Streets in one round, and people in the one that is not empty when the total is kept.
SHOWN = {"sides": SIDES, "students": STUDENTS, "people": 3, "limit": 1000}


def dice_folder(root: Path, _edition: Edition, cache: Path, _report: Report) -> Path:
    """Return the page's folder from the cache, or write it there."""
    laws = {"signed": signed_sum_law(1).tolist(), "clipped": clipped_sum_law(1).tolist()}
    data = script("DICE", {"values": [int(v) for v in VALUES], **laws, **SHOWN})
    said = {"students": STUDENTS, "most": int(VALUES[-1])}
    build = partial(write_page, said=said, made={"data.js": data})
    return kept_folder(root, "dice", __name__, None, cache, build)
