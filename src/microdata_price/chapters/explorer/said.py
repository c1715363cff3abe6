"""The numbers of the explorer's own text, and of the picture that it shows without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...base.numbers import format_number
from ...model.privacy import PureDP
from ...theory.lower.lower_bounds import BOUNDS, point_error_bound
from ...theory.upper.operating_points import clipping, fitted, mapped
from .bounds import POINTS, Array, point_errors
from .pack import SCALE


def _edge(guarantee: PureDP, d: Array, D: Array) -> Array:
    """Return the least C beside D that the page's two best bounds prove, in counts."""
    return np.maximum(*(point_errors(n, guarantee, d, D) for n in ("channel", "first_moment")))


def numbers_said(plane: Mapping[str, Any], draws: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of the page's own text and picture, by the names that they use."""
    guarantee, d = PureDP(plane["start"]["epsilon"]), plane["start"]["d"]
    unit = guarantee.signed_error
    known = {
        "clip": clipping(guarantee, d),
        "mapped clip": mapped(guarantee, d),
        "keep the sum": fitted(guarantee, d)[0],
    }
    stops = np.array(POINTS, dtype=float)
    printed = point_error_bound("printed", guarantee, stops, unit)
    first = [
        next((format_number(d) for d in stops[unit < C]), "none of the stops")
        for C in (_edge(guarantee, stops, np.array(unit)), printed)
    ]
    marks = [
        ("signed answers", 1.0, 1.0),
        *((k, float(m.D[0]) / unit, float(m.C[0]) / unit) for k, m in known.items() if m),
    ]
    D = np.geomspace(0.3, 3 * max(10.0, *(mark[1] for mark in marks)), 300)
    return {
        "level": guarantee.plain,
        "d": d,
        "signed": unit,
        "least": float(_edge(guarantee, np.array(d), np.array(unit))),
        "marks": marks,
        "sums": D,
        "edge": _edge(guarantee, np.array(d), unit * D) / unit,
        "first": first,
        "printed": BOUNDS["printed"].title,
        "kept": 100 / SCALE,
        "plane": plane,
        "draws": draws,
    }
