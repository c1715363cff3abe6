"""Misprints: the texts at many levels, and the facts that the page has as fixed prose."""

import math

import numpy as np
import pytest
from chapter_texts import DELTAS, EPSILONS, NOTEBOOKS, RHOS, cases, filled, says

from microdata_price.chapters.misprints import Findings, clipped
from microdata_price.model.benchmark import synthetic
from microdata_price.model.noise import Laplace, max_median
from microdata_price.model.privacy import ApproximateDP, PureDP
from microdata_price.theory.lower.printed_bounds import printed_sides
from microdata_price.theory.upper.exact_errors import clipped as clipped_error
from microdata_price.theory.upper.exact_errors import m_epsilon

PROSE = (NOTEBOOKS / "misprints.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize("levels", cases(epsilon=EPSILONS, rho=RHOS, delta=DELTAS), ids=str)
def test_every_text_is_whole(levels):
    said = filled("misprints", **levels)
    assert says(said[0], 1 / levels["epsilon"])
    found = Findings(**levels)
    own, printed, _, lifted = found.audits[:4]
    assert own.holds
    assert printed.holds == (levels["epsilon"] >= 1)
    assert math.isinf(lifted.worst)
    m, exact, loose = found.loose
    group = ApproximateDP(levels["epsilon"], levels["delta"]).group_delta(m)
    assert exact == pytest.approx(group * math.exp(-m * levels["epsilon"]))
    assert exact < loose
    assert found.bounds[0] >= found.bounds[1]


def test_printed_inequalities_are_false_where_the_page_says_so():
    found, noise = Findings(), m_epsilon(10.0)
    assert [f"{x:.3f}" for x in found.false_pure] == ["0.010", "0.581", "2.549"]
    left, right = printed_sides(PureDP(10.0), 10**4, *clipped(noise, 10**4), 0.5 - 2 * noise.std)
    assert left > right
    assert found.false_zcdp == pytest.approx((0.00165, 0.00055, 6.47), rel=0.01)


def test_the_range_in_which_bits_do_no_harm():
    """The information is at most rho m^2 nats, m = ceil(y), and the printed left side 4 rho y^2."""
    y = np.linspace(0.01, 6, 60_001)
    fine = 4 * y**2 >= np.ceil(y) ** 2 / math.log(2)
    edges = y[1:][fine[1:] & ~fine[:-1]]
    np.testing.assert_allclose(edges, [0.6006, 1.2011], atol=2e-4)
    assert fine[(y > 0.601) & (y <= 1)].all()
    assert "in $[0.6006, 1]$ and from 1.2011 on (ours)" in PROSE


def test_numbers_of_no_level():
    found = Findings()
    assert found.difficult["records in the cell"].tolist() == [14, 28, 42]
    assert found.shares == pytest.approx((0.24917, 2.1066e-7), rel=1e-4)
    assert found.normal == pytest.approx((3.4354, 3.8324), abs=1e-4)
    assert float(clipped_error(Laplace(4.0), 1e5).squared_error) == pytest.approx(8 / 0.5**2)
    assert synthetic("Stair")[:3].tolist() == [10_000, 2, 3]
    assert abs(float(max_median(Laplace(8.0), 1))) < 1e-12
    ends = found.table_1["sequential"].agg(["min", "max"]).tolist()
    assert (found.four_to_five, ends) == ([5, 4], [85.7, 149.2])
    assert (found.max_ols, found.ols) == (142.9, pytest.approx(110.592))
