"""What checks found, a row for each part, in ``data/checks.csv``; the book shows it."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from microdata_price.base.data import data_path
from microdata_price.base.files import write_whole

from .peers import write_checksums


def keep(check: str, found: Mapping[str, tuple[int, int]]) -> None:
    """Put how many of each part were tried, and how many passed, in place of earlier rows."""
    folder = data_path("published_tables.csv").parent
    path = folder / "checks.csv"
    rows = [(check, part, tried, passed) for part, (tried, passed) in found.items()]
    table = pd.DataFrame(rows, columns=["check", "part", "tried", "passed"])
    if path.exists():
        old = pd.read_csv(path)
        again = (old["check"] == check) & old["part"].isin(list(found))
        table = pd.concat([old[~again], table]).sort_values("check", kind="stable")
    write_whole(path, table.to_csv(index=False).encode())
    write_checksums(folder)
