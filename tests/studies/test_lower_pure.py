from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from sentences import EPSILONS, cases, check_texts, numbers, says, texts

from microdata_price.model.privacy import PureDP
from microdata_price.studies.lower_pure import (
    Curves,
    HidingGame,
    curves,
    hiding_game,
    large_epsilon,
    slip,
    slopes,
)
from microdata_price.theory.lower.lower_bounds import point_error_bound, sum_error_bound
from microdata_price.theory.lower.printed_branches import point_error_branches

GAMES = cases(epsilon=EPSILONS, d=(1000, 2, 3, 100_000))
CURVES = cases(
    epsilon=EPSILONS, ds=((10_000, 10**6, 10**9, 10**12), (2,), (3, 50), (10**15, 10**15))
)


@functools.cache
def game_at(epsilon: float, d: int) -> HidingGame:
    return hiding_game(epsilon, d)


@functools.cache
def curves_at(epsilon: float, ds: tuple[int, ...]) -> Curves:
    return curves(epsilon, ds)


@pytest.mark.parametrize("given", GAMES, ids=str)
def test_what_is_said_of_the_hiding_game(given: dict[str, Any]) -> None:
    game, d, epsilon = game_at(**given), given["d"], given["epsilon"]
    check_texts(texts(game).values())
    p = math.exp(-epsilon)
    C, signed = math.sqrt(2 * p) / (1 - p), math.sqrt(8) / epsilon
    m = math.ceil(2 * C + 1 / epsilon)
    k = m - 2 * C
    assert numbers(game.tables.text)[:2] == [2 * m, m]
    assert says(game.privacy_said, 2 * m * epsilon)
    reached = min(math.floor((m + 2 * C + 2 * signed) / k * (1 + 1e-12)), d - 1)
    assert says(game.room_said, reached)
    assert says(game.room_said, (4 * C + 2 * signed + k) / k)
    assert ("a part of the cells" in game.room_said) == (reached < (d - 1) / 2)
    if d > 3:
        odd = game.accurate.signed_output()
        assert odd.sum() == pytest.approx(2 * m)
        inside = (np.abs(odd[1:] - m) <= 2 * C).sum()
        assert says(game.signed_said, inside)


@pytest.mark.parametrize("given", GAMES, ids=str)
def test_what_the_steps_lose_adds_up_to_the_slack(given: dict[str, Any]) -> None:
    game = game_at(**given)
    lost = [loss for _, loss in game.slack.lost]
    assert min(lost) >= 0
    assert sum(lost) == pytest.approx(game.steps[-1].slack, abs=1e-6)
    assert game.slack.asked == pytest.approx(game.steps[-1].left)
    assert all(says(game.steps_said, loss) for loss in lost)
    assert says(game.steps_said, game.steps[-1].slack)
    assert says(game.bar.text, max(lost))
    assert ("asks nothing" in game.bar.text) == (game.steps[-1].left <= 0)
    assert len(game.frame) == len(game.steps) == 9


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_odds_that_are_said_are_those_of_a_simulation(epsilon: float) -> None:
    game, runs, rng = game_at(epsilon, 1000), 1500, np.random.default_rng(3)
    own, p = game.own, math.exp(-epsilon)
    noise = rng.geometric(1 - p, (runs, 1000)) - rng.geometric(1 - p, (runs, 1000))
    x = np.maximum(own.table(2) + noise, 0)
    near = (np.abs(x - own.table(2))[:, :2] <= 2 * own.C + 1e-9).all(axis=1)
    hit = (near & (np.abs(x.sum(axis=1) - own.n) <= 2 * own.D + 1e-9)).mean()
    assert abs(hit - game.odds.own) < 5 * math.sqrt(0.25 / runs)
    base = own.memberships(np.maximum(own.table(1) + noise, 0)).mean()
    assert abs(base - 999 * game.odds.base) < 0.2 + 0.1 * base


@pytest.mark.parametrize("given", CURVES, ids=str)
def test_what_is_said_of_the_curves(given: dict[str, Any]) -> None:
    found, epsilon = curves_at(**given), given["epsilon"]
    check_texts(texts(found).values())
    signed = math.sqrt(8) / epsilon
    by_grid = []
    for d in sorted(set(given["ds"])):
        C = np.linspace(0, math.log(d), 2000)[1:, None] / epsilon
        k = np.geomspace(1e-2, 1e2, 500) / epsilon
        violated = 2 * epsilon * (2 * C + k) < np.log(k * (d - 1) / (16 * C + 8 * signed + 4 * k))
        by_grid.append(C[(violated & (2 * C + k >= 0.5)).any(axis=1)].max(initial=0))
    np.testing.assert_allclose(
        found.at_signed, by_grid, atol=2e-3 * math.log(max(given["ds"])) / epsilon
    )
    above = [d for d, c in zip(found.ds, by_grid, strict=True) if c > signed]
    assert ("passes above the star" in found.verdict and "None" not in found.verdict) == bool(above)
    if above:
        assert numbers(found.verdict)[0] == pytest.approx(above[0])
    if by_grid[-1] > 0.05 / epsilon:
        bound = numbers(found.price_said)[2]
        assert bound <= found.at_signed[-1] <= bound * 1.01
    silent = [d for d, c in zip(found.ds, found.at_signed, strict=True) if c == 0]
    if silent:
        assert numbers(found.silence_said)[0] == silent[-1]
    assert (found.at_signed * (1 + 1e-9) >= found.branches.filter(like="with $k").max(axis=1)).all()
    named = [[b.value for b in point_error_branches(PureDP(epsilon), d, signed).values()]
             for d in found.ds]  # fmt: skip
    exact = np.column_stack([np.array(named), found.at_signed])
    assert (found.branches.filter(like="with").to_numpy() <= exact).all(), "never above a bound"
    at_own = [point_error_bound("printed", PureDP(epsilon), d, D)
              for d, D in zip(found.ds, found.own, strict=True)]  # fmt: skip
    assert max(map(float, at_own)) <= found.noise.std, "the mechanism is on the allowed side"


@pytest.mark.parametrize("lam", [8.0, 0.5, 200.0])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_what_is_said_of_the_slopes(epsilon: float, lam: float) -> None:
    found, guarantee = slopes(epsilon, lam), PureDP(epsilon)
    check_texts(texts(found).values())
    bounds = (
        lambda d: point_error_bound("printed", guarantee, d, math.sqrt(lam) / epsilon),
        lambda d: sum_error_bound("printed", guarantee, d, math.sqrt(lam / 16) / epsilon),
    )
    for first, bound in zip(found.first, bounds, strict=True):
        if math.isfinite(first):
            assert bound(first) > 0
            assert first == 2 or bound(first - 1) == 0
            assert says(found.slopes_said, first)
        else:
            assert bound(1e15) == 0
            assert "says nothing" in found.slopes_said
    grown = bounds[0](1e15) - bounds[0](1e14)
    assert says(found.slopes_said, epsilon * grown / math.log(10), rel=0.05)


def test_the_slip_is_one() -> None:
    found = slip()
    check_texts([found.said])
    p = math.exp(-10.0)
    C = math.sqrt(2 * p) / (1 - p)
    D = math.sqrt(max(5000 * C**2 + 10_000 * 9_999 * (p / (1 - p**2)) ** 2, 10_000 * C**2))
    left = 20 * (2 * C + 0.01)
    right = math.log(0.01 * 9_999 / (16 * C + 8 * D + 0.04))
    assert left < right
    assert says(found.said, left, 0.06)
    assert says(found.said, right, 0.06)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_constant_serves_all_levels(epsilon: float) -> None:
    frame, caption = large_epsilon(epsilon, 1000)
    check_texts([caption])
    assert (frame.iloc[:, 1] <= 2).all()
    assert frame.iloc[:, 2].is_monotonic_decreasing
    assert len(frame) == len({0.1, 1.0, 10.0, epsilon})
