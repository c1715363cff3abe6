"""How far rounding alone may carry what is computed from what mathematics says of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

ROUNDING = 2.0**-40
"""A relative error that rounding explains, with room to spare, where nothing large cancels.

Each operation on doubles is off by at most 2^-53 of its result, and one on positive numbers passes
the errors of its arguments on unmagnified; so it takes 8,000 of them in a row, all wrong in the
same direction, to be off by this much. A wrong formula is off by far more.
"""


def at_most(small: ArrayLike, large: ArrayLike, scale: ArrayLike = 0.0) -> bool:
    """Say whether ``small <= large`` holds, everywhere, up to rounding.

    Parameters
    ----------
    small, large
        Computed numbers; they broadcast.
    scale
        The size of numbers that were subtracted on the way, where they are larger than both.

    Examples
    --------
    >>> at_most(0.1 + 0.2, 0.3), at_most(0.3 + 1e-11, 0.3), at_most([np.inf, 2.0], [np.inf, 2.0])
    (True, False, True)
    """
    small, large = np.asarray(small, dtype=float), np.asarray(large, dtype=float)
    slack = np.where(np.isinf(large), 0.0, ROUNDING * np.maximum(np.abs(large), scale))
    return bool(np.all(small <= large + slack))
