"""Options that several commands share, each declared once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..exceptions import InputError
from ..model.privacy import ConcentratedDP, PureDP
from ..tables.workloads import DEFAULT


class _Decimal(click.ParamType):  # type: ignore[type-arg]
    """A number as people write it: Python itself would take ``1_5`` for fifteen."""

    def __init__(self, kind: type[int] | type[float], name: str, example: str) -> None:
        self.kind, self.name, self.example = kind, name, example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.kind(value.replace("_", "?") if isinstance(value, str) else value)
        except ValueError:
            self.fail(f"{value!r} is not a {self.name}, such as {self.example}", param, ctx)


def _pairs(_: Any, option: click.Parameter, parts: Iterable[str]) -> dict[str, str]:
    """Read ``NAME=VALUE``, each name once."""
    found: dict[str, str] = {}
    for part in parts:
        name, equals, value = map(str.strip, part.partition("="))
        if not name or not equals:
            raise click.BadParameter(f"needed is {option.metavar}, not {part!r}")
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice; give it once")
        found[name] = value
    return found


def _names(_: Any, __: Any, values: Iterable[str]) -> list[str]:
    return [part.strip() for value in values for part in re.split("[,;]", value)]


def _numbers(ctx: click.Context, option: click.Parameter, values: Iterable[str]) -> list[float]:
    return [NUMBER.convert(part, option, ctx) for part in _names(ctx, option, values)]


def _shares(ctx: click.Context, option: click.Parameter, given: list[str]) -> dict[str, float]:
    found = _pairs(ctx, option, _names(ctx, option, given))
    return {name: NUMBER.convert(share, option, ctx) for name, share in found.items()}


NUMBER, WHOLE = _Decimal(float, "number", "0.5"), _Decimal(int, "whole number", "1000")
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

number = partial(click.option, type=NUMBER)
whole = partial(click.option, type=WHOLE, show_default=True)
file = partial(click.option, type=FILE)
place = partial(click.option, type=click.Path(path_type=Path))
names = partial(click.option, multiple=True, callback=_names)  # repeated, or with commas
numbers = partial(click.option, multiple=True, callback=_numbers)
pairs = partial(click.option, multiple=True, callback=_pairs)

EPSILON = number("--epsilon", help="Level of differential privacy, for example 0.5.")
RHO = number("--rho", help="Level of zero-concentrated privacy (zCDP), for example 0.125.")
DELTA = number("--delta", help="Delta of approximate privacy, for example 1e-6.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
WHERE = pairs("--where", metavar="COLUMN=VALUE", help="Read only rows with this; repeatable.")
SHARE = click.option(
    "--share",
    multiple=True,
    metavar="SET=SHARE,...",
    callback=_shares,
    help="Shares of the budget by query set or marginals; others share the rest.",
)
WORKLOAD = click.option(
    "--workload",
    default=DEFAULT,
    show_default=True,
    help='Query sets, those that matter most first: "sum" (all records), "identity" (every cell), '
    "\"marginals\" (each column), a column's or group's name, names joined by stars.",
)


def guarantee_of(epsilon: float | None, rho: float | None) -> PureDP | ConcentratedDP:
    """Return the guarantee that one of two options asks for, and refuse none or both."""
    if epsilon is not None and rho is None:
        return PureDP(epsilon)
    if rho is not None and epsilon is None:
        return ConcentratedDP(rho)
    given = "no privacy level is given" if rho is None else "both --epsilon and --rho are given"
    raise InputError(f"{given}; give one, for example --epsilon 1 (pure) or --rho 0.1 (zCDP)")
