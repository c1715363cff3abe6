"""Papermill over the notebooks, then the site."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from ..base.files import claim_folder
from ..exceptions import BuildError, InputError
from . import notebook
from . import pages as book_pages
from . import site as book_site
from . import stage as book_stage
from .config import repository, site_config
from .extras import EXTRA, Extras, stage_extras, stage_redirects
from .grids import Folders, compute_folders
from .picture import for_the_site
from .plain import read_terms, with_links
from .plan import Edition, chapters, toc_entries
from .run import Run, run_all
from .site import faults_of_notebook, faults_of_site, machine_paths
from .stage import Found, collect, quote

STUDENTS = "students"
"""The folder in a site that holds its edition without solutions."""

COMPUTED = "reference/computed"
"""The page that is written from results alone."""

Report = Callable[[str], None]


def default_site(root: Path, edition: Edition) -> Path:
    """Return the folder of an edition's site, as book/_build/eps-0.25/html."""
    return root / "book" / "_build" / edition.slug / "html"


def _editions(edition: Edition, students: bool) -> str:
    """Return the sentence by which a page leads to the edition without solutions."""
    if not edition.solutions:
        return "You are reading the students' edition."
    if students:
        return f'<a href="../{STUDENTS}/index.html">Open the students\' edition</a>.'
    return "It is not part of this site; `make book STUDENTS=yes` puts it there."


def stage(
    root: Path,
    edition: Edition,
    runs: Sequence[Run],
    folders: Folders,
    target: Path,
    *,
    students: bool = False,
) -> None:
    """Write all pages that the site's builder reads into an empty folder."""
    found = Found(terms=read_terms(root / "book"), address=repository(root))
    executed = stage_notebooks(root, edition, runs, found, target)
    found.quoted["book"] = {
        "students": _editions(edition, students),
        "exercises": book_pages.exercises(executed, solutions=edition.solutions),
    }
    _stage_prose(root, edition, found, target)
    stage_generated(root, edition, runs, found, folders, target)
    told = f"This edition was computed at {edition.levels}. " if edition.levels else ""
    told += "" if edition.solutions else "This is the students' edition, without solutions."
    _write(target / "_config.yml", site_config(root, edition.title, told.strip() or None))
    entries = {e: (target / f"{e}.md", target / f"{e}.ipynb") for e in toc_entries(root)}
    missing = [e for e, places in entries.items() if not any(p.is_file() for p in places)]
    if missing:
        raise BuildError(f"book/_toc.yml lists pages that do not exist: {', '.join(missing)}")


def stage_notebooks(
    root: Path, edition: Edition, runs: Sequence[Run], found: Found, target: Path
) -> dict[str, notebook.Notebook]:
    """Write the pages, pictures and downloads of executed notebooks, and return these.

    A notebook that the table of contents does not list has no page: it computes what the prose
    pages quote and show.
    """
    executed = {run.name: notebook.read(run.path) for run in runs}
    pages = _with_pages(root, runs)
    for name, content in executed.items():
        collect(name, content, found)
    for run in runs:
        for figure, svg in book_stage.images(executed[run.name]).items():
            _write(target / "images" / f"{figure}.svg", for_the_site(svg))
        if run.name not in pages:
            continue
        given = (executed[run.name], run.values, found)
        page = book_stage.page(run.name, *given, solutions=edition.solutions)
        notebook.write(page, target / "notebooks" / f"{run.name}.ipynb")
        copy = book_stage.download(*given, solutions=edition.solutions)
        notebook.write(copy, target / "downloads" / f"{run.name}.ipynb")
        for file, content in book_stage.files(executed[run.name]).items():
            _write(target / "downloads" / file, content)
    return executed


def _with_pages(root: Path, runs: Sequence[Run]) -> set[str]:
    """Return the notebooks with pages: those of the table of contents, or the one run alone."""
    names = {run.name for run in runs}
    return {name for name in names if f"notebooks/{name}" in toc_entries(root)} or names


def stage_generated(
    root: Path,
    edition: Edition,
    runs: Sequence[Run],
    found: Found,
    folders: Folders,
    target: Path,
) -> None:
    """Write the page that comes from results alone."""
    pages = _with_pages(root, runs)
    text = book_pages.computed(edition, runs, pages, found, folders.facts)
    _write(target / f"{COMPUTED}.md", text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _stage_prose(root: Path, edition: Edition, found: Found, target: Path) -> None:
    book, listed = root / "book", set(toc_entries(root))
    for path in sorted(book.rglob("*")):
        relative = path.relative_to(book)
        if relative.parts[0] in ("_build", "_generated", "_config.yml") or not path.is_file():
            continue
        to = target / relative
        to.parent.mkdir(parents=True, exist_ok=True)
        page = relative.with_suffix("").as_posix()
        if path.suffix != ".md":
            shutil.copyfile(path, to)
        if page not in listed or path.suffix != ".md":
            continue
        text = path.read_text(encoding="utf-8")
        if not edition.solutions:
            text = book_stage.without_solutions(text)
        text = quote(text, page, found)
        to.write_text(with_links(text, page, found.terms), encoding="utf-8")


def _refuse(faults: Sequence[str]) -> None:
    if faults:
        raise BuildError("\n".join(faults))


def _stage_all(
    root: Path,
    edition: Edition,
    runs: Sequence[Run],
    folders: Folders,
    extras: Extras,
    target: Path,
    *,
    students: bool,
) -> str:
    """Write everything that the builder reads into a new folder and return its hash."""
    target.mkdir()
    stage(root, edition, runs, folders, target, students=students)
    stage_extras(extras, root, edition, root / "book" / "_generated", target)
    stage_redirects(root, target / EXTRA)
    return book_site.staged_key(target)


def build(
    root: Path,
    edition: Edition,
    site: Path | None,
    report: Report,
    extras: Extras = MappingProxyType({}),
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
    runs = run_all(root, planned, cache / "notebooks", folders.paths, folders.keys, report)
    paths = machine_paths(root, site.parent)
    _refuse([f for r in runs for f in faults_of_notebook(r.name, notebook.read(r.path), paths)])
    site.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=site.parent) as home:
        given = (runs, folders, extras)
        staged = Path(home) / "book"
        key = _stage_all(root, edition, *given, staged, students=students)
        theirs = Path(home) / "students"
        if students:
            own = replace(edition, solutions=False)
            key += _stage_all(root, own, *given, theirs, students=False)
        if book_site.is_current(site, key):
            report(f"nothing has changed ({time.perf_counter() - start:.0f} s)")
            return site / "index.html"
        report(f"building {len(toc_entries(root))} pages{', twice' if students else ''}")
        html = book_site.run_builder(staged, Path(home) / "out", strict=True)
        if students:
            without = book_site.run_builder(theirs, Path(home) / "out-students", strict=True)
            without.rename(html / STUDENTS)
        remote = book_site.remote_requests(html)
        if remote:
            raise BuildError("the site would need a network:\n" + "\n".join(remote))
        _refuse(faults_of_site(html, paths))
        book_site.put_in_place(html, site, key)
    report(f"built in {time.perf_counter() - start:.0f} s")
    return site / "index.html"
