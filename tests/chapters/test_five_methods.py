"""Five methods on one table: the main claims in another way."""

import numpy as np
import pytest
from chapter_texts import filled, says
from scipy import stats

from microdata_price.chapters.five_methods import Findings
from microdata_price.fitting import paper_methods


@pytest.fixture(scope="module")
def found():
    return Findings(runs=400)


def test_the_sum_s_ratios_are_those_of_the_simulated_sums(found):
    said = filled("five_methods", runs=400)[0]
    r, c = found.case.table.shape
    ols = found.noise.variance * r * c / ((r + 1) * (c + 1))
    squares = {m: ((x.sum(axis=1) - 1386) ** 2).mean() for m, x in found.cells.items()}
    assert says(said, squares["nnls"] / ols, 0.02)
    assert says(said, squares["reweighted"] / ols, 0.02)
    # Sequential fitting's is exact: the integral of the squared error of max(0, n + z).
    law = stats.laplace(scale=found.noise.std / 2**0.5)
    z = np.linspace(-3000, 3000, 600_001)
    exact = np.trapezoid((np.maximum(0, 1386 + z) - 1386) ** 2 * law.pdf(z), z)
    assert says(said, exact / ols)
    assert found.sum_exact == pytest.approx(exact, rel=1e-5)


def test_each_waterfall_ends_where_its_steps_lead(found):
    for method in paper_methods():
        *steps, end = found.balances[method]
        assert sum(s.value for s in steps) == pytest.approx(end.value, abs=1e-9)
        assert steps[0].value == pytest.approx(found.lifted[0], abs=5 * steps[0].error)
        assert steps[1].value == pytest.approx(found.lifted[1], abs=5 * steps[1].error)
        inside, outside, total = found.moved[method]
        assert inside.value + outside.value == pytest.approx(total.value, abs=1e-9)


def test_nnls_settles_between_two_errors_and_sequential_fitting_does_not(found):
    noisy = found.case.measurements.answers[0][:, 0]
    assert found.cells["sequential"].sum(axis=1) == pytest.approx(np.maximum(noisy, 0), abs=1e-6)
    assert (found.cells["nnls"].sum(axis=1) > noisy).mean() > 0.95
    assert min(found.cells[m].min() for m in found.micro) >= 0
