"""The explorer's operating points: what known mechanisms pay, in multiples of the signed error."""

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
    split,
    weighted,
)
from ..theory.upper.upper_bounds import certified_truncated
from .bounds import POINTS
from .pack import pack_logarithms

Array = NDArray[np.float64]

_D = np.array(POINTS, dtype=float)
EXPONENTS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
"""The weighted family is computed at the weights ``d**-e`` of these e, at 0 and at infinity."""
KNOTS = (2, 5, 10, 50, 500, 20_000, 10**7, 10**9)
"""Numbers d at which the weighted family is computed; between them the logarithms of its errors are
cubics of ln d that do not overshoot."""
CHECKED = (20, 10**8)
"""Numbers d at which that is measured; where it is worst among all stops of the slider."""
_SPLITS = 17  # points of a path that is drawn


class Weighted(NamedTuple):
    """The weighted family at one d: errors from weight 0 on, in multiples of the signed error."""

    C: Array
    D: Array


def sum_first(guarantee: PureDP | ConcentratedDP, d: int) -> tuple[float, float]:
    """Return C of M' on the worst tables known and what is certified for all (both of signed).

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


def weighted_family(guarantee: PureDP | ConcentratedDP, d: int) -> Weighted:
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


class Pieces(NamedTuple):
    """What takes long to compute, for one kind of privacy.

    Parameters
    ----------
    fitted
        `sum_first` at every d of `POINTS`.
    weighted
        `weighted_family` at the knots.
    checked
        The same at other d, to measure what interpolation misses.
    """

    fitted: Sequence[tuple[float, float]]
    weighted: Mapping[int, Weighted]
    checked: Mapping[int, Weighted]


def _between_knots(pieces: Pieces, d: Sequence[int]) -> tuple[Array, Array]:
    """Return C and D of the weighted family at any d."""
    at = sorted(pieces.weighted)
    found = np.log([[pieces.weighted[k].C, pieces.weighted[k].D] for k in at])
    out = np.exp(PchipInterpolator(np.log(at), found)(np.log(d)))
    return out[:, 0], out[:, 1]


def weighted_between(pieces: Pieces) -> float:
    """Return the largest relative error of the weighted family between its knots."""
    checked = sorted(pieces.checked)
    C, D = _between_knots(pieces, checked)
    true = np.array([[pieces.checked[d].C, pieces.checked[d].D] for d in checked])
    return float(np.abs(np.stack([C, D], axis=1) / true - 1).max())


def mechanisms(
    given: Sequence[Guarantee], deltas: Sequence[float] | None, pieces: Pieces
) -> list[dict[str, Any]]:
    """Return the mechanisms at all levels of one kind of privacy, ready for JSON.

    Parameters
    ----------
    given
        One guarantee a level; of approximate ones, at any delta.
    deltas
        The stops of delta, for approximate DP.
    pieces
        What was computed beforehand.

    Returns
    -------
    list of dict
        Errors C and D, and where C is not known exactly an ``upper`` end for it; packed.
    """
    found = [_signed(), _counts_first(given), _sum_first(pieces)]
    found += [_weighted(pieces), _split(given[0])]
    if not isinstance(given[0], ConcentratedDP):
        found.append(_asymmetric(given[0]))
    if deltas is not None:
        found.append(_truncated(given, deltas))
    return found


def _pack(axes: str, values: object) -> dict[str, Any]:
    return pack_logarithms(axes.split(), np.asarray(values, dtype=float))


_SUBJECTS = {
    "signed": "Signed answers",
    "counts_first": "M",
    "sum_first": "M′",
    "weighted": "A weighted fit",
    "split": "A split budget",
    "asymmetric": "Asymmetric noise",
    "truncated": "Clipped noise",
}


def _entry(key: str, title: str, short: str, sure: str, status: str) -> dict[str, Any]:
    about = {"key": key, "title": title, "short": short, "sure": sure, "status": status}
    return about | {"subject": _SUBJECTS[key]}


def _signed() -> dict[str, Any]:
    about = _entry("signed", "signed answers", "signed", "exact", "exact; not microdata")
    return about | {"C": _pack("", 1.0), "D": _pack("", 1.0)}


def _counts_first(given: Sequence[Guarantee]) -> dict[str, Any]:
    about = _entry(
        "counts_first", "counts first: M", "M", "exact", "exact, the worst of all tables"
    )
    places = [[clipping(g, d) for d in POINTS] for g in given]
    units = np.array([g.signed_error for g in given])
    return about | {
        "C": _pack("level", [row[0].C[0] for row in places] / units),
        "D": _pack("level d", np.array([[p.D[0] for p in row] for row in places]) / units[:, None]),
    }


def _sum_first(pieces: Pieces) -> dict[str, Any]:
    status = "C: on the worst tables known, and certified for all; D: exact"
    about = _entry("sum_first", "sum first: M′", "M′", "exact", status)
    known, sure = zip(*pieces.fitted, strict=True)
    return about | {"C": _pack("d", known), "D": _pack("", 1.0), "upper": _pack("d", sure)}


def _weighted(pieces: Pieces) -> dict[str, Any]:
    about = _entry("weighted", "weighted fits", "weighted", "known", "on the worst tables known")
    C, D = _between_knots(pieces, POINTS)
    # The last place, an infinite weight, is M'.
    known = np.array([[k] for k, _ in pieces.fitted])
    C, D = np.hstack([C, known]), np.hstack([D, np.ones(known.shape)])
    return about | {"path": True, "C": _pack("d node", C), "D": _pack("d node", D)}


def _path(places: Sequence[Operating], unit: float) -> dict[str, Any]:
    return {
        "path": True,
        "C": _pack("d node", [p.C / unit for p in places]),
        "D": _pack("d node", [p.D / unit for p in places]),
    }


def _split(guarantee: Guarantee) -> dict[str, Any]:
    status = "certified for all tables"
    about = _entry("split", "split budget, certified", "split", "certified", status)
    return about | _path([split(guarantee, d, _SPLITS) for d in POINTS], guarantee.signed_error)


def _asymmetric(guarantee: PureDP | ApproximateDP) -> dict[str, Any]:
    status = "certified for all tables"
    about = _entry("asymmetric", "asymmetric noise, certified", "asymmetric", "certified", status)
    places = [asymmetric(guarantee, d, _SPLITS) for d in POINTS]
    return about | _path(places, guarantee.signed_error)


def _truncated(given: Sequence[Guarantee], deltas: Sequence[float]) -> dict[str, Any]:
    status = "certified for all tables"
    about = _entry("truncated", "clipped noise, certified", "clipped", "certified", status)
    found = [
        [certified_truncated(g.basis.epsilon, x, _D) for x in deltas]  # type: ignore[union-attr]
        for g in given
    ]
    units = np.array([g.signed_error for g in given])[:, None, None]
    C, D = (np.array([[getattr(e, what) for e in row] for row in found]) for what in ("C", "D"))
    return about | {
        "C": _pack("level delta d", C / units),
        "D": _pack("level delta", D[..., 0] / units[..., 0]),
    }
