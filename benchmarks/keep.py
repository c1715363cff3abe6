"""What the book shows of benchmarks that are too long, or need too much, for its build."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pandas as pd

from microdata_price.base.data import data_path
from microdata_price.base.files import write_whole

from .peers import write_checksums

FILE, OURS = "workloads.csv", "ours"
COMPARED = ("clarabel", "cvxpy", "mbi", "osqp", "piqp")


def _versions() -> str:
    found = []
    for name in COMPARED:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # an extra that is not installed has no line in the tables
            continue
    return ", ".join(found)


def keep(frames: dict[str, pd.DataFrame]) -> None:
    """Put measured tables into the book's file, in place of the same cases' earlier lines."""
    folder = data_path("published_tables.csv").parent
    path = folder / FILE
    about = {
        "measured": f"{datetime.now(UTC):%Y-%m-%d}",
        "where": f"one core, {platform.machine()}, Python {platform.python_version()}",
    }
    new = []
    for name, frame in frames.items():
        others = bool(frame["solver"].ne(OURS).any())
        versions = {"versions": _versions()} if others else {}
        new.append(frame.assign(part=name, **about, **versions))
    if path.exists():
        old = pd.read_csv(path)
        measured = {(part, case) for part, frame in frames.items() for case in frame["case"]}
        again = [pair in measured for pair in zip(old["part"], old["case"], strict=True)]
        new.insert(0, old[~np.array(again)])
    table = pd.concat(new, ignore_index=True)
    first = ["part", "case", "cells", "queries", "method", "solver"]
    last = [*about, "versions"]
    rest = [c for c in table.columns if c not in (*first, *last)]
    table = table[[*first, *rest, *last]].sort_values("part", kind="stable")
    write_whole(path, table.to_csv(index=False, float_format="%.10g"))
    write_checksums(folder)
