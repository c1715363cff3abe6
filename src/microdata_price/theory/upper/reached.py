"""Errors that known nonnegative mechanisms keep to: one on every table, given the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...exceptions import InputError
from ...model.privacy import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from ..given import check_error, check_queries
from .asymmetric import best_rates, certified_asymmetric
from .one_sided import certified_split
from .redrawn import redrawn
from .remap import LEVELS, best_gaussian_map, best_map
from .upper_bounds import Guaranteed, certified_truncated, exact_clipping
from .worst_table import MOST_CELLS, certified_fit

Array = NDArray[np.float64]
Pick = Callable[[Guaranteed], Array]

MECHANISMS = {
    "clipping": "noisy counts, zero where negative (M): exact worst case",
    "remap": "ours: the same, small counts mapped by the best map (whole numbers): exact",
    "split_budget": "fitted to a noisy sum (M'), best split of the budget: certified",
    "asymmetric": "ours: the same with asymmetric noise at its best rates: certified",
    "truncated": "fitted to a noisy sum, truncated noise (M' with a delta): certified",
    "redrawn": "ours: asymmetric noise redrawn until below a bound: certified",
}
"""What is looked at, by name, with its meaning."""

SMALLEST = 1e-150
"""Where an error's square is below what can be written, this is said in its place."""
_PLACES = 41  # of a knob that are tried
_FARTHEST = 60.0  # times the least D: the end of a path


class Reached(NamedTuple):
    """The other error that each mechanism keeps to on every table, in counts.

    Examples
    --------
    >>> Reached({"clipping": 2.7}, {}).values["clipping"]
    2.7
    """

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
    """Return the least C that each mechanism keeps to beside a sum error D, or the least D.

    Every value holds for all tables: it is exact for clipping and certified for the others, so that
    the truth may be smaller. Knobs (a split, rates) are searched on a grid, twice: a value may be a
    little above the best.

    Parameters
    ----------
    guarantee
        Pure, approximate or zCDP. Asymmetric noise is for the first two, truncated noise for
        approximate DP.
    d
        The number of point queries, 2 or more.
    sum_error, point_error
        Root expected squared error, in counts, of the sum or of every point query; one of the two.

    Examples
    --------
    >>> found = reached(PureDP(0.5), 10**6, sum_error=5.7).values
    >>> found["clipping"] is None, found["asymmetric"] < found["split_budget"]
    (True, True)
    """
    if (sum_error is None) == (point_error is None):
        raise InputError("give either the sum error or the point error")
    points = float(check_queries(d))
    given, held, sought, error = "sum error", _D, _C, sum_error
    if sum_error is None:
        given, held, sought, error = "point error", _C, _D, point_error
    limit = float(check_error(np.asarray(error), given))
    sums = held is _D
    values: dict[str, float | None] = {}
    notes: dict[str, str] = {}
    for name, places in _places(guarantee, points).items():
        # Where d is huge some errors are beyond all doubles.
        with np.errstate(over="ignore", invalid="ignore"):
            value, least = _least(places, held, sought, limit)
        if name in _EVEN and points <= MOST_CELLS:
            exact = _by_worst_table(guarantee.basis, points, _EVEN[name], sums, limit)
            value = exact if value is None else min(value, exact or math.inf)
        values[name] = value if value is not None and math.isfinite(value) else None
        if value is None and math.isfinite(least):
            notes[name] = f"{name} does not keep to it: its {given} is about {least:.3g} at least"
        elif values[name] is None:
            notes[name] = f"{name} errs by more than numbers of 64 bits hold"
    even, uneven = values["split_budget"], values.get("asymmetric")
    if even is not None and uneven is not None:
        values["asymmetric"] = min(even, uneven)
    extra = _remap(guarantee, points, sums, limit)
    if isinstance(guarantee, ApproximateDP):
        extra |= _redrawn(guarantee, points, sums, limit)
    values |= {name: value for name, (value, _) in extra.items()}
    notes |= {name: note for name, (value, note) in extra.items() if value is None}
    return Reached({name: values[name] for name in MECHANISMS if name in values}, notes)


_EVEN = {"split_budget": True, "asymmetric": False}
_MOST_REDRAWN = 20.0
_Note = tuple[float | None, str]


def _by_worst_table(
    basis: PureDP | ConcentratedDP, d: float, even: bool, sums: bool, limit: float
) -> float | None:
    """Return the error that the worst table of the fit certifies beside the other."""
    if sums:
        # More noise in the sum than a cell error needs serves nothing.
        most = 8 * float(basis.records(np.ones(())))
        found = certified_fit(basis, d, min(limit, most), even=even)
        return None if found is None else found.most

    def above(log_sum: float, fine: int = 1) -> float:
        found = certified_fit(basis, d, math.exp(log_sum), even=even, fine=fine)
        return math.inf if found is None else found.most / limit - 1

    first = math.log(float(basis.records(np.ones(()))) * (0.5 if basis.norm == 2 else 2.0) ** 0.5)
    grid = first + np.array([0.02, 0.1, 0.3, 0.6, 1.0, 1.5, 2.2, 3.0])
    value = [above(x) for x in grid.tolist()]
    good = [i for i, x in enumerate(value) if x <= 0]
    if not good:
        return None
    high, low = grid[good[0]], grid[good[0] - 1] if good[0] else first + 1e-3
    for _ in range(7):
        middle = (low + high) / 2
        low, high = (low, middle) if above(middle) <= 0 else (middle, high)
    for _ in range(4):
        if above(high, 2) <= 0:
            return math.exp(high)
        high += 2e-3
    return None


def _remap(guarantee: Guarantee, d: float, sums: bool, limit: float) -> dict[str, _Note]:
    basis = guarantee.basis
    low, high = LEVELS["zcdp" if isinstance(basis, ConcentratedDP) else "pure"]
    if not low <= basis.level <= high:
        return {"remap": (None, f"remap is computed from level {low:g} to {high:g} only")}
    best = None if sums else limit
    found = (
        best_gaussian_map(basis.rho, best)
        if isinstance(basis, ConcentratedDP)
        else best_map(basis.epsilon, best)
    )
    with np.errstate(over="ignore"):
        pair = found.C, float(found.D(d))
    given, other = pair[::-1] if sums else pair
    if given > limit * (1 + 1e-9):
        word = "sum error" if sums else "point error"
        return {"remap": (None, f"remap does not keep to it: its {word} is about {given:.3g}")}
    if not math.isfinite(other):
        return {"remap": (None, "remap errs by more than numbers of 64 bits hold")}
    return {"remap": (max(other, SMALLEST), "")}


def _redrawn(guarantee: ApproximateDP, d: float, sums: bool, limit: float) -> dict[str, _Note]:
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if epsilon > _MOST_REDRAWN:
        return {"redrawn": (None, f"redrawn is computed up to epsilon {_MOST_REDRAWN:g} only")}
    least = math.sqrt(2) / epsilon

    def C(D: float) -> float:
        return redrawn(epsilon, delta, d, D).C

    if sums:
        if limit <= least * (1 + 1e-6):
            note = f"redrawn does not keep to it: its sum error is more than {least:.3g}"
            return {"redrawn": (None, note)}
        return {"redrawn": (C(min(limit, 12 * least)), "")}
    low, high = math.log(least * 1.001), math.log(12 * least)
    if C(math.exp(high)) > limit:
        note = f"redrawn does not keep to it: its point error is about {C(math.exp(high)):.3g}"
        return {"redrawn": (None, note)}
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if C(math.exp(middle)) <= limit else (middle, high)
    return {"redrawn": (math.exp(high), "")}


class _Knob(NamedTuple):
    """Errors along a knob, and where the knob may stand; one place only without a knob."""

    errors: Callable[[Array], Guaranteed]
    grid: Array
    at: Callable[[float], float | None]
    """Where the knob stands at a sum error."""


def _places(guarantee: Guarantee, d: float) -> dict[str, _Knob]:
    basis = guarantee.basis
    one = np.ones(1)
    found = {
        "clipping": _Knob(lambda _: _row(exact_clipping(basis, d)), one, lambda _: None),
        "split_budget": _Knob(
            lambda share: certified_split(basis, d, share),
            np.concatenate(
                [np.geomspace(1e-3, 0.5, 4 * _PLACES), np.linspace(0.5, 0.999, _PLACES)]
            ),
            lambda D: _share(basis, D),
        ),
    }
    if isinstance(guarantee, ConcentratedDP):
        return found
    epsilon = guarantee.epsilon
    least = math.sqrt(2) / epsilon

    def uneven(D: Array) -> Guaranteed:
        rates = best_rates(epsilon, d, D)
        return certified_asymmetric(epsilon, d, rates.right, rates.left)

    found["asymmetric"] = _Knob(
        uneven, least * np.geomspace(1.002, _FARTHEST, _PLACES), lambda D: D if least < D else None
    )
    if isinstance(guarantee, ApproximateDP):
        delta = guarantee.delta
        found["truncated"] = _Knob(
            lambda _: _row(certified_truncated(epsilon, delta, d)), one, lambda _: None
        )
    return found


def _row(found: Guaranteed) -> Guaranteed:
    # Squares below 1e-308 vanish; what is reached is rounded up.
    C, D = (np.maximum(np.atleast_1d(x), SMALLEST) for x in found)
    return Guaranteed(C, D)


def _share(basis: PureDP | ConcentratedDP, D: float) -> float | None:
    whole = float(np.asarray(certified_split(basis, 2, 0.5).D)) / D
    share = whole**basis.norm / 2
    return share if share < 1 else None


def _C(found: Guaranteed) -> Array:
    return np.asarray(found.C)


def _D(found: Guaranteed) -> Array:
    return np.asarray(found.D)


def _least(knob: _Knob, held: Pick, sought: Pick, limit: float) -> tuple[float | None, float]:
    """Return the least sought error where the held one is within its limit, and the least held."""
    grid = knob.grid
    exact = knob.at(limit) if held is _D else None
    if exact is not None:
        grid = np.sort(np.append(grid, exact))
    least = math.inf
    for _ in range(2):
        errors = knob.errors(grid)
        limited, free = (
            np.nan_to_num(pick(errors), nan=np.inf, posinf=np.inf) for pick in (held, sought)
        )
        fits = limited <= limit * (1 + 1e-12)
        least = min(least, float(limited.min()))
        if not fits.any():
            return None, least
        best = int(np.where(fits, free, np.inf).argmin())
        if not fits[best]:
            return math.inf, least
        value = float(free[best])
        ends = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
        grid = np.unique(np.append(np.linspace(*ends, 33), grid[best]))
    return value, least
