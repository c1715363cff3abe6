"""Workloads as a person writes them: words and columns' names in order of priority."""

from __future__ import annotations

import re

from ..exceptions import InputError, unknown_name
from ..model.queryset import QuerySet
from ..model.workload import Workload
from .schema import KEYWORDS, Schema

DEFAULT = "sum, marginals, identity"
"""The paper's workload and its order of priority."""


def _query_set(schema: Schema, axes: tuple[int, ...]) -> QuerySet:
    if not axes:
        return QuerySet.sum_query(schema.shape)
    if len(axes) == len(schema.columns):
        return QuerySet.identity(schema.shape)
    name = "*".join(schema.columns[a] for a in axes)
    return QuerySet.marginal(schema.shape, axes, name)


def _expand(schema: Schema, part: str) -> list[tuple[int, ...]]:
    every = tuple(range(len(schema.columns)))
    if part == "sum":
        return [()]
    if part == "identity":
        return [every]
    if part == "marginals":
        return [(a,) for a in every] if len(every) > 1 else []
    axes = []
    for name in re.split(r"\s*\*\s*", part):
        if name not in schema.columns:
            raise unknown_name("column or word of a workload", name, (*schema.columns, *KEYWORDS))
        axes.append(schema.columns.index(name))
    if len(set(axes)) != len(axes):
        raise InputError(f"the workload's part {part!r} names a column twice")
    return [tuple(sorted(axes))]


def parse_workload(text: str, schema: Schema) -> Workload:
    """Read a workload: query sets in order of priority, separated by commas or semicolons.

    ``sum`` is the number of all records, ``identity`` every cell, ``marginals`` each column's
    marginal (none for a single column, whose marginal is its cells); a column's name is its
    marginal, and names joined by stars are the marginal of several columns.

    Parameters
    ----------
    text
        For example ``"sum, region, region*sex, identity"``.
    schema
        The table's columns.

    Raises
    ------
    InputError
        An unknown name, an empty part, or a query set asked twice.

    Examples
    --------
    >>> schema = Schema(("region", "sex", "age"), (("n", "s"), ("f", "m"), ("1", "2", "3")))
    >>> parse_workload("sum; marginals; age*region; identity", schema).names
    ('sum', 'region', 'sex', 'age', 'region*age', 'identity')
    """
    parts = [part.strip() for part in re.split("[,;]", text)]
    if not all(parts):
        raise InputError(
            f"the workload {text!r} has an empty part; needed are query sets separated by commas, "
            f"for example {DEFAULT!r}"
        )
    sets: list[QuerySet] = []
    for part in parts:
        for axes in _expand(schema, part):
            new = _query_set(schema, axes)
            if any(q.axes == new.axes for q in sets):
                raise InputError(
                    f"the workload asks for {new.name!r} twice; asking once with the same budget "
                    "is more accurate"
                )
            sets.append(new)
    return Workload(tuple(sets))
