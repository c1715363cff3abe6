"""Measure everything, print it, and write it as CSV."""

from __future__ import annotations

import platform
from pathlib import Path

import click
import pandas as pd

from .against_mbi import against_mbi
from .before import before
from .book import book
from .explorer_moves import explorer_moves
from .keep import keep as keep_in_book
from .large_tables import SIDES, large_tables
from .methods_in_grid import methods_in_grid
from .per_fit import per_fit
from .release_loss import release_loss
from .releases import whole_releases
from .scaling import SIZES, list_scaling, slopes
from .workloads import PROMISED, ratios, sizes, workloads
from .workloads import SIZES as CASES_OF_SIZES

QUICK_SIZES, QUICK_SIDES = (10**3, 10**4, 10**5), (30, 100)
NAMES = (
    "per_fit",
    "list_scaling",
    "large_tables",
    "methods_in_grid",
    "workloads",
    "sizes",
    "against_mbi",
    "before",
    "book",
    "release_loss",
    "whole_releases",
    "explorer_moves",
)


@click.command()
@click.option("--quick", is_flag=True, help="Smaller sizes and fewer runs: about 20 seconds.")
@click.option("--only", type=click.Choice(NAMES), multiple=True, help="Only this one; repeat it.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("results/benchmarks"),
    show_default=True,
    help="Folder for the tables, one CSV file each.",
)
@click.option(
    "--base",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="The src folder of another version, for `before` and `book`.",
)
@click.option(
    "--case",
    "cases",
    type=click.Choice(tuple(CASES_OF_SIZES)),
    multiple=True,
    help="In `sizes` only this case; repeat it.",
)
@click.option(
    "--keep",
    is_flag=True,
    help="Also keep workloads, sizes and against_mbi for the book, in data/.",
)
def main(
    quick: bool,
    only: tuple[str, ...],
    out: Path,
    base: Path | None,
    cases: tuple[str, ...],
    keep: bool,
) -> None:
    """Measure speed as ratios in one process, one core, the least of several repeats."""
    frames: dict[str, pd.DataFrame] = {}
    wanted = only or NAMES
    if "per_fit" in wanted:
        frames["per_fit"] = per_fit(runs=300, baseline_runs=3) if quick else per_fit()
    if "list_scaling" in wanted:
        frames["list_scaling"] = list_scaling(QUICK_SIZES if quick else SIZES)
    if "large_tables" in wanted:
        frames["large_tables"] = large_tables(QUICK_SIDES if quick else SIDES, 30 if quick else 100)
    if "methods_in_grid" in wanted:
        frames["methods_in_grid"] = methods_in_grid(every=6 if quick else 1)
    if "workloads" in wanted:
        frames["workloads"] = workloads(compare=not quick, memory=not quick)
    if "sizes" in wanted and not (quick and not only):
        frames["sizes"] = sizes(cases or tuple(CASES_OF_SIZES))
    if "against_mbi" in wanted:
        frames["against_mbi"] = against_mbi(runs=3 if quick else 30)
    if "before" in wanted and base is not None:
        frames["before"] = before(base, *((50, 1) if quick else ()))
    if "book" in only and base is not None:
        frames["book"] = book(base)
    if "release_loss" in wanted:
        frames["release_loss"] = release_loss(500 if quick else 5000)
    if "whole_releases" in wanted and not (quick and not only):
        frames["whole_releases"] = whole_releases()
    if "explorer_moves" in only:
        frames["explorer_moves"] = explorer_moves(Path("book/_build/html/explorer/index.html"))
    out.mkdir(parents=True, exist_ok=True)
    click.echo(f"{platform.machine()}, Python {platform.python_version()}")
    for name, frame in frames.items():
        frame.to_csv(out / f"{name}.csv", index=False)
        click.echo(f"\n{name}\n{frame.to_string(index=False)}")
        if name == "workloads":
            multiples = ratios(frame)
            click.echo(f"\n{multiples.to_string()}\nmost: {multiples.max():.0f} of {PROMISED:.0f}")
        if name == "before":
            total = frame["now"].sum() / frame["before"].sum()
            click.echo(f"\nall fits: {total:.2f} of the time before")
        if name == "list_scaling":
            click.echo(f"\n{slopes(frame).to_string()}")
    if keep:
        kept = ("workloads", "sizes", "against_mbi")
        keep_in_book({name: frames[name] for name in kept if name in frames})
    click.echo(f"\nwritten to {out}")


main()
