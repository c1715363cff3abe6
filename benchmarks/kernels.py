"""The same numbers with other BLAS kernels, other versions of Python and its libraries?

``python -m benchmarks.kernels`` computes fits and bounds once with each kernel of OpenBLAS, and
prints the largest difference. ``--write FILE`` keeps them, ``--against FILE`` compares with those
that another Python wrote.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from microdata_price.fitting import METHODS, fit
from microdata_price.model.benchmark import data_set
from microdata_price.model.measurement import measure
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.theory.lower.lower_bounds import BOUNDS, point_error_bound, sum_error_bound

KERNELS = ("Prescott", "Nehalem", "Haswell", "SkylakeX", "Zen")
TABLES = ("PUMA0101301", "Level00-2d", "SplitStairs-2d", "Level16-1d")
LEVELS = (PureDP(0.5), ConcentratedDP(0.125))


def numbers() -> NDArray[np.float64]:
    """Return the cells of fits by every method, and every bound at three sizes."""
    found = []
    for name in TABLES:
        data = data_set(name)
        for level in LEVELS:
            rng = np.random.default_rng(1)
            measured = measure(data.table, data.workload, level, runs=10, rng=rng)
            found += [fit(measured, method).cells.ravel() for method in METHODS]
    d = np.array([2.0, 1e3, 1e6])
    for level in LEVELS:
        for bound in (point_error_bound, sum_error_bound):
            found += [bound(name, level, d, np.full(3, 20.0)) for name in BOUNDS]
    return np.concatenate(found)


def difference(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the largest difference, relative where numbers are above 1; equal infinities agree."""
    finite = np.isfinite(a)
    if a.shape != b.shape or (a[~finite] != b[~finite]).any():
        return float("inf")
    return float((np.abs(a - b)[finite] / np.maximum(1, np.abs(a[finite]))).max())


@click.command()
@click.option("--write", type=click.Path(path_type=Path), help="Keep this Python's numbers.")
@click.option("--against", type=click.Path(path_type=Path, exists=True), help="Such a file.")
def main(write: Path | None, against: Path | None) -> None:
    """Print how far numbers of other kernels, or of another Python, are from these."""
    own = numbers()
    if write:
        np.save(write, own)
    elif against:
        click.echo(f"{own.size:,} numbers, largest difference {difference(np.load(against), own)}")
    else:
        with tempfile.TemporaryDirectory() as folder:
            for kernel in KERNELS:
                path = Path(folder) / f"{kernel}.npy"
                command = [sys.executable, "-m", "benchmarks.kernels", "--write", str(path)]
                subprocess.run(command, env=os.environ | {"OPENBLAS_CORETYPE": kernel}, check=True)
                told = difference(own, np.load(path))
                click.echo(f"{kernel}: {own.size:,} numbers, largest difference {told:.1g}")


if __name__ == "__main__":
    main()
