"""No price in the mean over cells: the projection's mean squared error is a signed answer's.

Of all points x >= 0 with sum ``max(0, q* + w)`` the fit is nearest to ``q + z``, and, as the sum
is fixed, nearest to ``q + z`` plus any constant: centre z at its mean over the cells. If ``w >= 0``
the table shifted by ``w/d`` has that sum; if ``w < 0`` one with ``|w|`` records fewer (or none). So
``|x - q| <= |z - mean z| + w+/sqrt d + 2 w-`` in Euclidean norm, for every table and outcome.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ...model.privacy import ConcentratedDP, PureDP
from ..given import check_cells


def cell_mean_bound(z: ArrayLike, w: float) -> float:
    """Bound the Euclidean norm of all cells' errors for one outcome of the noise, on every table.

    Examples
    --------
    >>> cell_mean_bound([1.0, -1.0], -0.5) == math.sqrt(2) + 1
    True
    """
    noise = np.asarray(z, dtype=float)
    spread = float(np.linalg.norm(noise - noise.mean()))
    return spread + max(w, 0.0) / math.sqrt(noise.size) + 2 * max(-w, 0.0)


def mean_bound(guarantee: PureDP | ConcentratedDP, d: float) -> float:
    """Bound the root of the mean over cells of M''s expected squared error, on every table.

    ``sd(z) + 2 |w-|/sqrt d + |w+|/d``: the signed answers' error times ``1 + sqrt(2/d) + 1/(sqrt 2
    d)``. Beside it D is a signed answer's.
    """
    n = check_cells(d)
    half = guarantee.basis.scaled(0.5).noise().std / math.sqrt(2)
    return half * math.sqrt(2) + 2 * half / math.sqrt(n) + half / n
