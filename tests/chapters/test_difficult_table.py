import math

import numpy as np
import pytest
from chapter_texts import EPSILONS, cases, filled, says
from scipy.optimize import brentq

from microdata_price.base.numbers import Mean
from microdata_price.chapters import difficult_table as chapter
from microdata_price.chapters.difficult_table import Findings

CASES = cases(epsilon=EPSILONS, d=(1000, 2, 100_000))


def level(cells, total, stiffness):
    """The t with sum(max(0, cells - t)) = total + stiffness t."""
    far = 3.0 * (np.abs(cells).max() + abs(total)) + 1
    return brentq(lambda t: np.maximum(cells - t, 0).sum() - total - stiffness * t, -far, far)


def close(values, claimed, runs):
    a, b = Mean.of(np.array(values, dtype=float)), Mean.of(runs)
    return abs(a.value - claimed) <= 5 * math.hypot(a.error, b.error) + 1e-6


@pytest.mark.parametrize("given", CASES, ids=str)
def test_every_text_is_whole_and_says_the_headline(given):
    found = Findings(**given, runs=40)
    said = filled("difficult_table", **given, runs=40)
    for value in (found.q, float(f"{found.emptied:.2g}"), float(f"{found.nnls_total:.2g}")):
        assert says(said[0], value)
    assert 0 <= found.worst_certificate < 1e-7
    assert found.prices[0][1] <= found.marks[3][2]


@pytest.mark.parametrize("given", [{}, {"epsilon": 3.0}, {"d": 40}, {"times": 4.0}], ids=str)
def test_the_claims_hold_for_other_noise(given):
    found = Findings(**given, runs=600)
    rng, rows = np.random.default_rng(77), []
    for _ in range(300):
        cells = rng.laplace(scale=2 / found.epsilon, size=found.d)
        total = found.q + rng.laplace(scale=2 / found.epsilon)
        cells[0] += found.q
        kept, nnls = level(cells, max(total, 0.0), 0.0), level(cells, total, 1.0)
        rows.append((kept, 100.0 * (cells[0] <= kept + 1e-9), total + nnls, (cells < 0).mean()))
    levels, emptied, totals, negative = map(list, zip(*rows, strict=True))
    assert close(levels, found.level, found.simulated[7])
    for share, chance, count in (
        (np.mean(emptied), found.emptied, 300),
        (100 * np.mean(found.ways[2].cell == 0), found.emptied, 600),
        (100 * np.mean(found.ways[1].cell == 0), found.nnls_empty, 600),
    ):
        assert abs(share - chance) <= 5 * math.sqrt(chance * (100 - chance) / count)
    assert close(totals, found.nnls_total, found.ways[1].total)
    assert close([100 * v for v in negative], found.negative, 100 * found.simulated[6])


def test_roots_that_are_known_agree_with_the_runs():
    table = Findings().errors
    for _, row in table[table["exactly"].notna()].iterrows():
        value, error = (float(x) for x in row["root error"].split(" ± "))
        assert abs(value - row["exactly"]) < 5 * error + 0.01


def test_portions_change_only_the_draws(monkeypatch):
    whole = Findings(d=50, runs=300)
    monkeypatch.setattr(chapter, "AT_ONCE", 500)
    parts = Findings(d=50, runs=300)
    assert parts.simulated[0].size == whole.simulated[0].size == 300
    assert close(list(parts.simulated[7]), whole.level, whole.simulated[7])


def test_the_price_is_below_what_is_reached():
    """At 1,000 cells the first-moment bound is 1.71 signed errors, and 4.15 at a million."""
    found = Findings()
    assert [math.floor(100 * p) / 100 for _, p in found.prices] == [1.71, 4.15]
    D, C = found.edge
    for name, x, y in found.marks[1:]:
        assert np.interp(x, D, C) <= y * (1 + 1e-9), name
