"""The projection's worst table, the map beside the best cells, and redrawn noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from microdata_price.model.noise import Gaussian, Laplace
from microdata_price.model.noise_asymmetric import AsymmetricGeometric, AsymmetricLaplace
from microdata_price.model.privacy import ConcentratedDP, PureDP
from microdata_price.theory.upper.exact_errors import clipped, m_epsilon, m_rho
from microdata_price.theory.upper.fitted_errors import cell_errors
from microdata_price.theory.upper.projection import project
from microdata_price.theory.upper.redrawn import redrawn, redrawn_bound, redrawn_whole_bound
from microdata_price.theory.upper.remap import best_gaussian_map, best_map
from microdata_price.theory.upper.worst_table import (
    TwoTails,
    certified_fit,
    worst_cell_error,
    worst_gaussian_cell_error,
)

SIGNED = math.sqrt(8)


def huge_loss(z: np.ndarray, w: float, i: int) -> float:
    """Return Lam_i by root finding: the loss of cell i when it is huge and all others are empty."""
    others = np.delete(z, i)

    def gap(g: float) -> float:
        return g - z[i] + w - np.maximum(others - g, 0).sum()

    reach = np.abs(z).sum() + abs(w) + 1
    return float(optimize.brentq(gap, -reach, reach, xtol=1e-13)) - z[i]


numbers = st.floats(-8, 8)
tables = st.integers(2, 6).flatmap(
    lambda d: st.tuples(
        st.lists(st.integers(0, 30), min_size=d, max_size=d),
        st.lists(numbers, min_size=d, max_size=d),
        numbers,
    )
)


@given(tables)
def test_no_table_is_worse_than_one_huge_cell_outcome_by_outcome(
    drawn: tuple[list[int], list[float], float],
) -> None:
    q, z, w = np.array(drawn[0], dtype=float), np.array(drawn[1]), drawn[2]
    loss = q - project(q + z, max(q.sum() + w, 0.0), math.inf)
    for i in range(q.size):
        over = max(z[i] - (z.sum() - w) / q.size, 0.0)
        assert -over - 1e-9 <= loss[i] <= max(huge_loss(z, w, i), 0.0) + 1e-9
    far = np.zeros(q.size)
    far[0] = 1e6
    fit = project(far + z, max(far.sum() + w, 0.0), math.inf)
    assert far[0] - fit[0] == pytest.approx(huge_loss(z, w, 0), abs=1e-8)


@pytest.mark.parametrize("d", [20, 1000, 10**6])
def test_the_lower_end_is_the_one_huge_cell(d: int) -> None:
    """Another quadrature gives its whole error, gains included, which are small."""
    found = worst_cell_error(TwoTails(0.5, 0.5), TwoTails(0.5, 0.5), d)
    exact = math.sqrt(cell_errors(Laplace(2.0), Laplace(2.0), d).squared_error)
    assert found.least <= exact * (1 + 1e-5) <= found.most * (1 + 2e-5)
    assert exact < found.least * 1.01
    gauss = worst_gaussian_cell_error(Gaussian(1.0), Gaussian(1.0), d)
    exact = math.sqrt(cell_errors(Gaussian(1.0), Gaussian(1.0), d).squared_error)
    assert gauss.least <= exact * (1 + 1e-5) <= gauss.most * (1 + 2e-5)


@pytest.mark.parametrize(
    ("d", "cell", "total"),
    [
        (200, TwoTails(0.56, 0.4), TwoTails(0.44, 0.6)),
        # A sum whose noise is far larger than the cells', for few cells and for many.
        (10, TwoTails(0.93, 0.93), TwoTails(0.07, 0.07)),
        (300, TwoTails(0.986, 0.986), TwoTails(0.014, 0.014)),
        (4, TwoTails(0.3, 0.6), TwoTails(0.7, 0.4)),
    ],
)
def test_sampling_agrees_with_the_worst_table(d: int, cell: TwoTails, total: TwoTails) -> None:
    rng = np.random.default_rng(5)
    runs = 4000
    found = worst_cell_error(cell, total, d)
    z = AsymmetricLaplace(*cell).sample(rng, (runs, d))
    w = AsymmetricLaplace(*total).sample(rng, runs) - total.mean
    z[:, 0] += 1e7
    loss = 1e7 - project(z, 1e7 + w, math.inf)[:, 0]
    for square, least, most in (
        (np.maximum(loss, 0) ** 2, found.least, found.least),
        (loss**2, found.least, found.most),
    ):
        se = square.std() / math.sqrt(runs)
        assert least**2 - 4 * se <= square.mean() <= most**2 + 4 * se


def test_the_certified_numbers_at_the_signed_answers_error() -> None:
    for d, value in ((10**3, 9.23), (10**6, 19.42), (10**9, 30.26)):
        found = certified_fit(PureDP(0.5), d, 2 * SIGNED, even=False)
        assert found is not None
        assert 0.5 * found.most == pytest.approx(value, abs=0.01)
        assert found.least < found.most < found.least * 1.012
    even = certified_fit(PureDP(0.5), 1000, 2 * SIGNED, even=True)
    assert even is not None
    assert 3.44 < even.least / (2 * SIGNED) < even.most / (2 * SIGNED) < 3.49
    for d, low, high in ((10**3, 2.62, 2.68), (10**6, 4.24, 4.25), (10**9, 5.50, 5.51)):
        zcdp = certified_fit(ConcentratedDP(0.125), d, math.sqrt(8), even=True)
        assert zcdp is not None
        assert low < math.sqrt(0.125) * zcdp.least < math.sqrt(0.125) * zcdp.most < high
    assert certified_fit(PureDP(0.5), 1000, 2.8, even=False) is None
    far = certified_fit(PureDP(0.5), 1e80, 6, even=False)  # by the one-sided certificate alone
    assert far is not None
    assert far.least == 0 < far.most < 4 * math.log(1e80)


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0, 4.9, 6.0])
def test_the_map_keeps_every_cell_as_good(epsilon: float) -> None:
    """Errors of far more counts than the map touches, summed with nothing left out."""
    found, noise = best_map(epsilon), m_epsilon(epsilon)
    A, width = found.law.shape[0] - 1, found.law.shape[1]
    q = np.arange(4 * A + 40)
    a = np.arange(q.size + math.ceil(60 / epsilon))
    chance = np.exp(-epsilon * np.abs(a[:, None] - q)) * math.tanh(epsilon / 2)
    chance[0] = np.exp(-epsilon * q) / (1 + math.exp(-epsilon))
    law = np.eye(a.size, max(a.size, width))
    law[: A + 1] = 0
    law[: A + 1, :width] = found.law
    y = np.arange(law.shape[1])
    mean, square = chance.T @ (law @ y), chance.T @ (law @ y**2)
    error = square - 2 * q * mean + q**2
    assert error.max() <= noise.variance * (1 + 1e-9)
    bias = mean - q
    assert bias[: A + 1] == pytest.approx(found.bias, abs=1e-9)
    assert np.abs(bias).max() <= np.abs(found.bias).max() + 1e-9
    assert np.abs(bias).max() <= clipped(noise, 0).bias * (1 + 1e-9)
    d = np.array([2.0, 1000.0])
    worst = (d[:, None] ** 2 * bias**2 + d[:, None] * (error - bias**2)).max(axis=1)
    assert found.D(d) == pytest.approx(np.sqrt(np.maximum(worst, d * noise.variance)), rel=1e-6)


def test_the_map_at_one_half() -> None:
    law = best_map(0.5).law
    assert law[:3, 0] == pytest.approx([1, 1, 1])
    assert law[3] @ np.arange(law.shape[1]) == pytest.approx(2.999, abs=1e-3)
    assert law[4] @ np.arange(law.shape[1]) == pytest.approx(4.429, abs=1e-3)
    assert law[5:, 5:] == pytest.approx(np.eye(*law.shape)[5:, 5:])


def test_the_gaussian_map() -> None:
    found, own = best_gaussian_map(0.125), clipped(m_rho(0.125), 0)
    assert pytest.approx(2.0, abs=1e-8) == found.C
    assert np.abs(found.bias).max() == pytest.approx(0.7108, abs=2e-4)
    assert own.bias == pytest.approx(0.7810, abs=1e-4)
    assert found.D(1000) / SIGNED < 252.6


def test_redrawn_noise_spends_its_delta_exactly() -> None:
    """The whole-number pair, audited: the largest excess over e^epsilon is P(z = B | z <= B)."""
    cell, total, B = (0.6, 0.3), (0.4, 0.7), 9
    k, m = np.arange(-90, B + 1), np.arange(-90, 91)
    z = np.exp(AsymmetricGeometric(*cell).log_density(k))
    z /= z.sum()
    w = np.exp(AsymmetricGeometric(*total).log_density(m))
    here = np.outer(np.append(z, 0), np.append(w, 0))
    there = np.outer(np.append(0, z), np.append(0, w))  # one record more moves both by one
    inner = here[:, 1:-1], there[:, 1:-1]
    excess = [np.maximum(x - math.e * y, 0) for x, y in (inner, inner[::-1])]
    # At the far left both laws are cut off, where nothing is left.
    assert excess[1][1:].sum() == pytest.approx(z[-1] * w[1:-1].sum(), rel=1e-6)
    assert excess[0][1:].sum() < 1e-12


def test_bounds_of_redrawn_noise() -> None:
    z = TwoTails(0.3, 0.2)
    B = redrawn_bound(z, 1e-6)
    eta = 0.4 * math.exp(-0.3 * B)
    assert (math.exp(0.3) - 1) * eta / (1 - eta) == pytest.approx(1e-6)
    k = np.arange(-400, redrawn_whole_bound(0.5, 1e-6) + 1)
    p = np.exp(-0.25 * np.abs(k))
    assert p[-1] / p.sum() <= 1e-6 < p[-2] / p[:-1].sum()


@pytest.mark.parametrize(("delta", "value"), [(1e-6, 21.67), (1e-9, 33.30), (1e-12, 44.85)])
def test_redrawn_noise_at_the_signed_answers_error(delta: float, value: float) -> None:
    found = redrawn(0.5, delta, 1e12, 2 * SIGNED)
    assert pytest.approx(value, abs=0.01) == 0.5 * found.C
    assert found.cell.right + found.total.right == pytest.approx(0.5)
    assert found.cell.left + found.total.left == pytest.approx(0.5)


@given(tables)
def test_the_mean_over_the_cells_has_no_price(
    drawn: tuple[list[int], list[float], float],
) -> None:
    """Outcome by outcome: no further from the truth than the noise, and the sum's noise twice."""
    q, z, w = np.array(drawn[0], dtype=float), np.array(drawn[1]), drawn[2]
    fit = project(q + z, max(q.sum() + w, 0.0), math.inf)
    share = max(w, 0.0) / math.sqrt(q.size) + 2 * max(-w, 0.0)
    assert np.linalg.norm(fit - q) <= np.linalg.norm(z - z.mean()) + share + 1e-9
