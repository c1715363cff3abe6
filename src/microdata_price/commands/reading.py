"""Options that say how a table's file is read, for every command that takes a table."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from ..exceptions import InputError
from ..model.privacy import ConcentratedDP, PureDP
from ..tables.schemas import Schema

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


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--count-column``, ``--records`` and ``--where``.

    A command gets ``read_as``, a function that puts the first two into a schema, and ``where``.
    """

    @functools.wraps(command)
    def with_options(
        *args: Any, count_column: str | None, records: bool, where: tuple[str, ...], **kwargs: Any
    ) -> Any:
        if count_column is not None and records:
            raise click.UsageError("give --count-column or --records, not both")
        pairs = [part.partition("=") for part in where]
        chosen = {name.strip(): value.strip() for name, _, value in pairs}
        if len(chosen) < len(pairs) or not all(name and equals for name, equals, _ in pairs):
            raise click.UsageError("--where needs COLUMN=VALUE, with each column once")

        def read_as(schema: Schema) -> Schema:
            if records:
                return replace(schema, layout="records")
            if count_column is None:
                return schema
            return replace(schema, layout="counts", count=count_column)

        return command(*args, read_as=read_as, where=chosen, **kwargs)

    options = (
        click.option(
            "--count-column",
            metavar="NAME",
            help="The column of the file that holds the counts, where the schema does not say it.",
        ),
        click.option("--records", is_flag=True, help="Each row of the file is one record."),
        click.option(
            "--where",
            multiple=True,
            metavar="COLUMN=VALUE",
            help="Read only rows with this value in this column; repeatable.",
        ),
    )
    return functools.reduce(lambda made, option: option(made), reversed(options), with_options)


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
