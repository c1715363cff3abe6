"""Section 5's claims: what the printed values say is known by counting them by hand."""

import numpy as np
import pytest

from microdata_price.studies.claims import ratios, section5_claims
from microdata_price.studies.scorecard import published_tables


@pytest.fixture
def card():
    """The published values, taken as our own, with an OLS that is exact."""
    card = published_tables().rename(columns={"squared_error": "published"})
    card["value"] = card["published"]
    card["exact"] = np.where(card["method"] == "ols", card["published"], np.nan)
    card["standard_error"] = 0.04 * card["value"]
    return card


def test_published_rows_at_four_to_five_times_ols(card):
    nnls, maxfit = section5_claims(card)[:2]
    assert nnls.published.startswith("5 of 16 rows")
    assert maxfit.published.startswith("4 of 16 rows")
    assert not nnls.holds
    assert not maxfit.holds


def test_a_claim_is_judged_by_our_values_and_not_by_the_published(card):
    card["value"] = np.where(card["method"] == "nnls", 4.5 * 107.2, card["value"])
    card["exact"] = np.where(card["method"] == "ols", 107.2, np.nan)
    nnls = section5_claims(card)[0]
    assert nnls.holds
    assert nnls.ours.startswith("16 of 16 rows")


def test_standard_errors_outside_the_stated_range_refute_the_claim(card):
    stated = next(c for c in section5_claims(card) if "Standard errors" in c.says)
    card["standard_error"] = 0.10 * card["value"]
    wrong = next(c for c in section5_claims(card) if "Standard errors" in c.says)
    assert stated.holds
    assert not wrong.holds


def test_our_ratios_are_over_the_exact_error_of_ols(card):
    card["exact"] = np.where(card["method"] == "ols", 50.0, np.nan)
    assert (ratios(card, "value", "sum", "total")["ols"] > 2).all()
    assert (ratios(card, "published", "sum", "total")["ols"] == 1).all()


def claim(card, words):
    return next(c for c in section5_claims(card) if words in c.says)


def test_the_noise_beside_ols_is_that_of_four_query_sets(card):
    stated = claim(card, "close to the variance")
    assert stated.published == "0.79 to 0.84 times it"  # 101.3 and 107.2 over 2 (4 / 0.5)^2 = 128
    assert stated.holds
    card["exact"] = np.where(card["method"] == "ols", 60.0, np.nan)
    assert not claim(card, "close to the variance").holds


def test_one_extreme_error_of_reweighted_fitting_refutes_the_claim(card):
    assert claim(card, "avoid errors").holds
    one = (card["method"] == "reweighted") & (card["metric"] == "max")
    card.loc[card.index[one][0], "value"] = 10 * card["exact"].max()
    refuted = claim(card, "avoid errors")
    assert not refuted.holds
    assert "(the worst cell)" in refuted.ours


def test_likeness_is_judged_over_all_three_columns(card):
    assert claim(card, "similar").holds
    card.loc[card["method"] == "sequential", "value"] *= 3
    assert not claim(card, "similar").holds


def test_optimism_is_counted_against_the_exact_value_where_it_is_known(card):
    assert claim(card, "optimistically").ours.startswith(
        "the published value is the lower one in 0 "
    )
    card.loc[card["method"] == "maxfit", "value"] *= 1.1
    card.loc[(card["method"] == "sequential") & (card["query_set"] == "sum"), "exact"] = 1e3
    stated = claim(card, "optimistically")
    assert " in 64 of 96 " in stated.ours
    assert stated.holds
