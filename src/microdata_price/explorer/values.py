"""The explorer's numbers at one setting, read from its tables as the page reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.privacy import KINDS
from .bounds import drawn_curve
from .pack import unpack_logarithms

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ShownBound:
    """A lower bound at one setting, in counts.

    Parameters
    ----------
    key, title
        Which bound.
    C
        The least C at the chosen D; 0 where the bound says nothing.
    D
        The least D where every count is as accurate as a signed answer.
    curve
        The D and C that are drawn, each of shape (nodes,).
    """

    key: str
    title: str
    C: float
    D: float
    curve: tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class ShownMechanism:
    """A mechanism at one setting, in counts: a point, or a path of several.

    Parameters
    ----------
    key, title
        Which mechanism.
    C, D
        Its errors, shape (1,) or (nodes,).
    upper
        Where C is known on some tables only: no table is worse than this; else ``None``.
    """

    key: str
    title: str
    C: Array
    D: Array
    upper: float | None


@dataclass(frozen=True, eq=False)
class Shown:
    """All that the first view shows at one setting.

    Parameters
    ----------
    signed
        The root error of signed answers, in counts.
    total
        The chosen D, in counts.
    bounds, mechanisms
        What is drawn.
    """

    signed: float
    total: float
    bounds: tuple[ShownBound, ...]
    mechanisms: tuple[ShownMechanism, ...]

    @property
    def sharpest(self) -> ShownBound:
        """The bound with the largest C at the chosen D."""
        return max(self.bounds, key=lambda b: b.C)


def _pick(table: dict[str, Any], at: Mapping[str, int]) -> Array:
    place = tuple(at[a] for a in table["axes"] if a != "node")
    return np.atleast_1d(unpack_logarithms(table)[place])


def shown(plane: dict[str, Any], setting: Mapping[str, Any]) -> Shown:
    """Read the numbers of one setting.

    Parameters
    ----------
    plane
        From `plane_data`.
    setting
        As ``plane["start"]``: privacy, epsilon, rho, delta, d and sum, each at a stop.

    Raises
    ------
    ValueError
        A setting that is at no stop.
    """
    mode = plane["modes"][setting["privacy"]]
    level = setting[KINDS[setting["privacy"]].parameter]
    at = {
        "level": mode["levels"].index(level),
        "delta": mode["deltas"].index(setting["delta"]) if mode["deltas"] else 0,
        "d": plane["points"].index(setting["d"]),
    }
    unit = mode["signed"][at["level"]]
    bounds = []
    for b in mode["bounds"]:
        C, D = _pick(b["C"], at), _pick(b["D"], at)
        x, y = drawn_curve(b["key"], C, D)
        column, same = b["sums"].index(setting["sum"]), b["counts"].index(1.0)
        curve = (np.exp(x) * unit, y * unit)
        numbers = (float(C[column]) * unit, float(D[same]) * unit)
        bounds.append(ShownBound(b["key"], b["title"], *numbers, curve))
    mechanisms = []
    for m in mode["mechanisms"]:
        upper = float(_pick(m["upper"], at)[0]) * unit if "upper" in m else None
        C, D = (_pick(m[w], at) * unit for w in ("C", "D"))
        mechanisms.append(ShownMechanism(m["key"], m["title"], C, D, upper))
    return Shown(unit, setting["sum"] * unit, tuple(bounds), tuple(mechanisms))
