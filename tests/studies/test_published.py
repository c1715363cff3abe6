from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import norm
from sentences import check_texts, numbers, says, texts

from microdata_price.studies.published import REDRAWS, SURE, Findings, study
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
    surely = [c.holds and n >= SURE for c, n in zip(found.claims, found.stays, strict=True)]
    assert f"bear out {sum(surely)} of {len(found.claims)}" in found.claims_said
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
    if shift:
        # As exact here as in the brackets of the other tables: whole numbers are whole.
        shown = sorted(numbers(p)[0] for p in other.far_table["published"])
        printed = np.sort(card["published"].to_numpy())
        assert np.allclose(shown, printed, rtol=5e-4, atol=1e-9)


def test_a_verdict_is_as_sure_as_its_rows_are_far_from_the_limit(found: Findings) -> None:
    """The claim on the worst cell counts rows; its chance is that of a sum of independent rows."""
    k = next(i for i, c in enumerate(found.claims) if "slightly smaller worst" in c.says)
    rows = found.card[(found.card["query_set"] == "identity") & (found.card["metric"] == "max")]
    nnls, other = (rows[rows["method"] == m].set_index("dataset") for m in ("nnls", "reweighted"))
    gap = other["value"] - nnls["value"]
    lower = norm.cdf(gap / np.hypot(nnls["standard_error"], other["standard_error"]))
    counts = np.ones(1)
    for p in lower:
        counts = np.convolve(counts, [1 - p, p])
    chance = counts[-(-len(lower) // 2) :].sum()
    expected = chance if found.claims[k].holds else 1 - chance
    # The spread of a share of so many redraws is at most 0.08.
    assert abs(found.stays[k] / REDRAWS - expected) <= 4 * 0.5 / REDRAWS**0.5


def test_what_hangs_on_the_noise_is_called_unsure(found: Findings) -> None:
    still = dataclasses.replace(found, card=found.card.assign(standard_error=1e-9))
    assert set(still.stays) == {REDRAWS}
    assert not any("unsure" in v for v in still.verdicts)
    noisy = found.card.assign(standard_error=found.card["value"])
    shaken = dataclasses.replace(found, card=noisy)
    assert any("unsure" in v for v in shaken.verdicts)
    assert "cannot tell" in shaken.not_borne_out_said
    check_texts([shaken.claims_said, shaken.claims_caption])
