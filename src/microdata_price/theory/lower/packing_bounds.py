"""Lower bounds from packings with free constants and closer base tables.

m records go into one of the cells; the base table is m records away: the paper's with these m taken
out ("close"), or the all-zero table ("empty"). With free alpha, beta and ``k = m - alpha C``:

- close: ``P = 1 - 2/alpha^2 - 1/beta^2``, ``K = (m + alpha C + beta D)/k``, ``N = d - 1``;
- empty: ``P = 1 - 1/alpha^2 - 1/beta^2``, ``K = (m + beta D)/k``, ``N = d``;

and for each whole m ``K/N >= exp(-eps m) P`` (pure DP), ``K/N >= exp(-eps m) (P - delta_m)`` with
the group privacy delta, ``rho m^2 >= P ln N - ln K - ln 2`` (zCDP). d and the error broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...model.privacy import ConcentratedDP, Guarantee
from .search import maximise, maximise_two, whole_records

Array = NDArray[np.float64]
Base = Literal["close", "empty"]

_LISTED = 8
"""Whole numbers from 1 on that are always tried, beside those next to the best real number."""
_EDGE, _LOWEST = 1e-9, 1e-5  # of alpha C between 0 and m, and of m: how near to the ends
_COARSE, _ROUNDS, _FINER, _NEWTON = 25, 17, 14, 5  # of the searches, and steps to the best beta
_LEAST_LOG, _MOST_LOG, _VACUOUS = 1e-3, (-400.0, 200.0), 1e100  # far beyond what matters
_TINY = np.finfo(float).tiny


class PackingBound(NamedTuple):
    """A bound on the other error and the constants that give it; 0 where it says nothing."""

    value: Array
    m: Array
    alpha: Array
    beta: Array
    k: Array


def group_delta(guarantee: Guarantee, m: Array) -> Array:
    """Return ``delta (exp(m eps) - 1)/(exp(eps) - 1)``; 0 without a delta."""
    if not guarantee.delta:
        return np.zeros_like(m)
    eps = guarantee.level
    # Far beyond 1 it guarantees nothing, so that it need not be exact there.
    log = np.log(-np.expm1(-m * eps)) - math.log(-math.expm1(-eps)) + (m - 1) * eps
    return np.asarray(guarantee.delta * np.exp(np.minimum(log, 600.0)))


class _Setting(NamedTuple):
    """One packing: the guarantee, ``ln N``, and how often alpha enters P (``cells``) and K."""

    guarantee: Guarantee
    log_n: Array
    given: Array
    cells: float
    shift: float

    def wide(self) -> _Setting:
        """Add two axes, for the two numbers that are searched for."""
        return self._replace(log_n=self.log_n[..., None, None], given=self.given[..., None, None])


def _setting(guarantee: Guarantee, d: Array, given: Array, base: Base) -> _Setting:
    d, given = np.broadcast_arrays(np.asarray(d, dtype=float), np.asarray(given, dtype=float))
    close = base == "close"
    with np.errstate(divide="ignore"):
        log_n = np.log(d - 1 if close else d)
    return _Setting(guarantee, np.maximum(log_n, 0.0), given, 2.0 if close else 1.0, float(close))


def packing_point_error(
    guarantee: Guarantee, d: Array, D: Array, base: Base, *, max_records: float = math.inf
) -> PackingBound:
    """Return the largest C that some packing excludes, given D.

    With ``a = alpha C`` the inequalities above bound C^2 from below by ``a^2 (1 - 1/beta^2 -
    rest)``, half of it for the close base. For pure DP the rest is ``e^(eps m) K/N``, so that the
    best beta is ``(2/(c D))^(1/3)`` with ``c = e^(eps m)/(N(m - a))``. m and a are searched for.
    """
    case = _setting(guarantee, d, D, base)
    wide = case.wide()
    high = _largest_m(guarantee, case.log_n)
    low = np.full(high.shape, _TINY)
    m, t, square = _search(lambda m, t: _point_square(wide, m, m * t)[0], low, high, max_records)
    value = np.sqrt(np.maximum(square, 0))
    beta = _point_square(case, m, m * t)[1]
    with np.errstate(divide="ignore"):
        return PackingBound(value, m, m * t / value, beta, m * (1 - t))


def _point_square(case: _Setting, m: Array, a: Array) -> tuple[Array, Array]:
    """Return the bound on C^2 at m and a, and the best beta."""
    guarantee, D = case.guarantee, case.given
    reach = m + case.shift * a
    if isinstance(guarantee, ConcentratedDP):
        # One alternative only (ln N = 0) tells nothing; ln 2 / 1e-3 says so without dividing by 0.
        log_n = np.maximum(case.log_n, _LEAST_LOG)
        beta = _zcdp_beta(log_n, reach / D)
        ratio = (reach + beta * D) / (m - a)
        rest = 1 / beta**2 + (guarantee.rho * m**2 + math.log(2) + np.log(ratio)) / log_n
    else:
        # The exponent is held between where the bound has long become vacuous and where this term
        # has long become invisible: raising the term weakens the bound, which stays one.
        c = np.exp(np.clip(guarantee.epsilon * m - case.log_n, *_MOST_LOG)) / (m - a)
        beta = np.cbrt(2 / (c * D))
        rest = 3 / beta**2 + c * reach + group_delta(guarantee, m)
    # Vacuous where rest is 1 or more, however large.
    return a**2 / case.cells * (1 - np.minimum(rest, _VACUOUS)), beta


def _zcdp_beta(log_n: Array, r: Array) -> Array:
    """Return the beta that makes ``1/beta^2 + ln K/ln N`` least: ``beta^3 = 2 ln N (r + beta)``."""
    p, q = 2 * log_n, 2 * log_n * r
    # The start lies above the root, from where Newton's steps fall towards it.
    beta = np.sqrt(p) + np.cbrt(q)
    for _ in range(_NEWTON):
        beta = (2 * beta**3 + q) / (3 * beta**2 - p)
    return beta


def packing_sum_error(
    guarantee: Guarantee, d: Array, C: Array, base: Base, *, max_records: float = math.inf
) -> PackingBound:
    """Return the largest D that some packing excludes, given C.

    With ``X = (m - alpha C) N e^(-eps m)``, ``Y`` the part of the numerator of K without D, and
    ``Q = P + 1/beta^2 - delta_m``, pure and approximate DP give ``D >= (X (Q - 1/beta^2) -
    Y)/beta``, whose best beta leaves ``2/(3 sqrt 3) X (Q - Y/X)^(3/2)``. For zCDP the best beta is
    found with Lambert's function. m and alpha are searched for.
    """
    case = _setting(guarantee, d, C, base)
    wide = case.wide()
    high = _largest_m(guarantee, case.log_n)
    least = math.sqrt(case.cells) * case.given
    low = least * (1 + _EDGE) + _TINY

    def place(least: Array, m: Array, t: Array) -> Array:
        return least + np.maximum(m - least, 0) * t

    def score(m: Array, t: Array) -> Array:
        floor = least[..., None, None]
        value = _sum_error(wide, m, place(floor, m, t))[0]
        return np.where(m > floor, value, -np.inf)

    m, t, value = _search(score, low, np.maximum(high, low), max_records)
    a = place(least, m, t)
    beta = _sum_error(case, m, a)[1]
    return PackingBound(np.maximum(value, 0), m, a / case.given, beta, m - a)


def _sum_error(case: _Setting, m: Array, a: Array) -> tuple[Array, Array]:
    """Return the bound on D at m and a, and the best beta."""
    guarantee, C = case.guarantee, case.given
    k = np.maximum(m - a, _TINY)
    rest = m + case.shift * a
    Q = 1 - case.cells * (C / a) ** 2 - group_delta(guarantee, m)
    if isinstance(guarantee, ConcentratedDP):
        log_e = np.log(k) + Q * case.log_n - guarantee.rho * m**2 - math.log(2)
        # Stationary where u exp(u) = sqrt(e) Y/(2 E) with u = 1/2 - ln N / beta^2.
        u = special.wrightomega(np.log(rest / 2) + 0.5 - log_e)
        inverse = np.sqrt(np.maximum(0.5 - u, 0) / np.maximum(case.log_n, _TINY))
        grown = np.exp(np.minimum(log_e - case.log_n * inverse**2, 700.0))
        value = inverse * (grown - rest)
    else:
        X = k * np.exp(case.log_n - guarantee.epsilon * m)
        with np.errstate(divide="ignore", over="ignore"):
            share = np.maximum(Q - rest / X, 0)
        value = 2 / (3 * math.sqrt(3)) * X * share * np.sqrt(share)
        inverse = np.sqrt(share / 3)
    with np.errstate(divide="ignore"):
        return np.where(value > 0, value, 0.0), 1 / inverse


def _largest_m(guarantee: Guarantee, log_n: Array) -> Array:
    """Return a number of records from which on the packing is vacuous."""
    return guarantee.records(np.maximum(log_n, _LEAST_LOG))


def _search(
    score: Callable[[Array, Array], Array], low: Array, high: Array, max_records: float
) -> tuple[Array, Array, Array]:
    """Maximise ``score(m, t)`` over m and over t in (0, 1); m whole."""
    zero, one = np.full(low.shape, _EDGE), np.full(low.shape, 1 - _EDGE)
    high = np.minimum(high, max_records)
    start = np.log(np.maximum(low, high * _LOWEST))
    end = np.maximum(np.log(high), start)
    log_m, *_ = maximise_two(
        lambda x, t: score(np.exp(x), t), (start, zero), (end, one), _COARSE, _ROUNDS
    )
    # The best whole number is next to the best real one, or among the first that are allowed.
    whole = whole_records(np.exp(log_m), low, _LISTED, max_records)
    t, value = maximise(
        lambda t: score(whole[..., None], t),
        np.broadcast_to(zero[..., None], whole.shape),
        np.broadcast_to(one[..., None], whole.shape),
        _COARSE,
        _FINER,
    )
    i = value.argmax(axis=-1)[..., None]
    m, t, value = (np.take_along_axis(v, i, axis=-1)[..., 0] for v in (whole, t, value))
    return m, t, value
