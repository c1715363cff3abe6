"""The explorer's first view: the C-D plane at every stop of its sliders."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.privacy import ApproximateDP, ConcentratedDP, Guarantee, PureDP, guarantee_of
from ..theory.lower.lower_bounds import BOUNDS
from .bounds import DELTAS, DRAWN, EPSILONS, POINTS, RHOS, SUMS, BoundNodes, bound_nodes, nodes_of
from .mechanisms import (
    CHECKED,
    KNOTS,
    Pieces,
    Weighted,
    mechanisms,
    sum_first,
    weighted_between,
    weighted_family,
)
from .pack import SCALE, pack_logarithms

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """Where the sliders stand; ``sum`` is D in multiples of the signed error.

    Examples
    --------
    >>> Setting().guarantee("zcdp")
    ConcentratedDP(rho=0.125)
    """

    privacy: str = "pure"
    epsilon: float = 0.5
    rho: float = 0.125
    delta: float = 1e-6
    d: int = 10_000
    sum: float = 1.0

    def guarantee(self, privacy: str) -> Guarantee:
        """Return the guarantee of one kind of privacy: pure, approximate or zcdp."""
        return guarantee_of(privacy, epsilon=self.epsilon, rho=self.rho, delta=self.delta)


@dataclass(frozen=True)
class Levels:
    """Where the sliders of the levels stop, beside the levels that are shown first.

    Parameters
    ----------
    epsilons, rhos, deltas
        The stops.
    knots, checked
        Numbers d at which the weighted family is computed, and at which the interpolation between
        them is measured.

    Examples
    --------
    >>> Levels().deltas[0]
    1e-12
    """

    epsilons: tuple[float, ...] = EPSILONS
    rhos: tuple[float, ...] = RHOS
    deltas: tuple[float, ...] = DELTAS
    knots: tuple[int, ...] = KNOTS
    checked: tuple[int, ...] = CHECKED


def stops(values: Iterable[float], start: float) -> tuple[float, ...]:
    """Return the stops of a slider, with the one it starts at among them.

    Examples
    --------
    >>> stops((0.1, 1.0), 0.3)
    (0.1, 0.3, 1.0)
    """
    return tuple(sorted({*values, start}))


@dataclass(frozen=True)
class _Bounds:
    name: str
    guarantee: Guarantee

    def __call__(self) -> BoundNodes:
        return bound_nodes(self.name, self.guarantee)


@dataclass(frozen=True)
class _Fitted:
    guarantee: PureDP | ConcentratedDP
    d: int

    def __call__(self) -> tuple[float, float]:
        return sum_first(self.guarantee, self.d)


@dataclass(frozen=True)
class _Weighted:
    guarantee: PureDP | ConcentratedDP
    d: int

    def __call__(self) -> Weighted:
        return weighted_family(self.guarantee, self.d)


_Task = _Bounds | _Fitted | _Weighted


def _call(task: _Task) -> Any:
    return task()


def _compute(tasks: Sequence[_Task], workers: int) -> dict[_Task, Any]:
    if workers == 1:
        return {task: task() for task in tasks}
    # Processes that start afresh inherit no thread, so that nothing can lock up.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        return dict(zip(tasks, pool.map(_call, tasks, chunksize=2), strict=True))


def plane_data(start: Setting, levels: Levels, *, workers: int = 1) -> dict[str, Any]:
    """Compute the plane at every stop of the sliders.

    Parameters
    ----------
    start
        What is shown first; its levels become stops.
    levels
        The other stops.
    workers
        Processes to share the work among; the result does not depend on it.

    Returns
    -------
    dict
        What the page reads, ready for JSON: errors are in multiples of the signed error of their
        level, packed by `pack_logarithms`.
    """
    epsilons = stops(levels.epsilons, start.epsilon)
    slack = stops(levels.deltas, start.delta)
    kinds: dict[str, list[Guarantee]] = {
        "pure": [PureDP(e) for e in epsilons],
        "approximate": [ApproximateDP(e, x) for e in epsilons for x in slack],
        "zcdp": [ConcentratedDP(r) for r in stops(levels.rhos, start.rho)],
    }
    bases = {kind: given[0].basis for kind, given in kinds.items()}
    tasks: list[_Task] = []
    for basis in dict.fromkeys(bases.values()):
        tasks += [_Weighted(basis, d) for d in (*levels.knots, *levels.checked)]
        tasks += [_Fitted(basis, d) for d in POINTS]
    tasks += [_Bounds(name, g) for given in kinds.values() for name in DRAWN for g in given]
    found = _compute(tasks, workers)
    modes = {}
    for kind, given in kinds.items():
        basis, approximate = bases[kind], kind == "approximate"
        nodes = {name: [found[_Bounds(name, g)] for g in given] for name in DRAWN}
        known, checked = (
            {d: found[_Weighted(basis, d)] for d in at} for at in (levels.knots, levels.checked)
        )
        pieces = Pieces([found[_Fitted(basis, d)] for d in POINTS], known, checked)
        first = given[:: len(slack)] if approximate else given
        modes[kind] = _mode(first, slack if approximate else None, nodes, pieces)
    layers = {b["key"]: b["title"] for m in modes.values() for b in m["bounds"]}
    layers |= {m["key"]: m["title"] for mode in modes.values() for m in mode["mechanisms"]}
    return {
        "scale": SCALE,
        "start": start.__dict__ | {"d": int(start.d)},
        "points": list(POINTS),
        "sums": list(SUMS),
        "modes": modes,
        "layers": [{"key": k, "title": t} for k, t in layers.items()],
    }


def _mode(
    first: Sequence[Guarantee],
    deltas: Sequence[float] | None,
    nodes: dict[str, list[BoundNodes]],
    pieces: Pieces,
) -> dict[str, Any]:
    axes = ["level", "delta", "d", "node"] if deltas else ["level", "d", "node"]
    shape = (len(first), len(deltas)) if deltas else (len(first),)

    def pack(arrays: list[Array]) -> dict[str, Any]:
        stacked = np.stack(arrays)
        return pack_logarithms(axes, stacked.reshape(*shape, *stacked.shape[1:]))

    return {
        "levels": [g.level for g in first],
        "deltas": list(deltas) if deltas else None,
        "signed": [g.signed_error for g in first],
        "bounds": [
            {
                "key": name,
                "title": BOUNDS[name].title,
                "sums": list(nodes_of(name)[0]),
                "counts": list(nodes_of(name)[1]),
                "C": pack([n.C for n in found]),
                "D": pack([n.D for n in found]),
                "between": np.reshape([n.between for n in found], (len(first), -1)).max(1).tolist(),
            }
            for name, found in nodes.items()
        ],
        "knots": sorted(pieces.weighted),
        "checked": sorted(pieces.checked),
        "weighted_between": weighted_between(pieces),
        "mechanisms": mechanisms(first, deltas, pieces),
    }
