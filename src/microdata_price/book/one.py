"""One notebook alone: executed at given parameters, as a notebook and as pages."""

from __future__ import annotations

import base64
import html
import itertools
import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from ..base.files import deferred_stop, stopping_politely
from ..base.provenance import digest
from ..exceptions import BuildError, InputError, find
from ..figures.picture import for_the_site
from ..model.privacy import ConcentratedDP, PureDP
from . import notebook
from . import site as book_site
from .build import COMPUTED, cache_folder, stage_notebooks
from .kernel import watched_folder
from .parameters import TAG, Parameter, Values, beyond_reading, check
from .plain import with_links
from .plan import FOLDERS, Chapter, Edition, find_root, in_words, notebook_paths, plain, toc_entries
from .run import Report, Run, run_all
from .stage import filled, outputs_told

MARK = ".microdata-price-run"
_LONGEST_NAME = 80
# Parameters that are paths: notebooks run in another folder than the one they are given in.
_PATHS = ("table", "schema", *FOLDERS)
# Links to pages with scripts and to other chapters, which are not beside what is run alone.
_AWAY = re.compile(r'<a [^>]*(?:"\.\./\w+/[^>]*>|>(?=<span class="xref myst">))(.*?)</a>')
_UNSEEN = {"record", "certificate"}  # which an output tells the builder alone
Grid = Mapping[str, Sequence[Any]]  # several values of some parameters, by name


def _find_notebook(given: str) -> tuple[Path, Path]:
    """Return a notebook's path and the checkout, from a path or the name of a chapter."""
    path = Path(given)
    if path.suffix == ".ipynb" or os.path.isfile(given):  # which passes over what is no path
        return path, find_root(path.resolve().parent)
    root = find_root()
    return find("notebook", given, {p.stem: p for p in notebook_paths(root)}), root


def _combinations(declared: Mapping[str, Parameter], grid: Grid, where: str) -> Sequence[Values]:
    """Return every combination of several values of some parameters, checked."""
    rows = itertools.product(*grid.values())
    found = [check(declared, dict(zip(grid, row, strict=True)), where) for row in rows]
    if twice := [row for i, row in enumerate(found) if row in found[:i]]:
        said = "is given twice; a comparison needs each value once"
        raise InputError(f"{where}: {in_words(twice[0])} {said}")
    return found


def _check_read(declared: Mapping[str, Parameter], chapters: Sequence[Chapter]) -> None:
    """Refuse a level that is given and that the kind of privacy of all runs does not read."""
    both = {"privacy", "epsilon", "rho"} <= {*declared}
    kinds = {str(c.values.get("privacy", declared["privacy"].default)) for c in chapters if both}
    for own, other in itertools.permutations((PureDP, ConcentratedDP)):
        if kinds == {own.kind} and other.parameter in chapters[0].values:
            said = f"{other.parameter} is not read where privacy is {own.kind!r}"
            todo = f"give {own.parameter}, or -p privacy {other.kind}"
            raise InputError(f"{chapters[0].name}: {said}; {todo}")


def file_name(*words: object) -> str:
    """Return words as a name for a file: short, without odd letters, and no other words' name."""
    parts = [plain(w) for w in words]
    exact = "-".join(parts)
    name = re.sub(r"[^\w.+-]+", "_", exact)
    sure = not any("-" in w or w != w.lower() for w in parts[1:])  # also where capitals are none
    if name == exact and sure and len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}-{digest(*parts)[:8]}"


def _paths_here(values: Values) -> dict[str, Any]:
    """Make relative paths absolute that exist in the caller's folder."""
    named = {k: str(v) for k, v in values.items() if k in _PATHS}
    return {**values, **{k: str(Path(v).absolute()) for k, v in named.items() if os.path.exists(v)}}


def _beside(place: Path, kind: str, ending: str = "") -> Path:
    """Return a name beside a run's folder that nothing has."""
    names = (f"{place.name}.{kind}{-n or ''}{ending}" for n in itertools.count())
    return next(p for p in map(place.with_name, names) if not os.path.lexists(p))


def run_one(given: str, values: Values, grid: Grid, out: Path | None, report: Report) -> Path:
    """Execute a notebook and return the path of its first page.

    `given` is a path or the name of a chapter, `values` are its parameters; each combination of a
    `grid` is a run, and all are compared on one page. The folder is made anew; without `out` it is
    one in ``results``. What cannot be used is an `InputError`, before anything runs where that is
    known; a cell that fails is a `BuildError`. A chapter's runs are kept for the next time, of
    another notebook those before a stop are put beside `out`; confidential ones are not.
    """
    path, root = _find_notebook(given)
    original = notebook.read(path)
    path = path.resolve()
    notebook.check_can_run(path, original)
    source = notebook.strip(original)
    declared = notebook.parameters(source, path.stem, {*values, *grid})
    checked = check(declared, values, path.stem)
    varied = [_paths_here(row) for row in _combinations(declared, grid, path.stem)]
    chapters = [Chapter(path, original, _paths_here(checked) | row) for row in varied]
    _check_read(declared, chapters)
    own = f"made by microdata-price run {digest(str(path), repr(checked), repr(grid))[:8]}"
    if out is None:
        told = {k: [v] for k, v in checked.items()} | {**grid}
        words = (w for name, many in told.items() for w in (name, *many))
        out = Path("results") / file_name(path.stem, *words)  # different runs lie side by side
        if out.exists() and book_site.signature(out, MARK) != own:  # of another of this name
            out = out.with_name(f"{out.name}-{own[-8:]}")
    out = out.resolve() if ".." in out.parts else out  # also of a folder that is not there
    book_site.claim(out, MARK, "an earlier run")
    if Path.cwd().is_relative_to(out.resolve()):
        said = f"you are in the folder {out} or below it, and a run replaces it whole"
        example = shlex.join(["--out", f"{path.stem}-run"])
        raise InputError(f"{said}; name another, for example {example}")
    first = [notebook.names_in(c.source)[1] for c in source.cells if TAG in notebook.tags(c)]
    # In the notebook itself, as a text or computed.
    written = declared["table"].default if "table" in declared else "table" in set().union(*first)
    secret = any(chapter.values.get("table", written) for chapter in chapters)
    place = out.resolve()
    # Of a chapter the same code, data and values give the same; what lies at a path may change.
    known = not secret and path in notebook_paths(root) and not {*_PATHS} & {*values, *grid}
    place.parent.mkdir(parents=True, exist_ok=True)
    with stopping_politely(), watched_folder(place.parent, ".unfinished-") as (home, _):
        kept, runs = (cache_folder(root, home) if known else home) / "notebooks", list[Run]()
        try:
            for chapter, row in zip(chapters, varied, strict=True):
                if row:
                    report(f"with {in_words(row)}")
                runs += run_all(root, [chapter], kept, {}, report)
                name = file_name(path.stem, *itertools.chain(*row.items())) if row else path.stem
                notebook.write(runs[-1].executed, home / "out" / f"{name}.ipynb")
            page = _write(root, home, runs, varied, own)
        except BaseException as error:
            with deferred_stop():
                failed = kept / f"{path.stem}.failed.ipynb"
                if failed.is_file() and isinstance(error, BuildError) and not secret:
                    moved = shutil.move(failed, _beside(place, "failed", ".ipynb"))
                    report(f"the notebook as far as it came: {moved}")
                failed.unlink(missing_ok=True)
                if runs and not kept.is_relative_to(home):
                    report("what ran is kept: the same command goes on from there")
                elif runs and not secret:
                    report(f"what ran is in {(home / 'out').rename(_beside(place, 'unfinished'))}")
            raise
        if secret:
            (home / "out").chmod(0o700)
        earlier = out.exists()
        book_site.put_in_place(home / "out", place, MARK, "an earlier run")
    if earlier:
        report(f"replaced the earlier run in {out}")
    if secret:
        report(f"{out} is CONFIDENTIAL: computed from the true table; only you can read it")
    return out / "html" / page


def _write(root: Path, home: Path, runs: Sequence[Run], varied: Sequence[Values], own: str) -> str:
    """Write the pages of executed notebooks beside them; return the first page's name."""
    try:
        page = f"{_pages(root, runs, varied, home / 'book')}.html"
        site = book_site.run_builder(home / "book", home / "site", strict=False)
        for path in site.rglob("*.html"):
            path.write_text(_AWAY.sub(r"\1", path.read_text("utf-8")), "utf-8")
        (site / "index.html").write_text(filled("moved.html", target=quote(page)), "utf-8")
        site.rename(home / "out" / "html")
        book_site.sign(home / "out", MARK, own)
    except (BuildError, InputError, OSError):
        raise
    except Exception as error:
        said = f"notebook {runs[0].name!r} ran, but no page could be made of it"
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise BuildError(f"{said}: {why}") from error
    return page


def _shown(output: Any, name: str, files: dict[str, bytes]) -> str:
    """Return an output as Markdown; a picture goes into a file of its own."""
    data = output.get("data", {})
    for kind, end, look in (("image/svg+xml", "svg", "computed"), ("image/png", "png", "plain")):
        if kind in data:
            svg = for_the_site(data[kind]).encode() if end == "svg" else b""
            files[f"images/{name}.{end}"] = svg or base64.b64decode(data[kind])
            alt = json.dumps(str(data.get("text/plain", "a picture")), ensure_ascii=False)
            return f"```{{image}} images/{name}.{end}\n:alt: {alt}\n:class: {look}-figure\n```"
    if marked := data.get("text/markdown") or data.get("text/latex"):
        return with_links(str(marked), "comparison")
    text = output.get("text") or data.get("text/plain") or output.get("evalue", "")
    text = data.get("text/html") or f"<pre>{html.escape(str(text))}</pre>"
    kept = re.sub(r"^[:`]", lambda m: f"&#{ord(m[0])};", str(text), flags=re.MULTILINE)
    return f"```{{raw}} html\n{kept}\n```"


def comparison(runs: Sequence[Run], varied: Sequence[Values]) -> dict[str, bytes]:
    """Return the files of the page that compares runs: every cell whose outputs differ."""
    cells = [
        [[o for of, o in outputs_told([c]) if not _UNSEEN & {*of}] for c in run.own_cells]
        for run in runs
    ]
    files: dict[str, bytes] = {}
    told = list[list[tuple[str, list[str]]]]()
    for k, outputs in enumerate(zip(*cells, strict=True)):
        if any(one != outputs[0] for one in outputs):
            told.append([])
            for i, (values, one) in enumerate(zip(varied, outputs, strict=True)):
                shown = [_shown(o, f"compare-{i}-{k}-{j}", files) for j, o in enumerate(one)]
                told[-1].append((in_words(values), shown))
    return {"comparison.md": filled("comparison.md", runs=runs, cells=told).encode(), **files}


def _pages(root: Path, runs: Sequence[Run], varied: Sequence[Values], target: Path) -> str:
    """Stage the notebook, what it refers to, and the comparison of several runs."""
    first = f"notebooks/{runs[0].name}"
    stage_notebooks(root, Edition(), runs[:1], target, {})
    prose = [e for e in toc_entries(root) if e.startswith("reference/") and e != COMPUTED]
    texts = {e: target / f"{e}.md" for e in prose if (target / f"{e}.md").is_file()}
    pages = [e for e, p in texts.items() if "{{ " not in p.read_text("utf-8")] + [COMPUTED]
    if len(runs) > 1:
        pages.insert(0, first)
        first = "comparison"
        for name, content in comparison(runs, varied).items():
            (target / name).parent.mkdir(exist_ok=True)
            (target / name).write_bytes(content)
    toc = {"format": "jb-book", "root": first, "chapters": [{"file": p} for p in pages]}
    (target / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    ours = [run for run in runs if f"notebooks/{run.name}" in toc_entries(root)]
    beyond = dict.fromkeys(beyond_reading(run.values) for run in ours)
    config = book_site.site_config(root, f"{runs[0].name}, run alone", " ".join(beyond).strip())
    (target / "_config.yml").write_text(config, encoding="utf-8")
    return first
