"""The paper's fits against another version of the package, in one run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

_FITS = """
import sys, time
import numpy as np
try:
    from microdata_price.model import benchmark, measurement, privacy
except ImportError:  # a version from before modules had rooms
    from microdata_price import benchmark, measurement, privacy
from microdata_price.fitting import fit

runs, out = int(sys.argv[1]), sys.argv[2]
rounds = int(sys.argv[3])
seconds, cells = {}, {}
for name in ("PUMA0101301", "Level16-2d", "Step16-1d", "SplitStairs-2d"):
    data = benchmark.data_set(name)
    rng = np.random.default_rng(2021)
    m = measurement.measure(data.table, data.workload, privacy.PureDP(0.5), runs=runs, rng=rng)
    for method in ("ols", "nnls", "maxfit", "sequential", "reweighted"):
        times = []
        for _ in range(rounds):
            start = time.process_time()
            found = fit(m, method)
            times.append(time.process_time() - start)
        seconds[f"{name} {method}"] = min(times)
        cells[f"{name} {method}"] = found.cells
np.savez(out, **cells)
for key, took in seconds.items():
    print(key, took)
"""


def _run(source: Path, runs: int, rounds: int, out: Path) -> dict[str, float]:
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _FITS, str(runs), str(out), str(rounds)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    lines = [line.rsplit(" ", 1) for line in done.stdout.splitlines()]
    return {key: float(took) for key, took in lines}


def before(source: Path, runs: int = 300, turns: int = 4) -> pd.DataFrame:
    """Time the paper's fits with this version and another, in turns, and compare their cells.

    Parameters
    ----------
    source
        The other version's ``src`` folder.
    runs
        Runs a fit.
    turns
        How often each version has its turn; the least time of each counts.

    Returns
    -------
    DataFrame
        One line a data set and method: seconds ``now`` and ``before``, their ``ratio``, and the
        largest ``difference`` of a cell, over the larger of 1 and the cell.
    """
    here = Path(__file__).parents[1] / "src"
    best: dict[str, dict[str, float]] = {"now": {}, "before": {}}
    with tempfile.TemporaryDirectory() as folder:
        outs = {which: Path(folder) / f"{which}.npz" for which in best}
        order = [("before", source), ("now", here)]
        for _ in range(turns):
            order.reverse()  # neither is always the one that comes when the machine is warm
            for which, path in order:
                for key, took in _run(path, runs, 2, outs[which]).items():
                    best[which][key] = min(took, best[which].get(key, np.inf))
        now, then = (np.load(outs[which]) for which in ("now", "before"))
        apart = {
            key: float((np.abs(now[key] - then[key]) / np.maximum(1, np.abs(then[key]))).max())
            for key in best["now"]
        }
    frame = pd.DataFrame(best).rename_axis("fit").reset_index()
    frame["ratio"] = frame["now"] / frame["before"]
    return frame.assign(difference=[apart[key] for key in frame["fit"]])
