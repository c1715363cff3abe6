"""The explorer's operating points: errors of known mechanisms, in multiples of the signed error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from ...model.privacy import ConcentratedDP, Guarantee, PureDP
from ...theory.upper.operating_points import Operating, fitted, mapped, weighted
from ...theory.upper.upper_bounds import certified_truncated, exact_clipping
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
                  "C certified, exact to an overshoot; D exact"),
    "weighted": ("weighted fits", "weighted", "A weighted fit", "known",
                 "on the worst tables known"),
    "split": ("split budget, certified", "split", "A split budget", *_SURE),
    "asymmetric": ("asymmetric noise, certified", "asymmetric", "Asymmetric noise", *_SURE),
    "truncated": ("cut tails, certified", "cut tails", "Noise with cut tails", *_SURE),
}  # fmt: skip
ABOUT = {key: dict(zip(_FIELDS, texts, strict=True)) for key, texts in _ABOUT.items()}
"""A mechanism's names, how surely it is known (a key of the page) and that in words."""


def sum_first(guarantee: Basis, d: int) -> tuple[float, float]:
    """Return C of M' with one huge cell, and what is certified for all: the same at any level."""
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
    points, units = np.array(POINTS, dtype=float), np.array([g.signed_error for g in given])
    scale = units[:, None, None]
    clips = np.array([exact_clipping(g.basis, points) for g in given]) / scale
    # Zeros, no mark, where no map is computed.
    maps = [[(p.C[0], p.D[0]) if (p := mapped(g, d)) else (0, 0) for d in POINTS] for g in given]
    maps_C, maps_D = np.moveaxis(np.array(maps) / scale, 2, 0)
    low, high = np.array(kept).T
    found: dict[str, dict[str, Any]] = {
        "signed": {"C": pack("", 1.0), "D": pack("", 1.0)},
        "counts_first": {"C": pack("level", clips[:, 0, 0]), "D": pack("level d", clips[:, 1])},
        "mapped": {"C": pack("level", maps_C[:, 0]), "D": pack("level d", maps_D)},
        "sum_first": {"C": pack("d", low), "D": pack("", 1.0), "upper": pack("d", high, math.ceil)},
    }
    # The last place of a weighted fit, an infinite weight, is M'.
    paths = {"weighted": np.dstack([between_knots(known, POINTS), [low, np.ones(low.size)]])}
    for name, places in turned.items():
        paths[name] = np.array([(p.C, p.D) for p in places]).swapaxes(0, 1) / units[0]
    for key, (C, D) in paths.items():
        way = math.ceil if ABOUT[key]["sure"] == "certified" else round
        found[key] = {"path": True, "C": pack("d node", C, way), "D": pack("d node", D, way)}
    if deltas is not None:
        cut = np.array([[certified_truncated(g.level, x, points) for x in deltas] for g in given])
        C, D = np.moveaxis(cut / scale[..., None], 2, 0)
        both = ("C", "level delta d", C), ("D", "level delta", D[:, :, 0])
        found["truncated"] = {what: pack(axes, x, math.ceil) for what, axes, x in both}
    return [{"key": key, **ABOUT[key], **errors} for key, errors in found.items()]
