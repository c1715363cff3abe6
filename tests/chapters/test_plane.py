"""Chapter 5: its texts at several levels, and its main numbers computed in another way."""

import math

import numpy as np
import pytest
from chapter_texts import filled, says

from microdata_price.chapters.plane import Findings, Plane
from microdata_price.model.privacy import PureDP
from microdata_price.theory.lower.single_cells import channel_point_error
from microdata_price.theory.upper.exact_errors import clipped_sum, m_epsilon
from microdata_price.theory.upper.worst_table import TwoTails, worst_cell_error


@pytest.mark.parametrize(
    "levels",
    [{}, {"epsilon": 10.0, "rho": 50.0, "d": 2}, {"epsilon": 3.0, "rho": 4.5, "delta": 1e-3}],
    ids=str,
)
def test_all_texts_are_whole(levels):
    said = filled("plane", **levels)
    if not levels:
        assert says(said[0], 1.77)
        assert says(said[0], 3.27)
        assert any(says(text, 1.84) for text in said)


def test_the_gap_at_the_star():
    found = Findings()
    unit = math.sqrt(8) / 0.5
    least = channel_point_error(PureDP(0.5), 1000, unit, whole=False) / unit
    right, left = 0.216, 1 / math.sqrt(unit**2 - 1 / 0.216**2)
    tried = worst_cell_error(TwoTails(0.5 - right, 0.5 - left), TwoTails(right, left), 1000)
    assert found.main.must == pytest.approx(least)
    assert found.main.uneven == pytest.approx(tried.most / unit, rel=2e-3)
    assert found.factor == pytest.approx(found.main.uneven / least) == pytest.approx(1.84, abs=4e-3)


def test_the_map_is_a_third_to_the_left_at_the_same_height():
    plane = Plane(PureDP(0.5), 1000)
    own = math.sqrt(clipped_sum(m_epsilon(0.5), [0], [1000])) / plane.unit
    assert plane.clip.D[0] == pytest.approx(own)
    assert plane.mapped.C[0] == plane.clip.C[0]
    assert 0.66 < plane.mapped.D[0] / own < 0.69


@pytest.mark.parametrize("guarantee", Findings().planes, ids=lambda p: p.guarantee.name)
def test_no_mark_lies_in_the_region_of_its_kind(guarantee):
    plane = guarantee
    for place in plane.marks:
        whole = "mapped" in place.name or "clip" in place.name
        low = plane.single(whole, place.D)
        assert (low * (1 - 1e-9) <= place.C).all()
    falls = np.diff(plane.curves["channel"])
    assert (falls <= 1e-9).all()
    assert (plane.curves["channel"] >= plane.curves["first_moment"] - 1e-12).all()
