"""How far rounding alone may carry what is computed from what mathematics says of it."""

import mpmath as mp
import numpy as np
import pytest

# A relative error that rounding explains where nothing large cancels: each operation on doubles is
# off by at most 2^-53 of its result, so 8,000 of them, all wrong in one direction, reach it.
ROUNDING = 2.0**-40


def at_most(small, large, scale=0.0):
    """Say whether small <= large everywhere, up to rounding; scale is that of larger subtrahends.

    >>> at_most(0.1 + 0.2, 0.3), at_most(0.3 + 1e-11, 0.3), at_most([np.inf, 2.0], [np.inf, 2.0])
    (True, False, True)
    """
    small, large = np.asarray(small, dtype=float), np.asarray(large, dtype=float)
    slack = np.where(np.isinf(large), 0.0, ROUNDING * np.maximum(np.abs(large), scale))
    return bool(np.all(small <= large + slack))


def digits(many):
    """Return a fixture by which mpmath has so many in a module: ``_digits = digits(40)``."""

    @pytest.fixture(scope="module", autouse=True)
    def fixture():
        with mp.workdps(many):
            yield

    return fixture
