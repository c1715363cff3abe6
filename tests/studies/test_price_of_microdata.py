from __future__ import annotations

import numpy as np
import pytest
from sentences import EPSILONS, check_texts, numbers, says, texts

from microdata_price.grid.spec import GridSpec
from microdata_price.studies.grids import grid_part
from microdata_price.studies.price_of_microdata import Findings, glance, heat, study

MICRO = ("nnls", "maxfit", "sequential", "reweighted")


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_sentence_is_recomputed_from_the_grid(epsilon: float) -> None:
    found = study("", epsilon)
    check_texts(v for k, v in texts(found).items() if k not in ("focus", "privacy"))
    grid = grid_part("", GridSpec.choose(epsilon=[epsilon], runs=100))
    errors = grid.errors[(grid.errors["metric"] == "total") & (grid.errors["query_set"] == "sum")]
    ols = errors[errors["method"] == "ols"].set_index("dataset")["exact"]
    for method in MICRO:
        # Plain means of the same runs; the page's are sharpened by OLS as a control.
        own = errors[errors["method"] == method].set_index("dataset")
        ratio, spread = own["value"] / ols, own["standard_error"] / ols
        prices = found.prices[
            (found.prices["method"] == method)
            & (found.prices["query_set"] == "sum")
            & (found.prices["metric"] == "total")
        ].set_index("dataset")["price"]
        assert (np.abs(prices - ratio) < 6 * spread + 0.02).all(), method
    beyond = int((found.matrices["sum"].to_numpy() > 2).sum())
    assert numbers(found.opening)[:2] == [beyond, 4 * 31]
    sums = grid.queries[grid.queries["query_set"] == "sum"]
    shares = {
        m: float(np.median(own["bias"] ** 2 / own["mean_squared_error"]))
        for m, own in sums.groupby("method")
    }
    mostly = min(shares["nnls"], shares["maxfit"])
    if abs(mostly - 0.5) > 0.1:
        assert ("mostly bias" in found.bias_said) == (mostly > 0.5)
    assert "one level" in found.trend_said
    assert "with 1 level each" in found.map_picture.alt
    assert says(found.level00_said, float(ratio_of(found)), rel=0.02)


def ratio_of(found: Findings) -> float:
    p = found.prices
    own = p[(p["dataset"] == "Level00-1d") & (p["query_set"] == "sum") & (p["method"] == "nnls")]
    return float(own["price"].iloc[0])


def test_families_are_apart_in_the_map() -> None:
    for _, tables, values, ends in heat(study()):
        assert len(tables) == len(values)
        assert all(0 < e < len(tables) for e in ends)


def test_the_map_at_a_glance_has_the_median_of_each_tables_prices() -> None:
    found = study()
    laid = {title: values for title, _, values, _ in glance(found)}
    own = found.prices[found.prices["metric"].eq("total")]
    for query_set, title in found.query_names.items():
        prices = own[own["query_set"].eq(query_set)]
        groups = prices[prices["method"].isin(MICRO)].groupby(["dataset", "method"])["price"]
        expected = sorted(float(np.median(v)) for _, v in groups)
        values = laid[title]
        assert sorted(values[~np.isnan(values)]) == pytest.approx(expected)
        dear = sum(v > 2 for v in expected)
        assert f"{dear} of {len(expected)} on the {title}" in found.glance_picture.text
