"""``microdata-price price``: what requiring microdata would cost on a table."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pandas as pd

from ..base.files import check_new, new_folder
from ..exceptions import InputError
from ..fitting import CONTROL, METHODS, check_methods
from ..price.report import NOTICE, price_files, report
from ..price.simulation import Price, price_table
from ..tables.read import read_matrix, read_table
from ..tables.schemas import Schema, load_schema, schema_path
from ..tables.workloads import DEFAULT, parse_workload, shares_by_set
from .reading import FILE, JSON, NUMBER, SHARE, WHOLE, guarantee_of, reading_options


@contextlib.contextmanager
def _progress(runs: int) -> Iterator[Callable[[int], None] | None]:
    """Show a bar on a terminal and nothing elsewhere."""
    if runs < 1 or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=runs, label="Simulating", file=sys.stderr) as bar:
        yield bar.update


def _rows(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Return rows for JSON, in which a number that is not known is null."""
    known = frame.astype(object).where(frame.notna(), None)
    return [{str(k): v for k, v in row.items()} for row in known.to_dict(orient="records")]


def _document(made: Price, out: Path | None) -> dict[str, object]:
    return {
        "notice": NOTICE,
        "guarantee": made.guarantee.fields(),
        "runs": made.runs,
        "out": None if out is None else str(out),
        "prices": _rows(made.totals),
        "total_and_columns": _rows(made.always),
        "worst_queries": _rows(made.worst()),
    }


@click.command()
@click.argument("table", type=FILE)
@click.option(
    "--schema",
    type=FILE,
    help="Columns and allowed values (JSON). Default: the file with the table's name and "
    ".schema.json in place of .csv; without any, TABLE is a matrix of counts with labels.",
)
@reading_options
@click.option("--epsilon", type=NUMBER, help="Pure differential privacy: Laplace noise.")
@click.option("--rho", type=NUMBER, help="Concentrated (zCDP): Gaussian noise.")
@click.option("--workload", default=DEFAULT, show_default=True, help="The queries, in order.")
@click.option(
    "--methods",
    default=",".join(METHODS),
    show_default=True,
    help=f"Some of {', '.join(METHODS)}, separated by commas.",
)
@SHARE
@click.option("--runs", type=WHOLE, default=1000, show_default=True, help="Simulated runs.")
@click.option("--seed", type=WHOLE, default=0, show_default=True, help="Of the simulation.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="A folder to make, for your eyes only."
)
@JSON
def command(
    table: Path,
    schema: Path | None,
    read_as: Callable[[Schema], Schema],
    where: dict[str, str],
    epsilon: float | None,
    rho: float | None,
    workload: str,
    methods: str,
    share: dict[str, float] | None,
    runs: int,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Estimate what requiring microdata would cost on TABLE: a simulation, not a release.

    TABLE holds counts or records, as its schema says, or without a schema a matrix of counts with
    labels in its first row and first column (docs/tables.md). For every query set and method it
    gives the root error over that of signed answers, bias and variance, and the worst queries by
    name; with --out also as files and pictures.

    The workload lists query sets, those that matter most first: "sum" (all records), "identity"
    (every cell), "marginals" (each column by itself), a column's name (its marginal), names joined
    by stars (their joint marginal). The budget covers all of them together.

    What it prints and writes is computed from the true table without protection and is as
    confidential as the table. To publish something, use `microdata-price release`.

    \b
    Example:
      microdata-price price area.csv --epsilon 0.5 --out for-my-eyes-only
    """  # noqa: D301
    guarantee = guarantee_of(epsilon, rho)
    if out is not None:
        check_new(out)
    beside = schema_path(table)
    given = beside if schema is None and beside.is_file() else schema
    if given is not None:
        allowed = read_as(load_schema(given))
        counts = read_table(table, allowed, where)
    else:
        allowed, counts = read_matrix(table)
        if where or read_as(allowed) != allowed:
            raise InputError("--where, --records and --count-column need a schema; add --schema")
        sides = " x ".join(map(str, allowed.shape))
        click.echo(f"{table}: a matrix of {sides} counts, {counts.sum():,.0f} records", err=True)
    asked = parse_workload(workload, allowed)
    shares = None if share is None else shares_by_set(share, allowed, asked)
    names = [m.strip() for m in methods.split(",")]
    with _progress(runs * len(check_methods([CONTROL, *names]))) as tell:
        made = price_table(
            counts,
            allowed,
            asked,
            guarantee,
            names,
            runs=runs,
            seed=seed,
            progress=tell,
            shares=shares,
        )
    if out is not None:
        files = price_files(made, asked)
        with new_folder(out, private=True) as folder:
            for name, portions in files.items():
                with (folder / name).open("wb") as file:
                    (folder / name).chmod(0o600)
                    file.writelines(portions)
    if as_json:
        click.echo(json.dumps(_document(made, out)))
        return
    click.echo(report(made, asked), nl=False)
    if out is not None:
        click.echo(f"Written, for your eyes only: {out}")
