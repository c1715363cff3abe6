"""Totals among the counts of a table, which would count everybody in them twice."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence

from ..exceptions import InputError
from .doubts import quoted
from .looks import looks_like_a_total, may_be_a_total
from .possible import SLASH
from .schema import Schema
from .siblings import shared_totals, siblings
from .totals import Lines, sums

_SURE, _LIKELY, _NAMED = 10.0, 3.0, 2.0
"""Bits of evidence from which a sum is taken for a total, or told; with a name that says so."""
_OLDEST = 130
"""Ranges of larger numbers are perhaps codes."""


def check_totals(
    place: str, schema: Schema, table: Lines, tell: Callable[[str], None] | None = None
) -> None:
    """Refuse a table in which the rows of one value are sums of others; tell where it may be so.

    A sum is taken for a total by its name, or where chance would hardly have it. In small tables
    chance may: this is told, and so are names of totals and ranges that lie within each other.

    Raises
    ------
    InputError
        It says which column and value.

    Examples
    --------
    >>> import numpy as np
    >>> schema = Schema(("sex",), (("f", "m", "all"),))
    >>> check_totals("t.csv", schema, np.array([3, 4, 8]))
    """
    said: list[str] = []
    for group in siblings(schema, table.ravel()):
        if len(group.values) < 2 or not group.lines.any():
            continue
        where = repr(group.column)
        if group.within:
            where += f" (within {SLASH.join(group.within)!r})"
        for found in sums(group.lines):
            value, parts = group.values[found.value], [group.values[k] for k in found.parts]
            named = may_be_a_total(value) or all(
                _within(part, value) or _is_code_of(part, value) for part in parts
            )
            bits = found.bits if named else found.bits - math.log2(group.tried)
            least = _NAMED if named else _LIKELY if value in group.within else _SURE
            if bits >= least or looks_like_a_total(value):
                raise a_total(place, where, repr(value), parts)
            if bits >= _LIKELY:
                said.append(
                    f"{place}: the counts of {value!r} in {where} are the sums of those of "
                    f"{_some(parts)}; if it is a total, everybody in it counts twice: leave it out"
                )
        said += [f"{place}: {w}" for w in _by_name(where, group.values, group.lines)]
    for shared in shared_totals(schema, table.ravel()):
        where = f"{shared.column!r} (within each {shared.above!r})"
        named = bool(shared.name) and may_be_a_total(shared.name)
        if shared.bits >= (_NAMED if named else _SURE):
            raise a_total(place, where, shared.what, ())
        if shared.bits >= _LIKELY:
            said.append(
                f"{place}: the counts of {shared.what} in {where} are the sums of the others'; if "
                "it is a total, everybody in it counts twice: leave it out"
            )
    if said and tell is not None:
        tell(said[0])


def a_total(place: str, column: str, value: str, parts: Sequence[str] | None = None) -> InputError:
    """Return the error for totals among the counts of a table, named as the sentence names them.

    Parameters
    ----------
    place
        The file.
    column, value
        Which; quoted.
    parts
        What it sums, empty for all others; ``None`` if only its name says so.
    """
    of = _some(parts) if parts else "the others"
    no = "" if parts is None else '; if they are none, say so in the schema ("totals": false)'
    return InputError(
        f"{place}: the counts of {value} in {column} look like totals of {of}, which "
        f"would count everybody twice; leave out rows and columns of totals{no}"
    )


def _some(parts: Sequence[str]) -> str:
    if len(parts) > 4:
        return f"{parts[0]!r}, {parts[1]!r} and {len(parts) - 2} others"
    return quoted(parts)


_RANGE = re.compile(r"(?:aged? )?(\d{1,3})(?: ?(?:-|\u2013|to|bis) ?(\d{1,3}))?(?: years?)?")
_OPEN = re.compile(
    r"(?:aged? )?(\d{1,3}) ?(?:\+|(?:years? )?(?:and|or|und) (?:over|more|older|mehr))"
)
_BELOW = re.compile(r"(?:under|below|less than|<) ?(\d{1,3})(?: years?)?")


def _range(value: str) -> tuple[float, float] | None:
    """Return the ages, or other small numbers, that a name stands for.

    Examples
    --------
    >>> [_range(v) for v in ("0-4", "75+", "under 18", "01-02", "7-3", "north")]
    [(0.0, 4.0), (75.0, inf), (-inf, 17.0), None, None, None]
    """
    text = value.casefold()
    if re.match(r"0\d", text):  # a code or a date
        return None
    if found := _RANGE.fullmatch(text):
        low, high = float(found[1]), float(found[2] or found[1])
        return (low, high) if low <= high <= _OLDEST else None
    if found := _OPEN.fullmatch(text):
        return float(found[1]), math.inf
    if found := _BELOW.fullmatch(text):
        return -math.inf, float(found[1]) - 1
    return None


def _within(inner: str, outer: str) -> bool:
    """Say whether one range of ages lies within another."""
    a, b = _range(inner), _range(outer)
    return a is not None and b is not None and a != b and b[0] <= a[0] and a[1] <= b[1]


def _is_code_of(inner: str, outer: str) -> bool:
    """Say whether one code lies within another, as AT1 does within AT, in their usual lists.

    Examples
    --------
    >>> [_is_code_of(*c) for c in (("AT1", "AT"), ("C01.2", "C01"), ("AB", "A"), ("11", "1"))]
    [True, True, False, False]
    """
    return bool(re.fullmatch(r"[A-Z]+[\d.]*", outer)) and bool(
        re.fullmatch(re.escape(outer) + r"[.-]?\d[\dA-Z.]*", inner)
    )


def _by_name(column: str, values: Sequence[str], lines: Lines) -> Iterator[str]:
    """Say which names promise a total, where no count speaks against it."""
    whole = lines.max(axis=0)
    for value, line in zip(values, lines, strict=True):
        if may_be_a_total(value) and len(values) > 2 and line.any() and (line == whole).all():
            yield (
                f"{value!r} in {column} looks by its name like a total of the others, though it "
                "is not their sum; if it is one, everybody in it counts twice: leave it out"
            )
    ranges = [k for k, v in enumerate(values) if _range(v) is not None]
    for k, i in itertools.permutations(ranges[:_OLDEST], 2):
        if _within(values[i], values[k]) and lines[i].any() and (lines[k] >= lines[i]).all():
            yield (
                f"{values[i]!r} lies within {values[k]!r} in {column}; whoever is counted in "
                "both counts twice: leave one of them out"
            )
            return
