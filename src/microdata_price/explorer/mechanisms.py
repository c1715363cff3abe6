"""The explorer's operating points: errors of known mechanisms, in multiples of the signed error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from ..model.privacy import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from ..theory.upper.operating_points import (
    Operating,
    clipping,
    fitted,
    mapped,
    weighted,
)
from ..theory.upper.upper_bounds import certified_truncated
from .bounds import POINTS
from .pack import pack_logarithms as pack

Array = NDArray[np.float64]
Basis = PureDP | ConcentratedDP

EXPONENTS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
"""The weighted family is computed at the weights ``d**-e`` of these e, at 0 and at infinity."""
KNOTS = (2, 5, 10, 50, 500, 20_000, 10**7, 10**9)
"""Numbers d at which the weighted family is computed; between them the logarithms of its errors are
cubics of ln d that do not overshoot."""
SPLITS = 17  # points of a path that is drawn

_EXACT = ("exact", "exact, the worst of all tables")
_SURE = ("certified", "certified for all tables")
_FIELDS = ("title", "short", "subject", "sure", "status")
_ABOUT = {
    "signed": ("signed answers", "signed", "Signed answers", "exact", "exact; not microdata"),
    "counts_first": ("clip", "clip", "Clip", *_EXACT),
    "mapped": ("mapped clip", "mapped", "The mapped clip", *_EXACT),
    "sum_first": ("keep the sum", "keep the sum", "Keep the sum", "exact",
                  "C: on its worst table up to an overshoot, and certified for all; D: exact"),
    "weighted": ("weighted fits", "weighted", "A weighted fit", "known",
                 "on the worst tables known"),
    "split": ("split budget, certified", "split", "A split budget", *_SURE),
    "asymmetric": ("asymmetric noise, certified", "asymmetric", "Asymmetric noise", *_SURE),
    "truncated": ("cut tails, certified", "cut tails", "Noise with cut tails", *_SURE),
}  # fmt: skip
ABOUT = {key: dict(zip(_FIELDS, texts, strict=True)) for key, texts in _ABOUT.items()}
"""A mechanism's names, how surely it is known (a key of the page) and that in words."""


def sum_first(guarantee: Basis, d: int) -> tuple[float, float]:
    """Return C of M' with one huge cell, and what is certified for all tables (both of signed).

    Noise is continuous, so that the multiples are the same at every level.
    """
    known, sure = fitted(guarantee, d)
    unit = guarantee.signed_error
    return float(known.C[0]) / unit, float(sure.C[0]) / unit


def weighted_family(guarantee: Basis, d: int) -> tuple[Array, Array]:
    """Return C and D of the weighted family at one d, exactly on the worst tables known."""
    path = weighted(guarantee, d, [0.0, *(float(d) ** -e for e in EXPONENTS)], order=4)
    unit = guarantee.signed_error
    return path.C / unit, path.D / unit


def between_knots(known: Mapping[int, tuple[Array, Array]], d: Sequence[int]) -> Array:
    """Return C and D of the weighted family at any d, from those at some; shape (2, d, weight)."""
    at = sorted(known)
    found = np.log([known[k] for k in at])
    return np.exp(PchipInterpolator(np.log(at), found)(np.log(d))).swapaxes(0, 1)


def _path(places: Sequence[Operating], unit: float) -> tuple[Array, Array]:
    return np.array([p.C for p in places]) / unit, np.array([p.D for p in places]) / unit


def mechanisms(
    given: Sequence[Guarantee],
    deltas: Sequence[float] | None,
    kept: Sequence[tuple[float, float]],
    known: Mapping[int, tuple[Array, Array]],
    turned: Mapping[str, Sequence[Operating]],
) -> list[dict[str, Any]]:
    """Return the mechanisms at all levels of one kind of privacy, ready for JSON.

    `given` has one guarantee a level (of approximate ones, at any delta), `kept` the `sum_first` at
    every d of `POINTS`, `known` the `weighted_family` at the knots, `turned` the paths of split
    budgets and asymmetric noise. Where C is not known exactly, ``upper`` is an upper end for it.
    """
    units = np.array([g.signed_error for g in given])
    each, both = units[:, None], units[:, None, None]
    places = [[clipping(g, d) for d in POINTS] for g in given]
    maps = [[mapped(g, d) for d in POINTS] for g in given]
    # Zeros, no mark, where no map is computed.
    C, D = (np.array([[getattr(p, x)[0] if p else 0 for p in row] for row in maps]) for x in "CD")
    low, high = np.array(kept).T
    found: dict[str, dict[str, Any]] = {
        "signed": {"C": pack("", 1.0), "D": pack("", 1.0)},
        "counts_first": {
            "C": pack("level", [row[0].C[0] for row in places] / units),
            "D": pack("level d", [[p.D[0] for p in row] for row in places] / each),
        },
        "mapped": {"C": pack("level", C[:, 0] / units), "D": pack("level d", D / each)},
        "sum_first": {"C": pack("d", low), "D": pack("", 1.0), "upper": pack("d", high)},
    }
    # The last place of a weighted fit, an infinite weight, is M'.
    C, D = between_knots(known, POINTS)
    C, D = np.column_stack([C, low]), np.column_stack([D, np.ones(len(low))])
    paths = {"weighted": (C, D)}
    paths |= {name: _path(places, units[0]) for name, places in turned.items()}
    for key, (C, D) in paths.items():
        found[key] = {"path": True, "C": pack("d node", C), "D": pack("d node", D)}
    if deltas is not None:
        cut = [
            [certified_truncated(g.epsilon, x, np.array(POINTS, dtype=float)) for x in deltas]
            for g in given
            if isinstance(g, ApproximateDP)
        ]
        C, D = (np.array([[getattr(e, x) for e in row] for row in cut]) for x in "CD")
        found["truncated"] = {
            "C": pack("level delta d", C / both),
            "D": pack("level delta", D[..., 0] / each),
        }
    return [{"key": key, **ABOUT[key], **errors} for key, errors in found.items()]
