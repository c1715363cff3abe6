"""Two neighbouring outputs side by side, as densities: what the definitions compare."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...model.privacy import ConcentratedDP, PureDP
from .divergences import best_zcdp_epsilon, gaussian_epsilon, laplace_renyi, worst_pure_renyi

Array = NDArray[np.float64]
_POINTS = 801  # places where densities are computed


class OutputPair(NamedTuple):
    """Densities of one noisy count at two true counts one apart, and their loss in nats, at x."""

    x: Array
    first: Array
    second: Array
    loss: Array


def output_pair(guarantee: PureDP | ConcentratedDP, count: float) -> OutputPair:
    """Return the two densities for one counting query with the noise of its guarantee.

    Laplace noise of scale 1/epsilon under pure DP, Gaussian noise of variance 1/(2 rho) under zCDP.
    """
    if isinstance(guarantee, PureDP):
        scale = 1 / guarantee.epsilon
        x = _places(count, 5 * scale)
        exponents = [-np.abs(x - c) / scale for c in (count, count + 1)]
        height = 1 / (2 * scale)
    else:
        std = 1 / np.sqrt(2 * guarantee.rho)
        x = _places(count, 3.5 * std)
        exponents = [-((x - c) ** 2) / (2 * std**2) for c in (count, count + 1)]
        height = 1 / (np.sqrt(2 * np.pi) * std)
    first, second = (height * np.exp(e) for e in exponents)
    # From the exponents, so that far tails that round to zero keep their ratio.
    return OutputPair(x, first, second, exponents[0] - exponents[1])


def _places(count: float, reach: float) -> Array:
    return np.linspace(count - reach, count + 1 + reach, _POINTS)


class Event(NamedTuple):
    """One event S of Definition 2: its probabilities at two neighbouring counts."""

    above: float
    """S holds the outputs of at least this."""
    first: float
    second: float


def tail_events(
    guarantee: PureDP | ConcentratedDP, count: float, steps: tuple[float, ...] = (-2, 0, 1, 4, 8)
) -> list[Event]:
    """Return the probabilities of outputs that lie some noise scales above the true count.

    Examples
    --------
    >>> e = tail_events(PureDP(0.5), 10)[1]
    >>> bool(abs(e.second / e.first - np.exp(0.5)) < 1e-12)
    True
    """
    noise = guarantee.noise()
    found = []
    for step in steps:
        above = count + 1 + step * noise.std
        first, second = (float(np.exp(noise.log_cdf(c - above))) for c in (count, count + 1))
        found.append(Event(above, first, second))
    return found


class OrderCurves(NamedTuple):
    """Renyi divergences against their order, all in nats; shape (orders,)."""

    orders: Array
    laplace: Array
    worst: Array
    line: Array
    epsilon: float


def order_curves(epsilon: float) -> OrderCurves:
    """Return the divergences that show why epsilon-DP is (epsilon^2/2)-zCDP.

    The Laplace mechanism's, randomised response's (the worst of all), and the line
    ``order * epsilon^2 / 2``, up to orders well beyond where that line meets epsilon.

    Examples
    --------
    >>> c = order_curves(0.5)
    >>> bool((c.laplace <= c.worst + 1e-15).all() and (c.worst <= c.line + 1e-15).all())
    True
    """
    orders = 1 + np.geomspace(0.01, max(4.0, 5 / epsilon), 201)
    return OrderCurves(
        orders,
        np.array([laplace_renyi(epsilon, a) for a in orders]),
        np.array([worst_pure_renyi(epsilon, a) for a in orders]),
        orders * epsilon**2 / 2,
        epsilon,
    )


class Conversions(NamedTuple):
    """Epsilons that go with each delta under rho-zCDP; shape (deltas,)."""

    deltas: Array
    simple: Array
    best: Array
    exact: Array


def conversions(rho: float, deltas: Array) -> Conversions:
    """Return the simple and the best conversion, and the Gaussian mechanism's exact curve.

    Examples
    --------
    >>> c = conversions(0.125, np.array([1e-6]))
    >>> bool(c.exact[0] < c.best[0] < c.simple[0])
    True
    """
    guarantee = ConcentratedDP(rho)
    return Conversions(
        np.asarray(deltas, dtype=float),
        np.array([guarantee.to_approximate(float(x)).epsilon for x in deltas]),
        np.array([best_zcdp_epsilon(rho, float(x)) for x in deltas]),
        np.array([gaussian_epsilon(rho, float(x)) for x in deltas]),
    )
