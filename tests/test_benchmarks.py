"""The benchmarks compare solvers that give the same answers."""

from __future__ import annotations

import subprocess
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


def test_one_case_that_is_measured_again_leaves_the_others_as_they_were(tmp_path, monkeypatch):
    import pandas as pd
    from benchmarks import keep
    from benchmarks.workloads import sizes

    from microdata_price.studies.beyond import FILE, load_workloads

    before = load_workloads()
    before.to_csv(tmp_path / FILE, index=False)
    (tmp_path / "published_tables.csv").touch()
    monkeypatch.setattr(keep, "data_path", lambda name: tmp_path / name)
    monkeypatch.setattr(keep, "write_checksums", lambda _: None)
    case = "county, tract, block"
    keep.keep({"sizes": sizes([case])})
    after = pd.read_csv(tmp_path / FILE)
    same = (after["part"] != "sizes") | (after["case"] != case)
    was = (before["part"] != "sizes") | (before["case"] != case)
    pd.testing.assert_frame_equal(
        after[same].reset_index(drop=True), before[was].reset_index(drop=True)
    )
    assert list(after.columns) == list(before.columns)
    assert after[~same]["method"].tolist() == before[~was]["method"].tolist()
    assert after[~same]["versions"].isna().all()  # no other solver was asked


def test_every_method_is_timed_in_the_grid():
    from benchmarks.methods_in_grid import BASE, methods_in_grid

    from microdata_price.fitting import microdata_methods

    frame = methods_in_grid(runs=2, repeats=1, every=93).set_index("method")
    assert tuple(frame.index) == microdata_methods()
    assert frame.loc[BASE, "ratio"] == 1
    assert (frame["milliseconds"] > 0).all()


def test_a_file_of_persons_is_released_from_end_to_end(tmp_path):
    """With groups, cut points, "other", structural zeros, shares and a cap."""
    import csv
    import json

    from benchmarks.releases import NESTED, end_to_end, persons

    seconds, megabytes = end_to_end(lambda f: persons(f, 2000), NESTED, tmp_path)
    assert seconds > 0
    assert 50 < megabytes < 1024
    with (tmp_path / "release" / "records.csv").open(newline="") as file:
        records = list(csv.DictReader(file))
    assert not any(r["age"] == "below 18" and r["status"] == "married" for r in records)
    tracts = json.loads((tmp_path / "schema.json").read_text())["groups"]["tract"]["block"]
    with (tmp_path / "release" / "measurements.csv").open(newline="") as file:
        asked = [r["tract"] for r in csv.DictReader(file) if r["query_set"] == "tract"]
    assert asked == list(tracts)
    assert {r["status"] for r in records} == {"single", "married", "other", "not stated"}
    again = [w if w != "1" else "1.5" for w in NESTED]  # with it the cap would be exceeded
    again += ["--out", "{folder}/again"]
    with pytest.raises(subprocess.CalledProcessError):
        end_to_end(Path.touch, again, tmp_path)
    assert not (tmp_path / "again").exists()


def test_memory_is_what_the_call_takes():
    from functools import partial

    from benchmarks.workloads import alone

    numbers = 12_000_000  # 96 MB, far more than rounding by pages
    _, megabytes, found = alone(partial(np.full, (numbers,)), 1.0)
    assert found.size == numbers
    assert 8 * numbers / 2**20 == pytest.approx(megabytes, abs=6)


def test_workloads_are_timed_as_multiples_of_one():
    from benchmarks.workloads import REFERENCE, ratios, workloads

    frame = workloads((REFERENCE,), compare=False, memory=False, repeats=1)
    assert (frame["certificate"] <= 1e-7).all()
    assert ratios(frame)[(REFERENCE, "nnls")] == 1


def test_mbis_problem_solved_exactly_has_no_excess():
    from benchmarks.against_mbi import against_mbi

    frame = against_mbi(("3-way, pairs only",), runs=2).set_index("solver")
    assert frame.loc["ours, mbi's total held", "excess"] == 0
    assert frame.loc["ours", "excess"] < 0  # its total is free
