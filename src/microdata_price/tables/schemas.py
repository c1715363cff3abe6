"""Schemas: the columns of a table and the values that each may take, known before the data."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from decimal import Decimal
from functools import cached_property, reduce
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..exceptions import InputError, find

COUNT = "count"  # the column that holds the number of records of a cell
MOST_CELLS = 2_000_000  # every cell is measured, fitted and written
MOST_COLUMNS = 32  # NumPy's arrays have at most 64 sides, of some versions 32
KEYWORDS = ("sum", "marginals", "identity")  # words of a workload, no names of columns
RESERVED: tuple[str, ...] = (COUNT, "query_set", "noisy_answer", "variance", "weight", "signed")
RESERVED += "signed_variance", "published", "low", "high", "low_all", "high_all"  # of a release
_EXAMPLE = '{"columns": {"region": ["north", "south"], "age": {"from": 0, "to": 99}}}'
_GROUPS = '"groups": {"county": {"tract": {"A": ["a1", "a2"], "B": ["b1"]}}}'
_USUAL: dict[str, Any] = {"columns": {}, "groups": {}, "impossible": [], "layout": "", "ignore": []}
_USUAL |= {"count": COUNT, "totals": True, "weighted": False}
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,17})?", re.ASCII)
_FORM = dict.fromkeys(("values", "from", "to", "cuts", "other", "empty"))  # of a column
_ELSE = (("count", False), ("ignore", "*"))
_SAFE = re.compile(rf"[+-][\d.][\w ., ]*|{NUMBER.pattern}( to below {NUMBER.pattern}| or more)?")


@dataclass(frozen=True)
class Rule:
    """Values at which all else and empty fields are counted; cut points between the first ones."""

    other: str = ""
    empty: str = ""
    cuts: tuple[float, ...] = ()


@dataclass(frozen=True)
class Group:
    """A coarser column, made by a public map (the county of each tract)."""

    name: str
    of: str  # the column, or an earlier group, whose values it puts together
    values: tuple[str, ...]
    members: tuple[tuple[str, ...], ...]  # of each value those that belong to it; each to one


@dataclass(frozen=True)
class Schema:
    """The columns of a table and the values that each may take, in order; all of it is public.

    What does not fit is an `InputError`; so are no possible cell, and over two million.

    Parameters
    ----------
    columns, values
        The columns' names and, for each, its values as text; column k is axis k of the table.
    rules, groups
        What fields each column may have beside its values, by default none; coarser columns.
    impossible
        Combinations that cannot occur (structural zeros): in each, columns or groups with values
        that cannot meet. Where there are any, the table is a list of those possible, in order.
    layout, count, ignore, totals
        How a file is read, neither compared nor published: ``"counts"`` (a row a cell),
        ``"records"`` (a row a person) or empty (a column of counts decides); the column of counts;
        columns that are not read (``("*",)``: all others); whether to look for totals.

    Examples
    --------
    >>> Schema(("region", "sex"), (("north", "south", "west"), ("f", "m"))).shape
    (3, 2)
    """

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    rules: tuple[Rule, ...] = ()
    groups: tuple[Group, ...] = ()
    impossible: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...] = ()
    layout: str = field(default="", compare=False)
    count: str = field(default=COUNT, compare=False)
    ignore: tuple[str, ...] = field(default=(), compare=False)
    totals: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(map(plain, self.columns)))
        object.__setattr__(self, "values", tuple(tuple(map(plain, v)) for v in self.values))
        object.__setattr__(self, "rules", self.rules or (Rule(),) * len(self.columns))
        same = 0 < len(self.columns) == len(self.values) == len(self.rules) <= MOST_COLUMNS
        require(same, f"the schema has no columns with their values, or more than {MOST_COLUMNS}")
        wrong = f'the layout is {self.layout!r}; it must be "counts" (a row a cell) or "records"'
        require(self.layout in ("", "counts", "records"), wrong)
        require(len(self.groups) <= 100, "the schema has more than 100 groups; leave some out")
        _check_names(self.names)
        own = ", ".join(sorted({self.count, *self.ignore} & set(self.names)))
        require(not own, f"the schema ignores, or takes for counts, what it has as columns: {own}")
        both = f'the schema ignores its column of counts, {self.count!r}; say "layout": "records"'
        require(self.layout == "records" or self.count not in self.ignore, f"{both}, or read it")
        for name, rule in zip(self.columns, self.rules, strict=True):
            _check_values(name, self.values_of(name), rule)
        for at, (name, of, values, members) in enumerate(map(astuple, self.groups)):
            known = self.names[: len(self.columns) + at]
            _check_values(name, values, Rule())
            inside = sorted(chain.from_iterable(members))
            fine = of in known and inside == sorted(self.values_of(of)) and all(members)
            said = f"every value of one of the columns {', '.join(known)} into exactly one of its"
            require(fine, f"the schema's group {name!r} must put {said} own, as in {_GROUPS}")
        for name, values in (part for rule in self.impossible for part in rule):
            listed = name in self.names and set(values) <= set(self.values_of(name))
            require(listed, f'the schema\'s "impossible" has {name!r}, or a value, not listed')
        most = 10 * MOST_CELLS if self.impossible else MOST_CELLS
        said = f"there are {' x '.join(map(str, self.sides))} combinations of values, and too"
        fits = math.prod(self.sides) <= most and 0 < self.cells <= MOST_CELLS
        require(fits, f"{said} many or none of them are possible; at most {MOST_CELLS:,} may be")

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
        """The possible combinations of values, shape `sides`; ``None`` where all are."""
        every = (struck for _, struck in self.struck())
        return ~np.asarray(reduce(np.logical_or, every)) if self.impossible else None

    def struck(self) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Yield each impossible rule's names, and the combinations of values that it rules out."""
        for rule in self.impossible:
            met = np.ones(self.sides, dtype=bool)
            for name, values in rule:
                axis, places = self.from_axis(name)
                wanted = np.isin(self.values_of(name), values)[places]
                met &= wanted.reshape([-1 if k == axis else 1 for k in range(met.ndim)])
            yield ", ".join(repr(name) for name, _ in rule), met

    def values_of(self, name: str) -> tuple[str, ...]:
        """Return the values of a column or group."""
        groups = {group.name: group.values for group in self.groups}
        return groups[name] if name in groups else self.values[self.columns.index(name)]

    def from_axis(self, name: str) -> tuple[int, NDArray[np.intp]]:
        """Return the axis of a column or group, and its place for each value on that axis."""
        if name in self.columns:
            return self.columns.index(name), np.arange(len(self.values_of(name)))
        group = next(group for group in self.groups if group.name == name)
        where = {value: k for k, members in enumerate(group.members) for value in members}
        axis, places = self.from_axis(group.of)
        return axis, np.array([where[value] for value in self.values_of(group.of)])[places]

    def places(self, name: str) -> NDArray[np.intp]:
        """Return the place of a column's or group's value in each cell, shape (cells,)."""
        axis, places = self.from_axis(name)
        inner, outer = math.prod(self.sides[axis + 1 :]), math.prod(self.sides[:axis])
        every = np.tile(np.repeat(places, inner), outer)
        return every if self.possible is None else every[self.possible.ravel()]

    def labels(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Return for each cell the number of its combination of some columns and groups."""
        code = np.zeros(self.cells, dtype=np.intp)
        for n in names:  # numbered anew at each step, so that no number grows too large
            code = np.unique(code * len(self.values_of(n)) + self.places(n), return_inverse=True)[1]
        return code

    @cached_property
    def cell_numbers(self) -> NDArray[np.intp]:
        """The number of each combination's cell, shape `sides`; -1 where it is impossible."""
        possible = np.ones(self.sides, dtype=bool) if self.possible is None else self.possible
        return np.where(possible, np.cumsum(possible).reshape(self.sides) - 1, -1)

    def frame(self) -> pd.DataFrame:
        """Return the values of every cell, one row a cell and one column a column, in order."""
        pairs = zip(self.columns, self.values, strict=True)
        return pd.DataFrame({n: np.array(v, dtype=object)[self.places(n)] for n, v in pairs})

    def reader(self, name: str) -> Callable[[str], int]:
        """Return the function from a column's or group's field to its value's place (-1: none)."""
        known = {value: k for k, value in enumerate(self.values_of(name))}
        rule = self.rules[self.columns.index(name)] if name in self.columns else Rule()
        cuts = [Decimal(_called(cut)) for cut in rule.cuts]  # doubles would round a long field

        def place(text: str) -> int:
            if text in known or not text:
                return known.get(text or rule.empty, -1)
            if cuts and len(text) <= 400 and NUMBER.fullmatch(text):
                return bisect_right(cuts, Decimal(text))
            return -1 if "\ufffd" in text else known.get(rule.other, -1)  # not UTF-8

        return place

    def to_json(self, **reading: Any) -> str:
        """Return the text of a schema file; only what is given says how a table's file is read."""
        columns: dict[str, Any] = {}
        for name, values, rule in zip(self.columns, self.values, self.rules, strict=True):
            words = {k: v for k, v in (("other", rule.other), ("empty", rule.empty)) if v}
            form = {"cuts": list(rule.cuts)} if rule.cuts else {"values": list(values)}
            columns[name] = list(values) if rule == Rule() else form | words
        groups = {g.name: {g.of: dict(zip(g.values, g.members, strict=True))} for g in self.groups}
        impossible = [dict(rule) for rule in self.impossible]
        more = {k: v for k, v in (("groups", groups), ("impossible", impossible)) if v} | reading
        return json.dumps({"columns": columns} | more, indent=1, ensure_ascii=False) + "\n"


def require(fine: object, sentence: str) -> None:
    """Raise an `InputError` with a sentence unless something is so."""
    if not fine:
        raise InputError(sentence)


def plain(text: object) -> str:
    """Compose a text's accents and leave out the spaces around it: what looks alike is alike."""
    return unicodedata.normalize("NFC", str(text)).strip()


def _fault(text: str) -> str:
    if text.startswith(("=", "+", "-", "@")) and not _SAFE.fullmatch(text):
        return "begins as formulas of spreadsheets do"
    odd = next((f"U+{ord(c):04X}" for c in text if not c.isprintable() or c == "\ufffd"), "")
    return "is empty" if not text else f"holds {odd}, invisible or not UTF-8" if odd else ""


def _check_names(names: Sequence[str]) -> None:
    folded = [name.casefold() for name in names]
    for name, fold in zip(names, folded, strict=True):
        fault = _fault(name) or _fault(f"{name}*")  # query sets of several columns are named so
        if set(name) & set(",;*"):
            fault = "holds a comma, semicolon or star, which have a meaning in workloads"
        elif name in KEYWORDS or fold in RESERVED:
            fault = f"has a meaning here, as have {', '.join((*KEYWORDS, *RESERVED))}"
        elif folded.count(fold) > 1:
            fault = "is there twice (many programs do not tell capital letters apart)"
        require(not fault, f"the column {name!r} {fault}; rename it in the table and in any schema")


def fault_of(values: Sequence[str]) -> str:
    """Say what is wrong with a list of values by itself, if anything is."""
    odd = next((f"the value {v!r}, which {_fault(v)}" for v in values if _fault(v)), "")
    return odd or "a value twice" * (len(set(values)) < len(values)) or "no values" * (not values)


def _check_values(name: str, values: Sequence[str], rule: Rule) -> None:
    fault, cuts = fault_of(values), rule.cuts
    more = set(values[len(cuts) + 1 :]) - {rule.other, rule.empty}
    if not all(a < b for a, b in pairwise((-math.inf, *cuts, math.inf))):
        fault = "cut points that do not rise, or are not finite"
    elif cuts and (more or len(values) <= len(cuts)):
        fault = 'cut points that are not one fewer than the values beside "other" and "empty"'
    elif {rule.other, rule.empty} - {"", *values} or (rule.other and len(values) == 1):
        fault = 'an "other" or "empty" that is not one of at least two values'
    said = f"the schema's column {name!r} has {fault}; list each value once, as in {_EXAMPLE}"
    require(not fault, f'{said}; empty fields have a word, {{"values": ["f"], "empty": "none"}}')


def _once(given: list[tuple[str, Any]]) -> dict[str, Any]:
    found = {plain(name): value for name, value in given}
    require(len(found) == len(given), "the schema says two things of one name; name each once")
    return found


def _words(given: Any, place: str) -> tuple[str, ...]:
    listed = isinstance(given, list) and all(type(value) in (str, int) for value in given)
    require(listed, f"the schema's {place} must have a list of values, texts or whole numbers")
    return tuple(map(plain, given))


def _called(cut: float) -> str:
    return next((t for k in (15, 16, 17) if float(t := f"{cut:.{k}g}") == cut), "")


def _column(name: str, given: Any) -> tuple[tuple[str, ...], Rule]:
    form = given if isinstance(given, dict) else {"values": given}
    for key in form:
        find(f"key of the schema's column {name!r}", key, _FORM)
    kind = set(form) - {"other", "empty"}
    low, high, cuts = form.get("from"), form.get("to"), form.get("cuts")
    fine = isinstance(cuts, list) and all(type(c) in (int, float) and abs(c) < 1e99 for c in cuts)
    other, empty = (plain(form.get(k, "")) for k in ("other", "empty"))
    words = all(type(form.get(k, "")) is str for k in ("other", "empty"))
    require(words, f'the schema\'s column {name!r} has an "other" or "empty" that is no text')
    if kind == {"values"}:
        values = _words(form["values"], f"column {name!r}")
    elif kind == {"from", "to"} and type(low) is type(high) is int and low <= high:
        long = f"the schema's column {name!r} has a range of over {MOST_CELLS:,} values, the most"
        require(high - low < MOST_CELLS, f"{long} that may be; shorten it, or give cut points")
        values = tuple(map(str, range(low, high + 1)))
    elif kind == {"cuts"} and fine and cuts:
        named = [*map(_called, cuts)]
        require(all(named), f"the schema's column {name!r} has a cut point with too many digits")
        inner = [f"{a} to below {b}" for a, b in pairwise(named)]
        values = (f"below {named[0]}", *inner, f"{named[-1]} or more")
    else:
        forms = 'must have a list of values, a range {"from": 0, "to": 99} or {"cuts": [18, 65]}'
        raise InputError(f"the schema's column {name!r} {forms}")
    extra = [word for word in dict.fromkeys((other, empty)) if word and word not in values]
    return (*values, *extra), Rule(other, empty, tuple(map(float, cuts or ())))


def _group(name: str, given: Any) -> Group:
    ((of, parts),) = given.items() if isinstance(given, dict) and len(given) == 1 else [("", {})]
    require(parts and isinstance(parts, dict), f"the group {name!r} must be given as in {_GROUPS}")
    return Group(name, of, (*parts,), tuple(_words(v, f"group {name!r}") for v in parts.values()))


def parse_schema(text: str) -> Schema:
    """Read a schema from its JSON text; docs/tables.md says what may stand in it.

    Examples
    --------
    >>> parse_schema('{"columns": {"sex": ["f", "m"], "age": {"from": 0, "to": 99}}}').shape
    (2, 100)
    """
    try:
        given = json.loads(text, object_pairs_hook=_once)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        line = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"the schema is not JSON{line}; needed is {_EXAMPLE}") from None
    require(isinstance(given, dict), f"the schema must be an object such as {_EXAMPLE}")
    for key, value in given.items():
        fine = type(value) is type(find("key of a schema", key, _USUAL)) or (key, value) in _ELSE
        fine = fine and (key != "impossible" or all(isinstance(r, dict) and r for r in value))
        require(fine, f"the schema's {key!r} is not as docs/tables.md says; mend what it holds")
    whole = _USUAL | given
    require(not whole["weighted"], "the schema's table is weighted; needed are counts of records")
    layout, count, ignore, never = (whole[k] for k in ("layout", "count", "ignore", "impossible"))
    if "count" in given:  # false: records, as schemas said before there was a layout
        layout = layout or ("counts" if count else "records")
    read = [_column(name, form) for name, form in whole["columns"].items()]
    return Schema(
        tuple(whole["columns"]),
        tuple(values for values, _ in read),
        tuple(rule for _, rule in read),
        tuple(_group(name, form) for name, form in whole["groups"].items()),
        tuple(tuple((n, _words(v, "impossible")) for n, v in rule.items()) for rule in never),
        *(layout, plain(count or COUNT), ("*",) if ignore == "*" else _words(ignore, "ignore")),
        whole["totals"],
    )


def load_schema(path: Path) -> Schema:
    """Read a schema file (JSON in UTF-8; see `parse_schema`); an error names it."""
    try:
        require(path.is_file(), "it is missing, or a pipe; a schema must be a regular file")
        data = path.read_bytes()
        marked = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        return parse_schema(data.decode("utf-16" if marked else "utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path} is locked, or no text in UTF-8; a schema is JSON text") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def schema_path(table: Path) -> Path:
    """Return where the schema of a table stands, packed or not: beside it, as TABLE.schema.json."""
    return Path(re.sub(r"(?i)\.(gz|bz2|xz|zip)$", "", str(table))).with_suffix(".schema.json")
