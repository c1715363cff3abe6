"""Run notebooks with papermill, two at a time, and keep what has not changed."""

from __future__ import annotations

import datetime
import json
import logging
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..base.files import write_whole
from ..base.provenance import code_key, digest, digest_files, digest_json, versions
from ..base.threads import ONE_THREAD
from ..exceptions import BuildError
from . import notebook
from .parameters import TAG
from .plan import Chapter

AT_A_TIME = 2
_KERNEL = "microdata-price"

Report = Callable[[str], None]


@dataclass(frozen=True)
class Run:
    """An executed notebook and how it came about."""

    name: str
    path: Path
    seconds: float
    when: str
    values: dict[str, Any]
    versions: dict[str, str]


_LONGEST_FOLDER = 50
"""Characters: with a kernel's own name a socket's path stays below the 104 that systems allow."""
_NO_EXIT = (
    "get_ipython().ask_exit = lambda: (_ for _ in ()).throw("
    "SystemExit('it calls exit(), which ends the kernel; leave it out'))"
)
"""Left to itself the kernel ends some moments later, in whichever cell is running then."""


@contextmanager
def kernel() -> Iterator[str]:
    """Offer Jupyter a kernel that is this very Python, with one thread, and yield its name.

    A kernel called ``python3`` in the user's own folders may be any other Python.
    """
    with tempfile.TemporaryDirectory(prefix="microdata-price-kernel-") as home:
        folder = Path(home) / "kernels" / _KERNEL
        folder.mkdir(parents=True)
        spec = {
            "argv": [
                sys.executable,
                "-m",
                "ipykernel_launcher",
                # A kernel that is stopped logs it as an error; errors of cells come otherwise.
                "--log-level=CRITICAL",
                f"--IPKernelApp.exec_lines={_NO_EXIT}",
                "-f",
                "{connection_file}",
            ],
            "display_name": "Python 3",
            "language": "python",
            # The caller's backend of matplotlib, without a window, would lose plots in silence.
            "env": {
                **ONE_THREAD,
                "PYTHONHASHSEED": "0",
                "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            },
        }
        (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
        given = os.environ.get("JUPYTER_PATH")
        places = {
            "JUPYTER_PATH": os.pathsep.join([home, *([given] if given else [])]),
            "JUPYTER_RUNTIME_DIR": home,
        }
        before = {name: os.environ.get(name) for name in places}
        os.environ.update(places)
        try:
            yield _KERNEL
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def _connection() -> dict[str, Any]:
    """Return how Jupyter is to talk to a kernel: by files of its folder, where they may be so long.

    Two notebooks that start at once may be given the same free port, and one of them dies; likewise
    the same file, unless each has a name of its own.
    """
    folder = os.environ.get("JUPYTER_RUNTIME_DIR", "")
    if os.name != "posix" or not folder or len(folder) > _LONGEST_FOLDER:
        return {}
    own = f"{folder}/{uuid.uuid4().hex[:12]}"
    return {
        "KernelManager": {"transport": "ipc", "ip": f"{own}-ipc", "connection_file": f"{own}.json"}
    }


def chapter_key(root: Path, chapter: Chapter, folder_keys: Mapping[str, str]) -> str:
    """Return the hash of all that a notebook's results depend on."""
    code = [notebook.python_only(c.source) for c in chapter.source.cells if c.cell_type == "code"]
    loaded = re.findall(
        r"^%load_ext ([\w.]+)", "\n".join(c.source for c in chapter.source.cells), re.M
    )
    code += [f"import {module}" for module in loaded]
    return digest(
        digest_json([[c.cell_type, c.source, notebook.tags(c)] for c in chapter.source.cells]),
        digest_json(chapter.values),
        digest_json({name: folder_keys[name] for name in chapter.folders}),
        digest_files(_beside(chapter.path.parent), chapter.path.parent),
        code_key(root, code),
    )


def _beside(folder: Path) -> list[Path]:
    """Return what a notebook may read beside it: data, modules of its own."""
    return [
        p
        for p in folder.rglob("*")
        if p.is_file()
        and p.suffix not in (".ipynb", ".pyc")
        and not any(part.startswith(".") for part in p.relative_to(folder).parts)
    ]


def _execute(chapter: Chapter, folders: Mapping[str, Path], draft: Path, kernel_name: str) -> None:
    import papermill
    from papermill.exceptions import PapermillExecutionError
    from traitlets.config import Config

    logging.getLogger("papermill").setLevel(logging.CRITICAL)  # failures are told once, below
    values = {**chapter.values, **{name: str(folders[name]) for name in chapter.folders}}
    # Under a plain name and in one form, however the notebook is named and written.
    plain = draft.with_name(f"plain-{draft.name}")
    notebook.write(_to_run(chapter), plain)
    try:
        papermill.execute_notebook(
            str(plain),
            str(draft),
            parameters=values,
            kernel_name=kernel_name,
            cwd=str(chapter.path.parent),
            progress_bar=False,
            config=Config(_connection()),
        )
    except PapermillExecutionError as error:
        raise BuildError(_where_it_failed(chapter, str(error.source), _said(error))) from None
    except Exception as error:
        # Not the cell but what runs it: the kernel died or was lost.
        running = _running(draft)
        what = (
            "the kernel ended while it ran, killed perhaps for want of memory, or by the cell "
            "itself"
            if "Dead" in type(error).__name__ or "died" in str(error)
            else f"{type(error).__name__}: {' '.join(str(error).split())}"
        )
        if running is None:
            raise BuildError(f"notebook {chapter.name!r} failed before its cells: {what}") from None
        raise BuildError(_where_it_failed(chapter, running, what)) from None
    finally:
        plain.unlink()
    _check_all_ran(chapter, draft)


def _to_run(chapter: Chapter) -> notebook.Notebook:
    """Return a notebook in which the values are put after its cell of parameters.

    Papermill puts them after the first cell with that tag, text included, where what follows would
    overwrite them without a word.
    """
    made = notebook.read(chapter.path)
    for cell in made.cells:
        if cell.cell_type != "code" and TAG in notebook.tags(cell):
            cell.metadata["tags"] = [t for t in notebook.tags(cell) if t != TAG]
    return made


def _said(error: Any) -> str:
    """Return what a cell's error says; an ``assert`` or a ``raise`` may leave it no words."""
    if str(error.evalue).strip():
        return f"{error.ename}: {error.evalue}"
    if error.ename in ("CellExecutionError", "<Error>"):
        return "it could not be run (no such magic, perhaps)"
    return f"{error.ename}, without a message"


def _check_all_ran(chapter: Chapter, draft: Path) -> None:
    """Refuse a run that `sys.exit()` cut short: papermill takes it for a whole one."""
    cells = [c for c in notebook.read(draft).cells if c.cell_type == "code" and c.source.strip()]
    for cell in cells[:-1]:
        if any(o.output_type == "error" for o in cell.outputs):
            what = "it ends the run (SystemExit), so that the cells after it were not run"
            raise BuildError(_where_it_failed(chapter, str(cell.source), what))


def _running(draft: Path) -> str | None:
    """Return the source of the cell at which a run was cut off."""
    if not draft.is_file():
        return None
    for cell in notebook.read(draft).cells:
        answered = "shell.execute_reply" in cell.metadata.get("execution", {})
        if cell.cell_type == "code" and cell.source.strip() and not answered:
            return str(cell.source)
    return None


def _where_it_failed(chapter: Chapter, source: str, what: str) -> str:
    """Name the notebook, the cell as its author counts it, its first line and what happened."""
    lines = [line for line in source.splitlines() if line.strip()]
    first = lines[0] if lines else "(empty)"
    position = next(
        (i for i, c in enumerate(chapter.source.cells, 1) if c.source.strip() == source.strip()),
        None,
    )
    cell = f"cell {position}" if position else "a cell"
    return (
        f"notebook {chapter.name!r} failed in {cell} (of all cells, text included), which begins "
        f"{first!r}: {what}"
    )


def _cached(folder: Path) -> Run | None:
    """Return what the same code, data and values gave before."""
    record, executed = folder / "run.json", folder / "executed.ipynb"
    if record.is_file() and executed.is_file():
        return Run(path=executed, **json.loads(record.read_text(encoding="utf-8")))
    return None


def _compute(chapter: Chapter, folders: Mapping[str, Path], folder: Path, kernel_name: str) -> Run:
    """Execute one notebook into its folder of the cache.

    Where a cell raises, the notebook as far as it came is kept two folders up.
    """
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f"draft-{os.getpid()}.ipynb"  # another build may be at the same notebook
    failed = folder.parents[1] / f"{chapter.name}.failed.ipynb"
    start = time.perf_counter()
    try:
        _execute(chapter, folders, draft, kernel_name)
    except BuildError:
        if draft.is_file():
            draft.replace(failed)
        raise
    declared = notebook.parameters(chapter.source, chapter.name, chapter.values)
    values = {n: chapter.values.get(n, p.default) for n, p in declared.items()}
    run = Run(
        chapter.name,
        folder / "executed.ipynb",
        round(time.perf_counter() - start, 1),
        datetime.datetime.now(datetime.UTC).date().isoformat(),
        {n: v for n, v in values.items() if n not in chapter.folders},
        versions(),
    )
    draft.replace(run.path)
    facts = {k: v for k, v in asdict(run).items() if k != "path"}
    write_whole(folder / "run.json", json.dumps(facts))
    failed.unlink(missing_ok=True)
    return run


@contextmanager
def _ended(pool: ProcessPoolExecutor) -> Iterator[None]:
    """Wait for a pool's work; where the block fails or is stopped, end its processes at once."""
    try:
        yield
        pool.shutdown()
    except BaseException:
        for process in list(pool._processes.values()):
            process.kill()
        pool.shutdown(cancel_futures=True)
        raise


def _end_with(parent: int, temporary: Path | None) -> None:
    """End this process soon after the one that started it, however that ended.

    Its kernels end with it. A folder that was temporary goes, too: it may hold what was computed
    from a confidential table.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_all(
    root: Path,
    chapters: Sequence[Chapter],
    cache: Path,
    folders: Mapping[str, Path],
    folder_keys: Mapping[str, str],
    report: Report,
) -> list[Run]:
    """Execute the notebooks that changed, two at a time; return all, in the book's order."""
    places = [cache / c.name / chapter_key(root, c, folder_keys) for c in chapters]
    cached = {c.name: _cached(place) for c, place in zip(chapters, places, strict=True)}
    found = {name: run for name, run in cached.items() if run is not None}
    todo = [(c, p) for c, p in zip(chapters, places, strict=True) if c.name not in found]
    if found:
        names = ", ".join(c.name for c in chapters if c.name in found)
        report(f"taken from an earlier run of the same code, data and values: {names}")
    failures: list[str] = []
    if todo:
        # Processes, not threads: each has an event loop of its own, and a notebook that kills its
        # process does not take the others along.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(
            min(AT_A_TIME, len(todo)),
            mp_context=context,
            initializer=_end_with,
            initargs=(os.getpid(), cache if cache.name.startswith(".") else None),
        )
        with kernel() as name, _ended(pool):
            jobs = {pool.submit(_compute, c, dict(folders), p, name): c for c, p in todo}
            for job in as_completed(jobs):
                chapter = jobs[job]
                try:
                    run = job.result()
                except (BuildError, BrokenProcessPool) as error:
                    ended = f"notebook {chapter.name!r}: the process that ran it ended"
                    failures.append(str(error) if isinstance(error, BuildError) else ended)
                    report(f"notebook {chapter.name}: failed")
                else:
                    found[chapter.name] = run
                    report(f"notebook {chapter.name}: {run.seconds:.0f} s")
    if failures:
        raise BuildError("\n".join(failures))
    return [found[c.name] for c in chapters]
