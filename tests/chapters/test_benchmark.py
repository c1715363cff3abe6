"""The price on the benchmark: a ratio of root errors, on every page of the chapter."""

import numpy as np
import pytest
from chapter_texts import filled

from microdata_price.chapters import experiments as ex
from microdata_price.chapters.benchmark import Findings, landmarks, price_map
from microdata_price.exceptions import InputError
from microdata_price.fitting import fit
from microdata_price.model.benchmark import data_set
from microdata_price.model.measurement import measure
from microdata_price.model.privacy import PureDP


@pytest.fixture(scope="module")
def found():
    return Findings(runs=20)


@pytest.mark.parametrize("epsilon", [10.0, 0.05])
def test_every_text_is_whole(epsilon):
    said = filled("benchmark", epsilon=epsilon, runs=8)
    assert any("at percentile" in text for text in said)


def test_a_price_is_a_ratio_of_root_errors(found):
    """The sum of one real table, fitted again with other noise, run by run."""
    data, level = data_set("PUMA1703531"), PureDP(0.5)
    m = measure(data.table, data.workload, level, runs=2000, rng=np.random.default_rng(9))
    total = data.table.sum()
    errors = {k: fit(m, k).cells.sum(axis=1) - total for k in ("nnls", "ols")}
    own = ex.of_micro(found.prices, "sum").query("dataset == 'PUMA1703531' and method == 'nnls'")
    root = np.sqrt((errors["nnls"] ** 2).mean() / own["ols"].iloc[0])
    error = 4 * np.hypot(own["price_error"].iloc[0], 0.06)
    assert abs(own["price"].iloc[0] - root) < error
    assert abs((errors["ols"] ** 2).mean() / own["ols"].iloc[0] - 1) < 0.3


def test_the_recorded_number_is_the_median_over_real_tables(found):
    rows = found.prices.query("family == 'pums' and query_set == 'sum' and method == 'nnls'")
    assert len(rows) == 15
    assert found.real["sum"]["nnls"] == pytest.approx(float(np.median(rows["price"])))
    assert found.real["sum"]["reweighted"] < 1.2 < 1.5 < found.real["sum"]["nnls"]


def test_marks_and_ends_of_the_map(found):
    places = landmarks()
    assert places["Level00"][0] == 99
    assert places["Step50"] == (49, 50)
    assert found.corners[0] > 1.1 > 1.05 > found.corners[1]
    assert found.all_but_one_empty(100, 8).loc["nnls", "sum"] == found.corners[0]
    draws = np.random.default_rng(3).laplace(scale=4.0, size=(20_000, 101))
    down = -np.sort(-np.column_stack([draws[:, 0] + 1e6, draws[:, 1:100]]))
    level = (np.cumsum(down, 1) - 1e6 - draws[:, 100:]) / np.arange(2, 102)
    level = np.where(down > level, level, -np.inf).max(1)
    off = level + draws[:, 100]  # the level is the excess over the noisy sum
    price = np.sqrt((off**2).mean() / (32 * 100 / 101))
    assert found.corners[0] == pytest.approx(price, rel=0.02)
    one, again = (price_map(PureDP(0.5), [99], [1, 50], 8, 3) for _ in range(2))
    assert one.groupby("size")["sum"].sum().nunique() == 1
    assert one.equals(again)


def test_bias_and_median_tables(found):
    assert found.bias["sum"]["sequential"] < 5 < found.bias["sum"]["nnls"]
    assert found.medians.shape == (7, 5)
    assert found.real_table["empty cells"].is_monotonic_decreasing
    assert found.hidden == pytest.approx(100 * (1 - np.exp(-4) / 2) ** 100)
    with pytest.raises(InputError, match="no OLS"):
        ex.priced(found.prices.query("method != 'ols'"))
