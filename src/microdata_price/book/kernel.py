"""Kernels for notebooks: this very Python with one thread, forked where many start.

A kernel is a process of its own, so that no notebook sees what another one did. A build forks its
kernels from one process that has imported what the notebooks import, and has done nothing else.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, cast
from unittest import mock

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from ..base.files import naming
from ..base.threads import ONE_THREAD

_NO_EXIT = (
    "get_ipython().ask_exit = lambda: (_ for _ in ()).throw("
    "SystemExit('it calls exit(), which ends the kernel; leave it out'))"
)
"""Left to itself the kernel ends some moments later, in whichever cell is running then."""
# A kernel that is stopped logs it as an error; errors of cells come otherwise.
_ARGUMENTS = ["--log-level=CRITICAL", f"--IPKernelApp.exec_lines={_NO_EXIT}"]
_ENVIRONMENT = {
    **ONE_THREAD,
    "PYTHONHASHSEED": "0",
    # The caller's backend of matplotlib, without a window, would lose plots in silence.
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
}
_LONGEST_FOLDER = 60  # with a kernel's own name a socket's path stays below the 104 allowed
_WATCH = """
import contextlib, os, shutil, signal, sys, time
groups = []
for line in sys.stdin:
    groups = line.split()
for group in groups:
    with contextlib.suppress(OSError):
        os.killpg(int(group), signal.SIGKILL)
for _ in range(10):  # another process may write there for a moment
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    time.sleep(0.1)
"""
Tell = Callable[[Iterable[int]], object]


@contextlib.contextmanager
def watched_folder(place: Path | None = None, prefix: str = "") -> Iterator[tuple[Path, Tell]]:
    """Give a temporary folder that goes even if the command is killed, and a function.

    It is told the heads of groups of processes that shall end with the command, too.
    """
    with naming(place or Path(tempfile.gettempdir())):
        made = tempfile.TemporaryDirectory(prefix=prefix, dir=place)
    with (
        made as folder,
        # Its input ends with the command. It is a process of its own, as no thread of a kernel
        # runs while a cell is in one long call of C.
        subprocess.Popen(
            [sys.executable, "-ISc", _WATCH, folder],
            stdin=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        ) as watcher,
    ):
        told = cast(IO[bytes], watcher.stdin).write
        try:
            yield Path(folder), lambda heads: told(f"{' '.join(map(str, heads))}\n".encode())
        finally:
            watcher.kill()


def _serve(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Be a kernel in this new process until it is told to stop, or its command has ended."""
    from ipykernel.kernelapp import IPKernelApp

    def end_with_command() -> None:
        if parent := multiprocessing.parent_process():
            parent.join()
        os.killpg(0, signal.SIGKILL)

    os.setsid()  # so that what a cell starts ends with the kernel
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.stdout, sys.stderr = (s or open(os.devnull, "w") for s in (sys.stdout, sys.stderr))  # noqa: SIM115, for closed ones
    threading.Thread(target=end_with_command, daemon=True).start()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()  # forked, it would be that of every other kernel
    IPKernelApp.launch_instance(arguments)
    os._exit(0)


@contextlib.contextmanager
def kernels(folder: Path, preload: Sequence[str]) -> Iterator[type[AsyncKernelManager]]:
    """Give a manager of kernels that work in a folder; none outlives the block.

    All have imported the modules `preload` from the start; without any they are fresh Pythons.
    """
    context: Any = multiprocessing.get_context("spawn")
    if preload and sys.platform == "linux":  # elsewhere the system's own libraries forbid to fork
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["ipykernel.kernelapp", "microdata_price.book.preload"])
    started, starting, ended = list[Any](), threading.Lock(), threading.Event()

    class Provisioner(LocalProvisioner):
        async def launch_kernel(self, cmd: list[str], **_given: Any) -> Any:
            process = context.Process(target=_serve, args=(cmd, dict(os.environ), str(folder)))
            with starting:
                if ended.is_set():
                    raise RuntimeError("stopped")
                process.start()
                started.append(process)
                tell(p.pid for p in started if p.exitcode is None)
            # Jupyter handles it as one of subprocess's.
            pipes = dict.fromkeys(("stdin", "stdout", "stderr"))
            signals = {"send_signal": partial(os.kill, process.pid), "wait": process.join}
            vars(process).update(pipes, **signals, poll=lambda: process.exitcode)
            self.process, self.pid, self.pgid = process, process.pid, process.pid
            return self.connection_info

    class Manager(AsyncKernelManager):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            own = f"{home}/{uuid.uuid4().hex[:12]}"
            argv = [*_ARGUMENTS, "-f", "{connection_file}"]
            spec = KernelSpec(argv=argv, display_name="Python 3", language="python")
            self._kernel_spec, self.connection_file = spec, f"{own}.json"
            self.provisioner = Provisioner(kernel_spec=spec, parent=self)
            # Two kernels that start at once may be given the same free port, and one of them dies:
            # they get files to talk by, where paths may be so long.
            if len(home) <= _LONGEST_FOLDER:
                self.transport, self.ip = "ipc", f"{own}-ipc"

    watched = watched_folder(prefix="microdata-price-")
    # What starts the kernels inherits the environment; afterwards it is as it was.
    with watched as (place, tell), mock.patch.dict(os.environ, _ENVIRONMENT):
        home, os.environ["MICRODATA_PRICE_PRELOAD"] = str(place), " ".join(preload)
        if os.path.expanduser("~") == "~":  # a user without a name and HOME, as in a container
            os.environ["HOME"] = home
        try:
            yield Manager
        finally:
            with starting:
                ended.set()
            for process in (p for p in started if p.exitcode is None):
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
