from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from sentences import RHOS, cases, check_texts, numbers, says, texts

from microdata_price.exceptions import InputError
from microdata_price.studies.lower_zcdp import (
    GAMMAS,
    Curves,
    Growth,
    Telling,
    curves,
    growth,
    telling,
)
from microdata_price.theory.lower.gamma_bounds import gamma_sum_error
from microdata_price.theory.lower.lower_bounds import point_error_bound

TELLING = cases(rho=RHOS, d=(1000, 2, 3, 20_000))
CURVES = cases(rho=RHOS, ds=((10**6, 10**9, 10**12), (2,), (10**15, 10**15, 3)))
GROWTH = cases(rho=RHOS, lam=(1.0, 0.05, 30.0))


@functools.cache
def telling_at(rho: float, d: int) -> Telling:
    return telling(rho, d, runs=240, seed=3)


@functools.cache
def curves_at(rho: float, ds: tuple[int, ...]) -> Curves:
    return curves(rho, ds)


@functools.cache
def growth_at(rho: float, lam: float) -> Growth:
    return growth(rho, lam)


def gaussian(rho: float) -> tuple[np.ndarray, np.ndarray]:
    reach = math.ceil(12 / math.sqrt(rho)) + 2
    z = np.arange(-reach, reach + 1.0)
    law = np.exp(-rho * z**2)
    return z, law / law.sum()


@pytest.mark.parametrize("given", TELLING, ids=str)
def test_what_an_output_is_said_to_tell(given: dict[str, Any]) -> None:
    found, rho, d = telling_at(**given), given["rho"], given["d"]
    check_texts(texts(found).values())
    z, law = gaussian(rho)
    C = math.sqrt(law @ z**2)
    m = math.ceil(2 * C + 1 / math.sqrt(rho))
    assert numbers(found.steps_said)[0] == m
    assert says(found.steps_said, 4 * rho * m**2)
    assert says(found.steps_said, rho * m**2)
    if d == 2:
        assert "nothing to tell" in found.opening
        return
    assert says(found.opening, math.log(d - 1))
    assert says(found.opening, math.sqrt(math.log(d) / rho))
    first = numbers(found.half_said)[0]
    known = dict(zip(found.curve.m, found.curve.information, strict=True))
    assert known[first] > math.log(d - 1) / 2
    assert all(v <= math.log(d - 1) / 2 for k, v in known.items() if k < first)
    # Another stream of noise and the posterior written out: the same information and remainder.
    p = {c: np.array([law[z <= -c].sum(), *(np.interp(np.arange(1, m + 5 / math.sqrt(rho)) - c, z,
         law, 0, 0))]) for c in (0, m)}  # fmt: skip
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(np.log(p[m]) - np.log(p[0]), nan=0.0, neginf=-700.0, posinf=700.0)
    rng, runs = np.random.default_rng(11), 150
    left = []
    for _ in range(runs):
        noise = rng.choice(z, size=d - 1, p=law)
        noise[0] += m
        x = np.clip(noise, 0, ratio.size - 1).astype(int)
        post = np.exp(ratio[x] - ratio[x].max())
        post /= post.sum()
        left.append(-(post * np.log(np.where(post > 0, post, 1))).sum())
    told = math.log(d - 1) - np.mean(left)
    error = math.hypot(np.std(left) / math.sqrt(runs), found.entropies.information[1])
    assert abs(told - found.entropies.information[0]) <= 5 * error + 1e-6
    assert says(found.steps_said, found.entropies.information[0])


@pytest.mark.parametrize("given", TELLING, ids=str)
def test_what_the_steps_lose_adds_up(given: dict[str, Any]) -> None:
    found = telling_at(**given)
    lost = [loss for _, loss in found.slack.lost]
    error = max(found.entropies.information[1], found.entropies.inside[1])
    assert min(lost) >= -5 * error - 1e-9
    assert sum(lost) == pytest.approx(found.steps[-1].slack)
    assert says(found.bar.text, max(lost))
    assert ("asks nothing" in found.bar.text) == (found.steps[-1].left <= 0)
    assert len(found.frame) == 10
    units = found.units["slack"].to_numpy()
    assert units[1] == pytest.approx(units[0] / math.log(2))
    y = found.packing.m
    inside = 0.6006 <= y <= 1 or y >= 1.2011
    assert ("which lies in that range" in found.range_said) == inside


def test_the_printed_form_fails_where_it_is_said_to() -> None:
    z, law = gaussian(50.0)
    C = math.sqrt(law @ z**2)
    excess, d, k = law @ np.maximum(z, 0), 1e12, 0.01
    D = math.sqrt(max(d * C**2 / 2 + d * (d - 1) * excess**2, d * C**2))
    left = 50 * (4 * C + 2 * k) ** 2
    right = math.log2(d - 1) / 4 - math.log2((4 * C + 2 * D + k) / k) - 1
    assert left < right
    said = telling_at(0.125, 1000).slip_said
    assert says(said, left, 0.03)
    assert says(said, right, 0.03)
    assert "fails" in said


@pytest.mark.parametrize("given", CURVES, ids=str)
def test_what_is_said_of_the_curves(given: dict[str, Any]) -> None:
    found, rho = curves_at(**given), given["rho"]
    check_texts(texts(found).values())
    signed = 1 / math.sqrt(rho)
    assert says(found.picture.text, signed)
    for d, bound in zip(found.ds, found.at_signed, strict=True):
        C = np.linspace(0, math.sqrt(math.log(max(d, 3)) / rho), 800)[1:, None]
        y = np.geomspace(0.6006, 100 * signed + 3, 2000)
        y = np.concatenate([y[y <= 1], [1, 1.2012], y[y >= 1.2011]])
        k = np.where(y > 2 * C, y - 2 * C, np.nan)
        bits = np.log2(d - 1) / 4 - np.log2((4 * C + 2 * signed + k) / k) - 1
        by_grid = C[(rho * (2 * y) ** 2 < bits).any(axis=1)].max(initial=0)
        assert bound == pytest.approx(by_grid, abs=5e-3 * math.sqrt(math.log(max(d, 3)) / rho))
    above = [d for d, c in zip(found.ds, found.at_signed, strict=True) if c > signed]
    assert ("excludes the point" in found.verdict) == bool(above)
    end = float(found.at_signed[-1])
    assert ("says nothing" in found.verdict) == (end == 0)
    if end > 0:
        said = numbers(found.verdict)[-2]
        assert said <= end <= said * 1.02
    table = found.branches
    assert (table.iloc[:, 4] >= table.iloc[:, 1] * (1 - 1e-9)).all()
    at_own = [point_error_bound("printed", found.guarantee, d, D)
              for d, D in zip(found.ds, found.own, strict=True)]  # fmt: skip
    assert max(map(float, at_own)) <= found.noise.std, "the mechanism is on the allowed side"


@pytest.mark.parametrize("given", GROWTH, ids=str)
def test_what_is_said_of_gamma(given: dict[str, Any]) -> None:
    found, rho = growth_at(**given), given["rho"]
    check_texts(texts(found).values())
    signed, C = 1 / math.sqrt(rho), math.sqrt(given["lam"] / rho)
    for gamma, line in zip(GAMMAS, found.lines, strict=True):
        again = gamma_sum_error(rho, found.ds, C, gamma).value / signed
        np.testing.assert_allclose(line, again)
        assert (line <= found.best * (1 + 1e-9) + 1e-12).all() or gamma not in np.round(
            found.gamma, 3
        )
        far = np.log(line[line > 1e6])
        if far.size > 2:
            slope = np.diff(far) / np.diff(np.log(found.ds))[0]
            assert slope == pytest.approx(gamma, abs=1e-3)
    of_cell, of_sum = found.ends
    assert ("no $\\gamma$ gives" in found.said) == (
        not (found.best > 0).any() or math.isnan(of_sum)
    )
    if math.isnan(of_sum):
        return
    assert of_sum < 1
    assert says(found.said, of_sum, 0.06)
    assert says(found.said, of_cell, 0.06) or of_cell <= 0
    begun = np.flatnonzero(found.best > 0)
    assert found.starts == found.ds[begun[0]]
    logs = np.diff(np.log(found.best[begun])) / np.diff(np.log(found.ds[begun]))
    assert logs[0] > 1, "steeper than slope 1 just after it starts"


def test_one_run_has_no_error() -> None:
    with pytest.raises(InputError, match="2 or more"):
        telling(0.125, 50, runs=1, seed=1)
