"""Steps of the solver: small Newton systems, the search along a line, projections on simplices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import microdata_price.optimize.dual_newton as dual_newton
from microdata_price.optimize import line_search, simplex
from microdata_price.optimize.boxed import Point
from microdata_price.optimize.eliminate import solve_small
from microdata_price.optimize.line_search import _Line
from microdata_price.optimize.simplex import exact_sums, grid_of, project_groups, project_simplex
from microdata_price.optimize.structured import make_plan, solve_planned
from random_problems import KINDS, STRUCTURES, Recipe, random_problem

# Newton steps of all runs, and points of lines at which the slope was looked at.
WORK = {
    "list": ((115, 4), (153, 15), (120, 6), (151, 21)),
    "two-way": ((155, 10), (197, 61), (189, 18), (379, 381)),
    "three-way": ((256, 72), (363, 333), (311, 82), (1590, 7226)),
    "tree": ((168, 17), (150, 76), (201, 9), (491, 1191)),
    "overlapping": ((200, 56), (890, 1784), (243, 76), (1140, 4349)),
}


def plain_search(line, past):
    """Return where one run's search along its line ends, from the slopes alone."""
    low, at_low, high, (at_high, bend) = 0.0, line.slope[0], 1.0, np.ravel(line.at(np.ones(1)))
    for count in range(40):
        enclosed, t = at_high < 0, 2 * high
        if enclosed:
            t = low + (high - low) * at_low / (at_low - at_high)
        if enclosed and count % 2:
            tangent = high + at_high / bend if bend > 0 else high
            t = tangent if low < tangent < high else (low + high) / 2
        slope, bends = np.ravel(line.at(np.array([t])))
        if -past * line.slope[0] <= slope <= line.slope[0] / 2:
            break
        if slope >= 0:
            low, at_low = t, slope
        elif not enclosed:
            low, at_low = high, at_high
        if slope < 0 or not enclosed:
            high, at_high, bend = t, slope, bends
    return t


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_few_and_searched_until_the_slope_has_nearly_gone(monkeypatch, structure, kind):
    searched, steps, points = [], [], []
    line_at, advance = _Line.at, dual_newton._advance

    def note(*given):
        searched.append((*given, line_search.search(*given)))
        return searched[-1][-1]

    def count(batch, *given, **named):
        steps.append(batch.index.size)
        advance(batch, *given, **named)

    monkeypatch.setattr(dual_newton, "search", note)
    monkeypatch.setattr(dual_newton, "_advance", count)
    monkeypatch.setattr(_Line, "at", lambda *k: (points.append(k[1].size), line_at(*k))[1])
    rng = np.random.default_rng(1)
    recipes = Recipe(), Recipe(large=1e9), Recipe(empty=True), Recipe(orders=6.0)
    for k in range(8):
        problem = random_problem(rng, structure, kind, recipes[k % 4], runs=8)
        solve_planned(problem, make_plan(problem), accuracy=1e-6)
    monkeypatch.setattr(_Line, "at", line_at)
    for at, box, y, step, slope, past, t in searched:
        point, line = Point.at(at, box, y + t[:, None] * step), _Line.of(at, box, y, step, slope)
        left, bend = line_at(line, t)
        size = np.abs(step).sum(axis=1) * np.abs(box.target).max(axis=1)
        assert (np.abs(left - (point.residual * step).sum(axis=1)) <= 1e-11 * size).all()
        expected = (point.free * at.rmatvec(step) ** 2).sum(axis=1)
        expected += (point.inverse_weight * step**2).sum(axis=1)
        np.testing.assert_allclose(bend, expected, rtol=1e-9)
        ends = [plain_search(line.select(np.array([k])), past) for k in range(t.size)]
        np.testing.assert_allclose(t, ends, rtol=1e-9)
    work = WORK[structure][KINDS.index(kind)]
    np.testing.assert_allclose([sum(steps), sum(points)], work, rtol=0.03)


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


ANY = st.floats(-1e6, 1e6, allow_subnormal=False)
VECTORS = hnp.arrays(float, st.integers(1, 40), elements=ANY)


@pytest.mark.parametrize("long", [simplex._LONG, 1])
@given(a=VECTORS, total=st.one_of(st.just(0.0), st.floats(1e-6, 1e7)))
def test_the_projection_satisfies_its_optimality_conditions(long, a, total):
    a = np.array([a, -a])
    with pytest.MonkeyPatch.context() as patch:  # as long vectors are projected, and as short ones
        patch.setattr(simplex, "_LONG", long)
        x, g = project_simplex(a, np.full(2, total))
    largest = np.abs(a).max()
    assert x.min() >= 0
    assert np.abs(x.sum(axis=1) - total).max() <= 1e-12 * (1 + total) + 1e-15 * largest
    # x = max(a - g, 0) is the projection for whichever sum it has (Lemma 2 of the paper).
    scale = 1e-12 * (1 + largest + total)
    assert np.abs(x - np.maximum(a - g[:, None], 0)).max() <= scale
    assert total > 0 or np.abs(g - a.max(axis=1)).max() <= scale


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1))
def test_groups_of_any_sizes_are_projected_one_by_one(seed):
    rng = np.random.default_rng(seed)
    many = int(rng.integers(1, 5))
    groups, unit = rng.integers(rng.integers(-1, 1), many, 12), 2.0**-30
    a, totals = rng.normal(size=(3, 12)) * 9, np.rint(rng.random((3, many)) * 20 / unit) * unit
    x, g = project_groups(a, groups, totals)
    np.testing.assert_array_equal(x[:, groups == -1], np.maximum(a[:, groups == -1], 0))
    for k in range(many):
        if (groups == k).any():
            expected, threshold = project_simplex(a[:, groups == k], totals[:, k])
            np.testing.assert_allclose(x[:, groups == k], expected, atol=1e-13)
            # On a grid of totals the sums are exact.
            np.testing.assert_array_equal(x[:, groups == k].sum(axis=1), totals[:, k])
            np.testing.assert_allclose(g[:, k], threshold, atol=1e-13)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 300), scale=st.floats(1e-6, 1e12))
def test_sums_on_the_grid_are_exact_in_any_order(seed, size, scale):
    rng, unit = np.random.default_rng(seed), grid_of(np.array([scale]))
    assert 2.0**-50 <= unit / scale <= 2.0**-49
    total = np.rint(scale / unit) * unit
    x = rng.dirichlet(np.full(size, 0.2))[None] * total
    y = exact_sums(x, total, grid_of(total))
    assert np.abs(y - x).max() <= 8 * 2.0**-49 * total[0]
    for _ in range(3):
        rng.shuffle(y[0])
        assert y[0].sum() == sum(y[0].tolist()) == total[0]
