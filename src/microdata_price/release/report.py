"""How far off a release is to be expected, from its own measurements alone (ours)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors.known import ols_variances
from ..exceptions import CertificateError, InputError
from ..fitting import CONTROL, fit
from ..model.measurement import Measurements
from ..model.queryset import QuerySet
from ..model.workload import Workload
from ..tables.schema import Schema
from ..tables.workload_text import parse_workload
from .candidates import candidates
from .measure import Measured

Array = NDArray[np.float64]
Progress = Callable[[int, int, float], None]
"""Called with how many draws are done, of how many, and the seconds that the rest may take."""

MOST_DRAWS, FEWEST_DRAWS = 200, 12
"""Imitated measurements from which errors are estimated; with fewer they say nothing."""
REPORT_SECONDS = 20.0
"""How long the draws may take if their number is not given."""
LEVEL = 0.9
"""What the intervals are to cover."""
INTERVAL_SECONDS = 10.0
"""How long the draws for the intervals may take if the number of draws is not given."""
_BLOCK = 1 << 20
"""Cells times runs that are fitted at once."""
_BATCH = 25
"""Draws after which the clock is looked at."""
_KEPT = 8_000_000
"""Answers times draws that are kept for the intervals of single queries."""
ALL = "(all records)"
"""The name of the total where the workload does not ask for it."""


@dataclass(frozen=True, eq=False)
class Report:
    """What a release says of its own accuracy.

    Parameters
    ----------
    expected
        One row a query set (see `expected_errors`).
    signed
        The signed answers (OLS), one array a query set.
    variances
        Their exact variances, in squared records; ``None`` where they were not computed.
    halves, joint
        Half the width of the 90 % interval around each signed answer, by itself and for all at
        once; ``None`` where it was not computed.
    draws
        How many imitated measurements were used.
    left_out
        How many could not be fitted and were left out.
    seconds
        What one fit takes.
    """

    expected: pd.DataFrame
    signed: tuple[Array, ...]
    variances: tuple[Array, ...] | None
    halves: tuple[Array, ...] | None
    joint: tuple[Array, ...] | None
    draws: int
    left_out: int
    seconds: float


def draws_for(seconds: float) -> int:
    """Return how many imitated measurements are affordable, given what one fit takes.

    Examples
    --------
    >>> draws_for(0.001), draws_for(1.0), draws_for(60.0)
    (200, 20, 0)
    """
    count = min(MOST_DRAWS, int(REPORT_SECONDS / max(seconds, 1e-9)))
    return count if count >= FEWEST_DRAWS else 0


def signed_variances(measured: Measured) -> tuple[Array, ...] | None:
    """Return the exact variances of the signed answers, ``None`` where they are too many to say."""
    try:
        return ols_variances(measured.workload, [n.variance for n in measured.mechanism.noise])
    except InputError:
        return None


def _blocks(draws: int, cells: int, most: int = MOST_DRAWS) -> list[int]:
    size = max(1, min(draws, most, _BLOCK // cells))
    return [min(size, draws - start) for start in range(0, draws, size)]


def fit_imitations(m: Measurements, method: str) -> tuple[NDArray[np.intp], Array]:
    """Fit a batch of imitated measurements; a run that misses its certificate is left out.

    Returns
    -------
    ndarray, ndarray
        Which runs were fitted, and their cells.
    """
    try:
        return np.arange(m.runs), fit(m, method).cells
    except CertificateError:
        if m.runs == 1:
            return np.zeros(0, dtype=np.intp), np.zeros((0, m.workload.cells))
    parts = [fit_imitations(m.select(slice(r, r + 1)), method) for r in range(m.runs)]
    kept = np.array([r for r, (runs, _) in enumerate(parts) if runs.size], dtype=np.intp)
    return kept, np.concatenate([cells for _, cells in parts])


def quantile_rank(draws: int) -> int:
    """Return which of the sorted draws bounds a further one with probability 90 % or more.

    All are exchangeable, so that the bound holds exactly for any number of draws, 9 or more.

    Examples
    --------
    >>> quantile_rank(19), quantile_rank(99)
    (18, 90)
    """
    return math.ceil(LEVEL * (draws + 1) - 1e-9)


def signed_intervals(
    measured: Measured, stds: Sequence[Array], draws: int, most: float = math.inf
) -> tuple[tuple[Array, ...], tuple[Array, ...]] | None:
    """Return half widths of 90 % intervals around the signed answers: single, and all at once.

    The law of their errors is known, whatever the true table: it is that of least squares fitted to
    noise alone. That is imitated with the release's own mechanism, and the error that was made is
    one more draw of the same law (see `quantile_rank`).

    Parameters
    ----------
    measured
        The frozen measurement.
    stds
        The signed answers' standard deviations, one array a query set.
    draws
        How many imitations.
    most
        How many seconds they may take; fewer are made, or none where 19 take longer.

    Returns
    -------
    tuple or None
        Half widths by themselves, and joint ones in proportion to the standard deviations.
    """
    queries = sum(q.size for q in measured.workload.query_sets)
    draws = min(draws, max(19, _KEPT // queries))
    if draws < 19:
        return None
    empty = np.zeros(measured.workload.cells, dtype=np.int64)
    kept: list[list[Array]] = [[] for _ in stds]
    largest: list[float] = []
    start = time.monotonic()
    for count in (1, *_blocks(draws - 1, measured.workload.cells, _BATCH)):
        each = (time.monotonic() - start) / max(1, len(largest))
        if largest and each * max(19, len(largest) + count) > most:
            break
        fitted = fit(measured.imitated(empty, count), CONTROL).answers()
        worst = np.zeros(count)
        for part, errors, std in zip(kept, fitted, stds, strict=True):
            part.append(np.abs(errors).astype(np.float32))
            ratio = np.divide(np.abs(errors), std, out=np.zeros_like(errors), where=std > 0)
            worst = np.maximum(worst, ratio.max(axis=1))
        largest += worst.tolist()
    if len(largest) < 19:
        return None
    rank = quantile_rank(len(largest)) - 1
    alone = tuple(
        np.partition(np.concatenate(part), rank, axis=0)[rank].astype(float) for part in kept
    )
    scale = float(np.partition(np.array(largest), rank)[rank])
    return alone, tuple(scale * s for s in stds)


@dataclass(frozen=True, eq=False)
class _Imitations:
    """Answers to the reported query sets over the draws from one table."""

    off: tuple[Array, ...]
    """Method minus signed answer, (draws, queries) a query set."""
    spread: tuple[float, ...]
    """The summed variance of the method's answers, a query set."""


def _imitate(
    measured: Measured,
    method: str,
    table: NDArray[np.int64],
    sets: Sequence[QuerySet],
    draws: int,
    done: Callable[[int], bool],
) -> tuple[_Imitations, int]:
    off: list[list[Array]] = [[] for _ in sets]
    answered: list[list[Array]] = [[] for _ in sets]
    left_out = 0
    for count in _blocks(draws, measured.workload.cells, _BATCH):
        m = measured.imitated(table, count)
        kept, cells = fit_imitations(m, method)
        left_out += count - kept.size
        if kept.size:
            plain = fit(m.select(kept), CONTROL).cells
            for k, q in enumerate(sets):
                mine = q.answers(cells.reshape(-1, *q.shape))
                off[k].append(mine - q.answers(plain.reshape(-1, *q.shape)))
                answered[k].append(mine)
        if not done(count):
            break
    if not any(off):
        return _Imitations((), ()), left_out
    spread = [float(np.concatenate(a).var(axis=0, ddof=1).sum()) for a in answered]
    return _Imitations(tuple(np.concatenate(o) for o in off), tuple(spread)), left_out


def bias_range(seen: Array, imitated: Array) -> tuple[float, float]:
    """Return which lengths of the bias vector agree with what is seen, at 90 % (ours).

    The method's answers minus the signed ones are an unbiased estimate of the method's bias,
    whatever the true table. Its length squared is ``|bias + e|^2``, where e is the part that
    varies; lengths for which what is seen lies between the 5 % and 95 % points are returned.

    Parameters
    ----------
    seen
        The published minus the signed answers, shape (queries,).
    imitated
        The same over imitated measurements, shape (draws, queries).

    Examples
    --------
    >>> bias_range(np.array([3.0]), np.zeros((20, 1)))
    (3.0, 3.0)
    """
    e = imitated - imitated.mean(axis=0)
    length = float(np.sqrt((seen**2).sum()))
    along = e @ (seen / length) if length else np.zeros(len(e))
    size = (e**2).sum(axis=1)
    top = 3 * (length + math.sqrt(float(size.mean())))
    grid = np.unique(np.append(np.linspace(0, top, 300), length))
    squared = grid[:, None] ** 2 + 2 * grid[:, None] * along + size
    low, high = np.quantile(squared, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)
    slack = 1e-9 * max(length**2, 1e-300)
    agree = grid[(low <= length**2 + slack) & (length**2 - slack <= high)]
    if not agree.size:  # less bias than even none would show
        return 0.0, 0.0
    return float(agree.min()), float(agree.max())


def reported_sets(workload: Workload, schema: Schema) -> tuple[QuerySet, ...]:
    """Return the workload's query sets, before them the total and each column if not asked."""
    asked = any(q.size == 1 and (q.labels >= 0).all() for q in workload.query_sets)
    total = () if asked else (QuerySet.sum_query(workload.shape, ALL),)
    try:
        columns = parse_workload("marginals", schema).query_sets
    except InputError:  # the sum and the cells say all
        columns = ()
    others = tuple(
        c
        for c in columns
        if not any(np.array_equal(c.labels, q.labels) for q in workload.query_sets)
    )
    return (*total, *others, *workload.query_sets)


def make_report(
    measured: Measured,
    method: str,
    table: NDArray[np.int64] | None,
    moved: Array | None,
    seconds: float,
    draws: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Say how far off a release is to be expected, from its measurements alone.

    The errors of the noisy and of the signed answers are exact and the same for every table. A
    method's error is its variance plus the square of its bias. The bias is measured without
    assumption: it is what the method's answers have, on average, beyond the signed ones. Its
    variance is estimated by imitating the measurement of tables that the measurements allow (see
    `candidates`), and the range given is the widest over them, at 90 % for each.

    Parameters
    ----------
    measured
        The frozen measurement.
    method
        The method of fitting.
    table
        The published table of whole records; ``None`` for OLS, whose error is exact.
    moved
        What rounding added to each cell; the ranges are widened by what it did to the answers.
    seconds
        What one fit takes.
    draws
        How many imitated measurements in all; by default as many as take twenty seconds.
    progress
        Called after each batch.

    Returns
    -------
    Report
        Its table has one row a query set, the total and each single column always:
        ``query_set``, ``queries``, ``asked``; root mean squared errors of one query in counts,
        ``noisy_answers``, ``ols`` (infinite where what was asked does not determine the answers),
        ``fitted`` with its range ``fitted_low`` to ``fitted_high``; and the mean ``bias`` of a
        query with ``bias_low`` to ``bias_high``.
    """
    sets = reported_sets(measured.workload, measured.schema)
    limited = draws is None
    if draws is None:
        # An imitation draws noise and fits twice: by the method, and by least squares.
        start = time.monotonic()
        fit(measured.imitated(np.zeros(measured.workload.cells, dtype=np.int64), 1), CONTROL)
        draws = draws_for(seconds + time.monotonic() - start)
    plain = fit(measured.measurements(), CONTROL)
    signed = plain.answers()
    variances = signed_variances(measured)
    intervals = None
    if draws and variances is not None:
        most = INTERVAL_SECONDS if limited else math.inf
        stds = [np.sqrt(v) for v in variances]
        intervals = signed_intervals(measured, stds, max(draws, 99), most)
    exact = _exact_columns(measured, sets, variances)
    rows = pd.DataFrame(exact)
    names = ("fitted", "fitted_low", "fitted_high", "bias", "bias_low", "bias_high")
    used, left_out = 0, 0
    if table is None:
        values = np.column_stack(
            [np.tile(rows["ols"].to_numpy()[:, None], 3), np.zeros((len(sets), 3))]
        )
    elif draws:
        cells = plain.cells[0]
        tables = candidates(measured, cells, table) if draws >= 3 * FEWEST_DRAWS else [table]
        values = np.full((len(sets), 6), np.nan)
        each, begun, finished = draws // len(tables), time.monotonic(), 0
        whole, turn = each * len(tables), 0

        def done(count: int) -> bool:
            """Note the draws; say whether this table has time for more."""
            nonlocal finished
            finished += count
            spent = time.monotonic() - begun
            if progress is not None:
                progress(finished, whole, spent * (whole - finished) / finished)
            return not limited or spent < REPORT_SECONDS * turn / len(tables)

        worlds = []
        for turn, candidate in enumerate(tables, start=1):  # noqa: B007 - done() reads it
            world, missed = _imitate(measured, method, candidate, sets, each, done)
            left_out += missed
            if world.off and len(world.off[0]) >= 2:
                worlds.append(world)
                used += len(world.off[0])
        if worlds:
            for k, q in enumerate(sets):
                if math.isinf(rows["ols"].iloc[k]):
                    continue  # neither its error nor its bias follows from what was asked
                seen = q.answers(table) - q.answers(cells)
                by_rounding = np.zeros(1) if moved is None else q.answers(moved)
                values[k] = _row(q, seen, [(w.off[k], w.spread[k]) for w in worlds], by_rounding)
    else:
        values = np.full((len(sets), 6), np.nan)
    told = pd.concat([rows, pd.DataFrame(values, columns=list(names))], axis=1)
    # First the total, then what was asked in its order, then the other columns.
    last = ~told["asked"] & (told["query_set"] != ALL)
    return Report(
        pd.concat([told[~last], told[last]], ignore_index=True),
        signed,
        variances,
        None if intervals is None else intervals[0],
        None if intervals is None else intervals[1],
        used,
        left_out,
        seconds,
    )


def _exact_columns(
    measured: Measured, sets: Sequence[QuerySet], variances: tuple[Array, ...] | None
) -> dict[str, object]:
    workload = measured.workload
    extra = len(sets) - len(workload.query_sets)
    noise = [math.nan] * extra + [math.sqrt(v) for v in measured.mechanism.variances]
    ols = [math.nan] * len(sets)
    if variances is not None:
        ols[extra:] = [  # least squares keeps a public answer to within rounding; it is exact
            math.sqrt(float(v.mean())) if scale else 0.0
            for v, scale in zip(variances, measured.mechanism.scales, strict=True)
        ]
    for k in range(extra):
        ols[k] = _signed_std(measured, sets[k])
    return {
        "query_set": [q.name for q in sets],
        "queries": [q.size for q in sets],
        "asked": [False] * extra + [True] * len(workload.query_sets),
        "noisy_answers": noise,
        "ols": ols,
    }


def _signed_std(measured: Measured, queries: QuerySet) -> float:
    """Return the exact standard deviation of the signed answers to what was not asked.

    It is infinite where what was asked does not determine them, NaN where it is not known.
    """
    # A set of next to no weight leaves the others' least squares as it is.
    noise = [n.variance for n in measured.mechanism.noise]
    huge = 1e9 * sum(noise) * measured.workload.cells
    try:
        found = ols_variances(Workload((queries, *measured.workload.query_sets)), [huge, *noise])
    except InputError:
        return math.nan
    mean = float(found[0].mean())
    return math.sqrt(mean) if mean < 1e-6 * huge else math.inf


def _row(
    queries: QuerySet, seen: Array, worlds: Sequence[tuple[Array, float]], moved: Array
) -> list[float]:
    """Return one query set's error and bias with their ranges.

    They are widened by what rounding did to the answers (``moved``), which chance did once.
    """
    n = queries.size
    points, lows, highs, least, most = [], [], [], [], []
    mean = float(seen.mean())
    slack, shift = math.sqrt(float((moved**2).mean())), abs(float(moved.mean()))
    for off, spread in worlds:
        low, high = bias_range(seen, off)
        noise = float(off.var(axis=0, ddof=1).sum())
        points.append(math.sqrt((spread + max(0.0, float((seen**2).sum()) - noise)) / n))
        # The variance is an estimate over the draws too.
        unsure = 1.645 * math.sqrt(2 / (max(1, n // 4) * (len(off) - 1)))
        lows.append(math.sqrt((spread * max(0.0, 1 - unsure) + low**2) / n))
        highs.append(math.sqrt((spread * (1 + unsure) + high**2) / n))
        around = off.mean(axis=1) - off.mean()
        least.append(mean - float(np.quantile(around, (1 + LEVEL) / 2)))
        most.append(mean - float(np.quantile(around, (1 - LEVEL) / 2)))
    return [
        points[0],
        max(0.0, min(lows) - slack),
        max(highs) + slack,
        mean,
        min(least) - shift,
        max(most) + shift,
    ]
