"""The paper's own choices of k in Theorem 3, each with what it supposes and where it is true.

Each branch supposes D <= C or D > C. What it says is turned here into a bound without that
supposition: a mechanism with errors C and D also has every larger C and D.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...model.privacy import ConcentratedDP, Guarantee
from ..given import check_error
from .printed_bounds import ZCDP_FIRST, ZCDP_SECOND, in_range

Array = NDArray[np.float64]


class Branch(NamedTuple):
    """A branch's bound on the other error in counts; 0 with a reason where it says nothing."""

    value: float
    reason: str | None


def point_error_branches(guarantee: Guarantee, d: float, D: float) -> dict[str, Branch]:
    """Return what each of the paper's choices of k says about C, given D."""
    equal = _equal_branches(guarantee, d, float(check_error(D, "sum error", one=True)), "D")
    if isinstance(guarantee, ConcentratedDP):
        return {**equal, "k=1/sqrt(rho)": _gamma_point(guarantee.rho, d, D)}
    eps = guarantee.epsilon
    if guarantee.delta:
        odds = min((d - 1) / (6 * eps * D + 1), eps / guarantee.delta) / 8
    else:
        odds = (d - 1) / (24 * eps * D + 4)
    value = min((math.log(odds) - 2) / (4 * eps), D)
    return {**equal, "k=1/epsilon": _checked(value, 2 * value + 1 / eps >= 0.5)}


def sum_error_branches(guarantee: Guarantee, d: float, C: float) -> dict[str, Branch]:
    """Return what each of the paper's choices of k says about D, given C."""
    equal = _equal_branches(guarantee, d, float(check_error(C, "point error", one=True)), "C")
    if isinstance(guarantee, ConcentratedDP):
        return {**equal, "k=1/sqrt(rho)": _gamma_sum(guarantee.rho, d, C)}
    eps = guarantee.epsilon
    shrunk = (d - 1) * math.exp(-4 * eps * C - 2)
    if guarantee.delta:
        allowed = 4 * eps * C + 2 < math.log(eps / guarantee.delta / 8)
        value = (shrunk / 8 - 1) / (6 * eps) if allowed else 0.0
    else:
        value = (shrunk - 4) / (24 * eps)
    return {**equal, "k=1/epsilon": _above(value, C, "C", 2 * C + 1 / eps >= 0.5)}


_GAMMAS = np.linspace(0.0, 1.0, 2001)[1:-1]


def _checked(value: float, in_range: bool) -> Branch:
    if not value > 0:
        return Branch(0.0, "what it gives is not positive")
    if not in_range:
        return Branch(0.0, "its alpha C + k lies outside the range in which it is true")
    return Branch(value, None)


def _above(value: float, given: float, name: str, in_range: bool) -> Branch:
    """Keep a value only above the given error: the branch supposes one to exceed the other."""
    checked = _checked(value, in_range)
    if checked.value and not value > given:
        return Branch(
            0.0, f"it bounds the larger error by {value:g}, which {name} = {given:g} exceeds"
        )
    return checked


def _equal_branches(guarantee: Guarantee, d: float, given: float, name: str) -> dict[str, Branch]:
    """Return the branches with k = C, which bound the larger of C and D."""
    if isinstance(guarantee, ConcentratedDP):
        bits, nats = math.log2(d - 1) / 4 - 4, math.log(d - 1) / 4 - math.log(14)
        scale = 1 / (6 * math.sqrt(guarantee.rho))
        printed = float(_into_range(scale * np.sqrt(max(bits, 0)), np.array(3.0), 0.0))
        mended = scale * math.sqrt(max(nats, 0))
        return {
            "k=C": _above(printed, given, name, True),
            "k=C (nats)": _above(mended, given, name, 3 * mended >= 0.5),
        }
    if guarantee.delta:
        odds = min((d - 1) / 7, guarantee.epsilon / guarantee.delta) / 8
    else:
        odds = (d - 1) / 28
    value = math.log(odds) / (6 * guarantee.epsilon)
    return {"k=C": _above(value, given, name, 3 * value >= 0.5)}


def _into_range(value: Array, alpha: Array, k: float) -> Array:
    """Lower a zCDP bound on C until ``alpha C + k`` is where the printed form is true."""
    y = alpha * value + k
    first = np.where(y >= ZCDP_FIRST, (np.minimum(y, 1.0) - k) / alpha, 0.0)
    return np.where(y >= ZCDP_SECOND, value, first)


def _gamma_point(rho: float, d: float, D: float) -> Branch:
    """Return the branch at its best gamma: every gamma between 0 and 1 gives a bound."""
    alpha, root = np.sqrt(3 / (1 - _GAMMAS)), math.sqrt(rho)
    right = _GAMMAS * math.log2(d - 1) - np.log2(3 * alpha * root * D + 1) - 1
    value = (np.sqrt(np.maximum(right, 0)) - 2) / (2 * alpha * root)
    usable = _into_range(np.minimum(value, D), alpha, 1 / root)
    return _checked(float(usable.max()), True)


def _gamma_sum(rho: float, d: float, C: float) -> Branch:
    alpha, root = np.sqrt(3 / (1 - _GAMMAS)), math.sqrt(rho)
    right = _GAMMAS * math.log2(d - 1) - 1 - (2 * alpha * root * C + 2) ** 2
    value = (2.0 ** np.maximum(right, -1000.0) - 1) / (3 * alpha * root)
    usable = in_range(ConcentratedDP(rho), alpha * C + 1 / root)
    return _above(float(np.where(usable, value, 0.0).max()), C, "C", True)
