"""The paper's benchmark: 15 real and 16 synthetic tables, by name."""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..base.data import data_path
from ..exceptions import find
from .table import check_table
from .workload import Workload

Array = NDArray[np.float64]

LARGE = 10_000
"""The first cell of every synthetic table, in counts."""


def _level(count: int) -> Callable[[Array], Array]:
    return lambda place: np.full(place.size, float(count))


def _step(count: int) -> Callable[[Array], Array]:
    return lambda place: np.where(place > place.size / 2, float(count), 0.0)


SYNTHETIC: dict[str, Callable[[Array], Array]] = {
    "Level00": _level(0),
    "Level01": _level(1),
    "Level16": _level(16),
    "Level32": _level(32),
    "Stair": lambda place: place,
    "Step16": _step(16),
    "Step50": _step(50),
    "SplitStairs": lambda place: np.where(place < place.size / 2, place, 0.0),
}
"""The synthetic tables' counts behind the first, as functions of the places 1, 2, ..., 100."""


@dataclass(frozen=True, eq=False)
class DataSet:
    """One table of the benchmark, with the workload that is asked of it.

    Examples
    --------
    >>> data_set("Level00-2d").workload.names
    ('sum', 'marginal1', 'marginal2', 'identity')
    """

    name: str  # such as "Level00-1d" or "PUMA0101301" (state 01, area 01301)
    family: str  # one of `FAMILIES`
    table: Array  # the true counts; read-only
    workload: Workload

    def __post_init__(self) -> None:
        table = check_table(self.table, self.workload.shape).copy()
        table.setflags(write=False)
        object.__setattr__(self, "table", table)

    @property
    def empty_cells(self) -> int:
        """The number of cells without a record."""
        return int((self.table == 0).sum())


def synthetic(kind: str) -> Array:
    """Return a synthetic table's 100 counts, the first of them 10,000 (the paper's Appendix).

    Level k has k in every other cell, Step k has 49 empty cells and then k in the last 50, Stair
    has 2, 3, ..., 100 and SplitStairs 2, ..., 49 and then empty cells. (For Stair the paper's text
    starts at 1; its data start at 2.)

    Examples
    --------
    >>> synthetic("Stair")[[0, 1, 2, 99]].tolist()
    [10000.0, 2.0, 3.0, 100.0]
    """
    cells = find("synthetic table", kind, SYNTHETIC)(np.arange(1.0, 101.0)).copy()
    cells[0] = LARGE
    return cells


def _rows(name: str) -> list[dict[str, str]]:
    with data_path(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@functools.cache
def _pums() -> dict[str, Array]:
    """Read the real tables, rows by race and columns by origin."""
    tables: dict[str, Array] = {}
    for row in _rows("pums2016.csv"):
        table = tables.setdefault(row["dataset"], np.zeros((9, 24)))
        table[int(row["race"]) - 1, int(row["origin"]) - 1] += int(row["persons"])
    return dict(sorted(tables.items()))


@dataclass(frozen=True)
class Family:
    """Data sets of one kind, and how pictures and pages call and mark them."""

    name: str  # its name in commands and files
    title: str  # its name for readers, and a short one
    label: str
    marker: str  # its mark in pictures, for matplotlib and as a letter
    sign: str
    tables: Callable[[], Mapping[str, Array]]  # returns the counts of all its data sets, by name


def _lists() -> dict[str, Array]:
    return {f"{kind}-1d": synthetic(kind) for kind in SYNTHETIC}


def _squares() -> dict[str, Array]:
    """Fill the two-dimensional synthetic tables column by column."""
    return {f"{kind}-2d": synthetic(kind).reshape((10, 10), order="F") for kind in SYNTHETIC}


FAMILIES = {
    f.name: f
    for f in (
        Family("1d", "Lists of 100 cells", "lists", "o", "○", _lists),
        Family("2d", "Tables of 10 × 10 cells", "10 × 10", "s", "□", _squares),
        Family("pums", "Tables of 9 × 24 cells, real people", "9 × 24, real", "^", "△", _pums),
    )
}
"""All families by name, in the order in which they are shown."""


def names(family: str = "all") -> tuple[str, ...]:
    """List the data sets' names, of one of `FAMILIES` or all 31 of them.

    Examples
    --------
    >>> len(names("1d")), len(names("2d")), len(names("pums")), len(names())
    (8, 8, 15, 31)
    """
    homes = {f.name: (f,) for f in FAMILIES.values()} | {"all": tuple(FAMILIES.values())}
    return tuple(name for f in find("family", family, homes) for name in f.tables())


def data_set(name: str) -> DataSet:
    """Return a data set of the benchmark by its name, one of `names`.

    The two-dimensional synthetic tables are filled column by column.

    Examples
    --------
    >>> data_set("Stair-2d").table[:3, :2].tolist()
    [[10000.0, 11.0], [2.0, 12.0], [3.0, 13.0]]
    >>> int(data_set("PUMA0101301").table.sum())
    812
    """
    homes = {n: family for family in FAMILIES.values() for n in family.tables()}
    family = find("data set", str(name), homes)
    table = family.tables()[name]
    return DataSet(name, family.name, table, Workload.table(table.shape))


def data_sets(family: str = "all") -> tuple[DataSet, ...]:
    """Return the data sets of one family, or all 31."""
    return tuple(data_set(name) for name in names(family))


def labels(
    variable: Literal["race", "origin"], form: Literal["label", "short_label"] = "label"
) -> tuple[str, ...]:
    """Return the labels of the real tables' rows (race) or columns (origin), in order.

    The Census Bureau calls the variables RAC1P (9 labels) and HISP (24); short labels, for figures,
    are ours.

    Examples
    --------
    >>> labels("race")[0], labels("race", "short_label")[:2]
    ('White alone', ('White', 'Black'))
    """
    find("variable", variable, dict.fromkeys(("race", "origin")))
    find("form", form, dict.fromkeys(("label", "short_label")))
    own = [row for row in _rows("dictionary.csv") if row["variable"] == variable]
    return tuple(row[form] for row in sorted(own, key=lambda row: int(row["code"])))
