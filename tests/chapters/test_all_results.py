"""All results: one table, one file, one picture, and no number that the grid does not have."""

import io

import numpy as np
import pandas as pd
import pytest
from chapter_texts import filled, says

from microdata_price.chapters.all_results import COLUMNS, NBSP, Findings


@pytest.fixture(scope="module")
def found():
    return Findings()


@pytest.mark.parametrize("levels", [{}, {"epsilon": 10.0, "rho": 50.0}], ids=str)
def test_every_text_is_whole(levels, found):
    said = filled("all_results", **levels)
    assert levels or says(said[0], found.pairs)


def test_a_row_for_each_experiment_query_set_and_error(found):
    assert len(found.experiments) == 6
    assert found.table.shape == (2 * (3 + 7 + 7), 7)
    assert found.table.iloc[:, :3].duplicated().sum() == 0
    plain = found.table.replace(NBSP, " ", regex=True)
    row = plain.query("tables == '9 × 24' and level == 'ρ = 0.125'").iloc[0]
    own = found.prices.query(
        "family == 'pums' and privacy == 'zcdp' and query_set == 'sum' and method == 'nnls'"
    )
    assert row["NNLS"] == f"{own['price'].median():.2f} ({own['price'].max():.2f})"


def test_the_file_holds_every_value(found):
    table = pd.read_csv(io.StringIO(found.csv))
    assert tuple(table.columns) == COLUMNS
    assert len(table) == len(found.prices) == 2 * 5 * (8 * 3 + 23 * 7)
    known = table.dropna(subset=["exact"])
    price = np.sqrt(known["exact"] / known["ols"])
    np.testing.assert_allclose(known["price"], price, rtol=1e-5)
    ols = table[table["method"] == "ols"]
    assert (ols["price"] == 1).all()


def test_counts_by_hand(found):
    sums = found.prices.query("query_set == 'sum' and method != 'ols'")
    wide = sums.pivot(index=["dataset", "privacy"], columns="method", values="price")
    assert found.pairs == len(wide) == 62
    assert found.best["reweighted"] == (wide["reweighted"] <= wide.min(axis=1)).sum()
    assert found.dear("nnls", "sum", "total") == (wide["nnls"] > 1.5).sum()
    assert found.largest["price"] >= wide.to_numpy().max()
