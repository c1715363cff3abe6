"""The trade-off to its leading constant: lower and upper bounds on C over one leading term.

When the sum's error may grow a little faster than a constant, ``D = sqrt(2 ln d)/eps`` or ``D^2 =
sqrt(ln d)/(2 rho)``, the least C is ``(1 + o(1)) ln(d)/eps`` or ``(1 + o(1)) sqrt(ln(d)/rho)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...exceptions import InputError
from ...model.privacy import ConcentratedDP, PureDP
from ...theory.given import check_points
from ..lower.lower_bounds import point_error_bound
from .upper_bounds import certified

Array = NDArray[np.float64]


class Leading(NamedTuple):
    """Bounds on C at a slowly growing D, over the leading term; shape (numbers of cells,)."""

    D: Array
    """The sum's root error, in counts."""
    term: Array
    """``ln(d)/eps`` or ``sqrt(ln(d)/rho)``, in counts."""
    lower: Array
    """The first-moment bound over the term."""
    upper: Array
    """What a split budget guarantees, over the term."""


def leading_ratios(guarantee: PureDP | ConcentratedDP, d: ArrayLike) -> Leading:
    """Return both bounds when the sum gets the share ``1/sqrt(ln d)`` of the budget."""
    points = check_points(np.asarray(d, dtype=float))
    if (points < 3).any():
        raise InputError(f"the number of cells is {d!r}; the leading term needs 3 or more")
    logs = np.log(points)
    reached = certified(guarantee, points, 1 / np.sqrt(logs))
    term = guarantee.records(logs)
    lower = point_error_bound("first_moment", guarantee, points, reached.D)
    return Leading(reached.D, term, lower / term, reached.C / term)
