"""A small explorer that several test modules look at."""

from __future__ import annotations

from functools import cache
from typing import Any

from microdata_price.explorer_plane import Levels, Setting, plane_data

FEW = Levels((0.5, 3.0), (0.125,), (1e-6, 1e-2), knots=(2, 1_000, 10**9), checked=(100,))


@cache
def small_plane() -> dict[str, Any]:
    """Compute the plane at few levels, once a process."""
    return plane_data(Setting(), FEW)
