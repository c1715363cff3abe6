"""A maximum of noisy means: above the truth, less so with more runs; the split is below it."""

import functools

import numpy as np
import pandas as pd
import pytest
from sentences import EPSILONS, check_texts, numbers, says, texts

from microdata_price.exceptions import InputError
from microdata_price.model.benchmark import data_set
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.studies.max_bias import in_the_grid, maximum_against_runs, study


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


@functools.cache
def at(epsilon, data="PUMA0101301"):
    return study(epsilon, data, repeats=4, seed=3)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_sentence_is_whole_and_its_numbers_are_those_of_the_table(epsilon):
    found = at(epsilon)
    check_texts(texts(found).values())
    # OLS on an r x c table has s2 rc / ((r + 1)(c + 1)) in every query, s2 = 2 (4 / epsilon)^2.
    assert found.exact == pytest.approx(32 / epsilon**2 * 216 / 250)
    last = found.table.iloc[-1]
    assert says(found.opening, 100 * (last["plain"] / found.exact - 1), rel=0.06)
    assert says(found.known_said, last["plain"], rel=0.02)
    assert says(found.split_said, last["split"], rel=0.02)
    assert found.worst_certificate < 1e-9
    assert ("prints" in found.known_said) == (epsilon == 0.5)
    assert found.over.value > 0


def test_another_table_has_no_printed_value():
    assert at(0.5, "Level16-1d").printed is None


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_what_is_said_of_the_grid_is_recomputed_from_its_rows(epsilon):
    grid = in_the_grid("", epsilon)
    check_texts(texts(grid).values())
    gaps = {
        m: float(np.median(100 * (own["value"] / own["max_split"] - 1)))
        for m, own in grid.rows.groupby("method")
    }
    largest = max(v for m, v in gaps.items() if m != "ols")
    assert ("smaller" in grid.said) == (largest < gaps["ols"])
    assert says(grid.said, gaps["ols"], rel=0.06)
    assert says(grid.said, largest if largest > 1e-9 else 0.0, rel=0.06)
    own = pd.DataFrame(grid.known)
    assert numbers(grid.said)[0] == len(own) == 31
    assert says(grid.said, float(np.mean(100 * (own["value"] / own["exact"] - 1))), rel=0.02)
