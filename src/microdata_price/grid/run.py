"""Experiments to one tidy table: the whole grid, a part of it, or a table of one's own."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import pandas as pd
from tqdm import tqdm

from ..base.threads import one_thread
from ..exceptions import InputError
from ..fitting import check_methods, paper_methods
from ..model.benchmark import DataSet, data_set
from ..model.privacy import ConcentratedDP, PureDP, check_guarantee
from .blocks import block_size, fit_block, tasks_of
from .folder import ERRORS, QUERIES, GridFolder, read_result
from .spec import GridSpec, Pair, check_runs, check_workers
from .tables import Tables, combine, pair_rows, tables_of
from .workers import Crew, check_scheduler, cluster_at, compute

_EVERY = 10.0  # seconds between two plain lines of progress


class GridInterrupted(KeyboardInterrupt):
    """The grid was interrupted from the keyboard; the message says what is kept."""


@dataclass(frozen=True, eq=False)
class GridResult:
    """A finished grid; the columns are `tables.ERROR_COLUMNS` and `tables.QUERY_COLUMNS`."""

    errors: pd.DataFrame  # one row a data set, level, method, query set and metric
    queries: pd.DataFrame  # one row a query
    folder: Path  # where both are kept
    computed: int  # blocks computed now,
    reused: int  # and blocks that were there already
    seconds: float


def run_grid(
    spec: GridSpec,
    out: str | Path,
    workers: int | None = None,
    progress: bool = False,
    scheduler: str | None = None,
) -> GridResult:
    """Compute a grid into a folder, or go on where an earlier call had to stop.

    Every finished block of runs is saved at once. The numbers depend on the grid alone: not on the
    workers, on interruptions, or on which larger grid it is a part of.

    Parameters
    ----------
    out
        A new folder, or that of an earlier call for the same grid.
    workers
        Worker processes; by default one a processor, and none beside a scheduler. With more than
        one, a script must be guarded by ``if __name__ == "__main__":``.
    progress
        Whether to report on standard error.
    scheduler
        The address of a Dask scheduler (``tcp://host:port``), whose workers then compute.

    Raises
    ------
    InputError
        Unusable workers, folder or scheduler, or a disk without room; what is finished is kept.
    CertificateError
        A fit whose certificate misses; the message names data set, level, method and run.
    GridInterrupted, GridStoppedError
        Ctrl-C, or a worker died; what is finished is kept.

    Examples
    --------
    >>> import tempfile
    >>> spec = GridSpec.choose(datasets=["Level00-1d"], epsilon=[0.5], methods=["ols"], runs=20)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = run_grid(spec, folder, workers=1)
    >>> result.errors[["query_set", "metric", "exact"]].round(3).values.tolist()
    [['sum', 'total', 31.683], ['identity', 'total', 3168.317], ['identity', 'max', 31.683]]
    """
    start = time.monotonic()
    check_scheduler(scheduler, workers)
    workers = check_workers(workers)
    folder = GridFolder(Path(out), spec)
    address = None if folder.complete else scheduler
    found = cluster_at(address) if address else contextlib.nullcontext()
    with found as cluster, folder.claimed():  # what no cluster can compute has no folder
        computed, reused = _fill(folder, workers, sys.stderr if progress else None, cluster)
    errors, queries = load_errors(folder.path), load_queries(folder.path)
    return GridResult(errors, queries, folder.path, computed, reused, time.monotonic() - start)


def _fill(
    folder: GridFolder, workers: int, stream: TextIO | None, cluster: Crew | None
) -> tuple[int, int]:
    spec = folder.spec
    by_pair = [(p, tasks_of(p, spec.methods, spec.runs, spec.seed)) for p in spec.pairs]
    tasks = [task for _, own in by_pair for task in own]
    if folder.complete:
        folder.tidy()
        return 0, len(tasks)
    there = folder.finished(tasks)
    todo = [task for task in tasks if task not in there]
    try:
        with progress(len(tasks), len(there), stream) as advance:
            for _ in compute(folder, todo, workers, cluster):
                advance()
        parts = []
        for pair, own in by_pair:
            blocks = [block for block in map(folder.load, own) if block is not None]
            if len(blocks) != len(own):
                raise InputError(
                    f"blocks of {pair.place} have vanished from {folder.path} while the grid was "
                    "computed; leave the folder alone and run the same command again"
                )
            data = data_set(pair.dataset)
            parts.append(pair_rows(data, pair.guarantee, spec.methods, combine(blocks)))
        folder.write_results(*tables_of(parts))
        folder.tidy()
    except KeyboardInterrupt:
        raise GridInterrupted(
            f"interrupted; {len(folder.finished(tasks))} of {len(tasks)} blocks are kept in "
            f"{folder.path}: run the same command again, and it goes on from there"
        ) from None
    return len(todo), len(there)


@contextlib.contextmanager
def progress(total: int, before: int, stream: TextIO | None) -> Iterator[Callable[[], object]]:
    """Report finished blocks: a bar with the time left on a terminal, plain lines elsewhere."""
    if stream is None:
        yield lambda: None
        return
    if stream.isatty():
        shown = {"unit": "block", "desc": "grid", "dynamic_ncols": True}
        with tqdm(total=total, initial=before, file=stream, **shown) as bar:
            yield bar.update
        return

    done, start = before, time.monotonic()
    said = start

    def say(text: str) -> None:
        print(f"grid: {text}", file=stream, flush=True)

    def advance() -> None:
        nonlocal done, said
        done, now = done + 1, time.monotonic()
        if done == total or now - said >= _EVERY:
            said = now
            left = (now - start) / (done - before) * (total - done)
            tail = f"about {left:.0f} s left" if done < total else f"{now - start:.0f} s"
            say(f"{done} of {total} blocks ({100 * done // total} %), {tail}")

    if before:
        say(f"{before} of {total} blocks are there already")
    yield advance


def load_errors(folder: str | Path) -> pd.DataFrame:
    """Read a finished grid's expected errors, or say how to compute them."""
    return read_result(folder, ERRORS)


def load_queries(folder: str | Path) -> pd.DataFrame:
    """Read a finished grid's errors of every single query, or say how to compute them."""
    return read_result(folder, QUERIES)


def evaluate(
    data: DataSet,
    guarantee: PureDP | ConcentratedDP,
    methods: tuple[str, ...] = tuple(paper_methods()),
    *,
    runs: int,
    rng: np.random.Generator,
) -> Tables:
    """Estimate the expected errors on one table, in this process and in memory only.

    The table is a data set of the benchmark, or ``DataSet("name", "own", table, workload)``; the
    result's columns are those of a grid.

    Raises
    ------
    InputError
        An unknown method, no whole number of runs, or noise that rounding would drown.
    CertificateError
        As for `run_grid`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> tables = evaluate(data_set("Stair-1d"), PureDP(0.5), ("ols",), runs=30, rng=rng)
    >>> tables.queries.shape[0]
    101
    """
    runs, methods, size = check_runs(runs), check_methods(methods), block_size(data.workload)
    place = Pair(data.name, check_guarantee(guarantee, PureDP, ConcentratedDP)).place
    with one_thread():
        blocks = [
            fit_block(data, guarantee, methods, rng, min(size, runs - first), place, first)
            for first in range(0, runs, size)
        ]
    return tables_of([pair_rows(data, guarantee, methods, combine(blocks))])
