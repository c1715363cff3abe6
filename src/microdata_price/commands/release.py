"""``microdata-price release``: private measurements and microdata of a real table."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import click

from ..base.files import stopping_politely
from ..exceptions import InputError
from ..fitting import METHODS, REASON, RECOMMENDED
from ..model.privacy import ConcentratedDP, PureDP
from ..model.workload import Workload
from ..release.budget import Entry, guarantee_of
from ..release.fit import Release
from ..release.ledger import Account
from ..release.readme import errors_text, guarantee_text, moved_text, warnings_of
from ..release.run import Options, release, release_again
from ..tables.schema import Schema, load_schema, schema_path
from ..tables.workload_text import DEFAULT, parse_workload, shares_by_set
from .reading import COUNT, NUMBER, read_shares, reading_options

_EVERY = 2.0
"""Seconds between two lines of progress."""


class _Progress:
    """Say on standard error how far the report is, every other second."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, done: int, draws: int, seconds: float) -> None:
        now = time.monotonic()
        if now - self._last >= _EVERY and done < draws:
            self._last = now
            click.echo(
                f"estimating errors: {done} of {draws} trial runs with invented noise, about "
                f"{seconds:.0f} s left; the noisy answers are safe (--draws 0 leaves this out)",
                err=True,
            )


def _noise_text(made: Release) -> str:
    mechanism, names = made.measured.mechanism, made.measured.workload.names
    if len(set(mechanism.variances)) == 1:
        return f"variance {mechanism.variances[0]:.6g} for each answer"
    each = ", ".join(f"{n} {v:.6g}" for n, v in zip(names, mechanism.variances, strict=True))
    return f"variance of an answer: {each}"


def _summary(made: Release, out: Path) -> str:
    lines = [
        *warnings_of(made),
        *guarantee_text(made),
        f"The levels are computed by OpenDP for the whole workload. Noise: "
        f"{made.measured.mechanism.name}, {_noise_text(made)}.",
        "",
    ]
    if made.report is None:
        lines += ["Expected errors could not be estimated; the release is not affected.", ""]
    else:
        lines += [
            "Expected error of one query (root mean square, in records), its range, and the bias:",
            errors_text(made.report.expected),
            "",
        ]
    if made.rounded is None:
        lines.append("OLS makes no microdata: its cells may be negative; no records are written.")
    else:
        lines.append(
            f"Rounded to {int(made.rounded.table.sum())} records; no answer moved by more than "
            f"{moved_text(made.rounded.largest)}."
        )
    lines.append(f"Written: {out} (its README.txt says in plain words how far to trust it)")
    return "\n".join(lines)


class _Noted(Account):
    """An account that says whether anything was written down in it by this command."""

    def spend(self, entry: Entry) -> None:
        super().spend(entry)
        object.__setattr__(self, "spent", True)


def _account(ledger: Path | None, name: str | None) -> Account | None:
    if ledger is None and name is None:
        return None
    if ledger is None or name is None:
        raise InputError("a ledger needs both --ledger and --name, the table's name in it")
    account = _Noted(ledger, name)
    if known := account.beside():
        click.echo(
            f"{account.name!r} is new in {ledger} and has no cap; accounts known there: "
            f"{', '.join(known)}",
            err=True,
        )
    return account


def _document(made: Release, out: Path) -> dict[str, Any]:
    rounded, mechanism = made.rounded, made.measured.mechanism
    expected = None if made.report is None else made.report.expected
    return {
        "out": str(out),
        "guarantee": mechanism.guarantee.fields(),
        "neighbours": f"tables that differ by {mechanism.neighbours}",
        "replacing_one_record": mechanism.replacement.fields(),
        "warnings": warnings_of(made),
        "method": made.method,
        "records": None if rounded is None else int(rounded.table.sum()),
        "rounding_deviations": None if rounded is None else rounded.deviations,
        "expected_errors": None
        if expected is None
        else json.loads(expected.to_json(orient="records", double_precision=15)),
    }


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
@click.option("--epsilon", type=NUMBER, help="Pure differential privacy: discrete Laplace noise.")
@click.option("--rho", type=NUMBER, help="Concentrated (zCDP): discrete Gaussian noise.")
@click.option("--workload", help=f"What to measure, in order.  [default: {DEFAULT}]")
@click.option(
    "--share",
    callback=read_shares,
    metavar="SET=SHARE,...",
    help="Shares of the budget by query set (or marginals, divided alike); the others share the "
    "rest.  [default: all alike]",
)
@click.option(
    "--known",
    type=click.Choice(["sum"]),
    help="The total is public: publish it exactly, and protect records against replacement.",
)
@click.option(
    "--weak-protection", is_flag=True, help="Accept noise with a standard deviation below 1."
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file to which what is spent is added; see budget --help for its cap.",
)
@click.option("--name", help="The table's name in the ledger.")
@click.option(
    "--method",
    default=RECOMMENDED,
    show_default=True,
    help=f"One of {', '.join(METHODS)}. The default is recommended because {REASON}.",
)
@click.option(
    "--draws",
    type=COUNT,
    help="Imitated measurements for expected errors; 0: none.  [default: as time allows]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The folder to make; with --again, leave it out to complete a folder where it is.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    table: Path | None,
    again: Path | None,
    schema: Path | None,
    count: str | None,
    epsilon: float | None,
    rho: float | None,
    workload: str | None,
    share: dict[str, float] | None,
    known: str | None,
    weak_protection: bool,
    ledger: Path | None,
    name: str | None,
    method: str,
    draws: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Release TABLE for real: noisy measurements and microdata with a privacy guarantee.

    TABLE is a CSV file with the true data: counts in long form (the schema's columns and "count",
    one row a cell; empty cells may be left out), counts in wide form (the last column's values as
    headings), or records (one row a person, no "count"). One person must be one record.

    The schema is a JSON file that you write from what is known about the columns, never from the
    data: {"columns": {"region": ["north", "south"], "age": {"from": 0, "to": 99}}}. A column may
    also be {"cuts": [18, 65]} or {"values": [...], "other": "other", "empty": "not stated"}: where
    values that are not listed, and empty fields, are counted. "county/tract/block": {"A": {"A1":
    ["a", "b"]}} is a tree of three columns; "impossible": [{"age": ["0"], "status": ["married"]}]
    lists what cannot occur.

    The workload lists query sets, those that matter most first: "sum" (all records), "identity"
    (every cell), "marginals" (each column by itself), a column's name (its marginal), names joined
    by stars (their joint marginal), a tree's name (all its levels). The budget covers all of them
    together, in equal parts or by --share.

    \b
    What is protected: whether any one record is in TABLE, and what it says. The guarantee compares
    tables that differ by one record added or removed; what it is for a record that is replaced is
    written beside it.
    What is not protected:
      - the schema and the shape of the table: they are public;
      - persons with k records: k times the epsilon, k squared times the rho;
      - what several releases tell together: `microdata-price budget` adds them up, and --ledger
        with --name writes them down and refuses what exceeds a cap.
    Whoever can measure the computer's time or memory while it runs sees more than the folder.

    Another method for the same measurements costs nothing more: use --again, not a second release.
    The noisy answers are in the folder before anything is fitted. If a later step fails or is
    stopped, --again goes on from there; measuring again would spend the budget twice.

    Noise comes from OpenDP and the operating system's randomness; there is no seed. OpenDP has a
    written proof for each of the two functions used and ships them under its flag for contributed
    code. After the measurement the table is not used again.

    \b
    Examples:
      microdata-price release persons.csv --schema persons.schema.json --epsilon 1 \\
        --workload "sum, region, sex, region*sex, identity" --method reweighted --out released
      microdata-price release --again released --method nnls --out released-nnls
    """  # noqa: D301
    progress = _Progress()
    if again is not None:
        given = (table, schema, count, epsilon, rho, workload, share, known, ledger, name)
        if any(v is not None for v in given) or weak_protection:
            raise InputError(
                "--again takes everything from the earlier release; leave out TABLE, --schema, "
                "--epsilon, --rho, --workload, --share, --known and --ledger"
            )
        made = release_again(again, method, out, draws, progress)
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
        allowed = load_schema(schema)
        if count is not None:
            allowed = dataclasses.replace(allowed, count=count)
        asked = parse_workload(DEFAULT if workload is None else workload, allowed)
        options = Options(
            None if share is None else shares_by_set(share, allowed, asked),
            known is not None,
            weak_protection,
            _account(ledger, name),
            draws,
            progress,
            lambda note: click.echo(note, err=True),
        )
        level = guarantee_of(epsilon, rho)
        made = _release(table, allowed, asked, level, method, out, options)
    click.echo(json.dumps(_document(made, out)) if as_json else _summary(made, out))


def _release(
    table: Path,
    schema: Schema,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    method: str,
    out: Path,
    options: Options,
) -> Release:
    """Release, and say of whatever stops it after the measurement that nothing is lost."""
    safe: list[bool] = []
    try:
        with stopping_politely():
            return release(
                table, schema, workload, guarantee, method, out, options, lambda: safe.append(True)
            )
    except BaseException as error:
        if safe:
            on = f"release --again {out} --method METHOD"
            click.echo(
                f"The noisy answers are safe in {out}. Do not measure again; go on at no cost "
                f"with: microdata-price {on}",
                err=True,
            )
            if isinstance(error, OSError):  # its usual advice is to run the same command again
                reason = error.strerror or type(error).__name__
                raise InputError(
                    f"the system refused to go on ({reason}); mend that first"
                ) from error
        elif getattr(options.account, "spent", False):
            click.echo(
                "Nothing was kept or published, but the ledger counts this measurement, as it is "
                "written down before it is made; doing it again counts once more",
                err=True,
            )
        raise
