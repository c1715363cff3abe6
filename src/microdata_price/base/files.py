"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from ..exceptions import InputError


def check_new(path: Path) -> None:
    """Refuse a path at which something exists already, or whose parent folder does not exist."""
    if not 0 < len(os.fsencode(path.name)) <= 200:  # what is made in passing has a longer one
        raise InputError(f"{str(path)!r} has no name, or too long a one; give another")
    if path.exists() or path.is_symlink():
        said = f"{path} exists already and is never overwritten"
        raise InputError(f"{said}; choose another name or move it away")
    if not path.absolute().parent.is_dir():
        said = f"the folder {path.parent} does not exist; create it first, or choose another place"
        raise InputError(f"{said} for {path.name}")


def command(*words: object) -> str:
    """Return a command of this package as a shell takes it, whatever is in names and paths."""
    return shlex.join(["microdata-price", *map(str, words)])


def claim_folder(path: Path, mark: str, what: str) -> None:
    """Refuse a folder that cannot be made, or holds anything but what a file in it marks."""
    there = next(p for p in (path, *path.absolute().parents) if p.exists() or p.is_symlink())
    if not there.is_dir():
        said = f"{path} cannot be a folder, because {there} is not one"
        raise InputError(f"{said}; choose another with --out")
    if not os.access(there, os.W_OK | os.X_OK):
        said = f"nothing may be written in the folder {there}; choose another with --out"
        raise InputError(f"{said}, or change its permissions")
    # A kill may have left a draft of the mark.
    used = path.exists() and any(not p.name.startswith(f".{mark}.") for p in path.iterdir())
    if used and not (path / mark).is_file():
        said = f"the folder {path} exists and is not {what}"
        raise InputError(f"{said}; choose a new or an empty one with --out")


_ENDS = tuple(getattr(signal, n) for n in ("SIGTERM", "SIGHUP") if hasattr(signal, n))
"""Requests to end: of the system, and of a terminal that closes."""
_deferring: list[bool] = []  # not empty while requests to stop wait


@contextlib.contextmanager
def handling(
    kinds: tuple[signal.Signals, ...],
    handler: Callable[[int, FrameType | None], None] | signal.Handlers,
) -> Iterator[None]:
    """Handle signals so, but for those that the process was started to ignore, as by ``nohup``.

    Outside the main thread, where Python handles none, nothing changes.
    """
    if not _in_main_thread():
        kinds = ()
    kinds = tuple(kind for kind in kinds if signal.getsignal(kind) is not signal.SIG_IGN)
    before = [signal.signal(kind, handler) for kind in kinds]
    try:
        yield
    finally:
        for kind, old in zip(kinds, before, strict=True):
            signal.signal(kind, old)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def stopping_politely() -> Iterator[None]:
    """Turn a request to terminate into an exception, so that what is half-written is removed."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    with handling(() if _deferring else _ENDS, stop):
        yield


@contextlib.contextmanager
def deferred_stop() -> Iterator[None]:
    """Let an interruption from the keyboard or a request to end wait for the block's end.

    For steps that must not be cut in two, such as drawing noise and writing it down.
    """
    if _deferring or not _in_main_thread():
        yield
        return
    waiting: list[int] = []
    try:
        with handling((signal.SIGINT, *_ENDS), lambda number, _frame: waiting.append(number)):
            _deferring.append(True)
            try:
                yield
            finally:
                _deferring.clear()
    finally:
        if waiting:
            signal.raise_signal(waiting[0])


def sync_file(path: Path) -> None:
    """Wait until a file is on the disk, or a folder, of those systems that can say so of one."""
    with contextlib.suppress(OSError) if path.is_dir() else contextlib.nullcontext():
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def naming(folder: Path) -> Iterator[None]:
    """Let an error name the folder that was chosen, not what is put there in passing."""
    try:
        yield
    except OSError as error:
        error.filename = str(folder)
        raise


@contextlib.contextmanager
def new_folder(path: Path, *, private: bool) -> Iterator[Path]:
    """Give a temporary sibling to fill; it gets its name when the block ends without an error.

    An error, an interruption from the keyboard or a request to terminate removes it.
    """
    check_new(path)
    parent = path.absolute().parent
    with stopping_politely():
        with naming(parent):
            draft = Path(tempfile.mkdtemp(prefix=f".{path.name}.unfinished-", dir=parent))
        try:
            yield draft
            files = sorted(draft.rglob("*"))
            for file in files:
                sync_file(file)
            for file in () if private else (*files, draft):
                usual_permissions(file)
            check_new(path)
            draft.rename(path)
            sync_file(parent)
        finally:
            if draft.exists():
                shutil.rmtree(draft)


def usual_permissions(path: Path) -> None:
    """Give a file or a folder the permissions that the user's umask leaves to new ones."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)


def write_whole(path: Path, text: str | bytes, *, new: bool = False) -> None:
    """Write a file so that it is seen whole or not at all, replacing an older one but where new."""
    data = text.encode() if isinstance(text, str) else text
    parent = path.absolute().parent
    with naming(parent):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        usual_permissions(draft)
        if new:
            path.touch(exist_ok=False)  # of several at once one gets the name
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
