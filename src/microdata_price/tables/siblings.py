"""Which values of a table could be totals of each other: the lines of counts beside each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .possible import Tree
from .schema import Schema
from .totals import Lines, evidence

Codes = NDArray[np.int64]

_PARENTS = 500
"""Of a tree's places so many are looked into one by one, those with most records."""
_ROOM = 20_000_000
"""Of the positions of a list of cells so many numbers are compared, the largest first."""
_SHOWN = 1_000
"""So many positions, the largest, are looked at as evidence."""


@dataclass(frozen=True)
class Siblings:
    """Values beside each other, of a column or below one place of a tree.

    Parameters
    ----------
    column
        The column's name.
    values
        Some of its values.
    lines
        Their counts, shape (values, positions).
    within
        The place of the tree that they divide; empty for a column by itself.
    tried
        Of how many such groups this is one.
    """

    column: str
    values: tuple[str, ...]
    lines: Lines
    within: tuple[str, ...] = ()
    tried: int = 1


@dataclass(frozen=True)
class Shared:
    """A value that is the sum of its siblings in every place of a tree that has it.

    Parameters
    ----------
    column
        The column's name.
    above
        The column that it divides.
    what
        The value in words.
    name
        The value, if it is one.
    bits
        How unlikely the sums are by chance: in one of 2^bits tables.
    """

    column: str
    above: str
    what: str
    name: str
    bits: float


def siblings(schema: Schema, table: Lines) -> Iterator[Siblings]:
    """Yield the groups of values that are compared.

    Parameters
    ----------
    schema
        Says which cells there are.
    table
        Counts, flat.

    Examples
    --------
    >>> tree = Tree(("county", "tract"), (("A", "1"), ("A", "2"), ("A", "3")))
    >>> schema = Schema(tree.columns, (("A",), ("1", "2", "3")), trees=(tree,))
    >>> [(s.column, s.lines.sum(axis=1).tolist()) for s in siblings(schema, np.array([3, 4, 5]))]
    [('county', [12]), ('tract', [3, 4, 5])]
    """
    if not schema.restricted:
        shaped = table.reshape(schema.sides)
        for axis, (name, values) in enumerate(zip(schema.columns, schema.values, strict=True)):
            yield Siblings(name, values, np.moveaxis(shaped, axis, 0).reshape(len(values), -1))
        return
    cells = _Cells.of(schema, table)
    for axis, (name, values) in enumerate(zip(schema.columns, schema.values, strict=True)):
        tree, depth = _tree_of(schema, axis)
        others = cells.numbered(schema, _others(schema, axis, tree))
        if tree is None or depth == 0:
            yield Siblings(
                name, values, _lines(len(values), cells.places[:, axis], others, cells.counts)
            )
            continue
        coarser = [schema.columns.index(c) for c in tree.columns[:depth]]
        parents = cells.numbered(schema, coarser)
        order = np.argsort(parents, kind="stable")
        cuts = np.flatnonzero(np.diff(parents[order])) + 1
        groups = [g for g in np.split(order, cuts) if g.size > 2]
        groups.sort(key=lambda g: -int(cells.counts[g].sum()))
        for group in groups[:_PARENTS]:
            mine, child = np.unique(cells.places[group, axis], return_inverse=True)
            beside = np.unique(others[group], return_inverse=True)[1]
            above = tuple(schema.values[a][cells.places[group[0], a]] for a in coarser)
            kept = tuple(values[k] for k in mine)
            lines = _lines(len(kept), child, beside, cells.counts[group])
            yield Siblings(name, kept, lines, above, len(groups))


def shared_totals(schema: Schema, table: Lines) -> Iterator[Shared]:
    """Find values that are the sums of their siblings wherever a tree has them.

    Each place by itself may be too small to tell. Tried are values of one name, the first and the
    last of each place, and those that bear the name of the place that they divide.

    Examples
    --------
    >>> paths = tuple((a, b) for a in "AB" for b in ("all", "1", "2"))
    >>> tree = Tree(("county", "tract"), paths)
    >>> schema = Schema(tree.columns, (("A", "B"), ("all", "1", "2")), trees=(tree,))
    >>> [s.what for s in shared_totals(schema, np.array([7, 3, 4, 9, 4, 5]))][:1]
    ["'all'"]
    """
    cells = _Cells.of(schema, table)
    if not schema.trees or not cells.counts.size:
        return
    for tree in schema.trees:
        for depth in range(1, len(tree.columns)):
            yield from _shared(schema, cells, tree, depth)


def _shared(schema: Schema, cells: _Cells, tree: Tree, depth: int) -> Iterator[Shared]:
    column, above = tree.columns[depth], tree.columns[depth - 1]
    axis = schema.columns.index(column)
    below: dict[tuple[str, ...], dict[str, int]] = {}
    for path in tree.paths:
        children = below.setdefault(path[:depth], {})
        children.setdefault(path[depth], len(children))
    several = {p: c for p, c in below.items() if len(c) > 1}  # an only one is no total of others
    place = {p: k for k, p in enumerate(several)}
    labels = schema.positions[axis]
    first = np.array([labels[next(iter(c))] for c in several.values()], dtype=np.int64)
    last = np.array([labels[next(reversed(c))] for c in several.values()], dtype=np.int64)
    named = np.array([labels.get(p[-1], -1) for p in several], dtype=np.int64)
    # Counts of children, in a place of the tree and at a combination of the other columns.
    coarser = [schema.columns.index(c) for c in tree.columns[:depth]]
    values = [schema.values[a] for a in coarser]
    at = cells.numbered(schema, coarser)
    some = cells.places[np.unique(at, return_index=True)[1]][:, coarser]
    where = [place.get(tuple(v[k] for v, k in zip(values, row, strict=True)), -1) for row in some]
    parent = np.array(where, dtype=np.int64)[at]
    others = cells.numbered(schema, _others(schema, axis, tree))
    kept = parent >= 0
    if not kept.any():
        return
    joined = parent * (int(others.max()) + 1) + others
    side = len(labels)
    entries, inverse = np.unique(
        joined[kept] * side + cells.places[kept, axis], return_inverse=True
    )
    counts = np.bincount(inverse, weights=cells.counts[kept]).astype(np.int64)
    positions, at = np.unique(entries // side, return_inverse=True)
    child = entries % side
    whole = np.bincount(at, weights=counts).astype(np.int64)
    of_parent = positions // (int(others.max()) + 1)
    half = 2 * counts == whole[at]

    def looked_at(candidate: Codes, tried: int, what: str, name: str) -> Iterator[Shared]:
        """Take a total of each place (-1 for none) and compare it with its siblings."""
        wanted = candidate[of_parent]
        chosen = child == wanted[at]
        if not half[chosen].all() or chosen.sum() != (wanted >= 0).sum() or not chosen.any():
            return
        most = np.argsort(-whole, kind="stable")
        most = most[wanted[most] >= 0][:_SHOWN]
        number = np.full(positions.size, -1)
        number[most] = np.arange(most.size)
        parts = ~chosen & (number[at] >= 0)
        order = np.flatnonzero(parts)
        starts = np.flatnonzero(np.diff(at[order], prepend=-1))
        rank = np.arange(order.size) - np.repeat(starts, np.diff(starts, append=order.size))
        lines = np.zeros((int(rank.max(initial=0)) + 1, most.size), dtype=np.int64)
        lines[rank, number[at[order]]] = counts[order]
        bits = evidence(lines // int(np.gcd.reduce(counts))) - math.log2(tried)
        yield Shared(column, above, what, name, bits)

    holders: dict[int, list[int]] = {}
    for k, children in enumerate(several.values()):
        for label in children:
            holders.setdefault(labels[label], []).append(k)
    right = np.bincount(child[half], minlength=side)
    shared = [v for v, places in holders.items() if len(places) > 1 and right[v]]
    for v in shared:
        candidate = np.full(len(several), -1, dtype=np.int64)
        candidate[holders[v]] = v
        label = schema.values[axis][v]
        yield from looked_at(candidate, len(holders), repr(label), label)
    if len(several) > 1:
        yield from looked_at(named, 3, f"the value named as its {above!r}", "")
        yield from looked_at(first, 3, "the first value", "")
        yield from looked_at(last, 3, "the last value", "")


@dataclass(frozen=True)
class _Cells:
    """The cells that are not empty: the places of their values, and their counts."""

    places: NDArray[np.intp]
    counts: Lines

    @classmethod
    def of(cls, schema: Schema, table: Lines) -> _Cells:
        filled = np.flatnonzero(table)
        return cls(schema.combinations[filled], table[filled])

    def coded(self, schema: Schema, axes: Sequence[int]) -> Codes:
        """Return one number a cell for its values of some columns."""
        code = np.zeros(self.counts.size, dtype=np.int64)
        for axis in axes:
            code = code * schema.sides[axis] + self.places[:, axis]
        return code

    def numbered(self, schema: Schema, axes: Sequence[int]) -> Codes:
        """Return the same, the numbers that occur from 0 up."""
        return np.unique(self.coded(schema, axes), return_inverse=True)[1].astype(np.int64)


def _tree_of(schema: Schema, axis: int) -> tuple[Tree | None, int]:
    """Return the tree that a column is of, and how deep in it."""
    name = schema.columns[axis]
    for tree in schema.trees:
        if name in tree.columns:
            return tree, tree.columns.index(name)
    return None, 0


def _others(schema: Schema, axis: int, tree: Tree | None) -> list[int]:
    """Return the columns beside a column that are not of its tree."""
    return [
        k
        for k, name in enumerate(schema.columns)
        if k != axis and (tree is None or name not in tree.columns)
    ]


def _lines(height: int, rows: Codes, positions: Codes, counts: Lines) -> Lines:
    """Sum counts into lines, over the largest positions if there are too many."""
    width = int(positions.max(initial=-1)) + 1
    most = max(1, _ROOM // max(1, height))
    if width > most:
        whole = np.bincount(positions, weights=counts)
        number = np.full(width, -1)
        number[np.argsort(-whole, kind="stable")[:most]] = np.arange(most)
        kept = number[positions] >= 0
        rows, positions, counts = rows[kept], number[positions][kept], counts[kept]
        width = most
    lines = np.zeros((height, width), dtype=np.int64)
    np.add.at(lines, (rows, positions), counts)
    return lines
