"""The benchmarks compare solvers that give the same answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def test_every_solver_gives_our_answers():
    from benchmarks.per_fit import per_fit

    frame = per_fit("Level00-2d", runs=4, baseline_runs=2, repeats=1)
    assert set(frame["method"]) == {"nnls", "maxfit", "sequential", "reweighted"}
    assert (frame["milliseconds"] > 0).all()
    exact = frame[frame["method"].isin(["nnls", "reweighted"])]
    assert (exact["difference"] < 0.02).all()  # the others' default tolerances, in counts


def test_a_slope_is_that_of_the_logarithms():
    import pandas as pd
    from benchmarks.scaling import list_scaling, slopes

    cells = np.array([10**4, 10**5, 10**6])
    made = pd.DataFrame({"cells": cells, "method": "nnls", "seconds": 1e-9 * cells**1.5})
    assert slopes(made)["nnls"] == pytest.approx(1.5)
    measured = list_scaling((100, 200), repeats=1)
    assert (measured["certificate"] < 1e-9).all()
    assert len(measured) == 6


def test_large_tables_are_timed_beside_an_interior_point_solver():
    from benchmarks.large_tables import large_tables

    frame = large_tables((6, 12), interior_most=6, repeats=1)
    assert frame[frame["solver"] == "ours"]["certificate"].max() < 1e-9
    assert frame[frame["solver"] == "Clarabel"]["side"].tolist() == [6]


def test_every_method_is_timed_in_the_grid():
    from benchmarks.methods_in_grid import BASE, methods_in_grid

    from microdata_price.fitting import microdata_methods

    frame = methods_in_grid(runs=2, repeats=1, every=93).set_index("method")
    assert tuple(frame.index) == microdata_methods()
    assert frame.loc[BASE, "ratio"] == 1
    assert (frame["milliseconds"] > 0).all()
