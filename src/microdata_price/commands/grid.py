"""``microdata-price grid`` and ``check-tables``: the experiments, and the paper's tables again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pandas as pd

from ..chapters.published import LIMIT, PRINTED, checks, published_spec, scorecard
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


@click.command(epilog="Example: microdata-price grid --family pums --epsilon 0.5 --out mine")
@options.names("--family", default=["all"], show_default=True, help=f"Of {', '.join(FAMILIES)}.")
@options.names("--dataset", "datasets", help="Only this data set.")
@options.numbers("--epsilon", help=f"Of pure DP.  [default: {_EPSILONS}, unless --rho]")
@options.numbers("--rho", help=f"Of zCDP.  [default: {_RHOS}, unless --epsilon]")
@options.names("--methods", help=f"Of {', '.join(METHODS)}.  [default: the paper's, {_PAPERS}]")
@_RUNS
@_SEED
@_WORKERS
@click.option("--scheduler", metavar="tcp://HOST:PORT", help="Use this Dask cluster's workers.")
@options.place("--out", default="results/grid", show_default=True, help="Folder of the files.")
@options.JSON
@options.flag("--quiet", help="Report no progress.")
def grid_command(
    workers: int | None, scheduler: str | None, out: Path, as_json: bool, quiet: bool, **asked: Any
) -> None:
    """Recompute the paper's experiments: every method on every data set at every privacy level.

    --family, --dataset, --epsilon, --rho and --methods take several values, with commas or
    repeated. A command that was stopped goes on where it was, to the same numbers.

    errors.parquet has a row for each data set, level, method, query set and metric, the sum of its
    answers' expected squared errors ("total") or the largest ("max"). value is the mean over the
    runs; estimate_cv is sharpened by OLS as control variate; max_split is chosen on one half of the
    runs and taken from the other; each has its standard error. exact stands where it is known;
    worst_certificate is the largest relative violation of optimality, conic_calls counts fits of
    the general solver. queries.parquet has a row for every query: true count, bias, variance.
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
    short = {name: f"{v:.3g}" if isinstance(v, float) else v for name, v in told.items()}
    lines = [f"{name.replace('_', ' ')}: {value}" for name, value in short.items()]
    lines += [str(out / f"{name}.parquet") for name in ("errors", "queries")]
    options.tell(as_json, told, "\n".join(lines))


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
    if runs < 100:
        raise InputError(f"runs is {runs}; standard errors that can be compared need 100 or more")
    folder = out or Path("results") / f"tables-{runs}-{seed}"
    spec = published_spec(runs=runs, seed=seed)
    card = scorecard(run_grid(spec, folder, workers, progress=not as_json).errors)
    failed, worst = int(card["failures"].sum()), card["worst_certificate"].max()
    found = [(not failed, f"failed runs: {failed}; the worst certificate is {worst:.1e}")]
    for name, check in checks(card).items():
        most, far = check.rows["z"].abs().max(), _far(check.rows)
        told = f"{_CHECKS[name]}: {len(check.rows)} values, largest |z| {most:.2f}"
        found.append((far == "none", f"{told}; {LIMIT:g} or more: {far}"))
    passed = all(ok for ok, _ in found)
    listed = [{"passed": ok, "account": account} for ok, account in found]
    said = f"Published values {LIMIT:g} or more standard errors from ours: {_far(card)}."
    lines = "\n".join(f"{'ok  ' if ok else 'FAIL'}  {account}" for ok, account in found)
    document = {"passed": passed, "checks": listed, "values": options.rows_of(card)}
    options.tell(as_json, document, "\n\n".join([*_tables(card), said, lines]))
    if not passed:
        raise SystemExit(1)


def _far(rows: pd.DataFrame) -> str:
    """Name the values that are beyond the limit."""
    far = rows[~(rows["z"].abs() < LIMIT)].groupby(["method", "query_set", "metric"], sort=False)
    named = [f"{' '.join(map(str, k))} ({', '.join(v['dataset'])})" for k, v in far]
    return "; ".join(named) or "none"


def _tables(card: pd.DataFrame) -> list[str]:
    """Write three tables, a row a data set: our values beside the published ones and z scores."""
    cells, parts = card.assign(text=card.apply(_CELL.format_map, axis=1)), []
    for (query_set, metric), title in PRINTED.items():
        rows = cells[card["query_set"].eq(query_set) & card["metric"].eq(metric)]
        wide = rows.pivot(index="dataset", columns="method", values="text")[paper_methods()]
        text = wide.rename_axis(index=None, columns=None).to_string()
        parts.append(f"{title.capitalize()}: ours ± standard error | published | z\n{text}")
    return parts
