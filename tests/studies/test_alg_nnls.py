from __future__ import annotations

import functools
from typing import Any

import method_levels
import numpy as np
import pytest
from method_levels import RUNS, asked
from sentences import check_texts, numbers, says, texts

from microdata_price.studies.alg_nnls import COUNTS, Findings

PURE, ZCDP = asked()
at = functools.partial(method_levels.at, Findings)


@pytest.mark.parametrize("given", PURE + ZCDP, ids=str)
def test_every_sentence_is_recomputed(given: dict[str, Any]) -> None:
    found = at(**given)
    said = texts(found) | {f"growth.{k}": v for k, v in texts(found.growth).items()}
    check_texts(said.values())
    case, cells = found.case, found.fitted.cells
    errors = cells.sum(axis=1) - case.truth.sum()
    spread = errors.std(ddof=1) / RUNS**0.5
    assert ("makes the sum too large" in found.opening) == bool(errors.mean() > 4 * spread)
    assert says(found.opening, errors.mean(), 0.02)

    # The mean of the positive half of the noise: b / 2 and sigma / sqrt(2 pi).
    half = 1 / np.sqrt(2 * np.pi) if given["privacy"] == "zcdp" else 1 / (2 * np.sqrt(2))
    per_cell = case.noise.std * half
    assert says(found.clipping_said, per_cell)
    assert not case.empty.any() or says(found.clipping_said, per_cell * case.empty.sum())
    assert ("no averaging" in found.clipping_said) == ("too large" in found.opening)

    row, noisy = cells[0], case.noisy_cells[0]
    assert numbers(found.response_picture.text.split(":")[1]) == [
        (row == 0).sum(),
        row.size,
        ((row > 0) & (row < noisy)).sum(),
        (row > 0).sum(),
    ]
    assert says(found.formula_said, 100 * (cells == 0).mean())
    scale = max(1.0, np.abs(case.noisy_cells).max())
    assert found.formula_gap < 1e-8 * scale
    assert found.slack < 1e-8 * scale
    assert says(found.balance_picture.text, errors.mean(), 0.02)
    assert len(found.errors) == len(case.workload.names)
    of_sum = found.errors.set_index("query set").loc["sum", "squared error"]
    assert numbers(str(of_sum))[0] == pytest.approx((errors**2).mean(), rel=0.05)


@pytest.mark.parametrize("given", PURE[:1] + ZCDP[:1], ids=str)
def test_the_bias_grows_as_a_simulation_by_halving_says(given: dict[str, Any]) -> None:
    """The level of each list by halving an interval, on other noise."""
    growth, rng = at(**given).growth, np.random.default_rng(7)
    assert growth.values[0].tolist() == sorted(growth.values[0])
    for n, mine in list(zip(COUNTS, growth.measured, strict=True))[:5]:
        draw = functools.partial(rng.normal, scale=growth.std)
        if given["privacy"] == "pure":
            draw = functools.partial(rng.laplace, scale=growth.std / 2**0.5)
        a, z = draw(size=(400, n + 1)), draw(size=400)
        a[:, 0] += 1000 * growth.std
        total = z + 1000 * growth.std
        low, high = np.full(400, -100 * growth.std), np.full(400, 100 * growth.std)
        for _ in range(60):
            g = (low + high) / 2
            over = np.maximum(a - g[:, None], 0).sum(axis=1) - total > g
            low, high = np.where(over, g, low), np.where(over, high, g)
        spread = np.hypot(g.std() / 20, mine.error)
        assert abs(g.mean() - mine.value) < 5 * spread, n


@pytest.mark.parametrize("given", PURE[:1] + ZCDP[:1], ids=str)
def test_the_predicted_bias_balances(given: dict[str, Any]) -> None:
    """n E(z - g)+ = 2 g with one large cell, by quadrature."""
    growth = at(**given).growth
    z = np.linspace(0, 60 * growth.std, 2_000_001)
    if given["privacy"] == "pure":
        b = growth.std / 2**0.5
        density = np.exp(-z / b) / (2 * b)
    else:
        density = np.exp(-((z / growth.std) ** 2) / 2) / (growth.std * np.sqrt(2 * np.pi))
    for n, g in zip(growth.counts, growth.predicted, strict=True):
        kept = n * np.trapezoid(np.maximum(z - g, 0) * density, z)
        assert kept == pytest.approx(2 * g, rel=1e-4)
