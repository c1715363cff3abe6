"""Releases from end to end: files that are made here, seconds and memory of the whole command."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv

_RUN = """
import sys
from microdata_price import cli
try:
    cli.main(sys.argv[2:])
finally:
    with open("/proc/self/status") as status, open(sys.argv[1], "w") as out:
        out.write(status.read().split("VmHWM:")[1].split()[0])
"""
_READ = """
import sys
from pathlib import Path
from microdata_price.tables.read import read_table
from microdata_price.tables.schemas import load_schema
read_table(Path(sys.argv[2]), load_schema(Path(sys.argv[3])))
with open("/proc/self/status") as status, open(sys.argv[1], "w") as out:
    out.write(status.read().split("VmHWM:")[1].split()[0])
"""


def persons(folder: Path, count: int = 100_000, seed: int = 3) -> None:
    """Write a file of invented persons in counties, tracts and blocks, and its schema.

    Nobody below 18 is married, and the schema says so. Who is widowed or divorced counts at
    "other", who left the question empty at "not stated".
    """
    rng = np.random.default_rng(seed)
    tracts = {
        f"{c}{t:02d}": [f"{c}{t:02d}{b}" for b in range(10)] for c in range(5) for t in range(8)
    }
    counties = {f"county {c}": [t for t in tracts if t[0] == str(c)] for c in range(5)}
    blocks = [b for listed in tracts.values() for b in listed]
    schema = {
        "columns": {
            "block": blocks,
            "age": {"cuts": [18, 65]},
            "status": {"values": ["single", "married"], "other": "other", "empty": "not stated"},
        },
        "groups": {"tract": {"block": tracts}, "county": {"tract": counties}},
        "impossible": [{"age": ["below 18"], "status": ["married"]}],
    }
    size = rng.pareto(1.2, len(blocks)) + 1
    where = rng.choice(len(blocks), count, p=size / size.sum())
    age = rng.integers(0, 96, count)
    words = np.array(["single", "married", "widowed", "divorced", ""])
    grown = rng.choice(5, count, p=[0.3, 0.45, 0.1, 0.1, 0.05])
    status = np.where(age < 18, np.where(rng.random(count) < 0.97, 0, 4), grown)
    _write(folder, schema, {"block": np.array(blocks)[where], "age": age, "status": words[status]})


def square(folder: Path, shape: tuple[int, ...], seed: int = 1) -> None:
    """Write a table of counts, a tenth of its cells occupied, and its schema."""
    rng = np.random.default_rng(seed)
    table = np.where(rng.random(shape) < 0.1, rng.integers(0, 50, shape), 0)
    places = np.indices(shape).reshape(len(shape), -1)
    names = "abcdef"[: len(shape)]
    schema = {"columns": {c: {"from": 0, "to": n - 1} for c, n in zip(names, shape, strict=True)}}
    _write(folder, schema, dict(zip(names, places, strict=True)) | {"count": table.ravel()})


def records(folder: Path, count: int = 10_000_000, seed: int = 1) -> None:
    """Write a file of many records, and its schema."""
    rng = np.random.default_rng(seed)
    regions, jobs = ["north", "south", "east", "west"], ["nurse", "baker", "other"]
    schema = {
        "columns": {
            "region": regions,
            "age": {"from": 0, "to": 99},
            "job": {"values": jobs, "other": "other"},
        }
    }
    columns = {
        "region": np.array(regions)[rng.integers(0, 4, count)],
        "age": rng.integers(0, 100, count),
        "job": np.array([*jobs, "poet"])[rng.integers(0, 4, count)],
    }
    _write(folder, schema, columns)


def _write(folder: Path, schema: dict[str, Any], columns: dict[str, Any]) -> None:
    (folder / "schema.json").write_text(json.dumps(schema))
    csv.write_csv(pa.table(columns), folder / "table.csv")


NESTED = [
    *(
        "--epsilon",
        "1",
        "--workload",
        "sum, county, tract, block, age, status, age*status, identity",
    ),
    *("--share", "sum=0.05,identity=0.4", "--ledger", "{folder}/ledger.jsonl", "--name", "persons"),
]
CASES: dict[str, tuple[Callable[[Path], None], list[str] | None, float, float]] = {
    "100,000 persons in counties, tracts, blocks": (persons, NESTED, 60.0, 1024.0),
    "1,000 x 1,000, NNLS": (
        lambda folder: square(folder, (1000, 1000)),
        ["--epsilon", "0.5", "--method", "nnls"],
        40.0,
        1024.0,
    ),
    "100 x 100 x 100, reweighted": (
        lambda folder: square(folder, (100, 100, 100)),
        ["--epsilon", "0.5", "--method", "reweighted"],
        300.0,
        1024.0,
    ),
    "ten million records, read": (records, None, 60.0, 1024.0),
}
"""Cases: what writes the files, the words of the release, and the seconds and MB allowed."""


def end_to_end(
    make: Callable[[Path], None], words: list[str] | None, keep: Path | None = None
) -> tuple[float, float]:
    """Make files and run a release of them as a command, or only read them (Linux only).

    Parameters
    ----------
    make
        Writes ``table.csv`` and ``schema.json`` to a folder.
    words
        What is said beside the table, its schema and the folder to make; ``None`` to read only.
    keep
        An empty folder to work in; by default one that is removed.

    Returns
    -------
    float, float
        Seconds from start to end, and the peak memory in MB.
    """
    with tempfile.TemporaryDirectory() as passing:
        folder = Path(passing) if keep is None else keep
        make(folder)
        table, schema, peak = (folder / n for n in ("table.csv", "schema.json", "peak"))
        if words is None:
            command = [sys.executable, "-c", _READ, peak, table, schema]
        else:
            said = [w.format(folder=folder) for w in words]
            if "--ledger" in said:
                account = said[said.index("--ledger") :]
                cap = ["budget", *account[:4], "--cap-epsilon", "2"]
                subprocess.run([sys.executable, "-c", _RUN, peak, *cap], check=True)
            command = [sys.executable, "-c", _RUN, peak, "release", table, "--schema", schema]
            command += ["--out", folder / "release", *said]
        start = time.monotonic()
        subprocess.run([str(w) for w in command], check=True)
        return time.monotonic() - start, int(peak.read_text()) / 1024


def whole_releases(cases: Iterable[str] = tuple(CASES)) -> pd.DataFrame:
    """Run the largest releases from end to end.

    Returns
    -------
    DataFrame
        One line a case: ``seconds`` and ``megabytes`` with those ``allowed``.
    """
    lines = []
    for case in cases:
        make, words, seconds, megabytes = CASES[case]
        took, peak = end_to_end(make, words)
        line = {"case": case, "seconds": took, "seconds_allowed": seconds}
        lines.append(line | {"megabytes": peak, "megabytes_allowed": megabytes})
    return pd.DataFrame(lines)
