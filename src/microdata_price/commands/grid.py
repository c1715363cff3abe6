"""``microdata-price grid``: compute the experiments."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..fitting import METHODS, paper_methods
from ..grid.run import run_grid
from ..grid.spec import PAPER_EPSILONS, PAPER_RHOS, PAPER_RUNS, SEED, GridSpec
from ..grid.tables import conic_calls
from ..model.benchmark import FAMILIES
from .reading import NUMBER, WHOLE

_EPSILONS, _RHOS = (", ".join(map(str, v)) for v in (PAPER_EPSILONS, PAPER_RHOS))


def _names(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> list[str]:
    return [part.strip() for value in values for part in value.split(",")]


def _numbers(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> list[float]:
    return [NUMBER.convert(part, option, ctx) for part in _names(ctx, option, values)]


def _several(name: str, metavar: str, text: str, read: Any = _names) -> Callable[..., Any]:
    """Make an option that is repeated, or takes values separated by commas."""
    return click.option(name, multiple=True, callback=read, metavar=metavar, help=text)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


@click.command(
    epilog="Example: microdata-price grid --family pums --epsilon 0.5 --runs 200 --out results/mine"
)
@_several(
    "--family",
    "|".join((*FAMILIES, "all")),
    "Lists, 10 x 10 tables, real tables, or all of them (the default).",
)
@_several("--dataset", "NAME", "Only this data set.")
@_several("--epsilon", "E", f"Level of pure DP. Default: {_EPSILONS}, unless --rho.", _numbers)
@_several("--rho", "R", f"Level of zCDP. Default: {_RHOS}, unless --epsilon.", _numbers)
@_several(
    "--methods",
    "M",
    f"Some of {', '.join(METHODS)}. Default: the paper's own, {', '.join(paper_methods())}.",
)
@click.option("--runs", type=WHOLE, default=PAPER_RUNS, show_default=True, help="Repetitions.")
@click.option("--seed", type=WHOLE, default=SEED, show_default=True, help="Of the random streams.")
@click.option("--workers", type=WHOLE, help="Worker processes. Default: one a processor.")
@click.option("--scheduler", metavar="tcp://HOST:PORT", help="Use the Dask cluster found there.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="results/grid",
    help="Folder for errors.parquet and queries.parquet. Default: results/grid.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document about the run.")
@click.option("--quiet", is_flag=True, help="Report no progress.")
def command(
    family: list[str],
    dataset: list[str],
    workers: int | None,
    scheduler: str | None,
    out: Path,
    as_json: bool,
    quiet: bool,
    **asked: Any,
) -> None:
    """Recompute the paper's experiments: every method on every data set at every privacy level.

    --family, --dataset, --epsilon, --rho and --methods take one value, several separated by commas,
    or are repeated. A command that was stopped goes on where it was when it is given again, with
    the same numbers to the last bit.

    errors.parquet has a row for each data set, level, method, query set and metric: "total" is the
    sum of the expected squared errors of a query set's answers, "max" the largest of them.

    \b
    value, standard_error    mean over the runs
    estimate_cv, se_cv       the same, sharpened by OLS as control variate
    max_split, se_split      "max" without the bias of choosing the largest by its own
                             noise: chosen on one half of the runs, taken from the other
    exact                    the expected error itself where it is known, else empty
    runs, failures           repetitions; fits that missed their certificate, 0 as they
                             stop the grid
    worst_certificate        largest relative violation of optimality of any fit
    conic_calls              fits that the fast solvers missed and the general one solved

    queries.parquet has a row for every query of a set: its true count, bias, variance,
    mean_squared_error with its standard_error, and estimate_cv, se_cv and exact as above.
    """  # noqa: D301 - click reads the control character, which keeps the lines of a table
    spec = GridSpec.choose(family or "all", datasets=dataset, **asked)
    result = run_grid(spec, out, workers, progress=not quiet, scheduler=scheduler)
    errors = result.errors
    summary = {
        "folder": str(result.folder),
        "pairs": len(spec.pairs),
        "fits": spec.fits,
        "blocks_computed": result.computed,
        "blocks_reused": result.reused,
        "failures": int(errors["failures"].sum()),
        "worst_certificate": float(errors["worst_certificate"].max()),
        "conic_calls": conic_calls(errors),
        "seconds": round(result.seconds, 3),
    }
    if as_json:
        click.echo(json.dumps(summary))
        return
    parts = {"data set": spec.datasets, "level": spec.guarantees, "method": spec.methods}
    sizes = " x ".join(_count(len(part), noun) for noun, part in parts.items())
    click.echo(
        f"{_count(spec.fits, 'fit')} ({sizes} x {_count(spec.runs, 'run')}) in "
        f"{result.seconds:.1f} s; none failed, worst certificate "
        f"{summary['worst_certificate']:.1e}; the general solver was asked "
        f"{_count(conic_calls(errors), 'time')}\n"
        f"{result.reused} of {result.reused + result.computed} blocks of runs were taken from an "
        f"earlier run of the same grid\n{out / 'errors.parquet'}\n{out / 'queries.parquet'}"
    )
