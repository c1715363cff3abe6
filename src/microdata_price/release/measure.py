"""The only step of a release that sees the true table: vetted noise on the workload's answers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..base.files import deferred_stop
from ..exceptions import InputError
from ..model.privacy import ConcentratedDP, PureDP
from ..model.table import check_table
from ..model.workload import Workload
from ..tables.read import read_table
from ..tables.schemas import Schema
from .plan import Array, Measured, plan_release

Spend = Callable[[Measured], str]
Keep = Callable[[Measured], None]
LARGEST_TOTAL = 1e15  # a sum of more records would not be exact in floating point


def measure(planned: Measured, table: Array, spend: Spend = lambda _: "") -> Measured:
    """Measure a true table; the table is not kept, and must be one that adds up exactly.

    Each measurement of a plan has a random name of its own, by which it counts. ``spend`` gets it
    when only the noise is left; it may refuse, and returns the ledger's line.
    """
    counts = check_table(table, planned.workload.shape)
    truth = planned.workload.answers(counts)
    if counts.sum() > LARGEST_TOTAL:
        raise InputError(f"more than {LARGEST_TOTAL:.0e} records cannot be added up exactly")
    named = replace(planned, identity=secrets.token_hex(8))
    line = spend(named)
    return replace(named, answers=named.mechanism.noisy(truth), ledger=line)


def measure_privately(
    table: Array,
    schema: Schema,
    workload: Workload,
    guarantee: PureDP | ConcentratedDP,
    *shares: Mapping[str, float] | None,
    **more: Any,
) -> Measured:
    """Plan and measure a true table, shaped as the schema (see `plan_release`).

    Examples
    --------
    >>> import numpy as np
    >>> schema = Schema(("sex",), (("f", "m"),))
    >>> m = measure_privately(np.array([3.0, 4.0]), schema, Workload.table(2), PureDP(0.5))
    >>> [a.shape for a in m.answers]
    [(1,), (2,)]
    """
    return measure(plan_release(schema, workload, guarantee, *shares, **more), table)


def measure_file(path: Path, planned: Measured, spend: Spend, keep: Keep) -> Measured:
    """Read a table and measure it: the one place where a release opens the file."""
    table = read_table(path, planned.schema, planned.where)
    with deferred_stop():  # no budget is spent for nothing: the answers are kept
        keep(measured := measure(planned, table, spend))
    return measured
