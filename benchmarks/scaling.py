"""Seconds a list takes against its length, beside sorting it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from microdata_price.fitting.methods import fit
from microdata_price.model.measurement import measure
from microdata_price.model.privacy import PureDP
from microdata_price.model.workload import Workload

from .timing import least_seconds, one_thread

SIZES = (10**2, 10**3, 10**4, 10**5, 10**6, 10**7)
METHODS = ("nnls", "sequential", "reweighted")


def list_scaling(
    sizes: Sequence[int] = SIZES, epsilon: float = 0.5, repeats: int = 5, seed: int = 1
) -> pd.DataFrame:
    """Time one fit of a list, a tenth of its cells occupied, with its certificate.

    Returns
    -------
    DataFrame
        One line a length and method: ``cells``, ``seconds`` on one core, ``sort_seconds`` of
        `numpy.sort` on the noisy cells, their ``ratio``, and the certificate.
    """
    lines = []
    with one_thread():
        for cells in sizes:
            rng = np.random.default_rng(seed)
            table = np.zeros(cells)
            some = max(1, cells // 10)
            table[:some] = rng.integers(0, 200, some)
            table[0] = 10_000
            m = measure(table, Workload.table(cells), PureDP(epsilon), runs=1, rng=rng)
            noisy = m.answers[1][0]
            sort = least_seconds(lambda noisy=noisy: np.sort(noisy), 2 * repeats)
            for method in METHODS:
                worst = fit(m, method).certificate.worst
                seconds = least_seconds(lambda m=m, method=method: fit(m, method), repeats)
                lines.append((cells, method, seconds, sort, seconds / sort, worst))
    names = ["cells", "method", "seconds", "sort_seconds", "ratio", "certificate"]
    return pd.DataFrame(lines, columns=names)


def slopes(frame: pd.DataFrame, least: int = 10**4) -> pd.Series:
    """Return each method's slope of log seconds against log cells, from ``least`` cells on."""
    large = frame[frame["cells"] >= least]
    return pd.Series(
        {
            str(method): float(np.polyfit(np.log(part["cells"]), np.log(part["seconds"]), 1)[0])
            for method, part in large.groupby("method")
        },
        name="slope",
    )
