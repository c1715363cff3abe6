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

from ..base.files import sync_file
from ..exceptions import InputError, unknown_name
from ..model.privacy import ConcentratedDP, PureDP
from .budget import Budget, Entry, add_up, guarantee_from

try:
    import fcntl
except ImportError:  # pragma: no cover - where there are no such locks one user writes at a time
    fcntl = None  # type: ignore[assignment]

FORMAT = "microdata-price ledger 1"
"""What the first line of a ledger says."""
_SLACK = 1e-12
"""Sums of doubles, such as three times 0.1, may exceed a cap by so much of it."""


@dataclass(frozen=True)
class Spent:
    """An account of a ledger: what was spent on one table, and its cap (``None`` without)."""

    entries: tuple[Entry, ...]
    cap: PureDP | ConcentratedDP | None

    @property
    def budget(self) -> Budget | None:
        """All of it added up, ``None`` if there is nothing."""
        return add_up(self.entries) if self.entries else None


def _digest(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest() if line else ""


def _damaged(path: Path, number: int, what: str) -> InputError:
    return InputError(
        f"{path}, line {number}: {what}; a ledger is only ever added to by release and budget: "
        "take an untouched copy"
    )


def _parsed(path: Path, data: bytes) -> dict[str, dict[str, Any]]:
    """Return the lines by checksum; every line follows from the one before it."""
    found: dict[str, dict[str, Any]] = {}
    before = ""
    for number, line in enumerate(data.decode(errors="replace").splitlines(keepends=True), start=1):
        try:
            fields = json.loads(line)
        except ValueError:
            fields = None
        if number == 1 and (not isinstance(fields, dict) or fields.get("format") != FORMAT):
            raise InputError(f"{path} is no ledger; its first line must say {FORMAT!r}")
        if not isinstance(fields, dict) or not line.endswith("\n"):
            raise _damaged(path, number, "this is no whole entry")
        if fields.get("previous") != before:
            raise _damaged(path, number, "it does not follow from the line before it")
        before = _digest(line)
        found[before] = fields
    return found


def read_ledger(path: Path) -> dict[str, dict[str, Any]]:
    """Return a ledger's lines by their checksums.

    Raises
    ------
    InputError
        No such file, or one that was changed.
    """
    if not path.is_file():
        raise InputError(f"there is no ledger {path}; budget makes it when it sets a cap")
    if not (lines := _parsed(path, path.read_bytes())):
        raise InputError(f"{path} is empty; take an untouched copy of the ledger")
    return lines


def _alike(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def within(cap: PureDP | ConcentratedDP, budget: Budget) -> bool:
    """Whether a budget is within a cap of pure DP or of zCDP.

    Examples
    --------
    >>> spent = add_up([Entry(Path("a"), "1", PureDP(0.5))])
    >>> within(PureDP(0.5), spent), within(ConcentratedDP(0.1), spent)
    (True, False)
    """
    spent = budget.total if budget.total.kind == cap.kind else budget.zcdp
    return spent.kind == cap.kind and spent.level <= cap.level * (1 + _SLACK)


@dataclass(frozen=True)
class Account:
    """One table's account in a ledger.

    Parameters
    ----------
    path
        The ledger; it is made when the first cap is set.
    name
        The table's name: the same for everything that is about the same people.

    Raises
    ------
    InputError
        An empty name.
    """

    path: Path
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", " ".join(unicodedata.normalize("NFC", self.name).split()))
        if not self.name or not self.name.isprintable():
            raise InputError(
                f"the table's name in the ledger is {self.name!r}; give a word, for example "
                "persons-2024"
            )

    def _spent(self, lines: dict[str, dict[str, Any]]) -> Spent:
        """Read this account; a name that looks like another's is refused, as it would not count."""
        known = list(dict.fromkeys(str(f["table"]) for f in lines.values() if "table" in f))
        if self.name not in known:
            for same in (k for k in known if _alike(k) == _alike(self.name)):
                raise InputError(
                    f"{self.path} has an account {same!r}, which looks like {self.name!r}; write "
                    "it in the same way, so that what was spent counts, or choose another name"
                )
        entries, cap = [], None
        for number, fields in enumerate(lines.values(), start=1):
            if fields.get("table") != self.name:
                continue
            try:
                if "cap" in fields:
                    cap = guarantee_from(fields["cap"])
                    continue
                level, identity = guarantee_from(fields["spent"]), str(fields["measurement"])
                entries.append(Entry(self.path, identity, level, bool(fields["replaced"])))
            except (InputError, KeyError):
                raise _damaged(self.path, number, "this is no entry of a ledger") from None
        return Spent(tuple(entries), cap)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[IO[bytes], dict[str, dict[str, Any]]]]:
        """Open and lock the ledger, and read what is in it."""
        made = not self.path.exists()
        with self.path.open("a+b") as stream:
            if fcntl is not None:
                fcntl.flock(stream, fcntl.LOCK_EX)
            stream.seek(0)
            lines = _parsed(self.path, stream.read())
            if not lines and not made:
                raise InputError(f"{self.path} is empty; take an untouched copy of the ledger")
            yield stream, lines

    def _append(self, stream: IO[bytes], last: str, fields: dict[str, Any]) -> str:
        """Write a line, whole or not at all, and return its checksum."""
        text = ""
        for part in ([] if last else [{"format": FORMAT}]) + [{"table": self.name, **fields}]:
            line = json.dumps({**part, "previous": last}, ensure_ascii=False) + "\n"
            last, text = _digest(line), text + line
        file, data = stream.fileno(), text.encode()
        size = os.fstat(file).st_size
        try:
            if os.write(file, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            os.fsync(file)
        except OSError:
            os.ftruncate(file, size)  # half a line, as a full disk leaves it, would damage it
            raise
        sync_file(self.path.absolute().parent)
        return last

    def state(self) -> Spent:
        """Return what was spent and the cap.

        Raises
        ------
        InputError
            As for `read_ledger`, or accounts and none of this name.
        """
        lines = read_ledger(self.path)
        spent = self._spent(lines)
        if not spent.entries and spent.cap is None:
            known = dict.fromkeys(str(f["table"]) for f in lines.values() if "table" in f)
            raise unknown_name(f"account in {self.path}", self.name, known)
        return spent

    def check_ready(self, out: Path) -> None:
        """Refuse a ledger in the place of a release's folder, and an account without a cap.

        Raises
        ------
        InputError
            It says what to do.
        """
        here, there = self.path.resolve(), out.resolve()
        if here == there or there in here.parents:
            raise InputError(
                f"the ledger {self.path} lies where the release is to be written; choose another "
                "place for one of them"
            )
        if not self.path.is_file() or self._spent(read_ledger(self.path)).cap is None:
            raise self._no_cap()

    def _no_cap(self) -> InputError:
        return InputError(
            f"{self.name!r} has no cap in {self.path}; set it first: microdata-price budget "
            f"--ledger {self.path} --name {self.name!r} --cap-epsilon EPSILON (or --cap-rho RHO)"
        )

    def spend(self, entry: Entry) -> str:
        """Write down a measurement before it is made, and return the checksum of its line.

        Raises
        ------
        InputError
            There is no cap, or it would be exceeded; nothing is written.
        """
        with self._opened() as (stream, lines):
            before = self._spent(lines)
            if before.cap is None:
                raise self._no_cap()
            together = add_up([*before.entries, entry])
            if not within(before.cap, together):
                raise InputError(
                    f"the cap on {self.name!r} in {self.path} is {before.cap.describe()}; with "
                    f"this release {together.total.describe()} would be spent; nothing was measured"
                )
            fields = {
                "measurement": entry.identity,
                "spent": entry.guarantee.fields(),
                "replaced": entry.replaced,
            }
            return self._append(stream, list(lines)[-1], fields)

    def limit(self, cap: PureDP | ConcentratedDP) -> None:
        """Set the cap from now on; it may not be below what was spent.

        Raises
        ------
        InputError
            More was spent already.
        """
        with self._opened() as (stream, lines):
            budget = self._spent(lines).budget
            if budget is not None and not within(cap, budget):
                raise InputError(
                    f"{budget.total.describe()} was spent on {self.name!r} already, more than "
                    f"{cap.describe()}"
                )
            self._append(stream, list(lines)[-1] if lines else "", {"cap": cap.fields()})


def missing_from(path: Path, noted: dict[Path, str]) -> dict[Path, str]:
    """Compare folders' notes with a ledger: what is wrong with each, empty where nothing is.

    Parameters
    ----------
    path
        The ledger.
    noted
        For each folder the checksum of the line that counted it, empty if it was made without.

    Raises
    ------
    InputError
        As for `read_ledger`.
    """
    lines = read_ledger(path)
    return {
        folder: ""
        if line in lines
        else f"its line is missing from {path}: lines were cut, or this is another ledger"
        if line
        else "it was made without a ledger, and counts in none"
        for folder, line in noted.items()
    }
