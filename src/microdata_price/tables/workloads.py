"""Workloads as a person writes them: words and columns' names in order of priority."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ..exceptions import find, unknown_name
from ..model.queryset import QuerySet
from ..model.table import real_numbers
from ..model.workload import Workload
from .schemas import KEYWORDS, Schema, require

DEFAULT = "sum, marginals, identity"  # the paper's workload and its order of priority
LEAST_SHARE = 1e-6  # a smaller share of the budget would buy noise alone
Shares = Mapping[str, float]  # by the names of query sets


def _query_set(schema: Schema, names: Sequence[str]) -> QuerySet:
    """Return the query set of some columns and groups, given in the schema's order."""
    if not names:
        return QuerySet.sum_query(schema.shape)
    if tuple(names) == schema.columns:
        return QuerySet.identity(schema.shape)
    title = "*".join(names)
    if schema.possible is None and set(names) <= set(schema.columns):
        return QuerySet.marginal(schema.shape, [*map(schema.columns.index, names)], title)
    labels = schema.labels(names)
    if (size := int(labels.max()) + 1) in (1, schema.cells):  # solvers know these by their axes
        return (QuerySet.sum_query if size == 1 else QuerySet.identity)(schema.shape, title)
    return QuerySet.from_labels(labels.reshape(schema.shape), title)


def _names(schema: Schema, part: str) -> tuple[str, ...]:
    """Return the columns and groups that a part of a workload names, in the schema's order."""
    if part in ("sum", "identity"):
        return () if part == "sum" else schema.columns
    for name in (names := re.split(r"\s*\*\s*", part)):
        require(name, f"the workload's part {part!r} has a star without a name on both sides")
        if name not in schema.names:
            raise unknown_name("column or word of a workload", name, (*schema.names, *KEYWORDS))
    require(len(set(names)) == len(names), f"the workload's part {part!r} names a column twice")
    return tuple(sorted(names, key=schema.names.index))


def _same(a: QuerySet, b: QuerySet) -> bool:
    """Whether two query sets of one schema ask the same; their labels follow one order."""
    return a.size == b.size and bool((a.labels == b.labels).all())


def parse_workload(text: str, schema: Schema) -> Workload:
    """Read a workload: query sets in order of priority, separated by commas or semicolons.

    ``sum`` is the number of all records, ``identity`` every cell, ``marginals`` each column's
    marginal, but for those that ask what the sum or the cells ask. The name of a column or group
    is its marginal; names joined by stars are the marginal of several. Query sets are called so,
    columns in the schema's order: ``", ".join(workload.names)`` is read as the same workload.

    Examples
    --------
    >>> schema = Schema(("region", "sex", "age"), (("n", "s"), ("f", "m"), ("1", "2", "3")))
    >>> parse_workload("sum; marginals; age*region; identity", schema).names
    ('sum', 'region', 'sex', 'age', 'region*age', 'identity')
    """
    parts = [part.strip() for part in re.split("[,;]", text)]
    require(all(parts), f"the workload {text!r} has an empty part; needed is one as {DEFAULT!r}")
    sets: list[QuerySet] = []
    for part in parts:
        before = len(sets)
        for names in zip(schema.columns) if part == "marginals" else [_names(schema, part)]:
            new = _query_set(schema, names)
            known = next((q for q in sets if _same(q, new)), None)
            same = new.size in (1, schema.cells) or known in sets[before:]
            if (part == "marginals" and same) or (known and schema.cells == 1):  # all ask the sum
                continue
            twice = f"{new.name!r} twice (once as {known.name!r})" if known else ""
            require(not twice, f"the workload asks for {twice}; asking once is more accurate")
            sets.append(new)
    require(sets, f"the workload {text!r} asks for nothing but 'sum' or 'identity'; name these")
    return Workload(tuple(sets))


def shares_by_set(given: Shares, schema: Schema, workload: Workload) -> dict[str, float]:
    """Name sets as the workload does, and divide the share of ``marginals`` among those left."""
    named, asked = dict(given), {_names(schema, name): name for name in workload.names}
    share = named.pop("marginals", None)
    found = {asked.get(_names(schema, name), name): s for name, s in named.items()}
    require(len(found) == len(named), "a query set is given two shares; give it one")
    if share is not None:
        free = [n for n in workload.names if n in schema.columns and n not in found]
        require(free, "a share is given for marginals, but none is asked or each has its own")
        found |= {name: share / len(free) for name in free}
    return found


def split_shares(workload: Workload, given: Shares) -> tuple[float, ...]:
    """Return each query set's share of the budget; those not named share what is left alike."""
    for name in given:
        find("measured query set", name, dict.fromkeys(workload.names))
    shares = real_numbers([*given.values()], "the shares").tolist()
    others, total = len(workload.names) - len(given), math.fsum(shares)
    rest = (1 - total) / others if others else 0.0
    least = min([*shares, rest] if others else shares)
    fine = least >= LEAST_SHARE and total <= 1 + 1e-9 and (others or total >= 1 - 1e-9)
    said = f"the shares add up to {total:.10g}, the least is {least:.3g}; needed is 1, or less"
    less = f"where some query sets have none and share the rest, and {LEAST_SHARE:g} for each"
    require(fine, f"{said} {less}")
    return tuple(round(given[n], 15) if n in given else rest for n in workload.names)


def query_values(schema: Schema, queries: QuerySet) -> pd.DataFrame:
    """Name the queries of a set by the values that they count: one row a query, in order.

    Columns are those of the schema, then its groups; empty text where a query counts all values. A
    query set that is not what `parse_workload` makes of its name is an `InputError`.
    """
    names = _names(schema, queries.name)
    fine = queries.shape == schema.shape and _same(queries, _query_set(schema, names))
    require(fine, f"the query set {queries.name!r} is not what parse_workload makes of its name")
    cells = np.unique(queries.labels, return_index=True)[1]
    told = {n: np.array(schema.values_of(n), object)[schema.places(n)[cells]] for n in names}
    return pd.DataFrame({name: told.get(name, "") for name in schema.names}, range(len(cells)))
