"""``microdata-price check-tables``: the paper's Tables 1 and 2 beside ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
import pandas as pd

from ..chapters.published import LIMIT, PRINTED, Check, checks, published_spec, scorecard
from ..exceptions import InputError
from ..fitting import CONTROL, paper_methods
from ..grid.run import run_grid
from ..grid.spec import PAPER_RUNS, SEED
from .reading import WHOLE

_TEXT = "{value:.1f} ± {standard_error:.1f} | {published:.1f} | {z:+.1f}"
_CHECKS = {
    "published": "totals of OLS, NNLS and reweighted against the published",
    "ols": "OLS against its exact values",
    "sequential": "sequential fitting's sum against its exact value",
}


@click.command(epilog="Example: microdata-price check-tables --runs 1000 --out results/tables")
@click.option("--runs", type=WHOLE, default=PAPER_RUNS, show_default=True, help="Repetitions.")
@click.option("--seed", type=WHOLE, default=SEED, show_default=True, help="Of the random streams.")
@click.option("--workers", type=WHOLE, help="Worker processes. Default: one a processor.")
@click.option("--out", type=click.Path(path_type=Path), help="Default: results/tables-RUNS-SEED.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(runs: int, seed: int, workers: int | None, out: Path | None, as_json: bool) -> None:
    """Recompute the paper's Tables 1 and 2 and compare all 240 values.

    Exit status 1 if the totals of OLS, NNLS or reweighted fitting differ from the published ones by
    4 standard errors of the difference or more, if OLS or sequential fitting's sum is as far from
    its exact value, or if a run failed.
    """
    if runs < 30:
        raise InputError(f"runs is {runs}; standard errors that can be compared need 30 or more")
    folder = out or Path("results") / f"tables-{runs}-{seed}"
    spec = published_spec(runs=runs, seed=seed)
    result = run_grid(spec, folder, workers, progress=not as_json)
    card = scorecard(result.errors)
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
        sys.exit(1)


def _account(what: str, check: Check) -> str:
    worst = check.worst
    text = (
        f"{what}: {len(check.rows)} values, largest |z| {check.rows['z'].abs().max():.2f} "
        f"({worst.dataset}, {worst.method}, {worst.query_set} {worst.metric}), limit {LIMIT:g}"
    )
    if not len(check.far):
        return text
    named = "; ".join(
        f"{r.dataset}, {r.method}, {r.query_set}: {r.value:.1f} ± {r.standard_error:.1f}, "
        f"published {r.published:.1f}"
        for r in check.far.head(5).itertuples()
    )
    return f"{text}; {len(check.far)} are beyond it: {named}"


def _tables(card: pd.DataFrame) -> list[str]:
    """Write three tables, a row a data set: our values beside the published ones and z scores."""
    parts = []
    for (query_set, metric), title in PRINTED.items():
        rows = card[card["query_set"].eq(query_set) & card["metric"].eq(metric)]
        text = rows.apply(_TEXT.format_map, axis=1)
        wide = rows.assign(text=text).pivot(index="dataset", columns="method", values="text")
        wide = wide[paper_methods()].rename_axis(index=None, columns=None)
        exact = rows[rows["method"] == CONTROL].set_index("dataset")["exact"]
        wide.insert(1, "ols exact", exact.map("{:.3f}".format))
        head = f"Table {1 if query_set == 'sum' else 2}, {title}: ours ± standard error | published"
        parts.append(f"{head} | z\n{wide.to_string()}")
    return parts


def _mismatches(card: pd.DataFrame) -> str:
    """Name the published values beyond the limit, and say why they may be."""
    lines = [f"Published values {LIMIT:g} or more standard errors of the difference from ours:"]
    far = card[~(card["z"].abs() < LIMIT)]
    for place, rows in far.groupby(["query_set", "metric", "method"], sort=False):
        query_set, metric, method = map(str, place)
        where = ", ".join(rows["dataset"])
        lines.append(f"  {method}, {query_set} {metric}: {len(rows)} of 16 ({where})")
    sums = card.query("method == 'sequential' and query_set == 'sum'")
    lines += ["  none"] * far.empty + [
        f"The published sums of sequential fitting run from {sums['published'].min():.1f} to "
        f"{sums['published'].max():.1f}; exactly, every one is {sums['exact'].min():.3f}. The "
        "authors averaged the runs in which their solver succeeded."
    ]
    return "\n".join(lines)
