"""What each method takes in the grid, noise, control and sums included, over reweighted fitting."""

from __future__ import annotations

import numpy as np
import pandas as pd

from microdata_price.fitting import microdata_methods
from microdata_price.grid.run import evaluate
from microdata_price.grid.spec import GridSpec
from microdata_price.model.benchmark import data_set

from .timing import least_seconds, one_thread

BASE = "reweighted"


def methods_in_grid(runs: int = 100, repeats: int = 3, every: int = 1) -> pd.DataFrame:
    """Time the paper's 186 pairs of a data set and a level with one method at a time.

    Parameters
    ----------
    runs
        Runs of each pair.
    repeats
        The least time of so many is taken.
    every
        Take every so many-th pair only.

    Returns
    -------
    DataFrame
        One line a method: milliseconds a run, and ``ratio``, over those of reweighted fitting.
    """
    pairs = GridSpec().pairs[::every]

    def compute(method: str) -> None:
        for pair in pairs:
            rng = np.random.default_rng(1)
            evaluate(data_set(pair.dataset), pair.guarantee, (method,), runs=runs, rng=rng)

    with one_thread():
        seconds = {
            m: least_seconds(lambda m=m: compute(m), repeats)  # type: ignore[misc]
            for m in microdata_methods()
        }
    return pd.DataFrame(
        [
            {
                "method": m,
                "milliseconds": 1000 * s / runs / len(pairs),
                "ratio": s / seconds[BASE],
            }
            for m, s in seconds.items()
        ]
    )
