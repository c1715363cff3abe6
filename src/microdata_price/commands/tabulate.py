"""``microdata-price tabulate``: a table from a person file of the Census Bureau."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..book.parameters import no_repeats
from ..tables.tabulate import check_place, parse_values, tabulate, write_table

_AGREEMENT = {
    True: "It agrees with the paper's table of this area, cell for cell.",
    False: (
        "It differs from the paper's table of this area, which is of the 2016 one-year file: this "
        "is another year's file, or not the Bureau's."
    ),
    None: "",
}


@click.command()
@click.argument("persons", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--puma", required=True, help="The area: two digits of the state, then five.")
@click.option(
    "--by", multiple=True, required=True, help="A variable of the table; repeat for more."
)
@click.option("--weighted", is_flag=True, help="Sum person weights instead of counting records.")
@click.option(
    "--values", multiple=True, help="A variable's values, for example MIL=blank,1-4; repeatable."
)
@click.option(
    "--puma-column",
    help="The column of the area, where a file has several.  [default: PUMA, or the only one]",
)
@click.option(
    "--records",
    is_flag=True,
    help="Each row of PERSONS is one person, whatever its other columns look like.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="The table to write; its schema comes beside it. Nothing is overwritten.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    persons: Path,
    puma: str,
    by: tuple[str, ...],
    weighted: bool,
    values: tuple[str, ...],
    puma_column: str | None,
    records: bool,
    out: Path,
    as_json: bool,
) -> None:
    """Count the persons of one area in PERSONS, a PUMS person file.

    PERSONS is the Bureau's CSV file, by itself or packed (.zip, .gz, .bz2, .xz), or the JSON that
    its API answers.

    Writes TABLE.csv (one row a cell, empty cells too) and TABLE.schema.json, which `price` and
    `release` accept. The file is streamed: several gigabytes need little memory. Codes lose leading
    zeros, and an empty field (in the API's answers also 0 or N) is the value "blank". The values of
    each variable come from the Bureau's dictionary or from --values, never from the data.

    A table of weights is marked: one person can change it by more than one, so `price` and
    `release` refuse it.

    \b
    Example, one of the paper's tables (state 01, area 01301):
      microdata-price tabulate psam_p01.csv --puma 0101301 --by RAC1P --by HISP --out area.csv
    """  # noqa: D301
    beside = check_place(out)  # before a file of several gigabytes is read
    listed = [parse_values(text) for text in values]
    no_repeats([name for name, _ in listed], "--values")
    made = tabulate(
        persons,
        puma,
        by,
        weighted=weighted,
        values=dict(listed),
        area_column=puma_column,
        records=records,
    )
    write_table(made, out)
    if as_json:
        document = {
            "table": str(out),
            "schema": str(beside),
            "puma": puma,
            "by": list(by),
            "shape": list(made.schema.shape),
            "persons": made.persons,
            "weighted": weighted,
            "agrees_with_paper": made.agrees,
            "notes": made.notes(),
        }
        click.echo(json.dumps(document))
        return
    shape = " x ".join(map(str, made.schema.shape))
    click.echo(f"{out}: {made.persons} persons of area {puma} in {shape} cells, schema beside it.")
    for note in made.notes():
        click.echo(note)
    if weighted:
        click.echo("It is weighted, and marked so: price and release refuse it.")
    if _AGREEMENT[made.agrees]:
        click.echo(_AGREEMENT[made.agrees])
