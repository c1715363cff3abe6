"""The 31 data sets: what they hold, where they come from, and what an unknown name says."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from microdata_price.base import data as datafiles
from microdata_price.exceptions import InputError
from microdata_price.model import benchmark

DATA = Path(__file__).parents[2] / "data"


def test_checksums_agree() -> None:
    lines = (DATA / "SHA256SUMS").read_text().splitlines()
    named = dict(reversed(line.split("  ")) for line in lines)
    assert {"pums2016.csv", "published_tables.csv", "dictionary.csv"} <= named.keys()
    for name, digest in named.items():
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == digest, name


def test_every_data_file_has_a_checksum_and_a_description() -> None:
    described = (DATA / "README.md").read_text()
    summed = (DATA / "SHA256SUMS").read_text()
    for path in DATA.iterdir():
        if path.name not in ("README.md", "SHA256SUMS"):
            assert f"  {path.name}\n" in summed, path.name
            assert f"`{path.name}`" in described, path.name


def test_there_are_31_with_distinct_names() -> None:
    sets = benchmark.data_sets()
    assert len({d.name for d in sets}) == len(sets) == 31
    assert [sum(d.family == f for d in sets) for f in benchmark.FAMILIES] == [8, 8, 15]


@pytest.mark.parametrize("name", benchmark.names())
def test_each_has_its_familys_shape(name: str) -> None:
    d = benchmark.data_set(name)
    assert d.name == name
    assert d.table.shape == {"1d": (100,), "2d": (10, 10), "pums": (9, 24)}[d.family]
    assert d.workload.shape == d.table.shape
    assert not d.table.flags.writeable
    assert d.empty_cells == int((d.table.ravel() == 0).sum())


def test_synthetic_tables_cell_by_cell() -> None:
    zeros = [0.0] * 49
    expected = {
        "Level00": [10000.0] + [0.0] * 99,
        "Level01": [10000.0] + [1.0] * 99,
        "Level16": [10000.0] + [16.0] * 99,
        "Level32": [10000.0] + [32.0] * 99,
        "Stair": [10000.0, *map(float, range(2, 101))],
        "Step16": [10000.0, *zeros, *[16.0] * 50],
        "Step50": [10000.0, *zeros, *[50.0] * 50],
        "SplitStairs": [10000.0, *map(float, range(2, 50)), *[0.0] * 51],
    }
    for kind, cells in expected.items():
        assert len(cells) == 100
        assert benchmark.data_set(f"{kind}-1d").table.tolist() == cells
        table = benchmark.data_set(f"{kind}-2d").table
        assert [table[i % 10, i // 10] for i in range(100)] == cells


def test_real_tables_hold_what_the_file_lists() -> None:
    rows = pd.read_csv(DATA / "pums2016.csv", dtype={"state": str, "puma": str})
    assert (rows["dataset"] == "PUMA" + rows["state"] + rows["puma"]).all()
    assert not rows.duplicated(["dataset", "race", "origin"]).any()
    assert (rows["persons"] >= 1).all()
    for row in rows.itertuples():
        table = benchmark.data_set(row.dataset).table
        assert table[row.race - 1, row.origin - 1] == row.persons
    total = sum(d.table.sum() for d in benchmark.data_sets("pums"))
    assert total == rows["persons"].sum()


def test_the_dictionary_covers_both_variables() -> None:
    for variable, size in (("race", 9), ("origin", 24)):
        for form in ("label", "short_label"):
            found = benchmark.labels(variable, form)
            assert len(set(found)) == len(found) == size
            assert all(found)
    codes = pd.read_csv(DATA / "dictionary.csv")
    for _, part in codes.groupby("variable"):
        assert part["code"].tolist() == list(range(1, len(part) + 1))


def test_published_values_are_complete() -> None:
    rows = pd.read_csv(DATA / "published_tables.csv")
    keys = ["dataset", "method", "query_set", "metric"]
    assert len(rows) == 240
    assert not rows.duplicated(keys).any()
    assert set(rows["dataset"]) == {"Level00-2d", *benchmark.names("pums")}
    assert (rows["squared_error"] > 0).all()
    assert np.array_equal(rows["paper_table"] == 1, rows["query_set"] == "sum")


@pytest.mark.parametrize(
    ("given", "suggested"),
    [("PUMA101301", "PUMA0101301"), ("level00-1d", "Level00-1d"), ("Stairs-2d", "Stair-2d")],
)
def test_an_unknown_data_set_gets_the_nearest_suggested(given: str, suggested: str) -> None:
    with pytest.raises(InputError, match=f"there is no data set '{given}'.*{suggested}"):
        benchmark.data_set(given)


def test_other_unknown_names() -> None:
    with pytest.raises(InputError, match="there is no family '3d'"):
        benchmark.names("3d")
    with pytest.raises(InputError, match="there is no synthetic table 'Level99'"):
        benchmark.synthetic("Level99")
    with pytest.raises(InputError, match="there is no variable 'age'"):
        benchmark.labels("age")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="there is no form 'long'"):
        benchmark.labels("race", "long")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"the data file 'nothing\.csv' is neither"):
        datafiles.data_path("nothing.csv")


def test_data_is_found_without_a_checkout(tmp_path: Path) -> None:
    """An installed package's record leads to its copies, wherever the installer put them."""
    site = tmp_path / "lib" / "site-packages"
    package = site / "microdata_price"
    source = Path(datafiles.__file__).parents[1]
    (package / "base").mkdir(parents=True)
    for module in ("__init__", "base/__init__", "base/data", "exceptions"):
        (package / f"{module}.py").write_bytes((source / f"{module}.py").read_bytes())
    shared = tmp_path / "share" / "microdata-price" / "data"
    shared.mkdir(parents=True)
    (shared / "dictionary.csv").write_bytes((DATA / "dictionary.csv").read_bytes())
    info = site / "microdata_price-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: microdata-price\nVersion: 0\n")
    (info / "RECORD").write_text("../../share/microdata-price/data/dictionary.csv,,\n")
    program = "from microdata_price.base.data import data_path; print(data_path('dictionary.csv'))"
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            f"import sys; sys.path.insert(0, {str(site)!r}); {program}",
        ],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert Path(done.stdout.strip()) == shared / "dictionary.csv"


def test_the_wheel_carries_the_data(tmp_path: Path) -> None:
    build = (
        "import os, sys; os.chdir(sys.argv[1]); import setuptools.build_meta as b; "
        "print(b.build_wheel(sys.argv[2]))"
    )
    copy = tmp_path / "source"
    copy.mkdir()
    root = DATA.parent
    for item in ("pyproject.toml", "README.md", "LICENSE", "data", "src"):
        path = root / item
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and "egg-info" not in str(file) and "__pycache__" not in str(file):
                target = copy / file.relative_to(root)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", build, str(copy), str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        members = {Path(n).name for n in wheel.namelist() if "share/microdata-price/data" in n}
    assert {p.name for p in DATA.iterdir()} == members
