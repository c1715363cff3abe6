"""The scorecard: its texts, frozen facts of the printed tables, and what selection does."""

import numpy as np
import pytest
from chapter_texts import filled, says

from microdata_price.chapters import first_order
from microdata_price.chapters.published import published_tables
from microdata_price.chapters.scorecard import Findings
from microdata_price.exceptions import InputError
from microdata_price.model.benchmark import data_set
from microdata_price.model.measurement import measure
from microdata_price.model.noise import Laplace
from microdata_price.model.privacy import PureDP

FEW = {"runs": 10, "repeats": 2}


@pytest.fixture(scope="module")
def found():
    return Findings(**FEW)


@pytest.mark.parametrize("epsilon", [0.5, 10.0, 0.05])
def test_every_text_is_whole(epsilon, found):
    said = filled("scorecard", epsilon=epsilon, **FEW)
    assert says(said[0], found.agree)
    assert any(text.startswith("| claim |") and text.count("\n") == 12 for text in said)


def test_exact_and_printed_values_of_the_sum(found):
    assert [round(v, 3) for v in found.ols_sums["exact"]] == [105.785, *15 * [110.592]]
    real = published_tables().query("dataset != 'Level00-2d'").set_index("method")
    sums = real[real["query_set"] == "sum"]["squared_error"]
    assert set(sums["ols"]) == {*found.ols_sums["published"][1:]} == {107.2}
    assert sums["sequential"].nunique() == found.sums["published"][1:].nunique() == 15
    assert found.sums["exact"].round(6).unique().tolist() == [2 * (4 / 0.5) ** 2]
    assert found.exact == pytest.approx(110.592)


def test_section_5_numbers_by_hand(found):
    card = found.card.set_index(["query_set", "metric", "method", "dataset"]).sort_index()
    nnls, ols = (card.loc[("sum", "total", m), "published"] for m in ("nnls", "ols"))
    assert found.theirs.four_to_five("nnls") == sum(4 <= r <= 5 for r in nnls / ols) == 5
    assert found.theirs.span("nnls") == f"{min(nnls / ols):.2f} to {max(nnls / ols):.2f}"
    reweighted = card.loc[("identity", "max", "reweighted"), "value"]
    own = card.loc[("identity", "max", "nnls"), "value"]
    assert found.ours.lower_worst == sum(own < reweighted)
    low, high = map(float, found.ours.over_noise.split(" to "))
    assert low == pytest.approx(105.785 / 128, abs=0.01)
    assert high == pytest.approx(110.592 / 128, abs=0.01)


def test_the_imitation_agrees_where_it_succeeds(found):
    assert [t.kept.size for t in found.trials] == [10, 2, 2]
    assert Findings(runs=100_000).runs == 100
    assert found.apart < 0.5
    assert found.trials[2].kept.all()
    assert not found.trials[0].kept.all()
    # A stage that fails leaves a run out, and its number is told.
    data = data_set("Level00-2d")
    m = measure(data.table, data.workload, PureDP(0.5), runs=3, rng=np.random.default_rng(1))
    again = first_order.imitate(m, "sequential")
    assert (again.solved == (again.stages == 0)).all()
    assert set(again.stages) <= {0, 1, 2, 3, 4}
    with pytest.raises(InputError, match="nnls"):
        first_order.imitate(m, "nnls")


def test_the_split_and_the_plain_maximum_bracket_the_truth(found):
    table = found.maxima
    assert (table["plain"] > table["exact"]).all()
    assert table["plain"].is_monotonic_decreasing
    far = (table["split"] - table["exact"]).abs()
    assert (far < 8 * table["split_error"] + 0.05 * table["exact"]).all()
    rng = np.random.default_rng(5)
    squared = Laplace(1.0).sample(rng, (30, 1000, 216)) ** 2 / 2
    assert squared.mean(axis=1).max(axis=1).mean() - 1 == pytest.approx(0.2, abs=0.02)
    assert 10 < found.last["over"] < 30
