"""How large exactly: texts at every level, the worst table by simulation, the constant by hand."""

import math

import numpy as np
import pytest
from chapter_texts import filled, says

from microdata_price.chapters.how_large import Findings
from microdata_price.theory.upper.asymmetric import best_rates
from microdata_price.theory.upper.worst_table import TwoTails, worst_cell_error

CASES = (
    {"epsilon": 0.5, "rho": 0.125, "delta": 1e-6, "d": 1000},
    {"epsilon": 3.0, "rho": 4.5, "delta": 1e-3, "d": 2},
    {"epsilon": 10.0, "rho": 0.00125, "delta": 1e-12, "d": 10**5},
)


@pytest.mark.parametrize("given", CASES, ids=str)
def test_texts_hold_at_every_level(given):
    found = Findings(**given)
    said = filled("how_large", **given)
    assert says(said[0], found.gap.high, 0.01)
    for ends in (found.gap, found.gap_zcdp, found.kept, found.ceiling, found.beside):
        assert 0 <= ends.low <= ends.high * (1 + 1e-9)
    lower, kept, uneven = found.curves
    assert (lower < uneven).all()
    assert (uneven < kept)[found.sizes > 100].all()
    exact, noise, split = found.constants
    assert not (exact > noise + 1e-9).any()
    assert not (noise > split + 1e-9).any()


def test_first_moments_by_hand_are_below_the_program():
    found = Findings()
    m = np.arange(1, 200)
    hand = np.max(m - np.exp(0.5 * m) * found.signed / 1000) / found.signed
    assert hand < found.gap.low < 1.05 * hand


@pytest.mark.parametrize("d", [30, 1000])
def test_the_ends_are_those_of_the_fit_on_one_huge_cell(d):
    found = Findings(d=d)
    unit = found.signed
    right, left = map(float, best_rates(0.5, d, unit))
    for cell, total, ends in (
        (TwoTails(0.25, 0.25), TwoTails(0.25, 0.25), found.kept),
        (TwoTails(0.5 - right, 0.5 - left), TwoTails(right, left), found.gap),
    ):
        exact = worst_cell_error(cell, total, d)
        assert ends.low <= exact.most / unit * (1 + 1e-9)
        assert ends.high == pytest.approx(exact.most / unit, rel=2e-3)


def test_the_constant_is_the_root_of_the_formula():
    found = Findings(lam=2.5)
    c, e = found.at_lam, 0.5
    w = 1 - 1 / (2 * c)
    value = e**2 / (4 * math.sinh(e / 2) ** 2) + 2 * c * e / math.tanh(w * e / 2)
    value += 8 * c**2 * math.log(math.sinh(w * e / 2) / math.sinh(e / 2))
    assert value == pytest.approx(2.5, rel=1e-9)
    assert found.wall == pytest.approx(e**2 / (2 * math.sinh(e / 2) ** 2), rel=1e-12)
