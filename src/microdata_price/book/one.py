"""One notebook alone: executed at given parameters, as a notebook and as pages."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ..base.files import claim_folder, deferred_stop, stopping_politely
from ..base.provenance import digest
from ..exceptions import BuildError, InputError, unknown_name
from . import notebook
from . import site as book_site
from .build import COMPUTED, Report, stage_notebooks
from .compare import comparison
from .config import site_config
from .grids import Folders
from .kernel import watched_folder
from .opening import check_can_run
from .parameters import Parameter, check, no_repeats
from .plan import FOLDERS, Chapter, Edition, find_root, notebook_paths, toc_entries
from .run import Run, run_all

MARK = ".microdata-price-run"
_LONGEST_NAME = 80
_PATHS = ("table", "schema", *FOLDERS)
"""Parameters that are paths: notebooks run in another folder than the one they are given in."""

Grid = Sequence[tuple[str, Sequence[Any]]]
"""Several values of some parameters, by name."""


def find_notebook(given: str) -> tuple[Path, Path]:
    """Return a notebook's path and the checkout, from a path or the name of a chapter."""
    path = Path(given)
    if path.suffix == ".ipynb" or os.path.exists(given):  # which passes over what is no path
        if not os.path.isfile(given):
            raise InputError(f"there is no notebook {given!r}; give a path or a chapter's name")
        return path.resolve(), find_root(path.resolve().parent)
    root = find_root()
    known = {p.stem: p for p in notebook_paths(root)}
    if given not in known:
        raise unknown_name("notebook", given, known)
    return known[given], root


def combinations(declared: Mapping[str, Parameter], grid: Grid, where: str) -> list[dict[str, Any]]:
    """Return every combination of several values of some parameters, checked."""
    names = [name for name, _ in grid]
    no_repeats(names, where)
    rows = itertools.product(*(values for _, values in grid))
    found = [check(declared, dict(zip(names, row, strict=True)), where) for row in rows]
    for i, row in enumerate(found):
        if row in found[:i]:
            given = ", ".join(f"{name} = {value}" for name, value in row.items())
            raise InputError(f"{where}: {given} is given twice; a comparison needs each value once")
    return found


def file_name(*words: object) -> str:
    """Return words as a name for a file: short, without odd letters, and no other words' name."""
    exact = "-".join(re.sub(r"\.0$", "", str(word)) for word in words)
    plain = re.sub(r"[^\w.+-]+", "_", exact)
    if plain == exact and len(plain) <= _LONGEST_NAME:
        return plain
    return f"{plain[:_LONGEST_NAME]}-{digest(exact)[:8]}"


def _default_folder(name: str, values: Mapping[str, Any], grid: Grid) -> Path:
    """Name the folder by what is given, so that different runs lie side by side."""
    told = {k: [Path(str(v)).stem if k in _PATHS else v] for k, v in values.items()} | dict(grid)
    return Path("results") / file_name(name, *(w for k, many in told.items() for w in (k, *many)))


def _paths_here(values: Mapping[str, Any]) -> dict[str, Any]:
    """Make relative paths absolute that exist in the caller's folder."""
    return {
        k: str(Path(v).absolute()) if k in _PATHS and os.path.exists(str(v)) else v
        for k, v in values.items()
    }


def run_one(
    given: str, values: Mapping[str, Any], grid: Grid, out: Path | None, report: Report
) -> Path:
    """Execute a notebook and return the path of its first page.

    `given` is a path or the name of a chapter, `values` are its parameters; each combination of a
    `grid` is a run, and all are compared on one page. The folder is made anew; without `out` it is
    one in ``results``, named by what is given. What cannot be used is an `InputError` before
    anything runs, a cell that fails a `BuildError`.
    """
    path, root = find_notebook(given)
    original = notebook.read(path)
    check_can_run(path, original)
    source = notebook.strip(original)
    if any(notebook.INJECTED in notebook.tags(c) for c in source.cells):
        raise InputError(
            f"{path} is an executed copy, which has its values in a cell of its own; give the "
            "notebook that it was made from"
        )
    declared = notebook.parameters(source, path.stem, {*values, *(name for name, _ in grid)})
    base = check(declared, values, path.stem)
    varied = [_paths_here(row) for row in combinations(declared, grid, path.stem)]
    rows = [_paths_here(base) | row for row in varied]
    out = _default_folder(path.stem, values, grid) if out is None else out
    claim_folder(out, MARK, "an earlier run")
    if Path.cwd().is_relative_to(out.resolve()):
        raise InputError(
            f"the folder {out} is the one that you are in, or holds it, and a run makes its folder "
            f"anew; name another, for example --out {path.stem}-run"
        )
    secret = any(row.get("table") for row in rows)
    beside = out.resolve().with_name(f"{out.resolve().name}.failed.ipynb")
    cache = root / "book" / "_generated" / "notebooks"
    keeps = os.access(next(p for p in cache.parents if p.exists()), os.W_OK | os.X_OK)
    with contextlib.ExitStack() as stack:
        kept = cache
        stack.enter_context(stopping_politely())
        if secret or not keeps or not _only_the_book(path, root, rows):
            # Kept for this run alone: what the notebook reads may change without a trace in the
            # notebook; and nobody else may read what comes of a true table.
            home = cache.parent if keeps else out.resolve().parent  # the checkout may be read-only
            home.mkdir(parents=True, exist_ok=True)
            kept, _ = stack.enter_context(watched_folder(home, ".run-"))
        try:
            chapters = [Chapter(path, source, row) for row in rows]
            runs = [run for c in chapters for run in run_all(root, [c], kept, Folders(), report)]
        except BuildError:
            failed = kept / f"{path.stem}.failed.ipynb"
            if failed.is_file() and not secret:
                beside.parent.mkdir(parents=True, exist_ok=True)
                report(f"the notebook as far as it came: {shutil.move(failed, beside)}")
            raise
        try:
            page = _write(root, out, runs, varied, secret, report)
        except (BuildError, InputError, OSError):
            raise
        except Exception as error:
            raise BuildError(
                f"notebook {path.stem!r} ran, but no page could be made of it: "
                f"{type(error).__name__}: {' '.join(str(error).split())}"
            ) from error
    beside.unlink(missing_ok=True)
    if secret:
        report(f"{out} is CONFIDENTIAL: computed from the true table; only you can read it")
    return page


def _only_the_book(path: Path, root: Path, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether a run depends on the book and the package alone, so that it may be kept."""
    texts = [v for row in rows for v in row.values() if isinstance(v, str) and v]
    given = any(os.path.exists(v) or os.path.exists(path.parent / v) for v in texts)
    return path in [p.resolve() for p in notebook_paths(root)] and not given


def _write(
    root: Path,
    out: Path,
    runs: Sequence[Run],
    varied: Sequence[Mapping[str, Any]],
    secret: bool,
    report: Report,
) -> Path:
    """Write the executed notebooks and their pages, whole or not at all; return the first page."""
    out = out.resolve() if out.is_symlink() else out
    out.parent.mkdir(parents=True, exist_ok=True)
    with watched_folder(out.parent, ".unfinished-") as (home, _):
        draft = home / "out"
        draft.mkdir()
        for run, row in zip(runs, varied, strict=True):
            name = file_name(run.name, *itertools.chain(*row.items())) if row else run.name
            shutil.copyfile(run.path, draft / f"{name}.ipynb")
        page = f"{_pages(root, runs, varied, home / 'book')}.html"
        html = book_site.run_builder(home / "book", home / "site", strict=False)
        (html / "index.html").write_text(book_site.redirect(urllib.parse.quote(page)), "utf-8")
        html.rename(draft / "html")
        (draft / MARK).write_text("made by microdata-price run\n", encoding="utf-8")
        if secret:
            draft.chmod(0o700)
        if out.exists():
            report(f"replacing the earlier run in {out}")
        with deferred_stop():  # stopped here, the folder is the earlier run or this one, whole
            if out.exists():
                out.rename(home / "earlier")
            draft.rename(out)
    return out / "html" / page


def _pages(
    root: Path, runs: Sequence[Run], varied: Sequence[Mapping[str, Any]], target: Path
) -> str:
    """Stage the notebook, what it refers to, and the comparison of several runs."""
    first = f"notebooks/{runs[0].name}"
    stage_notebooks(root, Edition(), runs[:1], {runs[0].name: notebook.read(runs[0].path)}, target)
    prose = [e for e in toc_entries(root) if e.startswith("reference/") and e != COMPUTED]
    texts = {e: target / f"{e}.md" for e in prose if (target / f"{e}.md").is_file()}
    pages = [e for e, path in texts.items() if "{{ " not in path.read_text(encoding="utf-8")]
    pages.append(COMPUTED)
    if len(runs) > 1:
        text, pictures = comparison(runs, varied)
        pages.insert(0, first)
        first = "comparison"
        (target / "comparison.md").write_text(text, encoding="utf-8")
        (target / "images").mkdir(exist_ok=True)
        for name, body in pictures.items():
            (target / "images" / name).write_bytes(body)
    toc = {"format": "jb-book", "root": first, "chapters": [{"file": p} for p in pages]}
    (target / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    config = site_config(root, f"{runs[0].name}, run alone")
    (target / "_config.yml").write_text(config, encoding="utf-8")
    return first
