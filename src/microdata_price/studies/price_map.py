"""Which lists pay: prices over the number of empty cells and the size of the others (ours)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..exceptions import InputError
from ..fitting import microdata_methods
from ..grid.run import evaluate
from ..model.benchmark import LARGE, DataSet, names, synthetic
from ..model.privacy import ConcentratedDP, PureDP
from ..model.workload import Workload
from .experiments import priced
from .prices import sharpened

Array = NDArray[np.float64]

CELLS = 100
SIZES = (1, 4, 8, 16, 32, 50, 100, 200)
"""Sizes of the other cells, in records; those of the benchmark's lists are among them."""

EMPTIES = (0, 10, 25, 49, 75, 90, 99)
"""Numbers of empty cells of the map; those of the benchmark's lists are among them."""


def two_part_list(empty: int, size: int, cells: int = CELLS) -> DataSet:
    """Return a list with one large cell, some empty cells, and all others of one size.

    Parameters
    ----------
    empty
        The number of empty cells, at most ``cells - 1``.
    size
        The others' count, in records.
    cells
        The list's length.

    Raises
    ------
    InputError
        More empty cells than there are beside the large one.

    Examples
    --------
    >>> two_part_list(2, 7, cells=5).table.tolist()
    [10000.0, 0.0, 0.0, 7.0, 7.0]
    """
    if not 0 <= empty < cells:
        raise InputError(f"empty is {empty}; a list of {cells} cells has 0 to {cells - 1} of them")
    table = np.full(cells, float(size))
    table[0] = LARGE
    table[1 : empty + 1] = 0
    return DataSet(f"{empty} empty, others {size}", "own", table, Workload.table(cells))


def price_map(
    guarantee: PureDP | ConcentratedDP,
    empties: Sequence[int],
    sizes: Sequence[int],
    *,
    runs: int,
    seed: int,
    cells: int = CELLS,
) -> pd.DataFrame:
    """Estimate the price of the sum and of the worst cell for lists of many kinds.

    Parameters
    ----------
    guarantee
        The privacy level.
    empties, sizes
        The map's axes: empty cells, and the others' size in records.
    runs
        Runs of each list, 4 or more.
    seed
        Of the noise.
    cells
        The lists' length.

    Returns
    -------
    DataFrame
        ``empty``, ``size``, ``method``, ``sum`` and ``worst`` (prices; the worst cell's is the
        split estimate, which does not overshoot) with ``sum_error`` and ``worst_error``, and
        ``certificate``. Where all but the large cell are empty the size does not matter, and all
        sizes share one estimate.

    Examples
    --------
    >>> price_map(PureDP(0.5), [3], [5], runs=4, seed=1, cells=4).shape
    (4, 8)
    """
    found: dict[tuple[int, int], pd.DataFrame] = {}
    rows = []
    for empty in empties:
        for size in sizes:
            key = (empty, size if empty < cells - 1 else sizes[0])
            if key not in found:
                rng = np.random.default_rng([seed, *key])
                made = evaluate(two_part_list(*key, cells), guarantee, runs=runs, rng=rng)
                found[key] = _prices(made.errors)
            rows.append(found[key].assign(empty=empty, size=size))
    table = pd.concat(rows, ignore_index=True)
    return table[
        ["empty", "size", "method", "sum", "sum_error", "worst", "worst_error", "certificate"]
    ]


def _prices(errors: pd.DataFrame) -> pd.DataFrame:
    table = sharpened(priced(errors))
    table = table[table["method"].isin(microdata_methods())].set_index("method")
    total = table[table["query_set"].eq("sum")]
    worst = table[table["query_set"].eq("identity") & table["metric"].eq("max")]
    return pd.DataFrame(
        {
            "sum": total["price"],
            "sum_error": total["price_error"],
            "worst": worst["max_split"] / worst["ols"],
            "worst_error": worst["se_split"] / worst["ols"],
            "certificate": total["worst_certificate"],
        }
    ).reset_index()


def landmarks() -> pd.DataFrame:
    """Place the benchmark's lists of one size on the map: their empty cells and their size.

    Examples
    --------
    >>> landmarks().set_index("name").loc["Step16"].tolist()
    [49, 16]
    """
    rows = []
    for name in names("1d"):
        kind = name.removesuffix("-1d")
        others = synthetic(kind)[1:]
        full = np.unique(others[others > 0])
        if full.size <= 1:
            rows.append((kind, int((others == 0).sum()), int(full[0]) if full.size else 0))
    return pd.DataFrame(rows, columns=["name", "empty", "size"])
