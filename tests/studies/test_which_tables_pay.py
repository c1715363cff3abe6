from __future__ import annotations

import functools

import numpy as np
import pytest
from sentences import EPSILONS, check_texts, numbers, says, texts

from microdata_price.studies.which_tables_pay import Findings, study


@functools.cache
def at(epsilon: float) -> Findings:
    return study(epsilon, runs=40, seed=3)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_sentence_is_recomputed_from_the_map(epsilon: float) -> None:
    found = at(epsilon)
    check_texts(texts(found).values())
    table = found.table
    assert says(found.sum_said, 2 * 2**0.5 / epsilon)  # Laplace noise of scale 2 / epsilon
    for method in ("nnls", "maxfit", "sequential", "reweighted"):
        own = table[table["method"] == method]
        beyond, free = int((own["sum"] > 2).sum()), int(own["sum"].between(0.9, 1.1).sum())
        assert f"in {beyond}" in found.sum_said, (method, beyond)
        assert f"in {free}" in found.sum_said, (method, free)
        assert f"in {int((own['worst'] > 2).sum())}" in found.worst_said
    peak = {m: float(g[["sum", "worst"]].to_numpy().max()) for m, g in table.groupby("method")}
    assert ("never does badly" in found.safest_said) == (min(peak.values()) < 2)
    assert says(found.worst_said, float(table["worst"].max()), rel=0.06)
    full = table[(table["method"] == "nnls") & (table["empty"] == 0) & (table["size"] == 1)]
    assert ("raise the price too" in found.nnls_said) == bool(full["sum"].iloc[0] > 1.15)
    assert found.worst_certificate < 1e-7


def test_the_empty_list_costs_what_a_simulation_by_sorting_says() -> None:
    """NNLS of a list by its level, on other noise."""
    found, epsilon = study(0.5, runs=200, seed=3), 0.5
    rng = np.random.default_rng(8)
    b, truth = 2 / epsilon, np.zeros(100)
    truth[0] = 10_000
    squares = []
    for _ in range(2000):
        noisy, total = truth + rng.laplace(scale=b, size=100), 10_000 + rng.laplace(scale=b)
        low, high = -100.0, 100.0
        for _ in range(60):
            g = (low + high) / 2
            low, high = (g, high) if np.maximum(noisy - g, 0).sum() - total > g else (low, g)
        squares.append((total + g - 10_000) ** 2)
    price = np.mean(squares) / (2 * b * b * 100 / 101)
    here = found.at("nnls", 99, 1)
    spread = 5 * np.hypot(here["sum_error"], np.std(squares) / 2000**0.5 / (2 * b * b))
    assert abs(here["sum"] - price) < spread
    assert numbers(found.opening)[1] == pytest.approx(here["sum"], rel=0.06)
