"""Schemas: the columns of a table and the values that each may take, known before the data."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..exceptions import InputError

COUNT = "count"
"""The column that holds the number of records of a cell."""
MOST_CELLS = 2_000_000
"""More cells than this are refused: every cell is measured, fitted and written."""
KEYWORDS = ("sum", "marginals", "identity")
"""Words of a workload, which no column may bear as its name."""
RESERVED = (
    *(COUNT, "query_set", "noisy_answer", "variance", "weight"),
    *("signed", "signed_variance", "published", "low", "high", "low_all", "high_all"),
)
"""Columns of the files that a release writes beside the table's own."""
_KEYS = ("columns", "groups", "impossible", "layout", "count", "ignore", "totals", "weighted")
_EXAMPLE = '{"columns": {"region": ["north", "south"], "age": {"from": 0, "to": 99}}}'
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
Impossible = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Rule:
    """The fields that a column may have beside its listed values.

    Parameters
    ----------
    other
        The listed value at which every value that is not listed is counted; ``""`` for none.
    empty
        The listed value at which empty fields are counted; ``""`` for none.
    cuts
        Points, rising, that cut the numbers into intervals; the first values listed are theirs.
    """

    other: str = ""
    empty: str = ""
    cuts: tuple[float, ...] = ()


@dataclass(frozen=True)
class Group:
    """A coarser column, made from one of the table's by a public map (the county of each tract).

    Parameters
    ----------
    name, of
        The group's name, and that of the column or earlier group whose values it puts together.
    values
        The group's values.
    members
        For each of them the values of ``of`` that belong to it; each belongs to exactly one.
    """

    name: str
    of: str
    values: tuple[str, ...]
    members: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Schema:
    """The columns of a table and the values that each may take, in order; all of it is public.

    Parameters
    ----------
    columns
        The columns' names; column k is axis k of the table.
    values
        For each column the values it may take, as text.
    rules
        For each column what its fields may say beside the listed values; by default nothing.
    groups
        Coarser columns, for workloads.
    impossible
        Combinations that cannot occur (structural zeros): in each, columns or groups with the
        values that cannot meet. Where there are any, the table is a list with one cell for each
        possible combination, in order.
    layout
        ``"counts"`` (one row a cell), ``"records"`` (one row a person), or empty where a column of
        counts in the file decides. This and what follows says how a file is read; it is not
        compared and not published.
    count
        The column of the counts.
    ignore
        Columns of the file that are not read; ``("*",)`` for all others.
    totals
        Whether a value that counts what all others count together is taken for their total.

    Raises
    ------
    InputError
        A name or value that is empty, given twice or not usable in workloads and files; a rule or
        group that does not fit its column; nothing possible; more than two million cells.

    Examples
    --------
    >>> Schema(("region", "sex"), (("north", "south", "west"), ("f", "m"))).shape
    (3, 2)
    """

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    rules: tuple[Rule, ...] = ()
    groups: tuple[Group, ...] = ()
    impossible: tuple[Impossible, ...] = ()
    layout: str = field(default="", compare=False)
    count: str = field(default=COUNT, compare=False)
    ignore: tuple[str, ...] = field(default=(), compare=False)
    totals: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(map(plain, self.columns)))
        object.__setattr__(self, "values", tuple(tuple(map(plain, v)) for v in self.values))
        object.__setattr__(self, "rules", self.rules or (Rule(),) * len(self.columns))
        if not self.columns or not len(self.columns) == len(self.values) == len(self.rules):
            raise InputError("the schema has no columns; it needs at least one with its values")
        if self.layout not in ("", "counts", "records"):
            raise InputError(
                f'the schema\'s layout is {self.layout!r}; it must be "counts" (one row a cell) or '
                '"records" (one row a person)'
            )
        _check_names(self.names)
        for name in self.names:
            _check_values(name, self.values_of(name))
        for name, values, rule in zip(self.columns, self.values, self.rules, strict=True):
            _check_rule(name, values, rule)
        for at, group in enumerate(self.groups):
            _check_group(self, group, (*self.columns, *(g.name for g in self.groups[:at])))
        _check_impossible(self)
        product = math.prod(self.sides)
        if product > (10 * MOST_CELLS if self.impossible else MOST_CELLS) or (
            self.cells > MOST_CELLS
        ):
            raise InputError(
                f"the schema has {product:,} cells ({' x '.join(map(str, self.sides))}); at most "
                f"{MOST_CELLS:,} are allowed: leave out a column or merge values"
            )
        if not self.cells:
            raise InputError('the schema\'s "impossible" leaves no combination of values possible')

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, then of the groups: all that a workload may name."""
        return (*self.columns, *(group.name for group in self.groups))

    @property
    def sides(self) -> tuple[int, ...]:
        """The number of values of each column."""
        return tuple(map(len, self.values))

    @property
    def shape(self) -> tuple[int, ...]:
        """The table's shape: one side a column, or a list where combinations are impossible."""
        return self.sides if self.possible is None else (int(self.possible.sum()),)

    @property
    def cells(self) -> int:
        """The number of cells: of possible combinations of values."""
        return math.prod(self.shape)

    @cached_property
    def possible(self) -> NDArray[np.bool_] | None:
        """Which combinations of values are possible, shape `sides`; ``None`` where all are."""
        if not self.impossible:
            return None
        struck = np.zeros(self.sides, dtype=bool)
        for rule in self.impossible:
            met = np.ones(self.sides, dtype=bool)
            for name, values in rule:
                axis, places = self.from_axis(name)
                wanted = np.isin(np.array(self.values_of(name), dtype=object), list(values))
                met &= wanted[places].reshape([-1 if k == axis else 1 for k in range(met.ndim)])
            struck |= met
        return ~struck

    def values_of(self, name: str) -> tuple[str, ...]:
        """Return the values of a column or group."""
        if name in self.columns:
            return self.values[self.columns.index(name)]
        return next(group.values for group in self.groups if group.name == name)

    def from_axis(self, name: str) -> tuple[int, NDArray[np.intp]]:
        """Return the axis that a column or group stands on, and its place for each value there."""
        if name in self.columns:
            axis = self.columns.index(name)
            return axis, np.arange(len(self.values[axis]))
        group = next(group for group in self.groups if group.name == name)
        where = {v: k for k, members in enumerate(group.members) for v in members}
        axis, places = self.from_axis(group.of)
        return axis, np.array([where[v] for v in self.values_of(group.of)])[places]

    def places(self, name: str) -> NDArray[np.intp]:
        """Return the place of a column's or group's value in each cell, shape (cells,).

        Examples
        --------
        >>> Schema(("a", "b"), (("x", "y"), ("1", "2"))).places("b")
        array([0, 1, 0, 1])
        """
        axis, places = self.from_axis(name)
        inner, outer = math.prod(self.sides[axis + 1 :]), math.prod(self.sides[:axis])
        every = np.tile(np.repeat(places, inner), outer)
        return every if self.possible is None else every[self.possible.ravel()]

    def labels(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Number the combinations of some columns and groups that occur, in order, by cell.

        Examples
        --------
        >>> Schema(("a", "b"), (("x", "y"), ("1", "2"))).labels(("a",))
        array([0, 0, 1, 1])
        """
        code = np.zeros(self.cells, dtype=np.int64)
        for name in names:  # numbered anew at each step, so that no number grows too large
            code = code * len(self.values_of(name)) + self.places(name)
            code = np.unique(code, return_inverse=True)[1]
        return code.astype(np.intp)

    def cell_numbers(self, places: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
        """Return the numbers of cells in the flattened table, -1 for impossible combinations.

        Parameters
        ----------
        places
            For each column the places of values, arrays of one shape.
        """
        flat = np.ravel_multi_index(tuple(places), self.sides)
        return flat if self._numbers is None else self._numbers[flat]

    @cached_property
    def _numbers(self) -> NDArray[np.intp] | None:
        if self.possible is None:
            return None
        return np.where(self.possible, np.cumsum(self.possible).reshape(self.sides) - 1, -1).ravel()

    def frame(self) -> pd.DataFrame:
        """Return the values of every cell, one row a cell and one column a column, in order.

        Examples
        --------
        >>> Schema(("a", "b"), (("x",), ("1", "2"))).frame()["b"].tolist()
        ['1', '2']
        """
        return pd.DataFrame(
            {
                name: np.array(values, dtype=object)[self.places(name)]
                for name, values in zip(self.columns, self.values, strict=True)
            }
        )

    def to_json(self) -> str:
        """Return the text of a schema file, without what says how a table's file is read.

        Examples
        --------
        >>> parse_schema(Schema(("a",), (("1", "2"),)).to_json()).shape
        (2,)
        """
        document: dict[str, Any] = {"columns": {}}
        for name, values, rule in zip(self.columns, self.values, self.rules, strict=True):
            words = {k: v for k, v in (("other", rule.other), ("empty", rule.empty)) if v}
            listed = {"cuts": list(rule.cuts)} if rule.cuts else {"values": list(values)}
            document["columns"][name] = list(values) if rule == Rule() else listed | words
        if self.groups:
            document["groups"] = {
                g.name: {g.of: dict(zip(g.values, map(list, g.members), strict=True))}
                for g in self.groups
            }
        if self.impossible:
            document["impossible"] = [{n: list(v) for n, v in rule} for rule in self.impossible]
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    def reader(self, axis: int) -> Callable[[str], int]:
        """Return the function from a column's field to the place of its value, -1 for none.

        Listed values come first, then cut points, the value for empty fields, the catch-all.

        Examples
        --------
        >>> schema = Schema(("job",), (("nurse", "other"),), (Rule(other="other"),))
        >>> [schema.reader(0)(text) for text in ("nurse", "poet", "")]
        [0, 1, -1]
        """
        known = {value: k for k, value in enumerate(self.values[axis])}
        rule = self.rules[axis]

        def place(text: str) -> int:
            if text in known or not text:
                return known.get(text or rule.empty, -1)
            if rule.cuts and len(text) <= 400 and _NUMBER.fullmatch(text):
                return bisect_right(rule.cuts, float(text))
            return known.get(rule.other, -1)

        return place


def plain(text: str) -> str:
    """Compose a text's accents and leave out the spaces around it: what looks alike is alike."""
    return unicodedata.normalize("NFC", str(text)).strip()


def _fault(text: str) -> str:
    """Say why a name or value cannot be used; empty where it can."""
    odd = next((c for c in text if not c.isprintable()), "")
    return "is empty" if not text else f"holds the invisible sign U+{ord(odd):04X}" if odd else ""


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        fault = _fault(name)
        if mark := next((c for c in name if c in ",;*"), ""):
            fault = f"holds {mark!r}, which has a meaning in workloads"
        elif name in KEYWORDS or name.casefold() in RESERVED:
            fault = f"has a meaning here, as have {', '.join((*KEYWORDS, *RESERVED))}"
        if fault:
            raise InputError(
                f"the schema has a column called {name!r}, but this name {fault}; give it another "
                "name, in the table too"
            )
    folded = [name.casefold() for name in names]
    if twice := [n for n, f in zip(names, folded, strict=True) if folded.count(f) > 1]:
        raise InputError(
            f"the schema names {twice[0]!r} and {twice[1]!r}; each name must occur once, and names "
            "that differ by capital letters only are the same for many programs"
        )


def _check_values(name: str, values: Sequence[str]) -> None:
    if not values:
        raise InputError(f"the schema's column {name!r} has no values; list at least one")
    for value in values:
        if fault := _fault(value):
            raise InputError(
                f"the schema's column {name!r} has the value {value!r}, which {fault}; write it "
                "otherwise, in the table too (an empty field has a rule of its own: "
                '{"values": [...], "empty": "not stated"})'
            )
    if len(set(values)) != len(values):
        raise InputError(f"the schema's column {name!r} lists a value twice")


def _check_rule(name: str, values: Sequence[str], rule: Rule) -> None:
    if not all(map(math.isfinite, rule.cuts)) or any(a >= b for a, b in pairwise(rule.cuts)):
        raise InputError(
            f"the schema's column {name!r} has the cut points {list(rule.cuts)}; each must be a "
            "number above the one before"
        )
    stray = [word for word in (rule.other, rule.empty) if word and word not in values]
    if stray or (rule.other and len(values) == 1):
        raise InputError(
            f"the schema's column {name!r} counts fields at {(stray or [rule.other])[0]!r}, which "
            "must be one of at least two values; list the others"
        )


def _check_group(schema: Schema, group: Group, known: Sequence[str]) -> None:
    if group.of not in known:
        raise InputError(
            f"the schema's group {group.name!r} is made from {group.of!r}, which is none of "
            f"{', '.join(known)}"
        )
    members = [value for part in group.members for value in part]
    wanted = schema.values_of(group.of)
    wrong = [v for v in (*members, *wanted) if members.count(v) != 1 or v not in wanted]
    if wrong or not all(group.members):
        raise InputError(
            f"the schema's group {group.name!r} must put each value of {group.of!r} into exactly "
            f"one of its own, none of them empty{f'; see {wrong[0]!r}' if wrong else ''}"
        )


def _check_impossible(schema: Schema) -> None:
    for rule in schema.impossible:
        for name, values in rule:
            if name not in schema.names or not set(values) <= set(schema.values_of(name)):
                raise InputError(
                    f'the schema\'s "impossible" names {name!r} with a value, or a column, that '
                    "the schema does not list"
                )


def _once(given: list[tuple[str, Any]]) -> dict[str, Any]:
    found = {plain(name): value for name, value in given}
    if len(found) != len(given):
        raise InputError("the schema says something twice of one name; each name must occur once")
    return found


def _words(given: Any, place: str) -> tuple[str, ...]:
    """Read a list of texts or whole numbers."""
    if isinstance(given, list) and all(type(v) in (str, int) for v in given):
        return tuple(plain(v) for v in given)
    raise InputError(f"the schema's {place} must be a list of values, texts or whole numbers")


def _column(name: str, given: Any) -> tuple[tuple[str, ...], Rule]:
    form = given if isinstance(given, dict) else {"values": given}
    kind = set(form) - {"other", "empty"}
    low, high, cuts = form.get("from"), form.get("to"), form.get("cuts")
    words = [form.get(k, "") for k in ("other", "empty")]
    if kind == {"values"}:
        values = _words(form["values"], f"column {name!r}")
    elif kind == {"from", "to"} and type(low) is type(high) is int and 0 <= high - low < MOST_CELLS:
        values = tuple(str(v) for v in range(low, high + 1))
    elif kind == {"cuts"} and cuts and all(type(c) in (int, float) for c in cuts):
        named = [f"{c:.15g}" if abs(c) < 1e15 else repr(c) for c in cuts]
        inner = [f"{a} to below {b}" for a, b in pairwise(named)]
        values = (f"below {named[0]}", *inner, f"{named[-1]} or more")
    elif "/" in name:
        raise InputError(
            f"the schema's {name!r} is a tree of columns, which is now written as the finest "
            'column with all its values, and "groups" for each coarser one: {"columns": {"tract": '
            '["a1", "a2", "b1"]}, "groups": {"county": {"tract": {"A": ["a1", "a2"], "B": ["b1"]}}}'
            "}; a column of the coarser values may stay in the table's file"
        )
    else:
        raise InputError(
            f"the schema's column {name!r} must have a list of values, a range "
            '{"from": 0, "to": 99} or cut points {"cuts": [18, 65]}, and may say "other" and '
            '"empty"'
        )
    if not all(isinstance(word, str) for word in words):
        raise InputError(f'the schema\'s column {name!r} has an "other" or "empty" that is no text')
    other, empty = map(plain, words)
    extra = [word for word in dict.fromkeys((other, empty)) if word and word not in values]
    return (*values, *extra), Rule(other, empty, tuple(map(float, cuts or ())))


def _group(name: str, given: Any) -> Group:
    if isinstance(given, dict) and len(given) == 1:
        ((of, parts),) = given.items()
        if isinstance(parts, dict) and parts:
            members = tuple(_words(part, f"group {name!r}") for part in parts.values())
            return Group(name, of, tuple(parts), members)
    raise InputError(
        f"the schema's group {name!r} must say of which column it is made and how, for example "
        '"groups": {"county": {"tract": {"A": ["a1", "a2"], "B": ["b1"]}}}'
    )


def parse_schema(text: str) -> Schema:
    """Read a schema from its JSON text; docs/tables.md says what may stand in it.

    Raises
    ------
    InputError
        A text that is none, or as for `Schema`.

    Examples
    --------
    >>> parse_schema('{"columns": {"sex": ["f", "m"], "age": {"from": 0, "to": 99}}}').shape
    (2, 100)
    """
    try:
        document = json.loads(text, object_pairs_hook=_once)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(
            f"the schema is not JSON{line}; needed is for example {_EXAMPLE}"
        ) from None
    columns = document.get("columns") if isinstance(document, dict) else None
    if not isinstance(columns, dict) or not set(document) <= set(_KEYS):
        raise InputError(
            f'the schema must be an object with "columns" and perhaps {", ".join(_KEYS[1:-1])}; '
            f"for example {_EXAMPLE}"
        )
    if document.get("weighted", False) is not False:
        raise InputError(
            "the schema says that the table is weighted: one person changes it by more than one, "
            "so that it can be neither priced nor released; give a table that counts records"
        )
    groups, impossible = document.get("groups", {}), document.get("impossible", [])
    count, layout = document.get("count", COUNT), document.get("layout", "")
    ignore, totals = document.get("ignore", []), document.get("totals", True)
    shaped = isinstance(groups, dict) and isinstance(impossible, list) and type(totals) is bool
    if not shaped or not all(isinstance(rule, dict) and rule for rule in impossible):
        raise InputError(
            'the schema\'s "groups" must be an object, "impossible" a list such as [{"age": ["0"], '
            '"status": ["married"]}], and "totals" true or false'
        )
    if count is False:  # as schemas were written before there was a layout
        count, layout = COUNT, layout or "records"
    elif "count" in document:
        layout = layout or "counts"
    if not isinstance(count, str) or not count:
        raise InputError('the schema\'s "count" must be the name of a column')
    read = [_column(name, given) for name, given in columns.items()]
    return Schema(
        tuple(columns),
        tuple(values for values, _ in read),
        tuple(rule for _, rule in read),
        tuple(_group(name, given) for name, given in groups.items()),
        tuple(
            tuple((n, _words(v, '"impossible"')) for n, v in rule.items()) for rule in impossible
        ),
        layout,
        plain(count),
        ("*",) if ignore == "*" else _words(ignore, '"ignore" (or "*" for all others)'),
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
        marked = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        return parse_schema(data.decode("utf-16" if marked else "utf-8-sig"))
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


def check_publishable(words: Iterable[str]) -> None:
    """Refuse words that a spreadsheet would run as formulas; numbers such as -1 are none.

    Examples
    --------
    >>> check_publishable(["-1", "north"])
    """
    for word in words:
        if word.startswith(("=", "+", "-", "@")) and not _NUMBER.fullmatch(word):
            raise InputError(
                f"the schema has {word!r}, which spreadsheets would run as a formula when they "
                "open the release; write it otherwise, in the table too"
            )
