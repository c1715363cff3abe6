"""A step of the solver: small Newton systems, and the search along a line, point by point."""

import numpy as np
import pytest

import microdata_price.optimize.dual_newton as dual_newton
from microdata_price.optimize.boxed import Point
from microdata_price.optimize.eliminate import regular, solve_small
from microdata_price.optimize.line_search import search
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
