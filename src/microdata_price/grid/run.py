"""Experiments to one tidy table: the whole grid, a part of it, or a table of one's own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ..base.threads import one_thread
from ..exceptions import InputError
from ..fitting import check_methods, paper_methods
from ..model.benchmark import DataSet, data_set
from ..model.privacy import ConcentratedDP, PureDP
from .blocks import block_size, fit_block, tasks_of
from .folder import ERRORS, QUERIES, GridFolder, explaining_writes, read_result
from .progress import Progress, standard_error
from .spec import GridSpec, Pair, check_runs, check_workers
from .tables import Tables, combine, pair_rows, tables_of
from .workers import check_scheduler, compute


class GridInterrupted(KeyboardInterrupt):
    """The grid was interrupted from the keyboard; the message says what is kept."""


@dataclass(frozen=True, eq=False)
class GridResult:
    """A finished grid.

    Parameters
    ----------
    errors
        One row a data set, level, method, query set and metric; see `grid_table.ERROR_COLUMNS`.
    queries
        One row a query; see `grid_table.QUERY_COLUMNS`.
    folder
        Where both are kept.
    computed, reused
        Blocks computed now, and blocks that were there already.
    seconds
        How long this call took.
    """

    errors: pd.DataFrame
    queries: pd.DataFrame
    folder: Path
    computed: int
    reused: int
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
    spec
        The grid.
    out
        A new folder, or that of an earlier call for the same grid.
    workers
        Worker processes; by default one a processor. With more than one, a script must be guarded
        by ``if __name__ == "__main__":``.
    progress
        Whether to report on standard error.
    scheduler
        The address of a Dask scheduler (``tcp://host:port``), which then computes the blocks.

    Returns
    -------
    GridResult

    Raises
    ------
    InputError
        Unusable workers, folder or scheduler, or a disk without room; what is finished is kept.
    CertificateError
        A fit whose certificate misses; the message names data set, level, method and run.
    GridInterrupted
        Ctrl-C; what is finished is kept.
    GridStoppedError
        A worker died; what is finished is kept.

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
    workers = check_workers(workers)
    check_scheduler(scheduler)
    folder = GridFolder(Path(out), spec)
    with explaining_writes(folder.path):
        folder.open()
        with folder.locked():
            computed, reused = _fill(folder, workers, progress, scheduler)
    errors, queries = load_errors(folder.path), load_queries(folder.path)
    seconds = time.monotonic() - start
    return GridResult(errors, queries, folder.path, computed, reused, seconds)


def _fill(
    folder: GridFolder, workers: int, progress: bool, scheduler: str | None
) -> tuple[int, int]:
    spec = folder.spec
    by_pair = [(p, tasks_of(p, spec.methods, spec.runs, spec.seed)) for p in spec.pairs]
    tasks = [task for _, own in by_pair for task in own]
    if folder.complete:
        folder.tidy()
        return 0, len(tasks)
    there = folder.finished(tasks)
    todo = [task for task in tasks if task not in there]
    computed = 0
    try:
        stream = standard_error() if progress else None
        with Progress(len(tasks), len(there), stream) as report:
            for _ in compute(folder, todo, workers, scheduler):
                computed += 1
                report.advance()
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
        tables = tables_of(parts)
        folder.write_results(tables.errors, tables.queries)
        folder.tidy()
    except KeyboardInterrupt:
        raise GridInterrupted(
            f"interrupted; {len(folder.finished(tasks))} of {len(tasks)} blocks are kept in "
            f"{folder.path}: run the same command again, and it goes on from there"
        ) from None
    return computed, len(there)


def load_errors(folder: str | Path) -> pd.DataFrame:
    """Read a finished grid's expected errors.

    Raises
    ------
    InputError
        No folder, or one that has none; the message says how to compute them.

    Examples
    --------
    >>> load_errors("")
    Traceback (most recent call last):
        ...
    microdata_price.exceptions.InputError: this notebook needs a computed grid: microdata-price \
grid --out results/grid, then -p grid_dir /absolute/path/results/grid, or -p published_dir where \
that is the parameter's name (make book and microdata-price run pass both by themselves)
    """
    return read_result(folder, ERRORS)


def load_queries(folder: str | Path) -> pd.DataFrame:
    """Read a finished grid's errors of every single query.

    Raises
    ------
    InputError
        No folder, or one that has none; the message says how to compute them.
    """
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

    Parameters
    ----------
    data
        A data set of the benchmark, or ``DataSet("name", "own", table, workload)``.
    guarantee
        The privacy level.
    methods
        Which methods.
    runs
        How many runs.
    rng
        The random stream.

    Returns
    -------
    Tables
        Tidy tables with the columns of the grid's.

    Raises
    ------
    InputError
        An unknown method, or no whole number of runs.
    CertificateError
        As for `run_grid`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> tables = evaluate(data_set("Stair-1d"), PureDP(0.5), ("ols",), runs=30, rng=rng)
    >>> tables.queries.shape[0]
    101
    """
    check_methods(methods)
    runs = check_runs(runs)
    size = block_size(data.workload)
    place = Pair(data.name, guarantee).place
    with one_thread():
        blocks = [
            fit_block(data, guarantee, methods, rng, min(size, runs - first), place, first)
            for first in range(0, runs, size)
        ]
    return tables_of([pair_rows(data, guarantee, tuple(methods), combine(blocks))])
