"""The benchmark's pages: whole texts, and prices, frozen facts and counts in another way."""

import io

import numpy as np
import pandas as pd
import pytest
from chapter_texts import filled

from microdata_price.base.data import data_path
from microdata_price.chapters import all_results, benchmark, first_order, how_checked, scorecard
from microdata_price.chapters import experiments as ex
from microdata_price.chapters.grids import grid_part
from microdata_price.chapters.published import published_tables
from microdata_price.exceptions import InputError
from microdata_price.grid import GridSpec, run_grid
from microdata_price.model.benchmark import data_set
from microdata_price.model.measurement import measure
from microdata_price.model.noise import Laplace
from microdata_price.model.privacy import PureDP


@pytest.fixture(scope="module")
def card():
    return scorecard.Findings(runs=10, repeats=2)


def test_the_table_and_the_file_hold_every_price_and_counts_are_those_by_hand():
    results = all_results.Findings()
    assert (len(results.experiments), results.table.shape) == (6, (2 * (3 + 7 + 7), 7))
    assert results.table.iloc[:, :3].duplicated().sum() == 0
    plain = results.table.replace(all_results.NBSP, " ", regex=True)
    row = plain.query("tables == '9 × 24' and level == 'ρ = 0.125'").iloc[0]
    at = "family == 'pums' and privacy == 'zcdp' and query_set == 'sum' and method == 'nnls'"
    own = results.prices.query(at)
    assert row["NNLS"] == f"{own['price'].median():.2f} ({own['price'].max():.2f})"
    table = pd.read_csv(io.StringIO(results.csv))
    assert tuple(table.columns) == all_results.COLUMNS
    assert len(table) == len(results.prices) == 2 * 5 * (8 * 3 + 23 * 7)
    best = table["estimate_cv"].where(table["metric"].eq("total")).fillna(table["value"])
    price = np.sqrt(table["exact"].fillna(best) / table["ols"])
    np.testing.assert_allclose(table["price"], price, rtol=1e-5)
    assert (table.query("method == 'ols'")["price"] == 1).all()
    sums = results.prices.query("query_set == 'sum' and method != 'ols'")
    wide = sums.pivot(index=["dataset", "privacy"], columns="method", values="price")
    assert results.pairs == len(wide) == 62
    assert 0 < results.least("reweighted") < (wide["reweighted"] <= wide.min(axis=1)).sum()
    assert results.dear("nnls", "sum", "total") == (wide["nnls"] > 1.5).sum()
    assert results.largest["price"] >= wide.to_numpy().max()


def test_medians_bias_the_hidden_share_and_marks_and_ends_of_the_map():
    prices = benchmark.Findings(runs=20)
    rows = prices.prices.query("family == 'pums' and query_set == 'sum' and method == 'nnls'")
    assert prices.real["sum"]["nnls"] == pytest.approx(float(np.median(rows["price"])))
    assert prices.real["sum"]["reweighted"] < 1.2 < 1.5 < prices.real["sum"]["nnls"]
    assert prices.bias["sum"]["sequential"] < 5 < prices.bias["sum"]["nnls"]
    assert (len(rows), prices.medians.shape) == (15, (7, 5))
    assert prices.real_table["empty cells"].is_monotonic_decreasing
    assert prices.hidden == pytest.approx(100 * (1 - np.exp(-4) / 2) ** 100)
    with pytest.raises(InputError, match="no OLS"):
        ex.priced(prices.prices.query("method != 'ols'"))
    places = benchmark.landmarks()
    assert (places["Level00"][0], places["Step50"]) == (99, (49, 50))
    alone = prices.at("nnls", 99, 1)["sum"]
    assert alone > 1.1 > 1.05 > prices.at("nnls", 0, 200)["sum"]
    assert ["±" in text for text in prices.corners[::2]] == [False, True]
    said = " ".join(filled("benchmark", epsilon=9.0, runs=9))
    assert "Small cells cost next to nothing" in said
    own = ex.of_micro(benchmark.Findings(epsilon=9.0, runs=9).prices, "sum")["price"]
    assert f"red, are {(own.round(9) > 1).sum()} of {own.size} prices" in said
    assert prices.all_but_one_empty(100, 8).loc["nnls", "sum"] == alone
    draws = np.random.default_rng(3).laplace(scale=4.0, size=(20_000, 101))
    down = -np.sort(-np.column_stack([draws[:, 0] + 1e6, draws[:, 1:100]]))
    level = (np.cumsum(down, 1) - 1e6 - draws[:, 100:]) / np.arange(2, 102)
    level = np.where(down > level, level, -np.inf).max(1)  # the excess over the noisy sum
    price = np.sqrt(((level + draws[:, 100]) ** 2).mean() / (32 * 100 / 101))
    assert alone == pytest.approx(price, rel=0.02)
    one, again = (benchmark.price_map(PureDP(0.5), [99], [1, 50], 8, 3) for _ in range(2))
    assert (one.groupby("size")["sum"].sum().nunique(), one.equals(again)) == (1, True)


def test_shares_of_bias_scatter_no_more_than_their_errors_say():
    size = 200, 50, 2  # repeats, runs, queries
    e = np.random.default_rng(5).normal([3.0, 0.0], [2.0, 3.0], size)
    told = {"bias": e.mean(1), "variance": e.var(1), "standard_error": (e * e).std(1) / 49**0.5}
    rows = pd.DataFrame({name: values.ravel() for name, values in told.items()})
    same = {"family": "1d", "privacy": "pure", "level": 1.0, "method": "nnls", "runs": 50}
    rows = rows.assign(dataset=np.repeat(range(200), 2), query_set="identity", **same)
    shares = ex.bias_shares(rows)
    assert shares["share"].mean() == pytest.approx(9 / 22, abs=0.02)
    assert 1 < shares["error"].mean() / shares["share"].std() < 3


def test_section_5_numbers_exact_printed_and_by_hand(card):
    assert "runs, in place of 1,000" in filled("scorecard", runs=10, repeats=2, epsilon=10.0)[0]
    assert [round(v, 3) for v in card.ols_sums["exact"]] == [105.785, *15 * [110.592]]
    real = published_tables().query("dataset != 'Level00-2d'").set_index("method")
    sums = real[real["query_set"] == "sum"]["squared_error"]
    assert set(sums["ols"]) == {*card.ols_sums["published"][1:]} == {107.2}
    assert sums["sequential"].nunique() == card.sums["published"][1:].nunique() == 15
    assert card.sums["exact"].round(6).unique().tolist() == [2 * (4 / 0.5) ** 2]
    far = abs(card.sums["published"] - 128) / (128 * np.sqrt(5 / 1000))  # whatever our runs
    assert card.sums_far[1:3] == (pytest.approx(max(far)), sum(far > 2))
    assert card.exact == pytest.approx(110.592)
    by = card.card.set_index(["query_set", "metric", "method", "dataset"]).sort_index()
    nnls, ols = (by.loc[("sum", "total", m), "published"] for m in ("nnls", "ols"))
    assert card.theirs.four_to_five("nnls") == sum(4 <= r <= 5 for r in nnls / ols) == 5
    assert card.theirs.span("nnls") == f"{min(nnls / ols):.2f} to {max(nnls / ols):.2f}"
    own = [by.loc[("identity", "max", m), "value"] for m in ("nnls", "reweighted")]
    assert card.ours.lower_worst == sum(own[0] < own[1])
    ends = [float(x) for x in card.ours.over_noise.split(" to ")]
    assert ends == pytest.approx([105.785 / 128, 110.592 / 128], abs=0.01)


def test_the_imitation_agrees_where_it_succeeds(card):
    assert [t.kept.size for t in card.trials] == [10, 2, 2]
    assert (scorecard.Findings(runs=100_000).runs, card.apart < 0.5) == (100, True)
    assert [t.kept.all() for t in card.trials[::2]] == [False, True]
    # A stage that fails leaves a run out, and its number is told.
    data = data_set("Level00-2d")
    m = measure(data.table, data.workload, PureDP(0.5), runs=3, rng=np.random.default_rng(1))
    again = first_order.imitate(m, "sequential")
    assert (again.solved == (again.stages == 0)).all()
    assert set(again.stages) <= {0, 1, 2, 3, 4}
    with pytest.raises(InputError, match="nnls"):
        first_order.imitate(m, "nnls")


def test_the_split_and_the_plain_maximum_bracket_the_truth(card):
    table = card.maxima
    assert (table["plain"] > table["exact"]).all()
    assert table["plain"].is_monotonic_decreasing
    far = (table["split"] - table["exact"]).abs()
    assert (far < 8 * table["split_error"] + 0.05 * table["exact"]).all()
    squared = Laplace(1.0).sample(np.random.default_rng(5), (30, 1000, 216)) ** 2 / 2
    assert squared.mean(axis=1).max(axis=1).mean() - 1 == pytest.approx(0.2, abs=0.02)
    assert 10 < card.last["over"].value < 30


def test_what_was_checked():
    found = how_checked.Findings("")
    assert found.held == len(found.audits) > 0
    written, table = pd.read_csv(data_path("checks.csv")), found.table
    assert set(written["check"]) == set(how_checked.CHECKS)
    assert sorted(table["number"][1:]) == sorted(written["tried"])
    assert (written["passed"] <= written["tried"]).all()
    # 31 tables, two levels, five methods, 100 runs: a reader's own small grid.
    assert table["number"][0] == 31 * 2 * 5 * 100


def test_a_grid_without_what_a_chapter_needs_is_refused(tmp_path):
    spec = GridSpec.choose(datasets=["Stair-1d"], epsilon=[0.5], methods=["ols"], runs=4)
    run_grid(spec, tmp_path / "grid", workers=1)
    more = GridSpec.choose(datasets=["Stair-1d", "Stair-2d"], epsilon=[0.5], methods=["nnls"])
    with pytest.raises(InputError, match=r"grid lacks nnls, Stair-2d; compute one with"):
        grid_part(str(tmp_path / "grid"), more)
