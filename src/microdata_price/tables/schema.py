"""Schemas: the columns of a table and the values that each may take, known before the data."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .column_rules import ColumnRule, is_rule, parse_rule, rule_fields
from .opening import encoding_of, plain_text
from .possible import (
    SLASH,
    Impossible,
    Tree,
    combinations,
    parse_impossible,
    parse_tree,
    tree_values,
)

COUNT = "count"
"""The column that holds the number of records of a cell."""
WEIGHTED = "weighted_count"
"""The column that holds the sum of a cell's weights: the mark of a weighted table."""
MOST_CELLS = 2_000_000
"""More cells than this are refused: every cell is measured, fitted and written."""
KEYWORDS = ("sum", "marginals", "identity")
"""Words of a workload, which no column may bear as its name."""
OURS = (
    *(COUNT, WEIGHTED, "query_set", "noisy_answer", "variance", "weight"),
    *("signed", "signed_variance", "published", "low", "high", "low_all", "high_all"),
)
"""Columns of the files that a release writes beside the table's own, so no column may bear one."""
_KEYS = {"columns", "impossible", "count", "totals", "weighted"}
_TABLES = (".csv", ".tsv", ".txt", ".xlsx", ".gz", ".zip")
_EXAMPLE = '{"columns": {"region": ["north", "south"], "age": {"from": 0, "to": 99}}}'


@dataclass(frozen=True)
class Schema:
    """The columns of a table and the values that each may take, in order; all of it is public.

    Parameters
    ----------
    columns
        The columns' names; column k is axis k of the table.
    values
        For each column the values it may take, as text.
    weighted
        Whether the table counts weights instead of records.
    rules
        For each column what its fields may say beside the listed values; none by default.
    trees
        Columns that divide each other, such as county, tract and block.
    impossible
        Combinations that cannot occur (structural zeros).
    count
        How a file is read that bears this schema: which of its columns holds the counts; empty
        where each row is one record; ``None`` for ``count`` if there is one. It is not published.
    totals
        Whether values whose counts are sums of others' are taken for totals. It is not published.

    Where there are trees or impossible combinations the table is a list: one cell for each
    possible combination, and no cell for any other.

    Raises
    ------
    InputError
        No column, a column without values, a value or a name twice, empty or not usable in a
        workload, or more than two million cells.

    Examples
    --------
    >>> Schema(("region", "sex"), (("north", "south", "west"), ("f", "m"))).shape
    (3, 2)
    """

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    weighted: bool = False
    rules: tuple[ColumnRule, ...] = ()
    trees: tuple[Tree, ...] = ()
    impossible: tuple[Impossible, ...] = ()
    count: str | None = field(default=None, compare=False)
    totals: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(map(_composed, self.columns)))
        object.__setattr__(self, "values", tuple(tuple(map(_composed, v)) for v in self.values))
        if not self.rules:
            object.__setattr__(self, "rules", (ColumnRule(),) * len(self.columns))
        if not self.columns or len(self.columns) != len(self.values):
            raise InputError("the schema has no columns; it needs at least one with its values")
        for name in self.columns:
            _check_column(name)
        if len(set(self.columns)) != len(self.columns):
            raise InputError(f"the schema's columns are {self.columns}; each name must occur once")
        folded = [name.casefold() for name in self.columns]
        alike = [
            name for name, fold in zip(self.columns, folded, strict=True) if folded.count(fold) > 1
        ]
        if alike:
            raise InputError(
                f"the schema's columns {alike[0]!r} and {alike[1]!r} differ by capital letters "
                "only, which many programs do not tell apart; give one another name, in the table "
                "too"
            )
        for name, values in zip(self.columns, self.values, strict=True):
            if not values:
                raise InputError(f"the schema's column {name!r} has no values; list at least one")
            for value in values:
                _check_value(name, value)
            if len(set(values)) != len(values):
                raise InputError(f"the schema's column {name!r} lists a value twice")
        for name, values, rule in zip(self.columns, self.values, self.rules, strict=True):
            stray = [v for v in (rule.other, rule.empty) if v and v not in values]
            if stray:
                raise InputError(
                    f"the schema's column {name!r} counts fields at {stray[0]!r}, which is not "
                    "one of its values"
                )
            if rule.other and len(values) == 1:
                raise InputError(
                    f"the schema's column {name!r} has the one value {rule.other!r}, at which "
                    "everything else is counted too, so that it tells nothing; list the values "
                    "that are told apart, or leave the column out"
                )
        if math.prod(self.sides) >= 2**62:
            raise InputError("the schema's columns have more combinations than can be numbered")
        if self.cells > MOST_CELLS:
            raise InputError(
                f"the schema has {self.cells} cells ({' x '.join(map(str, self.shape))}); at most "
                f"{MOST_CELLS} are allowed: leave out a column or merge values"
            )

    @property
    def restricted(self) -> bool:
        """Whether some combinations are impossible, so that the table is a list of the others."""
        return bool(self.trees or self.impossible)

    @property
    def sides(self) -> tuple[int, ...]:
        """How many values each column has."""
        return tuple(len(v) for v in self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """The table's shape: one side a column, or a list where combinations are impossible."""
        return (len(self.combinations),) if self.restricted else self.sides

    @property
    def cells(self) -> int:
        """The number of cells: of possible combinations of values."""
        return math.prod(self.shape)

    @cached_property
    def combinations(self) -> NDArray[np.intp]:
        """The places of the values of each possible combination, shape (cells, columns)."""
        return combinations(self.columns, self.positions, self.trees, self.impossible)

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        return self._code(self.combinations.T)

    def _code(self, places: Sequence[NDArray[np.intp]] | NDArray[np.intp]) -> NDArray[np.int64]:
        code = np.zeros(np.shape(places[0]), dtype=np.int64)
        for part, side in zip(places, self.sides, strict=True):
            code = code * side + part
        return code

    def place(self, axis: int, text: str) -> int:
        """Return the place of the value at which a field of a column counts, -1 if not allowed.

        Listed values come first, then cut points, the value for empty fields, the catch-all.

        Examples
        --------
        >>> schema = Schema(("job",), (("nurse", "other"),), rules=(ColumnRule(other="other"),))
        >>> schema.place(0, "nurse"), schema.place(0, "poet"), schema.place(0, "")
        (0, 1, -1)
        """
        return self.rules[axis].place(text, self.positions[axis])

    def cell_numbers(self, places: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
        """Return the numbers of cells in the flattened table, -1 for impossible combinations.

        Parameters
        ----------
        places
            For each column the places of values, arrays of one shape.

        Examples
        --------
        >>> tree = Tree(("county", "tract"), (("A", "1"), ("B", "2")))
        >>> schema = Schema(tree.columns, (("A", "B"), ("1", "2")), trees=(tree,))
        >>> schema.cell_numbers([np.array([0, 0, 1]), np.array([0, 1, 1])])
        array([ 0, -1,  1])
        """
        code = self._code(places)
        if not self.restricted:
            return code.astype(np.intp)
        found = np.minimum(np.searchsorted(self._codes, code), self.cells - 1)
        return np.where(self._codes[found] == code, found, -1)

    @cached_property
    def positions(self) -> tuple[Mapping[str, int], ...]:
        """For each column, the place of each value."""
        return tuple({v: i for i, v in enumerate(values)} for values in self.values)

    def cell_values(self, axes: Sequence[int] | None = None) -> list[tuple[str, ...]]:
        """List the values of every combination of some columns, in the table's order.

        Parameters
        ----------
        axes
            Which columns; all by default. The others are given as empty text.

        Examples
        --------
        >>> Schema(("a", "b"), (("x", "y"), ("1",))).cell_values((0,))
        [('x', ''), ('y', '')]
        """
        kept = range(len(self.columns)) if axes is None else axes
        sides = [v if i in kept else ("",) for i, v in enumerate(self.values)]
        if self.restricted:
            places = self.combinations.copy()
            places[:, [i for i in range(len(sides)) if i not in kept]] = 0
            if axes is not None:
                places = places[np.unique(self._code(places.T), return_index=True)[1]]
            grid = places.T
        else:
            grid = np.indices([len(s) for s in sides]).reshape(len(sides), -1)
        return list(
            zip(*([s[i] for i in row] for s, row in zip(sides, grid, strict=True)), strict=True)
        )

    def labels(self, axes: Sequence[int]) -> NDArray[np.intp]:
        """Return the number of each cell's combination of some columns' values.

        The numbers are the places in `cell_values` of those columns.

        Examples
        --------
        >>> Schema(("a", "b"), (("x", "y"), ("1", "2"))).labels((0,))
        array([0, 0, 1, 1])
        """
        code = np.zeros(self.cells, dtype=np.int64)
        for axis in sorted(axes):
            code = code * self.sides[axis] + self.places(axis)
        if not self.restricted:
            return code.astype(np.intp)
        return np.unique(code, return_inverse=True)[1].astype(np.intp)

    def places(self, axis: int) -> NDArray[np.intp]:
        """Return the place of a column's value in each cell.

        Examples
        --------
        >>> Schema(("a", "b"), (("x", "y"), ("1", "2"))).places(1)
        array([0, 1, 0, 1])
        """
        if self.restricted:
            return self.combinations[:, axis]
        inner = math.prod(self.sides[axis + 1 :])
        return np.tile(
            np.repeat(np.arange(self.sides[axis]), inner), self.cells // inner // self.sides[axis]
        )

    def to_json(self) -> str:
        """Return the text of a schema file.

        Examples
        --------
        >>> parse_schema(Schema(("a",), (("1", "2"),)).to_json()).shape
        (2,)
        """
        columns: dict[str, object] = {}
        tree_of = {c: t for t in self.trees for c in t.columns}
        for name, values, rule in zip(self.columns, self.values, self.rules, strict=True):
            if name in tree_of:
                columns.setdefault(SLASH.join(tree_of[name].columns), tree_of[name].fields())
            else:
                columns[name] = rule_fields(values, rule)
        document = {
            "columns": columns,
            **({"impossible": [r.fields() for r in self.impossible]} if self.impossible else {}),
            **({"weighted": True} if self.weighted else {}),
        }
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _composed(text: str) -> str:
    """Compose accents and make every space a plain one; those at the ends are refused later."""
    return plain_text(f".{text}.")[1:-1]


def _composed_within(given: Any) -> Any:
    if isinstance(given, str):
        return _composed(given)
    return [_composed_within(v) for v in given] if isinstance(given, list) else given


def _unprintable(text: str) -> str:
    """Name the first sign in a text that cannot be seen; empty without any."""
    odd = next((c for c in text if not c.isprintable()), "")
    known = {"\t": "a tab", "\n": "a line break", "\r": "a line break", "\0": "a null character"}
    return known.get(odd, f"the invisible character U+{ord(odd):04X}") if odd else ""


def _check_value(column: str, value: str) -> None:
    odd = _unprintable(value)
    if value == "":
        wrong = "a value that is empty; write a word such as 'none' for a missing value"
    elif odd:
        wrong = f"the value {value!r}, which holds {odd}; write it without, in the table too"
    elif value != value.strip():
        wrong = f"the value {value!r}, which begins or ends with a space; leave it out"
    else:
        return
    raise InputError(f"the schema's column {column!r} has {wrong}")


def _check_column(name: str) -> None:
    said = f"the schema has a column called {name!r}"
    mark = next((c for c in name if c in ",;*"), "")
    ours = (*KEYWORDS, *OURS)
    odd = _unprintable(name)
    if name == "":
        why = "its name is empty"
    elif odd:
        why = f"the name holds {odd}"
    elif name != name.strip():
        why = "the name begins or ends with a space"
    elif mark:
        why = f"the name holds {mark!r}, which has a meaning in workloads"
    elif name in KEYWORDS or name.casefold() in OURS:
        why = f"these names have a meaning here: {', '.join(ours)}"
    else:
        return
    raise InputError(f"{said}, but {why}; give it another name, in the table too")


def _column(name: str, given: object) -> tuple[tuple[str, ...], ColumnRule]:
    if isinstance(given, dict) and is_rule(given):
        return parse_rule(name, given, MOST_CELLS)
    return parse_rule(name, {"values": given}, MOST_CELLS)


def _without_repeats(given: list[tuple[str, object]]) -> dict[str, object]:
    # What looks the same is the same, here and in the files that are read.
    pairs = [(_composed(name), _composed_within(value)) for name, value in given]
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [k for k, _ in pairs]
        twice = next(k for k in names if names.count(k) > 1)
        raise InputError(f"the schema names {twice!r} twice; each name must occur once")
    return found


def parse_schema(text: str) -> Schema:
    """Read a schema from its JSON text.

    Parameters
    ----------
    text
        A JSON object with ``"columns"``: for each column, in the order of the table's axes, a list
        of its values, a range ``{"from": 0, "to": 99}`` of whole numbers or cut points
        ``{"cuts": [18, 65]}``. An object ``{"values": [...], "other": "other", "empty": "none"}``
        also says where values that are not listed and empty fields are counted (``other`` and
        ``empty`` go with ranges and cut points too). A name with slashes is a tree of columns:
        ``"county/tract/block": {"A": {"A1": ["a", "b"]}}``. ``"impossible"`` lists combinations
        that cannot occur; ``"weighted": true`` marks a weighted table. ``"count": "n"`` says that
        the column n of a table's file holds the counts, ``"count": false`` that each of its rows is
        one record; ``"totals": false`` that no row or column is the total of others, whatever the
        counts look like.

    Raises
    ------
    InputError
        Anything else.

    Examples
    --------
    >>> parse_schema('{"columns": {"sex": ["f", "m"], "age": {"from": 0, "to": 99}}}').shape
    (2, 100)
    """
    try:
        document = json.loads(text, object_pairs_hook=_without_repeats)
    except RecursionError:
        raise InputError(
            f"the schema is nested too deeply; needed is, for example, {_EXAMPLE}"
        ) from None
    except json.JSONDecodeError as error:
        if not text.strip():
            raise InputError(f"the schema is empty; needed is, for example, {_EXAMPLE}") from None
        raise InputError(
            f"the schema is not JSON ({error.msg}, line {error.lineno}); needed is, for example, "
            f"{_EXAMPLE}"
        ) from None
    except InputError:
        raise
    except ValueError:
        raise InputError(
            "the schema holds a number with thousands of digits; write it as a text in quotes"
        ) from None
    columns = document.get("columns") if isinstance(document, dict) else None
    if not isinstance(columns, dict) or not set(document) <= _KEYS:
        raise InputError(
            'the schema must be an object with "columns" and perhaps "impossible", "count", '
            f'"totals" and "weighted"; for example {_EXAMPLE}'
        )
    weighted = document.get("weighted", False)
    if not isinstance(weighted, bool):
        raise InputError('the schema\'s "weighted" must be true or false')
    totals = document.get("totals", True)
    if not isinstance(totals, bool):
        raise InputError('the schema\'s "totals" must be false, or be left out')
    names: list[str] = []
    values: list[tuple[str, ...]] = []
    rules: list[ColumnRule] = []
    trees: list[Tree] = []
    for name, given in columns.items():
        if (
            isinstance(given, dict)
            and given
            and not is_rule(given)
            and not set(given) & {"from", "to"}
        ):
            tree = parse_tree(name, given)
            trees.append(tree)
            names += tree.columns
            values += tree_values(tree)
            rules += [ColumnRule()] * len(tree.columns)
        else:
            listed, rule = _column(name, given)
            names.append(name)
            values.append(listed)
            rules.append(rule)
    impossible = parse_impossible(document.get("impossible", []))
    count = document.get("count")
    if not (count is None or count is False or (isinstance(count, str) and count)):
        raise InputError('the schema\'s "count" must be the name of a column or false')
    return Schema(
        tuple(names),
        tuple(values),
        weighted,
        tuple(rules),
        tuple(trees),
        impossible,
        None if count is None else count or "",
        totals,
    )


def load_schema(path: Path) -> Schema:
    """Read a schema file (JSON; see `parse_schema`).

    Raises
    ------
    InputError
        A file that cannot be read as text, or whose content is no schema; the file is named.
    """
    try:
        data = path.read_bytes()
        return parse_schema(data.decode(encoding_of(data[:1000])))
    except (FileNotFoundError, IsADirectoryError):
        raise InputError(f"there is no file {path}; a schema is a JSON file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file in UTF-8; a schema is a JSON file") from None
    except InputError as error:
        table = path.suffix.lower() in _TABLES
        hint = " (it is called as a table is: were table and schema exchanged?)" if table else ""
        raise InputError(f"{path}{hint}: {error}") from None


def schema_path(table: Path) -> Path:
    """Return where the schema of a table stands: beside it.

    Examples
    --------
    >>> schema_path(Path("area.csv")).name
    'area.schema.json'
    """
    return table.with_suffix(".schema.json")


_FORMULA = ("=", "+", "-", "@")


def check_publishable(schema: Schema) -> None:
    """Refuse a schema whose words cannot stand in the files of a release.

    Raises
    ------
    InputError
        A word that a spreadsheet would run as a formula; numbers such as -1 are none.

    Examples
    --------
    >>> check_publishable(Schema(("change",), (("-1", "0", "1"),)))
    """
    words = [*schema.columns, *(v for values in schema.values for v in values)]
    for word in words:
        if word.startswith(_FORMULA) and not re.fullmatch(r"[+-]?\d+([.,]\d+)*", word):
            raise InputError(
                f"the schema has {word!r}, which spreadsheets would run as a formula when they "
                "open the release; write it otherwise, in the table too"
            )
