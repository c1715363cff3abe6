"""``microdata-price book``: compute the notebooks and build the site."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from ..book.build import build
from ..book.plan import Edition, find_root
from ..explorer.build import explorer_folder
from ..explorer.dice import dice_folder
from .reading import NUMBER, WHOLE


@click.command(
    epilog="Example: microdata-price book --epsilon 0.25 --rho 0.03 --delta 1e-8 --runs 500"
)
@click.option("--epsilon", type=NUMBER, help="Pure level, in place of the notebooks' and grid's.")
@click.option("--rho", type=NUMBER, help="zCDP level, in place of the notebooks' and grid's.")
@click.option("--delta", type=NUMBER, help="Delta of approximate privacy.")
@click.option("--runs", type=WHOLE, help="Runs of each simulation.")
@click.option("--no-solutions", is_flag=True, help="The students' edition.")
@click.option(
    "--with-students", is_flag=True, help="Put the students' edition into the site, and a link."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder of the site, in place of one in book/_build.",
)
def command(
    epsilon: float | None,
    rho: float | None,
    delta: float | None,
    runs: int | None,
    no_solutions: bool,
    with_students: bool,
    out: Path | None,
) -> None:
    """Run every notebook that changed and build the whole site; print where its first page is.

    Without levels it is the default book, in book/_build/html; with levels it is another edition in
    its own folder beside it, titled so.
    """
    edition = Edition(epsilon, rho, delta, runs, solutions=not no_solutions)
    report = functools.partial(click.echo, err=True)
    extras = {"explorer": explorer_folder, "dice": dice_folder}
    click.echo(build(find_root(), edition, out, report, extras, students=with_students))
