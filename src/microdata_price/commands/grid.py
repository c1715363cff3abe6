"""``microdata-price grid`` and ``check-tables``: the experiments, and the paper's tables again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pandas as pd

from ..chapters.published import LIMIT, PRINTED, Check, checks, published_spec, scorecard
from ..exceptions import InputError
from ..fitting import METHODS, paper_methods
from ..grid.run import run_grid
from ..grid.spec import PAPER_EPSILONS, PAPER_RHOS, PAPER_RUNS, SEED, GridSpec
from ..grid.tables import conic_calls
from ..model.benchmark import FAMILIES
from . import options

_EPSILONS, _RHOS = (", ".join(map(str, v)) for v in (PAPER_EPSILONS, PAPER_RHOS))
_PAPERS = ", ".join(paper_methods())
_RUNS = options.whole("--runs", default=PAPER_RUNS, help="Repetitions.")
_SEED = options.whole("--seed", default=SEED, help="Of the random streams.")
_WORKERS = options.whole("--workers", help="Worker processes.  [default: one a processor]")
_CELL = "{value:.1f} ± {standard_error:.1f} | {published:.1f} | {z:+.1f}"
_CHECKS = {
    "published": "totals of OLS, NNLS and reweighted against the published",
    "ols": "OLS against its exact values",
    "sequential": "sequential fitting's sum against its exact value",
}


@click.command(
    epilog="Example: microdata-price grid --family pums --epsilon 0.5 --runs 200 --out results/mine"
)
@options.names("--family", default=["all"], show_default=True, help=f"Of {', '.join(FAMILIES)}.")
@options.names("--dataset", "datasets", help="Only this data set.")
@options.numbers("--epsilon", help=f"Of pure DP.  [default: {_EPSILONS}, unless --rho]")
@options.numbers("--rho", help=f"Of zCDP.  [default: {_RHOS}, unless --epsilon]")
@options.names("--methods", help=f"Of {', '.join(METHODS)}.  [default: the paper's, {_PAPERS}]")
@_RUNS
@_SEED
@_WORKERS
@click.option("--scheduler", metavar="tcp://HOST:PORT", help="Use the Dask cluster found there.")
@options.place("--out", default="results/grid", show_default=True, help="Folder of the files.")
@options.JSON
@click.option("--quiet", is_flag=True, help="Report no progress.")
def grid_command(
    workers: int | None, scheduler: str | None, out: Path, as_json: bool, quiet: bool, **asked: Any
) -> None:
    """Recompute the paper's experiments: every method on every data set at every privacy level.

    --family, --dataset, --epsilon, --rho and --methods take one value, several separated by commas,
    or are repeated. A command that was stopped goes on where it was when it is given again, with
    the same numbers to the last bit.

    errors.parquet has a row for each data set, level, method, query set and metric: "total" is the
    sum of the expected squared errors of a query set's answers, "max" the largest of them. Columns:
    value, the mean over the runs, with its standard_error; estimate_cv and se_cv, sharpened by OLS
    as control variate; max_split and se_split, "max" chosen on one half of the runs and taken from
    the other; exact where it is known; runs; failures; worst_certificate, the largest relative
    violation of optimality; conic_calls, fits that only the general solver solved.

    queries.parquet has a row for every query of a set: its true count, bias, variance,
    mean_squared_error with its standard_error, and estimate_cv, se_cv and exact as above.
    """
    spec = GridSpec.choose(**asked)
    made = run_grid(spec, out, workers, progress=not quiet, scheduler=scheduler)
    told = {
        "folder": str(made.folder),
        "pairs": len(spec.pairs),
        "fits": spec.fits,
        "blocks_computed": made.computed,
        "blocks_reused": made.reused,
        "failures": int(made.errors["failures"].sum()),
        "worst_certificate": float(made.errors["worst_certificate"].max()),
        "conic_calls": conic_calls(made.errors),
        "seconds": round(made.seconds, 3),
    }
    sizes = [*map(len, (spec.datasets, spec.guarantees, spec.methods)), spec.runs]
    text = f"""\
Data sets x levels x methods x runs: {" x ".join(map(str, sizes))} = {spec.fits} fits in \
{made.seconds:.1f} s.
None failed; worst certificate {told["worst_certificate"]:.1e}; fits by the general solver: \
{told["conic_calls"]}.
Blocks of runs taken from an earlier run: {made.reused} of {made.reused + made.computed}.
{out / "errors.parquet"}
{out / "queries.parquet"}"""
    click.echo(json.dumps(told) if as_json else text)


@click.command(epilog="Example: microdata-price check-tables --runs 1000 --out results/tables")
@_RUNS
@_SEED
@_WORKERS
@options.place("--out", help="Folder of the grid.  [default: results/tables-RUNS-SEED]")
@options.JSON
def check_tables_command(
    runs: int, seed: int, workers: int | None, out: Path | None, as_json: bool
) -> None:
    """Recompute the paper's Tables 1 and 2 and compare all 240 values.

    Exit status 1 if the totals of OLS, NNLS or reweighted fitting differ from the published ones by
    4 standard errors of the difference or more, if OLS or sequential fitting's sum is as far from
    its exact value, or if a run failed.
    """
    if runs < 30:
        raise InputError(f"runs is {runs}; standard errors that can be compared need 30 or more")
    folder = out or Path("results") / f"tables-{runs}-{seed}"
    spec = published_spec(runs=runs, seed=seed)
    card = scorecard(run_grid(spec, folder, workers, progress=not as_json).errors)
    found = [(not len(c.far), _account(_CHECKS[k], c)) for k, c in checks(card).items()]
    failed, worst = int(card["failures"].sum()), card["worst_certificate"].max()
    found.append((not failed, f"failed runs: {failed}; the worst certificate is {worst:.1e}"))
    passed = all(ok for ok, _ in found)
    if as_json:
        listed = [{"passed": ok, "account": account} for ok, account in found]
        rows = json.loads(card.to_json(orient="records"))
        click.echo(json.dumps({"passed": passed, "checks": listed, "values": rows}))
    else:
        lines = [f"{'ok  ' if ok else 'FAIL'}  {account}" for ok, account in found]
        click.echo("\n\n".join([*_tables(card), _mismatches(card), "\n".join(lines)]))
    if not passed:
        raise SystemExit(1)


def _account(what: str, check: Check) -> str:
    worst, far = check.worst, check.far[["dataset", "method", "query_set"]]
    named = ", ".join(map(" ".join, far.itertuples(index=False)))
    return (
        f"{what}: {len(check.rows)} values, largest |z| {check.rows['z'].abs().max():.2f} "
        f"({worst.dataset}, {worst.method}, {worst.query_set} {worst.metric}), limit {LIMIT:g}"
        + (f"; {len(far)} are beyond it: {named}" if named else "")
    )


def _tables(card: pd.DataFrame) -> list[str]:
    """Write three tables, a row a data set: our values beside the published ones and z scores."""
    cells, parts = card.assign(text=card.apply(_CELL.format_map, axis=1)), []
    for (query_set, metric), title in PRINTED.items():
        rows = cells[card["query_set"].eq(query_set) & card["metric"].eq(metric)]
        wide = rows.pivot(index="dataset", columns="method", values="text")[paper_methods()]
        text = wide.rename_axis(index=None, columns=None).to_string()
        parts.append(f"{title.capitalize()}: ours ± standard error | published | z\n{text}")
    return parts


def _mismatches(card: pd.DataFrame) -> str:
    """Name the published values beyond the limit, and say why they may be."""
    far = card[~(card["z"].abs() < LIMIT)].groupby(["method", "query_set", "metric"], sort=False)
    named = [f"  {' '.join(map(str, k))}: {len(v)} ({', '.join(v['dataset'])})" for k, v in far]
    sums = card.query("method == 'sequential' and query_set == 'sum'")
    said = (
        f"The published sums of sequential fitting run from {sums['published'].min():.1f} to "
        f"{sums['published'].max():.1f}; exactly, every one is {sums['exact'].min():.3f}. The "
        "authors averaged the runs in which their solver succeeded."
    )
    head = f"Published values {LIMIT:g} or more standard errors of the difference from ours:"
    return "\n".join([head, *(named or ["  none"]), said])
