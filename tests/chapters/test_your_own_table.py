"""Your own table: what the texts say, recomputed, and a table of one's own."""

import numpy as np
import pandas as pd
import pytest
from chapter_texts import EPSILONS, check, filled, numbers, says

from microdata_price.chapters.your_own_table import HIGHEST, LOWEST, MEMBERS, PUBLIC, Findings
from microdata_price.errors.known import ols_variances
from microdata_price.model.noise_discrete import DoubleGeometric


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_texts_hold_at_every_level(epsilon):
    said = filled("your_own_table", epsilon=epsilon, runs=40)
    assert "invented" in said[0]
    assert says(said[2], MEMBERS.sum())
    assert says(said[2], (MEMBERS == 0).sum())
    level = min(max(epsilon, LOWEST), HIGHEST)
    intervals = next(text for text in said if text.startswith("Each interval"))
    half, wide, count, each, at_once, _ = numbers(intervals)
    # One noisy answer: the least whole number that the noise exceeds with at most 10 %.
    law = DoubleGeometric(level / 4)
    assert 2 * float(law.sf(half)) <= 0.1 < 2 * float(law.sf(half - 1))
    assert wide > half
    assert count == 1 + 8 + 12 + 96
    assert 0.75 * count < each <= at_once <= count
    together = next(text for text in said if text.startswith("The three folders"))
    assert says(together, 1.5 * level, rel=2e-3)


def test_the_price_is_that_of_root_errors():
    found = Findings("", "", "sum, marginals, identity", 0.5, 60, 1)
    assert found.totals.set_index("method").loc["ols", "price"].eq(1).all()
    exact = ols_variances(found.workload, [2 * 8.0**2] * 4)
    for name, values in zip(found.workload.names, exact, strict=True):
        rows = found.micro[found.micro["query_set"] == name]
        np.testing.assert_allclose(rows["price"] ** 2 * values.sum(), rows["squared_error"])
    assert found.above + found.below <= len(found.micro)
    assert set(found.worst["method"]) == set(found.micro["label"])


@pytest.mark.parametrize("with_schema", [True, False])
def test_a_table_of_one_s_own_is_confidential(tmp_path, with_schema):
    path = tmp_path / "own.csv"
    if with_schema:
        PUBLIC.frame().assign(count=MEMBERS.ravel().astype(int)).to_csv(path, index=False)
        (tmp_path / "own.schema.json").write_text(PUBLIC.to_json())
    else:
        frame = pd.DataFrame(MEMBERS.astype(int), PUBLIC.values[0], list(PUBLIC.values[1]))
        frame.to_csv(path, index_label="branch")
    said = filled("your_own_table", table=str(path), runs=10)
    check(said)
    assert "confidential" in said[0]
    assert says(said[2], MEMBERS.sum())
