"""Counts that may not be of records: rounded ones, shares, and persons counted in many years."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np

from .schema import Schema
from .totals import Lines

_SURE = 20.0
"""Bits: chance gives all counts of a table a common divisor in one of a million tables."""
_LINES = 3
_YEAR = re.compile(r"(?<!\d)(19|20)\d\d([-/_ ]?[Qq]\d|[-/]\d\d(\d\d)?)?(?!\d)")
_YEARS = {
    "year",
    "years",
    "time",
    "period",
    "time_period",
    "jahr",
    "ann\u00e9e",
    "a\u00f1o",
    "anno",
}
_HEADINGS = "column"
"""What the headings of a wide table are called that has no schema."""


def check_counts(place: str, schema: Schema, table: Lines, tell: Callable[[str], None]) -> None:
    """Tell where counts may be none of records; it is no reason to refuse them.

    Parameters
    ----------
    place
        The file.
    schema
        Says which cells there are.
    table
        Counts, flat.
    tell
        Called with each sentence. It says nothing of single counts.

    Examples
    --------
    >>> schema = Schema(("year",), (("2019", "2020"),))
    >>> check_counts("t.csv", schema, np.array([3, 4]), lambda said: print(said[:37]))
    t.csv: the values of 'year' are years
    """
    filled = table[table > 0]
    if filled.size and np.unique(filled).size >= _LINES:
        divisor = int(np.gcd.reduce(filled))
        if filled.size * math.log2(divisor) >= _SURE:
            tell(
                f"{place}: all counts are multiples of one number, as rounded ones are; what is "
                "stated of errors and protection holds for counts of records, from before rounding"
            )
    shaped = table.reshape(schema.shape)
    for axis in range(shaped.ndim if shaped.ndim > 1 else 0):
        sums = shaped.sum(axis=axis)
        if sums.size >= _LINES and (sums == 100).all():
            tell(
                f"{place}: the counts in each line along {schema.columns[axis]!r} sum to 100, as "
                "shares in per cent do; what is needed is counts of records"
            )
    for name, values in zip(schema.columns, schema.values, strict=True):
        called = name.casefold() in _YEARS or name == _HEADINGS
        rest = {_YEAR.sub("#", value) for value in values}
        if called and len(values) > 1 and len(rest) == 1 and "#" in rest.pop():
            tell(
                f"{place}: the values of {name!r} are years or parts of them; who is counted in k "
                "of them has k records, for which the guarantee holds with k times the epsilon (k "
                "squared times the rho)"
            )
