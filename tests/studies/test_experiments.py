"""The tables of the complete results: order, marks, exact values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microdata_price.exceptions import InputError
from microdata_price.fitting import paper_methods
from microdata_price.grid import evaluate
from microdata_price.model.benchmark import data_set, data_sets, names
from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.studies.experiments import (
    QUERY_NAMES,
    exact_sentence,
    experiments,
    marked,
    percentile_of,
    priced,
    result_table,
    sparsity,
    state,
)


@pytest.fixture(scope="module")
def errors() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    pairs = [
        ("Level00-1d", PureDP(0.5)),
        ("Stair-1d", PureDP(0.5)),
        ("Step16-2d", PureDP(1.0)),
        ("Level00-1d", ConcentratedDP(0.5)),
    ]
    frames = [evaluate(data_set(d), g, runs=12, rng=rng).errors for d, g in pairs]
    return pd.concat(frames, ignore_index=True)


def test_experiments_come_in_the_papers_order(errors: pd.DataFrame) -> None:
    found = [(e.privacy, e.family, e.level) for e in experiments(errors)]
    assert found == [("pure", "1d", 0.5), ("pure", "2d", 1.0), ("zcdp", "1d", 0.5)]
    assert sum(len(e.rows(errors)) for e in experiments(errors)) == len(errors)
    assert len({e.slug for e in experiments(errors)}) == len(found)


def test_prices_are_over_the_exact_error_of_ols(errors: pd.DataFrame) -> None:
    found = priced(errors)
    assert len(found) == len(errors)
    own = found[(found["query_set"] == "sum") & (found["dataset"] == "Level00-1d")]
    pure = own[own["privacy"] == "pure"]
    assert pure["ols"].to_numpy() == pytest.approx(2 * 4.0**2 * 100 / 101)
    assert (found["price"] * found["ols"]).to_numpy() == pytest.approx(found["value"].to_numpy())


def test_each_row_has_a_best_that_is_microdata_and_smallest(errors: pd.DataFrame) -> None:
    found = priced(errors)
    keys = ["dataset", "privacy", "level", "query_set", "metric"]
    for _, row in found.groupby(keys):
        micro = row[row["method"] != "ols"]
        assert not row.loc[row["method"] == "ols", ["best", "beyond"]].any(axis=None)
        assert micro.loc[micro["best"], "value"].eq(micro["value"].min()).all()
        assert micro["best"].any()
        assert (micro["beyond"] == (micro["value"] > 2 * micro["ols"])).all()


def test_a_table_has_a_row_a_data_set_and_a_column_a_method(errors: pd.DataFrame) -> None:
    found = priced(errors)
    for e in experiments(errors):
        own = e.rows(found)
        for (query_set, metric), _ in own.groupby(["query_set", "metric"]):
            table = result_table(own, query_set, metric)
            assert table.shape == (own["dataset"].nunique(), 1 + len(paper_methods()))
            best = table.map(lambda text: str(text).count("**") == 2).sum(axis=1)
            assert (best >= 1).all()
            assert "OLS has" in exact_sentence(own, query_set, metric)
    assert "sequential" in exact_sentence(own, "sum", "total")
    assert "sequential" not in exact_sentence(own, "identity", "total")


def test_a_single_run_has_no_standard_error_to_write() -> None:
    row = pd.Series({"value": 12.0, "standard_error": np.nan, "best": False, "beyond": False})
    assert marked(row) == "12"


def test_a_grid_without_ols_is_refused(errors: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="OLS"):
        priced(errors[errors["method"] != "ols"])


def test_sparsity_counts_the_tables_themselves() -> None:
    about = sparsity().set_index("dataset")
    assert list(about.index) == list(names())
    for d in data_sets():
        assert about.loc[d.name, "empty"] == int((d.table == 0).sum())
        if d.table.ndim == 2:
            assert about.loc[d.name, "empty_rows"] == int((d.table.sum(axis=1) == 0).sum())
            assert about.loc[d.name, "empty_columns"] == int((d.table.sum(axis=0) == 0).sum())


def test_every_real_table_has_a_state_and_every_query_set_a_name() -> None:
    assert all(state(name) for name in names("pums"))
    assert {q for d in data_sets() for q in d.workload.names} == set(QUERY_NAMES)


@given(st.integers(1, 300), st.floats(0.5, 50), st.floats(-20, 200))
def test_the_percentile_is_the_power_of_one_noises(count: int, scale: float, size: float) -> None:
    for noise in (Laplace(scale), Gaussian(scale)):
        expected = 100 * float(np.exp(count * noise.log_cdf(size)))
        assert percentile_of(noise, count, size) == pytest.approx(expected, abs=1e-9)
