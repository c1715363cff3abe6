"""The 31 data sets: what they hold, where they come from, and what an unknown name says."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd

from microdata_price.model import benchmark

DATA = Path(__file__).parents[2] / "data"


def test_every_data_file_has_its_checksum_and_a_description():
    described = (DATA / "README.md").read_text()
    lines = (DATA / "SHA256SUMS").read_text().splitlines()
    named = dict(reversed(line.split("  ")) for line in lines)
    files = {path.name for path in DATA.iterdir()} - {"README.md", "SHA256SUMS"}
    assert {"pums2016.csv", "published_tables.csv", "dictionary.csv"} <= files == named.keys()
    for name, digest in named.items():
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == digest, name
        assert f"`{name}`" in described, name


def test_there_are_31_each_of_its_familys_shape():
    sets = benchmark.data_sets()
    assert [d.name for d in sets] == list(dict.fromkeys(benchmark.names()))
    assert [sum(d.family == f for d in sets) for f in benchmark.FAMILIES] == [8, 8, 15]
    assert [len({*benchmark.labels(variable)}) for variable in ("race", "origin")] == [9, 24]
    for d in sets:
        shape = {"1d": (100,), "2d": (10, 10), "pums": (9, 24)}[d.family]
        assert d.workload.shape == d.table.shape == shape
        assert (d.table.flags.writeable, d.empty_cells) == (False, int((d.table == 0).sum()))


def test_synthetic_tables_cell_by_cell():
    expected = {f"Level{count:02}": [count] * 99 for count in (0, 1, 16, 32)} | {
        "Stair": [*range(2, 101)],
        "Step16": [0] * 49 + [16] * 50,
        "Step50": [0] * 49 + [50] * 50,
        "SplitStairs": [*range(2, 50)] + [0] * 51,
    }
    for kind, behind in expected.items():
        cells = [10_000, *behind]
        assert (len(cells), benchmark.data_set(f"{kind}-1d").table.tolist()) == (100, cells)
        table = benchmark.data_set(f"{kind}-2d").table
        assert [table[i % 10, i // 10] for i in range(100)] == cells


def test_real_tables_hold_what_the_file_lists():
    rows = pd.read_csv(DATA / "pums2016.csv")
    for row in rows.itertuples():
        table = benchmark.data_set(row.dataset).table
        assert table[row.race - 1, row.origin - 1] == row.persons
    assert sum(d.table.sum() for d in benchmark.data_sets("pums")) == rows["persons"].sum()


def test_the_wheel_carries_the_data_and_finds_it_where_it_is_installed(tmp_path):
    copy, place, root = tmp_path / "source", tmp_path / "place", DATA.parent
    copy.mkdir()
    for item in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / item, copy)
    for folder in ("data", "src"):
        ignored = shutil.ignore_patterns("*.egg-info", "__pycache__")
        shutil.copytree(root / folder, copy / folder, ignore=ignored)
    build = "import setuptools.build_meta as b; b.build_wheel('..')"
    find = (
        "import sys; sys.path.insert(0, sys.argv[1]); from microdata_price.base import data; "
        "print(data.data_path('dictionary.csv'))"
    )

    def call(*words, cwd=tmp_path):
        command = [sys.executable, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    call("-c", build, cwd=copy)
    wheel = next(tmp_path.glob("*.whl"))
    install = ("-m", "pip", "install", "--no-index", "--no-deps", "--ignore-installed")
    call(*install, "--prefix", place, wheel)  # without the last of them pip removes our own
    shared = place / "share" / "microdata-price" / "data"
    assert {p.name for p in DATA.iterdir()} == {p.name for p in shared.iterdir()}
    site = next(place.rglob("site-packages"))
    assert Path(call("-I", "-S", "-c", find, site)).samefile(shared / "dictionary.csv")
