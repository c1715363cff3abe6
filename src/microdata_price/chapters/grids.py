"""The grid that a chapter reads: the folder that was computed, or the part that it needs."""

import tempfile
from functools import cache
from typing import NamedTuple

import pandas as pd

from ..exceptions import InputError
from ..grid.run import load_errors, load_queries, run_grid
from ..grid.spec import GridSpec

RUNS_ALONE = 100  # of a notebook that is run alone: a few seconds for all


class GridPart(NamedTuple):
    """A grid's two tables: one row an error, one row a query."""

    errors: pd.DataFrame
    queries: pd.DataFrame


def grid_part(folder: str, spec: GridSpec) -> GridPart:
    """Read a finished grid, or compute the part that a chapter needs where there is none.

    The book computes the whole grid once and hands every chapter its folder. A notebook that is
    run alone has none (``""``), and computes `spec`, its own part, in seconds.

    Raises
    ------
    InputError
        A folder that is no finished grid, or one without what the chapter needs.

    Examples
    --------
    >>> spec = GridSpec.choose(datasets=["Level00-1d"], epsilon=[0.5], methods=["ols"], runs=20)
    >>> grid_part("", spec).errors["exact"].round(3).tolist()
    [31.683, 3168.317, 31.683]
    """
    if not folder:
        return _computed(spec)
    errors, queries = load_errors(folder), load_queries(folder)
    there = {*errors["method"], *errors["dataset"]}
    if lacking := ", ".join(n for n in (*spec.methods, *spec.datasets) if n not in there):
        raise InputError(f"the grid in {folder} lacks {lacking}; compute one with all of its parts")
    return GridPart(errors, queries)


@cache
def _computed(spec: GridSpec) -> GridPart:
    with tempfile.TemporaryDirectory() as folder:
        result = run_grid(spec, folder, workers=1)
    return GridPart(result.errors, result.queries)
