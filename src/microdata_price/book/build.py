"""The whole book: grids, notebooks, pages, the site."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from ..base.files import stopping_politely
from ..base.provenance import FOLDER, code_files, digest, digest_files, versions
from ..exceptions import BuildError, InputError
from . import finish, notebook, stage
from . import site as book_site
from .kernel import watched_folder
from .parameters import beyond_reading
from .plain import with_links
from .plan import Edition, chapters, compute_folders, in_words, toc_entries
from .run import Report, Run, run_all
from .site import faults_of_site, machine_paths, repository, site_config

STUDENTS = "students"  # the folder in a site that holds its edition without solutions
COMPUTED = "reference/computed"  # the page that is written from results alone
EXTRA = "_extra"  # the builder copies what is in this folder to the top of the site
_THEIRS = "You are reading the students' edition."
_LINKED = f'<a href="../{STUDENTS}/index.html">Open the students\' edition</a>.'
_ELSEWHERE = "It is not part of this site; `make book STUDENTS=yes` puts it there."

Extras = Mapping[str, Callable[[Path, Edition, Path, Report], Path]]
"""By the name of the folder in ``book/`` and in the site: what computes it, with a cache."""


def default_site(root: Path, edition: Edition) -> Path:
    """Return the folder of an edition's site, as book/_build/eps-0.25/html."""
    return root / "book" / "_build" / edition.slug / "html"


def cache_folder(root: Path, otherwise: Path) -> Path:
    """Return the folder of kept results: the checkout's, or where that is read-only another."""
    cache = root / "book" / "_generated"
    usable = os.access(cache if cache.exists() else cache.parent, os.W_OK)
    return cache if usable else otherwise / cache.name


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def stage_notebooks(
    root: Path, edition: Edition, runs: Sequence[Run], target: Path, facts: Mapping[str, str]
) -> stage.Found:
    """Write the book's files, then the pages, pictures and downloads of executed notebooks.

    A notebook that the table of contents does not list has no page, unless it is run alone: it
    computes what the prose pages quote and show.
    """
    old = shutil.ignore_patterns("_build", "_generated")
    book_site.copy_tree(root / "book", target, ignore=old, copy_function=shutil.copyfile)
    for folder in (target, *target.rglob("*/")):  # a checkout may be read-only, its copy not
        folder.chmod(0o755)
    (target / EXTRA).mkdir(exist_ok=True)
    found, address = stage.Found(), repository(root)
    for run in runs:
        stage.collect(run.name, run.executed, found)
    for file, text in found.files.items():
        _write(target / file, text)
    entries = toc_entries(root)
    shown = [run for run in runs if f"notebooks/{run.name}" in entries] or runs
    for run in shown:
        made = stage.page(run.name, run.executed, run.values, edition.solutions)
        notebook.write(made, target / "notebooks" / f"{run.name}.ipynb")
        made = stage.download(run.executed, run.values, address, edition.solutions)
        notebook.write(made, target / "downloads" / f"{run.name}.ipynb")
    told = {"runs": runs, "pages": {r.name for r in shown}, "certificates": found.certificates}
    told |= {"levels": in_words(edition.given), "grid": facts, "versions": versions()}
    _write(target / f"{COMPUTED}.md", stage.filled("computed.md", **told))
    return found


def _stage(
    root: Path,
    edition: Edition,
    runs: Sequence[Run],
    facts: Mapping[str, str],
    extras: Extras,
    cache: Path,
    target: Path,
    students: str,
    report: Report,
) -> str:
    """Write all that the builder reads into a new folder; return its hash with the builder's."""
    found = stage_notebooks(root, edition, runs, target, facts)
    asked = stage.exercises({r.name: r.executed for r in runs}, solutions=edition.solutions)
    found.quoted["book"] = {"students": students, "exercises": asked}
    for entry in (e for e in toc_entries(root) if e != COMPUTED):
        path = target / f"{entry}.md"
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            text = text if edition.solutions else stage.SOLUTION.sub("", text)
            path.write_text(with_links(stage.quote(text, entry, found), entry), encoding="utf-8")
        elif not path.with_suffix(".ipynb").is_file():
            raise BuildError(f"book/_toc.yml lists a page that does not exist: {entry}")
    told = [f"This edition was computed at {in_words(edition.given)}."] if edition.given else []
    told.append(beyond_reading(edition.given))
    told += [] if edition.solutions else ["This is the students' edition, without solutions."]
    _write(target / "_config.yml", site_config(root, edition.title, " ".join(filter(None, told))))
    for name, compute in extras.items():
        if (root / "book" / name).is_dir():
            folder = compute(root, edition, cache / name, report)
            book_site.copy_tree(folder, target / EXTRA / name)
            page = target / EXTRA / name / "index.html"
            if not edition.solutions:
                _write(page, stage.SOLUTION.sub("", page.read_text(encoding="utf-8")))
    stage_redirects(root, target / EXTRA)
    files = [p for p in target.rglob("*") if p.is_file()]
    own = {*Path(__file__).parent.glob("*.py"), *code_files(FOLDER, [f"import {finish.__name__}"])}
    return digest(digest_files(files, target), digest_files(own, FOLDER), sys.version)


def stage_redirects(root: Path, extra: Path) -> None:
    """Write a small page at the place of each page of an earlier edition that has moved."""
    path = root / "book" / "_redirects.yml"
    moved = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for old, new in (moved or {}).items():
        name, hash_, place = str(new).partition("#")
        target = os.path.relpath(f"{name}.html", os.path.dirname(old) or ".")
        _write(extra / f"{old}.html", stage.filled("moved.html", target=f"{target}{hash_}{place}"))


@stopping_politely()
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
        raise InputError("give either --with-students or --no-solutions; it cannot hold itself")
    start = time.perf_counter()
    site = site or default_site(root, edition)
    site = site.resolve() if site.is_symlink() or ".." in site.parts else site
    sources = {(root / name).resolve() for name in ("book", "notebooks")}
    if sources & {*site.resolve().parents} and "_build" not in site.parts:
        raise InputError(f"{site} lies among the book's sources; choose a folder elsewhere")
    own = site, book_site.RECORD, "an earlier site"
    book_site.claim(*own)
    planned, cache = chapters(root, edition), cache_folder(root, site.parent)
    folders, facts = compute_folders(planned, edition, cache / "grid", report)
    try:
        runs = run_all(root, planned, cache / "notebooks", folders, report)
    except (BuildError, InputError):
        for failed in sorted((cache / "notebooks").glob("*.failed.ipynb")):
            report(f"as far as it came: {failed}")
        raise
    if said := [line for run in runs for line in run.complaints]:
        raise BuildError("\n".join(said))
    about = (_LINKED if students else _ELSEWHERE) if edition.solutions else _THEIRS
    editions = {"book": (edition, about)}
    if students:
        editions[STUDENTS] = (replace(edition, solutions=False), _THEIRS)
    site.parent.mkdir(parents=True, exist_ok=True)
    with watched_folder(site.parent, ".unfinished-") as (home, _):
        key = "".join(
            _stage(root, one, runs, facts, extras or {}, cache, home / name, said, report)
            for name, (one, said) in editions.items()
        )
        if book_site.signature(site, book_site.RECORD) == key:
            report(f"nothing has changed ({time.perf_counter() - start:.0f} s)")
            return site / "index.html"
        report(f"building {len(toc_entries(root))} pages{', twice' if students else ''}")
        html, *inside = [
            book_site.run_builder(home / name, home / f"out-{name}", strict=True)
            for name in editions
        ]
        for theirs in inside:
            theirs.rename(html / STUDENTS)
        if faults := faults_of_site(html, machine_paths(root, site.parent)):
            raise BuildError("\n".join(faults))
        book_site.sign(html, book_site.RECORD, key)
        book_site.put_in_place(html, *own)
    report(f"built in {time.perf_counter() - start:.0f} s")
    return site / "index.html"
