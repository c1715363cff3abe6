"""What two chapters say of one thing is one number, or two samples of it that agree."""

from __future__ import annotations

import functools
import math

import pandas as pd
import pytest

from microdata_price.model.benchmark import data_set
from microdata_price.model.privacy import PureDP
from microdata_price.studies import (
    complete_results,
    difficult_table,
    lower_pure,
    max_bias,
    plane,
    price_of_microdata,
    published,
    which_tables_pay,
)
from microdata_price.studies.experiments import BEYOND


@functools.cache
def listed_values() -> pd.DataFrame:
    return complete_results.study().values


@functools.cache
def prices() -> pd.DataFrame:
    return price_of_microdata.study().prices


def test_the_error_of_ols_on_a_real_table_is_one_number_in_three_chapters() -> None:
    card = published.study().card
    rows = card[card["method"].eq("ols") & card["dataset"].eq("PUMA0101301")]
    printed = rows.set_index(["query_set", "metric"])["exact"]
    values = listed_values()
    own = values[values["dataset"].eq("PUMA0101301") & values["method"].eq("ols")]
    listed = own[own["privacy"].eq("pure")].set_index(["query_set", "metric"])["exact"]
    for key in (("sum", "total"), ("identity", "total"), ("identity", "max")):
        assert printed[key] == pytest.approx(listed[key], rel=1e-12)
    assert max_bias.study().exact == pytest.approx(printed["identity", "max"], rel=1e-12)
    shape = data_set("PUMA0101301").table.shape
    share = math.prod(n / (n + 1) for n in shape)
    # Four query sets share epsilon 1/2, so each answer has the variance 2 (4 / 0.5)^2.
    assert printed["sum", "total"] == pytest.approx(128 * share, rel=1e-12)


def test_prices_beyond_the_limit_are_counted_alike() -> None:
    """One chapter counts plain means, the other sharpened ones: they part only at the limit."""
    sharpened = prices()
    keys = ["dataset", "level", "method", "query_set", "metric"]
    pure = listed_values().query("privacy == 'pure'")
    both = pure.merge(sharpened, on=keys, suffixes=("", "_sharp"), validate="one_to_one")
    micro = both[both["method"].ne("ols")]
    assert len(micro) == len(pure[pure["method"].ne("ols")])
    apart = micro[micro["beyond"] != micro["beyond_sharp"]]
    assert ((apart["price"] - BEYOND).abs() < 4 * apart["price_error"]).all()


def test_the_price_on_the_emptiest_list_agrees_in_both_chapters() -> None:
    map_ = which_tables_pay.study(runs=400)
    row = map_.at("nnls", 99, 1)
    ((_, own),) = (
        prices()
        .query("dataset == 'Level00-1d' and method == 'nnls' and query_set == 'sum'")
        .iterrows()
    )
    assert abs(row["sum"] - own["price"]) < 4 * math.hypot(row["sum_error"], own["price_error"])


def test_a_signed_answer_has_one_error_in_all_chapters() -> None:
    found = difficult_table.study(0.5, 1000, 100)
    errors = found.errors.set_index(["answers", "query"])["exactly"]
    unit = PureDP(0.5).signed_error
    assert errors["signed", "the sum"] == pytest.approx(unit**2)
    assert lower_pure.curves(0.5, (10, 1000)).signed == pytest.approx(unit)
    assert plane.study().pure.unit == pytest.approx(unit)
    # A list shares its level between two query sets as the plane's two answers do.
    assert which_tables_pay.study(0.5, 4).std == pytest.approx(unit)
