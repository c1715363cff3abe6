"""Which combinations of values are possible: trees of places, and rules that exclude some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError

Places = NDArray[np.intp]
SLASH = "/"
"""Joins the columns of a tree in a schema."""
MOST_COMBINATIONS = 20_000_000
"""More combinations than this are not listed to strike out the impossible ones."""


@dataclass(frozen=True)
class Tree:
    """Columns of which each divides the one before, such as county, tract and block.

    Parameters
    ----------
    columns
        Coarsest first.
    paths
        Each possible combination of their values, in order.

    Examples
    --------
    >>> Tree(("county", "tract"), (("A", "1"), ("A", "2"), ("B", "1"))).fields()
    {'A': ['1', '2'], 'B': ['1']}
    """

    columns: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]

    def fields(self) -> dict[str, object]:
        """Return the nested object of a schema file."""
        nested: dict[str, object] = {}
        for path in self.paths:
            at: dict[str, object] = nested
            for value in path[:-2]:
                below = at.setdefault(value, {})
                assert isinstance(below, dict)
                at = below
            leaves = at.setdefault(path[-2], [])
            assert isinstance(leaves, list)
            leaves.append(path[-1])
        return nested


def _paths(name: str, given: object, depth: int) -> Iterator[tuple[str, ...]]:
    if depth == 1 and isinstance(given, list) and given:
        for leaf in given:
            if isinstance(leaf, bool) or not isinstance(leaf, (str, int)):
                break
            yield (str(leaf),)
        else:
            return
    elif depth > 1 and isinstance(given, Mapping) and given:
        for value, below in given.items():
            for path in _paths(name, below, depth - 1):
                yield (str(value), *path)
        return
    raise InputError(
        f"the schema's tree {name!r} must nest one object a column and end in lists of values; "
        'for example {"county/tract/block": {"A": {"A1": ["a", "b"], "A2": ["c"]}}}'
    )


def parse_tree(name: str, given: object) -> Tree:
    """Read a tree from its joined name and its nested object.

    Raises
    ------
    InputError
        Another form, or a path given twice.

    Examples
    --------
    >>> parse_tree("county/tract", {"A": ["1", "2"], "B": ["1"]}).paths
    (('A', '1'), ('A', '2'), ('B', '1'))
    """
    columns = tuple(part.strip() for part in name.split(SLASH))
    paths = tuple(_paths(name, given, len(columns))) if len(columns) > 1 else ()
    if not paths:
        raise InputError(
            f"the schema's column {name!r} has an object where a list of values is needed; a tree "
            'is named by its columns, joined by slashes, for example "county/tract/block"'
        )
    if len(set(paths)) != len(paths):
        twice = next(p for p in paths if paths.count(p) > 1)
        raise InputError(f"the schema's tree {name!r} names {SLASH.join(twice)} twice")
    return Tree(columns, paths)


def tree_values(tree: Tree) -> tuple[tuple[str, ...], ...]:
    """Return the values of each of a tree's columns, in the order in which they occur.

    Examples
    --------
    >>> tree_values(Tree(("county", "tract"), (("A", "1"), ("B", "1"))))
    (('A', 'B'), ('1',))
    """
    return tuple(tuple(dict.fromkeys(side)) for side in zip(*tree.paths, strict=True))


@dataclass(frozen=True)
class Impossible:
    """A structural zero: a cell that has a listed value in each of the columns cannot occur.

    Parameters
    ----------
    conditions
        Columns, each with the values that meet the condition.

    Examples
    --------
    >>> Impossible((("age", ("child",)), ("status", ("married",)))).fields()
    {'age': ['child'], 'status': ['married']}
    """

    conditions: tuple[tuple[str, tuple[str, ...]], ...]

    def fields(self) -> dict[str, list[str]]:
        """Return the object of a schema file."""
        return {name: list(values) for name, values in self.conditions}


def parse_impossible(given: object) -> tuple[Impossible, ...]:
    """Read the list of what is impossible.

    Raises
    ------
    InputError
        Another form.

    Examples
    --------
    >>> len(parse_impossible([{"age": ["0", 1], "status": ["married"]}]))
    1
    """
    rules = []
    for rule in given if isinstance(given, list) else [None]:
        if not isinstance(rule, dict) or not rule:
            break
        if not all(
            isinstance(values, list)
            and values
            and all(isinstance(v, (str, int)) and not isinstance(v, bool) for v in values)
            for values in rule.values()
        ):
            break
        rules.append(
            Impossible(tuple((n, tuple(str(v) for v in values)) for n, values in rule.items()))
        )
    else:
        return tuple(rules)
    raise InputError(
        'the schema\'s "impossible" must be a list of objects, each with columns and lists of '
        'their values that cannot occur together; for example [{"age": ["0-14"], "status": '
        '["married"]}]'
    )


def combinations(
    columns: Sequence[str],
    positions: Sequence[Mapping[str, int]],
    trees: Sequence[Tree],
    impossible: Sequence[Impossible],
) -> Places:
    """List the possible combinations of values by their places, shape (cells, columns).

    They are in the order of the table of all combinations, the last column fastest.

    Raises
    ------
    InputError
        A rule that names an unknown column or value, nothing possible, or too many combinations.

    Examples
    --------
    >>> tree = Tree(("county", "tract"), (("A", "1"), ("B", "2")))
    >>> combinations(("county", "tract"), ({"A": 0, "B": 1}, {"1": 0, "2": 1}), (tree,), ())
    array([[0, 0],
           [1, 1]])
    """
    place = {name: k for k, name in enumerate(columns)}
    in_trees = {c for t in trees for c in t.columns}
    units: list[tuple[list[int], Places]] = []
    for tree in trees:
        axes = [place[c] for c in tree.columns]
        units.append(
            (
                axes,
                np.array(
                    [[positions[a][v] for a, v in zip(axes, p, strict=True)] for p in tree.paths]
                ),
            )
        )
    for k, name in enumerate(columns):
        if name not in in_trees:
            units.append(([k], np.arange(len(positions[k]))[:, None]))
    total = 1
    for _, rows in units:
        total *= len(rows)
    if total > MOST_COMBINATIONS:
        raise InputError(
            f"the schema's columns have {total} combinations; at most {MOST_COMBINATIONS} are "
            "allowed before the impossible ones are struck out: leave out a column or merge values"
        )
    found = np.zeros((total, len(columns)), dtype=np.intp)
    repeat, tile = total, 1
    for axes, rows in units:
        repeat //= len(rows)
        found[:, axes] = np.tile(np.repeat(rows, repeat, axis=0), (tile, 1))
        tile *= len(rows)
    struck = np.zeros(total, dtype=bool)
    for rule in impossible:
        met = np.ones(total, dtype=bool)
        for name, values in rule.conditions:
            if name not in place:
                raise InputError(
                    f'the schema\'s "impossible" names the column {name!r}, which is not one of '
                    f"{', '.join(columns)}"
                )
            known = positions[place[name]]
            stray = [v for v in values if v not in known]
            if stray:
                raise InputError(
                    f'the schema\'s "impossible" names {stray[0]!r}, which is not a value of the '
                    f"column {name!r}"
                )
            met &= np.isin(found[:, place[name]], [known[v] for v in values])
        struck |= met
    kept = found[~struck]
    if not kept.size:
        raise InputError('the schema\'s "impossible" leaves no combination of values possible')
    return kept[np.lexsort(kept.T[::-1])]
