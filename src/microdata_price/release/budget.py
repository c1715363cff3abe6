"""Guarantees written down in releases, and what several releases guarantee together."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..exceptions import InputError
from ..model.conversion import approximate_together
from ..model.privacy import ApproximateDP, ConcentratedDP, PureDP, compose

MANIFEST = "manifest.json"
"""The file of a release that states its guarantee."""
FORMAT = "microdata-price release 1"
"""The form of that file."""


def guarantee_of(epsilon: float | None, rho: float | None) -> PureDP | ConcentratedDP:
    """Return the guarantee that one of two options asks for.

    Raises
    ------
    InputError
        Neither or both are given, or a level that is none.

    Examples
    --------
    >>> guarantee_of(None, 0.125)
    ConcentratedDP(rho=0.125)
    """
    if epsilon is not None and rho is None:
        return PureDP(epsilon)
    if rho is not None and epsilon is None:
        return ConcentratedDP(rho)
    given = "no privacy level is given" if rho is None else "both --epsilon and --rho are given"
    raise InputError(
        f"{given}; give one: --epsilon for pure differential privacy or --rho for zCDP, for "
        "example --epsilon 1"
    )


def guarantee_from(fields: object) -> PureDP | ConcentratedDP:
    """Read a guarantee from its fields.

    Raises
    ------
    InputError
        Other fields, or a level that is none.

    Examples
    --------
    >>> guarantee_from({"kind": "pure", "epsilon": 0.5})
    PureDP(epsilon=0.5)
    """
    if isinstance(fields, Mapping):
        for kind in (PureDP, ConcentratedDP):
            if set(fields) == {"kind", kind.parameter} and fields["kind"] == kind.kind:
                return kind(fields[kind.parameter])
    raise InputError(
        'the guarantee must be {"kind": "pure", "epsilon": ...} or {"kind": "zcdp", "rho": ...}'
    )


@dataclass(frozen=True)
class Entry:
    """One release as far as its budget goes.

    Parameters
    ----------
    folder
        Where it is.
    identity
        The random name that all copies of it bear.
    guarantee
        What it satisfies by itself.
    """

    folder: Path
    identity: str
    guarantee: PureDP | ConcentratedDP


def load_manifest(folder: Path) -> dict[str, object]:
    """Read the manifest of a release.

    Raises
    ------
    InputError
        No folder, or no manifest that this package wrote in it.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(
            f"{folder} is not the folder of a release: it has no {MANIFEST}; give the folders that "
            "release wrote"
        )
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise InputError(f"{path} is damaged: it is not a JSON document") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f"{path} was not written by release; its format must be {FORMAT!r}")
    return document


def load_entry(folder: Path) -> Entry:
    """Read a release's identity and guarantee from its folder.

    Raises
    ------
    InputError
        As for `load_manifest`, or a guarantee that is none.
    """
    document = load_manifest(folder)
    try:
        guarantee = guarantee_from(document.get("guarantee"))
    except InputError as error:
        raise InputError(f"{folder / MANIFEST} is damaged: {error}") from None
    identity = document.get("measurement")
    if not isinstance(identity, str) or not identity:
        raise InputError(f"{folder / MANIFEST} is damaged: it does not name its measurement")
    return Entry(folder, identity, guarantee)


@dataclass(frozen=True)
class Budget:
    """What several releases about the same people guarantee together.

    Parameters
    ----------
    entries
        The releases that count, each measurement once.
    copies
        Releases made from a measurement that counts already; they cost nothing more.
    total
        Pure DP if every release satisfies it, else zCDP.
    zcdp
        The same as zCDP: pure DP with epsilon is ``epsilon^2/2``-zCDP.
    """

    entries: tuple[Entry, ...]
    copies: tuple[Entry, ...]
    total: PureDP | ConcentratedDP
    zcdp: ConcentratedDP

    def approximate(self, delta: float) -> ApproximateDP:
        """Return an (epsilon, delta) guarantee that follows, each release taken at its best.

        See `approximate_together`.

        Examples
        --------
        >>> a = Entry(Path("a"), "1", PureDP(5.0))
        >>> b = Entry(Path("b"), "2", ConcentratedDP(0.005))
        >>> add_up([a]).approximate(1e-6).epsilon < 5
        True
        >>> round(add_up([a, b]).approximate(1e-6).epsilon, 2)
        5.43
        """
        return approximate_together(self.epsilons, self.rho, delta)

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The levels of the releases that satisfy pure DP."""
        kinds = (e.guarantee for e in self.entries)
        return tuple(g.epsilon for g in kinds if isinstance(g, PureDP))

    @property
    def rho(self) -> float:
        """The sum of the levels of the others, 0 without any."""
        kinds = (e.guarantee for e in self.entries)
        return math.fsum(g.rho for g in kinds if isinstance(g, ConcentratedDP))


def add_up(entries: Sequence[Entry]) -> Budget:
    """Add up the guarantees of several releases (sequential composition, the paper's Section 2.2).

    All are taken to be about the same people, which is the safe assumption.

    Raises
    ------
    InputError
        No release, or one identity with two guarantees.

    Examples
    --------
    >>> a = Entry(Path("a"), "1", PureDP(1.0))
    >>> b = Entry(Path("b"), "2", ConcentratedDP(0.25))
    >>> add_up([a, b, a]).total
    ConcentratedDP(rho=0.75)
    """
    if not entries:
        raise InputError("there is no release to add up; give one or more folders")
    first: dict[str, Entry] = {}
    copies: list[Entry] = []
    for entry in entries:
        known = first.get(entry.identity)
        if known is None:
            first[entry.identity] = entry
            continue
        if known.guarantee != entry.guarantee:
            raise InputError(
                f"{known.folder} and {entry.folder} bear the same name of a measurement and "
                "different guarantees; one of the manifests has been changed"
            )
        copies.append(entry)
    counted = tuple(first.values())
    zcdp = compose(*(e.guarantee.to_zcdp() for e in counted))
    assert isinstance(zcdp, ConcentratedDP)
    pure = all(isinstance(e.guarantee, PureDP) for e in counted)
    total = compose(*(e.guarantee for e in counted)) if pure else zcdp
    return Budget(counted, tuple(copies), total, zcdp)
