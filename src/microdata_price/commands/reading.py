"""Options that several commands share: numbers, how a table's file is read, a privacy level."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..exceptions import InputError
from ..model.privacy import ConcentratedDP, PureDP
from ..tables.schemas import Schema


class _Decimal(click.ParamType):  # type: ignore[type-arg]
    """A number as people write it: Python itself would take ``1_5`` for fifteen."""

    def __init__(self, kind: type[int] | type[float], name: str, example: str) -> None:
        self.kind, self.name, self.example = kind, name, example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.kind(value.replace("_", "?") if isinstance(value, str) else value)
        except ValueError:
            self.fail(f"{value!r} is not a {self.name}, such as {self.example}", param, ctx)


NUMBER, WHOLE = _Decimal(float, "number", "0.5"), _Decimal(int, "whole number", "1000")
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


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
            "--where",
            multiple=True,
            metavar="COLUMN=VALUE",
            help="Read only rows with this value in this column; repeatable.",
        ),
        click.option("--records", is_flag=True, help="Each row of the file is one record."),
        click.option(
            "--count-column",
            metavar="NAME",
            help="The column of the file that holds the counts, where the schema does not say it.",
        ),
    )
    return functools.reduce(lambda made, option: option(made), options, with_options)


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
    ctx: click.Context, option: click.Parameter, given: str | None
) -> dict[str, float] | None:
    """Read ``sum=0.5, region=0.2``."""
    if given is None:
        return None
    parts = [part.partition("=") for part in given.replace(";", ",").split(",")]
    shares = {name.strip(): NUMBER.convert(share, option, ctx) for name, _, share in parts}
    if len(shares) < len(parts) or "" in shares or not all(s > 0 for s in shares.values()):
        raise InputError(
            f"the shares are {given!r}; needed are query sets, each once, with numbers above 0 "
            "that add up to 1 or less, for example sum=0.5,identity=0.3"
        )
    return shares


SHARE = click.option(
    "--share",
    callback=read_shares,
    metavar="SET=SHARE,...",
    help="Shares of the budget by query set (or marginals, divided alike); the others share the "
    "rest.  [default: all alike]",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
