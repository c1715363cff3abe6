"""The grid that a chapter reads: the folder that was computed, or the part that it needs."""

import tempfile
from functools import cache
from typing import NamedTuple

import pandas as pd

from ..grid.run import load_errors, load_queries, run_grid
from ..grid.spec import GridSpec

# Runs of a notebook that is run alone: a few seconds for all.
RUNS_ALONE = 100


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
        A folder that is no finished grid.

    Examples
    --------
    >>> spec = GridSpec.choose(datasets=["Level00-1d"], epsilon=[0.5], methods=["ols"], runs=20)
    >>> grid_part("", spec).errors["exact"].round(3).tolist()
    [31.683, 3168.317, 31.683]
    """
    if folder:
        return GridPart(load_errors(folder), load_queries(folder))
    return _computed(spec)


@cache
def _computed(spec: GridSpec) -> GridPart:
    with tempfile.TemporaryDirectory() as folder:
        result = run_grid(spec, folder, workers=1)
    return GridPart(result.errors, result.queries)
