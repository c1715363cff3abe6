"""The tables on which nonnegative answers must err (the paper's Remark 2)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..base.numbers import check_whole
from ..model.privacy import check_epsilon


def difficult_table(d: int, epsilon: float) -> NDArray[np.float64]:
    """Return a list of d cells, empty but for the first, which has ``ln(d)/epsilon`` records.

    That number is rounded up, since records are whole (the paper's Remark 2 leaves that open).
    """
    table = np.zeros(check_whole(d, "d", most=10**8))
    table[0] = math.ceil(math.log(d) / check_epsilon(epsilon))
    return table
