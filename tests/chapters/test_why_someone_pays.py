"""Why someone pays: texts at every level, and the bounds by grids and by hand."""

import math

import numpy as np
import pytest
from chapter_texts import DELTAS, EPSILONS, RHOS, cases, filled, says

from microdata_price.chapters.why_someone_pays import LARGE, Findings

CASES = cases(epsilon=EPSILONS, rho=RHOS[::3], delta=DELTAS[::2], d=(1000, 2, 10**5))


@pytest.mark.parametrize("given", CASES, ids=str)
def test_texts_hold_at_every_level(given):
    said = filled("why_someone_pays", **given)
    epsilon, d = given["epsilon"], given["d"]
    signed = math.sqrt(8) / epsilon
    m = np.arange(1, 700 / epsilon)
    must = max(float(np.max(m - np.exp(epsilon * m) * signed / d)), 0.0)
    assert says(said[0], must, 0.01)
    assert says(said[1], must / signed, 0.01)
    found = Findings(**given)
    p = math.exp(-epsilon)
    C = math.sqrt(2 * p) / (1 - p)
    assert found.must_sum == pytest.approx(np.max(d * np.exp(-epsilon * m) * (m - C)), abs=1e-9)
    assert found.own[0] >= found.must_sum - 1e-9
    end = math.log(epsilon / (4 * given["delta"])) / (4 * epsilon)
    assert found.ceiling == pytest.approx(end if end > 0.25 else 0.0, rel=1e-3)
    for most, p in zip(found.reached, (found.accurate, found.packing), strict=True):
        assert most <= min(p.overlap, d - 1) + 1e-9
    for _, curve, limit in found.ceilings:
        assert (curve <= limit * (1 + 1e-9) + 1e-12).all()


def test_the_three_kinds_lie_beside_each_other():
    table = Findings().kinds.set_index("privacy")
    assert list(table) == ["pure", "approximate", "zCDP"]
    printed, moments = (
        table.loc[f"{n}: $C$"].astype(float) for n in ("Theorem 3", "first moments")
    )
    assert (moments >= printed).all()
    m = np.arange(1, 200)
    by_hand = np.max(m - np.exp(0.5 * m) * math.sqrt(32) / LARGE) / math.sqrt(32)
    assert 0 <= by_hand - moments["pure"] < 0.01
    assert table.loc["first moments: $d$", "pure"] == "132"
