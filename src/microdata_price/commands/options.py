"""Options that several commands share, each declared once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import click
import pandas as pd

from ..exceptions import InputError
from ..model.privacy import ConcentratedDP, PureDP
from ..tables.workloads import DEFAULT


def _number(text: str, kind: type = float, wanted: str = "number, such as 0.5") -> Any:
    """Read a number as people write it: Python itself would take ``1_5`` for fifteen."""
    try:
        return kind(str(text).replace("_", "?"))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a {wanted}") from None


def _pairs(_: Any, option: Any, parts: Iterable[str], split: Any = str.partition) -> dict[str, str]:
    """Read ``NAME=VALUE``, each name once."""
    found: dict[str, str] = {}
    for part in parts:
        name, equals, value = map(str.strip, split(part, "="))
        odd = ", which is not in UTF-8" * bool(re.search(r"[\ud800-\udfff]", part))
        if not name or not equals or odd:
            raise click.BadParameter(f"needed is {option.metavar}, not {part!r}{odd}")
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice; give it once")
        found[name] = value
    return found


def _names(_: Any, __: Any, values: Iterable[str]) -> list[str]:
    return [part.strip() for value in values for part in re.split("[,;]", value)]


def _shares(_: Any, option: click.Parameter, values: Iterable[str]) -> dict[str, float]:
    found = _pairs(_, option, _names(_, option, values), str.rpartition)  # a name may hold "="
    return {name: _number(share) for name, share in found.items()}


Level = PureDP | ConcentratedDP
warn = partial(click.echo, err=True)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

number = partial(click.option, type=_number, metavar="NUMBER")
whole = partial(number, type=lambda n: _number(n, int, "whole number"), show_default=True)
# A whole number keeps all its digits.
exact = partial(number, type=lambda n: int(Decimal(n)) if _number(n).is_integer() else _number(n))
flag = partial(click.option, is_flag=True)
file = partial(click.option, type=FILE)
place = partial(click.option, type=click.Path(path_type=Path))
names = partial(click.option, multiple=True, callback=_names)  # repeated, or with commas
numbers = partial(names, callback=lambda *given: [_number(part) for part in _names(*given)])
pairs = partial(click.option, multiple=True, callback=_pairs)

EPSILON = number("--epsilon", help="Level of differential privacy, for example 0.5.")
RHO = number("--rho", help="Level of zero-concentrated privacy (zCDP), for example 0.125.")
DELTA = number("--delta", help="Delta of approximate privacy, for example 1e-6.")
JSON = flag("--json", "as_json", help="Print one JSON document.")
WHERE = pairs("--where", metavar="COLUMN=VALUE", help="Only rows with this, if any; repeatable.")
SHARE = names(
    "--share",
    metavar="SET=SHARE,...",
    callback=_shares,
    help="Shares of the budget, by query set or marginals; others share the rest.",
)
WORKLOAD = click.option(
    "--workload",
    default=DEFAULT,
    show_default=True,
    help='Query sets, those that matter most first: "sum" (all records), "identity" (every cell), '
    "\"marginals\" (each column), a column's or group's name, names joined by stars.",
)


def guarantee_of(epsilon: float | None, rho: float | None, cap: str = "") -> Level:
    """Return the guarantee that one of two options (of caps: ``"cap-"``) gives; refuse both."""
    if epsilon is not None and rho is None:
        return PureDP(epsilon)
    if rho is not None and epsilon is None:
        return ConcentratedDP(rho)
    given = "no privacy level is" if rho is None else f"both --{cap}epsilon and --{cap}rho are"
    raise InputError(f"{given} given; give one, as --{cap}epsilon 1 or --{cap}rho 0.1 (zCDP)")


def rows_of(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return a table's rows for JSON, in which a number that is not known is null."""
    return frame.astype(object).where(frame.notna(), None).to_dict(orient="records")


def tell(as_json: bool, document: Mapping[str, Any], text: str) -> None:
    """Print a result, as one JSON document or as text."""
    click.echo(json.dumps(document, allow_nan=False) if as_json else text)
