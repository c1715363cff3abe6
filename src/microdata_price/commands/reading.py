"""Options that say how a table's file is read, for every command that takes a table."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import click

from ..exceptions import InputError

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)", re.ASCII | re.I)


def decimal(text: str) -> float:
    """Read a decimal number; Python itself would take ``1_5`` for fifteen.

    Raises
    ------
    ValueError
        It is none.

    Examples
    --------
    >>> decimal(" 1.5 "), decimal("1e-6")
    (1.5, 1e-06)
    """
    if not _DECIMAL.fullmatch(text.strip()):
        raise ValueError(text)
    return float(text)


class _Decimal(click.ParamType):  # type: ignore[type-arg]
    """One of click's types of numbers, which reads decimal ones alone."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self.name = kind.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not _DECIMAL.fullmatch(value.strip()):
            self.fail(f"{value!r} is not a valid {self.name}", param, ctx)
        return self._kind.convert(value, param, ctx)


NUMBER, WHOLE, COUNT = (_Decimal(k) for k in (click.FLOAT, click.INT, click.IntRange(min=0)))
"""Types of options: a number, a whole number, and one of 0 or more."""


def _records(_: click.Context, __: click.Parameter, given: bool) -> str | None:
    return "" if given else None


def _column(context: click.Context, _: click.Parameter, given: str | None) -> str | None:
    if given is not None and not given.strip():
        raise click.BadParameter("it must be the name of a column", context)
    return given


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--count-column`` and ``--records``, which a command gets as one value ``count``.

    It is a column's name, empty for records, ``None`` where neither is given (see `Schema`).
    """

    @functools.wraps(command)
    def both(*args: Any, count_column: str | None, records: str | None, **kwargs: Any) -> Any:
        if count_column is not None and records is not None:
            raise click.UsageError("give --count-column or --records, not both")
        count = records if count_column is None else count_column
        return command(*args, count=count, **kwargs)

    column = click.option(
        "--count-column",
        callback=_column,
        metavar="NAME",
        help="The column of TABLE that holds the counts.  [default: count, if there is one]",
    )
    records = click.option(
        "--records",
        is_flag=True,
        callback=_records,
        help="Each row of TABLE is one record, whatever its other columns look like.",
    )
    return column(records(both))


def read_shares(
    _: click.Context, __: click.Parameter, given: str | None
) -> dict[str, float] | None:
    """Read ``sum=0.5, region=0.2``."""
    if given is None:
        return None
    found: dict[str, float] = {}
    for part in given.replace(";", ",").split(","):
        name, equal, number = part.partition("=")
        try:
            share = decimal(number)
        except ValueError:
            share = 0.0
        if not equal or not name.strip() or share <= 0 or name.strip() in found:
            raise InputError(
                f"the shares are {given!r}; needed are query sets with numbers above 0 that add up "
                "to 1 or less, for example sum=0.5,identity=0.3"
            )
        found[name.strip()] = share
    return found
