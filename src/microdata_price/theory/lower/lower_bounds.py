"""Every lower bound on one error, given the other: Theorem 3 as printed, and what sharpens it.

A mechanism that outputs nonnegative tables has root expected squared errors of at most C on every
point query and at most D on their sum, on every table. Given one, each bound is a value below which
the other cannot be; 0 where it says nothing.
"""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.colours import COLOURS, Dash
from ...exceptions import InputError, find
from ...model.privacy import Guarantee, check_guarantee
from ..given import MOST_POINTS, check_error, check_queries
from .moment_bounds import moment_point_error, moment_sum_error
from .packing_bounds import packing_point_error, packing_sum_error
from .printed_bounds import Printed, printed_point_error, printed_sum_error, range_words
from .printed_branches import point_error_branches, sum_error_branches

Array = NDArray[np.float64]


class Bound(NamedTuple):
    """Lower bound: its two functions, and its name and looks for readers.

    The functions take the guarantee, d, the given error (D or C) and ``max_records`` of
    `point_error_bound`; each returns a named tuple of a ``value`` in counts (0 where the bound says
    nothing) and the constants that give it.
    """

    name: str
    """Its name in commands and files."""
    point_error: Callable[..., Any]
    sum_error: Callable[..., Any]
    label: str
    """Its name in pictures, tables and texts."""
    colour: str
    dash: Dash
    meaning: str
    silent: str
    """The constants among which none excludes anything, where it says nothing; {y}: their range."""
    ours: bool = True

    @property
    def title(self) -> str:
        """The label, and whose the bound is."""
        return f"{self.label} ({'ours' if self.ours else 'Theorem 3'})"


def _for_all_tables(function: Callable[[Guarantee, Array, Array], Printed]) -> Callable[..., Any]:
    def bound(
        guarantee: Guarantee, d: Array, given: Array, *, max_records: float = math.inf
    ) -> Printed:
        if not math.isinf(max_records):
            raise InputError("the printed bound cannot be limited to small tables; use another one")
        return function(guarantee, d, given)

    return bound


BOUNDS = {
    b.name: b
    for b in (
        Bound(
            "printed",
            _for_all_tables(printed_point_error),
            _for_all_tables(printed_sum_error),
            "as printed",
            COLOURS["black"],
            (0, (1, 1)),
            "the paper's Theorem 3 (alpha = beta = 2, best k in its range)",
            "k for which it is true (it moves y = 2C + k records into a cell; rounding y up to "
            "whole records keeps the inequality true only if y is {y})",
            ours=False,
        ),
        Bound(
            "optimised",
            functools.partial(packing_point_error, base="close"),
            functools.partial(packing_sum_error, base="close"),
            "free constants",
            COLOURS["pink"],
            (0, (3, 1, 1, 1, 1, 1)),
            "ours: free constants, base table m records away",
            "whole number of records, alpha and beta",
        ),
        Bound(
            "packing_empty",
            functools.partial(packing_point_error, base="empty"),
            functools.partial(packing_sum_error, base="empty"),
            "empty base",
            COLOURS["green"],
            (0, (5, 1.5, 1, 1.5)),
            "ours: the same from the all-zero table",
            "whole number of records, alpha and beta",
        ),
        Bound(
            "first_moment",
            moment_point_error,
            moment_sum_error,
            "first moments",
            COLOURS["blue"],
            "-",
            "ours: first moments",
            "whole number of records",
        ),
    )
}
"""All lower bounds by name, the paper's first and then the sharper ones."""


def point_error_bound(
    name: str,
    guarantee: Guarantee,
    d: ArrayLike,
    sum_error: ArrayLike,
    *,
    max_records: float = math.inf,
) -> Array:
    """Return one lower bound on the root error C of some point query, given the sum's D.

    Parameters
    ----------
    name
        One of `BOUNDS`.
    guarantee
        Pure, approximate or zCDP.
    d, sum_error
        Numbers of point queries, 2 or more, and D, in counts; they broadcast.
    max_records
        1 or more: for tables of at most so many records (not for the printed one).

    Examples
    --------
    >>> from microdata_price.model.privacy import PureDP
    >>> point_error_bound("first_moment", PureDP(1.0), [10**3, 10**6], math.sqrt(8)).round(3)
    array([ 4.859, 11.749])
    """
    bound = find("bound", name, BOUNDS).point_error
    return _value(bound, guarantee, d, check_error(sum_error, "sum error"), max_records)


def sum_error_bound(
    name: str,
    guarantee: Guarantee,
    d: ArrayLike,
    point_error: ArrayLike,
    *,
    max_records: float = math.inf,
) -> Array:
    """Return one lower bound on the root error D of the sum, given the point queries' C.

    Parameters, errors and shapes are as for `point_error_bound`, with C for D.
    """
    bound = find("bound", name, BOUNDS).sum_error
    return _value(bound, guarantee, d, check_error(point_error, "point error"), max_records)


def _value(
    bound: Any, guarantee: Guarantee, d: ArrayLike, error: Array, max_records: float
) -> Array:
    if not (isinstance(max_records, numbers.Real) and max_records >= 1):
        raise InputError(f"max_records is {max_records!r}; 1 or more is needed (math.inf for all)")
    given = check_guarantee(guarantee), check_queries(d), error
    return np.asarray(bound(*given, max_records=max_records).value)


class LowerBounds(NamedTuple):
    """All lower bounds on one root error, in counts; 0 where one says nothing, with a note why."""

    guarantee: Guarantee
    points: int
    given: Literal["sum_error", "point_error"]
    amount: float
    """The given root error."""
    values: dict[str, float]
    branches: dict[str, float]
    """The paper's own choices of k."""
    constants: dict[str, dict[str, float]]
    """For each bound the k (printed) or m, alpha, beta and k that give it."""
    notes: tuple[str, ...]


def lower_bounds(
    guarantee: Guarantee,
    points: float,
    *,
    sum_error: float | None = None,
    point_error: float | None = None,
) -> LowerBounds:
    """Return every lower bound on C given D, or on D given C, for one number of point queries.

    Errors are in counts; give one of them.

    Examples
    --------
    >>> from microdata_price.model.privacy import ConcentratedDP
    >>> found = lower_bounds(ConcentratedDP(0.125), 10**12, sum_error=3.0)
    >>> list(found.values) == sorted(found.values, key=found.values.get)
    True
    """
    guarantee, d = check_guarantee(guarantee), np.asarray(check_queries(points))
    if d.ndim:
        raise InputError("the number of point queries must be one number; curves take arrays")
    if d > MOST_POINTS:
        raise InputError(
            f"the number of point queries is {float(d):g}; the bounds take at most {MOST_POINTS:g}"
        )
    given: Literal["sum_error", "point_error"]
    if sum_error is not None and point_error is None:
        given, other, amount = "sum_error", "C", check_error(sum_error, "sum error", one=True)
        found = {n: b.point_error(guarantee, d, amount) for n, b in BOUNDS.items()}
        branches = point_error_branches(guarantee, float(d), float(amount))
    elif point_error is not None and sum_error is None:
        given, other, amount = "point_error", "D", check_error(point_error, "point error", one=True)
        found = {n: b.sum_error(guarantee, d, amount) for n, b in BOUNDS.items()}
        branches = sum_error_branches(guarantee, float(d), float(amount))
    else:
        raise InputError("give either the sum error or the point error, to bound the other")
    values = {n: float(f.value) for n, f in found.items()}
    constants, notes = {}, []
    for n, f in found.items():
        chosen = {k: float(v) for k, v in f._asdict().items() if k != "value"}
        constants[n] = chosen if values[n] > 0 else {}
        if n == "first_moment" and other == "D" and values[n] == 0 < chosen["m"]:
            notes.append(f"{n} is below the smallest number that can be written")
        elif values[n] == 0:
            silent = BOUNDS[n].silent.format(y=range_words(guarantee))
            notes.append(f"{n} says nothing: no {other} is excluded by any {silent}")
    notes += [f"branch {k} says nothing: {b.reason}" for k, b in branches.items() if b.reason]
    return LowerBounds(
        guarantee,
        int(points),
        given,
        float(amount),
        values,
        {k: b.value for k, b in branches.items()},
        constants,
        tuple(notes),
    )
