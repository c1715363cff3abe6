"""Known mechanisms are on the allowed side of every bound, at many levels and numbers of cells."""

import math

import numpy as np
import pytest

from microdata_price.model.noise import Laplace
from microdata_price.model.privacy import ApproximateDP, ConcentratedDP, PureDP
from microdata_price.theory.lower.lower_bounds import BOUNDS, point_error_bound, sum_error_bound
from microdata_price.theory.upper import operating_points as points
from microdata_price.theory.upper.asymmetric import certified_asymmetric
from microdata_price.theory.upper.one_sided import certified_split
from microdata_price.theory.upper.projection import project
from microdata_price.theory.upper.reached import reached
from microdata_price.theory.upper.upper_bounds import certified_truncated
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
            known, sure = points.fitted(guarantee, d)
            places += [known, sure]
            assert at_most(known.C[0], sure.C[0])
            assert known.D[0] == sure.D[0] == pytest.approx(guarantee.signed_error)
        if isinstance(guarantee, ApproximateDP):
            found = certified_truncated(guarantee.epsilon, guarantee.delta, d)
            one = np.atleast_1d(found.C), np.atleast_1d(found.D)
            places.append(points.Operating("truncated", "certified", *one, np.zeros(1)))
        for place in places:
            assert_allowed(guarantee, d, place)


@pytest.mark.parametrize("guarantee", SOME[1:], ids=str)
def test_the_weighted_family_is_allowed_and_joins_its_ends(guarantee):
    for d in (2, 1000):
        path = points.weighted(guarantee, d, [1e-9, 1.0, 1e6])
        assert_allowed(guarantee, d, path)
        if d == 1000:  # with few cells, pooling them makes the sum better than its own answer
            assert (np.diff(path.C) > 0).all()
            assert (np.diff(path.D) < 0).all()
        sure = points.weighted_certified(guarantee, d, path.knob)
        assert at_most(path.C, sure.C)
        assert at_most(path.D, sure.D)
        ends = points.weighted_certified(guarantee, d, [0.0, math.inf])
        clipped = points.weighted(guarantee, d, [0.0])
        assert ends.C[0] == pytest.approx(clipped.C[0]) == pytest.approx(guarantee.signed_error)
        assert ends.D[0] == pytest.approx(clipped.D[0])
        assert ends.C[1] >= points.fitted(guarantee, d)[1].C[0] * (1 - 1e-12)
        assert ends.D[1] == pytest.approx(guarantee.signed_error)
        far = guarantee.signed_error, points.fitted(guarantee, d)[0].C[0], guarantee.signed_error
        assert (path.D[-1], path.C[-1], path.C[0]) == pytest.approx(far, rel=1e-3)


def test_the_family_holds_the_worst_of_many_sampled_tables():
    """No sampled table of 40 cells errs more than the stated family, by 5 standard errors."""
    rng = np.random.default_rng(9)
    noise, d, runs, column = Laplace(4.0), 40, 2000, np.arange(40)
    tables = [np.zeros(d), np.full(d, 3.0), np.full(d, 500.0), column * 1.0]
    tables += [np.where(column < k, 1e4, 0.0) for k in (2, 5, 20)]
    tables += [np.where(column < k, q, 0.0) for k in (1, 3, 10) for q in (4.0, 12.0)]
    for weight in (0.05, 1.0, math.inf):
        place = points.weighted(PureDP(0.5), d, [weight])
        for table in tables:
            total = table.sum() + noise.sample(rng, runs)
            if math.isinf(weight):
                total = np.maximum(total, 0)
            fit = project(table + noise.sample(rng, (runs, d)), total, weight)
            cells, sums = (fit - table) ** 2, (fit.sum(axis=1) - table.sum())[:, None] ** 2
            for found, worst in ((cells, place.C), (sums, place.D)):
                mean, se = found.mean(axis=0), found.std(axis=0) / math.sqrt(runs)
                assert (mean - 5 * se <= worst**2).all()


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
        own = points.clipping(guarantee, d)
        assert (found["clipping"] is None) == (own.D[0] > D * (1 + 1e-12))
        if "asymmetric" in found:
            assert found["asymmetric"] <= found["split_budget"] * (1 + 1e-9)
            rates = np.linspace(0.02, 0.98, 33) * guarantee.epsilon
            tried = certified_asymmetric(guarantee.epsilon, d, rates[:, None], rates)
            assert found["asymmetric"] <= tried.C[tried.D <= D].min() * 1.02
        if isinstance(guarantee, ApproximateDP):
            sure = certified_truncated(guarantee.epsilon, guarantee.delta, d)
            want = pytest.approx(float(sure.C)) if sure.D <= D else None
            assert found["truncated"] == want


@pytest.mark.parametrize(
    ("guarantee", "d"), [(LEVELS[0], 1000), (LEVELS[2], 10**12), (LEVELS[4], 1000)], ids=str
)
def test_both_ways_agree(guarantee, d):
    paths = {"split_budget": points.split(guarantee, d)}
    if not isinstance(guarantee, ConcentratedDP):
        paths["asymmetric"] = points.asymmetric(guarantee, d)
    for name, path in paths.items():
        C, D = float(path.C[8]), float(path.D[8])
        there = reached(guarantee, d, sum_error=D).values[name]
        assert there == pytest.approx(C, rel=5e-3)
        back = reached(guarantee, d, point_error=C).values[name]
        assert back == pytest.approx(D, rel=2e-2)


def test_what_is_not_reached_has_a_note():
    found = reached(PureDP(0.5), 10**6, sum_error=1.0)
    assert set(found.values.values()) == {None}
    assert set(found.notes) == set(found.values)
    assert "2.83" in found.notes["asymmetric"]
    far = reached(PureDP(0.5), int(1e250), point_error=1e30)
    assert all(v is None or math.isfinite(v) for v in far.values.values())
    assert "64 bits" in far.notes["clipping"]
