from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from sentences import EPSILONS, RHOS, cases, check_texts, numbers, says, texts

from microdata_price.studies.upper_projection import Growth, OneTable, growth, one_table

TABLES = cases(epsilon=EPSILONS, d=(1000, 2, 3, 50_000))
GROWTHS = cases(epsilon=EPSILONS, rho=RHOS, ds=((3, 10, 100, 1000, 100_000), (2,), (10,)))


@functools.cache
def at(epsilon: float, d: int) -> OneTable:
    return one_table(epsilon, d, runs=60 if d > 10_000 else 300, seed=9)


@functools.cache
def grown(epsilon: float, rho: float, ds: tuple[int, ...]) -> Growth:
    return growth(epsilon, rho, ds)


def by_sorting(a: np.ndarray, total: float) -> float:
    """The level at which what is above adds up to the total."""
    a = np.sort(a)[::-1]
    levels = (np.cumsum(a) - total) / np.arange(1, a.size + 1)
    kept = np.flatnonzero(a > levels)
    return float(levels[kept[-1]]) if kept.size else float(a[0])


@pytest.mark.parametrize("given", TABLES, ids=str)
def test_what_is_said_of_one_table(given: dict[str, Any]) -> None:
    found, epsilon, d = at(**given), given["epsilon"], given["d"]
    check_texts(texts(found).values())
    q = math.ceil(math.log(d) / epsilon)
    runs = 40 if d > 10_000 else 300
    rng, rows = np.random.default_rng(123), []
    for _ in range(runs):
        z, z_sum = rng.laplace(scale=2 / epsilon, size=d), rng.laplace(scale=2 / epsilon)
        a = z.copy()
        a[0] += q
        level = by_sorting(a, max(0.0, q + z_sum))
        x = max(a[0] - level, 0.0)
        rows.append((level, (x - q) ** 2, 100 * (x == 0)))
        assert z.min() - abs(z_sum) - 1e-9 <= level <= z.max() + abs(z_sum) + 1e-9
    level, error, empty = np.array(rows, dtype=float).T
    for values, said in (
        (level, found.sparse.level),
        (error, (found.sparse.first - q) ** 2),
        (empty, 100.0 * (found.sparse.first == 0)),
    ):
        spread = math.hypot(values.std() / runs**0.5, said.std() / said.size**0.5)
        assert abs(values.mean() - said.mean()) <= 5 * spread + 1e-9
    assert abs(found.exact - error.mean()) < 5 * error.std() / runs**0.5
    assert "in all" in found.steps_said
    far = found.sparse.first
    assert ("far less accurate" in found.opening) == (found.exact > 12 / epsilon**2)
    assert says(found.opening, found.exact, 1e-3)
    kept = int(np.count_nonzero(far))
    assert ("standard error is rough" in found.steps_said) == (kept < 10)
    assert (f"only {kept} of" in found.steps_said) == (0 < kept < 10)
    assert says(found.steps_said, 8 / epsilon**2)
    assert all(a.value <= b.value for a, b in zip(found.chain, found.chain[1:], strict=False))
    assert found.chain[-1].value < found.ends[1]
    assert found.ends[0] <= found.ends[1]
    bar = found.slack
    assert (bar.asked, bar.allowed) == pytest.approx((found.exact, found.ends[1]))
    assert min(loss for _, loss in bar.lost) >= -5 * max(side.error for side in found.chain)
    assert says(found.levels_said, found.sparse.level.mean(), 0.05)


@pytest.mark.parametrize("given", GROWTHS, ids=str)
def test_what_is_said_of_growth(given: dict[str, Any]) -> None:
    found, epsilon, rho = grown(**given), given["epsilon"], given["rho"]
    check_texts([*texts(found).values(), found.table()[1], found.table(zcdp=True)[1]])
    d = int(found.sizes[-1])
    assert numbers(found.said)[0] == d
    rng, runs = np.random.default_rng(4), 50 if d > 10_000 else 1500
    for scale, unit, draw, exact in (
        (2 / epsilon, 8 / epsilon**2, rng.laplace, found.pure[-1]),
        (1 / math.sqrt(rho), 1 / rho, rng.normal, found.zcdp[-1]),
    ):
        errors = []
        for _ in range(runs):
            z, z_sum, q = draw(scale=scale, size=d), draw(scale=scale), 1e5 * scale
            z[0] += q
            errors.append((z[0] - by_sorting(z, q + z_sum) - q) ** 2)
        assert abs(np.mean(errors) - exact) < 5 * np.std(errors) / runs**0.5
        assert says(found.said, exact / unit, 0.06)
    for zcdp in (False, True):
        frame = found.table(zcdp)[0]
        assert (frame["one large cell, exact"] <= frame["certified"]).all()
        assert (frame["certified"] <= frame["the paper's constants"] * (1 + 1e-9)).all()
    assert (found.sums["squared error"] <= found.sums["8/ε²"] * (1 + 1e-12)).all()
