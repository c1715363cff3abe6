"""``microdata-price release`` and ``budget``: private microdata of a table, and what is spent."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..base.files import command, stopping_politely
from ..base.numbers import at_most, not_below
from ..exceptions import InputError
from ..fitting import METHODS, REASON, RECOMMENDED
from ..model.conversion import approximate_together
from ..model.privacy import ConcentratedDP, PureDP, check_delta
from ..release.budget import Budget, add_up
from ..release.files import Release
from ..release.folder import entry_of, load_measured
from ..release.ledger import Account, read_ledger, shown
from ..release.plan import plan_release
from ..release.run import release, release_again
from ..tables.schemas import load_schema
from ..tables.workloads import parse_workload, shares_by_set
from . import options

Told = tuple[dict[str, Any], str]  # the same as a document and as text
_LEDGER = options.place("--ledger", help="It notes what is spent, up to a cap.")
_NAME = click.option("--name", help="The table's name in the ledger.")


@click.command(
    epilog="Examples: microdata-price release persons.csv --schema persons.schema.json --epsilon 1 "
    "--out released; at no further cost: release --again released --method nnls --out by-nnls"
)
@click.argument("table", required=False, type=options.FILE)
@options.place("--again", help="Instead of TABLE: a release to fit anew, at no further cost.")
@options.file("--schema", help="Columns and allowed values (JSON).")
@options.WHERE
@options.EPSILON
@options.RHO
@options.WORKLOAD
@options.SHARE
@click.option(
    "--known",
    type=click.Choice(["sum"]),
    help="The total is public: publish it exactly, and protect records against replacement.",
)
@options.flag(
    "--weak-protection",
    help="Accept counts known to less than one record, or a factor above a million.",
)
@_LEDGER
@_NAME
@click.option(
    "--method",
    default=RECOMMENDED,
    show_default=True,
    help=f"One of {', '.join(METHODS)}. The default is recommended because {REASON}.",
)
@options.place("--out", help="The folder to make; --again without it completes its own.")
@options.JSON
def release_command(
    again: Path | None, method: str, out: Path | None, as_json: bool, **asked: Any
) -> None:
    """Release TABLE for real: noisy measurements and microdata with a privacy guarantee.

    TABLE holds the true data: records (one row a person) or counts (one row a cell, with a column
    "count"). One person must be one record. The schema is a JSON file that you write from what is
    known about the columns, never from the data (docs/tables.md): {"columns": {"sex": ["f", "m"],
    "age": {"from": 0, "to": 99}}}.

    What is protected: whether any one record is in TABLE, and what it says. The guarantee compares
    tables that differ by one record added or removed (--known sum: replaced); replacing a record is
    at most two such steps.

    What is not protected: the schema and --where, which are public; persons with k records, who
    have k times the epsilon, k squared times the rho; what several releases tell together, which
    `microdata-price budget` adds up and --ledger with --name holds below a cap. Whoever can measure
    the computer's time or memory while it runs sees more than the folder.

    The noisy answers are in the folder before anything is fitted. If a later step is stopped, or
    for another method, use --again: measuring again would spend the budget twice.
    """
    if again is not None:
        context = click.get_current_context()
        names = {p.name: p.opts[0] for p in context.command.params} | {"table": "TABLE"}
        line = ParameterSource.COMMANDLINE
        if extra := [names[n] for n in asked if context.get_parameter_source(n) is line]:
            raise InputError(f"--again takes all from that release: leave out {', '.join(extra)}")
        made, out = release_again(again, method, out), out or again
    elif asked["table"] is None or asked["schema"] is None or out is None:
        raise InputError(
            "a release needs TABLE and its --schema, or --again with the folder of an earlier one, "
            "and --out; the schema is named each time, as none may come from the data"
        )
    else:
        made = _released(method, out, **asked)
    options.tell(as_json, *_summary(made, out))


def _released(
    method: str, out: Path, *, table: Path, ledger: Path | None, name: str | None, **asked: Any
) -> Release:
    """Release a table; of whatever stops it after the measurement, say that nothing is lost."""
    schema = load_schema(asked["schema"])
    level = options.guarantee_of(asked["epsilon"], asked["rho"])
    workload = parse_workload(asked["workload"], schema)
    shares = shares_by_set(asked["share"], schema, workload)
    account = Account(ledger, name) if ledger and name else None
    if account is None and (ledger or name) is not None:
        raise InputError("a ledger needs both --ledger and --name, the table's name in it")
    known, weak = asked["known"] is not None, asked["weak_protection"]
    planned = plan_release(schema, workload, level, shares, known_total=known, weak=weak)
    steps: list[str] = []
    try:
        with stopping_politely():
            return release(table, planned, method, out, account, asked["where"], steps.append)
    except BaseException as error:
        if "kept" in steps:
            again = command("release", "--again", out, "--method", "METHOD")
            said = f"The noisy answers are safe in {out}. Do not measure again; go on at no cost"
            options.warn(f"{said} with: {again}")
            if isinstance(error, OSError):  # its usual advice is to run the same command again
                reason = error.strerror or type(error).__name__
                raise InputError(f"the system refused to go on ({reason}); mend that") from error
        elif account and "counted" in steps and not isinstance(error, InputError):
            options.warn(
                "Nothing was kept or published, but the ledger counts this measurement, as it is "
                "written down before it is made; doing it again counts once more"
            )
        raise


def _summary(made: Release, out: Path) -> Told:
    mechanism, workload = made.measured.mechanism, made.measured.workload
    variances = dict(zip(workload.names, mechanism.variances, strict=True))
    document = {
        "out": str(out),
        "guarantee": mechanism.guarantee.fields(),
        "neighbours": f"tables that differ by {mechanism.neighbours}",
        "replacing_one_record_at_most": mechanism.replacement.fields(),
        "warnings": made.measured.warnings,
        "method": made.method,
        "records": None if made.whole is None else int(made.whole.sum()),
        "rounding_deviations": made.moved(),
        "variances": variances,
    }
    noise = ", ".join(f"{name} {v**0.5:.4g}" for name, v in variances.items())
    records = "none: OLS makes no microdata"
    if made.whole is not None:
        records = f"{made.whole.sum()}; rounding moved told counts by at most {made.most_moved}"
    lines = [
        *made.measured.warnings,
        f"Guarantee: {mechanism.guarantee.describe()}, between {document['neighbours']}.",
        f"Replacing one record: at most {mechanism.replacement.describe()}.",
        f"Noise: {mechanism.name} by OpenDP; standard deviations: {noise}.",
        f"Records: {records}.",
        f"Written: {out} (README.txt says how far to trust it; intervals.csv has the counts told)",
    ]
    return document, "\n".join(lines)


@click.command(
    epilog="Example: microdata-price budget --ledger ledger.jsonl --name persons --cap-epsilon 3"
)
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
@options.number("--delta", default=1e-6, show_default=True, help="For (epsilon, delta).")
@_LEDGER
@_NAME
@options.number("--cap-epsilon", help="Refuse releases beyond this epsilon from now on.")
@options.number("--cap-rho", help="Refuse releases beyond this rho from now on.")
@options.JSON
def budget_command(
    folders: tuple[Path, ...], ledger: Path | None, name: str | None, as_json: bool, **levels: Any
) -> None:
    """Add up the guarantees of several releases: FOLDERS that `release` wrote.

    All are taken to be about the same people, the safe assumption, and are computed anew. Epsilons
    add up, and rhos; both together are told as an (epsilon, delta), from Renyi divergences of every
    order, and as zCDP, where epsilon counts as epsilon^2 / 2. A copy counts once. Where some
    release has a public total, one record is replaced, which is two steps for the other releases.

    With --ledger and --name it shows a table's account, and sets the cap, without which nothing is
    released. With --ledger and FOLDERS it says which it counts; status 1 if one is missing.
    """
    delta, cap = check_delta(levels["delta"]), (levels["cap_epsilon"], levels["cap_rho"])
    if cap == (None, None) and name is None and (folders or ledger is None):
        document, text = _of_folders(folders, ledger, delta)
    elif ledger is None or name is None or folders:
        said = "for an account and its cap give --ledger and --name, without FOLDERS"
        raise InputError(f"{said}; for what a ledger counts give --ledger and FOLDERS")
    else:
        account = Account(ledger, name)
        old = None if cap == (None, None) else account.limit(options.guarantee_of(*cap, "cap-"))
        document, text = _of_account(account, old, delta)
    options.tell(as_json, document, text)
    if document.get("not_in_ledger"):
        raise SystemExit(1)


def _of_account(account: Account, old: options.Level | None, delta: float) -> Told:
    entries, cap = account.state()
    document = {
        "ledger": str(account.path),
        "name": account.name,
        "measurements": [e.identity for e in entries],
        "cap": cap and cap.fields(),
        "cap_before": old and old.fields(),
    }
    more, told = _together(add_up(entries), delta, cap) if entries else ({}, "Nothing was spent.")
    known = f"{account.name}, measurements in {account.path}: {len(entries)}"
    kept = (cap.describe() if cap else "none") + (f"; before: {old.describe()}" if old else "")
    return document | more, f"{known}\nCap: {kept}\n{told}"


def _of_folders(folders: tuple[Path, ...], ledger: Path | None, delta: float) -> Told:
    loaded = {folder: load_measured(folder)[0] for folder in folders}
    budget = add_up([entry_of(folder, made) for folder, made in loaded.items()])
    entries, copies = budget.entries, budget.copies
    own = [(e.folder, loaded[e.folder].mechanism.guarantee) for e in entries]  # as its README says
    releases = [{"folder": str(folder), "guarantee": level.fields()} for folder, level in own]
    document: dict[str, Any] = {"releases": releases, "copies": [str(e.folder) for e in copies]}
    lines = [f"{folder}: {level.describe()}" for folder, level in own]
    lines += [f"{e.folder}: a copy of the same measurement, counted once" for e in copies]
    if ledger is not None:
        counted = read_ledger(ledger)  # a folder notes the line that counted it, if one did
        cut = f"its line is missing from {ledger}: lines were cut, or this is another ledger"
        free = "it was made without a ledger, and counts in none"
        noted = {str(folder): made.ledger for folder, made in loaded.items()}
        missing = {f: cut if line else free for f, line in noted.items() if line not in counted}
        document["not_in_ledger"] = missing
        lines += [f"{f}: {missing.get(f, f'counted in {ledger}')}" for f in noted]
    more, told = _together(budget, delta)
    return document | more, "\n".join([*lines, told])


def _together(budget: Budget, delta: float, cap: options.Level | None = None) -> Told:
    epsilon, rho, zcdp = math.fsum(budget.epsilons), budget.rho, shown(budget.zcdp, cap).level
    both = approximate_together(budget.epsilons, rho, delta)
    document = {
        "total": budget.total.fields(),
        "zcdp": budget.zcdp.fields(),
        "epsilon": epsilon,
        "rho": rho,
        "approximate": {"epsilon": both.epsilon, "delta": both.delta},
        "neighbours": budget.neighbours,
    }
    levels = [kind(spent) for kind, spent in ((PureDP, epsilon), (ConcentratedDP, rho)) if spent]
    parts = " and, besides, ".join(shown(level, cap).describe() for level in levels)
    text = f"""\
Together: {parts}, for {budget.neighbours}{budget.steps}
That is at most ({at_most(both.epsilon, 4)}, {not_below(both.delta)})-differential privacy, each \
release taken at its best, and at most zCDP with rho = {not_below(zcdp)}."""
    return document, text
