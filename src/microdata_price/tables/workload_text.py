"""Workloads as a person writes them: words and columns' names in order of priority."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..exceptions import InputError, unknown_name
from ..model.queryset import QuerySet
from ..model.workload import Workload
from .possible import SLASH
from .schema import KEYWORDS, Schema

DEFAULT = "sum, marginals, identity"
"""The paper's workload and its order of priority."""


def query_set(schema: Schema, axes: tuple[int, ...]) -> QuerySet:
    """Return the query set of some columns: one query for each possible combination of values.

    Examples
    --------
    >>> query_set(Schema(("a", "b"), (("x", "y"), ("1", "2"))), (0,)).labels
    array([0, 0, 1, 1])
    """
    if not axes:
        return QuerySet.sum_query(schema.shape)
    if len(axes) == len(schema.columns):
        return QuerySet.identity(schema.shape)
    name = "*".join(schema.columns[a] for a in axes)
    if schema.restricted:
        labels = schema.labels(axes)
        size = int(labels.max()) + 1
        if size == 1 or size == schema.cells:
            same = QuerySet.sum_query if size == 1 else QuerySet.identity
            return same(schema.shape, name)
        return QuerySet.from_labels(labels, name)
    return QuerySet.marginal(schema.shape, axes, name)


def _with_parents(schema: Schema, axes: list[int]) -> tuple[int, ...]:
    """Add what a column of a tree lies in: a tract is a tract of a county."""
    found = set(axes)
    for tree in schema.trees:
        places = [schema.columns.index(c) for c in tree.columns]
        inside = [k for k, a in enumerate(places) if a in found]
        found |= set(places[: max(inside) + 1] if inside else [])
    return tuple(sorted(found))


def _axis(schema: Schema, name: str) -> int:
    if name not in schema.columns:
        raise unknown_name("column or word of a workload", name, (*schema.columns, *KEYWORDS))
    return schema.columns.index(name)


def _expand(schema: Schema, part: str) -> list[tuple[int, ...]]:
    every = tuple(range(len(schema.columns)))
    if part == "sum":
        return [()]
    if part == "identity":
        return [every]
    if part == "marginals":
        return [_with_parents(schema, [a]) for a in every]
    for tree in schema.trees:
        if re.split(rf"\s*{SLASH}\s*", part) == list(tree.columns):
            return [_with_parents(schema, [schema.columns.index(c)]) for c in tree.columns]
    names = re.split(r"\s*\*\s*", part)
    if not all(names):
        raise InputError(
            f"the workload's part {part!r} has a star without a column on each side; joint "
            f"marginals are written as {'*'.join(schema.columns[:2])}"
        )
    axes = [_axis(schema, name) for name in names]
    if len(set(axes)) != len(axes):
        raise InputError(f"the workload's part {part!r} names a column twice")
    return [_with_parents(schema, axes)]


def _same(a: QuerySet, b: QuerySet) -> bool:
    """Whether two query sets of one schema ask the same; their labels follow one order."""
    return a.size == b.size and bool((a.labels == b.labels).all())


def parse_workload(text: str, schema: Schema) -> Workload:
    """Read a workload: query sets in order of priority, separated by commas or semicolons.

    ``sum`` is the number of all records, ``identity`` every cell, ``marginals`` each column's
    marginal, but for those that ask what the sum or the cells ask; a column's name is its marginal,
    and names joined by stars are the marginal of several columns. A column of a tree comes with
    those that it lies in, and a tree's own name (``county/tract/block``) is all its levels.

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
        before = len(sets)
        if part == "identity" and sets and schema.cells == 1:
            raise InputError(
                "the schema's table has a single cell, which is the sum of all records; ask for "
                "'sum' alone, or give a schema with more values"
            )
        for axes in _expand(schema, part):
            new = query_set(schema, axes)
            known = next((q for q in sets if _same(q, new)), None)
            implied = new.size in (1, schema.cells) or known in sets[before:]
            if part == "marginals" and implied:
                continue
            if known is not None:
                raise InputError(
                    f"the workload asks for {new.name!r} twice"
                    + (f", as {known.name!r} asks the same" if known.name != new.name else "")
                    + "; asking once with the same budget is more accurate"
                )
            sets.append(new)
    if not sets:
        raise InputError(
            f"the workload {text!r} asks for nothing: no column has a marginal beside the sum and "
            "the cells; ask for 'sum, identity'"
        )
    return Workload(tuple(sets))


def shares_by_set(
    shares: Mapping[str, float], schema: Schema, workload: Workload
) -> dict[str, float]:
    """Divide the shares of words for several query sets, such as ``marginals``, among them alike.

    Parameters
    ----------
    shares
        Shares of the budget by query sets' names, words of a workload or trees' names.
    schema
        The table's columns.
    workload
        What is asked.

    Raises
    ------
    InputError
        A name of nothing that is asked, or of what all has shares of its own.

    Examples
    --------
    >>> schema = Schema(("a", "b"), (("x", "y"), ("1", "2")))
    >>> shares_by_set({"marginals": 0.5}, schema, parse_workload(DEFAULT, schema))
    {'a': 0.25, 'b': 0.25}
    """
    found = {name: share for name, share in shares.items() if name in workload.names}
    for name, share in shares.items():
        if name in workload.names:
            continue
        try:
            sets = [query_set(schema, axes) for axes in _expand(schema, name)]
        except InputError:
            raise unknown_name("query set", name, workload.names) from None
        asked = [known.name for q in sets for known in workload.query_sets if _same(q, known)]
        free = [n for n in dict.fromkeys(asked) if n not in shares]
        if not free:
            why = "is not asked" if not asked else "has shares already, all of it"
            raise InputError(
                f"a share is given for {name!r}, which {why}; give shares to some of "
                f"{', '.join(workload.names)}"
            )
        twice = [n for n in free if n in found]
        if twice:
            raise InputError(f"a share is given for {twice[0]!r} twice; give it once")
        found |= {n: share / len(free) for n in free}
    return found


def _columns_of(queries: QuerySet, schema: Schema) -> tuple[int, ...] | None:
    """Return the columns whose values tell the queries apart, ``None`` if no columns do."""
    if (queries.labels < 0).any():
        return None
    if queries.axes is not None and not schema.restricted:
        return queries.axes
    if queries.size == 1:
        return ()
    if queries.size == schema.cells:
        return tuple(range(len(schema.columns)))
    kept = []
    for axis, side in enumerate(schema.sides):
        code = queries.labels * side + schema.places(axis)
        if side > 1 and np.unique(code).size == queries.size:
            kept.append(axis)
    return tuple(kept) if int(schema.labels(kept).max()) + 1 == queries.size else None


def described(workload: Workload, schema: Schema) -> tuple[Workload, tuple[tuple[int, ...], ...]]:
    """Put each query set's queries in the order of the schema's values, and say of which columns.

    A query is published under the values that it counts, so that it must be told by them.

    Parameters
    ----------
    workload
        Any workload on the schema's table.
    schema
        Columns and values.

    Returns
    -------
    Workload, tuple
        The same questions, and the columns of each query set.

    Raises
    ------
    InputError
        Another shape, or queries that columns' values do not tell apart.

    Examples
    --------
    >>> schema = Schema(("sex",), (("f", "m"),))
    >>> turned = Workload((QuerySet.from_labels([1, 0], "turned"),))
    >>> described(turned, schema)[0].query_sets[0].labels
    array([0, 1])
    """
    if workload.shape != schema.shape:
        raise InputError(
            f"the workload is for tables of shape {workload.shape}; the schema's is {schema.shape}"
        )
    sets, columns = [], []
    for queries in workload.query_sets:
        axes = _columns_of(queries, schema)
        if axes is None:
            raise InputError(
                f"the queries of {queries.name!r} are not told apart by the values of columns, so "
                "that their answers could not be published under them; add a column that has one "
                "value for each of these queries"
            )
        sets.append(query_set(schema, axes))
        columns.append(axes)
    named = [
        replace(q, name=given.name) for q, given in zip(sets, workload.query_sets, strict=True)
    ]
    return Workload(tuple(named)), tuple(columns)


def named_query_set(schema: Schema, name: str, columns: object) -> QuerySet:
    """Build a query set from its name and its columns' names, as a release writes them down.

    Raises
    ------
    InputError
        Columns that the schema does not have.

    Examples
    --------
    >>> named_query_set(Schema(("sex",), (("f", "m"),)), "all", []).size
    1
    """
    if not isinstance(columns, list) or not set(columns) <= set(schema.columns):
        raise InputError(f"the columns of {name!r} are {columns!r}, which the schema does not have")
    axes = tuple(k for k, c in enumerate(schema.columns) if c in columns)
    return replace(query_set(schema, axes), name=name)
