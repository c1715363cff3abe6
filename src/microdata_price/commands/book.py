"""``microdata-price book`` and ``run``: all notebooks and the site, or one notebook alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..book.build import build
from ..book.one import run_one
from ..book.parameters import no_repeats, read_yaml, split_values
from ..book.plan import Edition, find_root
from ..explorer.build import explorer_folder
from ..explorer.dice import dice_folder
from . import options


@click.command(epilog="Example: microdata-price book --epsilon 0.25 --rho 0.03 --delta 1e-8")
@options.EPSILON
@options.RHO
@options.DELTA
@options.whole("--runs", help="Runs of each simulation.")
@options.flag("--no-solutions", help="The students' edition.")
@options.flag("--with-students", help="Put the students' edition inside, linked.")
@options.place("--out", help="Folder of the site.  [default: one in book/_build]")
def book_command(out: Path | None, no_solutions: bool, with_students: bool, **levels: Any) -> None:
    """Run every notebook that changed and build the whole site; print where its first page is.

    Without levels it is the default book, in book/_build/html. A level takes the place of the
    notebooks' and the grid's: that is another edition, in a folder of its own, titled so.
    """
    edition = Edition(**levels, solutions=not no_solutions)
    extras = {"explorer": explorer_folder, "dice": dice_folder}
    click.echo(build(find_root(), edition, out, options.warn, extras, students=with_students))


@click.command(epilog="Example: microdata-price run difficult_table -p epsilon 0.25 -p runs 500")
@click.argument("notebook")
@click.option("-p", "given", nargs=2, multiple=True, metavar="NAME VALUE", help="A parameter.")
@options.file("-f", "file", help="A YAML file of parameters; -p goes before.")
@options.pairs("--param-grid", "grid", metavar="NAME=V1,V2,...", help="Compare several values.")
@options.place("--out", help="Folder.  [default: results/NOTEBOOK and what is given]")
def run_command(
    notebook: str, given: list[tuple[str, str]], grid: dict[str, str], **places: Path | None
) -> None:
    """Execute NOTEBOOK, a path or the name of a chapter; print where its page is.

    The folder gets the executed notebook and pages that need no network; with --param-grid a run
    for each value, or combination of values, and a page that compares them. For a NAME that
    is no parameter the error lists those there are.
    """
    no_repeats([*(name for name, _ in given), *grid], "-p and --param-grid")
    file = places["file"]
    values = read_yaml(file.read_text("utf-8", "surrogateescape"), str(file)) if file else {}
    several = {name: split_values(text) for name, text in grid.items()}
    click.echo(run_one(notebook, values | dict(given), several, places["out"], options.warn))
