"""``microdata-price bounds``: what one error must be, given the other, and what it can be."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from ..exceptions import InputError
from ..model.privacy import KINDS, guarantee_of, parameters
from ..theory.lower.lower_bounds import BOUNDS, LowerBounds, lower_bounds
from ..theory.lower.single_cells import single_cell_bounds
from ..theory.upper.reached import MECHANISMS, Reached, reached
from .reading import NUMBER

CHANNEL = {
    "channel": "ours: single cells exactly (a certified program), weights as outputs",
    "channel_whole": "ours: the same, for outputs in whole numbers",
}
_LEVELS = ("epsilon", "rho", "delta")


@click.command()
@click.option("--privacy", type=click.Choice(list(KINDS)), required=True, help="The kind.")
@click.option("--epsilon", type=NUMBER, help="For pure and approximate DP, for example 0.5.")
@click.option("--rho", type=NUMBER, help="For zCDP, for example 0.125.")
@click.option("--delta", type=NUMBER, help="For approximate DP, for example 1e-6.")
@click.option("--points", type=NUMBER, required=True, help="The number of disjoint point queries.")
@click.option("--sum-error", type=NUMBER, help="Root expected squared error of the sum query.")
@click.option("--point-error", type=NUMBER, help="The same of every point query.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(privacy: str, points: float, as_json: bool, **numbers: float | None) -> None:
    """Bound one root error of private microdata from below, given the other.

    Microdata answer d disjoint point queries and their sum. Give the root expected squared error
    that is allowed to the sum (D) to learn what some point query must then have (C), or the other
    way round. Errors are in counts; a bound that says nothing is 0, and a note says why. Below
    stands what known nonnegative mechanisms keep to, on every table.

    \b
    Examples:
      microdata-price bounds --privacy pure --epsilon 0.5 --points 1000000 --sum-error 5.66
      microdata-price bounds --privacy zcdp --rho 0.125 --points 1000 --point-error 3 --json
    """  # noqa: D301
    levels = {name: v for name in _LEVELS if (v := numbers[name]) is not None}
    if set(levels) != set(needed := parameters(privacy)):
        needs = " and ".join(f"--{name}" for name in needed)
        raise InputError(f"--privacy {privacy} needs {needs} and no other level")
    guarantee = guarantee_of(privacy, **levels)
    errors = {name: numbers[name] for name in ("sum_error", "point_error")}
    found = lower_bounds(guarantee, points, **errors)
    known = reached(guarantee, found.points, **errors)
    cells, note = single_cell_bounds(guarantee, found.points, **errors)
    notes = [*found.notes, *([note] if note else []), *known.notes.values()]
    if as_json:
        document = _document(privacy, found, cells, known, notes)
        click.echo(json.dumps(document, indent=2, allow_nan=False))
    else:
        click.echo(_table(found, cells, known, notes))


def _document(
    privacy: str, found: LowerBounds, cells: dict[str, float], known: Reached, notes: list[str]
) -> dict[str, Any]:
    given = {"sum_error": None, "point_error": None} | {found.given: found.amount}
    return {
        "privacy": privacy,
        **{name: getattr(found.guarantee, name, None) for name in _LEVELS},
        "points": found.points,
        **given,
        "bounds": "point_error" if found.given == "sum_error" else "sum_error",
        **(found.values | cells),
        "branches": found.branches,
        "constants": {
            name: {k: v if math.isfinite(v) else None for k, v in chosen.items()}
            for name, chosen in found.constants.items()
        },
        "reached": known.values,
        "notes": notes,
    }


def _table(found: LowerBounds, cells: dict[str, float], known: Reached, notes: list[str]) -> str:
    first, given, other = "some point query", "the sum", "every point query"
    if found.given == "point_error":
        first, given, other = "the sum", other, "the sum"
    rows = [(name, value, BOUNDS[name].meaning) for name, value in found.values.items()]
    rows[1:1] = [(f"  {k}", v, "the paper's own choice of k") for k, v in found.branches.items()]
    rows += [(name, value, CHANNEL[name]) for name, value in cells.items()]
    lines = [
        f"{found.guarantee.describe().capitalize()}, d = {found.points} point queries.",
        f"If {given} has a root expected squared error of at most {found.amount:g} counts, "
        f"then {first} has at least:",
        "",
        *(f"  {name:<16} {value:>12.6g}  {meaning}" for name, value, meaning in rows),
        "",
        "Known nonnegative mechanisms keep to that, and err on every table, for",
        f"{other}, by no more than:",
        "",
    ]
    for name, value in known.values.items():
        text = "-" if value is None else f"{value:.6g}"
        lines.append(f"  {name:<16} {text:>12}  {MECHANISMS[name]}")
    return "\n".join([*lines, *([""] if notes else []), *(f"  - {note}" for note in notes)])
