"""An append-only file of what was spent on which table, with a cap that refuses."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..base.files import sync_file
from ..exceptions import InputError, unknown_name
from ..model.privacy import ConcentratedDP, PureDP
from ..tables.looks import alike
from ..tables.opening import plain_text
from .budget import Budget, Entry, add_up, guarantee_from
from .manifest import digest

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
    """What a ledger says of one table.

    Parameters
    ----------
    name
        The table's name.
    entries
        What was spent on it, one measurement each.
    cap
        The most that may be spent, ``None`` for no cap.
    """

    name: str
    entries: tuple[Entry, ...]
    cap: PureDP | ConcentratedDP | None

    @property
    def budget(self) -> Budget | None:
        """All of it added up, ``None`` if there is nothing."""
        return add_up(self.entries) if self.entries else None


def _lock(stream: IO[str]) -> None:
    if fcntl is not None:
        fcntl.flock(stream, fcntl.LOCK_EX)


def _damaged(path: Path, number: int, what: str) -> InputError:
    return InputError(
        f"{path}, line {number}: {what}; a ledger is only ever added to by release and budget: "
        "take an untouched copy"
    )


def _lines(path: Path, text: str) -> list[dict[str, Any]]:
    """Check that every line follows from the one before it."""
    found, before = [], ""
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        try:
            fields = json.loads(line)
        except ValueError:
            fields = None
        if not isinstance(fields, dict) or not line.endswith("\n"):
            raise _damaged(path, number, "this is no whole entry")
        if number == 1 and fields.get("format") != FORMAT:
            raise InputError(f"{path} is no ledger; its first line must say {FORMAT!r}")
        if fields.get("previous") != before:
            raise _damaged(path, number, "it does not follow from the line before it")
        before = digest(line.encode())
        found.append(fields)
    return found


@contextlib.contextmanager
def _as_text(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError:
        raise InputError(f"{path} is no ledger; its first line must say {FORMAT!r}") from None


def _accounts(lines: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(str(fields["table"]) for fields in lines if "table" in fields))


def _check_name(path: Path, lines: list[dict[str, Any]], name: str) -> None:
    """Refuse a new account that looks like an old one: what was spent there would not count."""
    known = _accounts(lines)
    same = next((k for k in known if alike(k) == alike(name)), name)
    if name not in known and same != name:
        raise InputError(
            f"{path} has an account {same!r}, which looks like {name!r}; write it in the same way, "
            "so that what was spent counts, or choose another name"
        )


def _spent(path: Path, lines: list[dict[str, Any]], name: str) -> Spent:
    entries, cap = [], None
    for number, fields in enumerate(lines, start=1):
        if fields.get("table") != name:
            continue
        try:
            if "cap" in fields:
                cap = guarantee_from(fields["cap"])
                continue
            entries.append(
                Entry(
                    path,
                    str(fields["measurement"]),
                    guarantee_from(fields["spent"]),
                    guarantee_from(fields["replacement"]),
                    bool(fields["replaced"]),
                )
            )
        except (InputError, KeyError):
            raise _damaged(path, number, "this is no entry of a ledger") from None
    return Spent(name, tuple(entries), cap)


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
        The ledger; it is made by the first entry.
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
        object.__setattr__(self, "name", plain_text(self.name))
        if not self.name.strip() or not self.name.isprintable():
            raise InputError(
                f"the table's name in the ledger is {self.name!r}; give a word, for example "
                "persons-2024"
            )

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[IO[str], list[dict[str, Any]], str]]:
        """Open and lock the ledger, and read what is in it."""
        with self.path.open("a+", encoding="utf-8", newline="") as stream:
            _lock(stream)
            stream.seek(0)
            with _as_text(self.path):
                text = stream.read()
            lines = _lines(self.path, text)
            _check_name(self.path, lines, self.name)
            last = text.splitlines(keepends=True)[-1] if text else ""
            yield stream, lines, last

    def _append(self, stream: IO[str], last: str, fields: dict[str, Any]) -> None:
        text = ""
        for part in ([{"format": FORMAT}] if not last else []) + [{"table": self.name, **fields}]:
            previous = digest(last.encode()) if last else ""
            last = json.dumps({**part, "previous": previous}, ensure_ascii=False) + "\n"
            text += last
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

    def state(self) -> Spent:
        """Return what was spent and the cap.

        Raises
        ------
        InputError
            No such file, one that was changed, or one that has other accounts and not this.
        """
        if not self.path.is_file():
            raise InputError(f"there is no ledger {self.path}; the first release makes it")
        with _as_text(self.path):
            text = self.path.read_bytes().decode()  # with its line ends, as when it is added to
        lines = _lines(self.path, text)
        _check_name(self.path, lines, self.name)
        known = _accounts(lines)
        if known and self.name not in known:
            raise unknown_name(f"account in {self.path}", self.name, known)
        return _spent(self.path, lines, self.name)

    def beside(self) -> list[str]:
        """Return the accounts that the ledger has where it has none of this name."""
        if not self.path.is_file():
            return []
        with _as_text(self.path):
            known = _accounts(_lines(self.path, self.path.read_bytes().decode()))
        return [] if self.name in known else list(known)

    def check_apart(self, out: Path) -> None:
        """Refuse a ledger where a release's folder is to be.

        Raises
        ------
        InputError
            It is that folder, or in it.
        """
        here, there = self.path.resolve(), out.resolve()
        if here == there or there in here.parents:
            raise InputError(
                f"the ledger {self.path} lies where the release is to be written; choose another "
                "place for one of them"
            )

    def spend(self, entry: Entry) -> None:
        """Write down a measurement before it is made.

        Raises
        ------
        InputError
            It would exceed the cap; nothing is written.
        """
        with self._opened() as (stream, lines, last):
            before = _spent(self.path, lines, self.name)
            together = add_up([*before.entries, entry])
            if before.cap is not None and not within(before.cap, together):
                raise InputError(
                    f"the cap on {self.name!r} in {self.path} is {before.cap.describe()}; with "
                    f"this release {together.total.describe()} would be spent; nothing was measured"
                )
            self._append(
                stream,
                last,
                {
                    "measurement": entry.identity,
                    "spent": entry.guarantee.fields(),
                    "replacement": (entry.replacement or entry.guarantee.group(2)).fields(),
                    "replaced": entry.replaced,
                },
            )

    def limit(self, cap: PureDP | ConcentratedDP) -> None:
        """Set the cap from now on; it may not be below what was spent.

        Raises
        ------
        InputError
            More was spent already.
        """
        with self._opened() as (stream, lines, last):
            budget = _spent(self.path, lines, self.name).budget
            if budget is not None and not within(cap, budget):
                raise InputError(
                    f"{budget.total.describe()} was spent on {self.name!r} already, more than "
                    f"{cap.describe()}"
                )
            self._append(stream, last, {"cap": cap.fields()})
