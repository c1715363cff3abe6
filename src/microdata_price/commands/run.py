"""``microdata-price run``: one notebook at given parameters, to notebook and HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..book.one import run_one
from ..book.parameters import no_repeats, read_yaml, split_values
from ..exceptions import InputError


@click.command(epilog="Example: microdata-price run difficult_table -p epsilon 0.25 -p runs 500")
@click.argument("notebook")
@click.option(
    "-p",
    "pairs",
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    help="A parameter's name and its value.",
)
@click.option(
    "-f", "file", type=click.Path(path_type=Path), help="A YAML file of parameters; -p goes before."
)
@click.option(
    "--param-grid",
    "grids",
    multiple=True,
    metavar="NAME=V1,V2,...",
    help="Several values of a parameter: one run each, compared on one page.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder; by default results/NOTEBOOK and what is given, as in results/dice-runs-500.",
)
def command(
    notebook: str,
    pairs: tuple[tuple[str, str], ...],
    file: Path | None,
    grids: tuple[str, ...],
    out: Path | None,
) -> None:
    """Execute NOTEBOOK, a path or the name of a chapter; print where its page is.

    The folder gets the executed notebook and pages that need no network.
    """
    given: dict[str, Any] = {}
    if file is not None:
        if not file.is_file():
            raise InputError(f"there is no parameter file {str(file)!r}")
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InputError(
                f"{file} is not a text file in UTF-8; parameters are lines such as 'epsilon: 0.25'"
            ) from None
        given |= read_yaml(text, str(file))
    no_repeats([name for name, _ in pairs], "-p")
    given |= dict(pairs)
    grid = []
    for text in grids:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise InputError(
                f"--param-grid is {text!r}; it must be NAME=V1,V2,..., for example "
                "epsilon=0.1,0.5,1"
            )
        grid.append((name.strip(), split_values(values)))
    no_repeats([name for name, _ in pairs] + [name for name, _ in grid], "-p and --param-grid")
    click.echo(run_one(notebook, given, grid, out, lambda line: click.echo(line, err=True)))
