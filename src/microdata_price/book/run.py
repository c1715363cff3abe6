"""Run notebooks with papermill, two at a time, and keep what has not changed."""

from __future__ import annotations

import copy
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat

from ..base.provenance import PACKAGE, code_files, code_key, digest, digest_files, digest_json
from ..exceptions import BuildError, InputError
from . import notebook
from .kernel import kernels
from .parameters import TAG
from .plain import verbatim
from .plan import Chapter, in_words

AT_A_TIME = 2
_WRITTEN_OVER = re.compile(r"^.*\r(?=[^\n])", re.MULTILINE)  # as a bar of progress is
_FEW = 3  # with fewer notebooks fresh Pythons start sooner than one that imports for all
Report = Callable[[str], None]
Paths = Mapping[str, Path]  # of computed results, by parameter


@dataclass(frozen=True)
class Run:
    """An executed notebook and how it came about."""

    name: str
    path: Path
    seconds: float
    when: str
    values: dict[str, Any]

    @cached_property
    def executed(self) -> notebook.Notebook:
        """The notebook with its results."""
        return notebook.read(self.path)

    @property
    def title(self) -> str:
        """Its first heading; without one its name."""
        return next(iter(notebook.headings(self.executed.cells)), verbatim(self.name))

    @property
    def own_cells(self) -> list[notebook.Notebook]:
        """Its cells without that of the values that were put in."""
        return [c for c in self.executed.cells if notebook.INJECTED not in notebook.tags(c)]

    @property
    def complaints(self) -> list[str]:
        """What its cells wrote to standard error, a line each."""
        return [
            f"notebook {self.name!r}, cell {count} (of all cells, text included) writes to "
            f"standard error: {' '.join(output.text.split())[:300]}"
            for count, cell in enumerate(self.own_cells, 1)
            for output in cell.get("outputs", [])
            if output.get("name") == "stderr"
        ]


def _code(chapter: Chapter) -> list[str]:
    """Return a notebook's Python; an extension that it loads is an import."""
    sources = [c.source for c in chapter.source.cells if c.cell_type == "code"]
    loaded = re.findall(r"^%load_ext ([\w.]+)", "\n".join(sources), re.MULTILINE)
    return [*map(notebook.python_only, sources), *(f"import {module}" for module in loaded)]


def chapter_key(root: Path, chapter: Chapter, folders: Paths) -> str:
    """Return the hash of all that a notebook's results depend on, its plain text not."""
    here = chapter.path.parent
    beside = [  # what it may read there: data, modules of its own
        path
        for path in here.rglob("*")
        if path.is_file() and path.suffix not in (".ipynb", ".pyc")
        if not any(part.startswith(".") for part in path.relative_to(here).parts)
    ]
    code = [c for c in chapter.source.cells if c.cell_type == "code"]
    return digest(
        digest_json([[c.source, notebook.tags(c)] for c in code]),
        digest_json(chapter.values),
        digest_json({name: folders[name].name for name in chapter.folders}),
        digest_files(beside, here),
        code_key(root, _code(chapter)),
    )


def _said(error: Exception) -> str:
    """Say what stopped a notebook: a cell's error, or that of what runs it."""
    from papermill.exceptions import PapermillExecutionError

    name, words = type(error).__name__, " ".join(str(error).split())
    if isinstance(error, PapermillExecutionError):  # with the cell's own
        name, words = error.ename, str(error.evalue)
    if "Dead" in name or "died" in words:
        return "the kernel ended while it ran, killed perhaps for want of memory, or by the cell"
    if name in ("CellExecutionError", "<Error>") and not words.strip():
        return "it could not be run (no such magic, perhaps)"
    return f"{name}: {words}" if words.strip() else f"{name}, without a message"


def _stopped(cell: notebook.Notebook) -> bool:
    """Say whether an executed cell of code raised an error, or got no answer."""
    return (
        any(output.output_type == "error" for output in cell.outputs)
        or cell.metadata.get("papermill", {}).get("exception") is True
        or "shell.execute_reply" not in cell.metadata.get("execution", {})
    )


def _join_streams(cell: notebook.Notebook, **_told: Any) -> None:
    """Join what a cell printed, which time cuts into pieces (Jupyter does it slowly)."""
    streams = [o for o in cell.outputs if o.output_type == "stream"]
    first = cell.outputs.index(streams[0]) if streams else 0
    cell.outputs = [o for o in cell.outputs if o.output_type != "stream"]
    for name in ("stderr", "stdout"):  # time decides, too, which of them comes first
        if text := "".join(s.text for s in streams if s.name == name):
            whole = _WRITTEN_OVER.sub("", text)
            cell.outputs.insert(first, nbformat.v4.new_output("stream", name=name, text=whole))


def _execute(chapter: Chapter, values: Mapping[str, Any], draft: Path, manager: Any) -> None:
    """Execute a notebook into a draft; an error names the cell that failed and what it said."""
    import papermill
    from jupyter_core.utils import ensure_event_loop

    logging.getLogger("papermill").setLevel(logging.CRITICAL)  # failures are told once, below
    made = copy.deepcopy(chapter.source)  # not the file of now, which may have been saved since
    # Papermill puts values after the first cell with this tag, text included, where what follows
    # would overwrite them without a word.
    for cell in (c for c in made.cells if c.cell_type != "code"):
        cell.metadata["tags"] = [t for t in notebook.tags(cell) if t != TAG]
    loop, said = ensure_event_loop(), ""  # this thread's, which Jupyter would leave open
    try:
        papermill.execute_notebook(
            made,
            re.sub(r"([{}])", r"\1\1", str(draft)),  # papermill fills in what is in braces
            parameters=dict(values),
            kernel_name="python3",
            language="python",
            kernel_manager_class=manager,
            progress_bar=False,
            iopub_timeout=600,  # seconds that a busy machine may take to send a cell's last output
            on_cell_executed=_join_streams,
        )
    except Exception as error:
        said = _said(error)
    finally:
        loop.close()
    cells = notebook.read(draft).cells if draft.is_file() else []
    put_in = {notebook.INJECTED, "papermill-error-cell-tag"}
    own = enumerate((c for c in cells if not put_in & {*notebook.tags(c)}), 1)
    code = [(k, c) for k, c in own if c.cell_type == "code" and c.source.strip()]
    run = [(k, c) for k, c in code if "skip-execution" not in notebook.tags(c)]
    stopped = [(k, c) for k, c in run if _stopped(c)]
    if not said and stopped in ([], run[-1:]):
        return
    if not stopped:
        raise BuildError(f"notebook {chapter.name!r} failed in no cell of its own: {said}")
    position, cell = stopped[0]
    if said.startswith(kind := f"{InputError.__name__}: "):  # a value that only a cell can judge
        at = f" with {in_words(chapter.values)}" if chapter.values else ""
        raise InputError(f"{chapter.name}, cell {position}{at}: {said.removeprefix(kind)}")
    said = said or "it ends the run (SystemExit), so that the cells after it were not run"
    begins = cell.source.strip().splitlines()[0]
    place = f"cell {position} (of all cells, text included), which begins {begins!r}"
    raise BuildError(f"notebook {chapter.name!r} failed in {place}: {said}")


def _compute(chapter: Chapter, folders: Paths, place: Path, manager: Any) -> Run:
    """Execute one notebook into its place in the cache; one that fails is kept two folders up."""
    place.mkdir(parents=True, exist_ok=True)
    draft = place / f"draft-{os.getpid()}.ipynb"  # another build may be at the same notebook
    given = {**chapter.values, **{name: str(folders[name]) for name in chapter.folders}}
    try:
        _execute(chapter, given, draft, manager)
    except (BuildError, InputError):
        if draft.is_file():
            draft.replace(place.parents[1] / f"{chapter.name}.failed.ipynb")
        raise
    draft.replace(place / "executed.ipynb")
    return _kept(chapter, place)


def _kept(chapter: Chapter, place: Path) -> Run:
    """Return what the same code, data and values gave, amid the chapter's text and tags."""
    path = place / "executed.ipynb"
    told = notebook.read(path)
    code = [c for c in told.cells if c.cell_type == "code"]
    told.cells = []
    for cell in chapter.source.cells:
        told.cells.append(code.pop(0) if cell.cell_type == "code" else cell)
        if code and notebook.INJECTED in notebook.tags(code[0]):
            told.cells.append(code.pop(0))
    notebook.write(told, path)
    declared = notebook.parameters(chapter.source, chapter.name, chapter.values)
    own = {n: p.default for n, p in declared.items() if n not in chapter.folders}
    how = told.metadata.papermill
    return Run(chapter.name, path, round(how.duration, 1), how.end_time[:10], own | chapter.values)


def run_all(
    root: Path, chapters: Sequence[Chapter], cache: Path, folders: Paths, report: Report
) -> list[Run]:
    """Execute the notebooks that changed, two at a time; return all, in the book's order."""
    places = {c.name: cache / c.name / chapter_key(root, c, folders) for c in chapters}
    found = dict[str, Run]()
    for chapter in chapters:
        # What is not there, cannot be used as after a crash, or complains is computed anew.
        with suppress(InputError, LookupError, AttributeError):
            if not (kept := _kept(chapter, places[chapter.name])).complaints:
                found[chapter.name] = kept
        (cache / f"{chapter.name}.failed.ipynb").unlink(missing_ok=True)
    todo = [c for c in chapters if c.name not in found]
    if found:
        report(f"taken from an earlier run of the same code, data and values: {', '.join(found)}")
    if not todo:
        return [found[c.name] for c in chapters]
    package, failures = root / "src" / PACKAGE, list[BuildError | InputError]()
    used = code_files(package, [line for c in todo for line in _code(c)])
    modules = [p.relative_to(package.parent).with_suffix("").parts for p in used]
    preload = [".".join(m).removesuffix(".__init__") for m in modules if len(todo) >= _FEW]
    with ThreadPoolExecutor(AT_A_TIME) as pool, kernels(todo[0].path.parent, preload) as manager:
        jobs = {pool.submit(_compute, c, folders, places[c.name], manager): c for c in todo}
        try:
            for job in as_completed(jobs):
                name = jobs[job].name
                try:
                    found[name] = job.result()
                    report(f"notebook {name}: {found[name].seconds:.0f} s")
                except (BuildError, InputError) as error:
                    failures.append(error)
                    ended = "refused" if isinstance(error, InputError) else "failed"
                    report(f"notebook {name}: {ended}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if failures:
        kind = InputError if all(isinstance(e, InputError) for e in failures) else BuildError
        raise kind("\n".join(map(str, failures)))
    return [found[c.name] for c in chapters]
