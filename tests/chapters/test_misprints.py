"""Misprints: the texts at many levels, and the facts that the page has as fixed prose."""

import math

import numpy as np
import pytest
from chapter_texts import DELTAS, EPSILONS, NOTEBOOKS, RHOS, cases, filled, says

from microdata_price.chapters.misprints import Findings, clipped, false_at
from microdata_price.chapters.published import published_tables
from microdata_price.model.benchmark import synthetic
from microdata_price.model.noise import Gaussian, Laplace, max_median
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.lower.printed_bounds import printed_sides
from microdata_price.theory.upper.exact_errors import clipped as clipped_error
from microdata_price.theory.upper.exact_errors import m_epsilon
from microdata_price.theory.upper.extremes import extremes, lemma1

PROSE = (NOTEBOOKS / "misprints.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize("levels", cases(epsilon=EPSILONS, rho=RHOS, delta=DELTAS), ids=str)
def test_every_text_is_whole(levels: dict) -> None:
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


def test_the_remark_s_cell_is_rounded_up_as_in_chapter_1() -> None:
    assert Findings().difficult["records in the cell"].tolist() == [14, 28, 42]


def has(*words: str) -> None:
    for part in words:
        assert part.replace("\\", "\\\\") in PROSE, part


def test_printed_inequalities_are_false_where_the_page_says_so() -> None:
    _, left, right = false_at(PureDP(10.0), 10**4, np.array([0.01]))
    assert (f"{left:.3f}", f"{right:.2f}") == ("0.581", "2.55")
    noise = m_epsilon(10.0)
    left, right = printed_sides(PureDP(10.0), 10**4, *clipped(noise, 10**4), 0.5 - 2 * noise.std)
    assert left > right
    k, left, right = false_at(ConcentratedDP(50.0), 10**9, np.geomspace(1e-4, 0.45, 400))
    assert (f"{k:.5f}", f"{left:.5f}", f"{right:.2f}") == ("0.00165", "0.00055", "6.47")
    has("0.581 and 2.55", "k = 0.00165$ the printed sides on $M_\\rho$ are 0.00055 and 6.47")


def test_the_range_in_which_bits_do_no_harm() -> None:
    """The information is at most rho m^2 nats, m = ceil(y), and the printed left side 4 rho y^2."""
    y = np.linspace(0.01, 6, 60_001)
    fine = 4 * y**2 >= np.ceil(y) ** 2 / math.log(2)
    edges = y[1:][fine[1:] & ~fine[:-1]]
    np.testing.assert_allclose(edges, [0.6006, 1.2011], atol=2e-4)
    assert fine[(y > 0.601) & (y <= 1)].all()
    has("in $[0.6006, 1]$ and from 1.2011 on (ours)")


def test_frozen_numbers_of_the_page() -> None:
    def share(epsilon: float) -> float:
        return (clipped(m_epsilon(epsilon), 10**6)[1] * epsilon / 10**6) ** 2

    assert (f"{share(0.1):.2g}", f"{share(10.0):.1e}") == ("0.25", "2.1e-07")
    assert float(clipped_error(Laplace(4.0), 1e5).squared_error) == pytest.approx(8 / 0.5**2)
    noise = Gaussian(1.0)
    means = [float(f(noise, 1000).mean) for f in (extremes, lemma1)]
    assert [f"{v:.3f}" for v in means] == ["3.435", "3.832"]
    assert synthetic("Stair")[:3].tolist() == [10_000, 2, 3]
    assert abs(float(max_median(Laplace(8.0), 1))) < 1e-12
    has("0.25 at $\\epsilon = 0.1$ and $2.1 \\cdot 10^{-7}$", "3.832", "3.435", "10000, 2, 3")


def test_what_the_page_says_of_the_tables() -> None:
    wide = published_tables().pivot(
        index=["query_set", "metric", "dataset"], columns="method", values="squared_error"
    )
    sums = wide.loc[("sum", "total")]
    counts = [int((sums[m] / sums["ols"]).between(4, 5).sum()) for m in ("nnls", "maxfit")]
    assert counts == [5, 4]
    assert (sums["sequential"].min(), sums["sequential"].max()) == (85.7, 149.2)
    assert set(wide.loc[("identity", "max")]["ols"]) == {124.0, 142.9}
    has("5 for NNLS and 4 for max fitting", "85.7 to 149.2", "142.9", "110.592")
