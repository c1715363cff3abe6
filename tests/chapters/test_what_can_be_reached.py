"""What can be reached: texts at every level, and each mechanism's errors in another way."""

import math

import numpy as np
import pytest
from chapter_texts import EPSILONS, cases, filled, says

from microdata_price.chapters.what_can_be_reached import Findings
from microdata_price.model.noise import Laplace
from microdata_price.theory.upper.fitted_errors import cell_errors
from microdata_price.theory.upper.projection import project
from rounding import at_most

CASES = cases(epsilon=EPSILONS, delta=(1e-6, 1e-3), d=(1000, 2, 10**5))


@pytest.mark.parametrize("given", CASES, ids=str)
def test_texts_hold_at_every_level(given):
    said = filled("what_can_be_reached", runs=40, **given)
    epsilon, d = given["epsilon"], given["d"]
    z = np.arange(-math.ceil(60 / epsilon), math.ceil(60 / epsilon) + 1)
    law = np.exp(-epsilon * abs(z))
    law /= law.sum()
    bias, square = law @ np.maximum(z, 0), law @ np.maximum(z, 0) ** 2
    all_zero = d * square + d * (d - 1) * bias**2
    worst = math.sqrt(max(all_zero, d * law @ z**2)) * epsilon / math.sqrt(8)
    assert says(said[0], worst)
    assert says(said[2], bias)
    assert says(said[2], square)


def test_numbers_that_are_known():
    exact = cell_errors(Laplace(4.0), Laplace(4.0), 300).squared_error
    assert Findings(d=300).here[1] ** 2 * 32 == pytest.approx(exact, rel=0.02)
    mean = np.sum(1 / np.arange(1, 10**6 + 1))
    assert Findings().largest == pytest.approx((mean, math.log(1e6) + 1))
    paper, least, exact = Findings().bounds
    assert exact <= 0.5e-6
    assert paper >= least


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("d", [1, 2, 5, 40])
def test_no_table_breaks_the_ceiling_of_truncated_noise(epsilon, d):
    """Outcome by outcome, as in the proof; the means of its three terms are sums."""
    found, rng = Findings(epsilon=epsilon), np.random.default_rng(d)
    B, r = found.cut.bound, math.exp(-epsilon / 2)
    draw = rng.geometric(1 - r, (2000, d + 1)) - rng.geometric(1 - r, (2000, d + 1))
    noise = np.clip(draw, -B, B).astype(float)
    w, z = noise[:, 0], noise[:, 1:]
    q = rng.choice([0.0, 0.0, 2.0, 1e4], size=(2000, d))
    x = project(q + z, np.maximum(q.sum(axis=1) + w, 0.0))
    gain = np.maximum(z - ((z.sum(axis=1) - w) / d)[:, None], 0)
    most = np.maximum(np.maximum(B - z, np.maximum(-w, 0)[:, None]), gain)
    assert at_most(abs(x - q), most, scale=1e5)
    values = np.arange(-B, B + 1)
    law = np.asarray(found.cut.pmf(values.astype(float)))
    variance = law @ values**2
    assert law @ (B - values) ** 2 == pytest.approx(B**2 + variance)
    assert found.cap == pytest.approx(math.sqrt(B**2 + 2 * variance))
