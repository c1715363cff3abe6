"""Schemas: the columns of a table and the values that each may take, known before the data."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ..exceptions import InputError

COUNT = "count"
"""The column that holds the number of records of a cell."""
WEIGHTED = "weighted_count"
"""The column that holds the sum of a cell's weights: the mark of a weighted table."""
MOST_CELLS = 2_000_000
"""More cells than this are refused: every cell is measured, fitted and written."""
KEYWORDS = ("sum", "marginals", "identity")
"""Words of a workload, which no column may bear as its name."""
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

    def __post_init__(self) -> None:
        if not self.columns or len(self.columns) != len(self.values):
            raise InputError("the schema has no columns; it needs at least one with its values")
        for name in self.columns:
            _check_column(name)
        if len(set(self.columns)) != len(self.columns):
            raise InputError(f"the schema's columns are {self.columns}; each name must occur once")
        for name, values in zip(self.columns, self.values, strict=True):
            if not values:
                raise InputError(f"the schema's column {name!r} has no values; list at least one")
            if any(v == "" or v != v.strip() or not v.isprintable() for v in values):
                raise InputError(
                    f"a value of the schema's column {name!r} is empty, begins or ends with a "
                    "space or holds a line break; write a word such as 'none' for a missing value"
                )
            if len(set(values)) != len(values):
                raise InputError(f"the schema's column {name!r} lists a value twice")
        if self.cells > MOST_CELLS:
            raise InputError(
                f"the schema has {self.cells} cells ({' x '.join(map(str, self.shape))}); at most "
                f"{MOST_CELLS} are allowed: leave out a column or merge values"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The table's shape: how many values each column has."""
        return tuple(len(v) for v in self.values)

    @property
    def cells(self) -> int:
        """The number of cells: of combinations of values."""
        return math.prod(self.shape)

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
        grid = np.indices([len(s) for s in sides]).reshape(len(sides), -1)
        return list(
            zip(*([s[i] for i in row] for s, row in zip(sides, grid, strict=True)), strict=True)
        )

    def to_json(self) -> str:
        """Return the text of a schema file.

        Examples
        --------
        >>> parse_schema(Schema(("a",), (("1", "2"),)).to_json()).shape
        (2,)
        """
        columns = dict(zip(self.columns, map(list, self.values), strict=True))
        document = {"columns": columns, **({"weighted": True} if self.weighted else {})}
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _check_column(name: str) -> None:
    wrong = (
        name == ""
        or name != name.strip()
        or not name.isprintable()
        or any(c in name for c in ",;*")
        or name in (*KEYWORDS, COUNT, WEIGHTED)
    )
    if wrong:
        raise InputError(
            f"the schema has a column called {name!r}; a name must not be empty, begin or end with "
            f"a space, hold a comma, semicolon, star or line break, or be one of "
            f"{', '.join((*KEYWORDS, COUNT, WEIGHTED))}"
        )


def _values(name: str, given: object) -> tuple[str, ...]:
    if isinstance(given, dict) and set(given) == {"from", "to"}:
        low, high = given["from"], given["to"]
        if type(low) is int and type(high) is int and low <= high < low + MOST_CELLS:
            return tuple(str(v) for v in range(low, high + 1))
    elif isinstance(given, list) and all(
        isinstance(v, (str, int)) and not isinstance(v, bool) for v in given
    ):
        return tuple(str(v) for v in given)
    raise InputError(
        f"the schema's column {name!r} must have a list of values (texts or whole numbers) or "
        'a range such as {"from": 0, "to": 99}'
    )


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
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
        of its values or a range ``{"from": 0, "to": 99}`` of whole numbers; and, for a weighted
        table, ``"weighted": true``.

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
        raise InputError(
            f"the schema is not JSON ({error.msg}, line {error.lineno}); needed is, for example, "
            f"{_EXAMPLE}"
        ) from None
    columns = document.get("columns") if isinstance(document, dict) else None
    if not isinstance(columns, dict) or not set(document) <= {"columns", "weighted"}:
        raise InputError(
            'the schema must be an object with "columns" and perhaps "weighted"; for example '
            f"{_EXAMPLE}"
        )
    weighted = document.get("weighted", False)
    if not isinstance(weighted, bool):
        raise InputError('the schema\'s "weighted" must be true or false')
    return Schema(tuple(columns), tuple(_values(n, v) for n, v in columns.items()), weighted)


def load_schema(path: Path) -> Schema:
    """Read a schema file (JSON; see `parse_schema`).

    Raises
    ------
    InputError
        A file that cannot be read as text, or whose content is no schema; the file is named.
    """
    try:
        return parse_schema(path.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, IsADirectoryError):
        raise InputError(f"there is no file {path}; a schema is a JSON file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file in UTF-8; a schema is a JSON file") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def schema_path(table: Path) -> Path:
    """Return where the schema of a table stands: beside it.

    Examples
    --------
    >>> schema_path(Path("area.csv")).name
    'area.schema.json'
    """
    return table.with_suffix(".schema.json")
