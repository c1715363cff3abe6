"""The numbers of the explorer's own text, and the edge that its two best bounds prove."""

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


def edge(guarantee: PureDP, d: Array, D: Array) -> Array:
    """Return the least C beside D that the page's two best bounds prove, in counts."""
    return np.maximum(*(point_errors(n, guarantee, d, D) for n in ("channel", "first_moment")))


def numbers_said(plane: Mapping[str, Any], draws: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of the page's own text, by the names that it uses."""
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
        for C in (edge(guarantee, stops, np.array(unit)), printed)
    ]
    return {
        "level": guarantee.plain,
        "d": d,
        "signed": unit,
        "least": float(edge(guarantee, np.array(d), np.array(unit))),
        "marks": [
            ("signed answers", 1.0, 1.0),
            *((k, float(m.D[0]) / unit, float(m.C[0]) / unit) for k, m in known.items() if m),
        ],
        "first": first,
        "printed": BOUNDS["printed"].title,
        "kept": 100 / (2 * SCALE),
        "plane": plane,
        "draws": draws,
    }
