"""Proofs of ours: texts at every level, and some of their numbers by hand."""

import math

import numpy as np
import pytest
from chapter_texts import filled, numbers, says

from microdata_price.chapters.proofs_of_ours import SEARCH_RHO, Findings

CASES = (
    {"epsilon": 0.5, "rho": 0.125, "delta": 1e-6, "d": 1000},
    {"epsilon": 3.0, "rho": 4.5, "delta": 1e-3, "d": 2},
    {"epsilon": 0.05, "rho": 0.00125, "delta": 1e-12, "d": 10**5},
)


@pytest.mark.parametrize("given", CASES, ids=str)
def test_texts_hold_at_every_level(given):
    found = Findings(**given, runs=100)
    said = filled("proofs_of_ours", **given, runs=100)
    assert found.audit[0] <= 1 + 1e-9
    assert found.most_used <= 1
    assert says(said[0], 1.0, 1e-3)
    exact, good, private = found.public
    assert any(says(t, exact, 0.01) and says(t, private, 0.01) for t in said)
    assert good <= private + 1e-9
    assert found.with_delta[0] <= found.with_delta[1] + 1e-9
    assert found.large[0] <= found.large[1]


def test_a_public_total_by_hand():
    found, m = Findings(), np.arange(1, 100)
    a = np.exp(0.5 * m) / 999
    assert found.public[0] == pytest.approx(np.max(m / (1 + a)))
    assert found.public[1] == pytest.approx(np.max((m - a * found.signed) / (1 + a)))


def test_redrawn_noise_costs_the_delta_that_is_said():
    found = Findings()
    r, B = math.exp(-0.25), found.redrawn_whole
    k = np.arange(-4000, B + 1)
    law = r ** np.abs(k)
    assert law[-1] / law.sum() <= found.delta < law[-2] / law[:-1].sum()


def test_searched_pairs_err_less():
    table = Findings(runs=400).pairs_table
    for _, both in table.groupby("cells"):
        plain, searched = (numbers(x)[0] for x in both["at most"])
        assert searched < plain
    assert Findings().pair.total.variance * SEARCH_RHO < 0.67
