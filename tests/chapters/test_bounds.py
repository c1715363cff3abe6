"""Privacy, bounds and what reaches them: texts at every level, numbers in another way."""

import math

import numpy as np
import pytest
from chapter_texts import DELTAS, EPSILONS, LEVELS, RHOS, cases, filled, numbers, says
from scipy import integrate

from microdata_price.chapters import how_large, plane, privacy_and_errors
from microdata_price.chapters import what_can_be_reached as reachable
from microdata_price.chapters import why_someone_pays as pays
from microdata_price.exceptions import InputError
from microdata_price.model.noise import Laplace
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.theory.lower.single_cells import channel_point_error
from microdata_price.theory.upper.asymmetric import best_rates
from microdata_price.theory.upper.exact_errors import clipped_sum, m_epsilon
from microdata_price.theory.upper.fitted_errors import cell_errors
from microdata_price.theory.upper.worst_table import TwoTails, worst_cell_error

SIZES = (1000, 2, 10**5)


@pytest.mark.parametrize("given", cases(epsilon=EPSILONS, d=SIZES, rho=(0.125, 50.0)), ids=str)
def test_signed_answers_and_the_texts_of_their_errors(given):
    said = filled("privacy_and_errors", runs=60, **given)
    epsilon = given["epsilon"]
    *_, root, error, exact, _ = numbers(told := next(t for t in said if t.startswith("In these")))
    assert abs(root - exact) < 5 * error
    assert "So few runs may lack the rare ones" in told
    assert says(said[0], math.sqrt(8) / epsilon)
    assert all(says(said[1], square) for square in (8 / epsilon**2, 1 / given["rho"]))
    found = privacy_and_errors.Findings(epsilon=epsilon, ds=(10, 1000), runs=400)
    for level, rows in zip(found.exact, found.sampled, strict=True):
        assert all(abs(e.total - level) < 5 * e.total_se for e in rows)
        assert all(abs(e.cell - level) < 5 * e.cell_se for e in rows)
    assert np.abs(found.laplace.loss).max() <= epsilon * (1 + 1e-9)


def test_more_cells_than_can_be_listed_are_refused():
    for chapter in (how_large, privacy_and_errors, reachable, pays):
        with pytest.raises(InputError, match=r"d is 1000000000000; .*: every cell is listed"):
            chapter.Findings(d=10**12)


def test_the_bound_on_the_mean_comes_from_the_noise_s_moments():
    found, b = privacy_and_errors.Findings(), 4.0
    half = integrate.quad(lambda t: t**2 * math.exp(-t / b) / (2 * b), 0, math.inf)[0]
    d = found.sizes
    by_hand = math.sqrt(2 * half) + 2 * math.sqrt(half / 1) / np.sqrt(d) + math.sqrt(half) / d
    np.testing.assert_allclose(found.over_cells, by_hand)
    assert (np.diff(found.worst_cell) > 0).all()
    assert found.last[0] > 5 > 1.01 > found.last[1] > 1


@pytest.mark.parametrize("given", cases(epsilon=(*EPSILONS, 20), rho=RHOS, delta=DELTAS, d=SIZES))
def test_why_someone_pays_by_hand(given, capsys):
    said = filled("why_someone_pays", **given)
    epsilon, d = given["epsilon"], given["d"]
    signed = math.sqrt(8) / epsilon
    m = np.arange(1, 700 / epsilon)
    must = max(float(np.max(m - np.exp(epsilon * m) * signed / d)), 0.0)
    # A bound that says nothing is not told as one of 0.
    assert says(said[0], must, 0.01) == says(said[1], must / signed, 0.01) == (must > 0)
    found = pays.Findings(**given)
    C = math.sqrt(0.5) / math.sinh(epsilon / 2)
    assert found.must_sum == pytest.approx(np.max(d * np.exp(-epsilon * m) * (m - C)), abs=1e-9)
    assert float(capsys.readouterr().out.partition("D at least ")[2].split()[0]) <= found.must_sum
    assert max(found.must_sum - 1e-9, found.sum_errors[0]) <= found.own[0] < found.sum_errors[-1]
    end = math.log(epsilon / (4 * given["delta"])) / (4 * epsilon)
    assert found.ceiling == pytest.approx(end if end > 0.25 else 0.0, rel=1e-3)
    for most, p in zip(found.reached, (found.accurate, found.packing), strict=True):
        assert most <= min(p.overlap, d - 1) + 1e-9
    assert any(t.startswith("Of so few") for t in said) == (found.reached[0] == d - 1)
    for _, curve, limit in found.ceilings:
        assert (curve <= limit * (1 + 1e-9) + 1e-12).all()


def test_the_three_kinds_lie_beside_each_other():
    table = pays.Findings().kinds.set_index("privacy")
    assert list(table) == ["pure", "approximate", "zCDP"]
    printed, moments = table.loc[["Theorem 3: $C$", "first moments: $C$"]].astype(float).values
    assert (moments >= printed).all()
    m = np.arange(1, 200)
    lost = np.exp(0.5 * m) * math.sqrt(32) / pays.LARGE
    assert 0 <= np.max(m - lost) / math.sqrt(32) - moments[0] < 0.01
    assert table.loc["first moments: $d$", "pure"] == "132"


@pytest.mark.parametrize("given", cases(epsilon=EPSILONS, delta=(1e-6, 1e-3), d=SIZES), ids=str)
def test_what_clip_reaches_by_sums(given):
    said = filled("what_can_be_reached", runs=40, **given)
    epsilon, d = given["epsilon"], given["d"]
    z = np.arange(-math.ceil(60 / epsilon), math.ceil(60 / epsilon) + 1)
    law = np.exp(-epsilon * abs(z))
    law /= law.sum()
    bias, square = law @ np.maximum(z, 0), law @ np.maximum(z, 0) ** 2
    all_zero = d * square + d * (d - 1) * bias**2
    assert says(said[0], math.sqrt(max(all_zero, d * law @ z**2)) * epsilon / math.sqrt(8))
    assert all(says(said[2], value) for value in (bias, square))


def test_what_is_reached_as_known_elsewhere():
    exact = cell_errors(Laplace(4.0), Laplace(4.0), 300).squared_error
    found = reachable.Findings(d=300)
    assert found.here[1] ** 2 * 32 == pytest.approx(exact, rel=0.02)
    assert found.largest == pytest.approx((np.sum(1 / np.arange(1, 1e6 + 1)), math.log(1e6) + 1))
    paper, least, exact = found.bounds
    assert (exact <= 0.5e-6, paper >= least) == (True, True)
    values = np.arange(-least, least + 1.0)
    assert found.cap**2 == pytest.approx(least**2 + 2 * (found.cut.pmf(values) @ values**2))
    found = reachable.Findings(epsilon=5.0, delta=0.01, runs=200)  # what is drawn keeps to the cap
    assert max(m.value for m in found.simulated) <= found.cap
    assert found.cut_table["truncated"].str.len().max() < 20  # digits that are known, few of them


@pytest.mark.parametrize("given", LEVELS, ids=str)
def test_both_ends_of_each_gap(given, capsys):
    found = how_large.Findings(**given)
    said = filled("how_large", **given)
    assert says(said[0], found.gap.high, 0.01)
    # Where no map is better than clip none is told.
    assert ("The map reaches" in " ".join(said)) == (found.slope[0] < found.slope[1])
    # With two huge cells each loses less, which runs on the same noise tell.
    one, two, less = (numbers(line) for line in capsys.readouterr().out.splitlines()[-4:-1])
    assert one[1] ** 2 - two[1] ** 2 == pytest.approx(less[0], rel=0.05)
    assert less[0] > 2 * less[1]
    for ends in (found.gap, found.gap_zcdp, found.kept, found.ceiling, found.beside):
        assert 0 <= ends.low <= ends.high * (1 + 1e-9)
    lower, kept, uneven = found.curves
    assert (lower < uneven).all()
    assert (uneven < kept)[found.sizes > 100].all()
    exact, noise, split = found.constants
    assert not ((exact > noise + 1e-9) | (noise > split + 1e-9)).any()


@pytest.mark.parametrize("d", [30, 1000])
def test_the_ends_are_those_of_the_fit_on_one_huge_cell(d):
    found, m, unit = how_large.Findings(d=d), np.arange(1, 200), math.sqrt(8) / 0.5
    assert found.kept == pytest.approx(plane.Findings(d=d).kept)  # the chapters speak of one number
    # First moments, by hand, are below the program, and near it where there are many cells.
    hand = np.max(m - np.exp(0.5 * m) * unit / d) / unit
    assert hand < found.gap.low < (1.05 if d == 1000 else 1.5) * hand
    right, left = map(float, best_rates(0.5, d, unit))
    for cell, total, ends in (
        (TwoTails(0.25, 0.25), TwoTails(0.25, 0.25), found.kept),
        (TwoTails(0.5 - right, 0.5 - left), TwoTails(right, left), found.gap),
    ):
        exact = worst_cell_error(cell, total, d)
        assert ends.low <= exact.most / unit * (1 + 1e-9)
        assert ends.high == pytest.approx(exact.most / unit, rel=2e-3)


def test_the_gap_at_the_star_and_the_map_a_third_to_the_left_of_clip():
    found, unit = plane.Findings(), math.sqrt(8) / 0.5
    least = channel_point_error(PureDP(0.5), 1000, unit, whole=False) / unit
    right, left = 0.216, 1 / math.sqrt(unit**2 - 1 / 0.216**2)
    tried = worst_cell_error(TwoTails(0.5 - right, 0.5 - left), TwoTails(right, left), 1000)
    assert found.main.must == pytest.approx(least) == pytest.approx(1.77, abs=5e-3)
    assert found.main.uneven == pytest.approx(tried.most / unit, rel=2e-3)
    assert found.factor == pytest.approx(found.main.uneven / least) == pytest.approx(1.84, abs=4e-3)
    far, few = plane.Findings(d=10**15), plane.Findings(epsilon=5.0, d=2)  # far: "huge" tops all
    assert far.difficult["keep the sum: cell"][1] == pytest.approx(far.kept[0], rel=1e-5)
    clip, mapped, strong = found.main.clip, found.main.mapped, plane.Plane(PureDP(12.0), 1000)
    assert strong.uneven == strong.clip.C[0] < 0.02  # clip is better in both errors
    assert (found.main.by, strong.by) == ("asymmetric noise", "clip")
    two, eight = plane.Plane(ConcentratedDP(0.125), 2), plane.Plane(PureDP(0.5), 8)
    assert (two.by, eight.by) == ("clip", "keep the sum")  # though clip's D is 1 but for rounding
    sharp = plane.Plane(PureDP(5.0), 10)  # told is what is drawn, where shared lines prove nothing
    assert np.interp(1.0, sharp.sum_errors, sharp.curves["channel"]) >= sharp.must > 0.17
    assert few.gap[0][3][0] == few.main.uneven == few.main.clip.C[0]  # as the caption says
    own = math.sqrt(clipped_sum(m_epsilon(0.5), [0], [1000])) / unit
    assert (clip.D[0], mapped.C[0]) == (pytest.approx(own), clip.C[0])
    assert 0.66 < mapped.D[0] / own < 0.69


@pytest.mark.parametrize("own", plane.Findings().planes, ids=lambda p: p.guarantee.name)
def test_no_mark_lies_in_the_region_of_its_kind(own):
    for place in own.marks:
        low = own.single("mapped" in place.name or "clip" in place.name, place.D)
        assert (low * (1 - 1e-9) <= place.C).all()
    assert (np.diff(own.curves["channel"]) <= 1e-9).all()
    assert (own.curves["channel"] >= own.curves["first_moment"] - 1e-12).all()
