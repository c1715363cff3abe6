"""How one column's fields are read: listed values, cut points, a catch-all, empty fields."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from ..exceptions import InputError

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MOST_CUTS = 10_000
"""More cut points than this are refused."""


def _written(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def cut_values(cuts: tuple[float, ...]) -> tuple[str, ...]:
    """Name the intervals that cut points make; each holds its lower end and not its upper.

    Examples
    --------
    >>> cut_values((18.0, 65.0))
    ('below 18', '18 to below 65', '65 or more')
    """
    named = [_written(c) for c in cuts]
    inner = [f"{a} to below {b}" for a, b in pairwise(named)]
    return (f"below {named[0]}", *inner, f"{named[-1]} or more")


@dataclass(frozen=True)
class ColumnRule:
    """What a column's fields may say beside its listed values; all of it is public.

    Parameters
    ----------
    other
        The listed value at which every value that is not listed is counted; ``""`` for none.
    empty
        The listed value at which empty fields are counted; ``""`` for none.
    cuts
        Points, rising, that cut the numbers into intervals; the first values listed are theirs.

    Raises
    ------
    InputError
        Cut points that are not finite or do not rise.

    Examples
    --------
    >>> ColumnRule(other="elsewhere").place("Mars", {"here": 0, "elsewhere": 1})
    1
    """

    other: str = ""
    empty: str = ""
    cuts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in pairwise(self.cuts))
        if not rising or any(not math.isfinite(c) for c in self.cuts):
            raise InputError(
                f"the cut points are {list(self.cuts)}; each must be a number above the one before"
            )

    def place(self, text: str, positions: Mapping[str, int]) -> int:
        """Return the place of the value that a field counts at, -1 if it is not allowed.

        Parameters
        ----------
        text
            The field, without spaces around it.
        positions
            The place of each listed value.

        Examples
        --------
        >>> rule = ColumnRule(cuts=(18.0, 65.0))
        >>> places = {v: i for i, v in enumerate(cut_values(rule.cuts))}
        >>> [rule.place(t, places) for t in ("17.5", "18", "90", "old", "")]
        [0, 1, 2, -1, -1]
        """
        known = positions.get(text)
        if known is not None:
            return known
        if not text:
            return positions[self.empty] if self.empty else -1
        if self.cuts and len(text) <= 400 and _NUMBER.fullmatch(text):
            # An infinite number lies in the outer interval, as any that is too large.
            return bisect_right(self.cuts, float(text))
        return positions[self.other] if self.other else -1


_FORMS = ({"values"}, {"from", "to"}, {"cuts"})
_EXTRA = {"other", "empty"}


def is_rule(given: Mapping[str, object]) -> bool:
    """Whether a JSON object describes one column, by its keys; else it may be a tree.

    Examples
    --------
    >>> is_rule({"from": 0, "to": 9, "other": "more"}), is_rule({"north": ["n1"]})
    (True, False)
    """
    return bool(given) and set(given) - _EXTRA in _FORMS


def _word(name: str, key: str, given: Mapping[str, object]) -> str:
    value = given.get(key)
    if value is None:
        return ""
    if isinstance(value, str) and value:
        return value
    raise InputError(
        f"the schema's column {name!r} has {key!r} that is not a word; give the value at which "
        f"such fields are counted, for example {{..., {key!r}: 'other'}}"
    )


def _listed(name: str, given: Mapping[str, object], most: int) -> tuple[str, ...]:
    if "values" in given:
        values = given["values"]
        if isinstance(values, list) and all(
            isinstance(v, (str, int)) and not isinstance(v, bool) for v in values
        ):
            return tuple(str(v) for v in values)
    elif "cuts" in given:
        return ()
    else:
        low, high = given["from"], given["to"]
        if type(low) is int and type(high) is int and low <= high < low + most:
            return tuple(str(v) for v in range(low, high + 1))
    raise InputError(
        f"the schema's column {name!r} must have a list of values (texts or whole numbers) or "
        'a range such as {"from": 0, "to": 99}'
    )


def parse_rule(
    name: str, given: Mapping[str, object], most: int
) -> tuple[tuple[str, ...], ColumnRule]:
    """Read one column from its JSON object: its values and its rule.

    Parameters
    ----------
    name
        The column, for messages.
    given
        An object with ``values``, ``from`` and ``to``, or ``cuts``; and perhaps ``other`` and
        ``empty``.
    most
        How many values a range may have.

    Raises
    ------
    InputError
        Anything else.

    Examples
    --------
    >>> parse_rule("age", {"cuts": [18], "empty": "not stated"}, 99)[0]
    ('below 18', '18 or more', 'not stated')
    """
    values, cuts = _listed(name, given, most), given.get("cuts", [])
    if not isinstance(cuts, list) or any(
        isinstance(c, bool) or not isinstance(c, (int, float)) or abs(c) > 1e300 for c in cuts
    ):
        raise InputError(
            f"the schema's column {name!r} has cut points that are no list of numbers; needed is, "
            'for example, {"cuts": [0, 18, 65]}'
        )
    if "cuts" in given and not 1 <= len(cuts) <= MOST_CUTS:
        raise InputError(
            f"the schema's column {name!r} has {len(cuts)} cut points; from 1 to {MOST_CUTS} are "
            "allowed"
        )
    rule = ColumnRule(
        _word(name, "other", given), _word(name, "empty", given), tuple(float(c) for c in cuts)
    )
    if cuts:
        values = cut_values(rule.cuts)
    extra = tuple(v for v in dict.fromkeys((rule.other, rule.empty)) if v and v not in values)
    return (*values, *extra), rule


def rule_fields(values: tuple[str, ...], rule: ColumnRule) -> object:
    """Return what `parse_rule` reads; a plain list where there is no rule.

    Examples
    --------
    >>> rule_fields(("a", "b"), ColumnRule(other="b"))
    {'values': ['a', 'b'], 'other': 'b'}
    """
    if rule == ColumnRule():
        return list(values)
    form: dict[str, object] = {"cuts": list(rule.cuts)} if rule.cuts else {"values": list(values)}
    return form | {k: v for k, v in (("other", rule.other), ("empty", rule.empty)) if v}
