"""Every lower bound on one error, given the other: Theorem 3 as printed, and what sharpens it.

A mechanism that outputs nonnegative tables has root expected squared errors of at most C on every
point query and at most D on their sum, on every table. Given one, each bound is a value below which
the other cannot be; 0 where it says nothing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.colours import COLOURS, Dash
from ...exceptions import InputError, find
from ...model.privacy import ConcentratedDP, Guarantee
from ..given import MOST_POINTS, check_error, check_queries
from .moment_bounds import moment_point_error, moment_sum_error
from .packing_bounds import packing_point_error, packing_sum_error
from .printed_bounds import Printed, printed_point_error, printed_sum_error
from .printed_branches import point_error_branches, sum_error_branches

Array = NDArray[np.float64]


class Found(Protocol):
    """A bound's value, and the constants that give it: any named tuple with a ``value``."""

    @property
    def value(self) -> Array:
        """The bound, in counts; 0 where it says nothing."""

    def _asdict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Bound:
    """One lower bound: how it is computed either way, what it is called, how it is drawn.

    Parameters
    ----------
    name
        Its name in commands and files.
    point_error, sum_error
        Functions of the guarantee, of d and of the given error D or C, which return C or D; the
        keywords ``integer`` and ``max_records`` are those of `point_error_bound`.
    label
        Its name for readers, the same in every picture, table and text.
    colour, dash
        How it is drawn, in matplotlib's words.
    meaning
        What it is, in a few words.
    silent
        Says why it says nothing: takes the guarantee, ``"C"`` or ``"D"``, and what was found.
    ours
        Whether it is this book's and not the paper's.
    """

    name: str
    point_error: Callable[..., Found]
    sum_error: Callable[..., Found]
    label: str
    colour: str
    dash: Dash
    meaning: str
    silent: Callable[[Guarantee, str, Found], str]
    ours: bool = True

    @property
    def title(self) -> str:
        """The label, and whose the bound is."""
        return f"{self.label} ({'ours' if self.ours else 'Theorem 3'})"


def _for_all_tables(function: Callable[[Guarantee, Array, Array], Printed]) -> Callable[..., Found]:
    @functools.wraps(function)
    def bound(
        guarantee: Guarantee,
        d: Array,
        given: Array,
        *,
        integer: bool = True,  # noqa: ARG001 (the printed bound knows no m)
        max_records: float = math.inf,
    ) -> Found:
        if not math.isinf(max_records):
            raise InputError("the printed bound cannot be limited to small tables; use another one")
        return function(guarantee, d, given)

    return bound


def _no_k(guarantee: Guarantee, other: str, _: Found) -> str:
    zcdp = isinstance(guarantee, ConcentratedDP)
    y = "0.6006 <= y <= 1 or y >= 1.2011" if zcdp else "y >= 1/2"
    return (
        f"says nothing: at no k with y = 2C + k in the range where it is true ({y}) does it "
        f"exclude any {other}"
    )


def _no_constants(_: Guarantee, other: str, __: Found) -> str:
    return (
        f"says nothing: at no whole number of records, alpha and beta does it exclude any {other}"
    )


def _no_records(_: Guarantee, other: str, found: Found) -> str:
    m = float(found._asdict()["m"])
    if other == "D" and m > 0:
        return f"is below the smallest number that can be written (m = {m:g})"
    return f"says nothing: at no whole number of records does it exclude any {other}"


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
            _no_k,
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
            _no_constants,
        ),
        Bound(
            "packing_empty",
            functools.partial(packing_point_error, base="empty"),
            functools.partial(packing_sum_error, base="empty"),
            "empty base",
            COLOURS["green"],
            (0, (5, 1.5, 1, 1.5)),
            "ours: the same from the all-zero table",
            _no_constants,
        ),
        Bound(
            "first_moment",
            moment_point_error,
            moment_sum_error,
            "first moments",
            COLOURS["blue"],
            "-",
            "ours: first moments",
            _no_records,
        ),
    )
}
"""All lower bounds by name, the paper's first and then the sharper ones."""


def sharpest_first(names: Iterable[str]) -> list[Bound]:
    """Return some of the bounds, those that are defined last first.

    Examples
    --------
    >>> [b.label for b in sharpest_first({"printed", "first_moment"})]
    ['first moments', 'as printed']
    """
    wanted = set(names)
    return [b for b in reversed(BOUNDS.values()) if b.name in wanted]


def point_error_bound(
    name: str,
    guarantee: Guarantee,
    d: ArrayLike,
    sum_error: ArrayLike,
    *,
    integer: bool = True,
    max_records: float = math.inf,
) -> Array:
    """Return one lower bound on the root error C of some point query, given the sum's D.

    Parameters
    ----------
    name
        One of `BOUNDS`.
    guarantee
        Pure, approximate or zCDP.
    d
        Numbers of point queries, whole and 2 or more; any shape.
    sum_error
        Root expected squared errors D of the sum, in counts; broadcasts against ``d``.
    integer
        False gives what the formulas say at real m: a smooth curve that is no proven bound. The
        printed one knows no m.
    max_records
        The largest m, for tables of at most so many records (not for the printed one).

    Returns
    -------
    ndarray
        C in counts; 0 where the bound says nothing.

    Raises
    ------
    InputError
        An unknown name, d below 2 or not whole, a D that is not positive.

    Examples
    --------
    >>> from microdata_price.model.privacy import PureDP
    >>> point_error_bound("first_moment", PureDP(1.0), [10**3, 10**6], math.sqrt(8)).round(3)
    array([ 4.859, 11.749])
    """
    bound = find("bound", name, BOUNDS)
    points, errors = check_queries(d), check_error(sum_error, "sum error")
    return bound.point_error(
        guarantee, points, errors, integer=integer, max_records=max_records
    ).value


def sum_error_bound(
    name: str,
    guarantee: Guarantee,
    d: ArrayLike,
    point_error: ArrayLike,
    *,
    integer: bool = True,
    max_records: float = math.inf,
) -> Array:
    """Return one lower bound on the root error D of the sum, given the point queries' C.

    Parameters, errors and shapes are as for `point_error_bound`, with C for D.

    Examples
    --------
    >>> from microdata_price.model.privacy import PureDP
    >>> sum_error_bound("first_moment", PureDP(1.0), 10**6, math.sqrt(8)).round(0)
    np.float64(21458.0)
    """
    bound = find("bound", name, BOUNDS)
    points, errors = check_queries(d), check_error(point_error, "point error")
    return bound.sum_error(
        guarantee, points, errors, integer=integer, max_records=max_records
    ).value


@dataclass(frozen=True)
class LowerBounds:
    """All lower bounds on one root error, in counts; 0 where one says nothing, with a note why.

    Parameters
    ----------
    guarantee
        Pure, approximate or zCDP.
    points
        The number d of point queries.
    given
        Which error is given: ``"sum_error"`` (D) or ``"point_error"`` (C).
    amount
        The given root error.
    values
        The bounds, by name.
    branches
        The paper's own choices of k, and what each says.
    constants
        For each bound the k (printed) or m, alpha, beta and k that give it.
    notes
        What is vacuous or out of range, and why.

    Examples
    --------
    >>> from microdata_price.model.privacy import PureDP
    >>> lower_bounds(PureDP(1.0), 2, sum_error=3.0).best
    0.0
    """

    guarantee: Guarantee
    points: int
    given: Literal["sum_error", "point_error"]
    amount: float
    values: dict[str, float]
    branches: dict[str, float]
    constants: dict[str, dict[str, float]]
    notes: tuple[str, ...]

    @property
    def best(self) -> float:
        """The largest of the bounds."""
        return max(self.values.values())


def lower_bounds(
    guarantee: Guarantee,
    points: int,
    *,
    sum_error: float | None = None,
    point_error: float | None = None,
) -> LowerBounds:
    """Return every lower bound on C given D, or on D given C.

    Parameters
    ----------
    guarantee
        Pure, approximate or zCDP.
    points
        The number d of point queries, a whole number of 2 or more.
    sum_error, point_error
        D or C, in counts; give one of them.

    Raises
    ------
    InputError
        Both errors or none, an error that is not positive, d below 2 or not whole.

    Examples
    --------
    >>> from microdata_price.model.privacy import ConcentratedDP
    >>> found = lower_bounds(ConcentratedDP(0.125), 10**12, sum_error=3.0)
    >>> list(found.values) == sorted(found.values, key=found.values.get)
    True
    """
    if (sum_error is None) == (point_error is None):
        raise InputError("give either the sum error or the point error, to bound the other")
    d = np.asarray(check_queries(points))
    if d.ndim:
        raise InputError("the number of point queries must be one number; curves take arrays")
    if d > MOST_POINTS:
        raise InputError(
            f"the number of point queries is {float(d):g}; the bounds take at most {MOST_POINTS:g}"
        )
    branches, found = {}, {}
    if sum_error is not None:
        amount = check_error(sum_error, "sum error")
        found = {n: b.point_error(guarantee, d, amount) for n, b in BOUNDS.items()}
        branches = point_error_branches(guarantee, float(d), float(amount))
    elif point_error is not None:
        amount = check_error(point_error, "point error")
        found = {n: b.sum_error(guarantee, d, amount) for n, b in BOUNDS.items()}
        branches = sum_error_branches(guarantee, float(d), float(amount))
    values = {n: float(f.value) for n, f in found.items()}
    constants = {
        n: {k: float(v) for k, v in f._asdict().items() if k != "value"} if values[n] > 0 else {}
        for n, f in found.items()
    }
    given: Literal["sum_error", "point_error"]
    given = "sum_error" if sum_error is not None else "point_error"
    other = "C" if sum_error is not None else "D"
    notes = [
        f"{n} {BOUNDS[n].silent(guarantee, other, f)}" for n, f in found.items() if values[n] == 0
    ]
    notes += [f"branch {k} says nothing: {b.reason}" for k, b in branches.items() if b.reason]
    return LowerBounds(
        guarantee=guarantee,
        points=int(points),
        given=given,
        amount=float(amount),
        branches={k: b.value for k, b in branches.items()},
        constants=constants,
        notes=tuple(notes),
        values=values,
    )
