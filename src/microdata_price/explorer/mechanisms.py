"""The explorer's operating points: errors of known mechanisms, in multiples of the signed error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from ..model.privacy import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from ..theory.upper.operating_points import (
    Operating,
    asymmetric,
    clipping,
    fitted,
    mapped,
    split,
    weighted,
)
from ..theory.upper.upper_bounds import certified_truncated
from .bounds import POINTS
from .pack import pack_logarithms

Array = NDArray[np.float64]
Basis = PureDP | ConcentratedDP

EXPONENTS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
"""The weighted family is computed at the weights ``d**-e`` of these e, at 0 and at infinity."""
KNOTS = (2, 5, 10, 50, 500, 20_000, 10**7, 10**9)
"""Numbers d at which the weighted family is computed; between them the logarithms of its errors are
cubics of ln d that do not overshoot."""
_SPLITS = 17  # points of a path that is drawn


class About(NamedTuple):
    """A mechanism's names, how surely it is known (a key of the page) and that in words."""

    title: str
    short: str
    subject: str
    sure: str
    status: str


_EXACT = ("exact", "exact, the worst of all tables")
_CERTIFIED = ("certified", "certified for all tables")
ABOUT = {
    "signed": About("signed answers", "signed", "Signed answers", "exact", "exact; not microdata"),
    "counts_first": About("clip", "clip", "Clip", *_EXACT),
    "mapped": About("mapped clip", "mapped", "The mapped clip", *_EXACT),
    "sum_first": About(
        "keep the sum",
        "keep the sum",
        "Keep the sum",
        "exact",
        "C: on its worst table up to an overshoot, and certified for all; D: exact",
    ),
    "weighted": About(
        "weighted fits", "weighted", "A weighted fit", "known", "on the worst tables known"
    ),
    "split": About("split budget, certified", "split", "A split budget", *_CERTIFIED),
    "asymmetric": About(
        "asymmetric noise, certified", "asymmetric", "Asymmetric noise", *_CERTIFIED
    ),
    "truncated": About("cut tails, certified", "cut tails", "Noise with cut tails", *_CERTIFIED),
}


class Weighted(NamedTuple):
    """The weighted family at one d: errors from weight 0 on, in multiples of the signed error."""

    C: Array
    D: Array


def sum_first(guarantee: Basis, d: int) -> tuple[float, float]:
    """Return C of M' with one huge cell, and what is certified for all tables (both of signed).

    Noise is continuous, so that the multiples are the same at every level.

    Examples
    --------
    >>> known, sure = sum_first(PureDP(1.0), 10_000)
    >>> known < sure and bool(np.isclose(sum_first(PureDP(0.1), 10_000), (known, sure)).all())
    True
    """
    known, sure = fitted(guarantee, d)
    unit = guarantee.signed_error
    return float(known.C[0]) / unit, float(sure.C[0]) / unit


def weighted_family(guarantee: Basis, d: int) -> Weighted:
    """Compute the weighted family at one d, exactly on the worst tables known.

    Examples
    --------
    >>> path = weighted_family(PureDP(1.0), 100)
    >>> bool(path.D[0] > 30 and path.D[-1] < 3)
    True
    """
    path = weighted(guarantee, d, [0.0, *(float(d) ** -e for e in EXPONENTS)])
    unit = guarantee.signed_error
    return Weighted(path.C / unit, path.D / unit)


def between_knots(known: Mapping[int, Weighted], d: Sequence[int]) -> tuple[Array, Array]:
    """Return C and D of the weighted family at any d, from those at some."""
    at = sorted(known)
    found = np.log([[known[k].C, known[k].D] for k in at])
    out = np.exp(PchipInterpolator(np.log(at), found)(np.log(d)))
    return out[:, 0], out[:, 1]


def mechanisms(
    given: Sequence[Guarantee],
    deltas: Sequence[float] | None,
    kept: Sequence[tuple[float, float]],
    known: Mapping[int, Weighted],
) -> list[dict[str, Any]]:
    """Return the mechanisms at all levels of one kind of privacy, ready for JSON.

    Parameters
    ----------
    given
        One guarantee per level; of approximate ones, at any delta.
    deltas
        The stops of delta, for approximate DP.
    kept
        `sum_first` at every d of `POINTS`.
    known
        `weighted_family` at the knots.

    Returns
    -------
    list of dict
        Errors C and D, and where C is not known exactly an ``upper`` end for it; packed.
    """
    first, units = given[0], np.array([g.signed_error for g in given])
    places = [[clipping(g, d) for d in POINTS] for g in given]
    maps = [[mapped(g, d) for d in POINTS] for g in given]
    # Zeros, no mark, where no map is computed.
    C, D = (np.array([[getattr(p, x)[0] if p else 0 for p in row] for row in maps]) for x in "CD")
    found = {
        "signed": {"C": _pack("", 1.0), "D": _pack("", 1.0)},
        "counts_first": {
            "C": _pack("level", [row[0].C[0] for row in places] / units),
            "D": _pack("level d", [[p.D[0] for p in row] for row in places] / units[:, None]),
        },
        "mapped": {"C": _pack("level", C[:, 0] / units), "D": _pack("level d", D / units[:, None])},
        "sum_first": {
            "C": _pack("d", [C for C, _ in kept]),
            "D": _pack("", 1.0),
            "upper": _pack("d", [most for _, most in kept]),
        },
        "weighted": _weighted(kept, known),
        "split": _path([split(first, d, _SPLITS) for d in POINTS], first.signed_error),
    }
    if not isinstance(first, ConcentratedDP):
        paths = [asymmetric(first, d, _SPLITS) for d in POINTS]
        found["asymmetric"] = _path(paths, first.signed_error)
    if deltas is not None:
        found["truncated"] = _truncated(given, deltas, units)
    return [{"key": key, **ABOUT[key]._asdict(), **errors} for key, errors in found.items()]


def _pack(axes: str, values: object) -> dict[str, Any]:
    return pack_logarithms(axes.split(), np.asarray(values, dtype=float))


def _weighted(kept: Sequence[tuple[float, float]], known: Mapping[int, Weighted]) -> dict[str, Any]:
    C, D = between_knots(known, POINTS)
    # The last place, an infinite weight, is M'.
    last = np.array([[C] for C, _ in kept])
    C, D = np.hstack([C, last]), np.hstack([D, np.ones(last.shape)])
    return {"path": True, "C": _pack("d node", C), "D": _pack("d node", D)}


def _path(places: Sequence[Operating], unit: float) -> dict[str, Any]:
    C, D = ([getattr(p, what) / unit for p in places] for what in "CD")
    return {"path": True, "C": _pack("d node", C), "D": _pack("d node", D)}


def _truncated(given: Sequence[Guarantee], deltas: Sequence[float], units: Array) -> dict[str, Any]:
    d = np.array(POINTS, dtype=float)
    found = [
        [certified_truncated(g.epsilon, x, d) for x in deltas]
        for g in given
        if isinstance(g, ApproximateDP)
    ]
    C, D = (np.array([[getattr(e, what) for e in row] for row in found]) for what in "CD")
    return {
        "C": _pack("level delta d", C / units[:, None, None]),
        "D": _pack("level delta", D[..., 0] / units[:, None]),
    }
