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
    for _, curve, limit in found.ceilings:
        assert (curve <= limit * (1 + 1e-9) + 1e-12).all()


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_theorem_3_excludes_what_a_grid_of_k_excludes(epsilon):
    found = Findings(epsilon=epsilon)
    d, D = float(found.sizes[-1]), found.signed
    C = np.linspace(0, math.log(d), 2000)[1:, None] / epsilon
    k = np.geomspace(1e-2, 1e2, 500) / epsilon
    violated = 2 * epsilon * (2 * C + k) < np.log(k * (d - 1) / (16 * C + 8 * D + 4 * k))
    by_grid = C[(violated & (2 * C + k >= 0.5)).any(axis=1)].max(initial=0)
    assert found.asked[0] == pytest.approx(by_grid, abs=2e-3 * math.log(d) / epsilon)


@pytest.mark.parametrize("d", [2, 30, 1000])
def test_no_output_has_room_for_more_cells_than_are_said(d):
    found, rng = Findings(d=d), np.random.default_rng(3)
    for most, p in zip(found.reached, (found.accurate, found.packing), strict=True):
        assert most <= min(p.overlap, d - 1) + 1e-9
        k, room = p.k, p.sum_range[1] - max(p.first_range[0], 0)
        assert most == min(math.floor(room / k * (1 + 1e-12)), d - 1)
        x = np.abs(rng.normal(p.m, p.C, size=(500, d)))
        x[:, 0] = p.n - p.m
        assert p.memberships(x).max() <= most
    assert found.signed_sets >= d - 2


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
