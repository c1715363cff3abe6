"""A maximum of noisy means: above the truth, less so with more runs; the split is below it."""

import numpy as np
import pytest

from microdata_price.exceptions import InputError
from microdata_price.model.benchmark import data_set
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.studies.maxima import maximum_against_runs


@pytest.mark.parametrize("guarantee", [PureDP(0.5), ConcentratedDP(0.125)])
def test_plain_and_split_bracket_the_exact_maximum(guarantee):
    rng = np.random.default_rng(5)
    table = maximum_against_runs(
        data_set("Level00-2d"), guarantee, "ols", [20, 80, 320], repeats=30, rng=rng
    )
    exact = table["exact"].iloc[0]
    assert (table["plain"] > exact).all()
    assert table["plain"].is_monotonic_decreasing
    # All cells of OLS are equal, so the chosen one is no worse than any other: the split has no
    # bias at all, in either direction.
    assert (np.abs(table["split"] - exact) < 5 * table["split_error"]).all()


@pytest.mark.parametrize(("runs", "repeats"), [([1], 5), ([10], 1), ([10, 0], 3)])
def test_too_few_are_refused(runs, repeats):
    with pytest.raises(InputError, match="2 or more of each"):
        maximum_against_runs(
            data_set("Level00-2d"),
            PureDP(0.5),
            "ols",
            runs,
            repeats=repeats,
            rng=np.random.default_rng(1),
        )
