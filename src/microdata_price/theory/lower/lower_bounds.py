"""Every lower bound on one error, given the other: Theorem 3 as printed, and what sharpens it.

A mechanism that outputs nonnegative tables has root expected squared errors of at most C on every
point query and at most D on their sum, on every table. Given one, each bound is a value below which
the other cannot be; 0 where it says nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...exceptions import InputError, unknown_name
from ...model.privacy import ConcentratedDP, Guarantee
from ..given import MOST_POINTS, check_error, check_queries
from .moment_bounds import MomentBound, moment_point_error, moment_sum_error
from .packing_bounds import PackingBound, packing_point_error, packing_sum_error
from .printed_bounds import Printed, printed_point_error, printed_sum_error
from .printed_branches import point_error_branches, sum_error_branches

Array = NDArray[np.float64]

NAMES = ("printed", "optimised", "packing_empty", "first_moment")
"""The bounds: as the paper prints it, and three of ours, each at most the true price."""

Name = Literal["printed", "optimised", "packing_empty", "first_moment"]


def point_error_bound(
    name: Name,
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
        One of `NAMES`.
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
    points, errors = check_queries(d), check_error(sum_error, "sum error")
    if name == "printed":
        _no_limit(max_records)
        return printed_point_error(guarantee, points, errors).value
    if name == "first_moment":
        return moment_point_error(
            guarantee, points, errors, integer=integer, max_records=max_records
        ).value
    if name not in NAMES:
        raise unknown_name("bound", name, NAMES)
    return packing_point_error(
        guarantee,
        points,
        errors,
        "close" if name == "optimised" else "empty",
        integer=integer,
        max_records=max_records,
    ).value


def sum_error_bound(
    name: Name,
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
    points, errors = check_queries(d), check_error(point_error, "point error")
    if name == "printed":
        _no_limit(max_records)
        return printed_sum_error(guarantee, points, errors).value
    if name == "first_moment":
        return moment_sum_error(
            guarantee, points, errors, integer=integer, max_records=max_records
        ).value
    if name not in NAMES:
        raise unknown_name("bound", name, NAMES)
    return packing_sum_error(
        guarantee,
        points,
        errors,
        "close" if name == "optimised" else "empty",
        integer=integer,
        max_records=max_records,
    ).value


def _no_limit(max_records: float) -> None:
    if not math.isinf(max_records):
        raise InputError("the printed bound cannot be limited to small tables; use another one")


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
    printed, optimised, packing_empty, first_moment
        The bounds.
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
    printed: float
    optimised: float
    packing_empty: float
    first_moment: float
    branches: dict[str, float]
    constants: dict[str, dict[str, float]]
    notes: tuple[str, ...]

    @property
    def best(self) -> float:
        """The largest of the bounds."""
        return max(self.printed, self.optimised, self.packing_empty, self.first_moment)


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
    >>> found.printed < found.optimised < found.packing_empty < found.first_moment
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
    if sum_error is not None:
        amount = check_error(sum_error, "sum error")
        printed = printed_point_error(guarantee, d, amount)
        packings = [packing_point_error(guarantee, d, amount, b) for b in ("close", "empty")]
        moment = moment_point_error(guarantee, d, amount)
        branches = point_error_branches(guarantee, float(d), float(amount))
    else:
        amount = check_error(point_error, "point error") if point_error is not None else d
        printed = printed_sum_error(guarantee, d, amount)
        packings = [packing_sum_error(guarantee, d, amount, b) for b in ("close", "empty")]
        moment = moment_sum_error(guarantee, d, amount)
        branches = sum_error_branches(guarantee, float(d), float(amount))
    found: list[Printed | PackingBound | MomentBound] = [printed, *packings, moment]
    values = {n: float(f.value) for n, f in zip(NAMES, found, strict=True)}
    constants = {
        n: {k: float(v) for k, v in f._asdict().items() if k != "value"} if values[n] > 0 else {}
        for n, f in zip(NAMES, found, strict=True)
    }
    given: Literal["sum_error", "point_error"]
    given = "sum_error" if sum_error is not None else "point_error"
    other = "C" if sum_error is not None else "D"
    notes = [_why(n, guarantee, other, moment.m) for n in NAMES if values[n] == 0]
    notes += [f"branch {k} says nothing: {b.reason}" for k, b in branches.items() if b.reason]
    return LowerBounds(
        guarantee=guarantee,
        points=int(points),
        given=given,
        amount=float(amount),
        branches={k: b.value for k, b in branches.items()},
        constants=constants,
        notes=tuple(notes),
        **values,
    )


def _why(name: str, guarantee: Guarantee, other: str, m: Array) -> str:
    """Say why a bound is 0."""
    if name == "printed":
        zcdp = isinstance(guarantee, ConcentratedDP)
        y = "0.6006 <= y <= 1 or y >= 1.2011" if zcdp else "y >= 1/2"
        tried = f"at no k with y = 2C + k in the range where it is true ({y})"
    elif name != "first_moment":
        tried = "at no whole number of records, alpha and beta"
    elif other == "D" and m > 0:
        return f"first_moment is below the smallest number that can be written (m = {float(m):g})"
    else:
        tried = "at no whole number of records"
    return f"{name} says nothing: {tried} does it exclude any {other}"
