from __future__ import annotations

import functools
from typing import Any

import method_levels
import numpy as np
import pytest
from method_levels import RUNS, asked
from scipy import stats
from sentences import check_texts, numbers, says, texts

from microdata_price.studies.alg_sequential import Findings

PURE, ZCDP = asked(tiny=True, runs=(RUNS, 2))
at = functools.partial(method_levels.at, Findings)


def clipped_error(found: Findings, n: float) -> float:
    """Integrate (max(0, n + z) - n)^2 over the noise, in noises."""
    std = found.case.noise.std
    laws = {True: stats.norm(), False: stats.laplace(scale=2**-0.5)}
    z, k = np.linspace(-40, 40, 800_001), n / std
    density = laws["rho" in found.guarantee.describe()].pdf(z)
    return float(std**2 * np.trapezoid((np.maximum(0, k + z) - k) ** 2 * density, z))


@pytest.mark.parametrize("given", PURE + ZCDP, ids=str)
def test_every_sentence_is_recomputed(given: dict[str, Any]) -> None:
    found = at(**given)
    check_texts(texts(found).values())
    case, cells, runs = found.case, found.fitted.cells, given["runs"]
    truth, m = case.truth, case.measurements
    errors = cells.sum(axis=1) - truth.sum()
    exact = clipped_error(found, truth.sum())
    assert found.sum_exact == pytest.approx(exact, rel=1e-4)
    assert exact <= case.noise.variance * (1 + 1e-9)
    for text in (found.opening, found.sum_said):
        assert says(text, exact)
        assert says(text, case.noise.std**2)
    assert says(found.sum_said, (errors**2).mean(), 0.05)
    nnls = found.nnls.cells.sum(axis=1) - truth.sum()
    assert says(found.opening, (nnls**2).mean(), 0.06)
    loss = (truth - cells)[:, truth > 0].sum(axis=1)
    clearly = loss.mean() > 4 * loss.std(ddof=1) / runs**0.5
    assert ("pay for it" in found.opening) == clearly

    # The sum is the noisy one, cut at zero, in every run.
    fitted = np.maximum(m.answers[0][:, 0], 0)
    assert np.allclose(cells.sum(axis=1), fitted, atol=1e-7 * (1 + np.abs(fitted).max()))
    assert found.held < 1e-7 * max(1.0, np.abs(case.noisy_cells).max())

    row = cells[0]
    told = numbers(found.response_picture.text.split(":")[1])
    assert told == [(row == 0).sum(), row.size, ((row == 0) & (truth > 0)).sum()]
    clipped = np.maximum(case.noisy_cells, 0)
    change = (cells - clipped)[:, truth > 0].sum(axis=1).mean()
    told = numbers(found.takes_said)
    assert told[2] == pytest.approx(change, rel=0.06, abs=0.1 * case.noise.std)
    assert len(found.stage_table) == len(case.workload.names)


@pytest.mark.parametrize("given", PURE + ZCDP, ids=str)
def test_stages_and_orders_say_what_the_tables_show(given: dict[str, Any]) -> None:
    found = at(**given)
    case, cells = found.case, found.fitted.cells
    tables = cells.reshape(-1, *case.table.shape)
    scale = 1e-9 * max(1.0, np.abs(case.noisy_cells).max())
    if case.table.ndim == 2:
        rows, columns = tables.sum(axis=2) <= scale, tables.sum(axis=1) <= scale
        pinned = rows[:, :, None] | columns[:, None, :]
        assert says(found.pinned_said, 100 * pinned.mean(), 0.02)
        assert not tables[pinned].max(initial=0) > scale
    else:
        assert "no marginals" in found.pinned_said
        assert "no marginals" in found.orders_said
    for name, noisy, fitted, _ in found.stage_parts:
        told = f"{(noisy < 0).sum()} of {noisy.size} noisy answers are negative, and "
        zero = int((fitted == 0).sum())
        assert f"{name.capitalize()}: {told}{zero} are" in found.stages_picture.text

    # With the cells first, each is the noisy one cut at zero.
    last = list(found.by_order.values())[-1].cells
    assert np.allclose(last, np.maximum(case.noisy_cells, 0), atol=1e-7 * scale * 1e9)
    counts = case.truth
    halves = {n: clipped_moments(found, n) for n in set(counts.tolist())}
    mean = sum(halves[n][0] for n in counts.tolist())
    variance = sum(halves[n][1] for n in counts.tolist())
    assert says(found.orders_said, mean**2 + variance, 0.01)
    errors = (np.maximum(case.noisy_cells, 0).sum(axis=1) - counts.sum()) ** 2
    assert says(found.orders_said, errors.mean(), 0.06)


def clipped_moments(found: Findings, n: float) -> tuple[float, float]:
    """Return the mean and the variance of max(0, n + z) - n by quadrature."""
    std = found.case.noise.std
    laws = {True: stats.norm(), False: stats.laplace(scale=2**-0.5)}
    z, k = np.linspace(-40, 40, 80_001), n / std
    density = laws["rho" in found.guarantee.describe()].pdf(z)
    error = np.maximum(0, k + z) - k
    mean = float(np.trapezoid(error * density, z))
    return std * mean, std**2 * (float(np.trapezoid(error**2 * density, z)) - mean**2)


@pytest.mark.parametrize("given", PURE + ZCDP, ids=str)
def test_the_worst_cells_are_the_worst(given: dict[str, Any]) -> None:
    found = at(**given)
    errors = found.fitted.cells - found.case.truth
    squares = np.sort((errors**2).mean(axis=0))[::-1][:5]
    assert found.worst["error"].tolist() == pytest.approx(squares.tolist())
    top = ((found.nnls.cells - found.case.truth) ** 2).mean(axis=0).max()
    assert says(found.worst_caption, top, 0.06)
    low = found.worst["bias"].idxmin()
    clearly = found.worst["bias"][low] < -4 * found.worst["bias error"][low]
    assert ("too low." in found.worst_said) == ("None" not in found.worst_said)
    assert ("None of" not in found.worst_said) == clearly
    if clearly:
        assert says(found.worst_said, -found.worst["bias"][low], 0.06)
