"""``microdata-price release``: private measurements and microdata of a real table."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click

from ..exceptions import InputError
from ..fitting import METHODS, REASON, RECOMMENDED
from ..release.budget import guarantee_of
from ..release.files import errors_text
from ..release.fit import Release
from ..release.run import release, release_again
from ..tables.forms import form_of
from ..tables.schema import load_schema, schema_path
from ..tables.workload_text import DEFAULT, parse_workload
from .reading import reading_options


def _summary(made: Release, out: Path) -> str:
    lines = [
        f"Guarantee, computed by OpenDP for the whole workload: "
        f"{made.measured.mechanism.guarantee.describe()}.",
        f"Noise: {made.measured.mechanism.name}, variance "
        f"{made.measured.mechanism.noise.variance:.6g} for each answer.",
        "",
        "Expected error of one query (root mean square, in records):",
        errors_text(made.expected),
        "",
    ]
    if made.rounded is None:
        lines.append("OLS makes no microdata: its cells may be negative; no records are written.")
    else:
        lines.append(
            f"Rounded to {int(made.rounded.table.sum())} records; no answer moved by more than "
            f"{made.rounded.largest:.3f}."
        )
    lines.append(f"Written: {out}")
    return "\n".join(lines)


@click.command()
@click.argument(
    "table", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--again",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Instead of TABLE: a release whose measurements are fitted anew, at no further cost.",
)
@click.option(
    "--schema",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Columns and allowed values (JSON).",
)
@reading_options
@click.option("--epsilon", type=float, help="Pure differential privacy: discrete Laplace noise.")
@click.option("--rho", type=float, help="Concentrated (zCDP): discrete Gaussian noise.")
@click.option("--workload", help=f"What to measure, in order.  [default: {DEFAULT}]")
@click.option(
    "--method",
    default=RECOMMENDED,
    show_default=True,
    help=f"One of {', '.join(METHODS)}. The default is recommended because {REASON}.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder to make.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    table: Path | None,
    again: Path | None,
    schema: Path | None,
    count: str | None,
    epsilon: float | None,
    rho: float | None,
    workload: str | None,
    method: str,
    out: Path,
    as_json: bool,
) -> None:
    """Release TABLE for real: noisy measurements and microdata with a privacy guarantee.

    TABLE is a CSV file with the true data: counts in long form (the schema's columns and "count",
    one row a cell, empty cells too), counts in wide form (the last column's values as headings), or
    records (one row a person, no "count"). One person must be one record.

    The schema is a JSON file that you write from what is known about the columns, never from the
    data: {"columns": {"region": ["north", "south"], "age": {"from": 0, "to": 99}}}.

    The workload lists query sets, those that matter most first: "sum" (all records), "identity"
    (every cell), "marginals" (each column by itself), a column's name (its marginal), names joined
    by stars (their joint marginal). The budget covers all of them together.

    \b
    What is protected: whether any one record is in TABLE, and what it says.
    What is not protected:
      - the schema and the shape of the table: they are public;
      - persons with k records: k times the epsilon, k squared times the rho;
      - what several releases tell together: `microdata-price budget` adds them up.
    Whoever can measure the computer's time or memory while it runs sees more than the folder.

    Another method for the same measurements costs nothing more: use --again, not a second release.

    Noise comes from OpenDP and the operating system's randomness; there is no seed. After the
    measurement the table is not used again. The folder is written whole or not at all.

    \b
    Examples:
      microdata-price release persons.csv --schema persons.schema.json --epsilon 1 \\
        --workload "sum, region, sex, region*sex, identity" --method reweighted --out released
      microdata-price release --again released --method nnls --out released-nnls
    """  # noqa: D301
    if again is not None:
        if any(v is not None for v in (table, schema, count, epsilon, rho, workload)):
            raise InputError(
                "--again takes everything from the earlier release; leave out TABLE, --schema, "
                "--epsilon, --rho and --workload"
            )
        made = release_again(again, method, out)
    elif table is not None and schema is None and (beside := schema_path(table)).is_file():
        raise InputError(
            f"a release needs its schema named, so that nobody releases by a schema that came from "
            f"the data; if {beside} was written from what is public, add --schema {beside}"
        )
    elif table is None or schema is None:
        raise InputError(
            "a release needs TABLE and its --schema, or --again with the folder of an earlier one"
        )
    else:
        allowed = load_schema(schema)
        if count is not None:
            allowed = dataclasses.replace(allowed, count=count)
        asked = parse_workload(DEFAULT if workload is None else workload, allowed)
        made = release(table, allowed, asked, guarantee_of(epsilon, rho), method, out)
        for note in form_of(table, allowed).notes():
            click.echo(note, err=True)
    if not as_json:
        click.echo(_summary(made, out))
        return
    rounded = made.rounded
    document = {
        "out": str(out),
        "guarantee": made.measured.mechanism.guarantee.fields(),
        "method": method,
        "records": None if rounded is None else int(rounded.table.sum()),
        "rounding_deviations": None if rounded is None else rounded.deviations,
        "expected_errors": made.expected.to_dict(orient="records"),
    }
    click.echo(json.dumps(document))
