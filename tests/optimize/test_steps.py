"""Steps of the solver: small Newton systems, the search along a line, projections on simplices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import microdata_price.optimize.dual_newton as dual_newton
from microdata_price.optimize import simplex
from microdata_price.optimize.boxed import Point
from microdata_price.optimize.eliminate import regular, solve_small
from microdata_price.optimize.line_search import search
from microdata_price.optimize.simplex import exact_sums, grid_of, project_groups, project_simplex
from microdata_price.optimize.structured import solve_structured
from microdata_price.optimize.tuning import TUNING
from random_problems import KINDS, STRUCTURES, Recipe, random_problem


@pytest.fixture
def searched(monkeypatch):
    """Collect every line searched: its arguments and the length found."""
    seen = []

    def note(*given):
        seen.append((*given, search(*given)))
        return seen[-1][-1]

    monkeypatch.setattr(dual_newton, "search", note)
    return seen


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_slope_has_nearly_gone_where_the_search_ends(searched, structure, kind):
    rng = np.random.default_rng(1)
    recipes = Recipe(), Recipe(large=1e9), Recipe(empty=True), Recipe(orders=6.0)
    for k in range(8):
        solve_structured(random_problem(rng, structure, kind, recipes[k % 4], runs=8))
    ended = many = 0
    for at, box, y, step, slope, past, t in searched:
        point = Point.at(at, box, y + t[:, None] * step)
        left = np.einsum("bk,bk->b", point.residual, step)
        size = np.abs(point.residual * step).sum(axis=1)  # what rounding is relative to
        rounding = 1e-12 * (np.abs(step) * np.abs(box.target)).sum(axis=1) + 1e-12 * size
        within = (left <= TUNING.enough * slope + rounding) & (left >= -past * slope - rounding)
        ended, many = ended + int(within.sum()), many + t.size
    # A line along which the function falls for ever has no end; it is a proof, met seldom.
    assert ended >= 0.98 * many
    assert many > 0


@pytest.mark.parametrize("k", [0, 1, 2, 13, 64, 65, 80])
def test_a_singular_run_leaves_the_others_alone(k):
    rng = np.random.default_rng(k)
    matrix, x = rng.normal(size=(4, k, k + 3)), rng.normal(size=(4, k))
    matrix = matrix @ matrix.transpose(0, 2, 1)
    right = (matrix @ x[:, :, None])[:, :, 0]
    np.testing.assert_allclose(solve_small(matrix.copy(), right), x, rtol=1e-6, atol=1e-6)
    if k > 1:
        matrix[1], right[1] = 1.0, 2.0  # the same query k times over
        matrix[2] = np.nan
        found = solve_small(matrix, right)
        np.testing.assert_allclose(found[[0, 3]], x[[0, 3]], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found[1].sum(), 2.0)
        assert np.isnan(found[2]).all()


def test_slack_that_rounding_takes_for_none_gives_way_to_the_ridge():
    free, ridge = np.array([[4.0, 4.0, 4.0, 0.0]]), np.array([[1e-2]])
    slack = np.array([[0.0, 1e-17, 1.0, 0.0]])
    np.testing.assert_allclose(regular(free, slack, ridge), [[4.04, 4.04, 5.0, 1.0]])


VECTORS = hnp.arrays(
    float, st.integers(1, 40), elements=st.floats(-1e6, 1e6, allow_subnormal=False)
)


@pytest.mark.parametrize("long", [simplex._LONG, 1])
@given(a=VECTORS, total=st.one_of(st.just(0.0), st.floats(1e-6, 1e7)))
def test_the_projection_satisfies_its_optimality_conditions(long, a, total):
    with pytest.MonkeyPatch.context() as patch:  # as long vectors are projected, and as short ones
        patch.setattr(simplex, "_LONG", long)
        x, g = project_simplex(a, np.array(total))
    scale = 1e-12 * (1 + np.abs(a).max() + total)
    assert x.min() >= 0
    assert abs(x.sum() - total) <= 1e-12 * (1 + total) + 1e-15 * np.abs(a).max()
    # x = max(a - g, 0) is the projection for whichever sum it has (Lemma 2 of the paper).
    assert np.abs(x - np.maximum(a - g, 0)).max() <= scale
    assert total > 0 or abs(g - a.max()) <= scale


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1))
def test_groups_of_any_sizes_are_projected_one_by_one(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(-1, 4, 12)
    unit = 2.0**-30
    a, totals = rng.normal(size=(3, 12)) * 9, np.rint(rng.random((3, 4)) * 20 / unit) * unit
    x, g = project_groups(a, groups, totals)
    np.testing.assert_array_equal(x[:, groups == -1], np.maximum(a[:, groups == -1], 0))
    for k in range(4):
        if (groups == k).any():
            expected, threshold = project_simplex(a[:, groups == k], totals[:, k])
            np.testing.assert_allclose(x[:, groups == k], expected, atol=1e-13)
            # On a grid of totals the sums are exact.
            np.testing.assert_array_equal(x[:, groups == k].sum(axis=1), totals[:, k])
            np.testing.assert_allclose(g[:, k], threshold, atol=1e-13)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 300), scale=st.floats(1e-6, 1e12))
def test_sums_on_the_grid_are_exact_in_any_order(seed, size, scale):
    rng = np.random.default_rng(seed)
    total = np.rint(scale / grid_of(np.array([scale]))) * grid_of(np.array([scale]))
    x = rng.dirichlet(np.full(size, 0.2))[None] * total
    y = exact_sums(x, total, grid_of(total))
    assert np.abs(y - x).max() <= 8 * 2.0**-49 * total[0]
    for _ in range(3):
        rng.shuffle(y[0])
        assert y[0].sum() == sum(y[0].tolist()) == total[0]
