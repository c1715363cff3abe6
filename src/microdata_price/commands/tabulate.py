"""``microdata-price tabulate``: a table of counts from a file of records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from ..base.files import check_new, write_whole
from ..tables.read import read_table
from ..tables.schemas import COUNT, Schema, load_schema, schema_path
from .reading import FILE, reading_options


@click.command()
@click.argument("persons", type=FILE)
@click.option("--schema", required=True, type=FILE, help="Columns and allowed values (JSON).")
@reading_options
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="The table to write; its schema comes beside it. Nothing is overwritten.",
)
def command(
    persons: Path,
    schema: Path,
    read_as: Callable[[Schema], Schema],
    where: dict[str, str],
    out: Path,
) -> None:
    """Count the records of PERSONS in the cells of a schema (docs/tables.md).

    Writes TABLE.csv (one row a cell, empty cells too) and TABLE.schema.json, which `price` and
    `release` accept. The file is read in parts: several gigabytes need little memory.

    \b
    Example, one of the paper's tables (state 01, area 01301):
      microdata-price tabulate psam_p01.csv --schema race-origin.schema.json --where ST=01 \\
        --where PUMA=01301 --out area.csv
    """  # noqa: D301
    beside = schema_path(out)
    for path in (out, beside):
        check_new(path)
    allowed = read_as(load_schema(schema))
    table = read_table(persons, allowed, where).astype(int)
    text = allowed.frame().assign(**{COUNT: table.ravel()}).to_csv(index=False, lineterminator="\n")
    write_whole(beside, allowed.to_json().encode())
    write_whole(out, text.encode())
    click.echo(f"{out}: {table.sum():,} records in {allowed.cells:,} cells, schema beside it.")
