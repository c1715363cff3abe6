"""Errors that known nonnegative mechanisms keep to: one on every table, given the other."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...exceptions import InputError
from ...model.privacy import ApproximateDP, ConcentratedDP, Guarantee, PureDP, check_guarantee
from ..given import check_error, check_queries
from .redrawn import redrawn
from .remap import LEVELS, map_at
from .upper_bounds import Guaranteed, certified_truncated, exact_clipping
from .worst_table import certified_fit

MECHANISMS = {
    "clipping": "noisy counts, zero where negative (M): exact worst case",
    "remap": "ours: the same, small counts mapped for the least bias (whole numbers): exact",
    "split_budget": "fitted to a noisy sum (M'), the best of some splits of the budget: certified",
    "asymmetric": "ours: the same with asymmetric noise, the best of some rates: certified",
    "truncated": "fitted to a noisy sum, truncated noise (M' with a delta): certified",
    "redrawn": "ours: asymmetric noise redrawn until below a bound: certified",
}
"""What is looked at, by name, with its meaning."""


class Reached(NamedTuple):
    """The other error that each mechanism keeps to on every table, in counts."""

    values: dict[str, float | None]
    """None where a mechanism does not keep to the error that is given."""
    notes: dict[str, str]
    """Why, for those."""


def reached(
    guarantee: Guarantee,
    d: int,
    *,
    sum_error: float | None = None,
    point_error: float | None = None,
) -> Reached:
    """Return a C that each mechanism keeps to beside a sum error D, or such a D beside a C.

    Every value holds for all tables: it is exact for clipping and the map, certified for others,
    those fitted to a noisy sum with 1e-5 for their quadrature, whose error is measured. These are
    tried at a few sum errors up to D and the least C is told, which others may undercut a little.
    Asymmetric noise is not for zCDP, truncated noise for approximate DP only. Give one of the two
    errors, in counts.

    Examples
    --------
    >>> found = reached(PureDP(0.5), 10**6, sum_error=5.7).values
    >>> found["clipping"] is None, found["asymmetric"] < found["split_budget"]
    (True, True)
    """
    points, sums = float(check_queries(d)), sum_error is not None
    if sum_error is not None and point_error is None:
        limit = float(check_error(sum_error, "sum error", one=True))
    elif point_error is not None and sum_error is None:
        limit = float(check_error(point_error, "point error", one=True))
    else:
        raise InputError("give either the sum error or the point error")
    basis = check_guarantee(guarantee).basis
    unit = float(np.asarray(basis.noise().std))  # the least D: of a sum that has the whole budget
    fit = functools.partial(certified_fit, basis, points)
    # Where d is huge some errors are beyond all doubles.
    with np.errstate(over="ignore", invalid="ignore"):
        found = {
            "clipping": _place(exact_clipping(basis, points), sums, limit),
            "remap": _remap(basis, points, sums, limit),
            "split_budget": _path(lambda D: fit(D, even=True).most, unit, sums, limit),
        }
        if not isinstance(guarantee, ConcentratedDP):
            uneven = _path(lambda D: fit(D, even=False).most, unit, sums, limit)
            found["asymmetric"] = min(uneven, found["split_budget"], key=lambda x: x[0] or math.inf)
        if isinstance(guarantee, ApproximateDP):
            epsilon, delta = guarantee.epsilon, guarantee.delta
            cut = certified_truncated(epsilon, delta, points)
            found["truncated"] = _place(cut, sums, limit)
            found["redrawn"] = None, f"is computed up to epsilon {_MOST_REDRAWN:g} only"
            if epsilon <= _MOST_REDRAWN:
                found["redrawn"] = _path(
                    lambda D: redrawn(epsilon, delta, points, D).C, unit, sums, limit
                )
    notes = {name: f"{name} {note}" for name, (value, note) in found.items() if value is None}
    return Reached({name: value for name, (value, _) in found.items()}, notes)


SMALLEST = 1e-150
"""Where an error's square is below what can be written, this is said in its place."""
_MOST_REDRAWN = 20.0
_NEARLY, _ABOVE, _LEAST = 1 + 1e-9, 1 + 1e-6, 1.0001  # times an error that is still kept to
_TURNS = 9  # of a search
_ALONG = np.array([1.02, 1.1, 1.35, 1.8, 2.7, 4.5, 9.0, 20.0])
_Value = tuple[float | None, str]
_Curve = Callable[[float], float]


def _no(sums: bool, least: float) -> _Value:
    if not math.isfinite(least):
        return None, "errs by more than numbers of 64 bits hold"
    given = "sum error" if sums else "point error"
    return None, f"is not known to keep to it: its least {given} is about {least:.3g}"


def _place(found: Guaranteed, sums: bool, limit: float) -> _Value:
    given, other = (float(x) for x in (found if not sums else found[::-1]))
    if not given <= limit * _NEARLY:
        return _no(sums, given)
    return (max(other, SMALLEST), "") if math.isfinite(other) else _no(sums, math.inf)


def _path(curve: _Curve, unit: float, sums: bool, limit: float) -> _Value:
    """Return the least C at D or a few below, or the least D on a grid, refined, with such a C."""
    grid = unit * _ALONG
    if sums:
        if limit <= unit * _ABOVE:
            return _no(sums, unit)
        tried = [min(limit, grid[-1]), *(D for D in grid[2:].tolist() if limit > D)]
        best = min(map(curve, tried))
        return (best, "") if math.isfinite(best) else _no(sums, math.inf)
    values = [curve(D) for D in grid.tolist()]
    good = [i for i, C in enumerate(values) if limit >= C]
    if not good:
        return _no(sums, min(values))
    low, high = np.log([grid[good[0] - 1] if good[0] else unit * _LEAST, grid[good[0]]])
    for _ in range(_TURNS):
        middle = (low + high) / 2
        low, high = (low, middle) if curve(math.exp(middle)) <= limit else (middle, high)
    return math.exp(high), ""


def _remap(basis: PureDP | ConcentratedDP, d: float, sums: bool, limit: float) -> _Value:
    zcdp = isinstance(basis, ConcentratedDP)
    least = basis.noise().variance if zcdp else 0.0
    found = map_at(basis, None if sums or limit**2 <= least else limit)
    if found is None:
        low, high = LEVELS["zcdp" if zcdp else "pure"]
        return None, f"is computed from level {low:g} to {high:g} only"
    return _place(Guaranteed(np.array(found.C), found.D(d)), sums, limit)
