"""The grid that a chapter reads: the folder that was computed, or the part that it needs."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cache

import pandas as pd

from ..grid.run import load_errors, load_queries, run_grid
from ..grid.spec import GridSpec

RUNS_ALONE = 100
"""Runs of a notebook that is run alone: enough to see what it says, a few seconds for all."""


@dataclass(frozen=True, eq=False)
class GridPart:
    """What a grid found: one row an error, one row a query.

    Parameters
    ----------
    errors, queries
        As in the grid's two files.
    """

    errors: pd.DataFrame
    queries: pd.DataFrame


def grid_part(folder: str, spec: GridSpec) -> GridPart:
    """Return a computed grid, or compute the part that a chapter needs where there is none (ours).

    The book computes the whole grid once and hands every chapter its folder. A notebook that is
    run alone has none, and computes its own part in seconds.

    Parameters
    ----------
    folder
        The folder of a finished grid, or ``""``.
    spec
        The part that is needed, with the number of runs for that case.

    Raises
    ------
    InputError
        A folder that is no finished grid.
    CertificateError
        A fit whose certificate misses; the message names data set, level, method and run.

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
