"""Who computes the blocks: this process, worker processes, or a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import re
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from threadpoolctl import threadpool_limits

from .exceptions import CertificateError, InputError
from .grid_blocks import BlockResult, Task, run_block
from .grid_code import fingerprint

Result = tuple[Task, BlockResult]

SCHEDULER_PATIENCE = 5
"""Seconds to wait for a scheduler to answer."""


class GridStoppedError(RuntimeError):
    """The grid could not go on for a reason outside it; what is finished is kept."""


def compute_block(task: Task) -> tuple[BlockResult, dict[str, str]]:
    """Compute a block, and say which code did it."""
    return run_block(task), fingerprint()


def _with_one_thread(task: Task) -> tuple[BlockResult, dict[str, str]]:
    """Compute a block in a process that is not ours and keeps its own number of threads."""
    with threadpool_limits(limits=1):
        return compute_block(task)


def _checked(task: Task, answer: tuple[BlockResult, dict[str, str]]) -> Result:
    result, made_by = answer
    if made_by != fingerprint():
        raise InputError(
            "a worker runs other code, data or library versions than this process; give both the "
            "same, and run the same command again"
        )
    return task, result


def compute(tasks: Sequence[Task], workers: int, scheduler: str | None) -> Iterator[Result]:
    """Compute blocks and yield each when it is ready, in any order.

    Parameters
    ----------
    tasks
        What to compute.
    workers
        Processes on this machine; with 1 this process does the work itself.
    scheduler
        The address of a Dask scheduler, which then does the work instead.

    Raises
    ------
    InputError
        A scheduler that cannot be used.
    CertificateError
        As for `run_block`; no further block is started.
    GridStoppedError
        A worker process died.
    """
    if not tasks:
        return
    if scheduler is not None:
        yield from _on_cluster(tasks, scheduler)
    elif min(workers, len(tasks)) == 1:
        with threadpool_limits(limits=1):
            for task in tasks:
                yield _checked(task, compute_block(task))
    else:
        yield from _in_processes(tasks, min(workers, len(tasks)))


def _start_worker() -> None:
    """Use one linear-algebra thread, and end when the starting process is gone, even by a kill."""
    # Several threads may add in another order, and the processors are taken by the workers.
    threadpool_limits(limits=1)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            multiprocessing.connection.wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Start children that ignore Ctrl-C: it is for the parent, which then ends them in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _in_processes(tasks: Sequence[Task], workers: int) -> Iterator[Result]:
    # A fresh interpreter for each worker: a fork would copy the libraries' threads and locks.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
    try:
        with _interrupts_ignored():
            futures: dict[Future[Any], Task] = {pool.submit(compute_block, t): t for t in tasks}
        pending = set(futures)
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield _checked(futures[future], future.result())
    except BrokenProcessPool as error:
        raise GridStoppedError(
            "a worker process ended before its work was done, most often because memory ran out; "
            "what is finished is kept: run the same command again, with fewer --workers"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def check_scheduler(address: str | None) -> None:
    """Refuse what is no address of a scheduler, before a folder is made.

    Examples
    --------
    >>> check_scheduler("tcp://10.0.0.1:8786")
    """
    if address is not None and not re.fullmatch(
        r"(tcp|tls|ucx|ws|wss)://[^\s/:]+:\d{1,5}|inproc://\S+", address
    ):
        raise InputError(
            f"the scheduler is {address!r}; it must be an address such as tcp://10.0.0.1:8786"
        )


def _on_cluster(tasks: Sequence[Task], address: str) -> Iterator[Result]:
    try:
        import distributed
    except ImportError:
        raise InputError(
            "a scheduler needs the optional package distributed; install it with: "
            "pip install 'microdata-price[cluster]'"
        ) from None
    # The client's own account of a lost connection would only repeat ours.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    api: Any = distributed  # its functions carry no types
    try:
        client = api.Client(address, timeout=SCHEDULER_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"the scheduler {address} does not answer ({SCHEDULER_PATIENCE} seconds); start one "
            "with dask scheduler, and workers with dask worker, or leave --scheduler out"
        ) from error
    with client, client.as_current():
        try:
            client.wait_for_workers(1, timeout=SCHEDULER_PATIENCE)
        except (OSError, TimeoutError):
            raise InputError(
                f"the scheduler {address} has no workers; start some with: dask worker {address}"
            ) from None
        futures = client.map(_with_one_thread, tasks, pure=False, batch_size=50)
        by_key = dict(zip([f.key for f in futures], tasks, strict=True))
        try:
            for future, answer in api.as_completed(futures, with_results=True):
                yield _checked(by_key[future.key], answer)
        except (InputError, CertificateError, GeneratorExit, KeyboardInterrupt):
            raise
        except Exception as error:
            raise GridStoppedError(
                f"the cluster at {address} could not compute a block ({type(error).__name__}: "
                f"{error}); what is finished is kept: mend it and run the same command again"
            ) from error
        finally:
            client.cancel(futures)
