"""A small book in a temporary folder, with the project's own configuration, code and data."""

import shutil
from pathlib import Path

import nbformat
import yaml

from microdata_price.book import notebook

ROOT = Path(__file__).parents[1]

SETUP = """\
import numpy as np

from microdata_price.figures.difficult import one_draw
from microdata_price.page.output import offer, record, say, show

"""
"""Imports of a chapter; what it computes is added."""


def make_notebook(*cells):
    """Cells are (kind, source, tags ...)."""
    made = []
    for kind, source, *tags in cells:
        new = nbformat.v4.new_markdown_cell if kind == "text" else nbformat.v4.new_code_cell
        made.append(new(source, metadata={"tags": list(tags)} if tags else {}))
    return notebook.strip(nbformat.v4.new_notebook(cells=made))


def ordinary(title="A chapter", body="twice = 2 * epsilon"):
    return make_notebook(
        ("text", f"# {title}\n\nWhat it is about."),
        ("code", "epsilon = 0.5  # the level\nruns = 10", "parameters"),
        ("code", f"{SETUP}{body}\nassert runs", "setup"),
        ("code", 'say(f"Twice epsilon is {twice:g}.")', "remove-input"),
    )


def make_root(home, notebooks, pages):
    """Write a checkout with these notebooks and pages; the first page is intro."""
    root = home / "checkout"
    book = root / "book"
    (root / "src").mkdir(parents=True)
    (root / "src" / "microdata_price").symlink_to(ROOT / "src" / "microdata_price")
    (root / "data").symlink_to(ROOT / "data")
    (book / "reference").mkdir(parents=True)
    shutil.copyfile(ROOT / "book" / "_config.yml", book / "_config.yml")
    shutil.copyfile(ROOT / "book" / "references.bib", book / "references.bib")
    shutil.copytree(ROOT / "book" / "_static", book / "_static")
    for name, text in {"intro": "# Welcome\n\nText.\n", **pages}.items():
        path = book / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name, content in notebooks.items():
        notebook.write(content, root / "notebooks" / f"{name}.ipynb")
    files = [f"notebooks/{name}" for name in notebooks]
    files += [*pages, "reference/computed"]
    toc = {"format": "jb-book", "root": "intro", "chapters": [{"file": f} for f in files]}
    (book / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    return root


def without_pages(monkeypatch):
    """Let a notebook that is run alone have no pages, which would take the builder's time."""

    def build(_book, site, **_named):
        site.mkdir()
        return site

    monkeypatch.setattr("microdata_price.book.one._pages", lambda *_: "page")
    monkeypatch.setattr("microdata_price.book.site.run_builder", build)
