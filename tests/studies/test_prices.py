"""Prices over a grid and over the map of lists."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.grid import evaluate
from microdata_price.grid.tables import squared_parts
from microdata_price.model.benchmark import data_set
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.studies.experiments import priced
from microdata_price.studies.price_map import EMPTIES, SIZES, landmarks, price_map, two_part_list
from microdata_price.studies.prices import (
    MICRO,
    bias_shares,
    medians,
    price_matrix,
    rank_correlations,
    sharpened,
    with_sparsity,
)


@pytest.fixture(scope="module")
def grid() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(4)
    found = [
        evaluate(data_set(d), g, runs=40, rng=rng)
        for d in ("Level00-1d", "Stair-1d", "Step16-2d", "PUMA0101301")
        for g in (PureDP(0.5), ConcentratedDP(0.125))
    ]
    return (
        pd.concat([t.errors for t in found], ignore_index=True),
        pd.concat([t.queries for t in found], ignore_index=True),
    )


def test_what_is_known_exactly_is_not_estimated(grid: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    found = sharpened(priced(grid[0]))
    ols = found[found["method"] == "ols"]
    assert ols["price"].to_numpy() == pytest.approx(1)
    assert (ols["price_error"] == 0).all()
    held = found[(found["method"] == "sequential") & (found["query_set"] == "sum")]
    assert (held["price_error"] == 0).all()
    rest = found[found["exact"].isna()]
    assert (rest["price_error"] > 0).all()


def test_the_matrix_holds_every_price_once(grid: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    found = priced(grid[0])
    matrix = price_matrix(found, "identity")
    assert matrix.shape == (4, len(MICRO) * 2)
    assert list(matrix.index)[:2] == ["Level00-1d", "Stair-1d"]
    own = found[found["query_set"].eq("identity") & found["metric"].eq("total")]
    for row in own[own["method"] != "ols"].itertuples():
        assert matrix.loc[row.dataset, (row.method, row.privacy, row.level)] == row.price


def test_bias_and_variance_add_up_to_the_error(grid: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    errors, queries = grid
    shares = bias_shares(queries)
    assert shares["share"].between(0, 1).all()
    keys = ["dataset", "privacy", "level", "method", "query_set"]
    totals = errors[errors["metric"] == "total"].set_index(keys)["value"]
    both = shares.set_index(keys)[["squared_bias", "variance"]].sum(axis=1)
    expected = totals.loc[both.index].to_numpy()
    # A bias that its own noise explains is cut at zero, which can only add.
    assert (both.to_numpy() >= expected * (1 - 1e-9)).all()
    assert np.median(both.to_numpy() / expected) == pytest.approx(1, abs=0.01)


@given(st.floats(-5, 5), st.floats(0.1, 5), st.integers(2, 50))
def test_the_noise_of_an_estimated_bias_is_taken_off(mu: float, sd: float, runs: int) -> None:
    # The plain parts have the expectations mu^2 + sd^2/n and sd^2 (n-1)/n.
    frame = pd.DataFrame(
        {
            "k": ["a"],
            "bias": [np.sqrt(mu**2 + sd**2 / runs)],
            "variance": [sd**2 * (runs - 1) / runs],
            "runs": [runs],
        }
    )
    squared_bias, variance = squared_parts(frame, ["k"]).to_numpy()[0]
    assert squared_bias == pytest.approx(mu**2, abs=1e-9)
    assert variance == pytest.approx(sd**2)


def test_medians_lie_between_the_extremes(grid: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    table = medians(priced(grid[0]))
    assert (table["low"] <= table["median"]).all()
    assert (table["median"] <= table["high"]).all()
    assert (table["noise"] > 0).all()
    assert len(table) == 2 * 3 * len(MICRO) * 2


def test_correlations_are_those_of_ranks(grid: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    found = rank_correlations(with_sparsity(priced(grid[0])))
    assert found["correlation"].between(-1, 1).all()
    assert len(found) == 2 * len(MICRO)


def test_lists_of_the_map_have_what_they_say() -> None:
    for empty in (0, 49, 99):
        data = two_part_list(empty, 16)
        assert data.empty_cells == empty
        assert data.table.sum() == 10_000 + 16 * (99 - empty)
    with pytest.raises(InputError, match="empty is 100"):
        two_part_list(100, 1)


def test_every_landmark_is_a_place_of_the_map_and_the_benchmarks_list() -> None:
    for name, empty, size in landmarks().itertuples(index=False):
        assert empty in EMPTIES
        assert size in (0, *SIZES)
        mine = np.sort(two_part_list(empty, max(size, 1)).table)
        assert mine.tolist() == np.sort(data_set(f"{name}-1d").table).tolist()


def test_the_map_agrees_with_the_benchmark_within_its_noise() -> None:
    made = price_map(PureDP(0.5), [49], [16], runs=400, seed=1).set_index("method")
    rng = np.random.default_rng(5)
    own = sharpened(priced(evaluate(data_set("Step16-1d"), PureDP(0.5), runs=400, rng=rng).errors))
    own = own[own["query_set"].eq("sum")].set_index("method")
    for method in MICRO:
        apart = abs(made.loc[method, "sum"] - own.loc[method, "price"])
        noise = np.hypot(made.loc[method, "sum_error"], own.loc[method, "price_error"])
        assert apart <= 5 * noise + 1e-9


def test_with_one_cell_filled_the_others_size_does_not_matter() -> None:
    made = price_map(PureDP(0.5), [9], [1, 50], runs=20, seed=1, cells=10)
    one, other = (made[made["size"] == s].drop(columns="size").to_numpy() for s in (1, 50))
    assert (one == other).all()
