"""Small Newton systems: regular, singular to rounding, and hopeless ones in one batch."""

import numpy as np
import pytest

from microdata_price.optimize.eliminate import regular, solve_small


def definite(rng, runs, k):
    a = rng.normal(size=(runs, k, k + 3))
    return a @ a.transpose(0, 2, 1)


@pytest.mark.parametrize("k", [0, 1, 2, 13, 64, 65, 80])
def test_regular_systems_are_solved(k):
    rng = np.random.default_rng(k)
    matrix, x = definite(rng, 5, k), rng.normal(size=(5, k))
    found = solve_small(matrix.copy(), (matrix @ x[:, :, None])[:, :, 0])
    np.testing.assert_allclose(found, x, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("k", [2, 13, 64, 70])
def test_a_singular_run_leaves_the_others_alone(k):
    rng = np.random.default_rng(k)
    matrix, right = definite(rng, 4, k), rng.normal(size=(4, k))
    alone = [solve_small(matrix[[b]].copy(), right[[b]])[0] for b in range(4)]
    matrix[1], right[1] = 1.0, 2.0  # the same query k times over
    matrix[2] = np.nan
    found = solve_small(matrix, right)
    for b in (0, 3):
        np.testing.assert_allclose(found[b], alone[b], rtol=1e-9)
    np.testing.assert_allclose(found[1].sum(), 2.0)
    assert np.isnan(found[2]).all()


def test_slack_that_rounding_takes_for_none_gives_way_to_the_ridge():
    free, ridge = np.array([[4.0, 4.0, 4.0, 0.0]]), np.array([[1e-2]])
    slack = np.array([[0.0, 1e-17, 1.0, 0.0]])
    np.testing.assert_allclose(regular(free, slack, ridge), [[4.04, 4.04, 5.0, 1.0]])
