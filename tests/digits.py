"""How many digits mpmath works with, set for one module of tests and put back after it."""

import mpmath as mp
import pytest


def digits(many):
    """Return a fixture that every test of the module uses: ``_digits = digits(40)``."""

    @pytest.fixture(scope="module", autouse=True)
    def fixture():
        with mp.workdps(many):
            yield

    return fixture
