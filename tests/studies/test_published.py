from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sentences import check_texts, numbers, says, texts

from microdata_price.studies.published import Findings, study
from microdata_price.studies.scorecard import LIMIT, published_tables


@pytest.fixture(scope="module")
def found() -> Findings:
    return study()


def test_every_sentence_follows_from_the_240_values(found: Findings) -> None:
    check_texts([t for t in texts(found).values() if not t.startswith("- ")])
    card = found.card
    far = card[card["z"].abs() >= LIMIT]
    assert numbers(found.opening)[0] == 240 - len(far)
    for method, count in far["method"].value_counts().items():
        assert f"({count})" in found.far_said, method
    assert says(found.ols_said, 128 * 100 / 121, rel=1e-5)
    assert says(found.ols_said, 128 * 216 / 250, rel=1e-5)
    printed = published_tables()
    sums = printed[(printed["method"] == "sequential") & (printed["query_set"] == "sum")]
    assert says(found.sequential_said, sums["squared_error"].min(), rel=1e-3)
    assert says(found.sequential_said, sums["squared_error"].max(), rel=1e-3)
    real = sums[sums["dataset"] != "Level00-2d"]["squared_error"]
    assert f"{len(set(real))} different values" in found.sequential_said
    assert f"for {len(real)} real tables" in found.sequential_said
    tops = printed[
        (printed["method"] == "ols")
        & (printed["metric"] == "max")
        & (printed["dataset"] != "Level00-2d")
    ]["squared_error"]
    assert ("no printed maximum of OLS" in found.max_said) == bool(tops.min() >= 110.592)
    held = sum(c.holds for c in found.claims)
    assert f"bear out {held} of {len(found.claims)}" in found.claims_said
    if "at least" in found.claims_said:
        wide = card[(card["query_set"] == "sum")].pivot(
            index="dataset", columns="method", values="value"
        )
        exact = card[(card["query_set"] == "sum") & (card["method"] == "ols")].set_index("dataset")
        ratio = wide.div(exact["exact"], axis=0)
        low, high = numbers(found.claims_said)[-2:]
        assert low <= ratio[["nnls", "maxfit"]].to_numpy().min() + 1e-9
        assert high >= ratio[["sequential", "reweighted"]].to_numpy().max() - 1e-9


@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_words_follow_other_values(found: Findings, shift: float) -> None:
    card = found.card.assign(z=shift * np.sign(found.card["z"]))
    other = dataclasses.replace(found, card=card)
    check_texts([t for t in texts(other).values() if not t.startswith("- ")])
    assert ("every published value is within reach" in other.far_said) == (shift == 0)
    assert len(other.far_table) == (1 if shift == 0 else 240)
