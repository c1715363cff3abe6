"""``microdata-price check-tables``: the paper's Tables 1 and 2 beside ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ..exceptions import InputError
from ..grid.run import GridInterrupted, GridStoppedError, run_grid
from ..grid.spec import PAPER_RUNS, SEED
from ..studies.scorecard import (
    checks,
    published_spec,
    render_checks,
    render_mismatches,
    render_tables,
    scorecard,
)
from .reading import WHOLE

_FEWEST_RUNS = 30


@click.command(epilog="Example: microdata-price check-tables --runs 1000 --out results/tables")
@click.option("--runs", type=WHOLE, default=PAPER_RUNS, show_default=True, help="Repetitions.")
@click.option("--seed", type=WHOLE, default=SEED, show_default=True, help="Of the random streams.")
@click.option("--workers", type=WHOLE, help="Worker processes. Default: one a processor.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=None,
    help="Folder for the computed grid. Default: results/tables-RUNS-SEED.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(runs: int, seed: int, workers: int | None, out: Path | None, as_json: bool) -> None:
    """Recompute the paper's Tables 1 and 2 and compare all 240 values.

    Exit status 1 if the totals of OLS, NNLS or reweighted fitting differ from the published ones by
    4 standard errors of the difference or more, if OLS or sequential fitting's sum is as far from
    its exact value, or if a run failed.
    """
    if runs < _FEWEST_RUNS:
        raise InputError(
            f"runs is {runs}; standard errors that can be compared need {_FEWEST_RUNS} or more"
        )
    spec = published_spec(runs=runs, seed=seed)
    folder = out or Path("results") / f"tables-{runs}-{seed}"
    try:
        result = run_grid(spec, folder, workers, progress=not as_json)
    except (GridInterrupted, GridStoppedError) as stop:
        click.echo(f"microdata-price: {stop}", err=True)
        sys.exit(130 if isinstance(stop, GridInterrupted) else 1)
    card = scorecard(result.errors)
    found = checks(card)
    passed = all(check.passed for check in found)
    if as_json:
        listed = [{"passed": check.passed, "account": check.account} for check in found]
        rows = json.loads(card.to_json(orient="records"))
        click.echo(json.dumps({"passed": passed, "checks": listed, "values": rows}))
    else:
        click.echo(f"{render_tables(card)}\n\n{render_mismatches(card)}\n\n{render_checks(found)}")
    if not passed:
        sys.exit(1)
