"""``microdata-price budget``: what several releases guarantee together."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click

from ..base.numbers import at_most
from ..release.budget import add_up, load_entry


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--delta", type=float, default=1e-6, show_default=True, help="For (epsilon, delta).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(folders: tuple[Path, ...], delta: float, as_json: bool) -> None:
    """Add up the guarantees of several releases: FOLDERS that `release` wrote.

    All are taken to be about the same people, the safe assumption. Epsilons add up to epsilon, rhos
    to rho. What both kinds guarantee together is given as an (epsilon, delta): at most, from Renyi
    divergences of every order, in which pure and zCDP releases add up without loss. As zCDP,
    epsilon counts as rho = epsilon^2 / 2. A copy of a release counts once.

    \b
    Example:
      microdata-price budget released-2024 released-2025
    """  # noqa: D301
    budget = add_up([load_entry(folder) for folder in folders])
    approximate = budget.approximate(delta)
    if as_json:
        document = {
            "releases": [
                {"folder": str(e.folder), "guarantee": e.guarantee.fields()} for e in budget.entries
            ],
            "copies": [str(e.folder) for e in budget.copies],
            "total": budget.total.fields(),
            "zcdp": budget.zcdp.fields(),
            "epsilon": math.fsum(budget.epsilons),
            "rho": budget.rho,
            "approximate": {"epsilon": approximate.epsilon, "delta": approximate.delta},
        }
        click.echo(json.dumps(document))
        return
    for entry in budget.entries:
        click.echo(f"{entry.folder}: {entry.guarantee.describe()}")
    for entry in budget.copies:
        click.echo(f"{entry.folder}: a copy of the same measurement, counted once")
    parts = []
    if budget.epsilons:
        parts.append(f"pure differential privacy with epsilon = {math.fsum(budget.epsilons):.12g}")
    if budget.rho:
        parts.append(f"zero-concentrated differential privacy with rho = {budget.rho:.12g}")
    click.echo(f"Together: {' and, besides, '.join(parts)}")
    click.echo(
        f"That is at most ({at_most(approximate.epsilon, 4)}, {approximate.delta:g})-differential "
        f"privacy, each release taken at its best, and at most zCDP with rho = "
        f"{at_most(budget.zcdp.rho, 6)}."
    )
