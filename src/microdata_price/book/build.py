"""Papermill over the notebooks, then the site."""

from __future__ import annotations

import os.path
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from ..base.files import claim_folder
from ..exceptions import BuildError, InputError
from . import notebook
from . import pages as book_pages
from . import site as book_site
from .config import repository, site_config
from .grids import compute_folders
from .plain import read_terms, with_links
from .plan import Edition, chapters, toc_entries
from .run import Run, run_all
from .site import faults_of_notebook, faults_of_site, machine_paths, redirect
from .stage import Found, collect, download, page, quote, without_solutions

STUDENTS = "students"
"""The folder in a site that holds its edition without solutions."""
COMPUTED = "reference/computed"
"""The page that is written from results alone."""
EXTRA = "_extra"
"""The folder whose content the builder copies to the top of the site as it is."""

Report = Callable[[str], None]
Extras = Mapping[str, Callable[[Path, Edition, Path], Path]]
"""By the name of the folder in ``book/`` and in the site: what computes it, with a cache."""


def default_site(root: Path, edition: Edition) -> Path:
    """Return the folder of an edition's site, as book/_build/eps-0.25/html."""
    return root / "book" / "_build" / edition.slug / "html"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def stage_notebooks(
    root: Path,
    edition: Edition,
    runs: Sequence[Run],
    executed: Mapping[str, notebook.Notebook],
    target: Path,
    facts: Mapping[str, str] | None = None,
) -> Found:
    """Write the book's files, then the pages, pictures and downloads of executed notebooks.

    A notebook that the table of contents does not list has no page, unless it is run alone: it
    computes what the prose pages quote and show.
    """
    book, listed = root / "book", toc_entries(root)
    made = shutil.ignore_patterns("_build", "_generated")
    how = {"ignore": made, "copy_function": shutil.copyfile, "dirs_exist_ok": True}
    book_site.copy_tree(book, target, **how)
    for folder in (target, *target.rglob("*/")):  # a checkout may be read-only, its copy not
        folder.chmod(0o755)
    (target / EXTRA).mkdir(exist_ok=True)
    found = Found(terms=read_terms(book), address=repository(root))
    pages = {name for name in executed if f"notebooks/{name}" in listed} or {*executed}
    for name, content in executed.items():
        collect(name, content, found)
    for file, text in found.files.items():
        _write(target / file, text)
    for run in (run for run in runs if run.name in pages):
        given = executed[run.name], run.values, found, edition.solutions
        notebook.write(page(run.name, *given), target / "notebooks" / f"{run.name}.ipynb")
        notebook.write(download(*given), target / "downloads" / f"{run.name}.ipynb")
    text = book_pages.computed(edition.levels, runs, pages, found, facts or {})
    _write(target / f"{COMPUTED}.md", text)
    return found


def _stage(
    root: Path,
    edition: Edition,
    runs: Sequence[Run],
    executed: Mapping[str, notebook.Notebook],
    facts: Mapping[str, str],
    extras: Extras,
    target: Path,
    students: str,
) -> str:
    """Write everything that the builder reads into a new folder and return its hash."""
    found = stage_notebooks(root, edition, runs, executed, target, facts)
    exercises = book_pages.exercises(executed, solutions=edition.solutions)
    found.quoted["book"] = {"students": students, "exercises": exercises}
    for entry in (e for e in toc_entries(root) if e != COMPUTED):
        path = target / f"{entry}.md"
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            text = quote(text if edition.solutions else without_solutions(text), entry, found)
            path.write_text(with_links(text, entry, found.terms), encoding="utf-8")
        elif not path.with_suffix(".ipynb").is_file():
            raise BuildError(f"book/_toc.yml lists a page that does not exist: {entry}")
    told = f"This edition was computed at {edition.levels}. " if edition.levels else ""
    told += "" if edition.solutions else "This is the students' edition, without solutions."
    _write(target / "_config.yml", site_config(root, edition.title, told.strip()))
    for name, compute in extras.items():
        if (root / "book" / name).is_dir():
            folder = compute(root, edition, root / "book" / "_generated" / name)
            book_site.copy_tree(folder, target / EXTRA / name)
    stage_redirects(root, target / EXTRA)
    return book_site.staged_key(target)


def stage_redirects(root: Path, extra: Path) -> None:
    """Write a small page at the place of each page of an earlier edition that has moved."""
    path = root / "book" / "_redirects.yml"
    moved = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for old, new in (moved or {}).items():
        name, hash_, place = str(new).partition("#")
        target = os.path.relpath(f"{name}.html", os.path.dirname(old) or ".")
        _write(extra / f"{old}.html", redirect(f"{target}{hash_}{place}"))


def _refuse(faults: Sequence[str]) -> None:
    if faults:
        raise BuildError("\n".join(faults))


def build(
    root: Path,
    edition: Edition,
    site: Path | None,
    report: Report,
    extras: Extras | None = None,
    *,
    students: bool = False,
) -> Path:
    """Compute what changed, build the site and return the path of its first page."""
    if students and not edition.solutions:
        raise InputError(
            "the students' edition cannot hold itself; give either --with-students or "
            "--no-solutions"
        )
    start = time.perf_counter()
    site = default_site(root, edition) if site is None else site
    book_site.recover(site)
    claim_folder(site, "searchindex.js", "an earlier site")
    planned, cache = chapters(root, edition), root / "book" / "_generated"
    folders = compute_folders(planned, edition, cache / "grid", report)
    try:
        runs = run_all(root, planned, cache / "notebooks", folders, report)
    except BuildError:
        for failed in sorted((cache / "notebooks").glob("*.failed.ipynb")):
            report(f"as far as it came: {failed}")
        raise
    executed = {run.name: notebook.read(run.path) for run in runs}
    paths = machine_paths(root, site.parent)
    _refuse([f for name, nb in executed.items() for f in faults_of_notebook(name, nb, paths)])
    whole = "It is not part of this site; `make book STUDENTS=yes` puts it there."
    if students:
        whole = f'<a href="../{STUDENTS}/index.html">Open the students\' edition</a>.'
    theirs = "You are reading the students' edition."
    site.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=site.parent) as home:
        editions = {"book": (edition, whole if edition.solutions else theirs)}
        if students:
            editions[STUDENTS] = (replace(edition, solutions=False), theirs)
        keys = [
            _stage(root, one, runs, executed, folders.facts, extras or {}, Path(home) / name, said)
            for name, (one, said) in editions.items()
        ]
        if book_site.is_current(site, "".join(keys)):
            report(f"nothing has changed ({time.perf_counter() - start:.0f} s)")
            return site / "index.html"
        report(f"building {len(toc_entries(root))} pages{', twice' if students else ''}")
        html, *inside = [
            book_site.run_builder(Path(home) / name, Path(home) / f"out-{name}", strict=True)
            for name in editions
        ]
        for folder in inside:
            folder.rename(html / STUDENTS)
        if remote := book_site.remote_requests(html):
            raise BuildError("the site would need a network:\n" + "\n".join(remote))
        _refuse(faults_of_site(html, paths))
        book_site.put_in_place(html, site, "".join(keys))
    report(f"built in {time.perf_counter() - start:.0f} s")
    return site / "index.html"
