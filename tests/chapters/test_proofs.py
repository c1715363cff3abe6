"""Proofs and misprints: texts at every level, sides of inequalities and facts by hand."""

import math

import numpy as np
import pytest
from chapter_texts import DELTAS, EPSILONS, LEVELS, NOTEBOOKS, RHOS, cases, filled, numbers, says

from microdata_price.chapters import misprints, proofs_of_ours, proofs_of_the_paper
from microdata_price.model.noise import Laplace, max_median
from microdata_price.model.privacy import ApproximateDP, PureDP
from microdata_price.theory.lower.printed_bounds import printed_sides
from microdata_price.theory.upper.exact_errors import m_epsilon

PROSE = (NOTEBOOKS / "misprints.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize("given", LEVELS, ids=str)
def test_proofs_of_ours_hold_at_every_level(given):
    found = proofs_of_ours.Findings(**given, runs=100)
    said = filled("proofs_of_ours", **given, runs=100)
    assert max(found.audit[0] - 1e-9, found.most_used) <= 1
    assert says(said[0], 1.0, 1e-3)
    exact, good, private = found.public
    assert any(says(t, exact, 0.01) and says(t, private, 0.01) for t in said)
    assert good <= private + 1e-9
    assert found.with_delta[0] <= found.with_delta[1] + 1e-9
    one_record = 10**6 * math.exp(-10) * (1 - m_epsilon(10.0).std)
    assert pytest.approx(one_record, rel=1e-12) == found.large[0] <= found.large[1]
    law = math.exp(-found.epsilon / 2) ** np.abs(np.arange(-4000, found.redrawn_whole + 1))
    assert law[-1] / law.sum() <= found.delta < law[-2] / law[:-1].sum()
    for _, both in found.pairs_table.groupby("cells"):
        plain, searched = (numbers(x)[0] for x in both["at most"])
        assert searched < plain


@pytest.mark.parametrize("d", [2, 1000])
def test_the_chain_begins_and_ends_at_what_integrals_say(d):
    found, b = proofs_of_the_paper.Findings(d=d, runs=300), 4.0
    t = np.linspace(0, 80, 400_001)
    tails = [np.trapezoid(p * t ** (p - 1) * (1 - (1 - np.exp(-t)) ** d), t) for p in (1, 2)]
    chain, error = found.chain
    end = b**2 * (2 + 4 * tails[0] + 4 * tails[1])
    assert chain.allowed - chain.lost[-1][1] == pytest.approx(end, rel=1e-6)
    assert min(error, *(loss for _, loss in chain.lost)) > 0
    assert ("±" in found.told[1]) == (d > 2)  # one cell has one place
    assert found.two_errors[1] == pytest.approx(b**2 * tails[1], rel=1e-6)


@pytest.mark.parametrize("levels", cases(epsilon=EPSILONS, rho=RHOS, delta=DELTAS), ids=str)
def test_misprints_at_every_level(levels):
    said, own = filled("misprints", **levels)[0], levels["epsilon"]
    assert (says(said, 1 / own), "its claim holds" in said) == (True, own >= 1)
    found = misprints.Findings(**levels)
    m, exact, loose = found.loose
    group = ApproximateDP(levels["epsilon"], levels["delta"]).group_delta(m)
    assert exact == pytest.approx(group * math.exp(-m * levels["epsilon"]))
    assert (exact < loose, found.bounds[0] >= found.bounds[1]) == (True, True)


def test_printed_inequalities_are_false_where_the_pages_say_so():
    slips = proofs_of_the_paper.Findings().slips
    assert all(left < right for left, right in slips)
    z = np.arange(-40, 41)
    law = np.exp(-50.0 * z**2)
    law /= law.sum()
    C, excess, d, k = math.sqrt(law @ z**2), law @ np.maximum(z, 0), 1e12, 0.01
    D = math.sqrt(max(d * C**2 / 2 + d * (d - 1) * excess**2, d * C**2))
    right = math.log2(d - 1) / 4 - math.log2((4 * C + 2 * D + k) / k) - 1
    assert slips[1] == pytest.approx([50 * (4 * C + 2 * k) ** 2, right])
    found, noise = misprints.Findings(), m_epsilon(10.0)
    assert [f"{x:.3f}" for x in found.false_pure] == ["0.010", "0.581", "2.549"]
    errors = noise.std, proofs_of_the_paper.clipped_sum_error(noise, 10**4)
    assert np.subtract(*printed_sides(PureDP(10.0), 10**4, *errors, 0.5 - 2 * noise.std)) > 0
    assert found.false_zcdp == pytest.approx((0.00165, 0.00055, 6.47), rel=0.01)
    # The information is at most rho m^2 nats, m = ceil(y), and the printed left side 4 rho y^2.
    y = np.linspace(0.01, 6, 60_001)
    fine = 4 * y**2 >= np.ceil(y) ** 2 / math.log(2)
    np.testing.assert_allclose(y[1:][fine[1:] & ~fine[:-1]], [0.6006, 1.2011], atol=2e-4)
    assert fine[(y > 0.601) & (y <= 1)].all()
    assert "in $[0.6006, 1]$ and from 1.2011 on (ours)" in PROSE
    # Numbers of no level.
    assert found.difficult["records in the cell"].tolist() == [14, 28, 42]
    assert found.shares == pytest.approx((0.24917, 2.1066e-7), rel=1e-4)
    assert found.normal == pytest.approx((3.4354, 3.8324), abs=1e-4)
    assert abs(float(max_median(Laplace(8.0), 1))) < 1e-12
    ends = found.table_1["sequential"].agg(["min", "max"]).tolist()
    assert (found.four_to_five, ends) == ([5, 4], [85.7, 149.2])
    assert (found.max_ols, found.ols) == (142.9, pytest.approx(110.592))
