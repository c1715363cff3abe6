"""Who computes the blocks: this process, worker processes, or a Dask cluster."""

from __future__ import annotations

import contextlib
import itertools
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
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from threadpoolctl import threadpool_limits

from ..base.threads import one_thread
from ..exceptions import CertificateError, GridStoppedError, InputError
from .blocks import BlockResult, Task, blocks_code, run_block

Result = tuple[Task, BlockResult]

SCHEDULER_PATIENCE = 5
"""Seconds to wait for a scheduler to answer."""

_LOOK = 2
"""Seconds without a result after which a cluster is looked at."""

_AHEAD = 2
"""Blocks that a worker holds, so that it need not wait while an answer is saved."""


def compute_block(task: Task) -> tuple[BlockResult, dict[str, str]]:
    """Compute a block, and say which code did it."""
    return run_block(task), blocks_code()


def _with_one_thread(task: Task) -> tuple[BlockResult, dict[str, str]]:
    """Compute a block in a process that is not ours and keeps its own number of threads."""
    with one_thread():
        return compute_block(task)


def _checked(task: Task, answer: tuple[BlockResult, dict[str, str]]) -> Result:
    result, made_by = answer
    if made_by != blocks_code():
        raise InputError(
            "a worker runs other code, data or library versions than this process; give both the "
            "same, and run the same command again"
        )
    return task, result


def compute(tasks: Sequence[Task], workers: int, scheduler: str | None) -> Iterator[Result]:
    """Compute blocks and yield each when it is ready, in any order."""
    if not tasks:
        return
    if scheduler is not None:
        yield from _on_cluster(tasks, scheduler)
    elif min(workers, len(tasks)) == 1:
        with one_thread():
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


@dataclass
class _Worker:
    """A process with a line of its own, and the blocks it was given, in their order."""

    process: BaseProcess
    line: Connection
    given: deque[Task]

    @classmethod
    def start(cls) -> _Worker:
        # A fresh interpreter: a fork would copy the libraries' threads and locks.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()  # so that the line ends when the process does
        return cls(process, ours, deque())

    def give(self, task: Task) -> None:
        with _while_it_lives():
            self.line.send(task)
        self.given.append(task)

    def take(self) -> Result:
        with _while_it_lives():
            answer = self.line.recv()
        if isinstance(answer, Exception):
            raise answer
        return _checked(self.given.popleft(), answer)

    def stop(self) -> None:
        self.process.terminate()  # it shares nothing that could be left half done
        self.process.join()
        self.line.close()


@contextlib.contextmanager
def _while_it_lives() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError) as error:  # the line ended, perhaps within an answer
        raise GridStoppedError(
            "a worker process ended before its work was done, most often because memory ran out; "
            "what is finished is kept: run the same command again, with fewer --workers"
        ) from error


def _serve(line: Connection) -> None:
    """Compute the blocks that come along the line until it ends (in a worker process)."""
    _start_worker()
    while True:
        try:
            task = line.recv()
        except EOFError:
            return
        try:
            answer: object = compute_block(task)
        except Exception as error:
            error.add_note(f"in a worker process:\n{traceback.format_exc()}")
            answer = error
        line.send(answer)


def _in_processes(tasks: Sequence[Task], workers: int) -> Iterator[Result]:
    # A pool's processes share one line, and it waits for ever for the rest of an answer whose
    # writer was killed (by the system, for want of memory). A line that ends with its process
    # tells.
    todo = iter(tasks)
    crew: dict[object, _Worker] = {}
    try:
        with _interrupts_ignored():
            for _ in range(workers):
                worker = _Worker.start()
                crew[worker.line] = worker
        for _ in range(_AHEAD):
            for worker, task in zip(crew.values(), todo, strict=False):
                worker.give(task)
        while busy := [worker.line for worker in crew.values() if worker.given]:
            for line in multiprocessing.connection.wait(busy):
                yield crew[line].take()
                for task in itertools.islice(todo, 1):
                    crew[line].give(task)
    finally:
        for worker in crew.values():
            worker.stop()


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
    # Their own accounts of a lost connection would only repeat ours, with tracebacks.
    for name in [*logging.root.manager.loggerDict, "asyncio", "tornado"]:
        if name.partition(".")[0] in ("distributed", "asyncio", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    api: Any = distributed  # its functions carry no types
    try:
        client = api.Client(address, timeout=SCHEDULER_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"the scheduler {address} does not answer ({SCHEDULER_PATIENCE} seconds); start one "
            "with dask scheduler, and workers with dask worker, or leave --scheduler out"
        ) from error
    try:
        try:
            client.wait_for_workers(1, timeout=SCHEDULER_PATIENCE)
        except (OSError, TimeoutError):
            raise InputError(
                f"the scheduler {address} has no workers; start some with: dask worker {address}"
            ) from None
        futures = client.map(_with_one_thread, tasks, pure=False, batch_size=50)
        by_key = dict(zip([f.key for f in futures], tasks, strict=True))
        for future, answer in _as_they_come(client, futures, address):
            yield _checked(by_key[future.key], answer)
    finally:
        # Closing gives up what is not computed yet; a scheduler that is gone is not waited for.
        with contextlib.suppress(Exception):
            client.close(timeout=_LOOK)


def _as_they_come(client: Any, futures: Sequence[Any], address: str) -> Iterator[tuple[Any, Any]]:
    """Yield results of a cluster as they are ready, and say so when nobody is left to compute."""
    ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for future in futures:
        future.add_done_callback(ready.put)
    left, alone = len(futures), False
    while left:
        future = None
        try:
            future = ready.get(timeout=_LOOK)
            answer = future.result(timeout=SCHEDULER_PATIENCE)
        except (queue.Empty, TimeoutError):
            # A result that lay with a worker that is gone is computed anew by another. Many may be
            # lost at once, so that the workers are counted at each.
            if future is not None:
                future.add_done_callback(ready.put)
            without = _workers_at(client, address) == 0
            if without and not alone:
                _tell(
                    f"no worker is left at {address}; {len(futures) - left} of {len(futures)} "
                    "blocks are computed and kept. The grid goes on as soon as a worker comes "
                    f"(dask worker {address}); Ctrl-C stops it"
                )
            elif alone and not without:
                _tell(f"a worker has come to {address}; the grid goes on")
            alone = without
            continue
        except (InputError, CertificateError, GeneratorExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # a cancelled future is no Exception
            _workers_at(client, address)
            raise GridStoppedError(
                f"the cluster at {address} could not compute a block ({type(error).__name__}: "
                f"{error}); what is finished is kept: mend it and run the same command again"
            ) from error
        if alone:
            # A quick worker leaves no pause in which its coming would be seen.
            _tell(f"a worker has come to {address}; the grid goes on")
            alone = False
        left -= 1
        yield future, answer


def _workers_at(client: Any, address: str) -> int:
    """Return how many workers a scheduler has."""
    try:
        if client.status != "running":
            raise OSError
        found = client.sync(client.scheduler.ncores, callback_timeout=SCHEDULER_PATIENCE)
    except Exception as error:
        raise GridStoppedError(
            f"the scheduler {address} has ended or does not answer any more; what is finished is "
            "kept: start it and its workers again, and run the same command again"
        ) from error
    return len(found)


def _tell(text: str) -> None:
    print(f"microdata-price: {text}", file=sys.stderr, flush=True)
