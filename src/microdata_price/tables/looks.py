"""What columns and values look like: counts, numbers of rows, totals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .schema import Schema


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COUNT_NAMES = _words(
    "n nn num number numbers value values size total totals sum share shares rate pct percent % "
    "prop proportion amount quantity qty w wt wgt obs cases records observations anzahl effectif "
    "nombre estimate"
)
"""Whole names of columns that hold counts, or what else each row stands for."""
_COUNT_WORDS = _words(
    "count counts cnt freq freqs frequency frequencies population pop persons people individuals "
    "weight weights weighted percent percentage percentages perwt pwgtp wgtp"
)
"""Words in names of such columns."""
_TOTALS = _words(
    "total totals sum sums all overall margin subtotal both everybody everyone gesamt insgesamt "
    "summe ensemble"
) | {"grand total", "row total", "column total", "col total", "both sexes", "all persons"}
"""What rows and columns of totals are called."""
_NUMBER = re.compile(r"[+-]?(\d{1,3}([, '\u00a0]\d{3})+|\d+)?([.,]\d*)?([eE][+-]?\d+)? ?%?")
_FEWEST_LINES = 3
"""In so many lines a value must be the sum of the others before its name does not matter."""


def looks_like_counts(name: str) -> bool:
    """Say whether a column's name is one that counts, weights or shares have.

    Examples
    --------
    >>> [looks_like_counts(n) for n in ("n", "Freq.", "pop_2020", "age", "income")]
    [True, True, True, False, False]
    """
    words = re.findall(r"[^\W\d_]+|%", name.casefold())
    return " ".join(words) in _COUNT_NAMES or bool(_COUNT_WORDS & set(words))


def looks_like_a_total(value: str) -> bool:
    """Say whether a value's name is one that rows and columns of totals have.

    Examples
    --------
    >>> [looks_like_a_total(v) for v in ("Total", "(all)", "Totnes")]
    [True, True, False]
    """
    return " ".join(re.findall(r"[^\W\d_]+", value.casefold())) in _TOTALS


def are_numbers(texts: Iterable[str]) -> bool:
    """Say whether texts are all numbers, in any usual form, or empty.

    Examples
    --------
    >>> are_numbers(["1", "2.5", "1,234", "12 %", ""]), are_numbers(["1", "x"])
    (True, False)
    """
    return all(_NUMBER.fullmatch(text.strip()) for text in texts)


def number_the_rows(texts: Sequence[str], first: int | None) -> int | None:
    """Return what number the next row has if the texts number the rows, else ``None``.

    Parameters
    ----------
    texts
        A column, or its next part.
    first
        The number that the first of them must have; ``None`` for 0 or 1.

    Examples
    --------
    >>> number_the_rows(["1", "2", "3"], None), number_the_rows(["1", "3"], None)
    (4, None)
    """
    if not texts:
        return first
    start = int(texts[0]) if first is None and texts[0] in ("0", "1") else first
    if start is None or list(texts) != [str(start + k) for k in range(len(texts))]:
        return None
    return start + len(texts)


def check_totals(place: str, schema: Schema, table: NDArray[np.int64]) -> None:
    """Refuse a table in which the rows of one value are the sums of the others.

    A value called as totals are is refused where it is that sum; any other where it is so in three
    lines or more, each with a count and two or more values that add up.

    Raises
    ------
    InputError
        It says which column and value.

    Examples
    --------
    >>> schema = Schema(("sex",), (("f", "m", "all"),))
    >>> check_totals("t.csv", schema, np.array([3, 4, 8]))
    """
    for axis, (name, values) in enumerate(zip(schema.columns, schema.values, strict=True)):
        if len(values) < 3:
            continue
        lines = np.moveaxis(table, axis, 0).reshape(len(values), -1)
        whole, largest = lines.sum(axis=0), lines.max(axis=0)
        for value, line in zip(values, lines, strict=True):
            if not (2 * line == whole).all() or not line.any():
                continue
            # In a line with one value that counts, the other is as likely its copy.
            several = (line > 0) & ((lines > 0).sum(axis=0) > 2) & (line == largest)
            if looks_like_a_total(value) or several.sum() >= _FEWEST_LINES:
                raise a_total(place, name, value)


def a_total(place: str, column: str, value: str) -> InputError:
    """Return the error for totals among the counts of a table."""
    return InputError(
        f"{place}: the counts of {value!r} in {column!r} look like totals of the others, which "
        "would count everybody twice; leave out rows and columns of totals"
    )
