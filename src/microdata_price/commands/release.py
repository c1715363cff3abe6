"""``microdata-price release``: private measurements and microdata of a real table."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from ..base.files import stopping_politely
from ..exceptions import InputError
from ..fitting import METHODS, REASON, RECOMMENDED
from ..release.budget import Entry
from ..release.files import Release
from ..release.ledger import Account
from ..release.plan import plan_release, warnings_of
from ..release.run import release, release_again
from ..tables.schemas import Schema, load_schema, schema_path
from ..tables.workloads import DEFAULT, parse_workload, shares_by_set
from .reading import FILE, JSON, NUMBER, SHARE, guarantee_of, reading_options


class _Noted(Account):
    """An account that says whether anything was written down in it by this command."""

    def spend(self, entry: Entry) -> str:
        line = super().spend(entry)
        object.__setattr__(self, "spent", True)
        return line


def _account(ledger: Path | None, name: str | None) -> Account | None:
    if (ledger is None) != (name is None):
        raise InputError("a ledger needs both --ledger and --name, the table's name in it")
    return None if ledger is None or name is None else _Noted(ledger, name)


def _document(made: Release, out: Path) -> dict[str, Any]:
    mechanism, workload = made.measured.mechanism, made.measured.workload
    return {
        "out": str(out),
        "guarantee": mechanism.guarantee.fields(),
        "neighbours": f"tables that differ by {mechanism.neighbours}",
        "replacing_one_record_at_most": mechanism.replacement.fields(),
        "warnings": warnings_of(workload, mechanism),
        "method": made.method,
        "records": None if made.whole is None else int(made.whole.sum()),
        "rounding_deviations": made.moved(),
        "variances": dict(zip(workload.names, mechanism.variances, strict=True)),
    }


def _summary(made: Release, out: Path) -> str:
    mechanism, workload = made.measured.mechanism, made.measured.workload
    noise = ", ".join(
        f"{n} {v**0.5:.4g}" for n, v in zip(workload.names, mechanism.variances, strict=True)
    )
    if made.whole is None:
        records = "OLS makes no microdata: its cells may be negative; no records are written."
    else:
        records = (
            f"Rounded to {int(made.whole.sum())} records; no answer moved by more than "
            f"{max(made.moved().values()):.3f}."
        )
    return "\n".join(
        [
            *warnings_of(workload, mechanism),
            f"Guarantee: {mechanism.guarantee.describe()}, between tables that differ by "
            f"{mechanism.neighbours}.",
            f"Replacing one record: at most {mechanism.replacement.describe()}.",
            f"Noise: {mechanism.name} by OpenDP; standard deviations: {noise}.",
            records,
            f"Written: {out} (README.txt says how far to trust it; intervals.csv for each count)",
        ]
    )


@contextlib.contextmanager
def _telling(out: Path, account: Account | None) -> Iterator[Callable[[], None]]:
    """Say of whatever stops a release after the measurement that nothing is lost.

    The function given is to be called once the noisy answers are safe.
    """
    safe: list[bool] = []
    try:
        yield lambda: safe.append(True)
    except BaseException as error:
        if safe:
            click.echo(
                f"The noisy answers are safe in {out}. Do not measure again; go on at no cost "
                f"with: microdata-price release --again {out} --method METHOD",
                err=True,
            )
            if isinstance(error, OSError):  # its usual advice is to run the same command again
                reason = error.strerror or type(error).__name__
                raise InputError(f"the system refused to go on ({reason}); mend that") from error
        elif getattr(account, "spent", False) and not isinstance(error, InputError):
            click.echo(
                "Nothing was kept or published, but the ledger counts this measurement, as it is "
                "written down before it is made; doing it again counts once more",
                err=True,
            )
        raise


@click.command()
@click.argument("table", required=False, type=FILE)
@click.option(
    "--again",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Instead of TABLE: a release whose measurements are fitted anew, at no further cost.",
)
@click.option("--schema", type=FILE, help="Columns and allowed values (JSON).")
@reading_options
@click.option("--epsilon", type=NUMBER, help="Pure differential privacy: discrete Laplace noise.")
@click.option("--rho", type=NUMBER, help="Concentrated (zCDP): discrete Gaussian noise.")
@click.option("--workload", help=f"What to measure, in order.  [default: {DEFAULT}]")
@SHARE
@click.option(
    "--known",
    type=click.Choice(["sum"]),
    help="The total is public: publish it exactly, and protect records against replacement.",
)
@click.option(
    "--weak-protection",
    is_flag=True,
    help="Accept counts known to less than one record, or a factor above a million.",
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file to which what is spent is added, up to a cap; see budget --help.",
)
@click.option("--name", help="The table's name in the ledger.")
@click.option(
    "--method",
    default=RECOMMENDED,
    show_default=True,
    help=f"One of {', '.join(METHODS)}. The default is recommended because {REASON}.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The folder to make; with --again, leave it out to complete a folder where it is.",
)
@JSON
def command(
    table: Path | None,
    again: Path | None,
    schema: Path | None,
    read_as: Callable[[Schema], Schema],
    where: dict[str, str],
    epsilon: float | None,
    rho: float | None,
    workload: str | None,
    share: dict[str, float] | None,
    known: str | None,
    weak_protection: bool,
    ledger: Path | None,
    name: str | None,
    method: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Release TABLE for real: noisy measurements and microdata with a privacy guarantee.

    TABLE is a file with the true data: counts (the schema's columns and "count", one row a cell;
    empty cells may be left out) or records (one row a person). One person must be one record.

    The schema is a JSON file that you write from what is known about the columns, never from the
    data: {"columns": {"region": ["north", "south"], "age": {"from": 0, "to": 99}}}.
    docs/tables.md says what else it may state: catch-alls, cut points, groups of values, impossible
    combinations.

    The workload lists query sets, those that matter most first: "sum" (all records), "identity"
    (every cell), "marginals" (each column by itself), a column's or group's name, names joined by
    stars (their joint marginal). The budget covers all of them together, in equal parts or by
    --share.

    \b
    What is protected: whether any one record is in TABLE, and what it says. The guarantee compares
    tables that differ by one record added or removed; replacing a record is at most two such steps.
    What is not protected:
      - the schema and the shape of the table: they are public;
      - persons with k records: k times the epsilon, k squared times the rho;
      - what several releases tell together: `microdata-price budget` adds them up, and --ledger
        with --name writes them down and refuses what exceeds a cap.
    Whoever can measure the computer's time or memory while it runs sees more than the folder.

    Another method for the same measurements costs nothing more: use --again, not a second release.
    The noisy answers are in the folder before anything is fitted. If a later step fails or is
    stopped, --again goes on from there; measuring again would spend the budget twice.

    Noise comes from OpenDP, which draws it from OpenSSL's generator, seeded by the operating
    system; no seed is kept. OpenDP has a written proof for each of the two functions used and ships
    them under its flag for contributed code. After the measurement the table is not used again.

    \b
    Examples:
      microdata-price release persons.csv --schema persons.schema.json --epsilon 1 \\
        --workload "sum, region, sex, region*sex, identity" --method reweighted --out released
      microdata-price release --again released --method nnls --out released-nnls
    """  # noqa: D301
    if again is not None:
        given = (table, schema, epsilon, rho, workload, share, known, ledger, name)
        if any(v is not None for v in given) or weak_protection or where:
            raise InputError(
                "--again takes everything from the earlier release; leave out TABLE, --schema, "
                "--where, --epsilon, --rho, --workload, --share, --known and --ledger"
            )
        made = release_again(again, method, out)
        out = again if out is None else out
    elif table is not None and schema is None and (beside := schema_path(table)).is_file():
        raise InputError(
            f"a release needs its schema named, so that nobody releases by a schema that came from "
            f"the data; if {beside} was written from what is public, add --schema {beside}"
        )
    elif table is None or schema is None or out is None:
        raise InputError(
            "a release needs TABLE and its --schema, or --again with the folder of an earlier one, "
            "and --out"
        )
    else:
        allowed, level = read_as(load_schema(schema)), guarantee_of(epsilon, rho)
        asked = parse_workload(DEFAULT if workload is None else workload, allowed)
        account = _account(ledger, name)
        planned = plan_release(
            allowed,
            asked,
            level,
            None if share is None else shares_by_set(share, allowed, asked),
            known_total=known is not None,
            weak=weak_protection,
        )
        with _telling(out, account) as kept, stopping_politely():
            made = release(table, planned, method, out, account, where, kept)
    click.echo(json.dumps(_document(made, out)) if as_json else _summary(made, out))
