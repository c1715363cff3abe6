"""The only step of a release that sees the true table: vetted noise on the workload's answers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.files import deferred_stop
from ..exceptions import InputError
from ..model.measurement import Measurements
from ..model.privacy import ConcentratedDP, PureDP
from ..model.table import check_table
from ..model.workload import Workload
from ..tables.read import read_table
from ..tables.schemas import Schema
from ..tables.workloads import query_values
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
    mechanism
        How it was answered.
    answers
        Noisy answers, whole numbers, one read-only array a query set; none before measuring.
    ledger
        The checksum of the ledger's line that counts the measurement; empty without a ledger.
    """

    identity: str
    schema: Schema
    workload: Workload
    mechanism: Mechanism
    answers: tuple[NDArray[np.int64], ...] = ()
    ledger: str = ""

    def __post_init__(self) -> None:
        for array in self.answers:
            array.setflags(write=False)

    @property
    def known_total(self) -> int | None:
        """The total, if it is public and so kept exactly; else ``None``."""
        public = (a for a, s in zip(self.answers, self.mechanism.scales, strict=True) if s == 0)
        return next((int(a[0]) for a in public), None)

    def measurements(self) -> Measurements:
        """Return them as one run, for fitting."""
        answers = tuple(a[None, :].astype(float) for a in self.answers)
        return Measurements(self.workload, answers, self.mechanism.noise)


def plan_release(
    schema: Schema,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    shares: Mapping[str, float] | None = None,
    *,
    known_total: bool = False,
    weak: bool = False,
) -> Measured:
    """Settle what will be asked and with which noise; nothing here depends on a table.

    The parameters are those of `mechanism_for`, and whether weak protection is accepted.

    Raises
    ------
    InputError
        As for `query_values`, `mechanism_for` and `check_strength`.
    """
    for queries in workload.query_sets:
        query_values(schema, queries)
    mechanism = mechanism_for(workload, guarantee, shares, known_total=known_total)
    check_strength(workload, mechanism, weak)
    return Measured(secrets.token_hex(8), schema, workload, mechanism)


def measure(planned: Measured, table: NDArray[np.float64], ledger: str = "") -> Measured:
    """Measure a true table once; the table is not kept.

    Raises
    ------
    InputError
        A table that is none, or more records than can be added up exactly.
    """
    truth = planned.workload.answers(check_table(table, planned.workload.shape))
    if table.sum() > LARGEST_TOTAL:
        raise InputError(
            f"the table counts more than {LARGEST_TOTAL:.0e} records; its sums would not be exact"
        )
    return replace(planned, answers=planned.mechanism.noisy(truth), ledger=ledger)


def measure_privately(
    table: NDArray[np.float64],
    schema: Schema,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    *shares: Mapping[str, float] | None,
    **more: Any,
) -> Measured:
    """Plan and measure a true table, shaped as the schema, once (see `plan_release`).

    Examples
    --------
    >>> schema = Schema(("sex",), (("f", "m"),))
    >>> m = measure_privately(np.array([3.0, 4.0]), schema, Workload.table(2), PureDP(0.5))
    >>> [a.shape for a in m.answers]
    [(1,), (2,)]
    """
    return measure(plan_release(schema, workload, guarantee, *shares, **more), table)


def measure_file(
    path: Path,
    planned: Measured,
    where: Mapping[str, str] | None,
    spend: Callable[[], str],
    keep: Callable[[Measured], None],
) -> Measured:
    """Read a table and measure it: the one place where a release opens the file.

    From the moment at which the spending is written down (``spend`` may refuse, and returns the
    ledger's checksum) until the answers are kept, requests to stop wait, so that no budget is spent
    for nothing.
    """
    table = read_table(path, planned.schema, where)
    with deferred_stop():
        measured = measure(planned, table, spend())
        keep(measured)
    return measured
