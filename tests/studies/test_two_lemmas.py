from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from sentences import EPSILONS, cases, check_texts, numbers, says, texts

from microdata_price.figures.upper import water_level
from microdata_price.studies.two_lemmas import largest, level_of, one_draw, splits


def moment(law: Any, d: float, power: int) -> float:
    """A moment of the largest of d absolute noises, by quadrature over its tail."""

    def tail(t: float) -> float:
        return power * t ** (power - 1) * -math.expm1(d * math.log1p(-2 * law.sf(t)))

    parts = np.linspace(0, 80, 81)
    return sum(integrate.quad(tail, a or 1e-12, b)[0] for a, b in itertools.pairwise(parts))


@pytest.mark.parametrize("ds", [[2], [10, 1000], [1000, 10**7, 10**12]])
def test_what_is_said_of_the_largest_noise(ds: list[int]) -> None:
    found = largest(ds)
    check_texts(texts(found).values())
    laplace, gauss = (moment(law, max(ds), 1) for law in (stats.laplace, stats.norm))
    assert says(found.opening, laplace)
    assert says(found.opening, gauss)
    assert says(found.million_said, moment(stats.laplace, 1e6, 1))
    worst, where = 0.0, 0
    for d in ds:
        g, root = math.sqrt(2 * math.log(d)), math.sqrt(2 * math.pi)
        pairs = [
            (math.log(d) + 1, moment(stats.laplace, d, 1)),
            (math.log(d) ** 2 + 2 * math.log(d) + 2, moment(stats.laplace, d, 2)),
            (g + 4 / (root * g * g), moment(stats.norm, d, 1)),
            (g * g + 4 / (root * g), moment(stats.norm, d, 2)),
        ]
        assert all(bound >= exact * (1 - 1e-6) for bound, exact in pairs)
        if max(b / e for b, e in pairs) > worst:
            worst, where = max(b / e for b, e in pairs), d
    assert numbers(found.bounds_said)[0] == pytest.approx(where)
    assert worst <= numbers(found.bounds_said)[1] * (1 + 1e-6) <= worst * 1.01


def test_the_lemma_takes_the_best_split() -> None:
    points, bounds, exact, best = splits()
    np.testing.assert_allclose(bounds, points + 1000 * np.exp(-points))
    assert exact == pytest.approx(sum(1 / i for i in range(1, 1001)))
    assert best + 1 <= bounds.min() * (1 + 1e-12)
    assert says(largest([2]).split.text, best + 1, 1e-3)


@pytest.mark.parametrize("given", cases(epsilon=EPSILONS, d=(20, 2, 3, 5000), seed=(4, 9)), ids=str)
def test_what_is_said_of_the_level(given: dict[str, Any]) -> None:
    epsilon, d = given["epsilon"], given["d"]
    noisy = one_draw(epsilon, d, given["seed"])
    found = level_of(noisy, epsilon)
    check_texts(texts(found).values())
    assert found.worst_certificate < 1e-7
    x = np.maximum(noisy.answers[1][0] - found.level, 0)
    assert x.sum() == pytest.approx(max(0.0, noisy.answers[0][0, 0]), abs=1e-6)
    assert numbers(found.picture.text)[:2] == pytest.approx([found.level, found.total], rel=6e-3)
    assert says(found.said, (x > 0).sum())
    assert ("gains" in found.said) == (found.level < 0)
    q = math.ceil(math.log(d) / epsilon)
    z, sum_noise = noisy.answers[1][0].copy(), abs(noisy.answers[0][0, 0] - q)
    z[0] -= q
    low, high = numbers(found.ends_said)[:2]
    assert low == pytest.approx(z.min() - sum_noise, rel=6e-3)
    assert high == pytest.approx(z.max() + sum_noise, rel=6e-3)
    assert found.low - 1e-9 <= found.level <= found.high + 1e-9


def test_of_very_many_cells_the_largest_are_drawn() -> None:
    for d in (20, 100_000):
        noisy = one_draw(0.5, d, seed=4)
        found, cells = level_of(noisy, 0.5), noisy.answers[1][0]
        check_texts([found.picture.text, found.said])
        assert ("largest are drawn" in found.picture.text) == (d > 400)
        left = water_level(cells, found.level, *found.curve, found.total).axes[0]
        tops = sorted(bar.get_height() for bar in left.containers[0])
        assert np.allclose(tops, np.sort(cells)[-400:])
        assert len(left.containers[1]) == found.kept
