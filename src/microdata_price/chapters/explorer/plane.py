"""The explorer's first view: the C-D plane at every stop of its sliders."""

from __future__ import annotations

import math
import multiprocessing
import pickle
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ...base.files import write_whole
from ...model.privacy import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from ...theory.upper.operating_points import asymmetric, split
from .bounds import DELTAS, DRAWN, EPSILONS, POINTS, RHOS, SUMS, TITLES, bound_nodes, nodes_of
from .mechanisms import ABOUT, KNOTS, SPLITS, mechanisms, sum_first, weighted_family
from .pack import SCALE, pack_logarithms

Task = tuple[Any, ...]
"""A function and its arguments."""


LEVELS = {"epsilon": EPSILONS, "rho": RHOS, "delta": DELTAS}
"""Where the sliders of the levels stop."""
START = {"epsilon": 0.5, "rho": 0.125, "delta": 1e-6, "d": 10_000, "sum": 1.0}
"""Where the sliders stand at first; ``sum`` is D in multiples of the signed error."""


def _paths(basis: Guarantee) -> list[Any]:
    return [split] if isinstance(basis, ConcentratedDP) else [split, asymmetric]


def _call(task: Task) -> Any:
    return task[0](*task[1:])


def compute(tasks: Sequence[Task], workers: int, kept: Path | None = None) -> dict[Task, Any]:
    """Return what each task gives; the result does not depend on the number of processes.

    A file that is `kept` has what was computed before, and gets the rest.
    """
    known = kept is not None and kept.is_file()
    found: dict[Task, Any] = pickle.loads(kept.read_bytes()) if kept and known else {}
    todo = [task for task in tasks if task not in found]
    if workers == 1:
        found.update((task, _call(task)) for task in todo)
    elif todo:
        # Processes that start afresh inherit no thread, so that nothing can lock up.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            found.update(zip(todo, pool.map(_call, todo, chunksize=2), strict=True))
    if kept is not None and todo:
        write_whole(kept, pickle.dumps(found))
    return {task: found[task] for task in tasks}


def plane_data(
    start: Mapping[str, float],
    levels: Mapping[str, Sequence[float]],
    knots: Sequence[int] = KNOTS,
    *,
    workers: int = 1,
    kept: Path | None = None,
) -> dict[str, Any]:
    """Compute the plane at every stop of the sliders, and at the levels of `start`, shown first.

    Errors are in multiples of the signed error of their level, packed by `pack_logarithms`; the
    weighted family is computed at the d of `knots`.
    """
    epsilons, rhos, deltas = (sorted({*stops, start[name]}) for name, stops in levels.items())
    kinds: dict[str, list[Guarantee]] = {
        "pure": [PureDP(e) for e in epsilons],
        "approximate": [ApproximateDP(e, x) for e in epsilons for x in deltas],
        "zcdp": [ConcentratedDP(r) for r in rhos],
    }
    tasks: list[Task] = []
    for basis in dict.fromkeys(given[0].basis for given in kinds.values()):
        tasks += [(weighted_family, basis, d) for d in knots]
        tasks += [(sum_first, basis, d) for d in POINTS]
        tasks += [(f, basis, d, SPLITS) for f in _paths(basis) for d in POINTS]
    drawn = {kind: DRAWN[kind == "approximate" :] for kind in kinds}
    tasks += [(bound_nodes, n, g) for kind in kinds for n in drawn[kind] for g in kinds[kind]]
    found = compute(tasks, workers, kept)
    modes = {}
    for kind, given in kinds.items():
        slack = deltas if kind == "approximate" else None
        first, basis = given[:: len(slack or [0])], given[0].basis
        axes = "level delta d node" if slack else "level d node"
        shape = [len(first), *([len(slack)] if slack else []), len(POINTS), -1]
        bounds = []
        for name in drawn[kind]:
            nodes = zip(*(found[bound_nodes, name, g] for g in given), strict=True)
            C, D = (pack_logarithms(axes, np.reshape(x, shape), math.floor) for x in nodes)
            sums, counts = map(list, nodes_of(name))
            about = {"key": name, "title": TITLES[name], "sums": sums, "counts": counts}
            bounds.append({**about, "C": C, "D": D})
        ends = [found[sum_first, basis, d] for d in POINTS]
        known = {d: found[weighted_family, basis, d] for d in knots}
        paths = {f.__name__: [found[f, basis, d, SPLITS] for d in POINTS] for f in _paths(basis)}
        modes[kind] = {
            "levels": [g.level for g in first],
            "deltas": slack,
            "signed": [g.signed_error for g in first],
            "bounds": bounds,
            "mechanisms": mechanisms(first, slack, ends, known, paths),
        }
    titles = TITLES | {name: about["title"] for name, about in ABOUT.items()}
    return {
        "scale": SCALE,
        "start": {"privacy": "pure", **start},
        "points": list(POINTS),
        "sums": list(SUMS),
        "modes": modes,
        "layers": [{"key": k, "title": t} for k, t in titles.items()],
    }
