"""Your own table: its price, and one release of an invented table."""

import re
from functools import cached_property
from pathlib import Path

import numpy as np

from ..base.numbers import format_number
from ..errors.estimates import root_ratio
from ..fitting import METHODS, microdata_methods
from ..model.privacy import PureDP
from ..price.simulation import price_table
from ..tables.read import read_matrix, read_table
from ..tables.schemas import Schema, load_schema, require, schema_path
from ..tables.workloads import parse_workload
from .cases import written

LOWEST, HIGHEST = 0.01, 4.0  # beyond these a release has little but noise, or next to none
SURE = 4  # standard errors by which a price must be off 1 to count
BRANCHES = ("Alder", "Beck", "Copse", "Dell", "Elm", "Fen", "Grove", "Heath")
LANGUAGES = (
    *("English", "Polish", "Punjabi", "Arabic", "Welsh", "Somali"),
    *("French", "Tamil", "Greek", "Yoruba", "Icelandic", "Latin"),
)
PUBLIC = Schema(("branch", "language"), (BRANCHES, LANGUAGES))
MEMBERS = np.array(
    [
        (412, 63, 18, 0, 2, 0, 5, 0, 0, 1, 0, 0),
        (356, 8, 0, 3, 0, 41, 0, 0, 0, 0, 0, 0),
        (298, 0, 0, 0, 27, 0, 1, 0, 0, 0, 0, 1),
        (187, 112, 54, 9, 0, 0, 0, 6, 0, 0, 0, 0),
        (143, 2, 0, 0, 0, 0, 3, 0, 7, 0, 0, 0),
        (96, 0, 0, 35, 0, 0, 0, 0, 0, 12, 0, 0),
        (71, 1, 0, 0, 4, 0, 0, 19, 0, 0, 0, 0),
        (38, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0),
    ],
    dtype=float,
)  # members of an invented library, by branch and by the language they borrow most


def literal(text):
    """Return a name or value of a reader's table for a page, which would read its marks."""
    return re.sub(r"[\\`*_{}\[\]<>&$|~#]", lambda mark: f"&#{ord(mark[0])};", text)


def table_at(table, schema):
    """Return the schema and the counts of the table at a path; of the invented one without."""
    if not table:
        require(not schema, f"schema is {schema!r}, without a table; give both, or neither")
        return PUBLIC, MEMBERS
    path = Path(table)
    given = Path(schema) if schema else schema_path(path)
    if not schema and not given.is_file():
        return read_matrix(path)
    allowed = load_schema(given)
    return allowed, read_table(path, allowed)


class Findings:
    """A table and its price."""

    def __init__(self, table, schema, workload, epsilon, runs, seed):
        self.invented = not table
        self.public, self.truth = table_at(table, schema)
        self.workload = parse_workload(workload, self.public)
        self.level = PureDP(epsilon)
        self.runs, self.seed = runs, seed
        self.release_level = min(max(epsilon, LOWEST), HIGHEST)
        self.cells, self.empty = self.truth.size, int((self.truth == 0).sum())
        self.records = self.truth.sum()

    @cached_property
    def priced(self):
        given = (self.truth, self.public, self.workload, self.level)
        return price_table(*given, runs=self.runs, seed=self.seed)

    @cached_property
    def totals(self):
        return self.priced.totals[self.priced.totals["metric"] == "total"]

    @cached_property
    def micro(self):
        made = self.totals[self.totals["method"].isin(microdata_methods())]
        told = {"label": [METHODS[m].label for m in made["method"]]}
        told["query_set"] = [literal(name) for name in made["query_set"]]
        return made.assign(**told).sort_values("price")

    @property
    def ends(self):
        """The lowest and the highest price."""
        return self.micro.iloc[0], self.micro.iloc[-1]

    @property
    def off(self):
        """How many prices are surely above 1, and how many below."""
        sure, away = SURE * self.micro["price_error"], self.micro["price"] - 1
        return int((away > sure).sum()), int((away < -sure).sum())

    @property
    def worst(self):
        """The two dearest queries of each method."""
        rows = self.priced.worst(2)
        root = root_ratio(rows["squared_error"], rows["standard_error"], 1.0)
        shown = {
            "method": [METHODS[m].label for m in rows["method"]],
            "query": rows["query"].map(literal),
            "true count": rows["truth"].map(format_number),
            "bias": list(map(written, rows["bias"], rows["bias_error"])),
            "root error": list(map(written, *root)),
            "price": list(map(written, rows["price"], rows["price_error"])),
        }
        return rows.iloc[:, :0].assign(**shown)
