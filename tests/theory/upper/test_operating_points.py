"""Known mechanisms obey every bound; Theorem 4's constants, truncated noise, privacy audits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microdata_price.model import noise_discrete as nd
from microdata_price.model.noise import Gaussian
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.laws.audit import audit_clipping, audit_lifted_noise, audits
from microdata_price.theory.lower.lower_bounds import BOUNDS, point_error_bound, sum_error_bound
from microdata_price.theory.proofs.packing_walk import truncated_cells
from microdata_price.theory.upper import operating_points as points
from microdata_price.theory.upper import truncation as tr
from microdata_price.theory.upper import upper_bounds as ub
from microdata_price.theory.upper.extremes import lemma1
from microdata_price.theory.upper.one_sided import certified_split
from microdata_price.theory.upper.reached import reached
from rounding import at_most

SOME = [PureDP(0.5), PureDP(10.0), ConcentratedDP(0.125)]
MORE = [PureDP(0.01), ConcentratedDP(0.001), ConcentratedDP(10.0)]
MORE += [ApproximateDP(e, x) for e, x in ((0.1, 1e-12), (1.0, 1e-2), (10.0, 1e-12))]


def assert_allowed(guarantee, d, place):
    for name in BOUNDS:
        low = point_error_bound(name, guarantee, d, place.D)
        assert (low <= place.C * (1 + 1e-9)).all(), (name, place)
        low = sum_error_bound(name, guarantee, d, place.C)
        assert (low <= place.D * (1 + 1e-9)).all(), (name, place)


@pytest.mark.parametrize("guarantee", [*SOME, *MORE], ids=str)
def test_every_place_is_allowed(guarantee):
    for d in (2, 1000, 10**6):
        places = [points.clipping(guarantee, d), points.split(guarantee, d, 5)]
        if not isinstance(guarantee, ConcentratedDP) or d == 10**6:
            places += points.fitted(guarantee, d)
        if isinstance(guarantee, ApproximateDP):
            found = ub.certified_truncated(guarantee.epsilon, guarantee.delta, d)
            one = np.atleast_1d(found.C), np.atleast_1d(found.D)
            places.append(points.Operating("truncated", "certified", *one, np.zeros(1)))
        for place in places:
            assert_allowed(guarantee, d, place)


@pytest.mark.parametrize("guarantee", SOME[1:], ids=str)
def test_the_weighted_family_is_allowed_and_joins_its_ends(guarantee):
    for d in (2, 1000):
        path = points.weighted(guarantee, d, [1e-9, 1.0, 1e6])
        assert_allowed(guarantee, d, path)
        sure = points.weighted_certified(guarantee, d, path.knob)
        assert at_most([path.C, path.D], [sure.C, sure.D])
        ends = points.weighted_certified(guarantee, d, [0.0, math.inf])
        clipped = points.weighted(guarantee, d, [0.0])
        assert ends.C[0] == pytest.approx(clipped.C[0]) == pytest.approx(guarantee.signed_error)
        assert ends.D[0] == pytest.approx(clipped.D[0])
        assert ends.C[1] >= points.fitted(guarantee, d)[1].C[0] * (1 - 1e-12)
        assert ends.D[1] == pytest.approx(guarantee.signed_error)
        far = guarantee.signed_error, points.fitted(guarantee, d)[0].C[0], guarantee.signed_error
        assert (path.D[-1], path.C[-1], path.C[0]) == pytest.approx(far, rel=1e-3)


LEVELS = [PureDP(0.5), PureDP(0.05), PureDP(10.0), ApproximateDP(0.5, 1e-6), ConcentratedDP(0.125)]


@pytest.mark.parametrize("d", [2, 1000])
@pytest.mark.parametrize("guarantee", LEVELS, ids=str)
def test_what_is_reached_beside_a_sum_error(guarantee, d):
    for factor in (0.6, 1.5):
        D = factor * guarantee.signed_error
        found = reached(guarantee, d, sum_error=D).values
        every = certified_split(guarantee.basis, d, np.linspace(0.001, 0.999, 999))
        if (every.D > D).all():
            assert found["split_budget"] is None
        else:
            # The one-sided lemma, which the worst table's error is far below for many cells.
            assert found["split_budget"] <= every.C[every.D <= D].min() * 1.02
        assert (found["clipping"] is None) == (points.clipping(guarantee, d).D[0] > D * (1 + 1e-12))
        if "asymmetric" in found:
            assert found["asymmetric"] <= found["split_budget"] * (1 + 1e-9)
        if isinstance(guarantee, ApproximateDP):
            sure = ub.certified_truncated(guarantee.epsilon, guarantee.delta, d)
            assert found["truncated"] == (pytest.approx(float(sure.C)) if sure.D <= D else None)


@pytest.mark.parametrize(
    ("guarantee", "d"), [(LEVELS[0], 1000), (LEVELS[2], 10**12), (LEVELS[4], 1000)], ids=str
)
def test_both_ways_agree(guarantee, d):
    paths = {"split_budget": points.split(guarantee, d)}
    shares, every = paths["split_budget"].knob, np.linspace(0.01, 0.75, 400)
    C = certified_split(guarantee.basis, d, every).C
    assert shares[0] == every[C.argmin()] < 0.5 == shares[np.abs(shares - 0.5).argmin()]
    assert shares[-1] == 0.75
    np.testing.assert_allclose(np.diff(shares), (0.75 - shares[0]) / 16, rtol=0.5)
    if not isinstance(guarantee, ConcentratedDP):
        paths["asymmetric"] = points.asymmetric(guarantee, d)
    for name, path in paths.items():
        C, D = float(path.C[8]), float(path.D[8])
        assert reached(guarantee, d, sum_error=D).values[name] == pytest.approx(C, rel=5e-3)
        back = reached(guarantee, d, point_error=C).values[name]
        # The least sum error beside which the cells' is so small.
        ends = [reached(guarantee, d, sum_error=x * back).values[name] for x in (1, 0.99)]
        assert ends[0] <= C * (1 + 1e-9) < ends[1]


def test_what_is_not_reached_has_a_note():
    found = reached(PureDP(0.5), 10**6, sum_error=1.0)
    assert found.values == dict.fromkeys(found.notes)
    assert "2.83" in found.notes["asymmetric"]
    far = reached(PureDP(0.5), int(1e250), point_error=1e30)
    assert all(v is None or math.isfinite(v) for v in far.values.values())
    assert "64 bits" in far.notes["clipping"]


MANY = np.array([3.0, 10, 1e3, 1e6, 1e12])
SCALES = st.floats(-3, 1.3).map(lambda x: 10.0**x)


@given(st.floats(0.02, 8), st.integers(1, 60), st.floats(0, 3))
@settings(max_examples=60)
def test_profiles_equal_sums_over_all_outputs(e, B, times):
    z, k = nd.TruncatedDoubleGeometric(e, B), np.arange(-B - 1.0, B + 3)
    p, q = z.pmf(k), z.pmf(k - 1)
    p[p == 0], q[q == 0] = 0, 0
    epsilon = max(times * e, 1e-9)
    least = np.maximum(p - math.exp(epsilon) * q, 0).sum()
    assert float(tr.profile(z, epsilon)) == pytest.approx(float(least), abs=1e-13)
    pairs = np.maximum(np.outer(p, p) - math.exp(epsilon) * np.outer(q, q), 0).sum()
    assert float(tr.joint_profile(z, epsilon)) == pytest.approx(float(pairs), abs=1e-12)


@given(SCALES, st.floats(-12, -0.5).map(lambda x: 10.0**x))
@settings(max_examples=100)
def test_smallest_bound_suffices_and_one_less_does_not(epsilon, delta):
    e, B = epsilon / 2, tr.smallest_bound(epsilon, delta)
    joint = tr.smallest_bound(epsilon, delta, joint=True)
    assert joint <= B <= tr.paper_bound(epsilon, delta)
    assert delta > 0.1 or tr.paper_bound(1.0, delta) - tr.smallest_bound(1.0, delta) in (3, 4)
    assert tr.profile(nd.TruncatedDoubleGeometric(e, B), e) <= delta / 2
    assert tr.joint_profile(nd.TruncatedDoubleGeometric(e, B), epsilon) <= delta * (1 + 1e-9)
    if B > 1:
        assert tr.profile(nd.TruncatedDoubleGeometric(e, B - 1), e) > delta / 2
    cut = truncated_cells(ApproximateDP(e, delta / 2))  # one answer with the same guarantee
    assert (cut.epsilon, cut.bound) == (e, B)
    if joint > 1:
        assert tr.joint_profile(nd.TruncatedDoubleGeometric(e, joint - 1), epsilon) > delta


@given(SCALES)
@settings(max_examples=60)
def test_items_1_to_4_bound_the_exact_errors_and_the_tighter_constants(level):
    pure, zcdp, noise = PureDP(level), ConcentratedDP(level), Gaussian(1 / math.sqrt(level))
    item3, item4 = ub.item3(level, MANY), np.sqrt(ub.equation_bound(noise, lemma1(noise, MANY)))
    for g, square, loose in ((pure, 2 / level**2, item3.C), (zcdp, 1 / (2 * level), item4)):
        exact, ours = ub.exact_clipping(g, MANY), ub.certified(g, MANY)
        assert at_most(exact.C, math.sqrt(square))
        assert at_most(exact.D, MANY * math.sqrt(square))
        assert at_most(ours.C, loose)
        assert pytest.approx(g.signed_error, rel=1e-12) == ours.D
    assert pytest.approx(MANY * math.sqrt(2) / level) == ub.item1(level, MANY).D
    assert item3.D[0] ** 2 == pytest.approx(8 / level**2)


def test_item_3_and_4_in_the_papers_own_letters():
    log, b = math.log(1000), 2 / 0.5
    C2 = b**2 * (2 + 4 * (log + 1) + 4 * (log**2 + 2 * log + 2))
    assert float(ub.item3(0.5, 1000).C) ** 2 == pytest.approx(C2, rel=1e-12)
    h, h2 = (math.fsum(i**-power for i in range(1, 1001)) for power in (1, 2))
    tight = b * (2 * math.sqrt(2) + math.sqrt(h**2 + h2))
    assert float(ub.certified(PureDP(0.5), 1000).C) == pytest.approx(tight, rel=1e-12)
    s2, g = 1 / 0.125, math.sqrt(2 * log)
    tail, size = 4 / math.sqrt(2 * math.pi), math.sqrt(2 / math.pi)
    C2 = s2 * (1 + 4 * size * (g + tail / g**2) + 4 * (g**2 + tail / g))
    noise = Gaussian(math.sqrt(s2))
    assert float(ub.equation_bound(noise, lemma1(noise, 1000))) == pytest.approx(C2, rel=1e-12)


@pytest.mark.parametrize("level", [1e-6, 1e-3, 0.125, 1.0, 20.0, 1e3])
def test_clipped_noise_loses_epsilon_or_rho_and_no_more(level):
    pure = audit_clipping(nd.DoubleGeometric(level), level, "M")
    assert pure.worst == pytest.approx(level, rel=1e-9, abs=1e-12)
    zcdp = audit_clipping(nd.DiscreteGaussian(1 / (2 * level)), level, "M")
    assert zcdp.worst == pytest.approx(level, rel=1e-9)
    assert pure.holds
    assert zcdp.holds
    assert not audit_clipping(nd.DiscreteGaussian(0.9 / (2 * level)), level, "M").holds


@pytest.mark.parametrize(
    "levels", [(0.5, 0.125, 1e-6), (0.01, 1e-6, 1e-12), (10.0, 10.0, 1e-3), (1.0, 0.5, 0.3)]
)
def test_only_misprinted_mechanisms_and_smaller_noise_fail_the_audit(levels):
    found = {a.mechanism: a for a in audits(*levels)}
    for name, a in found.items():
        assert a.holds or "smaller" in name or "printed" in name, a
        assert not ("smaller" in name and a.holds)
    least = tr.smallest_bound(levels[0], levels[2])
    bounds = [int(name.split(", ")[1].split(")")[0]) for name in found if "TDGeo" in name]
    assert set(bounds) == {tr.paper_bound(levels[0], levels[2]), least, max(least - 1, 1)}
    misprint = found["M_epsilon as printed: DGeo(1/epsilon)"]
    assert (misprint.worst, misprint.holds) == (pytest.approx(1 / levels[0]), levels[0] >= 1)
    assert audit_lifted_noise(levels[1]).worst == math.inf
