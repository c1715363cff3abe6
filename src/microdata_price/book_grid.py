"""The experiment grids that notebooks read, computed once for the whole book."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .book_plan import Chapter, Edition

Report = Callable[[str], None]


@dataclass(frozen=True)
class Folders:
    """Folders of computed results for notebooks.

    Parameters
    ----------
    paths
        By the name of the parameter that gives them to a notebook.
    keys
        Hashes of what they depend on, by the same names.
    facts
        What the page of computations says about them.
    """

    paths: dict[str, Path] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)


def compute_folders(
    root: Path, chapters: Sequence[Chapter], edition: Edition, cache: Path, report: Report
) -> Folders:
    """Compute the grids that some notebook reads."""
    del root, edition, cache, report
    wanted = {name for chapter in chapters for name in chapter.folders}
    if wanted:
        raise NotImplementedError
    return Folders()
