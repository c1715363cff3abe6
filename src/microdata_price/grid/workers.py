"""Executors for the blocks: this process, worker processes, or a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import queue
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from ..base.files import handling
from ..base.threads import one_thread
from ..exceptions import GridStoppedError, InputError
from .blocks import BlockResult, Task, blocks_code, run_block
from .folder import GridFolder

_PATIENCE = 5  # seconds to wait for a scheduler to answer at first,
_SILENCE = 60  # and later, when it may have to load libraries on a busy machine
_LOOK = 2  # seconds without a result after which a cluster is looked at

_STUMBLED = "cannot unpack non-iterable"
"""Of Dask's executor, where a worker ends just after its answer was fetched: the answer is lost."""

Answer = BlockResult | Exception | None


class Crew(NamedTuple):
    """Who computes blocks."""

    executor: Executor
    size: Callable[[], int]  # how many workers there are; GridStoppedError where none can come
    lost: str  # the message when a block is lost
    shares_folder: bool  # whether its workers can save blocks


def compute(
    folder: GridFolder, tasks: Sequence[Task], workers: int, cluster: Crew | None = None
) -> Iterator[Task]:
    """Compute blocks, save each in the folder and yield its task, in any order."""
    count = min(workers, len(tasks))
    if cluster is None and count < 2:
        with one_thread():
            for task in tasks:
                folder.save(task, run_block(task))
                yield task
    elif tasks:
        with contextlib.nullcontext(cluster) if cluster else _processes(count) as crew:
            yield from _results(crew, folder, tasks)


def _results(crew: Crew, folder: GridFolder, tasks: Sequence[Task]) -> Iterator[Task]:
    ready: queue.SimpleQueue[Future[Answer]] = queue.SimpleQueue()
    given: dict[Future[Answer], Task] = {}
    made_by, place = blocks_code(), folder if crew.shares_folder else None

    def give(task: Task) -> None:
        future = crew.executor.submit(work, task, made_by, place)
        given[future] = task
        future.add_done_callback(ready.put)

    with _losses_told(crew):
        for task in tasks:
            give(task)
    alone = False
    while given:
        try:
            future = ready.get(timeout=_LOOK)
        except queue.Empty:
            size = crew.size()
        else:
            task = given.pop(future)
            with _losses_told(crew):
                try:
                    answer = future.result()
                except TypeError as error:
                    if _STUMBLED not in str(error):
                        raise
                    give(task)
                    continue
            if isinstance(answer, Exception):
                raise answer
            if answer is not None:
                folder.save(task, answer)
            yield task
            size = 1
        if alone != (size == 0):
            alone = not alone
            done = f"{len(tasks) - len(given)} of {len(tasks)} blocks are computed and kept"
            news = "no worker is left" if alone else "a worker has come"
            then = "goes on as soon as one comes; Ctrl-C stops it" if alone else "goes on"
            print(f"microdata-price: {news}; {done}. The grid {then}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _losses_told(crew: Crew) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        crew.size()
        cause = "" if isinstance(error, BrokenExecutor) else f" ({type(error).__name__}: {error})"
        raise GridStoppedError(
            f"{crew.lost}{cause}; what is finished is kept: mend it and run the same command again"
        ) from error


def work(task: Task, made_by: dict[str, str], folder: GridFolder | None) -> Answer:
    """Compute a block in a worker, and save it if it can; an error is returned.

    The processes of a pool share one pipe, and its reader waits for ever for the rest of an answer
    whose writer was killed. Short answers are written whole or not at all, so that a process saves
    its block, and an error comes without its chain of causes and with the end of its trace.
    """
    try:
        if made_by != blocks_code():
            raise InputError(
                "a worker runs other code, data or library versions than this process; give both "
                "the same, and run the same command again"
            )
        with one_thread():
            result = run_block(task)
        if folder is None:
            return result
        folder.save(task, result)
    except Exception as error:
        error.add_note(f"in a worker:\n{traceback.format_exc()[-1500:]}")
        # Dask's libraries make pickle write these three with every frame.
        error.__traceback__ = error.__cause__ = error.__context__ = None
        return error
    return None


def _start_worker(line: Connection) -> None:
    """Use one linear-algebra thread; end when the line or the starting process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    # Several threads may add in another order, and the processors are taken by the workers.
    threadpool_limits(limits=1)
    parent = multiprocessing.parent_process()
    ends: list[Any] = [line] if parent is None else [line, parent.sentinel]

    def watch() -> None:
        multiprocessing.connection.wait(ends)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _processes(count: int) -> Iterator[Crew]:
    # A fresh interpreter: a fork would copy the libraries' threads and locks.
    context = multiprocessing.get_context("spawn")
    line, end = context.Pipe(duplex=False)
    executor = ProcessPoolExecutor(count, context, _start_worker, (line,))
    lost = (
        "a worker process ended before its work was done, most often because memory ran out; use "
        "fewer --workers"
    )
    try:
        with handling((signal.SIGINT,), signal.SIG_IGN):  # by children, from their first moment
            for _ in range(count):  # a process is started when there is work and nobody is idle
                executor.submit(int)
        yield Crew(executor, lambda: count, lost, True)
    finally:
        end.close()  # ends the workers at once
        executor.shutdown(cancel_futures=True)
        line.close()


def check_scheduler(address: str | None, workers: int | None) -> None:
    """Refuse what is no address of a scheduler, and workers beside one."""
    if address is None:
        return
    if workers is not None:
        raise InputError(f"workers is {workers}, but a scheduler has its own; leave one out")
    if not re.fullmatch(r"(tcp|tls|ucx|ws|wss)://[^\s/:]+:\d{1,5}|inproc://\S+", address):
        raise InputError(
            f"the scheduler is {address!r}; it must be an address such as tcp://10.0.0.1:8786"
        )


@contextlib.contextmanager
def cluster_at(address: str) -> Iterator[Crew]:
    """Find the cluster of a scheduler, or say why it cannot be used."""
    try:
        import distributed
    except ImportError:
        raise InputError(
            "a scheduler needs the optional package distributed; install it with: "
            "pip install 'microdata-price[cluster]'"
        ) from None
    # Their own accounts of a lost connection would only repeat ours, with tracebacks.
    for name in [*logging.root.manager.loggerDict, "asyncio", "tornado"]:
        if name.partition(".")[0] in ("distributed", "asyncio", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    api: Any = distributed  # its functions carry no types
    try:
        client = api.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"the scheduler {address} does not answer ({_PATIENCE} seconds); start one "
            "with dask scheduler, and workers with dask worker, or leave --scheduler out"
        ) from error

    def size() -> int:
        try:
            if client.status != "running":
                raise OSError
            return len(client.sync(client.scheduler.ncores, callback_timeout=_SILENCE))
        except Exception as error:
            raise GridStoppedError(
                f"the scheduler {address} has ended or does not answer any more; what is finished "
                "is kept: start it and its workers again, and run the same command again"
            ) from error

    try:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except (OSError, TimeoutError):
            raise InputError(
                f"the scheduler {address} has no workers; start some with: dask worker {address}"
            ) from None
        lost = f"the cluster at {address} could not compute a block"
        yield Crew(client.get_executor(pure=False), size, lost, False)
    finally:
        # Closing gives up what is not computed yet; a scheduler that is gone is not waited for.
        with contextlib.suppress(Exception):
            client.close(timeout=_LOOK)
