"""Privacy and two errors: what the texts say, recomputed."""

import math

import numpy as np
import pytest
from chapter_texts import EPSILONS, cases, filled, says
from scipy import integrate

from microdata_price.chapters.privacy_and_errors import Findings

CASES = cases(epsilon=EPSILONS, d=(1000, 2, 10**5), rho=(0.125, 50.0))


@pytest.mark.parametrize("given", CASES, ids=str)
def test_texts_hold_at_every_level(given):
    said = filled("privacy_and_errors", runs=60, **given)
    epsilon = given["epsilon"]
    assert says(said[0], math.sqrt(8) / epsilon)
    assert says(said[1], 8 / epsilon**2)
    assert says(said[1], 1 / given["rho"])


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_signed_errors_are_those_of_the_noise(epsilon):
    found = Findings(epsilon=epsilon, ds=(10, 1000), runs=400)
    for level, rows in zip(found.exact, found.sampled, strict=True):
        for e in rows:
            assert abs(e.total - level) < 5 * e.total_se
            assert abs(e.cell - level) < 5 * e.cell_se
    assert np.abs(found.laplace.loss).max() <= epsilon * (1 + 1e-9)


def test_the_bound_on_the_mean_comes_from_the_noise_s_moments():
    found, b = Findings(), 4.0
    half = integrate.quad(lambda t: t**2 * math.exp(-t / b) / (2 * b), 0, math.inf)[0]
    d = found.sizes
    by_hand = math.sqrt(2 * half) + 2 * math.sqrt(half / 1) / np.sqrt(d) + math.sqrt(half) / d
    np.testing.assert_allclose(found.over_cells, by_hand)
    assert (np.diff(found.worst_cell) > 0).all()
    assert found.last[0] > 5
    assert 1 < found.last[1] < 1.01
