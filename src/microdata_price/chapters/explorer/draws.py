"""The explorer's second view: small tables, noisy answers and all fits, draw after draw."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.numbers import Mean
from ...errors.sums import answer_errors
from ...fitting import METHODS, fit
from ...model.measurement import Measurements, measure
from ...model.privacy import ConcentratedDP, PureDP
from ...model.workload import Workload
from ...theory.upper.projection import project
from .pack import pack_counts

DRAWS = 40  # that can be looked at, for each table and level
EXPECTED_RUNS = 500  # other draws, from which expected squared errors are estimated
PER_RECORD = 100  # counts are kept to 1 / PER_RECORD
SEED = 2021

Basis = PureDP | ConcentratedDP


class SmallTable(NamedTuple):
    """A table small enough to be read cell by cell: its names and what it shows."""

    key: str
    title: str
    why: str
    counts: NDArray[np.int64]


_NONE = [0] * 6
_STAIRS = [[60, 42, 31, 25, 18, 14], [12, 9, 6, 4, 3, 2], [2, 1, 1, 0, 0, 0], _NONE]
_LARGE = [[500 + 60 * r + 35 * c for c in range(6)] for r in range(4)]
TABLES = tuple(
    SmallTable(key, title, why, np.array(counts))
    for key, title, why, counts in (
        ("one", "one filled cell", "one small count among zeros",
         [[7, *_NONE[1:]], _NONE, _NONE, _NONE]),
        ("stairs", "a staircase", "counts that fall off to nothing", _STAIRS),
        ("large", "no small cell", "counts of 500 and more", _LARGE),
    )
)  # fmt: skip


def level_key(guarantee: Basis) -> str:
    """Name a level in addresses, ``epsilon-0.5``."""
    return f"{guarantee.parameter}-{guarantee.level:g}"


def draws_of(table: SmallTable, guarantee: Basis, runs: int, part: str) -> Measurements:
    """Draw noisy answers to the sum, the rows, the columns and the cells of a small table.

    Each table, level and part (``"shown"`` or ``"expected"``) has a random stream of its own.
    """
    name = f"{table.key}/{level_key(guarantee)}/{part}"
    rng = np.random.default_rng([SEED, zlib.crc32(name.encode())])
    return measure(table.counts, Workload.table(table.counts.shape), guarantee, runs=runs, rng=rng)


def story_draw(measured: Measurements, counts: NDArray[np.int64]) -> int:
    """Return the number of the draw that the story tells: one in which a count pays.

    Keeping the sum mends the total there and empties the full cell, the first, which is right but
    for 2 records before; else it loses a record more than by clipping; else the first draw.
    """
    cells, total = measured.answers[-1], measured.answers[0][:, 0]
    clipped, kept = np.maximum(cells, 0), project(cells, np.maximum(total, 0))
    full, true = counts.ravel()[0], counts.sum()
    mends = abs(kept.sum(axis=1) - true) < abs(clipped.sum(axis=1) - true)
    pays = mends & (total > 0) & (abs(kept[:, 0] - full) > abs(clipped[:, 0] - full) + 1)
    clear = pays & (kept[:, 0] == 0) & (abs(cells[:, 0] - full) < 2)
    best = next((draws for draws in (clear, pays) if draws.any()), np.ones(1))
    return int(np.argmax(best)) + 1


def _run(table: SmallTable, guarantee: Basis) -> tuple[dict[str, Any], float]:
    """Return one table's draws at one level, and the worst certificate."""
    shown = draws_of(table, guarantee, DRAWS, "shown")
    others = draws_of(table, guarantee, EXPECTED_RUNS, "expected")
    fits, expected, worst, off = {}, {}, 0.0, [0.0]
    for method in METHODS:
        fitted, other = fit(shown, method), fit(others, method)
        fits[method] = pack_counts(fitted.cells, PER_RECORD)
        errors = answer_errors(other.cells, table.counts, others.workload)
        total, cells = (Mean.of((errors[k] ** 2).sum(axis=1)) for k in (0, -1))
        expected[method] = {"sum": total.value, "sum_error": total.error}
        expected[method] |= {"cells": cells.value, "cells_error": cells.error}
        worst = max(worst, other.certificate.worst, fitted.certificate.worst)
        off += (fitted.cells.sum(axis=1) - table.counts.sum()).tolist()
    noisy = pack_counts(np.concatenate(shown.answers, axis=1), PER_RECORD)
    ends = [math.floor(min(off)), math.ceil(max(off))]
    return {"noisy": noisy, "fits": fits, "expected": expected, "range": ends}, worst


def draws_data(guarantees: Sequence[Basis], start: Basis) -> dict[str, Any]:
    """Fit each draw of every small table at every level by each method; `start` is shown first."""
    runs, levels, worst = {}, [], 0.0
    for guarantee in guarantees:
        key = level_key(guarantee)
        for table in TABLES:
            runs[f"{table.key}|{key}"], certificate = _run(table, guarantee)
            worst = max(worst, certificate)
        hard = draws_of(TABLES[0], guarantee, DRAWS, "shown")
        about = {"key": key, "title": guarantee.plain, "std": hard.noise[0].std}
        levels.append({**about, "story": story_draw(hard, TABLES[0].counts)})
    return {
        "draws": DRAWS,
        "expected_runs": EXPECTED_RUNS,
        "scale": PER_RECORD,
        "start": level_key(start),
        "worst_certificate": worst,
        "methods": [{"key": m.name, "title": m.label} for m in METHODS.values()],
        "levels": levels,
        "tables": [
            {"key": t.key, "title": t.title, "why": t.why, "rows": t.counts.shape[0],
             "columns": t.counts.shape[1], "truth": t.counts.ravel().tolist()}
            for t in TABLES
        ],
        "runs": runs,
    }  # fmt: skip
