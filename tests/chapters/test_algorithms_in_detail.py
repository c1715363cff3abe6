"""The algorithms in detail: the main claims in another way."""

import numpy as np
import pytest
from chapter_texts import filled, says
from scipy import stats

from microdata_price.chapters.algorithms_in_detail import Findings, balanced_level
from microdata_price.fitting import fit_reweighted
from microdata_price.model.noise import Gaussian, Laplace


@pytest.fixture(scope="module")
def found():
    return Findings(runs=100)


def test_one_number_comes_off_every_positive_cell_of_the_list(found):
    noisy = found.small_noisy
    for method, level in found.levels.items():
        cells = noisy[1:] - level
        kept = cells if method == "ols" else np.maximum(cells, 0)
        assert found.small[method][1:] == pytest.approx(kept, abs=1e-8)
    assert found.small["sequential"][0] == pytest.approx(noisy[0])


def test_the_level_of_nnls_is_the_sum_of_its_aggregates_excess(found):
    m, answers = found.case.measurements, found.fits["nnls"].answers()
    sets = list(zip(m.workload.query_sets, answers, m.answers, m.variances, strict=True))
    level = sum(q.spread(x - a) * (m.variances[-1] / v) for q, x, a, v in sets[:-1])
    expected = np.maximum(found.case.noisy - level, 0)
    assert found.cells["nnls"] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("noise", "law"), [(Laplace(4.0), stats.laplace(scale=4)), (Gaussian(4.0), stats.norm(scale=4))]
)
def test_the_predicted_level_balances_what_cells_keep_and_lose(noise, law):
    g = balanced_level(noise, 500, 3)
    z = np.linspace(g, g + 200, 400_001)
    assert 500 * np.trapezoid((z - g) * law.pdf(z), z) == pytest.approx(4 * g, rel=1e-6)


def test_measured_bias_follows_the_prediction(found):
    _, _, measured, predicted, _ = found.growth
    assert [m.value for m in measured] == pytest.approx(list(predicted), rel=0.1)


def test_a_row_or_column_at_zero_pins_its_cells(found):
    rows, columns = (s.answers == 0 for s in found.stages[1:3])
    pinned = rows[:, :, None] | columns[:, None, :]
    assert found.pinned == pytest.approx(100 * pinned.mean())
    assert (found.cells["sequential"].reshape(pinned.shape)[pinned] == 0).all()


def test_the_order_of_priority_decides_who_is_exact(found):
    cells_first = list(found.by_order.values())[-1]["sum"]
    assert cells_first.value == pytest.approx(found.clipped_sum, abs=5 * cells_first.error)
    said = filled("algorithms_in_detail", runs=20)
    assert says(next(t for t in said if t.startswith("With the cells first")), found.clipped_sum)


def test_low_answers_are_those_below_the_cutoff(found):
    answers, level, cut, _, _ = found.cutoff
    ordered = np.sort(answers)
    first = np.flatnonzero(ordered > level)
    assert cut == (ordered[first[0]] if first.size else np.inf)
    assert found.low[0] == (answers < cut).sum()
    base = fit_reweighted(found.case.measurements).cells
    row = found.variants.iloc[0]
    error = ((base - found.case.truth) ** 2).sum(axis=1).mean()
    assert says(row["cells"], error, 0.01)
