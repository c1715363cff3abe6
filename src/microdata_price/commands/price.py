"""``microdata-price price`` and ``tabulate``: a table's price for its holder; and its counts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ..base.files import check_new, deferred_stop, new_folder, write_whole
from ..fitting import CONTROL, METHODS, check_methods
from ..price.report import NOTICE, price_files, report
from ..price.simulation import price_table
from ..tables.read import read_matrix, read_table
from ..tables.schemas import COUNT, load_schema, require, schema_path
from ..tables.workloads import parse_workload, shares_by_set
from . import options


@click.command(epilog="Example: microdata-price price area.csv --epsilon 0.5 --out my-eyes-only")
@click.argument("table", type=options.FILE)
@options.file("--schema", help="Columns (JSON).  [default: TABLE's name, .schema.json for .csv]")
@options.WHERE
@options.EPSILON
@options.RHO
@options.WORKLOAD
@options.names("--methods", default=[*METHODS], show_default=True, help="Those to compare.")
@options.SHARE
@options.whole("--runs", default=1000, help="Simulated runs.")
@options.whole("--seed", default=0, help="Of the simulation.")
@options.place("--out", help="A folder to make, for your eyes only.")
@options.JSON
def price_command(
    table: Path, schema: Path | None, out: Path | None, methods: list[str], runs: int, **asked: Any
) -> None:
    """Estimate what requiring microdata would cost on TABLE: a simulation, not a release.

    TABLE holds counts or records, as its schema says, or without a schema a matrix of counts with
    labels in its first row and first column (docs/tables.md). For every query set and method it
    gives the root error over that of signed answers, and the worst queries by name; with --json
    also bias and variance, and with --out files and pictures of all this.

    What it prints and writes is as confidential as the table. To publish, use `release`.
    """
    guarantee = options.guarantee_of(asked["epsilon"], asked["rho"])
    if out is not None:
        check_new(out)
    if matrix := schema is None and not schema_path(table).is_file():
        require(not asked["where"], "--where needs a schema; add --schema")
        allowed, counts = read_matrix(table)
    else:
        allowed = load_schema(schema or schema_path(table))
        counts = read_table(table, allowed, asked["where"])
    workload = parse_workload(asked["workload"], allowed)
    steps = runs * len(check_methods([CONTROL, *methods]))
    given = counts, allowed, workload, guarantee, methods
    more = {"seed": asked["seed"], "shares": shares_by_set(asked["share"], allowed, workload)}
    quiet = runs < 1 or not sys.stderr.isatty()
    with click.progressbar(length=steps, label="Simulating", file=sys.stderr, hidden=quiet) as bar:
        made = price_table(*given, runs=runs, progress=bar.update, **more)
    if matrix:  # not before: of what is refused there is one message
        sides = " x ".join(map(str, allowed.shape))
        options.warn(f"{table}: a matrix of {sides} counts, {counts.sum():,.0f} records")
    document = {
        "notice": NOTICE,
        "guarantee": made.guarantee.fields(),
        "runs": made.runs,
        "out": None,
        "prices": options.rows_of(made.totals),
        "total_and_columns": options.rows_of(made.always),
        "worst_queries": options.rows_of(made.worst()),
    }
    text = report(made, workload).rstrip("\n")
    try:
        if out is not None:
            with new_folder(out, private=True) as folder:
                for name, portions in price_files(made, workload).items():
                    with (folder / name).open("wb") as file:
                        (folder / name).chmod(0o600)
                        file.writelines(portions)
            document["out"], text = str(out), f"{text}\nWritten, for your eyes only: {out}"
    finally:  # a full disk loses no report
        options.tell(asked["as_json"], document, text)


@click.command(
    epilog="Example, one of the paper's tables: microdata-price tabulate psam_p01.csv --schema "
    "race-origin.schema.json --where ST=01 --where PUMA=01301 --out area.csv"
)
@click.argument("persons", type=options.FILE)
@options.file("--schema", required=True, help="Columns and allowed values (JSON).")
@options.WHERE
@options.place("--out", required=True, help="The table to write; its schema comes beside it.")
def tabulate_command(persons: Path, schema: Path, where: dict[str, str], out: Path) -> None:
    """Count the records of PERSONS in the cells of a schema (docs/tables.md).

    Writes TABLE.csv, one row a cell, and TABLE.schema.json, for `price` and `release`, or neither.
    """
    check_new(out)  # first: what has no name has none beside it
    check_new(beside := schema_path(out))
    plain = out.suffix.lower() in (".csv", ".txt", "")
    require(plain, f"the table is CSV; name it {beside.with_suffix('').with_suffix('.csv')}")
    allowed = load_schema(schema)
    table = read_table(persons, allowed, where).astype(int)
    text = allowed.frame().assign(**{COUNT: table.ravel()}).to_csv(index=False, lineterminator="\n")
    with deferred_stop():  # one without the other would only be in the way
        write_whole(out, text, new=True)
        try:
            write_whole(beside, allowed.to_json(totals=False), new=True)  # none is a total
        except BaseException:
            out.unlink()
            raise
    click.echo(f"{out}: {table.sum():,} records in {allowed.cells:,} cells, schema beside it.")
