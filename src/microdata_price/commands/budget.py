"""``microdata-price budget``: what several releases guarantee together, and ledgers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click

from ..base.numbers import at_most
from ..exceptions import InputError
from ..model.conversion import approximate_together
from ..model.privacy import ConcentratedDP, PureDP
from ..release.budget import Budget, add_up
from ..release.folder import entry_of, load_measured
from ..release.ledger import Account, read_ledger
from .reading import JSON, NUMBER, guarantee_of


def _fields(budget: Budget, delta: float) -> dict[str, object]:
    approximate = approximate_together(budget.epsilons, budget.rho, delta)
    return {
        "total": budget.total.fields(),
        "zcdp": budget.zcdp.fields(),
        "epsilon": math.fsum(budget.epsilons),
        "rho": budget.rho,
        "approximate": {"epsilon": approximate.epsilon, "delta": approximate.delta},
        "neighbours": budget.neighbours,
    }


def _text(budget: Budget, delta: float) -> str:
    approximate = approximate_together(budget.epsilons, budget.rho, delta)
    parts = []
    if budget.epsilons:
        parts.append(PureDP(math.fsum(budget.epsilons)).describe())
    if budget.rho:
        parts.append(ConcentratedDP(budget.rho).describe())
    return (
        f"Together: {' and, besides, '.join(parts)}, for {budget.neighbours}\n"
        f"That is at most ({at_most(approximate.epsilon, 4)}, {approximate.delta:g})-differential "
        f"privacy, each release taken at its best, and at most zCDP with rho = "
        f"{at_most(budget.zcdp.rho, 6)}."
    )


def _missing(ledger: Path, noted: dict[Path, str]) -> dict[Path, str]:
    """Say of each folder why the ledger does not count it; empty where it does.

    A folder notes the checksum of the line that counted it, empty if it was made without a ledger.
    """
    lines = read_ledger(ledger)
    cut = f"its line is missing from {ledger}: lines were cut, or this is another ledger"
    free = "it was made without a ledger, and counts in none"
    return {f: "" if line in lines else cut if line else free for f, line in noted.items()}


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
@click.option("--delta", type=NUMBER, default=1e-6, show_default=True, help="For (epsilon, delta).")
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A ledger that release keeps: of --name, or to compare FOLDERS with.",
)
@click.option("--name", help="The table's name in the ledger.")
@click.option("--cap-epsilon", type=NUMBER, help="Refuse releases beyond this epsilon from now on.")
@click.option("--cap-rho", type=NUMBER, help="Refuse releases beyond this rho from now on.")
@JSON
def command(
    folders: tuple[Path, ...],
    delta: float,
    ledger: Path | None,
    name: str | None,
    cap_epsilon: float | None,
    cap_rho: float | None,
    as_json: bool,
) -> None:
    """Add up the guarantees of several releases: FOLDERS that `release` wrote.

    All are taken to be about the same people, the safe assumption. Epsilons add up to epsilon, rhos
    to rho. What both kinds guarantee together is given as an (epsilon, delta): at most, from Renyi
    divergences of every order, in which pure and zCDP releases add up without loss. As zCDP,
    epsilon counts as rho = epsilon^2 / 2. A copy of a release counts once. Where some release has a
    public total, all count for one record replaced by another, each that was not made so as two
    steps. Every guarantee is computed anew from workload, noise and scales.

    With --ledger and --name it shows what `release --ledger` wrote down for that table, and sets
    the cap, without which nothing is released under that name. With --ledger and FOLDERS it says
    which of them the ledger counts: each folder notes the ledger's line that counted it, so that
    lines that were cut, edited or emptied are found. Status 1 then.

    \b
    Examples:
      microdata-price budget released-2024 released-2025
      microdata-price budget --ledger ledger.jsonl --name persons --cap-epsilon 3
      microdata-price budget --ledger ledger.jsonl released-2024 released-2025
    """  # noqa: D301
    capped = cap_epsilon is not None or cap_rho is not None
    if name is not None or (capped and not folders):
        if ledger is None or name is None or folders:
            raise InputError(
                "a ledger's account is told by --ledger and --name together, without FOLDERS"
            )
        account = Account(ledger, name)
        if capped:
            account.limit(guarantee_of(cap_epsilon, cap_rho))
        entries, cap = account.state()
        document: dict[str, object] = {
            "ledger": str(ledger),
            "name": name,
            "measurements": [e.identity for e in entries],
            "cap": None if cap is None else cap.fields(),
        }
        budget = add_up(entries) if entries else None
        lines = [
            f"{account.name}: {len(entries)} measurement{'s' * (len(entries) != 1)} in {ledger}",
            "No cap is set." if cap is None else f"Cap: {cap.describe()}",
        ]
    elif capped:
        raise InputError("a cap is set with --ledger and --name, without FOLDERS")
    else:
        loaded = {folder: load_measured(folder)[0] for folder in folders}
        budget = add_up([entry_of(folder, made) for folder, made in loaded.items()])
        document = {
            "releases": [
                {"folder": str(e.folder), "guarantee": e.guarantee.fields()} for e in budget.entries
            ],
            "copies": [str(e.folder) for e in budget.copies],
        }
        lines = [f"{e.folder}: {e.guarantee.describe()}" for e in budget.entries]
        lines += [
            f"{e.folder}: a copy of the same measurement, counted once" for e in budget.copies
        ]
        if ledger is not None:
            noted = {folder: made.ledger for folder, made in loaded.items()}
            missing = _missing(ledger, noted)
            document["not_in_ledger"] = {str(f): why for f, why in missing.items() if why}
            lines += [f"{f}: {why or f'counted in {ledger}'}" for f, why in missing.items()]
    document |= _fields(budget, delta) if budget else {}
    lines.append(_text(budget, delta) if budget else "Nothing was spent.")
    click.echo(json.dumps(document) if as_json else "\n".join(lines))
    if document.get("not_in_ledger"):
        raise SystemExit(1)
