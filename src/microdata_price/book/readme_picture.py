"""Make the README's picture again: ``python -m microdata_price.book.readme_picture``.

It is the book's own figure, from the chapter that computes it.
"""

from __future__ import annotations

from pathlib import Path

from ..base.files import write_whole
from . import notebook
from .plan import Edition, chapters, find_root
from .run import run_all
from .stage import images

CHAPTER = "plane"
FIGURE = "plane-pure"
PLACE = Path("docs") / "main-result.svg"


def make_picture(root: Path) -> Path:
    """Compute the chapter if need be and write its figure to the README's place."""
    chapter = [c for c in chapters(root, Edition()) if c.name == CHAPTER]
    cache = root / "book" / "_generated" / "notebooks"
    (run,) = run_all(root, chapter, cache, {}, {}, print)
    target = root / PLACE
    target.parent.mkdir(exist_ok=True)
    write_whole(target, images(notebook.read(run.path))[FIGURE])
    return target


if __name__ == "__main__":
    print(make_picture(find_root()))
