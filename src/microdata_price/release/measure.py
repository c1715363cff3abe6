"""The only step of a release that sees the true table: vetted noise on the workload's answers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..base.files import deferred_stop
from ..exceptions import InputError
from ..model.measurement import Measurements
from ..model.privacy import ConcentratedDP, PureDP
from ..model.table import check_table
from ..model.workload import Workload
from ..tables.csv_files import read_table
from ..tables.schema import Schema, check_publishable
from ..tables.workload_text import described
from .mechanism import Mechanism, mechanism_for
from .strength import check_strength

LARGEST_TOTAL = 1e15
"""More records than this are refused: a sum of them would not be exact in floating point."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What is left of a table once it has been measured: all that any later step sees.

    Parameters
    ----------
    identity
        A random name, by which copies of one release are recognised.
    schema
        Columns and values, which are public.
    workload
        What was asked, highest priority first.
    columns
        For each query set the columns whose values name its queries.
    answers
        Noisy answers, whole numbers, one read-only array a query set.
    mechanism
        How they were made.
    """

    identity: str
    schema: Schema
    workload: Workload
    columns: tuple[tuple[int, ...], ...]
    answers: tuple[NDArray[np.int64], ...]
    mechanism: Mechanism

    def __post_init__(self) -> None:
        for array in self.answers:
            array.setflags(write=False)

    @property
    def known_total(self) -> int | None:
        """The total, if it is public and so kept exactly; else ``None``."""
        for answers, scale in zip(self.answers, self.mechanism.scales, strict=True):
            if scale == 0:
                return int(answers[0])
        return None

    def measurements(self) -> Measurements:
        """Return them as one run, for fitting."""
        answers = tuple(a[None, :].astype(float) for a in self.answers)
        return Measurements(self.workload, answers, self.mechanism.noise)

    def imitated(self, table: NDArray[np.int64], draws: int) -> Measurements:
        """Measure a table that is public, or none (zeros), with the same mechanism several times.

        Parameters
        ----------
        table
            Whole numbers, as a table or a list of cells.
        draws
            How many runs.
        """
        answers = self.workload.answers(table)
        runs = [self.mechanism.noisy(answers) for _ in range(draws)]
        stacked = tuple(np.stack(part).astype(float) for part in zip(*runs, strict=True))
        return Measurements(self.workload, stacked, self.mechanism.noise)


def split_answers(workload: Workload, vector: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Cut the vector of all answers into one array a query set."""
    ends = [0, *np.cumsum([q.size for q in workload.query_sets]).tolist()]
    return tuple(vector[a:b].copy() for a, b in pairwise(ends))


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything about a release that is settled before the true table is read.

    Parameters
    ----------
    identity
        The random name that the measurement will bear.
    schema, workload, columns, mechanism
        As for `Measured`.
    """

    identity: str
    schema: Schema
    workload: Workload
    columns: tuple[tuple[int, ...], ...]
    mechanism: Mechanism

    def measure(self, table: NDArray[np.float64]) -> Measured:
        """Measure a true table once; the table is not kept.

        Raises
        ------
        InputError
            A table that is none, or more records than can be added up exactly.
        """
        truth = self.workload.answers(check_table(table, self.workload.shape))
        if table.sum() > LARGEST_TOTAL:
            raise InputError(
                f"the table counts more than {LARGEST_TOTAL:.0e} records; its sums would not be "
                "exact"
            )
        answers = self.mechanism.noisy(truth)
        return Measured(
            self.identity, self.schema, self.workload, self.columns, answers, self.mechanism
        )


def plan_release(
    schema: Schema,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    shares: Mapping[str, float] | None = None,
    *,
    known_total: bool = False,
    weak: bool = False,
) -> Plan:
    """Settle what will be asked and with which noise; nothing here depends on a table.

    Parameters
    ----------
    schema
        Columns and values.
    workload
        What to ask; queries are put in the order of the schema's values.
    guarantee
        What the whole workload shall satisfy.
    shares, known_total
        As for `mechanism_for`.
    weak
        As for `check_strength`.

    Raises
    ------
    InputError
        As for `described`, `mechanism_for` and `check_strength`, or a schema that cannot be
        published.
    """
    check_publishable(schema)
    asked, columns = described(workload, schema)
    mechanism = mechanism_for(asked, guarantee, shares, known_total=known_total)
    check_strength(asked, mechanism, weak)
    return Plan(secrets.token_hex(8), schema, asked, columns, mechanism)


def measure_privately(
    table: NDArray[np.float64],
    schema: Schema,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    shares: Mapping[str, float] | None = None,
    *,
    known_total: bool = False,
    weak: bool = False,
) -> Measured:
    """Measure a true table once; the table is not kept.

    Parameters
    ----------
    table
        True counts, shaped as the schema.
    schema, workload, guarantee, shares, known_total, weak
        As for `plan_release`.

    Raises
    ------
    InputError
        A table that is none, or as for `plan_release`.

    Examples
    --------
    >>> schema = Schema(("sex",), (("f", "m"),))
    >>> m = measure_privately(np.array([3.0, 4.0]), schema, Workload.table(2), PureDP(0.5))
    >>> [a.shape for a in m.answers]
    [(1,), (2,)]
    """
    plan = plan_release(schema, workload, guarantee, shares, known_total=known_total, weak=weak)
    return plan.measure(table)


def measure_file(
    path: Path,
    plan: Plan,
    spend: Callable[[], None],
    keep: Callable[[Measured], None],
    tell: Callable[[str], None] | None = None,
) -> Measured:
    """Read a table and measure it: the one place where a release opens the file.

    From the moment at which the spending is written down until the answers are kept, requests to
    stop wait, so that no budget is spent for nothing.

    Parameters
    ----------
    path
        The true table.
    plan
        What to do with it.
    spend
        Called before any noise is drawn; it may refuse.
    keep
        Called with the measurement.
    tell
        As for `read_table`.

    Raises
    ------
    InputError
        As for `read_table` and `Plan.measure`.
    """
    table = read_table(path, plan.schema, tell)
    with deferred_stop():
        spend()
        measured = plan.measure(table)
        keep(measured)
    return measured
