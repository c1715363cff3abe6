"""Guarantees written down in releases, and what several releases guarantee together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from ..model.privacy import ConcentratedDP, PureDP, least_double

ADDED, REPLACED = "one record added or removed", "one record replaced, the total being public"
"""How neighbouring tables differ: what a guarantee is about."""
_STEPS = " (twice the epsilon, four times the rho of releases without a public total: two steps)"
Level = PureDP | ConcentratedDP


def guarantee_from(fields: Any) -> Level:
    """Read a guarantee from the fields that `PureDP.fields` and `ConcentratedDP.fields` give."""
    for kind in (PureDP, ConcentratedDP):
        known = isinstance(fields, Mapping) and set(fields) == {"kind", kind.parameter}
        if known and fields["kind"] == kind.kind:
            return kind(fields[kind.parameter])
    needed = '{"kind": "pure", "epsilon": ...} or {"kind": "zcdp", "rho": ...}'
    raise InputError(f"the guarantee must be {needed}")


@dataclass(frozen=True)
class Entry:
    """One release as far as its budget goes; all copies of it bear its random identity."""

    folder: Path
    identity: str
    guarantee: Level
    replaced: bool = False  # whether it is about records that are replaced, the total being public


@dataclass(frozen=True)
class Budget:
    """What several releases guarantee together: each measurement counts once, copies do not."""

    entries: tuple[Entry, ...]
    copies: tuple[Entry, ...] = ()
    steps: str = ""  # why it is more than the releases say by themselves, where it is

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The levels of the releases that satisfy pure DP."""
        return tuple(e.guarantee.level for e in self.entries if isinstance(e.guarantee, PureDP))

    @property
    def rho(self) -> float:
        """The sum of the levels of the others, 0 without any."""
        kinds = (e.guarantee for e in self.entries)
        return math.fsum(g.rho for g in kinds if isinstance(g, ConcentratedDP))

    @property
    def zcdp(self) -> ConcentratedDP:
        """The total as zCDP: pure DP with epsilon is ``epsilon^2/2``-zCDP, rounded upwards."""
        pure = (Fraction(PureDP(epsilon).to_zcdp().rho) for epsilon in self.epsilons)
        return ConcentratedDP(least_double(sum(pure, Fraction(self.rho))))

    @property
    def total(self) -> Level:
        """Pure DP if every release satisfies it, else zCDP."""
        return self.zcdp if self.rho else PureDP(math.fsum(self.epsilons))

    @property
    def neighbours(self) -> str:
        """How the tables differ that it is about."""
        return f"tables that differ by {REPLACED if self.entries[0].replaced else ADDED}"


def add_up(entries: Sequence[Entry]) -> Budget:
    """Add up the guarantees of several releases (sequential composition, the paper's Section 2.2).

    All are taken to be about the same people, the safe assumption, and about replaced records where
    one is: guarantees about different steps between tables do not add up.

    Examples
    --------
    >>> a = Entry(Path("a"), "1", PureDP(1.0))
    >>> b = Entry(Path("b"), "2", ConcentratedDP(0.25))
    >>> add_up([a, b, a]).total
    ConcentratedDP(rho=0.75)
    """
    if not entries:
        raise InputError("there is no release to add up; give folders, or a ledger with --name")
    mixed = len({e.replaced for e in entries}) == 2
    if mixed:  # replacing a record is at most two steps
        pairs = [(e, e.guarantee if e.replaced else e.guarantee.group(2)) for e in entries]
        entries = [replace(e, guarantee=g, replaced=True) for e, g in pairs]
    first: dict[str, Entry] = {}
    copies: list[Entry] = []
    for entry in entries:
        if entry.identity in first:
            copies.append(entry)
        known = first.setdefault(entry.identity, entry)
        if known.guarantee != entry.guarantee:
            both = f"{known.folder} and {entry.folder} bear one name of a measurement"
            raise InputError(f"{both} and two guarantees; one of the manifests has been changed")
    return Budget(tuple(first.values()), tuple(copies), _STEPS * mixed)
