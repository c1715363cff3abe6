"""An append-only file of what was spent on which table, with a cap that refuses."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..base.files import command, sync_file
from ..exceptions import InputError, unknown_name
from ..model.privacy import ConcentratedDP, PureDP, check_guarantee
from .budget import Budget, Entry, Level, add_up, guarantee_from

try:
    import fcntl
except ImportError:  # pragma: no cover - where there are no such locks one user writes at a time
    fcntl = None  # type: ignore[assignment]

FORMAT = "microdata-price ledger 1"  # as the first line says
_SLACK = 1e-12  # sums of doubles, such as three times 0.1, may exceed a cap by so much of it
Lines = dict[str, dict[str, Any]]  # the lines of a ledger by their checksums, in order


def lock(stream: IO[bytes]) -> None:
    """Hold a file against other processes until it is closed."""
    if fcntl is not None:
        fcntl.flock(stream, fcntl.LOCK_EX)


def _digest(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()


def read_ledger(path: Path, stream: IO[bytes] | None = None, *, new: bool = False) -> Lines:
    """Read a ledger; one that is not there, was changed or emptied is refused."""
    if stream is None and not path.is_file():
        raise InputError(f"there is no ledger {path}; budget makes it when it sets a cap")
    data = path.read_bytes() if stream is None else stream.read()
    if not data and not new:
        raise _damaged(f"{path} is empty")
    found, before = Lines(), ""
    for number, line in enumerate(data.decode(errors="replace").splitlines(keepends=True), start=1):
        read = None
        with contextlib.suppress(ValueError):
            read = json.loads(line)
        fields = read if isinstance(read, dict) else {}
        if number == 1 and fields.get("format") != FORMAT:
            raise InputError(f"{path} is no ledger; its first line must say {FORMAT!r}")
        if not {"format", "table"} & fields.keys() or not line.endswith("\n"):
            raise _damaged(f"{path}, line {number} is no whole entry")
        if fields.get("previous") != before:
            raise _damaged(f"{path}, line {number} does not follow from the line before it")
        before = _digest(line)
        found[before] = fields
    return found


def _damaged(fault: str) -> InputError:
    return InputError(f"{fault}; only release and budget add to a ledger: take an untouched copy")


def shown(spent: Level, cap: Level | None) -> Level:
    """Return a level as people read it: the cap itself where only rounding takes it beyond."""
    if cap and cap.kind == spent.kind and cap.level < spent.level <= cap.level * (1 + _SLACK):
        return cap
    return spent


def beyond(cap: Level, budget: Budget) -> str:
    """Describe a budget that a cap of pure DP or of zCDP does not admit; nothing of one within."""
    spent = shown(budget.total if budget.total.kind == cap.kind else budget.zcdp, cap)
    if spent.kind == cap.kind and spent.level <= cap.level:
        return ""
    never = "" if spent.kind == cap.kind else ", which no cap in epsilon ever admits,"
    return f"{budget.total.describe()}{budget.steps}{never}"


@dataclass(frozen=True)
class Account:
    """One table's account in a ledger; names that look alike are one account."""

    path: Path
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", " ".join(self.name.split()))
        if self.path.exists() and not self.path.is_file():
            raise InputError(f"the ledger {self.path} is no regular file; give the path of one")
        if not self.name.isprintable() or not self.name:
            raise InputError(f"the table's name is {self.name!r}; give a word, as persons-2024")

    def _has(self, fields: dict[str, Any]) -> bool:
        both = self.name, str(fields.get("table", ""))
        alike = {unicodedata.normalize("NFKC", name).casefold() for name in both}
        return len({" ".join(name.split()) for name in alike}) == 1

    def _spent(self, lines: Lines) -> tuple[list[Entry], Level | None]:
        """Return what was spent and the cap, ``None`` without one."""
        entries, cap = [], None
        for fields in filter(self._has, lines.values()):
            try:
                if "cap" in fields:
                    cap = guarantee_from(fields["cap"])
                    continue
                level, identity = guarantee_from(fields["spent"]), str(fields["measurement"])
                entries.append(Entry(self.path, identity, level, bool(fields["replaced"])))
            except (InputError, KeyError):
                raise _damaged(f"{self.path} has an entry that says nothing") from None
        return entries, cap

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[IO[bytes], Lines]]:
        """Open and lock the ledger, and read what is in it."""
        new = not self.path.exists()
        with self.path.open("a+b") as stream:
            lock(stream)
            stream.seek(0)
            try:
                yield stream, read_ledger(self.path, stream, new=new)
            finally:
                if new and not os.fstat(stream.fileno()).st_size:
                    self.path.unlink()  # nothing was ever in it: it would pass for an emptied one

    def _append(self, stream: IO[bytes], lines: Lines, fields: dict[str, Any]) -> str:
        """Write a line, whole or not at all, and return its checksum."""
        text, last = "", next(reversed(lines), "")
        for part in ([] if last else [{"format": FORMAT}]) + [{"table": self.name, **fields}]:
            line = json.dumps({**part, "previous": last}, ensure_ascii=False) + "\n"
            last, text = _digest(line), text + line
        file, data, size = stream.fileno(), text.encode(), os.fstat(stream.fileno()).st_size
        try:
            if os.write(file, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file)
        except OSError as error:
            os.ftruncate(file, size)  # half a line, as a full disk leaves it, would damage it
            error.filename = str(self.path)
            raise
        sync_file(self.path.absolute().parent)
        return last

    def state(self) -> tuple[list[Entry], Level | None]:
        """Return what was spent and the cap; a name that the ledger does not have is refused."""
        lines = read_ledger(self.path)
        if not any(map(self._has, lines.values())):
            known = dict.fromkeys(str(f["table"]) for f in lines.values() if "table" in f)
            raise InputError(f"{self.path}: {unknown_name('account', self.name, known)}")
        return self._spent(lines)

    def check_ready(self, out: Path) -> None:
        """Refuse a ledger in the place of a release's folder, and an account without a cap."""
        here, there = self.path.resolve(), out.resolve()
        if here == there or there in here.parents:
            raise InputError(f"the ledger {self.path} lies where the release is to go; move one")
        if not here.parent.is_dir():
            raise InputError(f"the ledger's folder {here.parent} does not exist; create it first")
        if not self.path.is_file() or self._spent(read_ledger(self.path))[1] is None:
            set_it = command("budget", "--ledger", self.path, "--name", self.name, "--cap-epsilon")
            said = f"{self.name!r} has no cap in {self.path}; set it first: {set_it} EPSILON"
            raise InputError(f"{said} (or --cap-rho)")

    def spend(self, entry: Entry) -> str:
        """Write down a measurement before it is made; return the checksum of its line."""
        self.check_ready(entry.folder)
        with self._opened() as (stream, lines):
            before, cap = self._spent(lines)
            over = beyond(cap, add_up([*before, entry])) if cap else "something"
            if over:
                said = f"the cap on {self.name!r} in {self.path} is {cap and cap.describe()}; with"
                raise InputError(f"{said} this release {over} would be spent; nothing was measured")
            spent = {"spent": entry.guarantee.fields(), "replaced": entry.replaced}
            return self._append(stream, lines, {"measurement": entry.identity, **spent})

    def limit(self, cap: Level) -> Level | None:
        """Set the cap from now on, not below what was spent; return the one until now, if any."""
        check_guarantee(cap, PureDP, ConcentratedDP)
        with self._opened() as (stream, lines):
            before, old = self._spent(lines)
            if before and (it := beyond(cap, add_up(before))):
                raise InputError(f"{it} was spent on {self.name!r} already, over {cap.describe()}")
            self._append(stream, lines, {"cap": cap.fields()})
            return old
