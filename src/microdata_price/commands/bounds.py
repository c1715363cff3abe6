"""``microdata-price bounds``: what one error must be, given the other, and what it can be."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from ..exceptions import InputError
from ..model.privacy import KINDS, Guarantee, guarantee_of, parameters
from ..theory.lower.lower_bounds import BOUNDS, LowerBounds, lower_bounds
from ..theory.upper.reached import MECHANISMS, Reached, reached
from .reading import decimal


@click.command()
@click.option("--privacy", metavar="KIND", help=f"One of {', '.join(KINDS)}.")
@click.option("--epsilon", metavar="E", help="For pure and approximate DP, for example 0.5.")
@click.option("--rho", metavar="R", help="For zCDP, for example 0.125.")
@click.option("--delta", metavar="DELTA", help="For approximate DP, for example 1e-6.")
@click.option("--points", metavar="d", help="The number of disjoint point queries, 2 or more.")
@click.option("--sum-error", metavar="D", help="Root expected squared error of the sum query.")
@click.option("--point-error", metavar="C", help="The same of every point query.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    privacy: str | None,
    epsilon: str | None,
    rho: str | None,
    delta: str | None,
    points: str | None,
    sum_error: str | None,
    point_error: str | None,
    as_json: bool,
) -> None:
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
    levels = {"epsilon": epsilon, "rho": rho, "delta": delta}
    guarantee = _guarantee(privacy, levels)
    d = _whole(points)
    errors = {
        "sum_error": None if sum_error is None else _number("the sum error", sum_error),
        "point_error": None if point_error is None else _number("the point error", point_error),
    }
    found, known = lower_bounds(guarantee, d, **errors), reached(guarantee, d, **errors)
    if as_json:
        click.echo(json.dumps(_document(privacy, found, known), indent=2, allow_nan=False))
    else:
        click.echo(_table(found, known))


def _guarantee(privacy: str | None, levels: dict[str, str | None]) -> Guarantee:
    if privacy not in KINDS:
        given = "not given" if privacy is None else f"{privacy!r}"
        raise InputError(f"--privacy is {given}; it must be one of {', '.join(KINDS)}")
    needed = parameters(privacy)
    for name, text in levels.items():
        if name in needed and text is None:
            raise InputError(f"--privacy {privacy} needs --{name}, for example {_EXAMPLE[name]}")
        if name not in needed and text is not None:
            raise InputError(
                f"--{name} is given but --privacy {privacy} does not read it; it reads "
                f"{' and '.join('--' + n for n in needed)}"
            )
    return guarantee_of(privacy, **{name: _number(name, levels[name] or "") for name in needed})


_EXAMPLE = {"epsilon": "0.5", "rho": "0.125", "delta": "1e-6"}


def _number(name: str, text: str) -> float:
    try:
        return decimal(text)
    except ValueError:
        raise InputError(f"{name} is {text!r}; it must be a number, for example 0.5") from None


def _whole(text: str | None) -> int:
    if text is None:
        raise InputError("--points is not given; it is the number of point queries, 2 or more")
    try:
        number = decimal(text)
        if text.strip().lstrip("+-").isdigit():
            return int(text)
        if number == math.floor(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise InputError(f"--points is {text!r}; it must be a whole number of 2 or more")


def _document(privacy: str | None, found: LowerBounds, known: Reached) -> dict[str, Any]:
    guarantee = found.guarantee
    given = {"sum_error": None, "point_error": None} | {found.given: found.amount}
    return {
        "privacy": privacy,
        **{name: getattr(guarantee, name, None) for name in _EXAMPLE},
        "points": found.points,
        **given,
        "bounds": "point_error" if found.given == "sum_error" else "sum_error",
        **found.values,
        "branches": found.branches,
        "constants": {
            name: {k: v if math.isfinite(v) else None for k, v in chosen.items()}
            for name, chosen in found.constants.items()
        },
        "reached": known.values,
        "notes": [*found.notes, *known.notes.values()],
    }


def _table(found: LowerBounds, known: Reached) -> str:
    sums = found.given == "sum_error"
    query, given = ("some point query", "the sum") if sums else ("the sum", "every point query")
    lines = [
        f"{found.guarantee.describe().capitalize()}, d = {found.points} point queries.",
        f"If {given} has a root expected squared error of at most {found.amount:g} counts, "
        f"then {query} has at least:",
        "",
    ]
    rows = [(name, value, BOUNDS[name].meaning) for name, value in found.values.items()]
    rows[1:1] = [(f"  {k}", v, "the paper's own choice of k") for k, v in found.branches.items()]
    lines += [f"  {name:<16} {value:>12.6g}  {meaning}" for name, value, meaning in rows]
    other = "every point query" if sums else "the sum"
    lines += ["", "Known nonnegative mechanisms keep to that, and err on every table, for"]
    lines += [f"{other}, by no more than:", ""]
    for name, value in known.values.items():
        text = "-" if value is None else f"{value:.6g}"
        lines.append(f"  {name:<16} {text:>12}  {MECHANISMS[name]}")
    notes = [*found.notes, *known.notes.values()]
    if notes:
        lines += ["", *(f"  - {note}" for note in notes)]
    return "\n".join(lines)
